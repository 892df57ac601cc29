"""Lengths of texts in pieces or tokens."""

from collections import Counter

import numpy as np

QUANTILES = (0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 1.0)


def describe_lengths(lengths, n_unknown, limit):
    """Return the distribution of texts' lengths.

    Args:
        lengths: list of int, a text each, not empty.
        n_unknown: pieces, in all texts, that the vocabulary lacks.
        limit: pieces of a text that the model reads.

    Returns:
        dict: n, mean, quantiles, n_truncated, n_pieces, n_unknown, histogram ({lower bound of the bin: n}, bins of
        16 pieces).
    """
    lengths = np.array(lengths, dtype=int)
    histogram = Counter((lengths // 16 * 16).tolist())
    return {
        "n": len(lengths),
        "mean": float(lengths.mean()),
        "quantiles": {str(q): float(np.quantile(lengths, q)) for q in QUANTILES},
        "n_truncated": int((lengths > limit).sum()),
        "n_pieces": int(lengths.sum()),
        "n_unknown": int(n_unknown),
        "histogram": {str(start): histogram[start] for start in sorted(histogram)},
    }
