"""The arms of question answering as comparisons have them, the base before tuning among them."""

# The arm of the model before tuning, which no seed changes.
BASE = "base"


def own_base(arm):
    """Return the name of an arm's own base, where arms load it in precisions of their own."""
    return f"{BASE} of {arm}"


def is_base(arm):
    """Return whether an arm is a model before tuning."""
    return arm == BASE or arm.startswith(f"{BASE} of ")
