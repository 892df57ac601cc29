"""The check that fairseq and Hugging Face compute the same logits from the study's checkpoint."""

from common.arms import CHECKPOINT, arms_in
from study.products import Product

# Token ids and logits of these frameworks are compared.
BOTH = ("fairseq", "huggingface")


def has_both(config):
    """Return whether arms of both frameworks start from the study's checkpoint."""
    return set(BOTH) <= {arm.framework for arm in arms_in(config).values() if arm.model == CHECKPOINT}


PRODUCTS = [
    Product(
        "logit_parity",
        "logit_parity.tsv",
        "compare_logits",
        "table",
        columns="weights converted quantity n_reviews n_values max_abs_difference tolerance equal",
        when=has_both,
        caption="logit_parity",
        category="Trust",
        labels={"table": "logits of both frameworks"},
        page=True,
        crate=True,
        derived=False,
    ),
]
