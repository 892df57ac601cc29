"""The name that was meant, where a study has none of the name given."""

import difflib


def near_or(name, known, otherwise):
    """Return a sentence: the known name that is nearest to one that is not known, or `otherwise` where none is near."""
    near = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
    return f"Did you mean {near[0]}?" if near else otherwise
