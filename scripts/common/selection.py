"""Which epoch of a run is tested: one tie rule for both frameworks."""

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


def validation_points(rows, name):
    """Return a run's validation results by epoch.

    Args:
        rows: the run's history (epoch, update, split, metric, value; strings).
        name: of the file, for messages.

    Returns:
        list[dict]: epoch, update, n_correct (integers) and accuracy (fraction), sorted by epoch.

    Raises:
        StudyError: no validation rows, an epoch without one of the two metrics, a value twice or unreadable.
    """
    points = {}
    for line, row in enumerate(rows, start=2):
        if row["split"] != "valid" or row["metric"] not in ("accuracy", "n_correct"):
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
        for metric in ("accuracy", "n_correct"):
            if metric not in point:
                raise StudyError(f"{name}: epoch {epoch} has no validation {metric}; train this run again")
    return [points[epoch] for epoch in sorted(points)]


def earliest_best(points):
    """Return the point with the most correct validation examples, the earliest of equals.

    Counts are compared, not accuracies: two frameworks may round the same quotient differently.
    fairseq keeps the last of equals and the Hugging Face trainer the first, so neither's choice is used.
    """
    return min(points, key=lambda point: (-point["n_correct"], point["epoch"]))
