"""Draw all arms side by side: every seed's test accuracy, the mean and its interval."""

from common.arms import arm_label, arms_of, colour_of, summarise, t_interval
from common.errors import StudyError
from common.figures import FAINT, INK, majority_shares, mark_synthetic, padded_limits, save, set_style
from common.files import read_json, read_tsv, write_tsv
from common.rule import running

COLUMNS = ("framework", "init", "n_seeds", "mean", "level", "interval_low", "interval_high", "majority")
LEVEL = 0.95


def intervals(runs, majority):
    """Return one row per arm: mean test accuracy and Student's interval over seeds.

    Args:
        runs: rows of runs.tsv (strings).
        majority: share of the larger class on test.

    Returns:
        list[dict]: `COLUMNS`, fractions; the interval is None with one seed and kept within 0 to 1.

    Raises:
        StudyError: no runs.
    """
    if not runs:
        raise StudyError("runs.tsv holds no runs: run the study first")
    rows = []
    for framework, init in arms_of(runs):
        values = [float(r["test_accuracy"]) for r in runs if (r["framework"], r["init"]) == (framework, init)]
        low, high = t_interval(values, LEVEL) or (None, None)
        rows.append(
            {
                "framework": framework,
                "init": init,
                "n_seeds": len(values),
                "mean": summarise(values)["mean"],
                "level": LEVEL,
                "interval_low": None if low is None else max(0.0, low),
                "interval_high": None if high is None else min(1.0, high),
                "majority": majority,
            }
        )
    return rows


def spread(values, step=0.13, near=0.35):
    """Return a vertical offset for each value, so that dots closer than `near` percentage points stay visible.

    Args:
        values: n percentages.
        step: offset between neighbours of a heap.
        near: distance below which two dots overlap.

    Returns:
        list[float]: n offsets around 0, in the order of `values`; equal inputs give equal offsets (nothing is random).
    """
    offsets = [0.0] * len(values)
    heap = []
    for place in [*sorted(range(len(values)), key=lambda i: (values[i], i)), None]:
        if heap and (place is None or values[place] - values[heap[-1]] >= near):
            for rank, member in enumerate(heap):
                offsets[member] = step * (rank - (len(heap) - 1) / 2)
            heap = []
        heap.append(place)
    return offsets


def draw(runs, rows, colours):
    """Return the figure: one line of the page per arm, dots for seeds, a bar for the mean, a whisker for the interval.

    Args:
        runs: rows of runs.tsv (strings).
        rows: `intervals`.
        colours: configured colours by arm, or None.
    """
    from matplotlib import pyplot
    from matplotlib.lines import Line2D

    set_style()
    figure, axes = pyplot.subplots(figsize=(5.4, 1.4 + 0.8 * len(rows)), layout="constrained")
    shown = [100 * rows[0]["majority"]]
    for place, row in enumerate(rows):
        colour = colour_of(row["framework"], row["init"], colours)
        values = [
            100 * float(run["test_accuracy"])
            for run in runs
            if (run["framework"], run["init"]) == (row["framework"], row["init"])
        ]
        shown += values
        axes.scatter(
            values,
            [place + offset for offset in spread(values)],
            s=38,
            color=colour,
            alpha=0.85,
            edgecolor="white",
            linewidth=0.7,
            zorder=3,
        )
        if row["interval_low"] is not None:
            low, high = 100 * row["interval_low"], 100 * row["interval_high"]
            shown += [low, high]
            axes.plot([low, high], [place + 0.3] * 2, color=colour, linewidth=2.2, zorder=2)
            axes.plot([100 * row["mean"]], [place + 0.3], marker="|", markersize=13, markeredgewidth=2.4, color=INK)
    axes.axvline(100 * rows[0]["majority"], color=FAINT, linewidth=1, linestyle=":", zorder=1)
    limits = padded_limits(shown, 5)
    for place, row in enumerate(rows):
        # Names above their dots, not beside the axis: the figure stays narrow enough for a phone.
        axes.annotate(
            arm_label(row["framework"], row["init"]),
            (limits[0], place - 0.38),
            xytext=(5, 0),
            textcoords="offset points",
            va="center",
            fontweight="bold",
            bbox={"facecolor": "white", "edgecolor": "none", "pad": 1.5},
            zorder=5,
        )
    axes.set_yticks([])
    axes.set_ylim(len(rows) - 0.5, -0.6)
    axes.set_xlim(*limits)
    axes.grid(axis="y", visible=False)
    axes.set_xlabel("test accuracy (%)")
    handles = [Line2D([], [], color=FAINT, marker="o", linestyle="", label="one seed")]
    if any(row["interval_low"] is not None for row in rows):
        handles += [
            Line2D(
                [], [], color=INK, marker="|", markersize=11, markeredgewidth=2.2, linestyle="", label="mean of seeds"
            ),
            Line2D([], [], color=FAINT, linewidth=2.2, label=f"{100 * LEVEL:.0f} % t-interval of the mean"),
        ]
    handles.append(Line2D([], [], color=FAINT, linestyle=":", linewidth=1, label="majority class"))
    figure.legend(handles=handles, loc="outside lower center", ncols=2, columnspacing=2)
    return figure


def main(runs, manifest, svg, png, data, colours):
    """Write the figure as SVG and PNG, and the means and intervals as a table.

    Args:
        runs: runs.tsv.
        manifest: data/manifest.json, for the majority class of test.
        svg: figure to write.
        png: figure to write.
        data: table to write.
        colours: configured colours by arm, or None.

    Raises:
        StudyError: no runs.
    """
    runs, manifest = read_tsv(runs), read_json(manifest)
    rows = intervals(runs, majority_shares(manifest, ["test"])["test"])
    figure = draw(runs, rows, colours)
    mark_synthetic(figure.axes[0], manifest)
    save(figure, svg, png, "Test accuracy of every arm")
    write_tsv(data, rows, COLUMNS)


if __name__ == "__main__":
    with running(snakemake):  # noqa: F821
        main(
            snakemake.input.runs,  # noqa: F821
            snakemake.input.manifest,  # noqa: F821
            snakemake.output.svg,  # noqa: F821
            snakemake.output.png,  # noqa: F821
            snakemake.output.data,  # noqa: F821
            snakemake.params.colours,  # noqa: F821
        )
