"""Where every number comes from: the page itself knows, from the sections above."""

CHAPTER, PLACE = "Methods and sources", 30


def facts(study):
    """Where every number comes from: the page itself knows, from the sections above."""
    return {}
