"""The files of every fine-tuning run, and the proof of its starting weights."""

from study.products import CURVE, RUN, Product


def test_curves(config):
    """Return whether every epoch is scored on the test set."""
    return config["finetuning"]["evaluation"]["test_curves"]


def has_checkpoints(facts):
    """Return whether the runs of a framework have checkpoints, by its facts."""
    return facts.CHECKPOINTS


RUN_FOLDER = "finetuning/{arm}/seed{seed}"
PRODUCTS = [
    Product("run_records", f"{RUN_FOLDER}/run.json", "finetune_{framework}", "run", page=True, derived=False),
    Product("run_selections", f"{RUN_FOLDER}/selected.json", "select_checkpoint", derived=False),
    Product(
        "run_histories", f"{RUN_FOLDER}/history.tsv", "finetune_{framework}", "history", columns=CURVE, derived=False
    ),
    Product(
        "run_test_curves",
        f"{RUN_FOLDER}/test_curve.tsv",
        "test_curve_{framework}",
        columns=CURVE,
        when=test_curves,
        of_framework=has_checkpoints,
        derived=False,
    ),
    Product(
        "predictions",
        "predictions/{arm}/seed{seed}.tsv",
        "evaluate_{framework}",
        "predictions",
        columns="id label prediction probability",
        page=True,
        derived=False,
    ),
    Product("seals", "predictions/{arm}/seed{seed}.json", "evaluate_{framework}", "seal", derived=False),
    Product(
        "weights",
        "weights.tsv",
        "prove_weights",
        "table",
        columns=f"{RUN} n_tensors n_equal n_new n_constant head?",
        caption="weights",
        category="Trust",
        labels={"table": "proof of weights"},
        page=True,
        crate=True,
        derived=False,
    ),
]
