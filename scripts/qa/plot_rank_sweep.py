"""Draw the rank sweep: loss, trainable share, time and memory against LoRA's rank."""

from analysis.looks import PALETTE
from common.entry import run
from common.files import read_json
from common.frames import read_frame
from study.figures import mark_synthetic, save, set_style

# Panels: label of the axis, columns with their labels, factor of the values, whether the axis starts at 0. Losses are
# far from 0, and their differences would not be seen.
PANELS = (
    ("loss (nats per answer token)", {"heldout_loss": "held out", "train_loss": "trained on, last epoch"}, 1, False),
    ("trainable parameters (%)", {"trainable_share": None}, 100, True),
    ("time of all updates (s)", {"update_seconds": None}, 1, True),
    ("memory of training (MB)", {"training_bytes": None}, 1e-6, True),
)
STYLES = (("-", "o"), ("--", "s"))


def draw(frame):
    """Return the figure: every seed a point, lines through the means.

    Args:
        frame: qa/rank_sweep.tsv as numbers.
    """
    from matplotlib import pyplot

    set_style()
    figure, grid = pyplot.subplots(2, 2, figsize=(7.2, 5.2), layout="constrained", sharex=True)
    ranks = sorted(frame["rank"].unique())
    for axes, (label, columns, scale, from_zero) in zip(grid.flat, PANELS, strict=True):
        for (column, name), (line, marker), colour in zip(columns.items(), STYLES, PALETTE, strict=False):
            means = frame.groupby("rank")[column].mean() * scale
            axes.plot(ranks, means[ranks], linestyle=line, color=colour, linewidth=1.6)
            axes.plot(frame["rank"], frame[column] * scale, marker, color=colour, markersize=5, label=name)
        axes.set_xscale("log", base=2)
        axes.set_xticks(ranks, [str(rank) for rank in ranks])
        axes.minorticks_off()
        axes.set_ylabel(label)
        if from_zero:
            axes.set_ylim(bottom=0)
        if len(columns) > 1:
            axes.legend()
    for axes in grid[1]:
        axes.set_xlabel("rank r (doubling scale)")
    return figure


def draw_table(path):
    """Return the figure of qa/rank_sweep.tsv."""
    return draw(read_frame(path).astype(float).astype({"rank": int}))


def main(table, manifest, svg, png):
    """Write the figure as SVG and PNG.

    Args:
        table: qa/rank_sweep.tsv.
        manifest: qa/data/manifest.json.
        svg: figure to write.
        png: figure to write.
    """
    figure = draw_table(table)
    mark_synthetic(figure.axes[1], read_json(manifest))
    save(figure, svg, png, "Loss, trainable share, time and memory by LoRA rank", table)


if __name__ == "__main__":
    run(main, snakemake)
