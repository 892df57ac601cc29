"""The device and the precision of training."""

import torch

from common.errors import StudyError

PRECISIONS = ("auto", "float32", "bfloat16")


def choose_device():
    """Return "cuda" where PyTorch sees a GPU, else "cpu"."""
    return "cuda" if torch.cuda.is_available() else "cpu"


def has_fast_bfloat16(device=None):
    """Return whether bfloat16 products are faster than float32 ones.

    They are on GPUs that have them, with AMX, and with AVX512-BF16 except Intel's, whose bfloat16 instruction is half
    as fast as its float32 one: 98 against 172 GFLOP/s on one core of a Xeon of 2023 whose AMX a virtual machine hides.
    """
    device = device or choose_device()
    if device == "cuda":
        return torch.cuda.is_bf16_supported(including_emulation=False)
    capabilities = torch.cpu.get_capabilities()
    intel = str(capabilities.get("cpu_name", "")).startswith("Intel")
    return bool(capabilities.get("amx_bf16") or (capabilities.get("avx512_bf16") and not intel))


def resolve_precision(precision, device=None):
    """Return the precision to train in.

    Args:
        precision: "auto" (bfloat16 where it is faster), "float32" or "bfloat16".
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
