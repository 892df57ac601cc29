"""The progress of a running training, from the line that each of its validations prints into its log."""

import contextlib
import os
import re

# As `training.loss_curves.progress_line` prints it.
LINE = re.compile(r"^at update (\d+) of (\d+)(?:, epoch (\d+) of (\d+))?: validation ([^,\n]*)", re.MULTILINE)
# A pretraining's validations are far apart; between them its library reports its updates.
STEP = re.compile(r"\bnum_updates=(\d+)")
# Bytes at the end of a log that are read.
TAIL = 20_000


def standing(job):
    """Return (what a job is at in words, the share of it that is done); ('', None) for a job that trains nothing.

    Args:
        job: Snakemake's, or None.
    """
    if job is None or "states" not in job.params.keys() or not job.log:
        return "", None
    wildcards = dict(job.wildcards_dict)
    name = wildcards.get("arm") or job.rule.name.replace("_", " ")
    name += f", seed {wildcards['seed']}" if "seed" in wildcards else ""
    log = tail(str(job.log[0]))
    found, steps = LINE.findall(log), STEP.findall(log)
    update, updates, epoch, epochs, score = found[-1] if found else ("0", "", "", "", "")
    if "pretraining" in job.params.keys() and steps:
        update, updates = max(update, steps[-1], key=int), str(job.params["pretraining"]["updates"])
    if not updates:
        return name, None
    step = f"epoch {epoch} of {epochs}" if epochs else f"update {update} of {updates}"
    return f"{name}: {step}" + (f", validation {score}" if score else ""), int(update) / int(updates)


def tail(path):
    """Return the end of a log; nothing where there is none."""
    with contextlib.suppress(OSError), open(path, "rb") as handle:
        handle.seek(max(0, os.fstat(handle.fileno()).st_size - TAIL))
        return handle.read().decode("utf-8", "replace")
    return ""
