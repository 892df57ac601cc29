"""Leftovers of Snakemake's removal of a temporary folder when it is killed half-way."""

import os
import shutil

from common.files import read_tsv, visible
from common.lock import is_held


def is_whole(checkpoints, epochs):
    """Return whether a run's folder holds the checkpoint of every epoch: `checkpoint1.pt`, or a folder `epoch1`.

    Args:
        checkpoints: the folder.
        epochs: number of epochs.
    """
    names = visible(checkpoints)
    sizes = {len(os.listdir(os.path.join(checkpoints, name))) for name in names if name.startswith("epoch")}
    return len(names) >= epochs and len(sizes) <= 1


def remove_remains(results, runs):
    """Remove the checkpoints of runs that lack some.

    Snakemake removes them once the best epoch is chosen, one after the other. What a kill leaves of them would look
    like the run's whole output, newer than the choice: the choice would be made again, and find its epoch gone.

    Args:
        results: the study's folder.
        runs: the runs' folders.
    """
    there = [run for run in runs if os.path.isdir(f"{run}/checkpoints") and os.path.exists(f"{run}/history.tsv")]
    if not there or is_held(results):
        return
    for run in there:
        epochs = {row["epoch"] for row in read_tsv(f"{run}/history.tsv")}
        if not is_whole(f"{run}/checkpoints", len(epochs)):
            print(f"{run}/checkpoints: some are gone, so the rest go, too")
            shutil.rmtree(f"{run}/checkpoints")
