"""Check that every tensor of an external file has a place in the model that is trained."""

import re

from common.errors import StudyError

# Buffers that are computed, and parts that the family's classifier does not need.
HARMLESS = (
    re.compile(r"(^|\.)(position_ids|token_type_ids|inv_freq|original_inv_freq)$"),
    re.compile(r"^pooler\."),
    re.compile(r"^contact_head\."),
)
# Funnel's classifier reads the short sequence, before the decoder that lengthens it for the language model.
HARMLESS_OF = {"funnel": (re.compile(r"^decoder\."),)}
WRAPPERS = {"module": "torch.nn.DataParallel", "_orig_mod": "torch.compile"}


def check_wrapper(names, prefix, place):
    """Refuse an encoder whose tensors are all named under a wrapper, such as `module.`.

    Args:
        names: names of the file's tensors.
        prefix: prefix of the encoder's names in a classifier, with its dot.
        place: its name in messages.

    Raises:
        StudyError: there is such a wrapper.
    """
    first = {name.partition(".")[0] for name in names}
    if any(name.startswith(prefix) for name in names):
        return
    inside = next((name.partition(f".{prefix}")[0] for name in sorted(names) if f".{prefix}" in name), None)
    if inside is None and len(first) == 1 and all("." in name for name in names):
        inside = first.pop()
    if inside is not None:
        maker = WRAPPERS.get(inside.partition(".")[0], "a module around the model")
        raise StudyError(
            f"{place}: the names of its tensors begin with `{inside}.`, which {maker} puts before them; save the model "
            f"inside it with `save_pretrained`, or take `{inside}.` off the names"
        )


def check_places(names, model, prefix, place):
    """Refuse a tensor of the file's encoder without a place in the model.

    In a file of a whole model the tensors outside the encoder are heads of other tasks, which no classifier needs.

    Args:
        names: names of the file's tensors.
        model: the classifier.
        prefix: prefix of the encoder's names in it, with its dot.
        place: its name in messages.

    Raises:
        StudyError: a tensor has no place.
    """
    known = model.state_dict().keys()
    patterns = [*HARMLESS, *HARMLESS_OF.get(model.config.model_type, ())]
    # Transformers itself expects these to be left over from the family's pretraining.
    for part in (model, model.base_model):
        patterns += map(re.compile, getattr(part, "_keys_to_ignore_on_load_unexpected", None) or ())
    whole = any(name.startswith(prefix) for name in names)
    encoder = [name for name in names if name.startswith(prefix) or not whole]
    left = [
        name
        for name in sorted(encoder)
        if name not in known
        and f"{prefix}{name}" not in known
        and not any(pattern.search(name.removeprefix(prefix)) for pattern in patterns)
    ]
    if left:
        raise StudyError(
            f"{place}: {left[0]} has no place in the model that config.json describes, {len(left)} of the encoder's "
            f"{len(encoder)} tensors in all; correct config.json (such as its number of layers). A part that "
            f"Transformers' {type(model).__name__} lacks, such as relative positions, needs another model"
        )
    positions = getattr(model.config, "position_embedding_type", None) or ""
    if positions.startswith("relative") and not any("distance_embedding" in name for name in known):
        raise StudyError(
            f"{place}: config.json has position_embedding_type {positions}, and Transformers' {type(model).__name__} "
            "trains with absolute positions; correct config.json, or take another model"
        )
