"""Draw the places of the parameters: the whole model to scale, and one encoder layer of it."""

from analysis.looks import PALETTE
from analysis.parameter_counts import spaced
from common.entry import run
from common.files import read_tsv
from study.figures import INK, save, set_style

# Parts of the whole: name, steps of the derivation.
WHOLE = {
    "token embeddings": ("token embeddings",),
    "position table": ("positions", "two further rows of the position table"),
    "matrices of the layers": ("matrices of all layers",),
    "biases, LayerNorms": ("biases and LayerNorms of all layers, LayerNorm of the embeddings",),
    "classification head": ("classification head: dense layer, projection to the classes",),
}
LAYER = {
    "W_q": ("query matrix W_q",),
    "W_k": ("key matrix W_k",),
    "W_v": ("value matrix W_v",),
    "W_o": ("output projection W_o",),
    "feed-forward 1": ("first feed-forward matrix",),
    "feed-forward 2": ("second feed-forward matrix",),
    "biases, LayerNorms": (
        "biases of one layer: attention, feed-forward",
        "two LayerNorms of one layer, scale and shift",
    ),
}
BLUE, ORANGE, GREEN, PINK, YELLOW, SKY, _ = PALETTE
WHOLE_COLOURS = (BLUE, PINK, ORANGE, YELLOW, GREEN)
LAYER_COLOURS = (ORANGE, ORANGE, ORANGE, PINK, SKY, SKY, YELLOW)
# A part is named inside the bar where it is this share of it.
NAMED = 0.09


def counts(rows, parts):
    """Return {part: parameters} of the study's model.

    Args:
        rows: rows of the derivation.
        parts: {part: names of steps}.
    """
    known = {row["part"]: int(row["count"]) for row in rows if row["model"] == "study"}
    return {name: sum(known[step] for step in steps) for name, steps in parts.items()}


def draw_bar(axes, found, colours, title):
    """Draw one bar of parts to scale, named where there is room, and below it each part's count and share.

    Args:
        axes: to draw on.
        found: {part: parameters}.
        colours: colours of the parts, in order.
        title: above the bar; the bar's count follows.
    """
    total, left, labels = sum(found.values()), 0, []
    for (name, count), colour in zip(found.items(), colours, strict=True):
        axes.barh(0, count, left=left, color=colour, edgecolor="white", linewidth=1)
        if count / total > NAMED:
            axes.text(left + count / 2, 0, name.replace(" ", "\n"), ha="center", va="center", color=INK, fontsize=8,
                      bbox={"facecolor": "white", "edgecolor": "none", "pad": 1.5})  # fmt: skip
        left += count
        labels.append(f"{name}: {spaced(count)} ({100 * count / total:.2f} %)")
    axes.set(xlim=(0, total), ylim=(-0.4, 0.4))
    axes.set_title(f"{title}: {spaced(total)} parameters")
    axes.axis("off")
    below = {"loc": "upper center", "bbox_to_anchor": (0.5, 0), "ncols": 2, "fontsize": 8, "handlelength": 1}
    axes.legend(axes.patches, labels, **below)


def draw(rows):
    """Return the figure.

    Args:
        rows: rows of the derivation.
    """
    from matplotlib import pyplot

    set_style()
    whole, layer = counts(rows, WHOLE), counts(rows, LAYER)
    matrices = sum(layer.values()) - layer["biases, LayerNorms"]
    layers = round(whole["matrices of the layers"] / matrices)
    figure, (above, below) = pyplot.subplots(2, figsize=(6.2, 5.2), layout="constrained")
    draw_bar(above, whole, WHOLE_COLOURS, "The classifier")
    # Borders between the layers.
    start = whole["token embeddings"] + whole["position table"]
    for place in range(1, layers):
        above.plot([start + place * matrices] * 2, [-0.4, 0.4], color="white", linewidth=0.8)
    draw_bar(below, layer, LAYER_COLOURS, "One of its encoder layers" if layers > 1 else "Its one encoder layer")
    return figure


def draw_table(path):
    """Return the figure of parameters/derivation.tsv."""
    return draw(read_tsv(path))


def main(derivation, svg, png):
    """Write the figure as SVG and PNG.

    Args:
        derivation: parameters/derivation.tsv.
        svg: figure to write.
        png: figure to write.
    """
    save(draw_table(derivation), svg, png, "Where the parameters lie", derivation)


if __name__ == "__main__":
    run(main, snakemake)
