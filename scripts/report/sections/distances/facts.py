"""How near the numbers are."""

CHAPTER, PLACE = "Results", 80


def facts(study):
    """How near the numbers are."""
    if not study.has("scatter", "scatter_data", "errors_numbers"):
        return None
    return {
        "drawing": study.drawing(study.path("scatter")),
        "data_href": study.href("scatter_data"),
        "numbers": study.table("errors_numbers"),
    }
