"""Draw what each source of chance spreads: standard deviations with intervals, and what each adds to the interval."""

from analysis.looks import PALETTE
from common.entry import run
from common.files import read_json
from common.frames import read_frame
from measures import Lead
from study.figures import FAINT, INK, mark_synthetic, save, set_style
from study.spread import JOINT, NEW, SHOWN, TOGETHER

# Bars of one source, of several, and of what the study's interval leaves out.
ONE, SEVERAL, LEFT_OUT = PALETTE[0], FAINT, PALETTE[4]


def draw(table):
    """Return the figure: a row of panels for each arm or difference of arms.

    Args:
        table: frame of spread/sources.tsv (text).
    """
    from matplotlib import pyplot
    from matplotlib.patches import Patch

    lead = Lead(table.iloc[0])
    rows = table[table["varied"] != JOINT].fillna("")
    of_each = [group.to_dict("records") for _, group in rows.groupby("contrast", sort=False)]
    set_style()
    figure, grid = pyplot.subplots(
        len(of_each), 2, figsize=(6.8, 0.9 + sum(0.6 + 0.36 * len(group) for group in of_each)), squeeze=False,
        layout="constrained", width_ratios=[3, 2], height_ratios=[2 + len(group) for group in of_each], sharey="row",
    )  # fmt: skip
    for (left, right), group in zip(grid, of_each, strict=True):
        deviations(left, group, lead.scale)
        additions(right, group, lead.scale**2)
        if len(of_each) > 1:
            left.set_title(group[0]["contrast"].replace(" - ", " \N{MINUS SIGN} "))
    unit = "points" if lead.percent else lead.unit
    grid[-1][0].set_xlabel(f"standard deviation{f' ({unit})' if unit else ''}")
    grid[-1][1].set_xlabel(f"adds to the variance{f' ({unit}²)' if unit else ''}")
    if (rows["covered"] == "false").any():
        handles = [Patch(color=ONE, label="in the study's interval"), Patch(color=LEFT_OUT, label="left out of it")]
        figure.legend(handles=handles, loc="outside lower right", ncols=2)
    return figure


def deviations(axes, rows, scale):
    """Draw a bar for each row's standard deviation, and its interval as a line."""
    axes.set_yticks(range(len(rows)), [SHOWN[row["varied"]].format(texts="texts") for row in rows])
    axes.invert_yaxis()
    for place, row in enumerate(rows):
        middle, low, high = (scale * float(row[f"spread_sd{end}"] or "nan") for end in ("", "_low", "_high"))
        axes.barh(place, middle, height=0.62, color=SEVERAL if row["varied"] in (TOGETHER, NEW) else ONE)
        axes.hlines(place, low, high, color=INK, linewidth=1.6)
    axes.set_xlim(left=0)
    axes.grid(visible=False, axis="y")


def additions(axes, rows, scale):
    """Draw a bar for the variance that each source adds to that of the study's mean or difference."""
    for place, row in enumerate(rows):
        if row["added_variance"] != "":
            colour = ONE if row["covered"] == "true" else LEFT_OUT
            axes.barh(place, scale * float(row["added_variance"]), height=0.62, color=colour)
    axes.set_xlim(left=0)
    axes.grid(visible=False, axis="y")


def main(table, manifest, svg, png):
    """Write the figure as SVG and PNG.

    Args:
        table: spread/sources.tsv.
        manifest: data/manifest.json.
        svg, png: figures to write.
    """
    figure = draw(read_frame(table))
    mark_synthetic(figure.axes[1], read_json(manifest))
    save(figure, svg, png, "Spread between runs by source of chance", table)


if __name__ == "__main__":
    run(main, snakemake)
