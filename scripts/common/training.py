"""What both frameworks' training shares: precision, device, learning rate, threads, versions."""

import ctypes
import os
import threading
import time

import torch

from common.errors import StudyError
from common.machine import package_versions

PRECISIONS = ("auto", "float32", "bfloat16")
# What can change a number, of what is installed.
PACKAGES = ("torch", "numpy", "transformers", "accelerate", "fairseq-fixed", "sentencepiece", "safetensors")


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


def warmup_updates(total_updates, warmup_ratio):
    """Return the updates of the warm-up: floor(ratio * total)."""
    # A ratio such as 0.06 is not exact in binary: 0.06 * 1150 is 68.99999999999999, and 69 is meant.
    return int(round(total_updates * warmup_ratio, 9))


def learning_rate(update, peak, warmup, total):
    """Return the learning rate of one update: linear from 0 to `peak`, then linear to 0.

    After n updates the rate is p n / w up to n = w, then p (1 - (n - w) / (t - w)); update k is made
    with the rate of n = k - 1. So the first update of a warm-up has rate 0, and the last has p / (t - w).

    Args:
        update: k, 1-based.
        peak: p.
        warmup: w, updates of the warm-up; 0: none.
        total: t, updates of the run.

    Source: fairseq.optim.lr_scheduler.polynomial_decay_schedule with power 1 and end rate 0, and the
        calls of fairseq.trainer, which sets the rate for n = 0 before the first update; the same values
        as `transformers.get_linear_schedule_with_warmup`.
    """
    done = update - 1
    if warmup > 0 and done <= warmup:
        return done / float(warmup) * peak
    if done >= total:
        return 0.0
    return peak * (1 - (done - warmup) / (total - warmup))


def set_threads(threads):
    """Use `threads` CPU threads for PyTorch's operators, keep freed memory, and let attention be bfloat16.

    Under bfloat16 autocast PyTorch would compute attention with dropout in float32 on a CPU, copies and all.
    """
    os.environ["OMP_NUM_THREADS"] = str(threads)
    torch.set_num_threads(threads)
    torch.backends.cuda.allow_fp16_bf16_reduction_math_sdp(True)  # the CPU heeds it, too
    keep_memory()


def keep_memory(seconds=20):
    """Tell glibc to hand freed memory back to the kernel now and then, not at once.

    At once, every update would page its large blocks in again; never, the holes that batches of many lengths leave
    would grow a job by a gigabyte. Without effect where the C library is another one.

    Args:
        seconds: between two times.

    Source: mallopt(3): M_TRIM_THRESHOLD -1, M_TOP_PAD -2, M_MMAP_MAX -4; malloc_trim(3).
    """
    try:
        libc = ctypes.CDLL("libc.so.6")
        mallopt, malloc_trim = libc.mallopt, libc.malloc_trim
    except (OSError, AttributeError):
        return
    for parameter, value in ((-1, 2**31 - 1), (-2, 64 * 2**20), (-4, 0)):
        mallopt(parameter, value)

    def trim():
        while True:
            time.sleep(seconds)
            malloc_trim(0)

    if not any(thread.name == "malloc_trim" for thread in threading.enumerate()):
        threading.Thread(target=trim, name="malloc_trim", daemon=True).start()


def versions():
    """Return {package: version} of what is installed of `PACKAGES`, and of Python."""
    return package_versions(PACKAGES)
