"""Many arms: which of them nothing separates, and how often each would be the best."""

CHAPTER, PLACE = "Results", 12


def facts(study):
    """Return the groups of arms; None where the study has few arms."""
    if not study.has("groups"):
        return None
    table = study.table("groups")
    first = [row for row in table.rows if row["group"] == table.rows[0]["group"]]
    return {"groups": table, "first": first, "n_arms": study.distinct(study.path("groups"), "arm")}
