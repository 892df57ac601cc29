"""Account for every parameter: analytic terms, conventions, published counts, and the tensors in the files."""

import glob
import math
import os

from analysis.parameter_counts import CONVENTIONS, PUBLISHED, count_by, counted_terms, is_buffer, read_shapes, size_of
from common.entry import run
from common.errors import StudyError
from common.files import read_json
from study.rule_parameters import PUBLISHED_SIZE, terms
from study.tables import columns_of, write_table

TERM_NOTES = {
    "tokens": "token embeddings",
    "positions": "position embeddings that an input can use",
    "shift": "two further rows of the position table: padding index 1 shifts positions by 2",
    "attention": "query, key, value and output matrices",
    "query_key_value": "of these, the query, key and value matrices",
    "feed_forward": "the two feed-forward matrices",
    "feed_forward_one": "of these, one",
    "matrices": "all weight matrices of the encoder layers: attention and feed-forward",
    "vectors": "every bias and LayerNorm of the encoder",
    "head": "classification head: dense layer and projection to the classes, with biases",
    "token_types": "Hugging Face's token-type table of one row",
    "lm_head": "language-model head: dense layer, LayerNorm, a bias per token; its projection is tied",
}


def row(section, item, formula, value, expected, note):
    """Return a row of the ledger; `agrees` is empty where there is nothing to compare with."""
    agrees = None if expected is None else value == expected
    cells = (section, item, formula, value, expected, agrees, note)
    return dict(zip(columns_of("parameter_ledger"), cells, strict=True))


def analytic_rows(size):
    """Return the terms of the checkpoint's model and its count under every right convention."""
    parts = terms(**size)
    rows = [row("term", name, formula, value, None, TERM_NOTES[name]) for name, (formula, value) in parts.items()]
    for name, (included, words) in CONVENTIONS.items():
        if name != "four_matrices":
            formula = " + ".join(parts[part][0] for part in included)
            rows.append(row("convention", name, formula, count_by(size, name), None, words))
    return rows


def published_rows():
    """Return the lab's eight published counts, each reproduced by its convention; the slip names the omission."""
    right = count_by(PUBLISHED_SIZE, "matrices")
    rows = []
    for published, name in PUBLISHED.items():
        words = CONVENTIONS[name][1]
        if name == "four_matrices":
            words += f" ({right - published} fewer than even the count without positions)"
        formula = " + ".join(terms(**PUBLISHED_SIZE)[part][0] for part in CONVENTIONS[name][0])
        rows.append(row("published", name, formula, count_by(PUBLISHED_SIZE, name), published, words))
    return rows


def counted_rows(source, shapes, size):
    """Return the counts of a file's tensors beside the analytic ones, term by term and in total.

    Args:
        source: name of the file for the reader.
        shapes: {tensor name: shape}.
        size: size of the checkpoint, see `size_of`.
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
    convention = next((name for name in CONVENTIONS if count_by(size, name) == total), None)
    note = (
        f"convention: {convention}"
        if convention
        else f"encoder and {', '.join(t for t in found if t in ('head', 'lm_head', 'token_types'))}"
    )
    return [*rows, row(f"counted: {source}", "total", "", total, expected, note)]


def foreign_rows(folder):
    """Return the counts of an external model, by module and in total, without anything to compare with.

    A tensor that two modules share, and the file has twice, is counted once, with the first module.

    Args:
        folder: what `finetuning.take_model` wrote; it has the model's name.
    """
    hashes = read_json(os.path.join(folder, "conversion.json"))["tensors"]
    found, seen = {}, set()
    for name, shape in sorted(read_shapes(folder).items()):
        # Biases may be equal by chance, since all start at zero.
        shared = hashes[name] in seen and (len(shape) > 1 or name.endswith("decoder.bias"))
        seen.add(hashes[name])
        if not (shared or is_buffer(name)):
            module = ".".join(name.split(".")[:-1][:2]) or name
            found[module] = found.get(module, 0) + math.prod(shape)
    section = f"counted: {os.path.basename(os.path.normpath(folder))}"
    rows = [
        row(section, module, "", count, None, "tensors of this module, as stored") for module, count in found.items()
    ]
    return [*rows, row(section, "total", "", sum(found.values()), None, "the whole file; shared tensors once")]


def model_of(path):
    """Return the model file in `path`: itself, or the first epoch's in a run's folder of checkpoints.

    Raises:
        StudyError: the folder holds no model.
    """
    if not os.path.isdir(path) or os.path.exists(os.path.join(path, "model.safetensors")):
        return path
    found = glob.glob(os.path.join(path, "checkpoint*.pt")) + glob.glob(os.path.join(path, "*", "model.safetensors"))
    if not found:
        raise StudyError(f"{path} holds no model to count (checkpoint*.pt or */model.safetensors)")
    return min(found, key=lambda name: (len(name), name))


def check_size(size, configured, path):
    """Check the checkpoint's size against the study's settings.

    Args:
        size: size of the checkpoint's tensors.
        configured: {key of `size`: what the settings say}, only those that apply.
        path: path of the checkpoint.

    Raises:
        StudyError: they differ.
    """
    for key, value in configured.items():
        if size[key] != value:
            setting = f"checkpoint.{'sentencepiece' if key == 'vocab_size' else 'architecture'}.{key}"
            raise StudyError(f"{path} has {key} {size[key]}, the setting {setting} is {value}: correct the setting")


def main(models, names, ledger, configured, classes, foreign=()):
    """Write the ledger; the sizes are those of the first model's own tensors.

    Args:
        models: model files or folders, the checkpoint first; none where no arm starts from it.
        names: what the reader calls them, in the same order.
        ledger: TSV to write.
        configured: the sizes that the settings give of this checkpoint: width, ffn_width, layers, max_positions, and
            vocab_size where the study pretrains it.
        classes: names of the classes.
        foreign: folders of external models, for which there is no formula: see `foreign_rows`.

    Raises:
        StudyError: a model cannot be read, or the checkpoint is of another size than the settings say.
    """
    rows = []
    if models:
        shapes = [read_shapes(model_of(path)) for path in models]
        size = size_of(shapes[0], models[0])
        check_size(size, configured, models[0])
        size["classes"] = len(classes)
        rows = analytic_rows(size) + published_rows()
        for source, found in zip(names, shapes, strict=True):
            rows += counted_rows(source, found, size)
    for folder in foreign:
        rows += foreign_rows(folder)
    for row in rows:
        if row["agrees"] is False:
            print(f"{row['section']}, {row['item']}: {row['count']} counted, {row['expected']} expected")
    write_table(ledger, "parameter_ledger", rows)


if __name__ == "__main__":
    run(main, snakemake)
