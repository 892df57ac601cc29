"""Take a Hugging Face encoder that arms start from: its folder checked, its weights in one file, tensors hashed."""

import glob
import os
import shutil

from common.entry import run
from common.errors import StudyError
from common.files import atomic_path, grant, read_json, sha256, write_json
from finetuning.lib.encoders import check_config, load_tokenizer, longest_input
from training.weights import tensor_sha256

# What beside the weights belongs to a model: its configuration and its tokenizer's files, whatever their names.
ENDINGS = (".json", ".txt", ".model", ".jinja")


def read_weights(folder, name):
    """Return all tensors of a model's folder, from one file or from several.

    Args:
        folder: of the model.
        name: of the model, for messages.

    Returns:
        tuple[dict, list[str]]: {name: tensor}, the files that they come from.

    Raises:
        StudyError: no weights, or a file that cannot be read.
    """
    import pickle

    import torch
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    files = sorted(glob.glob(os.path.join(glob.escape(folder), "model*.safetensors")))
    files = files or sorted(glob.glob(os.path.join(glob.escape(folder), "pytorch_model*.bin")))
    if not files:
        raise StudyError(
            f"finetuning.models.{name}: {folder} has no weights (model.safetensors or pytorch_model.bin); name a "
            "folder that `save_pretrained` wrote, or list the file among hub.files"
        )
    tensors = {}
    for path in files:
        try:
            if path.endswith(".bin"):
                tensors |= torch.load(path, map_location="cpu", weights_only=True)
            else:
                tensors |= load_file(path)
        except (OSError, RuntimeError, EOFError, pickle.UnpicklingError, SafetensorError) as error:
            raise StudyError(f"finetuning.models.{name}: {path} cannot be read ({error}); get it again") from error
    return {key: tensor.contiguous().clone() for key, tensor in tensors.items()}, files


def main(files, name, folder):
    """Write the model's folder.

    Args:
        files: the model's folder alone, or its files.
        name: of the model, under `finetuning.models`.
        folder: folder to write: config.json, model.safetensors, the tokenizer's files, conversion.json (`tensors` and
            `source_sha256`, hashes of every tensor and file; `max_positions`: tokens of an input, special ones among
            them).

    Raises:
        StudyError: no weights, no tokenizer, or a model that is no encoder for sequence classification.
    """
    from safetensors.torch import save_file

    source = files[0] if len(files) == 1 and os.path.isdir(files[0]) else os.path.dirname(files[0])
    config = check_config(source, name)
    tokenizer = load_tokenizer(source, name)
    tensors, weights = read_weights(source, name)
    others = [path for path in sorted(glob.glob(os.path.join(glob.escape(source), "*"))) if path.endswith(ENDINGS)]
    others = [path for path in others if not path.endswith(".index.json")]
    with atomic_path(folder) as temporary:
        os.mkdir(temporary)
        for path in others:
            shutil.copyfile(path, os.path.join(temporary, os.path.basename(path)))
        save_file(tensors, os.path.join(temporary, "model.safetensors"), metadata={"format": "pt"})
        grant(os.path.join(temporary, "model.safetensors"))
        record = {
            "source_sha256": {os.path.basename(path): sha256(path) for path in [*others, *weights]},
            "heads_verified": True,
            "max_positions": longest_input(config, tokenizer),
            "tensors": {key: tensor_sha256(tensor) for key, tensor in sorted(tensors.items())},
        }
        write_json(os.path.join(temporary, "conversion.json"), record)
        # Else a pipeline would not know where to cut.
        own = os.path.join(temporary, "tokenizer_config.json")
        settings = read_json(own) if os.path.exists(own) else {}
        write_json(own, settings | {"model_max_length": record["max_positions"]})
    print(f"{name}: {config.model_type}, {len(tensors)} tensors, inputs of at most {record['max_positions']} tokens")


if __name__ == "__main__":
    run(main, snakemake)
