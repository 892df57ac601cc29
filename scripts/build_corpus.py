"""Gather the text to pretrain on: public files, unlabelled reviews, the training reviews; never valid or test."""

from common.errors import StudyError
from common.files import read_lines, sha256, study_path, write_json, write_lines
from common.reviews import normalise
from common.rule import running


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


def main(files, unlabelled, training, train, valid, manifest, repeats, valid_fraction):
    """Write the corpus.

    Args:
        files: paths of plain UTF-8 text, a paragraph a line.
        unlabelled: the source's unlabelled reviews, a review a line (may be empty).
        training: the study's training reviews, without those that valid or test repeat.
        train, valid: the corpus to write, a text a line.
        manifest: JSON to write: for each source its lines, words, repeats and hash.
        repeats: {"files": int, "unlabelled": int, "train": int}, 0 leaves a source out.
        valid_fraction: share of each source's lines held out.

    Raises:
        StudyError: no text at all.
    """
    sources = [("files", path) for path in files] + [("unlabelled", unlabelled), ("train", training)]
    kept, held, entries = [], [], []
    for kind, path in sources:
        if repeats[kind] == 0:
            continue
        lines = [text for line in read_lines(path) if (text := normalise(line))]
        head, tail = hold_out(lines, valid_fraction)
        kept += head * repeats[kind]
        held += tail
        if lines:
            entries.append(
                {
                    "kind": kind,
                    "name": study_path(path),
                    "lines": len(lines),
                    "lines_held_out": len(tail),
                    "words": sum(len(line.split()) for line in lines),
                    "repeats": repeats[kind],
                    "sha256": sha256(path),
                }
            )
    if not kept or not held:
        raise StudyError(
            "the corpus is empty: set checkpoint.corpus.files, unlabelled_repeat or train_repeat, "
            "and valid_fraction above 0, so that there is text to pretrain on and to measure by"
        )
    write_lines(train, kept)
    write_lines(valid, held)
    write_json(manifest, {"sources": entries, "valid_fraction": valid_fraction})


if __name__ == "__main__":
    with running(snakemake):  # noqa: F821
        main(
            list(snakemake.input.files),  # noqa: F821
            snakemake.input.unlabelled,  # noqa: F821
            snakemake.input.training,  # noqa: F821
            snakemake.output.train,  # noqa: F821
            snakemake.output.valid,  # noqa: F821
            snakemake.output.manifest,  # noqa: F821
            snakemake.params.repeats,  # noqa: F821
            snakemake.params.valid_fraction,  # noqa: F821
        )
