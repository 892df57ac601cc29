"""The choice of a run's epoch to test: one tie rule for all frameworks."""

import measures
from common.errors import StudyError

RULE = "earliest of equals"


def whole(text):
    """Return a table cell as an integer.

    Raises:
        ValueError: the cell is not a whole number.
    """
    value = float(text)
    if value != int(value):
        raise ValueError(f"{text!r} is not a whole number")
    return int(value)


def validation_points(rows, name, by="accuracy", leading=measures.DEFAULT):
    """Return a run's validation results by epoch.

    Args:
        rows: the run's history (epoch, update, split, metric, value; strings).
        name: name of the file, for messages.
        by: measure that chooses the epoch, of `measures.names()`.
        leading: measure that leads the study.

    Returns:
        list[dict]: epoch, update, n_correct (integers), accuracy (fraction) and the values of both measures, sorted by
        epoch.

    Raises:
        StudyError: no validation rows, an epoch without one of the metrics, a value twice or unreadable.
    """
    counts = ("accuracy", "n_correct") if measures.counted(leading) else ()
    points, metrics = {}, dict.fromkeys((*counts, by, leading))
    for line, row in enumerate(rows, start=2):
        if row["split"] != "valid" or row["metric"] not in metrics:
            continue
        try:
            epoch, update = whole(row["epoch"]), whole(row["update"])
            value = whole(row["value"]) if row["metric"] == "n_correct" else float(row["value"])
        except (TypeError, ValueError) as error:
            raise StudyError(f"{name}, line {line}: {error}; train this run again") from error
        point = points.setdefault(epoch, {"epoch": epoch, "update": update})
        if row["metric"] in point or point["update"] != update:
            raise StudyError(f"{name}, line {line}: epoch {epoch} has two validation results; train this run again")
        point[row["metric"]] = value
    if not points:
        raise StudyError(f"{name} has no validation results (split valid): train this run again")
    for epoch, point in points.items():
        for metric in metrics:
            if metric not in point:
                raise StudyError(f"{name}: epoch {epoch} has no validation {metric}; train this run again")
    return [points[epoch] for epoch in sorted(points)]


def worth(point, by="accuracy"):
    """Return the number that ranks epochs: the greater, the better.

    Counts are compared because two frameworks may round the same accuracy differently.
    """
    if by == "accuracy":
        return point["n_correct"]
    return point[by] if measures.load(by).HIGHER_IS_BETTER else -point[by]


def earliest_best(points, by="accuracy"):
    """Return the point with the most correct validation examples, or the best by another measure; the earliest of ties.

    On ties fairseq keeps the last epoch and the Hugging Face Trainer the first, so neither's choice is used.
    """
    return min(points, key=lambda point: (-worth(point, by), point["epoch"]))


def stalled(records, patience, by="accuracy"):
    """Tell whether the last `patience` epochs of a run brought no better value of what chooses its epoch.

    Args:
        records: see `finetuning.runs.history_rows`, one an epoch so far.
        patience: epochs; None: never.
        by: measure that chooses the epoch.
    """
    if patience is None or not records:
        return False
    points = [{"epoch": record["epoch"], **record["valid"]} for record in records]
    return points[-1]["epoch"] - earliest_best(points, by)["epoch"] >= patience


def describe_choice(points, by="accuracy", leading=measures.DEFAULT):
    """Return what `selected.json` holds.

    Args:
        points: what `validation_points` returns.
        by: measure that chooses the epoch.
        leading: measure that leads the study.

    Returns:
        dict: epoch, update, valid_accuracy (fraction), n_correct, rule, n_equal (epochs that share the best value,
            including the chosen one); select_by and its value where another measure than accuracy chooses; measure and
            valid_score where another one leads.
    """
    best = earliest_best(points, by)
    found = {
        "epoch": best["epoch"],
        "update": best["update"],
        "valid_accuracy": best.get("accuracy"),
        "n_correct": best.get("n_correct"),
        "n_equal": sum(worth(point, by) == worth(best, by) for point in points),
        "rule": RULE,
    }
    led = {} if leading == measures.DEFAULT else {"measure": leading, "valid_score": best[leading]}
    return (found if by == "accuracy" else found | {"select_by": by, "value": best[by]}) | led
