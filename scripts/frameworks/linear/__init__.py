"""Linear models: of words and characters (`finetuning.baselines`), and on frozen features of an encoder: facts."""

LABEL = "linear on frozen features"
ENVIRONMENT = "huggingface"
INITS = ("pretrained",)
OTHERS_MODELS = True
PAIRS = True
HOLDS_SOURCES = True
METHOD = (
    "are logistic regressions on features of an encoder that was not trained further, with the regularisation that "
    "validation preferred; nothing in their training is random"
)
SETTINGS = {
    "features": {
        "description": "what a text's features are: the mean of its tokens' last states, or the first token's; "
        "linear only",
        "enum": ["mean", "first"],
    },
}


def faults(finetuning, name):
    """Yield a probe that does not say what it looks at."""
    if finetuning["arms"][name].get("features") is None:
        yield f"finetuning.arms.{name} has no features; set it to mean or first"
