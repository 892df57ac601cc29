"""Read the question/answer pairs and keep some of them out of training."""

import hashlib
import json
import os

from common.entry import run
from common.errors import StudyError
from common.files import TABLES, read_json, sha256, write_json, write_lines
from data.text_tables import read_rows
from qa.question_pairs import clean_pairs, split_pairs
from study.pointers import check_pointer


def read_pairs(path, question="question", answer="answer"):
    """Return the pairs of a file: JSON, or a table, as its name ends.

    Args:
        path: in JSON a list of objects, or an object whose `questions` is such a list; otherwise a table.
        question: column (JSON: key) of the questions.
        answer: of the answers.

    Returns:
        list[dict]: `question`, `answer`; see `clean_pairs`.

    Raises:
        StudyError: another format or layout, a missing column, or a pair that lacks a part; the message gives the row.
    """
    if path.lower().endswith(TABLES):
        rows = list(read_rows(path, (question, answer)))
        return clean_pairs([row for _, row in rows], path, question, answer, [place for place, _ in rows])
    check_pointer(path)
    content = read_json(path)
    if isinstance(content, dict):
        content = content.get("questions")
    if not isinstance(content, list):
        raise StudyError(
            f"{path}: expected a list of objects with `{question}` and `{answer}`, or an object with such a list as "
            f"`questions`; a table's name ends in {', '.join(TABLES)}"
        )
    return clean_pairs(content, path, question, answer)


def load(source, files, url, columns):
    """Return the pairs and what they came from.

    Args:
        source: "embedded", "url" or "file".
        files: the file of pairs, for "url" (as retrieved) and "file": a list of none or one.
        url: the file's address, or None.
        columns: names of the question's and the answer's in that file.

    Returns:
        tuple: list of pairs; dict {name or address: sha256}.

    Raises:
        StudyError: the source is unknown or its file is bad.
    """
    if source == "embedded":
        from qa.embedded_faq import pairs  # only this source needs it

        written = clean_pairs(pairs(), "the embedded pairs")
        text = json.dumps(written, ensure_ascii=False, sort_keys=True)
        return written, {"qa/embedded_faq.py: pairs()": hashlib.sha256(text.encode()).hexdigest()}
    if source not in ("url", "file"):
        raise StudyError(f"qa.data.source: {source!r} is not one of embedded, url, file")
    if not files:
        raise StudyError(f"qa.data.{source}: it must name the file of the pairs, since qa.data.source is {source}")
    name = url if source == "url" else os.path.basename(files[0])
    return read_pairs(files[0], *columns), {name: sha256(files[0])}


def main(source, pairs, url, train, heldout, manifest, n_heldout, split_seed, columns=("question", "answer")):
    """Write both sides of the split as JSON Lines, and a manifest.

    Args:
        source: "embedded", "url" or "file".
        pairs: the file of pairs, in a list of none or one.
        url: its address, or None.
        train: JSON Lines to write: id, question, answer.
        heldout: likewise.
        manifest: JSON to write: source, synthetic, split_seed, files, splits, n_duplicates.
        n_heldout: pairs kept out of training.
        split_seed: seed of the draw.
        columns: names of the question's and the answer's in the file.

    Raises:
        StudyError: bad pairs, or too few.
    """
    found, files = load(source, pairs, url, columns)
    sides = dict(zip(("train", "heldout"), split_pairs(found, n_heldout, split_seed), strict=True))
    splits = {}
    for split, path in (("train", train), ("heldout", heldout)):
        write_lines(path, [json.dumps(pair, ensure_ascii=False) for pair in sides[split]])
        splits[split] = {"n": len(sides[split]), "sha256": sha256(path)}
    write_json(
        manifest,
        {
            "source": source,
            "synthetic": source == "embedded",
            "split_seed": split_seed,
            "files": files,
            "splits": splits,
            "n_duplicates": len(found) - sum(map(len, sides.values())),
        },
    )
    print(f"{splits['train']['n']} pairs to train on, {splits['heldout']['n']} kept out")


if __name__ == "__main__":
    run(main, snakemake)
