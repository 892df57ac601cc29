"""Draw each arm's loss and accuracy by epoch, of training beside validation: every seed, mean and SD."""

from analysis.epoch_curves import draw_curve, finish_axes, legend_handles, metric_points
from analysis.looks import looks_of
from common.arms import arm_label
from common.entry import run
from common.errors import StudyError
from common.files import read_json
from common.frames import read_frame
from study.figures import INK, mark_synthetic, save, set_style
from study.tables import frame_rows, write_table

METRICS = {"loss": "loss (nats)", "accuracy": "accuracy (%)"}
# The metric `accuracy` of sets of labels is the share of texts whose whole set is right.
OF_SETS = {"accuracy": "subset accuracy (%)"}
SPLITS = {"train": "training, mean over the epoch", "valid": "validation, at its end"}


def padded(values):
    """Return (low, high) with a twelfth of the values' range on either side, for an axis shared by figures."""
    margin = (max(values) - min(values)) / 12 or 0.1
    return min(values) - margin, max(values) + margin


def words_of(manifest):
    """Return {metric: its words on an axis} for a study's kind of labels."""
    return METRICS | (OF_SETS if manifest.get("task") == "multilabel" else {})


def draw(points, limits, colour, words):
    """Return a figure of one arm: one panel a metric; training grey and dashed, validation in the arm's colour.

    Args:
        points: the arm's `metric_points`, accuracy in percent.
        limits: {metric: (low, high)} of the axes, the same for every arm.
        colour: colour of the arm.
        words: `words_of`.
    """
    from matplotlib import pyplot
    from matplotlib.lines import Line2D

    set_style()
    figure, panels = pyplot.subplots(len(METRICS), figsize=(4.8, 7.2), sharex=True, layout="constrained")
    colours = {"train": INK, "valid": colour}
    for axes, metric in zip(panels, METRICS, strict=True):
        for place, split in enumerate(SPLITS):
            drawn = points[(points["metric"] == metric) & (points["split"] == split)]
            # The epoch was chosen on validation, so only that curve has its ring.
            drawn = drawn.assign(chosen=drawn["chosen"] & (split == "valid"))
            draw_curve(axes, drawn, "value", colours[split], (place, len(SPLITS)), "--" if split == "train" else "-")
        axes.set_title(words[metric].partition(" (")[0])
    finish_axes(list(panels), points, None)
    for axes, (metric, label) in zip(panels, words.items(), strict=True):
        axes.set(ylabel=label, ylim=limits[metric])
    panels[0].set_title(f"{arm_label(points['arm'].iloc[0])}: loss")
    handles = [
        Line2D([], [], color=colours[split], linewidth=2.2, linestyle="--" if split == "train" else "-", label=label)
        for split, label in SPLITS.items()
    ]
    figure.legend(handles=handles + legend_handles(points, majority=False), loc="outside lower center", ncols=2)
    return figure


def main(runs, history, manifest, svgs, pngs, tables, arms, colours):
    """Write every arm's figure as SVG and PNG, and its points as a table.

    One job for all arms: starting Python and its plotting libraries takes longer than a drawing.

    Args:
        runs: runs.tsv, for the chosen epochs.
        history: history.tsv; every arm's values set the axes, so that figures can be compared side by side.
        manifest: data/manifest.json.
        svgs, pngs: figures to write, one an arm.
        tables: tables of the drawn points to write, one an arm: the columns of `RUN`, epoch, update, split, metric,
            value, chosen.
        arms: names of the arms.
        colours: configured colours by arm, or None.

    Raises:
        StudyError: an arm lacks one of the four curves.
    """
    runs, manifest = read_frame(runs), read_json(manifest)
    everything = metric_points(read_frame(history), runs, METRICS, SPLITS)
    percent = everything["value"].where(everything["metric"] != "accuracy", 100 * everything["value"])
    limits = {metric: padded(percent[everything["metric"] == metric]) for metric in METRICS}
    looks = looks_of(list(runs["arm"].unique()), colours)
    for arm, svg, png, table in zip(arms, svgs, pngs, tables, strict=True):
        points = everything[everything["arm"] == arm]
        if points.groupby(["metric", "split"]).ngroups < len(METRICS) * len(SPLITS):
            raise StudyError(f"history.tsv lacks loss or accuracy of train or valid for arm {arm}")
        figure = draw(points.assign(value=percent[points.index]), limits, looks[arm][0], words_of(manifest))
        mark_synthetic(figure.axes[0], manifest)
        write_table(table, "training_curves_data", frame_rows(points))
        save(figure, svg, png, f"Training and validation by epoch, {arm_label(arm)}", table)


if __name__ == "__main__":
    run(main, snakemake)
