"""Account for every parameter: analytic terms, conventions, published counts, and what the files really hold."""

import glob
import os

from common.errors import StudyError
from common.files import write_tsv
from common.parameters import CONVENTIONS, PUBLISHED, PUBLISHED_SIZE, count, counted_terms, read_shapes, terms
from common.rule import running

COLUMNS = ("section", "item", "formula", "count", "expected", "agrees", "note")
TERM_NOTES = {
    "tokens": "token embeddings",
    "positions": "position embeddings that an input can use",
    "shift": "two further rows of the position table: padding index 1 shifts positions by 2",
    "attention": "query, key, value and output matrices",
    "feed_forward": "the two feed-forward matrices",
    "matrices": "all weight matrices of the encoder layers: attention and feed-forward",
    "vectors": "every bias and LayerNorm of the encoder",
    "head": "classification head: dense layer and projection to 2 classes, with biases",
    "token_types": "Hugging Face's token-type table of one row",
    "lm_head": "language-model head: dense layer, LayerNorm, a bias per token; its projection is tied",
}


def row(section, item, formula, value, expected, note):
    """Return a row of the ledger; `agrees` is empty where there is nothing to agree with."""
    agrees = None if expected is None else value == expected
    return dict(zip(COLUMNS, (section, item, formula, value, expected, agrees, note), strict=True))


def analytic_rows(size):
    """Return the terms of the configured model and its count under every right convention."""
    parts = terms(**size)
    rows = [row("term", name, formula, value, None, TERM_NOTES[name]) for name, (formula, value) in parts.items()]
    for name, (of, words) in CONVENTIONS.items():
        if name != "four_matrices":
            formula = " + ".join(parts[part][0] for part in of)
            rows.append(row("convention", name, formula, count(size, name), None, words))
    return rows


def published_rows():
    """Return the lab's eight published counts, each reproduced by its convention; the slip says what it forgot."""
    right = count(PUBLISHED_SIZE, "matrices")
    rows = []
    for published, name in PUBLISHED.items():
        words = CONVENTIONS[name][1]
        if name == "four_matrices":
            words += f" ({right - published} fewer than even the count without positions)"
        formula = " + ".join(terms(**PUBLISHED_SIZE)[part][0] for part in CONVENTIONS[name][0])
        rows.append(row("published", name, formula, count(PUBLISHED_SIZE, name), published, words))
    return rows


def counted_rows(source, shapes, size):
    """Return what a file's tensors hold beside the analytic count, term by term and in all.

    Args:
        source: name of the file for the reader.
        shapes: {tensor name: shape}.
        size: of the configured model.
    """
    parts = {name: value for name, (_, value) in terms(**size).items()}
    parts["table"] = parts["positions"] + parts["shift"]
    found = counted_terms(shapes)
    rows = [
        row(f"counted: {source}", term, "", value, parts[term], TERM_NOTES.get(term, "position table, as stored"))
        for term, value in found.items()
    ]
    total = sum(found.values())
    expected = sum(parts[term] for term in found)
    of = next((name for name in CONVENTIONS if count(size, name) == total), None)
    note = (
        f"convention: {of}"
        if of
        else f"encoder and {', '.join(t for t in found if t in ('head', 'lm_head', 'token_types'))}"
    )
    return [*rows, row(f"counted: {source}", "total", "", total, expected, note)]


def model_of(path):
    """Return the model file in `path`: itself, or of a run's folder of checkpoints the first epoch's.

    Raises:
        StudyError: the folder holds no model.
    """
    if not os.path.isdir(path) or os.path.exists(os.path.join(path, "model.safetensors")):
        return path
    found = glob.glob(os.path.join(path, "checkpoint*.pt")) + glob.glob(os.path.join(path, "*", "model.safetensors"))
    if not found:
        raise StudyError(f"{path} holds no model to count (checkpoint*.pt or */model.safetensors)")
    return min(found, key=lambda name: (len(name), name))


def main(models, ledger, size):
    """Write the ledger.

    Args:
        models: {name for the reader: model file or folder}.
        ledger: TSV to write.
        size: {vocab_size, width, ffn_width, layers, max_positions} of the configured model.
    """
    rows = analytic_rows(size) + published_rows()
    for source, path in models.items():
        rows += counted_rows(source, read_shapes(model_of(path)), size)
    write_tsv(ledger, rows, COLUMNS)


if __name__ == "__main__":
    with running(snakemake):  # noqa: F821
        main(
            dict(zip(snakemake.params.names, snakemake.input.models, strict=True)),  # noqa: F821
            snakemake.output.ledger,  # noqa: F821
            snakemake.params.size,  # noqa: F821
        )
