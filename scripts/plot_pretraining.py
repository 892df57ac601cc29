"""Draw the loss of pretraining by update: text trained on and text kept out."""

from common.errors import StudyError
from common.figures import mark_synthetic, save, set_style
from common.files import read_json, read_tsv
from common.rule import running

COLOUR = "#0072b2"
# By split of pretraining.tsv: legend and line.
LINES = {
    "train": ("trained on, mean since the last point", {"alpha": 0.5, "linewidth": 1.4}),
    "valid": ("held out", {"linewidth": 2, "marker": "o", "markersize": 4}),
}


def draw(rows):
    """Return the figure.

    Args:
        rows: of pretraining.tsv (text).

    Raises:
        StudyError: no rows of held-out text.
    """
    from matplotlib import pyplot

    if not any(row["split"] == "valid" for row in rows):
        raise StudyError("pretraining.tsv has no held-out loss: run rule pretrain again")
    set_style()
    figure, axes = pyplot.subplots(figsize=(6.4, 3.8), layout="constrained")
    for split, (label, style) in LINES.items():
        points = [row for row in rows if row["split"] == split]
        updates, losses = [int(row["update"]) for row in points], [float(row["loss"]) for row in points]
        axes.plot(updates, losses, color=COLOUR, label=label, **style)
    axes.set_xlabel("update")
    axes.set_ylabel("loss (nats per masked piece)")
    axes.set_xlim(left=0)
    axes.legend()
    return figure


def main(history, manifest, svg, png):
    """Write the figure as SVG and PNG.

    Args:
        history: checkpoint/pretraining.tsv.
        manifest: data/manifest.json.
        svg: figure to write.
        png: figure to write.

    Raises:
        StudyError: no held-out loss.
    """
    figure = draw(read_tsv(history))
    mark_synthetic(figure.axes[0], read_json(manifest))
    save(figure, svg, png, "Loss of pretraining by update")


if __name__ == "__main__":
    with running(snakemake):  # noqa: F821
        main(
            snakemake.input.history,  # noqa: F821
            snakemake.input.manifest,  # noqa: F821
            snakemake.output.svg,  # noqa: F821
            snakemake.output.png,  # noqa: F821
        )
