"""A training on a GPU that is too small, as far as PyTorch's error tells, in one of `support.killed_runs`' children."""

import importlib
import os
import signal

import torch


def main(script, largest, begins, kill_at=None, **arguments):
    """Call a script's `main`; from an update on, training with more than `largest` examples at once runs out of memory.

    Args:
        script: module of the script.
        largest: examples.
        begins: number of the update from which memory is scarce.
        kill_at: number of the update whose step kills the process instead; None: none does.
        **arguments: of `main`.
    """
    embed, step, made = torch.nn.functional.embedding, torch.optim.AdamW.step, [0]

    def scarce(tokens, *args, **kwargs):
        if torch.is_grad_enabled() and made[0] + 1 >= begins and len(tokens) > largest:
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 MiB.")
        return embed(tokens, *args, **kwargs)

    def counted(*args, **kwargs):
        made[0] += 1
        if made[0] == kill_at:
            os.kill(os.getpid(), signal.SIGKILL)
        return step(*args, **kwargs)

    torch.nn.functional.embedding, torch.optim.AdamW.step = scarce, counted
    importlib.import_module(script).main(**arguments)
