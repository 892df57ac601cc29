"""The number of parameters of a RoBERTa classifier of a given size, term by term.

V vocabulary, D width, F feed-forward width, L layers, P positions, K classes; the position table has P + 2 rows,
because padding index 1 shifts it by 2 (fairseq's learned positions; Hugging Face's RoBERTa keeps it).
"""

# The sizes of the lab's models, from its reports.
PUBLISHED_SIZE = {"vocab_size": 32000, "width": 512, "ffn_width": 512, "layers": 4, "max_positions": 256, "classes": 2}
PUBLISHED_HEADS = 8
ENCODER = ("tokens", "matrices", "positions", "shift", "vectors")


def terms(vocab_size, width, ffn_width, layers, max_positions, classes=2):
    """Return {term: (formula, count)} of a RoBERTa classifier.

    Args:
        vocab_size, width, ffn_width, layers, max_positions, classes: V, D, F, L, P, K; the formulas have K in figures.
    """
    v, d, f, n, p, k = vocab_size, width, ffn_width, layers, max_positions, classes
    return {
        "tokens": ("V·D", v * d),
        "positions": ("P·D", p * d),
        "shift": ("2·D", 2 * d),
        "attention": ("L·4·D²", n * 4 * d * d),
        "query_key_value": ("L·3·D²", n * 3 * d * d),
        "feed_forward": ("L·2·D·F", n * 2 * d * f),
        "feed_forward_one": ("L·D·F", n * d * f),
        "matrices": ("L·(4·D² + 2·D·F)", n * (4 * d * d + 2 * d * f)),
        # Each layer has 4 attention biases, the feed-forward biases F and D, and two LayerNorms; the embeddings have
        # one.
        "vectors": ("L·(4·D + F + D + 4·D) + 2·D", n * (9 * d + f) + 2 * d),
        "head": (f"D² + D + {k}·D + {k}", d * d + d + k * d + k),
        "token_types": ("D", d),
        # The head has a dense layer, its LayerNorm and a bias per token; the projection is the tied token embeddings.
        "lm_head": ("D² + D + 2·D + V", d * d + 3 * d + v),
    }


def count(size, names):
    """Return the sum of the named terms.

    Args:
        size: dict of the arguments of `terms`.
        names: keys of what `terms` returns.
    """
    parts = terms(**size)
    return sum(parts[name][1] for name in names)
