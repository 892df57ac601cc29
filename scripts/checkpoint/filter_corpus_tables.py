"""Take the texts out of public tables to pretrain on, without what shares words with the valid and test reviews."""

import os
from urllib.parse import urlsplit

from checkpoint.opinions import plain, read_column, runs_of, take
from common.entry import run
from common.errors import StudyError
from common.files import atomic_path, read_lines, write_lines, write_tsv
from data.reviews import BETWEEN
from data.words import count_words, words_of

COLUMNS = "address licence n_tables n_texts n_short n_repeated n_overlapping n_kept n_words repeats".split()


def main(files, held_out, folder, table, tables):
    """Write the texts of each table, one a line, and how many were left out for what.

    Args:
        files: paths of all tables' files, in the order of `tables`.
        held_out: paths of the reviews, or pairs of texts, one a line, that no corpus may hold: valid and test.
        folder: folder to write: `1.txt`, `2.txt`, ..., one for each entry of `tables`.
        table: TSV to write.
        tables: entries of `checkpoint.corpus.tables`, their addresses expanded: urls, column, repeat, licence.

    Raises:
        StudyError: a table that cannot be read, or of which no text is left.
    """
    forbidden = held_out_runs(line for path in held_out for line in read_lines(path))
    known, rows, remaining = set(), [], iter(files)
    with atomic_path(folder) as temporary:
        os.mkdir(temporary)
        for number, entry in enumerate(tables, start=1):
            paths = [next(remaining) for _ in entry["urls"]]
            texts = (text for path in paths for text in read_column(path, entry["column"]))
            kept, counts = take(texts, known, forbidden)
            if not kept:
                raise StudyError(f"checkpoint.corpus.tables, entry {number}: no text is left of {counts['n_texts']}")
            write_lines(os.path.join(temporary, f"{number}.txt"), kept)
            words = count_words(kept)
            facts = {"n_tables": len(paths), "n_kept": len(kept), "n_words": words, "repeats": entry["repeat"]}
            rows.append({"address": common_address(entry["urls"]), "licence": entry["licence"], **counts, **facts})
    write_tsv(table, rows, COLUMNS)


def held_out_runs(lines):
    """Return the runs of words that no text may share: of a pair those of each text, too, since either may be short.

    Of each as it stands and without tags and character references, as the tables' texts are compared.
    """
    texts = {text for line in lines for text in (line, *line.split(BETWEEN))}
    return {run for text in texts for form in (text, plain(text)) for run in runs_of(words_of(form))}


def common_address(urls):
    """Return the address itself, or the folder that several have in common; of several hosts all addresses."""
    if len({urlsplit(url)[:2] for url in urls}) > 1:
        return " ".join(urls)
    return urls[0] if len(urls) == 1 else os.path.commonpath(urls).replace(":/", "://", 1)


if __name__ == "__main__":
    run(main, snakemake)
