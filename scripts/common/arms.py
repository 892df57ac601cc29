"""Arms of the study: names, facts, and the summary of an arm's seeds."""

import statistics
from collections import namedtuple

from common.errors import StudyError

# The lab's arms, in the fixed order that decides their colours, and their names for readers.
KNOWN = {
    "fairseq-pretrained": "fairseq, pretrained",
    "fairseq-random": "fairseq, random",
    "huggingface-pretrained": "Hugging Face, pretrained",
    "huggingface-random": "Hugging Face, random",
}
# The columns of a table that name an arm (the first) and describe it.
ARM = ["arm", "framework", "model", "init"]
# The name of the study's checkpoint among the models that an arm may start from.
CHECKPOINT = "checkpoint"

Arm = namedtuple("Arm", ARM)


def arms_in(config):
    """Return the study's arms as {name: Arm}, in its order.

    Args:
        config: all settings.
    """
    arms = config["finetuning"]["arms"].items()
    return {name: Arm(name, facts["framework"], facts["model"], facts["init"]) for name, facts in arms}


def uses_checkpoint(config):
    """Return whether an arm starts from the model of section `checkpoint`, or from its sizes and tokenizer."""
    return any(arm.model == CHECKPOINT for arm in arms_in(config).values())


def arms_of_pair(row):
    """Return the names of the two arms of a row of pairs.tsv."""
    return row["arm_a"], row["arm_b"]


def arm_label(name):
    """Return the arm's name for readers, such as `Hugging Face, pretrained`; other arms keep their name."""
    return KNOWN.get(name, name)


def run_label(arm, seed):
    """Return the run's name for messages, such as `fairseq-random/seed2`."""
    return f"{arm}/seed{seed}"


def arms_of(rows):
    """Return the arms (`Arm`) of `rows`, each once, in order of first appearance."""
    return list(dict.fromkeys(Arm(*(row[name] for name in ARM)) for row in rows))


def _sd_ddof1(values):
    return statistics.stdev(values) if len(values) > 1 else None


# The summary of an arm's seeds, for `.agg(**SUMMARY)`. The sums are exact (the `statistics` module, not pandas), so the
# order of the seeds cannot change the last digit.
SUMMARY = {
    "n_seeds": len,
    "mean": statistics.mean,
    "sd_ddof1": _sd_ddof1,
    "sd_ddof0": statistics.pstdev,
    "min": min,
    "max": max,
}


def scores_by_arm(runs, column="test_accuracy"):
    """Return the runs' values on test grouped by arm, in order of first appearance.

    Args:
        runs: frame of runs.tsv (text).
        column: of the leading measure (`measures.Lead.test`).

    Raises:
        StudyError: no runs.
    """
    if runs.empty:
        raise StudyError("runs.tsv holds no runs: run the study first")
    return runs.assign(score=runs[column].map(float)).groupby(ARM, sort=False)["score"]


def summarise(values):
    """Return n, mean, both standard deviations, min and max of an arm's seeds.

    Args:
        values: list of n >= 1 fractions.

    Returns:
        dict: the keys of `SUMMARY`; sd_ddof1 is None when n = 1.
    """
    return {name: function(values) for name, function in SUMMARY.items()}


def percent(fraction, decimals=2):
    """Return a fraction as a percentage with fixed decimals and no sign, such as `79.50`; `` for None or ``."""
    if fraction in (None, ""):
        return ""
    return f"{100 * float(fraction):.{decimals}f}"
