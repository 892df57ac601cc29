"""Take a Hugging Face encoder that arms start from: its folder checked, its weights in one file, tensors hashed."""

import glob
import os
import shutil
import tempfile

from common.entry import run
from common.errors import StudyError
from common.files import atomic_path, grant, read_json, sha256, write_json
from finetuning.lib.encoders import (
    build_encoder,
    check_config,
    load_tokenizer,
    longest_input,
    prove_encoder,
    tokenizer_inputs,
)
from finetuning.lib.model_files import read_weights
from training.weights import tensor_sha256

# What beside the weights belongs to a model: its configuration and its tokenizer's files, whatever their names.
ENDINGS = (".json", ".txt", ".model", ".jinja", ".codes")
# How BERT's first files call the two tensors of a layer norm; Transformers gives them today's names as it loads them.
FIRST_NAMES = {"LayerNorm.gamma": "LayerNorm.weight", "LayerNorm.beta": "LayerNorm.bias"}
# For a look at the model without training.
WITHOUT_DROPOUT = {"dropout": 0.0, "classifier_dropout": 0.0}


def todays_name(name):
    """Return a tensor's name without one of `FIRST_NAMES` at its end."""
    for first, today in FIRST_NAMES.items():
        if name.endswith(first):
            return name.removesuffix(first) + today
    return name


def read(model, tokenizer, length=None):
    """Let a model read a short text; given a length, the text's tokens over and over, so many of them."""
    import torch

    inputs = tokenizer("a b", return_tensors="pt")
    inputs = {name: inputs[name] for name in tokenizer_inputs(tokenizer, model)}
    if length:
        inputs = {name: values.repeat(1, length)[:, :length] for name, values in inputs.items()}
    with torch.inference_mode():
        model.eval()(**inputs)


def load_whole(folder, place, tokenizer, tensors, longest):
    """Return the classifier of a model's folder once it is whole: every tensor in its place, and it reads texts.

    Args:
        folder: with config.json and model.safetensors.
        place: how messages call the model.
        tokenizer: the model's.
        tensors: {name: tensor} of the file.
        longest: most tokens of an input.

    Raises:
        StudyError: it cannot be loaded, a tensor is missing or has another size, it fails on a text or on the longest
            input, or the proof that every run gives of its start would fail.
    """
    try:
        model, fresh = build_encoder(folder, "pretrained", 0, WITHOUT_DROPOUT)
        read(model, tokenizer)
    except StudyError as error:
        reason = str(error).removeprefix(folder).lstrip(": ")
        raise StudyError(f"{place} {reason}; get the model's files again") from error
    except Exception as error:
        # Each kind of model fails in a way of its own.
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
            f"({type(error).__name__}); write a smaller model_max_length into its tokenizer_config.json"
        ) from error
    try:
        prove_encoder(model, fresh, tensors, "pretrained")
    except StudyError as error:
        raise StudyError(
            f"{place}: {error}; Transformers reads these weights under other names than the file's, and no run could "
            "prove that they are loaded: choose another model"
        ) from error
    return model


def main(files, name, folder):
    """Write the model's folder.

    Args:
        files: the model's folder alone, or its files.
        name: of the model, under `finetuning.models`.
        folder: folder to write: config.json, model.safetensors, the tokenizer's files, conversion.json (`tensors` and
            `source_sha256`, hashes of every tensor and file; `max_positions`: tokens of an input, special ones among
            them; `n_ids`: token ids that the model has a vector for).

    Raises:
        StudyError: no weights, no tokenizer, or a model that is no encoder for sequence classification.
    """
    if len(files) == 1 and os.path.isdir(files[0]):
        take(files[0], f"finetuning.models.{name}: {files[0]}", name, folder)
        return
    # Other studies may have other files of the model where these lie.
    with tempfile.TemporaryDirectory() as source:
        for path in files:
            os.symlink(os.path.realpath(path), os.path.join(source, os.path.basename(path)))
        take(source, f"finetuning.models.{name}.hub", name, folder)


def take(source, place, name, folder):
    """Write the model's folder; see `main`.

    Args:
        source: folder that holds the model alone.
        place: how messages call it.
        name, folder: see `main`.
    """
    from safetensors.torch import save_file

    config = check_config(source, place)
    tokenizer = load_tokenizer(source, place)
    longest = longest_input(config, tokenizer, place)
    tensors, weights = read_weights(source, place)
    tensors = {todays_name(name): tensor for name, tensor in tensors.items()}
    others = [path for path in sorted(glob.glob(os.path.join(glob.escape(source), "*"))) if path.endswith(ENDINGS)]
    others = [path for path in others if not path.endswith(".index.json")]
    with atomic_path(folder) as temporary:
        os.mkdir(temporary)
        for path in others:
            shutil.copyfile(path, os.path.join(temporary, os.path.basename(path)))
        save_file(tensors, os.path.join(temporary, "model.safetensors"), metadata={"format": "pt"})
        grant(os.path.join(temporary, "model.safetensors"))
        model = load_whole(temporary, place, tokenizer, tensors, longest)
        record = {
            "source_sha256": {os.path.basename(path): sha256(path) for path in [*others, *weights]},
            "heads_verified": True,
            "max_positions": longest,
            "n_ids": len(model.get_input_embeddings().weight),
            "tensors": {key: tensor_sha256(tensor) for key, tensor in sorted(tensors.items())},
        }
        write_json(os.path.join(temporary, "conversion.json"), record)
        # Else a pipeline would not know where to cut, or would give a model what it has no place for.
        own = os.path.join(temporary, "tokenizer_config.json")
        settings = read_json(own) if os.path.exists(own) else {}
        settings |= {"model_max_length": longest, "model_input_names": tokenizer_inputs(tokenizer, model)}
        write_json(own, settings)
    print(f"{name}: {config.model_type}, {len(tensors)} tensors, inputs of at most {longest} tokens")


if __name__ == "__main__":
    run(main, snakemake)
