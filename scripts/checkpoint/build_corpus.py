"""Gather the text to pretrain on: public files, unlabelled reviews, the training reviews; never valid or test."""

from common.entry import run
from common.errors import StudyError
from common.files import numbered, read_lines, sha256, study_path, write_json, write_lines
from data.reviews import normalise
from data.words import count_words


def hold_out(lines, fraction):
    """Split a source's lines into (train, valid): the valid share is its end, so that no paragraph is cut.

    Args:
        lines: list of texts.
        fraction: share of lines to hold out (0 to 0.5); at least one line if it is above 0 and two are there.
    """
    if fraction <= 0 or len(lines) < 2:
        return lines, []
    n = max(1, int(len(lines) * fraction))
    return lines[:-n], lines[-n:]


def gather(sources, valid_fraction):
    """Return the corpus.

    Args:
        sources: list of (kind, path, how often its text is repeated in training; 0 leaves it out).
        valid_fraction: share of each source's lines held out.

    Returns:
        tuple[list[str], list[str], list[dict]]: texts to train on, texts held out, and for each source that has
        text its lines, words, repeats and hash.
    """
    kept, held, entries = [], [], []
    for kind, path, repeats in sources:
        lines = [text for line in read_lines(path) if (text := normalise(line))] if repeats else []
        head, tail = hold_out(lines, valid_fraction)
        kept += head * repeats
        held += tail
        if lines:
            entries.append(
                {
                    "kind": kind,
                    "name": study_path(path),
                    "lines": len(lines),
                    "lines_held_out": len(tail),
                    "words": count_words(lines),
                    "repeats": repeats,
                    "sha256": sha256(path),
                }
            )
    return kept, held, entries


def main(files, unlabelled, training, train, valid, manifest, repeats, valid_fraction, tables=None):
    """Write the corpus.

    Args:
        files: paths of plain UTF-8 text, a paragraph a line.
        unlabelled: the source's unlabelled reviews, a review a line (may be empty).
        training: the study's training reviews, without those that valid or test repeat.
        train, valid: the corpus to write, a text a line.
        manifest: JSON to write: for each source its lines, words, repeats and hash.
        repeats: {"files": int, "unlabelled": int, "train": int, "tables": list of int}, 0 leaves a source out.
        valid_fraction: share of each source's lines held out.
        tables: folder of the texts of public tables (`filter_corpus_tables`), where the study has some; how often the
            texts of each are repeated stands in `repeats["tables"]`.

    Raises:
        StudyError: no text at all.
    """
    sources = [("files", path, repeats["files"]) for path in files]
    if tables:
        sources += [("tables", path, times) for path, times in zip(numbered(tables), repeats["tables"], strict=True)]
    sources += [("unlabelled", unlabelled, repeats["unlabelled"]), ("train", training, repeats["train"])]
    kept, held, entries = gather(sources, valid_fraction)
    if not kept or not held:
        raise StudyError(
            "the corpus is empty: set checkpoint.corpus.files, tables, unlabelled_repeat or train_repeat, "
            "and valid_fraction above 0, so that there is text to pretrain on and to measure by"
        )
    write_lines(train, kept)
    write_lines(valid, held)
    write_json(manifest, {"sources": entries, "valid_fraction": valid_fraction})


if __name__ == "__main__":
    run(main, snakemake)
