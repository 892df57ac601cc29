"""Duplicates, leaks, lengths and unknown pieces."""

CHAPTER, PLACE = "Can it be trusted?", 30


def facts(study):
    """Duplicates, leaks, lengths and unknown pieces."""
    if not study.has("audit"):
        return None
    checks = study.table("audit")
    path = study.path("audit")
    return {"checks": checks, "n_leaks": study.count(path, status="leak"), "n_checks": study.count(path, status="ok")}
