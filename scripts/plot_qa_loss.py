"""Draw the loss of the LoRA runs by update: pairs trained on and pairs kept out."""

from common.errors import StudyError
from common.figures import mark_synthetic, save, set_style
from common.files import read_json, read_tsv
from common.rule import running

# Okabe and Ito's colours: told apart without colour vision.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")
# Updates that a smoothed training point looks at: one update has 4 pairs only, and pairs differ.
WINDOW = 9


def curves(rows):
    """Return the mean loss over seeds, by rank, split and update.

    Args:
        rows: of qa/loss.tsv (text).

    Returns:
        dict: (rank, split) -> (steps, means, lowest, highest), lists in the order of steps.

    Raises:
        StudyError: no rows.
    """
    if not rows:
        raise StudyError("qa/loss.tsv has no rows: train the runs again")
    values = {}
    for row in rows:
        points = values.setdefault((int(row["rank"]), row["split"]), {})
        points.setdefault(int(row["step"]), []).append(float(row["loss"]))
    found = {}
    for key, points in sorted(values.items()):
        steps = sorted(points)
        found[key] = (
            steps,
            [sum(points[step]) / len(points[step]) for step in steps],
            [min(points[step]) for step in steps],
            [max(points[step]) for step in steps],
        )
    return found


def smooth(values, window=WINDOW):
    """Return centred moving means; at the ends over the points that there are."""
    half = window // 2
    near = [values[max(0, i - half) : i + half + 1] for i in range(len(values))]
    return [sum(part) / len(part) for part in near]


def draw(found, n_seeds):
    """Return the figure.

    Args:
        found: from `curves`.
        n_seeds: runs per rank, for the legend.
    """
    from matplotlib import pyplot

    set_style()
    figure, axes = pyplot.subplots(figsize=(6.4, 3.8), layout="constrained")
    ranks = sorted({rank for rank, _ in found})
    for number, rank in enumerate(ranks):
        colour = COLOURS[number % len(COLOURS)]
        name = f"rank {rank}, " if len(ranks) > 1 else ""
        if (rank, "train") in found:
            steps, means, _, _ = found[rank, "train"]
            axes.plot(steps, means, color=colour, alpha=0.25, linewidth=0.8)
            label = f"{name}trained on (smoothed)"
            axes.plot(steps, smooth(means), color=colour, alpha=0.75, linewidth=1.4, label=label)
        if (rank, "heldout") in found:
            steps, means, low, high = found[rank, "heldout"]
            axes.fill_between(steps, low, high, color=colour, alpha=0.15, linewidth=0)
            style = {"linewidth": 2, "linestyle": "--", "marker": "o", "markersize": 4}
            axes.plot(steps, means, color=colour, label=f"{name}held out", **style)
    axes.set_xlabel("update")
    axes.set_ylabel("loss (nats per answer token)")
    axes.set_xlim(left=0)
    legend = f"mean of {n_seeds} seeds; band: lowest to highest" if n_seeds > 1 else None
    axes.legend(title=legend, title_fontsize=9)
    return figure


def main(loss, manifest, svg, png):
    """Write the figure as SVG and PNG.

    Args:
        loss: qa/loss.tsv.
        manifest: qa/data/manifest.json.
        svg: figure to write.
        png: figure to write.

    Raises:
        StudyError: no runs.
    """
    rows = read_tsv(loss)
    found = curves(rows)
    figure = draw(found, len({row["seed"] for row in rows}))
    mark_synthetic(figure.axes[0], read_json(manifest))
    save(figure, svg, png, "Loss of the LoRA runs by update")


if __name__ == "__main__":
    with running(snakemake):  # noqa: F821
        main(
            snakemake.input.loss,  # noqa: F821
            snakemake.input.manifest,  # noqa: F821
            snakemake.output.svg,  # noqa: F821
            snakemake.output.png,  # noqa: F821
        )
