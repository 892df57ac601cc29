"""Training time in hours or minutes: the runs of each arm together."""

from report.inputs import Table
from report.numbers import derive

PART, CHAPTER, PLACE = "report", "The answer", 30
# Seconds of an hour and of a minute.
HOUR, MINUTE = "3600", "60"


def facts(study):
    """Return the time of all runs and of each arm's, in the unit that suits them; None where no run has a time."""
    runs = [run for run in study.frame("runs").to_dict("records") if run["train_seconds"]]
    if not runs:
        return None
    total = derive("sum", *(run["train_seconds"] for run in runs))
    long = float(total) >= float(HOUR)
    unit = HOUR if long else MINUTE
    arms = []
    for arm in dict.fromkeys(run["arm"] for run in runs):
        seconds = [run["train_seconds"] for run in runs if run["arm"] == arm]
        arms.append(
            {
                "arm": arm,
                "n": study.count(study.path("runs"), arm=arm),
                "together": derive("ratio", derive("sum", *seconds), unit),
                "each": derive("ratio", derive("mean", *seconds), MINUTE),
            }
        )
    return {
        "arms": Table(arms, study.href("runs")),
        "total": derive("ratio", total, unit),
        "unit": "hours" if long else "minutes",
        "n": study.count(study.path("runs")),
        "measured": study.has("training_benchmarks"),
    }
