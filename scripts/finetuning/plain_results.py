"""The results of a run without epochs, as history and choice of one epoch."""

import measures
import tasks
from common.files import read_tsv, write_json, write_tsv
from finetuning.prediction_files import HISTORY, summarise
from finetuning.selection import describe_choice, validation_points

# A run without a validation result has these keys in `selected.json`, all empty.
UNVALIDATED = dict.fromkeys(("epoch", "update", "valid_accuracy", "n_correct", "n_equal", "rule"))


def write_results(history, selected, scored, task=tasks.DEFAULT, measure=measures.DEFAULT):
    """Write history.tsv and selected.json.

    Args:
        history: TSV to write.
        selected: JSON to write.
        scored: {split: (scores (n, outputs), labels)} of train and valid, as far as they were scored.
        task: kind of the labels.
        measure: name of the measure that leads the study.
    """
    rows = [
        {"epoch": 1, "update": 1, "split": split, "metric": metric, "value": value}
        for split, given in scored.items()
        for metric, value in summarise(*given, task, measure).items()
    ]
    write_tsv(history, rows, HISTORY)
    points = validation_points(read_tsv(history), history, measure, measure) if "valid" in scored else []
    nothing = UNVALIDATED | ({} if measure == measures.DEFAULT else {"measure": measure, "valid_score": None})
    write_json(selected, describe_choice(points, measure, measure) if points else nothing)
