"""The files of an external model: which of them contain its weights, and their tensors."""

import glob
import os
import pickle

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file

from common.errors import StudyError
from common.files import read_json
from study.hub import WEIGHTS, all_shards
from training.weights import is_constant

# These types occur in weights and in numbers beside them, such as position ids; others are forms of quantisation.
DTYPES = (torch.float32, torch.float16, torch.bfloat16, torch.float64, torch.int64, torch.int32, torch.bool)
# A message names these forms of weights, which are not read here.
OTHER_WEIGHTS = ("*.safetensors", "*.bin", "*.pt", "*.pth", "*.h5", "*.msgpack", "*.gguf", "*.onnx")


def weight_files(folder, place):
    """Return the paths of a model's weights: one file, or all that an index names, or all numbered shards.

    Args:
        folder: folder of the model.
        place: its name in messages.

    Raises:
        StudyError: none, or a shard that is missing.
    """
    for name in WEIGHTS:
        stem, ending = os.path.splitext(name)
        shards = sorted(glob.glob(os.path.join(glob.escape(folder), f"{stem}-*-of-*{ending}")))
        index = os.path.join(folder, f"{name}.index.json")
        if os.path.exists(os.path.join(folder, name)):
            return [os.path.join(folder, name)]
        if os.path.exists(index):
            wanted = sorted(set(_weight_map(index, place).values()))
        else:
            wanted = all_shards(map(os.path.basename, shards))
        missing = [file for file in wanted if not os.path.exists(os.path.join(folder, file))]
        if missing:
            raise StudyError(
                f"{place} lacks {', '.join(missing)}, a part of its weights; copy it there, or list it among hub.files"
            )
        if wanted:
            return [os.path.join(folder, file) for file in wanted]
    others = sorted({file for form in OTHER_WEIGHTS for file in glob.glob(form, root_dir=folder)})
    held = f"; {', '.join(others)} is none of these forms" if others else ""
    adapter = os.path.exists(os.path.join(folder, "adapter_config.json"))
    held += ": merge the adapter into its base first" if adapter else ""
    raise StudyError(
        f"{place} has no weights (model.safetensors or pytorch_model.bin{held}); name a folder that `save_pretrained` "
        "wrote, or list the file among hub.files"
    )


def _weight_map(index, place):
    """Return {tensor: file} of an index; a file's name is no path."""
    content = read_json(index)
    found = content.get("weight_map") if isinstance(content, dict) else None
    if not isinstance(found, dict) or not found or any(os.path.basename(str(file)) != file for file in found.values()):
        raise StudyError(f"{place}: {os.path.basename(index)} has no `weight_map` of tensors to files; get it again")
    return found


def read_weights(folder, place):
    """Return all tensors of a model's folder, from one file or from several, and the paths of these files.

    Tensors that share their values are copied apart.

    Args:
        folder: folder of the model.
        place: its name in messages.

    Raises:
        StudyError: no weights, a file that cannot be read or that contains code, a tensor that the index names and no
            file has, or values that are not finite, quantised, or all alike.
    """
    files = weight_files(folder, place)
    tensors = {}
    for path in files:
        file = os.path.basename(path)
        try:
            if path.endswith(".bin"):
                found = torch.load(path, map_location="cpu", weights_only=True)
            else:
                found = load_file(path)
        except pickle.UnpicklingError as error:
            raise StudyError(
                f"{place}: {file} is pickled and holds more than tensors, or is damaged; it is not run. Convert it to "
                "model.safetensors where you trust it"
            ) from error
        except (OSError, RuntimeError, EOFError, SafetensorError) as error:
            reason = str(error).strip().splitlines()[0][:200] if str(error).strip() else type(error).__name__
            raise StudyError(f"{place}: {file} cannot be read ({reason}); get it again") from error
        if not isinstance(found, dict) or not all(isinstance(tensor, torch.Tensor) for tensor in found.values()):
            raise StudyError(f"{place}: {file} is no map of names to tensors; name a folder of `save_pretrained`")
        tensors |= found
    if len(files) > 1 and os.path.exists(index := os.path.join(folder, _index_of(files[0]))):
        lost = sorted(_weight_map(index, place).keys() - tensors.keys())
        if lost:
            raise StudyError(f"{place}: no file holds tensor {lost[0]}, which the index names; get the files again")
    for key, tensor in tensors.items():
        if tensor.dtype not in DTYPES:
            kind = str(tensor.dtype).removeprefix("torch.")
            raise StudyError(
                f"{place}: tensor {key} is stored as {kind}, which cannot be trained; name the model in full precision"
            )
        if tensor.is_floating_point() and not torch.isfinite(tensor).all():
            raise StudyError(f"{place}: tensor {key} has values that are not finite; get the model again")
    if all(is_constant(tensor) for tensor in tensors.values()):
        raise StudyError(f"{place}: each tensor of its weights has one value alone, so nothing is learnt; get it again")
    return {key: tensor.contiguous().clone() for key, tensor in tensors.items()}, files


def _index_of(shard):
    """Return the name of the index of a shard's model."""
    return f"{WEIGHTS[shard.endswith('.bin')]}.index.json"
