"""Draw the leading measure by learning rate from both starts, every seed a dot, and the difference with interval."""

import pandas

from analysis.looks import PALETTE
from common.entry import run
from common.files import read_json
from common.frames import read_frame
from measures import Lead
from study.figures import FAINT, INK, mark_synthetic, save, set_style
from study.grids import written

# Each start's colour, mark and line.
LOOKS = {"pretrained": (PALETTE[0], "o", "-"), "random": (PALETTE[1], "s", "--")}
# Columns of a run on test, by the measure that leads.
SCORES = ("test_accuracy", "test_score")
NUMBERS = ("peak_lr", "epochs", "mean", *SCORES, "difference", "low", "high", "joint_low", "joint_high")


def numeric(frame, scale):
    """Return a table with the columns of `NUMBERS` as numbers, values and differences `scale` times."""
    columns = {name: pandas.to_numeric(frame[name]) for name in NUMBERS if name in frame}
    return frame.assign(
        **{name: each if name in ("peak_lr", "epochs") else scale * each for name, each in columns.items()}
    )


def draw(recipes, differing, seeds):
    """Return the figure: a column for each number of epochs, for each pair a row of values and one of differences.

    Args:
        recipes, differing, seeds: frames of recipes.tsv, recipes/differences.tsv, recipes/runs.tsv (text).
    """
    from matplotlib import pyplot

    lead = Lead(seeds.iloc[0])
    recipes, differing, seeds = (numeric(frame, lead.scale) for frame in (recipes, differing, seeds))
    set_style()
    pairs, epochs = list(dict.fromkeys(recipes["pair"])), sorted(recipes["epochs"].unique())
    size = (max(5.4, 3.2 * len(epochs)), 4.9 * len(pairs))
    figure, grid = pyplot.subplots(
        2 * len(pairs), len(epochs), figsize=size, layout="constrained", squeeze=False, sharex=True, sharey="row",
        height_ratios=[2, 1.2] * len(pairs),
    )  # fmt: skip
    rates = sorted(recipes["peak_lr"].unique())
    for row, pair in enumerate(pairs):
        for column, number in enumerate(epochs):
            above, below = grid[2 * row][column], grid[2 * row + 1][column]
            of_panel = [frame[(frame["pair"] == pair) & (frame["epochs"] == number)] for frame in (recipes, seeds)]
            values(above, *of_panel, lead.test)
            differences(below, differing[(differing["pair"] == pair) & (differing["epochs"] == number)])
            title = f"{number:.0f} epoch{'s' if number != 1 else ''}"
            above.set_title(title if len(pairs) == 1 else f"{pair}, {title}")
            below.set_xscale("log")
            below.set_xticks(rates, [written(float(rate)) for rate in rates])
            below.minorticks_off()
        grid[2 * row][0].set_ylabel(f"test {lead.axis}")
        grid[2 * row + 1][0].set_ylabel(f"pretrained minus\nrandom{lead.apart}")
    for axes in grid[-1]:
        axes.set_xlabel("learning rate (logarithmic)")
    figure.legend(handles=legend(), loc="outside lower center", ncols=2, columnspacing=2)
    return figure


def values(axes, recipes, seeds, column):
    """Draw both starts' seeds as dots and their means as lines; slightly apart, so that neither hides the other."""
    for (init, (colour, mark, style)), side in zip(LOOKS.items(), (1 / 1.04, 1.04), strict=True):
        dots, means = (frame[frame["init"] == init].sort_values("peak_lr") for frame in (seeds, recipes))
        axes.plot(means["peak_lr"] * side, means["mean"], linestyle=style, color=colour, linewidth=1.8)
        axes.plot(dots["peak_lr"] * side, dots[column], mark, color=colour, markersize=5, markeredgecolor="white")


def differences(axes, rows):
    """Draw each difference with its interval, and the joint interval of all recipes as a thin line."""
    axes.axhline(0, color=FAINT, linewidth=1, linestyle=":")
    axes.vlines(rows["peak_lr"], rows["joint_low"], rows["joint_high"], color=INK, linewidth=0.9)
    axes.vlines(rows["peak_lr"], rows["low"], rows["high"], color=INK, linewidth=2.6)
    axes.plot(rows["peak_lr"], rows["difference"], "D", color=INK, markersize=5, markeredgecolor="white")


def legend():
    """Return the legend's handles."""
    from matplotlib.lines import Line2D

    starts = [
        Line2D([], [], color=colour, marker=mark, linestyle=style, label=f"{init}: seeds and their mean")
        for init, (colour, mark, style) in LOOKS.items()
    ]
    joint = Line2D([], [], color=INK, linewidth=0.9, label="interval for all recipes together")
    return [*starts, Line2D([], [], color=INK, linewidth=2.6, marker="D", label="difference, its interval"), joint]


def main(table, differing, seeds, manifest, svg, png):
    """Write the figure as SVG and PNG.

    Args:
        table, differing, seeds: recipes.tsv, recipes/differences.tsv, recipes/runs.tsv.
        manifest: data/manifest.json.
        svg, png: figures to write.
    """
    figure = draw(*map(read_frame, (table, differing, seeds)))
    mark_synthetic(figure.axes[0], read_json(manifest))
    title = f"Test {Lead(read_frame(seeds).iloc[0]).label} and the difference between starts by learning rate"
    save(figure, svg, png, title, table, differing, seeds)


if __name__ == "__main__":
    run(main, snakemake)
