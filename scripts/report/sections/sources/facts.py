"""The source of every number, which the page collects from the sections above."""

CHAPTER, PLACE = "Methods and sources", 30


def facts(study):
    """The source of every number, which the page collects from the sections above."""
    return {}
