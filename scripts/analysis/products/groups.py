"""Many arms: groups that nothing separates, and each arm's chance to be the best."""

import measures
from analysis.products.errors import run_keys
from study.products import ARM, Product, Rule

# Fewer are compared pair by pair on the first screen.
LEAST_ARMS = 5


def has_many(config):
    """Return whether the study has arms enough to be grouped; groups are of accuracy, so it has to lead."""
    return len(config["finetuning"]["arms"]) >= LEAST_ARMS and measures.leading(config) == measures.DEFAULT


PRODUCTS = [
    Product(
        "groups",
        "statistics/groups.tsv",
        "rank_arms",
        columns=f"{ARM} group n_seeds mean leader difference level low high best_share",
        when=has_many,
        caption="groups",
        category="Trust",
        labels={"table": "groups of arms"},
        page=True,
        crate=True,
    ),
]
COLUMNS = {
    "group": ("integer", "", "of arms that nothing separates from the highest of them; 1 has the highest of all"),
    "leader": ("text", "", "the arm with the highest mean, which `difference`, `low` and `high` are from"),
    "best_share": ("share", "", "bootstrap resamples of seeds and texts in which the arm has the highest accuracy"),
}
RULES = [Rule("rank_arms", {"runs": "runs", "predictions": "predictions"}, {"run_keys": run_keys}, has_many)]
