"""Dropout with faster masks on a CPU: PyTorch draws one random number per element, in one thread."""

import math
from contextlib import contextmanager

import torch
import torch.nn.functional as F

PYTORCH = {name: getattr(F, name) for name in ("dropout", "scaled_dot_product_attention")}


def keep_mask(shape, p):
    """Return a mask that drops elements independently with probability round(65536 p) / 65536.

    Four elements share a 64-bit number of PyTorch's generator, 16 bits each, so a seed and the generator's saved
    state mean what they always do.

    Args:
        shape: shape of the mask.
        p: share to drop (0 to below 1).

    Returns:
        bool tensor on the CPU: True where an element stays.
    """
    n = math.prod(shape)
    bits = torch.empty((n + 3) // 4, dtype=torch.int64).random_(-(2**63), None)
    return bits.view(torch.int16)[:n].view(shape) >= round(65536 * p) - 32768


def drop(x, p):
    """Return `x`, on the CPU, with dropped elements 0 and the others scaled by 1 / (1 - p), in the dtype of `x`."""
    return x * keep_mask(x.shape, p).to(x.dtype).mul_(1 / (1 - p))


def attend(query, key, value, mask, p, scale=None):
    """Return scaled dot-product attention with dropout on its weights.

    Args:
        query, key, value: float tensors (..., heads, positions, head width).
        mask: bool (True: attend) or float (added) tensor that broadcasts to the scores, or None.
        p: share of the weights to drop.
        scale: scale of the scores; None: head width^-0.5.

    Source: the equations of `torch.nn.functional.scaled_dot_product_attention`.
    """
    scores = torch.matmul(query * (scale or query.shape[-1] ** -0.5), key.transpose(-2, -1))
    if mask is not None:
        scores = scores.masked_fill(~mask, -math.inf) if mask.dtype == torch.bool else scores + mask.to(scores.dtype)
    return torch.matmul(drop(torch.softmax(scores, dim=-1), p), value)


def _dropout(input, p=0.5, training=True, inplace=False):
    if not training or not 0 < p < 1 or input.device.type != "cpu" or inplace:
        return PYTORCH["dropout"](input, p, training, inplace)
    return drop(input, p)


def _attention(query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None, enable_gqa=False):
    if not 0 < dropout_p < 1 or query.device.type != "cpu" or is_causal or enable_gqa:
        return PYTORCH["scaled_dot_product_attention"](
            query, key, value, attn_mask, dropout_p, is_causal, scale=scale, enable_gqa=enable_gqa
        )
    if torch.is_autocast_enabled("cpu"):
        dtype = torch.get_autocast_dtype("cpu")
        query, key, value = query.to(dtype), key.to(dtype), value.to(dtype)
    with torch.autocast("cpu", enabled=False):
        return attend(query, key, value, attn_mask, dropout_p, scale)


@contextmanager
def cheap_dropout():
    """A context in which `torch.nn.functional`'s dropout and attention with dropout take CPU masks from `keep_mask`.

    Both frameworks' models call these two functions by name; other cases (a GPU, causal attention) remain PyTorch's.
    """
    for name, function in (("dropout", _dropout), ("scaled_dot_product_attention", _attention)):
        setattr(F, name, function)
    try:
        yield
    finally:
        for name, function in PYTORCH.items():
            setattr(F, name, function)
