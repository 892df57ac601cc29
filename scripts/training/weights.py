"""Proof that a run starts from the weights that it claims: names and content hashes, tensor by tensor."""

import hashlib

import torch

from common.errors import StudyError


def tensor_sha256(tensor):
    """Return the SHA-256 of a tensor's float32 values in C order, its shape included."""
    tensor = tensor.detach().to("cpu", torch.float32).contiguous()
    digest = hashlib.sha256(str(tuple(tensor.shape)).encode())
    digest.update(tensor.flatten().numpy())  # hashed in place, without a copy
    return digest.hexdigest()


def is_constant(tensor):
    """Return whether all values are equal: zero biases and unit LayerNorms are the same in every model."""
    return tensor.numel() == 0 or bool((tensor == tensor.flatten()[0]).all())


def prove_weights(memory, reference, init, head, draw_again=None):
    """Compare the tensors in memory, before the first update, with the checkpoint's.

    Args:
        memory: {name: tensor} of the model about to be trained.
        reference: {name: tensor} of the checkpoint, under the same names.
        init: "pretrained": every tensor but the head's must be the checkpoint's; "random": none may be.
        head: prefix of the classification head's names: always new, never compared.
        draw_again: function that returns {name: tensor} of the model drawn with another random state; None: every
            tensor that is not one value is drawn.

    Returns:
        dict: {init, n_equal, n_different, n_absent, head: [names], constant: [names of tensors that prove nothing: one
        value, or the same in every draw, as sine positions are], unused: [names of the checkpoint that the model has
        no place for], tensors: {name: {sha256, checkpoint_sha256, status}}}; status is equal, different or absent
        (from the checkpoint).

    Raises:
        StudyError: naming the first tensor that breaks the claim.
    """
    reference_hashes = {name: tensor_sha256(tensor) for name, tensor in reference.items()}
    tensors, constant, heads = {}, [], []
    for name, tensor in memory.items():
        if name.startswith(head):
            heads.append(name)
            continue
        ours, theirs = tensor_sha256(tensor), reference_hashes.get(name)
        status = "absent" if theirs is None else "equal" if ours == theirs else "different"
        tensors[name] = {"sha256": ours, "checkpoint_sha256": theirs, "status": status}
        if is_constant(tensor):
            constant.append(name)
    names = {"equal": [], "different": [], "absent": []}
    for name, entry in tensors.items():
        names[entry["status"]].append(name)
    if not tensors:
        raise StudyError("the model has no tensor besides its classification head: nothing can be proved")
    if init == "pretrained" and names["absent"]:
        raise StudyError(f"the checkpoint has no tensor {names['absent'][0]}: {len(names['absent'])} would stay random")
    if init == "pretrained" and names["different"]:
        raise StudyError(f"tensor {names['different'][0]} was not loaded from the checkpoint: its values differ")
    if init == "random":
        # A random model must be new under every name, because a tensor may have been copied to another name.
        known = set(reference_hashes.values())
        loaded = [n for n, t in tensors.items() if t["sha256"] in known and n not in constant]
        if loaded and draw_again:
            again = draw_again()
            constant += (computed := [n for n in loaded if tensor_sha256(again[n]) == tensors[n]["sha256"]])
            loaded = [name for name in loaded if name not in computed]
        if loaded:
            raise StudyError(f"the random arm holds the checkpoint's tensor {loaded[0]}: it is not random")
    return {
        "init": init,
        "n_equal": len(names["equal"]),
        "n_different": len(names["different"]),
        "n_absent": len(names["absent"]),
        "head": sorted(heads),
        "constant": sorted(constant),
        "unused": sorted(name for name in reference if name not in memory and not name.startswith(head)),
        "tensors": tensors,
    }
