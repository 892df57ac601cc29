"""Draw all arms over training in one figure: every seed, mean and SD by epoch; as measured, or the highest so far."""

import pandas

from analysis.epoch_curves import SPLITS, draw_curve, finish_axes, leading_points, legend_handles, summary
from analysis.looks import limits_of, looks_of
from common.arms import ARM, arm_label
from common.entry import run
from common.errors import StudyError
from common.files import read_json
from common.frames import read_frame
from measures import Lead
from study.figures import FAINT, majority_shares, mark_synthetic, save, set_style
from study.tables import frame_rows, write_table

HIGHEST = "highest_so_far"


def titled(measure, lead):
    """Return what a figure shows, for its axis: the leading measure, or its best value so far."""
    unit = lead.axis.removeprefix(lead.label)
    return f"{'highest' if lead.higher else 'lowest'} {lead.label} so far{unit}" if measure == HIGHEST else lead.axis


def highest_so_far(points, lead=None):
    """Return the points with each seed's best value up to each epoch, on each split separately."""
    lead, points = lead or Lead(), points.sort_values("epoch", kind="stable")
    groups = points.groupby([*ARM, "seed", "split"])[lead.curve]
    return points.assign(**{lead.curve: groups.cummax() if lead.higher else groups.cummin()})


def draw(points, majority, measure, colours, lead=None):
    """Return the figure: one panel a split, alike in scale, all arms in each.

    Args:
        points: `leading_points` of all arms, as `measure` asks.
        majority: {split: share of the largest class}.
        measure: name of the leading measure, or `HIGHEST`.
        colours: configured colours by arm, or None.
        lead: `measures.Lead`; None: that of a study that names none.
    """
    from matplotlib import pyplot
    from matplotlib.lines import Line2D

    set_style()
    lead = lead or Lead()
    points = points.assign(shown=lead.scale * points[lead.curve])
    splits = [split for split in SPLITS if (points["split"] == split).any()]
    looks = looks_of(list(points["arm"].unique()), colours)
    figure, panels = pyplot.subplots(
        len(splits), figsize=(7.2, 1.8 + 3.1 * len(splits)), sharex=True, squeeze=False, layout="constrained"
    )
    panels = list(panels[:, 0])
    for axes, split in zip(panels, splits, strict=True):
        for number, (name, (colour, _, dash)) in enumerate(looks.items()):
            of_arm = points[(points["split"] == split) & (points["arm"] == name)]
            draw_curve(axes, of_arm, "shown", colour, (number, len(looks)), dash)
        if lead.exact:
            axes.axhline(100 * majority[split], color=FAINT, linewidth=1, linestyle=":", zorder=1)
        axes.set_title(SPLITS[split])
    limits = limits_of([*points["shown"], *(100 * majority[split] for split in splits if lead.exact)], lead)
    finish_axes(panels, points, titled(measure, lead), limits)
    handles = [
        Line2D([], [], color=colour, linewidth=2.2, linestyle=dash, label=arm_label(name))
        for name, (colour, _, dash) in looks.items()
    ]
    handles += legend_handles(points, lead.exact)
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
        measures: the leading measure, and `HIGHEST`.
        colours: configured colours by arm, or None.

    Raises:
        StudyError: the history holds no values of the leading measure.
    """
    runs, manifest = read_frame(runs), read_json(manifest)
    lead = Lead(runs.iloc[0])
    measured = leading_points(read_frame(history), runs, lead)
    if measured.empty:
        raise StudyError(f"history.tsv holds no {lead.label} by epoch: train the runs again")
    for measure, svg, png, table in zip(measures, svgs, pngs, tables, strict=True):
        points = highest_so_far(measured, lead) if measure == HIGHEST else measured
        figure = draw(points, majority_shares(manifest, set(points["split"])), measure, colours, lead)
        mark_synthetic(figure.axes[0], manifest)
        write_table(table, "all_curves_data", frame_rows(means(points, lead)))
        save(figure, svg, png, f"All arms over training: {titled(measure, lead)}", table)


def means(points, lead):
    """Return mean and spread by arm, split and epoch, in the order of arms, splits and epochs."""
    table = summary(points, lead.curve, [*ARM, "split"])
    order = {name: list(dict.fromkeys(points[name])) for name in ARM} | {"split": list(SPLITS)}
    return table.sort_values(
        [*ARM, "split", "epoch"],
        key=lambda column: pandas.Categorical(column, order[column.name]) if column.name in order else column,
        kind="stable",
    )


if __name__ == "__main__":
    run(main, snakemake)
