"""Arms that freeze the lower layers of their encoder, or all of it."""

import re

from common.errors import StudyError

LAYER = re.compile(r"\.(?:layer|layers|h|blocks?)\.(\d+)\.")


def freeze_lower(model, depth, head, arm):
    """Freeze the lower parts of an encoder; their dropout stays.

    Args:
        model: the classifier, before its optimizer is made.
        depth: "encoder": all but the head; a number n: the embeddings and the n lowest layers.
        head: prefix of the head's names, or prefixes of everything that every arm trains.
        arm: its name in messages.

    Raises:
        StudyError: the encoder has fewer layers.
    """
    layers = [int(found[1]) for name, _ in model.named_parameters() if (found := LAYER.search(f".{name}"))]
    n_layers = 1 + max(layers, default=-1)
    if depth != "encoder" and depth > n_layers:
        raise StudyError(f"{arm} says freeze: {depth}; its encoder has {n_layers} layers: lower it")
    for name, parameter in model.named_parameters():
        found = LAYER.search(f".{name}")
        lower = int(found[1]) < depth if depth != "encoder" and found else depth == "encoder" or "embed" in name
        if lower and not name.startswith(head):
            parameter.requires_grad_(False)
