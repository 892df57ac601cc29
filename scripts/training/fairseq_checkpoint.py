"""Read a fairseq checkpoint without running code from it."""

import argparse
import os
import pickle
import re
import zipfile

import numpy
import torch

from common.errors import StudyError
from study.pointers import check_pointer
from training.roberta import upgrade_names

REMEDY = "fetch or make the checkpoint again"


def _allowed():
    """Classes besides tensors that fairseq's checkpoints hold: settings, and NumPy numbers in old meters."""
    return [
        argparse.Namespace,
        numpy.dtype,
        numpy.ndarray,
        (numpy._core.multiarray.scalar, "numpy.core.multiarray.scalar"),
        numpy._core.multiarray.scalar,
        *(type(numpy.dtype(kind)) for kind in ("float64", "float32", "int64", "int32", "bool")),
    ]


def allow_fairseq_classes():
    """Let `torch.load` read fairseq's checkpoints (its `weights_only` mode refuses every other class)."""
    torch.serialization.add_safe_globals(_allowed())


def read_checkpoint(path, mmap=None):
    """Return the content of a fairseq checkpoint as the file has it.

    The file is a pickle: only tensors, plain values and `argparse.Namespace` are unpickled.

    Args:
        path: `model.pt`, as `fairseq-train` or the rule `pretrain` writes it.
        mmap: True: tensors stay in the file until they are used.

    Returns:
        dict: "model": {name: tensor}, and the other entries of `fairseq-train`.

    Raises:
        StudyError: the file is missing, truncated, not a fairseq checkpoint, or holds other classes.
    """
    if not os.path.isfile(path):
        raise StudyError(f"{path} is missing: {REMEDY}")
    check_pointer(path)
    allow_fairseq_classes()
    try:
        _refuse_packed(path)
        state = torch.load(path, map_location="cpu", weights_only=True, mmap=mmap)
    except pickle.UnpicklingError as error:
        # PyTorch's message is long, and only the class is worth repeating.
        what = re.search(r"GLOBAL (\S+)", str(error))
        named = f" (it holds a {what[1]})" if what else ""
        raise StudyError(f"{path} is not a fairseq checkpoint of tensors and settings{named}: {REMEDY}") from error
    except Exception as error:
        raise StudyError(f"{path} is truncated or is not a PyTorch file: {REMEDY}") from error
    if not isinstance(state, dict) or not isinstance(state.get("model"), dict) or not state["model"]:
        raise StudyError(f"{path} is not a fairseq checkpoint: it has no weights under `model`; {REMEDY}")
    for name, tensor in state["model"].items():
        if not isinstance(tensor, torch.Tensor) or not _is_whole(tensor):
            raise StudyError(f"{path}: `{name}` under `model` is not a tensor with all its values; {REMEDY}")
    return state


def load_fairseq_checkpoint(path):
    """Return the weights and model settings of a fairseq checkpoint.

    Args:
        path: see `read_checkpoint`.

    Returns:
        dict: "model": {name: float32 tensor}, under fairseq 0.12's names; "settings": see `model_settings`.

    Raises:
        StudyError: see `read_checkpoint`; or a value is infinite or not a number.
    """
    state = read_checkpoint(path)
    # fairseq also copies half-precision checkpoints into float32 parameters.
    model = {name: t.float() if t.is_floating_point() else t for name, t in state["model"].items()}
    for name, tensor in model.items():
        if not bool(tensor.isfinite().all()):
            n = int((~tensor.isfinite()).sum())
            raise StudyError(
                f"{path}: {n} of the {tensor.numel()} values of tensor {name} are infinite or not a number (its "
                f"training diverged, or the file is damaged): {REMEDY}"
            )
    return {"model": upgrade_names(model), "settings": model_settings(state)}


def model_settings(state):
    """Return the model's arguments as a dict: new checkpoints have them in cfg.model, old ones in args."""
    settings = (state.get("cfg") or {}).get("model") if isinstance(state.get("cfg"), dict) else None
    settings = settings if settings is not None else state.get("args")
    if isinstance(settings, argparse.Namespace):
        settings = vars(settings)
    return dict(settings) if isinstance(settings, dict) else {}


def tells_heads(settings):
    """Return whether a checkpoint's settings give its number of attention heads, which its tensors do not show."""
    return "encoder_attention_heads" in settings


def _refuse_packed(path):
    """Refuse a PyTorch zip with compressed parts, which PyTorch never writes: they could be a zip bomb."""
    if zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            if sum(record.file_size for record in archive.infolist()) > os.path.getsize(path):
                raise ValueError("its parts are packed")


def _is_whole(tensor):
    """Return whether a tensor's values are in the file: a few bytes can claim any shape (by strides of 0)."""
    if tensor.layout != torch.strided or tensor.device.type != "cpu":
        return False
    return tensor.numel() * tensor.element_size() <= tensor.untyped_storage().nbytes()
