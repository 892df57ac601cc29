"""The device that trains and the precision that it trains in."""

import torch

from common.errors import StudyError

PRECISIONS = ("auto", "float32", "bfloat16")


def choose_device():
    """Return "cuda" where PyTorch sees a GPU, else "cpu"."""
    return "cuda" if torch.cuda.is_available() else "cpu"


def has_fast_bfloat16(device=None):
    """Tell whether bfloat16 products are computed by instructions of their own (AVX512-BF16, AMX, CUDA)."""
    device = device or choose_device()
    if device == "cuda":
        return torch.cuda.is_bf16_supported(including_emulation=False)
    capabilities = torch.cpu.get_capabilities()
    return bool(capabilities.get("avx512_bf16") or capabilities.get("amx_bf16"))


def resolve_precision(precision, device=None):
    """Return the precision to train in.

    Args:
        precision: "auto" (bfloat16 where the hardware has it), "float32" or "bfloat16".
        device: "cpu", "cuda" or None (the one that `choose_device` gives).

    Returns:
        str: "float32" or "bfloat16".

    Raises:
        StudyError: another word.
    """
    if precision not in PRECISIONS:
        raise StudyError(f"precision is {precision!r}: use one of {', '.join(PRECISIONS)}")
    if precision != "auto":
        return precision
    return "bfloat16" if has_fast_bfloat16(device) else "float32"
