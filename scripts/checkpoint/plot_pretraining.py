"""Draw the loss of pretraining by update and by tokens predicted: text trained on and text kept out."""

from common.entry import run
from common.errors import StudyError
from common.files import read_json
from common.frames import read_frame
from study.figures import mark_synthetic, save, set_style

COLOUR = "#0072b2"
# Legend and line of each split of pretraining.tsv.
LINES = {
    "train": ("trained on, mean since the last point", {"alpha": 0.5, "linewidth": 1.4}),
    "valid": (
        "held out",
        {"linewidth": 2, "marker": "o", "markersize": 4, "markeredgecolor": COLOUR, "markeredgewidth": 1},
    ),
}


def draw(frame):
    """Return the figure.

    Args:
        frame: frame of pretraining.tsv (text).

    Raises:
        StudyError: no rows of held-out text.
    """
    import seaborn
    from matplotlib import pyplot

    if "valid" not in set(frame["split"]):
        raise StudyError("pretraining.tsv has no held-out loss: run rule pretrain again")
    frame = frame.astype({"update": int, "loss": float})
    set_style()
    figure, axes = pyplot.subplots(figsize=(6.4, 3.8), layout="constrained")
    for split, (label, style) in LINES.items():
        points = frame[frame["split"] == split]
        seaborn.lineplot(points, x="update", y="loss", color=COLOUR, label=label, estimator=None, ax=axes, **style)
    axes.set(xlabel="update", ylabel="loss (nats per masked token)")
    axes.set_xlim(left=0)
    axes.legend()
    trained = frame[frame["split"] == "train"]
    if len(trained):
        # The line is nearly straight, since all updates mask a similar number of tokens.
        millions = trained["n_tokens"].astype(int).sum() / 1e6 / trained["update"].max()
        above = axes.secondary_xaxis("top", functions=(lambda update: update * millions, lambda seen: seen / millions))
        above.set_xlabel("masked tokens predicted (millions)")
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
    figure = draw(read_frame(history))
    mark_synthetic(figure.axes[0], read_json(manifest))
    save(figure, svg, png, "Loss of pretraining by update", history)


if __name__ == "__main__":
    run(main, snakemake)
