"""The simple models of a study (`finetuning.baselines`): arms of the framework linear, of one run each."""

# Those that look at no text.
CONSTANT = ("majority", "mean", "commonest")
LABELS = {
    "majority": "the largest class",
    "mean": "the mean of train",
    "commonest": "the commonest set of labels",
    "tfidf_words": "a linear model of words",
    "tfidf_characters": "a linear model of characters",
}


def model_label(name):
    """Return a simple model's name for readers; the name of anything else as it is."""
    model, _, size = name.partition("-n")
    if model not in LABELS:
        return name
    return f"{LABELS[model]} on {size} texts" if size else LABELS[model]


def linear_arms(finetuning):
    """Return {name: {features, split}} of the linear arms: on each subset that arms learn from, then on all of train.

    Args:
        finetuning: config section `finetuning`, its grids written out.
    """
    sizes = sorted({arm["n_train"] for arm in finetuning["arms"].values() if arm.get("n_train")})
    return {
        name if size is None else f"{name}-n{size}": {
            "features": name,
            "split": "train" if size is None else f"train-{size}",
        }
        for size in (*sizes, None)
        for name in finetuning["baselines"]
    }


def check_baselines(finetuning):
    """Yield the arms that have the name of a simple model."""
    for name in finetuning["arms"]:
        if name in linear_arms(finetuning):
            yield (
                f"finetuning.arms.{name} has the name of a simple model (finetuning.baselines); give the arm another "
                "name, or take the model out of that list"
            )
