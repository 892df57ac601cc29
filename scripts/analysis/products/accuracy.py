"""The runs in one table, their accuracy by arm and by epoch, and the gap between training and validation."""

import frameworks
import measures
from analysis.products.errors import counted
from study.products import ARM, RUN, Product, Rule, figure


def curves_of(config):
    """Return what is drawn of all arms over training: the leading measure, and the best so far."""
    return [measures.leading(config), "highest_so_far"]


def curved(config):
    """Return the names of the arms that are trained by epochs."""
    arms = config["finetuning"]["arms"].items()
    return [name for name, arm in arms if frameworks.load(arm["framework"]).CHECKPOINTS]


def has_curves(config):
    """Say whether an arm is trained by epochs."""
    return bool(curved(config))


def has_both_curves(config):
    """Return whether an arm is trained by epochs, with loss and accuracy."""
    return has_curves(config) and counted(config)


def colours(config):
    """Return the palette of the figures."""
    return config["report"]["colours"]


CURVES = {
    "curves": ("figures/{leading}_by_epoch/{arm}", "plot_accuracy_by_epoch", "accuracy_by_epoch", "Each arm by epoch"),
    "all_curves": ("figures/arms_by_epoch/{measure}", "plot_arms_by_epoch", "arms_by_epoch", "Arms compared"),
    "training_curves": (
        "figures/train_and_valid/{arm}",
        "plot_train_and_valid",
        "train_and_valid",
        "Training and validation",
    ),
}
CURVE_COLUMNS = {
    "curves": f"{RUN} epoch update split accuracy? score? chosen",
    "all_curves": f"{ARM} split epoch update n_seeds mean sd_ddof1 sd_ddof0 min max",
    "training_curves": f"{RUN} epoch update split metric value chosen",
}


def curves(key):
    """Return the rows of a family of curves: drawings, and the table of each."""
    path, rule, caption, subcategory = CURVES[key]
    each = curves_of if "{measure}" in path else curved
    labels = {"figure": "all arms over training: {measure}"} if "{measure}" in path else {"arm": "{arm}"}
    # Two panels: loss, and accuracy, which numbers lack.
    when = has_both_curves if key == "training_curves" else has_curves
    facts = {"when": when, "each": each, "caption": caption, "subcategory": subcategory, "labels": labels}
    table = Product(f"{key}_data", f"{path}.tsv", rule, "tables", CURVE_COLUMNS[key], when=when, each=each, page=True)
    return [*figure(key, path, rule, ("svgs", "pngs"), **facts), table]


PRODUCTS = [
    Product(
        "runs",
        "runs.tsv",
        "aggregate_runs",
        columns=f"study synthetic {RUN} init_seed? data_seed? dropout_seed? split_seed? checkpoint_seed? "
        "best_epoch best_update valid_accuracy test_accuracy measure? valid_score? "
        "test_score? n_correct_test n_train n_valid n_test total_updates warmup_updates train_seconds precision "
        "threads",
        caption="runs",
        labels={"table": "runs"},
        page=True,
        crate=True,
    ),
    Product(
        "history",
        "history.tsv",
        "aggregate_runs",
        columns=f"{RUN} epoch update split metric value",
        caption="history",
        labels={"table": "history by epoch"},
        page=True,
        crate=True,
    ),
    Product(
        "test_accuracy",
        "test_{leading}.tsv",
        "tabulate_test_accuracy",
        "tsv",
        columns=f"{ARM} n_seeds mean sd_ddof1 sd_ddof0 min max",
        caption="test_accuracy",
        labels={"table": "test {leading} by arm"},
        page=True,
        crate=True,
    ),
    Product("test_accuracy_markdown", "test_{leading}.md", "tabulate_test_accuracy", "markdown", page=True),
    Product("test_accuracy_latex", "test_{leading}.tex", "tabulate_test_accuracy", "latex", page=True),
    *(row for key in CURVES for row in curves(key)),
    *figure(
        "arms_figure",
        "figures/arms",
        "plot_arms",
        caption="arms",
        subcategory="Arms compared",
        labels={"figure": "test {leading} by arm"},
    ),
    Product(
        "arms_data",
        "figures/arms.tsv",
        "plot_arms",
        "data",
        columns=f"{ARM} n_seeds mean level t_low t_high majority_share",
        page=True,
        crate=True,
    ),
    Product(
        "overfitting_runs",
        "overfitting/runs.tsv",
        "measure_overfitting",
        "by_run",
        columns=f"{RUN} n_train n_valid epoch update last_train_loss last_valid_loss last_train_accuracy "
        "last_valid_accuracy lowest_valid_loss_epoch lowest_valid_loss loss_gap accuracy_gap valid_loss_rise",
        caption="overfitting_runs",
        labels={"table": "gap to validation by run"},
        when=has_both_curves,
        page=True,
        crate=True,
    ),
    Product(
        "overfitting_arms",
        "overfitting/arms.tsv",
        "measure_overfitting",
        "arms",
        columns=f"{ARM} n_seeds epoch update n_train n_valid last_train_loss last_valid_loss last_train_accuracy "
        "last_valid_accuracy lowest_valid_loss loss_gap loss_gap_sd_ddof1 accuracy_gap accuracy_gap_sd_ddof1 "
        "valid_loss_rise n_past_lowest level valid_accuracy_half_width",
        caption="overfitting_arms",
        labels={"table": "gap to validation by arm"},
        when=has_both_curves,
        page=True,
        crate=True,
    ),
]
EPOCHS = {"runs": "runs", "history": "history", "manifest": "manifest"}
RULES = [
    Rule("tabulate_test_accuracy", {"runs": "runs"}),
    Rule("plot_accuracy_by_epoch", EPOCHS, {"arms": curved, "colours": colours}, has_curves),
    Rule("plot_arms_by_epoch", EPOCHS, {"measures": curves_of, "colours": colours}, has_curves),
    Rule("plot_train_and_valid", EPOCHS, {"arms": curved, "colours": colours}, has_both_curves),
    Rule("measure_overfitting", {"runs": "runs", "history": "history"}, when=has_both_curves),
    Rule("plot_arms", {"runs": "runs", "manifest": "manifest"}, {"colours": colours}),
]
