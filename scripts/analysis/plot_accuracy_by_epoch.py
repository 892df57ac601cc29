"""Draw each arm's leading measure by epoch and update, on validation and on test: every seed, mean, chosen epochs."""

from analysis.epoch_curves import SPLITS, draw_curve, finish_axes, leading_points, legend_handles
from analysis.looks import limits_of, looks_of
from common.arms import arm_label
from common.entry import run
from common.errors import StudyError
from common.files import read_json
from common.frames import read_frame
from measures import Lead, capitalised
from study.figures import FAINT, majority_shares, mark_synthetic, save, set_style
from study.tables import frame_rows, write_table

TABLE = "curves_data"


def draw(points, limits, majority, colour, lead=None):
    """Return a figure of one arm: one panel a split, alike in scale.

    Args:
        points: the arm's `leading_points`.
        limits: (low, high) of the axis in percent, the same for every arm.
        majority: {split: share of the largest class}.
        colour: colour of the arm.
        lead: `measures.Lead`; None: that of a study that names none.
    """
    from matplotlib import pyplot

    set_style()
    lead = lead or Lead()
    splits = [split for split in SPLITS if (points["split"] == split).any()]
    figure, panels = pyplot.subplots(
        len(splits), figsize=(4.8, 1.6 + 2.7 * len(splits)), sharex=True, squeeze=False, layout="constrained"
    )
    panels = list(panels[:, 0])
    points = points.assign(shown=lead.scale * points[lead.curve])
    for axes, split in zip(panels, splits, strict=True):
        draw_curve(axes, points[points["split"] == split], "shown", colour)
        if lead.exact:
            axes.axhline(100 * majority[split], color=FAINT, linewidth=1, linestyle=":", zorder=1)
        axes.set_title(SPLITS[split])
    finish_axes(panels, points, lead.axis, limits)
    panels[0].set_title(f"{arm_label(points['arm'].iloc[0])}: {SPLITS[splits[0]]}")
    figure.legend(handles=legend_handles(points, lead.exact), loc="outside lower center", ncols=2, columnspacing=1.4)
    return figure


def main(runs, history, manifest, svgs, pngs, tables, arms, colours):
    """Write every arm's figure as SVG and PNG, and its points as a table.

    One job for all arms: starting Python and its plotting libraries takes longer than a drawing.

    Args:
        runs: runs.tsv, for the chosen epochs.
        history: history.tsv; every arm's values set the axis, so that figures can be compared side by side.
        manifest: data/manifest.json, for the majority class.
        svgs, pngs: figures to write, one an arm.
        tables: tables of the drawn points to write, one an arm.
        arms: names of the arms.
        colours: configured colours by arm, or None.

    Raises:
        StudyError: an arm has no values in the history.
    """
    manifest = read_json(manifest)
    runs = read_frame(runs)
    lead = Lead(runs.iloc[0])
    everything = leading_points(read_frame(history), runs, lead)
    majority = majority_shares(manifest, set(everything["split"]))
    limits = limits_of(
        [*lead.scale * everything[lead.curve], *(100 * share for share in majority.values() if lead.exact)], lead
    )
    looks = looks_of(list(runs["arm"].unique()), colours)
    for arm, svg, png, table in zip(arms, svgs, pngs, tables, strict=True):
        points = everything[everything["arm"] == arm]
        if points.empty:
            raise StudyError(f"history.tsv holds no {lead.label} by epoch for arm {arm}")
        figure = draw(points, limits, majority, looks[arm][0], lead)
        mark_synthetic(figure.axes[0], manifest)
        write_table(table, TABLE, frame_rows(points))
        save(figure, svg, png, f"{capitalised(lead.label)} by epoch, {arm_label(arm)}", table)


if __name__ == "__main__":
    run(main, snakemake)
