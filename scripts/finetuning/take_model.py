"""Take a Hugging Face encoder that arms start from: its folder checked, its weights in one file, tensors hashed."""

import glob
import os
import shutil
import tempfile

from safetensors.torch import load_file, save_file

import tasks
from common.entry import run
from common.errors import StudyError
from common.files import atomic_path, grant, read_json, sha256, write_json
from data.reviews import POLARITY
from finetuning.encoders import (
    build_encoder,
    check_config,
    encoder_prefix,
    head_tensors,
    load_tokenizer,
    longest_input,
    prefix_of,
    prove_encoder,
    tokenizer_inputs,
)
from finetuning.heads import KEPT, NEW, REORDERED, check_head, match_head, rows_by_class
from finetuning.model_files import read_weights
from finetuning.places import check_places, check_wrapper
from finetuning.settled_tokenizer import settle_tokenizer
from study.pointers import check_pointers
from training.weights import tensor_sha256

# Beside the weights, a model consists of its configuration and its tokenizer's files, whatever their names.
ENDINGS = (".json", ".txt", ".model", ".jinja", ".codes")
# BERT's first files use these names for the two tensors of a layer norm; Transformers renames them as it loads them.
FIRST_NAMES = {"LayerNorm.gamma": "LayerNorm.weight", "LayerNorm.beta": "LayerNorm.bias"}
# A trial of the model before training.
WITHOUT_DROPOUT = {"dropout": 0.0, "classifier_dropout": 0.0}


def todays_name(name):
    """Return a tensor's name without one of `FIRST_NAMES` at its end."""
    for first, today in FIRST_NAMES.items():
        if name.endswith(first):
            return name.removesuffix(first) + today
    return name


def with_todays_names(tensors, place):
    """Return tensors under today's names; see `todays_name`.

    Raises:
        StudyError: two would have one name.
    """
    named = {todays_name(name): tensor for name, tensor in tensors.items()}
    if len(named) < len(tensors):
        twice = next(name for name in tensors if todays_name(name) != name and todays_name(name) in tensors)
        raise StudyError(
            f"{place}: its weights have both {twice} and {todays_name(twice)}, two names of one tensor; get them again"
        )
    return named


def read(model, tokenizer, length=None):
    """Let a model read a short text, or, given a length, that many tokens of the repeated text."""
    import torch

    inputs = tokenizer("a b", return_tensors="pt")
    inputs = {name: inputs[name] for name in tokenizer_inputs(tokenizer, model)}
    if length:
        inputs = {name: values.repeat(1, length)[:, :length] for name, values in inputs.items()}
    with torch.inference_mode():
        model.eval()(**inputs)


def load_whole(folder, place, tokenizer, tensors, longest, classes, task=tasks.DEFAULT):
    """Return the classifier of a model's folder after checking that every tensor has its place and that it reads texts.

    Args:
        folder: with config.json and model.safetensors.
        place: its name in messages.
        tokenizer: the model's.
        tensors: {name: tensor} of the file.
        longest: most tokens of an input.
        classes: names of the classes in order.
        task: kind of the labels.

    Returns:
        tuple: the classifier, and the names of the tensors that the file lacks.

    Raises:
        StudyError: it cannot be loaded, a tensor is missing or has another size or no place, it fails on a text or on
            the longest input, or every run's check of its start would fail.
    """
    try:
        model, fresh = build_encoder(folder, "pretrained", 0, WITHOUT_DROPOUT, classes, task)
        read(model, tokenizer)
    except StudyError as error:
        reason = str(error).removeprefix(folder).lstrip(": ")
        raise StudyError(f"{place} {reason}; get the model's files again") from error
    except Exception as error:
        # Each kind of model fails with another exception.
        reason = str(error).strip().splitlines()[0][:200] if str(error).strip() else type(error).__name__
        raise StudyError(
            f"{place}: the model cannot be used ({type(error).__name__}: {reason}); its config.json, weights and "
            "tokenizer must be of one model"
        ) from error
    try:
        read(model, tokenizer, longest)
    except Exception as error:
        raise StudyError(
            f"{place}: config.json and the tokenizer promise inputs of {longest} tokens, and the model fails on one "
            f"({type(error).__name__}); write a smaller model_max_length into its tokenizer_config.json, or set "
            "max_tokens of this model"
        ) from error
    try:
        prove_encoder(model, fresh, tensors, "pretrained")
    except StudyError as error:
        raise StudyError(
            f"{place}: {error}; Transformers reads these weights under other names than the file's, and no run could "
            "prove that they are loaded: choose another model"
        ) from error
    check_places(tensors, model, encoder_prefix(model), place)
    return model, fresh


def settle_head(folder, model, fresh, tensors, classes, place, new_head, task=tasks.DEFAULT):
    """Leave in the folder a head whose rows are the study's classes in order, or no rows; return the outcome.

    Lower layers of the head stay as in the file (ModernBERT's were pretrained).

    Args:
        folder: to change: model.safetensors and config.json.
        model, fresh: what `load_whole` returned.
        tensors: {name: tensor} of the file.
        classes: names of the classes in order.
        task: kind of the labels.
        place: see `finetuning.heads.match_head`.
        new_head: True where the settings ask for a new head.

    Returns:
        dict: status (`NEW`, `KEPT` or `REORDERED`), tensors (names of a kept head's).

    Raises:
        StudyError: see `match_head` and `check_head`.
    """
    rows, path = rows_by_class(model), os.path.join(folder, "config.json")
    fields = read_json(path)
    # A head of classes is none of numbers or of sets, whatever its names.
    new_head = new_head or task != tasks.DEFAULT
    order = None if new_head or set(rows) & set(fresh) else match_head(fields, classes, place)
    if order is not None:
        check_head(tensors, model, place)
    kept = {name: tensor for name, tensor in tensors.items() if order is not None or name not in rows}
    if order is not None:
        kept |= {name: kept[name][order].contiguous() for name in rows}
        named = {str(k): name for k, name in enumerate(classes)}
        write_json(path, fields | {"id2label": named, "label2id": {name: k for k, name in enumerate(classes)}})
    if order != sorted(order or ()) or len(kept) < len(tensors):
        save(folder, kept)
    if order is None:
        return {"status": NEW, "tensors": []}
    return {"status": KEPT if order == sorted(order) else REORDERED, "tensors": sorted(head_tensors(model))}


def save(folder, tensors):
    """Write a model's tensors into one file."""
    path = os.path.join(folder, "model.safetensors")
    save_file(tensors, path, metadata={"format": "pt"})
    grant(path)


def main(files, name, folder, classes=POLARITY, max_tokens=None, new_head=False, source=None, task=tasks.DEFAULT):
    """Write the model's folder.

    Args:
        files: the model's files.
        name: name of the model, under `finetuning.models`.
        folder: folder to write: config.json, model.safetensors, the tokenizer's files, conversion.json (`tensors` and
            `source_sha256`, hashes of every tensor and file; `max_positions`: tokens of an input, including special
            ones; `n_ids`: token ids with a vector in the model; `head`: see `settle_head`; `truncation_side`;
            `tokenizer_changed`: None, or the change that makes Transformers use its file unchanged).
        classes: names of the study's classes in order.
        task: kind of the labels.
        max_tokens: most tokens of an input, from the settings; None: as many as the model and its tokenizer take.
        new_head: True where a head that came with the model is left out.
        source: the model's folder, by the settings; None: its files are from the hub.

    Raises:
        StudyError: no weights, no tokenizer, or a model that is no encoder for sequence classification.
    """
    settings = {"classes": classes, "max_tokens": max_tokens, "new_head": new_head, "task": task}
    if source or (len(files) == 1 and os.path.isdir(files[0])):
        given = files[0] if os.path.isdir(files[0]) else os.path.dirname(files[0])
        take(given, f"finetuning.models.{name}: {source or given}", name, folder, **settings)
        return
    # Other studies may use the same folder with other files of the model.
    with tempfile.TemporaryDirectory() as source:
        for path in files:
            os.symlink(os.path.realpath(path), os.path.join(source, os.path.basename(path)))
        take(source, f"finetuning.models.{name}.hub", name, folder, **settings)


def take(source, place, name, folder, classes, max_tokens, new_head, task):
    """Write the model's folder; see `main`.

    Args:
        source: folder that holds the model alone.
        place: its name in messages.
        name, folder, classes, max_tokens, new_head, task: see `main`.
    """
    check_pointers(source, place)
    config = check_config(source, place)
    others = [path for path in sorted(glob.glob(os.path.join(glob.escape(source), "*"))) if path.endswith(ENDINGS)]
    others = [path for path in others if not path.endswith(".index.json")]
    with atomic_path(folder) as temporary:
        os.mkdir(temporary)
        for path in others:
            shutil.copyfile(path, os.path.join(temporary, os.path.basename(path)))
        tokenizer, changed = settle_tokenizer(temporary, place, lambda: load_tokenizer(temporary, place))
        longest = longest_input(config, tokenizer, place, max_tokens)
        tensors, weights = read_weights(source, place)
        tensors = with_todays_names(tensors, place)
        check_wrapper(tensors, f"{prefix_of(config)}.", place)
        save(temporary, tensors)
        model, fresh = load_whole(temporary, place, tokenizer, tensors, longest, classes, task)
        head = settle_head(temporary, model, fresh, tensors, classes, place, new_head, task)
        taken = load_file(os.path.join(temporary, "model.safetensors"))
        record = {
            "source_sha256": {os.path.basename(path): sha256(path) for path in [*others, *weights]},
            "heads_verified": True,
            "max_positions": longest,
            "n_ids": len(model.get_input_embeddings().weight),
            "head": head,
            "truncation_side": tokenizer.truncation_side,
            "tokenizer_changed": changed,
            "tensors": {key: tensor_sha256(tensor) for key, tensor in sorted(taken.items())},
        }
        write_json(os.path.join(temporary, "conversion.json"), record)
        # Without these a pipeline would not know where to cut, or would give a model inputs that it has no place for.
        tokenizer_config = os.path.join(temporary, "tokenizer_config.json")
        settings = read_json(tokenizer_config) if os.path.exists(tokenizer_config) else {}
        settings |= {"model_max_length": longest, "model_input_names": tokenizer_inputs(tokenizer, model)}
        write_json(tokenizer_config, settings)
    print(f"{name}: {config.model_type}, {len(taken)} tensors, inputs of at most {longest} tokens")
    print(f"classification head: {head['status']}")
    if changed:
        print(f"tokenizer: {changed}")


if __name__ == "__main__":
    run(main, snakemake)
