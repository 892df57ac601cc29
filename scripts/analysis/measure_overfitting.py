"""Measure the gap between training and validation at the end of fine-tuning: by run, and by arm over its seeds."""

from statistics import NormalDist

import pandas

from analysis.epoch_curves import RUN, by_epochs, metric_points
from analysis.intervals import LEVEL
from common.arms import ARM, SUMMARY
from common.entry import run
from common.errors import StudyError
from common.frames import read_frame
from study.tables import columns_of, frame_rows, write_table

METRICS = ("loss", "accuracy")
SPLITS = ("train", "valid")
SIZES = ["n_train", "n_valid"]


def last_epochs(history, runs):
    """Return one row a run: both splits' loss and accuracy of the last epoch, their gaps, the lowest validation loss.

    A gap is positive where validation is worse: loss_gap is valid less train, accuracy_gap train less valid.

    Args:
        history: frame of history.tsv (text).
        runs: frame of runs.tsv (text).

    Returns:
        pandas.DataFrame: the columns of overfitting/runs.tsv; losses in nats an example, accuracies as fractions.

    Raises:
        StudyError: a run lacks one of the four curves at its last epoch.
    """
    points = metric_points(history, runs, METRICS, SPLITS)
    names = "last_" + points["split"] + "_" + points["metric"]
    wide = points.assign(name=names).pivot(index=[*RUN, "epoch", "update"], columns="name", values="value")
    wide = wide.reindex(columns=[f"last_{split}_{metric}" for metric in METRICS for split in SPLITS]).reset_index()
    last = runs[by_epochs(runs)][[*RUN, *SIZES]].merge(
        wide.sort_values("epoch").drop_duplicates(RUN, keep="last"), on=RUN, how="left"
    )
    if last.isna().any(axis=None):
        raise StudyError("history.tsv lacks loss or accuracy of train or valid at a run's last epoch: train it again")
    lowest = wide.loc[wide.groupby(RUN)["last_valid_loss"].idxmin(), [*RUN, "epoch", "last_valid_loss"]]
    lowest = lowest.rename(columns={"epoch": "lowest_valid_loss_epoch", "last_valid_loss": "lowest_valid_loss"})
    last = last.merge(lowest, on=RUN).astype({"epoch": int, "update": int})
    return last.assign(
        loss_gap=last["last_valid_loss"] - last["last_train_loss"],
        accuracy_gap=last["last_train_accuracy"] - last["last_valid_accuracy"],
        valid_loss_rise=last["last_valid_loss"] - last["lowest_valid_loss"],
    )


def by_arm(runs):
    """Return one row an arm: means over seeds, the gaps' SD, how many runs ended above their lowest validation loss.

    valid_accuracy_half_width is half the width of the normal interval (`level`) of the validation accuracy that comes
    from its few reviews, which further seeds cannot reduce.

    Args:
        runs: `last_epochs`.
    """
    rows = []
    for arm, of_arm in runs.groupby(ARM, sort=False):
        means = {
            name: SUMMARY["mean"](list(of_arm[name]))
            for name in of_arm.columns
            if name.endswith(("_loss", "_accuracy"))
        }
        spread = {f"{name}_sd_ddof1": SUMMARY["sd_ddof1"](list(of_arm[name])) for name in ("loss_gap", "accuracy_gap")}
        gaps = {name: SUMMARY["mean"](list(of_arm[name])) for name in ("loss_gap", "accuracy_gap", "valid_loss_rise")}
        share, n_valid = means["last_valid_accuracy"], int(of_arm["n_valid"].iloc[0])
        rows.append(
            dict(zip(ARM, arm, strict=True))
            | {"n_seeds": len(of_arm), "epoch": of_arm["epoch"].max(), "update": of_arm["update"].max()}
            | of_arm[SIZES].iloc[0].to_dict()
            | means
            | gaps
            | spread
            | {
                "level": LEVEL,
                "valid_accuracy_half_width": NormalDist().inv_cdf((1 + LEVEL) / 2)
                * (share * (1 - share) / n_valid) ** 0.5,
            }
            | {"n_past_lowest": int((of_arm["valid_loss_rise"] > 0).sum())}
        )
    return pandas.DataFrame(rows).astype({"loss_gap_sd_ddof1": float, "accuracy_gap_sd_ddof1": float})


def main(runs, history, by_run, arms):
    """Write both tables.

    Args:
        runs: runs.tsv.
        history: history.tsv.
        by_run: TSV to write, one row a run.
        arms: TSV to write, one row an arm: see `by_arm`.

    Raises:
        StudyError: see `last_epochs`.
    """
    found = last_epochs(read_frame(history), read_frame(runs))
    write_table(by_run, "overfitting_runs", frame_rows(found[columns_of("overfitting_runs")]))
    write_table(arms, "overfitting_arms", frame_rows(by_arm(found)))


if __name__ == "__main__":
    run(main, snakemake)
