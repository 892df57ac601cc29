"""Choose the epoch of one run by its best result on validation (ties go to the earliest), and keep its weights."""

import os
import shutil

from common.entry import run
from common.errors import StudyError
from common.files import atomic_path, read_tsv, write_json
from finetuning.selection import describe_choice, validation_points
from measures import DEFAULT


def choose(history, select_by="accuracy", measure=DEFAULT):
    """Return what `selected.json` holds: see `finetuning.selection.describe_choice`.

    Args:
        history: the run's history.tsv.
        select_by: measure on validation that chooses.
        measure: measure that leads the study.

    Raises:
        StudyError: the history has no whole set of validation results.
    """
    chosen = describe_choice(validation_points(read_tsv(history), history, select_by, measure), select_by, measure)
    said = [f"{select_by} {chosen['value']:.6g}"] if "value" in chosen else []
    said += [f"{chosen['n_correct']} correct"] if chosen["n_correct"] is not None else []
    print(
        f"epoch {chosen['epoch']} (update {chosen['update']}): {', '.join(said)}; {chosen['n_equal']} epoch(s) reach it"
    )
    return chosen


def keep_weights(checkpoints, epoch, weights):
    """Copy an epoch's checkpoint into a separate folder, under the same name.

    Args:
        checkpoints: the run's folder of `checkpoint{epoch}.pt` (fairseq) or `epoch{epoch}/` (Hugging Face).
        epoch: 1-based.
        weights: folder to write.

    Raises:
        StudyError: the epoch has no checkpoint.
    """
    names = (f"checkpoint{epoch}.pt", f"epoch{epoch}")
    name = next((name for name in names if os.path.exists(os.path.join(checkpoints, name))), None)
    if name is None:
        raise StudyError(f"{checkpoints} holds no checkpoint of epoch {epoch}: train this run again")
    source = os.path.join(checkpoints, name)
    with atomic_path(weights) as temporary:
        os.mkdir(temporary)
        copy = shutil.copytree if os.path.isdir(source) else shutil.copyfile
        copy(source, os.path.join(temporary, name))


def main(history, checkpoints, weights, selected, select_by="accuracy", measure=DEFAULT):
    """Choose a run's epoch, keep its weights and write selected.json.

    Args:
        history: the run's history.tsv.
        checkpoints: the run's folder of checkpoints.
        weights: folder to write.
        selected: JSON to write: see `choose`.
        select_by: measure on validation that chooses.
        measure: measure that leads the study.

    Raises:
        StudyError: the history has no whole set of validation results, or the chosen epoch no checkpoint.
    """
    chosen = choose(history, select_by, measure)
    keep_weights(checkpoints, chosen["epoch"], weights)
    write_json(selected, chosen)


if __name__ == "__main__":
    run(main, snakemake)
