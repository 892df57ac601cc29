"""Start-up settings of a process that trains or scores (threads, memory), and its versions."""

import ctypes
import os
import threading
import time

import torch

from common.machine import package_versions

# The installed packages that can change a number.
PACKAGES = ("torch", "numpy", "transformers", "accelerate", "peft", "fairseq-fixed", "sentencepiece", "safetensors")


def set_threads(threads):
    """Use `threads` CPU threads for PyTorch's operators, flush denormals, keep freed memory, allow bfloat16 attention.

    Under bfloat16 autocast PyTorch would compute attention with dropout in float32 on a CPU, copies and all.
    """
    flush_denormals()
    os.environ["OMP_NUM_THREADS"] = str(threads)
    torch.set_num_threads(threads)
    torch.backends.cuda.allow_fp16_bf16_reduction_math_sdp(True)  # the setting also applies to a CPU
    keep_memory()


def flush_denormals():
    """Let numbers below float32's normal range (1.2e-38) be 0 in this thread and in those that it starts later.

    A processor takes many times as long for one. Many occur in the backward pass of sharp attention, and in AdamW's
    averages for pieces not seen for long; both are too small to change a weight (tests/unit/training/test_process.py).
    """
    torch.set_flush_denormal(True)


def _libc():
    """Return glibc, or None where the C library is another one."""
    try:
        libc = ctypes.CDLL("libc.so.6")
        return libc if libc.mallopt and libc.malloc_trim else None
    except (OSError, AttributeError):
        return None


def keep_memory(seconds=20):
    """Make glibc return freed memory to the kernel now and then, not at once.

    At once, every update would page its large blocks in again; never, the holes that batches of many lengths leave
    would grow a job by a gigabyte. Without effect where the C library is another one.

    Args:
        seconds: interval between two returns.

    Source: mallopt(3): M_TRIM_THRESHOLD -1, M_TOP_PAD -2, M_MMAP_MAX -4; malloc_trim(3).
    """
    libc = _libc()
    if libc is None:
        return
    for parameter, value in ((-1, 2**31 - 1), (-2, 64 * 2**20), (-4, 0)):
        libc.mallopt(parameter, value)

    def trim():
        while True:
            time.sleep(seconds)
            release_memory()

    if not any(thread.name == "malloc_trim" for thread in threading.enumerate()):
        threading.Thread(target=trim, name="malloc_trim", daemon=True).start()


def release_memory():
    """Return freed memory to the kernel now: training, scoring and saving use blocks of different sizes."""
    libc = _libc()
    if libc is not None:
        libc.malloc_trim(0)


def versions():
    """Return {package: version} of the installed `PACKAGES`, and of Python."""
    return package_versions(PACKAGES)
