"""One look for every figure, and files that are the same bytes at every rebuild."""

from common.files import atomic_path

INK, FAINT, GRID = "#1f2328", "#6a737d", "#e4e7eb"
# Ids inside an SVG are hashes; without a fixed salt matplotlib draws a new one in every process.
HASHSALT = "sentiment study"


def set_style():
    """Set matplotlib and seaborn to the project's look: a white card, light grid, DejaVu Sans.

    DejaVu Sans ships with matplotlib, so text has the same shape in a PNG of any machine; an SVG holds it as text.
    """
    import matplotlib

    matplotlib.use("agg")
    import seaborn

    seaborn.set_theme(
        style="whitegrid",
        font=["DejaVu Sans", "sans-serif"],
        rc={
            "svg.hashsalt": HASHSALT,
            "svg.fonttype": "none",
            "figure.facecolor": "white",
            "savefig.facecolor": "white",
            "figure.dpi": 100,
            "savefig.dpi": 200,
            "font.size": 10,
            "axes.labelsize": 10,
            "axes.titlesize": 11,
            "axes.titleweight": "bold",
            "axes.titlelocation": "left",
            "xtick.labelsize": 9.5,
            "ytick.labelsize": 9.5,
            "legend.fontsize": 9,
            "legend.frameon": False,
            "text.color": INK,
            "axes.labelcolor": INK,
            "xtick.color": INK,
            "ytick.color": INK,
            "axes.edgecolor": FAINT,
            "axes.linewidth": 0.8,
            "axes.spines.top": False,
            "axes.spines.right": False,
            "grid.color": GRID,
            "grid.linewidth": 0.8,
            "lines.solid_capstyle": "round",
        },
    )


def save(figure, svg, png, title):
    """Write a figure as SVG and PNG, whole or not at all, without date or program name, and close it.

    Args:
        figure: matplotlib figure.
        svg: path ending in .svg.
        png: path ending in .png; 200 dots an inch.
        title: the SVG's title, which screen readers announce.
    """
    from matplotlib import pyplot

    with atomic_path(svg) as temporary:
        figure.savefig(temporary, metadata={"Date": None, "Creator": None, "Title": title})
    with atomic_path(png) as temporary:
        figure.savefig(temporary, metadata={"Software": None, "Title": title})
    pyplot.close(figure)


def mark_synthetic(axes, manifest):
    """Write "synthetic data" above the axes when the manifest says so: a figure travels without its page."""
    if manifest["synthetic"]:
        axes.set_title("synthetic data", loc="right", fontsize=9, fontweight="normal", color=FAINT)


def majority_shares(manifest, splits):
    """Return {split: share of the largest class}, the accuracy of always answering it.

    Args:
        manifest: content of data/manifest.json.
        splits: names of splits.
    """
    of = {split: manifest["splits"][split] for split in splits}
    return {s: max(c.get("n_by_class") or (c["n_positive"], c["n"] - c["n_positive"])) / c["n"] for s, c in of.items()}


def padded_limits(values, step):
    """Return axis limits in percent around `values` (percent), at multiples of `step` within 0 to 100.

    At least one step lies between an extreme value and the limit's grid line, where 0 to 100 has room.
    """
    low = max(0, step * int((min(values) - step / 3) // step))
    high = min(100, -step * int((-max(values) - step / 3) // step))
    return low, max(high, low + step)
