"""Draw all arms over training in one figure: every seed, mean and SD by epoch; as measured, or the highest so far."""

import pandas

from analysis.epoch_curves import SPLITS, accuracy_points, draw_curve, finish_axes, legend_handles, summary
from analysis.looks import looks_of, padded_limits
from common.arms import ARM, arm_label
from common.entry import run
from common.errors import StudyError
from common.figures import FAINT, majority_shares, mark_synthetic, save, set_style
from common.files import read_json
from common.frames import read_frame
from study.tables import frame_rows, write_table

MEASURES = {"accuracy": "accuracy (%)", "highest_so_far": "highest accuracy so far (%)"}


def highest_so_far(points):
    """Return the points with each seed's highest accuracy up to each epoch, on each split separately."""
    points = points.sort_values("epoch", kind="stable")
    return points.assign(accuracy=points.groupby([*ARM, "seed", "split"])["accuracy"].cummax())


def draw(points, majority, measure, colours):
    """Return the figure: one panel a split, alike in scale, all arms in each.

    Args:
        points: `accuracy_points` of all arms, as `measure` asks.
        majority: {split: share of the largest class}.
        measure: key of `MEASURES`.
        colours: configured colours by arm, or None.
    """
    from matplotlib import pyplot
    from matplotlib.lines import Line2D

    set_style()
    points = points.assign(percent=100 * points["accuracy"])
    splits = [split for split in SPLITS if (points["split"] == split).any()]
    looks = looks_of(list(points["arm"].unique()), colours)
    figure, panels = pyplot.subplots(
        len(splits), figsize=(7.2, 1.8 + 3.1 * len(splits)), sharex=True, squeeze=False, layout="constrained"
    )
    panels = list(panels[:, 0])
    for axes, split in zip(panels, splits, strict=True):
        for number, (name, (colour, _, dash)) in enumerate(looks.items()):
            of_arm = points[(points["split"] == split) & (points["arm"] == name)]
            draw_curve(axes, of_arm, "percent", colour, (number, len(looks)), dash)
        axes.axhline(100 * majority[split], color=FAINT, linewidth=1, linestyle=":", zorder=1)
        axes.set_title(SPLITS[split])
    limits = padded_limits([*points["percent"], *(100 * majority[split] for split in splits)], 5)
    finish_axes(panels, points, MEASURES[measure], limits)
    handles = [
        Line2D([], [], color=colour, linewidth=2.2, linestyle=dash, label=arm_label(name))
        for name, (colour, _, dash) in looks.items()
    ]
    handles += legend_handles(points)
    figure.legend(handles=handles, loc="outside lower center", ncols=3, columnspacing=1.6, handlelength=2.6)
    return figure


def main(runs, history, manifest, svgs, pngs, tables, measures, colours):
    """Write a figure of each measure as SVG and PNG, and the means and spreads that it draws as a table.

    Args:
        runs: runs.tsv, for the chosen epochs.
        history: history.tsv.
        manifest: data/manifest.json, for the majority class.
        svgs, pngs: figures to write, one a measure.
        tables: tables to write, one a measure: the columns of `ARM`, split, epoch, update, n_seeds, mean, sd_ddof1,
            sd_ddof0, min, max.
        measures: keys of `MEASURES`.
        colours: configured colours by arm, or None.

    Raises:
        StudyError: the history holds no accuracy.
    """
    measured, manifest = accuracy_points(read_frame(history), read_frame(runs)), read_json(manifest)
    if measured.empty:
        raise StudyError("history.tsv holds no accuracy by epoch: train the runs again")
    for measure, svg, png, table in zip(measures, svgs, pngs, tables, strict=True):
        points = highest_so_far(measured) if measure == "highest_so_far" else measured
        figure = draw(points, majority_shares(manifest, set(points["split"])), measure, colours)
        mark_synthetic(figure.axes[0], manifest)
        write_table(table, "all_curves_data", frame_rows(means(points)))
        save(figure, svg, png, f"All arms over training: {MEASURES[measure]}", table)


def means(points):
    """Return mean and spread by arm, split and epoch, in the order of arms, splits and epochs."""
    table = summary(points, "accuracy", [*ARM, "split"])
    order = {name: list(dict.fromkeys(points[name])) for name in ARM} | {"split": list(SPLITS)}
    return table.sort_values(
        [*ARM, "split", "epoch"],
        key=lambda column: pandas.Categorical(column, order[column.name]) if column.name in order else column,
        kind="stable",
    )


if __name__ == "__main__":
    run(main, snakemake)
