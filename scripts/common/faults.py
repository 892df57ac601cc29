"""Faults of the machine rather than the study: a full disk, too little memory; each is reported with its remedy.

No package recognises them: every library has other messages, and the remedy is a key of the study's configuration.
"""

import errno
import os
import re
import shutil

# Libraries that raise no OSError (PyTorch, safetensors, SQLite) report a full disk in these words.
_FULL = (
    "No space left on device",
    "Disk quota exceeded",
    "PytorchStreamWriter failed",
    "unexpected pos",
    "os error 28",
    "disk is full",
)
# PyTorch (CPU, CUDA), C++ and the operating system report lack of memory in these words.
_MEMORY = ("out of memory", "can't allocate memory", "not enough memory", "Cannot allocate memory", "bad_alloc")
# A rule's need of memory grows with these settings; the section's `precision` also reduces it.
_SECTIONS = {
    "pretrain": "checkpoint.pretraining",
    "finetune_lora": "qa.training",
    "build_qa_base_model": "qa.base.embedded.training",
    # These patterns apply to any framework; the first that fits counts.
    "finetune_": "finetuning.training",
}
# A model of whole texts has no batches.
_WHOLE = re.compile(r"finetune_linear")
# Question answering has no such setting.
_EVALUATIONS = re.compile(r"evaluate_(?!qa$)|test_curve_|score_logits_|compare_logits|export_")


def chain(error):
    """Yield an exception and those that it came from."""
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def is_full_disk(error):
    """Return whether an exception, or one that it came from, says that the disk (or its quota) is full."""
    for one in chain(error):
        if isinstance(one, OSError) and one.errno in (errno.ENOSPC, errno.EDQUOT):
            return True
        if any(words in str(one) for words in _FULL):
            return True
    return False


def is_out_of_memory(error):
    """Return whether an exception, or one that it came from, says that memory ran out."""
    for one in chain(error):
        if isinstance(one, MemoryError) or (isinstance(one, OSError) and one.errno == errno.ENOMEM):
            return True
        if isinstance(one, RuntimeError) and any(words in str(one) for words in _MEMORY):
            return True
    return False


def memory_remedy(rule):
    """Return the remedy for a rule that ran out of memory.

    Args:
        rule: its name; a workflow that has this one as a module may have put words before it (`study_pretrain`).
    """
    name = next((name for name in _SECTIONS if name in rule), None)
    if name and not _WHOLE.search(rule):
        section = _SECTIONS[name]
        halved = "" if name == "build_qa_base_model" else f", or set {section}.precision to bfloat16"
        return f"make {section}.batch_size smaller{halved} (this changes the result), or use a machine with more memory"
    if _EVALUATIONS.search(rule):
        return "make finetuning.evaluation.batch_size smaller (it does not change what is predicted)"
    return "close other programs, run fewer jobs at once (--cores 1), or use a machine with more memory"


def has_full_disk(folder):
    """Return whether the disk that holds a folder has no room for even a record of Snakemake's (64 kB)."""
    return os.path.isdir(folder) and shutil.disk_usage(folder).free < 2**16


def explain(error, rule, folder):
    """Return one message with the remedy for a fault of the machine, or None for any other exception.

    Args:
        error: exception of a rule's script.
        rule: the rule's name.
        folder: `results/<study>`, for the message.
    """
    if is_full_disk(error):
        return (
            f"the disk that holds {folder or 'the outputs'} is full: free some space and run again; finished jobs "
            "are kept, and training resumes from its last saved state"
        )
    if is_out_of_memory(error):
        return f"out of memory: {memory_remedy(rule)}, and run again"
    return None
