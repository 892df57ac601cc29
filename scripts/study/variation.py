"""Sources of chance (`finetuning.vary`): the seed of each, and which arms can hold one fixed."""

import frameworks
from common.arms import uses_checkpoint

DEFAULT = ["initialisation", "order"]
# The draws of a run's own training and validation texts.
DRAWS = ("split", "bootstrap")
# The seed of a source that no seed varies.
FIXED = 1
# Each source as tables and figures call it, and in a sentence on what a seed changes; {texts} are the study's.
NAMES = {
    "initialisation": "initialisation",
    "order": "order and dropout",
    "split": "split",
    "bootstrap": "split (bootstrap)",
    "checkpoint": "pretraining",
}
DRAWN = "the training and validation {texts}, drawn from all labelled ones beside test"
CHANGED = {
    "initialisation": "the weights that are not loaded",
    "order": "the order of the training {texts} with dropout",
    "split": DRAWN,
    "bootstrap": f"{DRAWN} (those of training with replacement)",
    "checkpoint": "the checkpoint that arms start from, each a pretraining with a seed of its own",
}


def varied(finetuning):
    """Return the sources that differ between the seeds of an arm, in the order of the settings.

    Args:
        finetuning: config section `finetuning`; a shared `init_seed` or `data_seed` takes its source out.
    """
    shared = {"initialisation": finetuning.get("init_seed"), "order": finetuning.get("data_seed")}
    return [source for source in finetuning.get("vary", DEFAULT) if shared.get(source) is None]


def of_arm(finetuning, name):
    """Return the section as an arm has it: those of a study of the sources (`study.spread`) vary other sources."""
    arm = finetuning["arms"].get(name, {})
    return finetuning | {"vary": arm["vary"]} if "vary" in arm else finetuning


def draw_of(finetuning):
    """Return how each seed draws its training and validation texts, of `DRAWS`; None: all seeds share the split."""
    return next((source for source in finetuning.get("vary", ()) if source in DRAWS), None)


def run_settings(finetuning):
    """Return the settings of runs that follow from `vary`; none of the default, so that its runs stay as they were.

    Returns:
        dict: init_seed, data_seed and dropout_seed of sources that are held fixed; `draw` where each seed draws texts.
    """
    vary, found = finetuning.get("vary", DEFAULT), {}
    if "initialisation" not in vary and finetuning["init_seed"] is None:
        found["init_seed"] = FIXED
    if "order" not in vary:
        found["dropout_seed"] = FIXED
        if finetuning["data_seed"] is None:
            found["data_seed"] = FIXED
    draw = draw_of(finetuning)
    return found | ({"draw": draw} if draw else {})


def leave_out(finetuning):
    """Take the default out of a study, in place: it is as if nobody knew the key."""
    if sorted(finetuning.get("vary", DEFAULT)) == sorted(DEFAULT):
        finetuning.pop("vary", None)


def check_variation(config):
    """Yield the sources that contradict each other, the data or an arm.

    Args:
        config: settings that agree with the schema.
    """
    finetuning, data, place = config["finetuning"], config["data"], "finetuning.vary"
    vary, draw = finetuning["vary"], draw_of(finetuning)
    if set(DRAWS) <= set(vary):
        yield f"{place} has split and bootstrap, two ways to draw a run's texts; leave one"
    held = [source for source in DEFAULT if source not in vary]
    for name, arm in finetuning["arms"].items():
        facts = frameworks.load(arm["framework"])
        if held and not facts.HOLDS_SOURCES:
            yield (
                f"{place} lacks {held[0]}, and runs of {facts.LABEL} (arm {name}) have one seed for everything; "
                "add it, or take the arm out"
            )
        if draw and not facts.TRAINS:
            yield (
                f"{place} has {draw}, and the predictions of arm {name} come from elsewhere, so no seed draws its "
                "training texts; take the arm or that source out"
            )
    if draw and data["source"] == "table" and data["table"]["valid"] is not None:
        yield (
            f"{place} has {draw}, which draws validation texts from all labelled ones, and data.table.valid sets them "
            f"apart; add that file to data.table.train and set data.table.valid to null, or take {draw} out"
        )
    if draw and _lacks_corpus(config):
        yield (
            f"{place} has {draw}, so any labelled text may validate a run, none may be pretrained on, and there is no "
            "other corpus; set checkpoint.corpus.files or tables, or take the checkpoint from elsewhere"
        )


def _lacks_corpus(config):
    """Return whether a pretraining would have nothing to read but the study's own labelled texts."""
    checkpoint, corpus = config["checkpoint"], config["checkpoint"]["corpus"]
    needed = checkpoint["source"] == "pretrain" and uses_checkpoint(config)
    return needed and not corpus["files"] and not corpus["tables"] and config["data"]["source"] == "table"
