"""The arms of question answering as comparisons have them, the base before tuning among them."""

# The arm of the model before tuning, which no seed changes.
BASE = "base"


def own_base(arm):
    """Return the name of an arm's base, where arms load it in different precisions."""
    return f"{BASE} of {arm}"


def is_base(arm):
    """Return whether an arm is a model before tuning."""
    return arm == BASE or arm.startswith(f"{BASE} of ")
