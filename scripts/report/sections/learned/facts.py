"""Runs that learnt, and the results of simple models on the same data."""

CHAPTER, PLACE = "Results", 70


def facts(study):
    """Runs that learnt, and the results of simple models on the same data."""
    if not study.has("baselines"):
        return None
    sets = study.json("manifest").get("task") == "multilabel"
    if not study.has("learned"):
        # Numbers are not right or wrong, and no test says which runs learnt.
        return {"runs": None, "failed": [], "baselines": study.table("baselines")}
    runs = study.table("learned")
    failed = [row for row in runs.rows if row["learned"] == "false"]
    path = study.path("learned")
    n_runs = study.count(path)
    return {
        "runs": runs,
        "sets": sets,
        "failed": failed,
        "n_failed": study.count(path, learned="false"),
        "n_runs": n_runs,
        # A run without a validation result is not judged.
        "all": n_runs == study.count(study.path("runs")),
        "baselines": study.table("baselines"),
    }
