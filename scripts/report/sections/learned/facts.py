"""Runs that learnt, and the results of simple models on the same data."""

CHAPTER, PLACE = "Results", 70


def facts(study):
    """Runs that learnt, and the results of simple models on the same data."""
    if not study.has("learned", "baselines"):
        return None
    runs = study.table("learned")
    failed = [row for row in runs.rows if row["learned"] == "false"]
    path = study.path("learned")
    return {
        "runs": runs,
        "failed": failed,
        "n_failed": study.count(path, learned="false"),
        "n_runs": study.count(path),
        "baselines": study.table("baselines"),
    }
