"""A common look of all figures, and files with the same bytes at every rebuild."""

import io
import os

import tasks
from common.files import atomic_path, sha256, write_text
from study.drawings import compact

INK, FAINT, GRID = "#1f2328", "#6a737d", "#e4e7eb"
# Ids inside an SVG are hashes; without a fixed salt matplotlib draws a new one in every process.
HASHSALT = "sentiment study"


STYLE = {
    "svg.hashsalt": HASHSALT, "svg.fonttype": "none", "figure.facecolor": "white", "savefig.facecolor": "white",
    "figure.dpi": 100, "savefig.dpi": 200, "font.family": ["DejaVu Sans", "sans-serif"],
    "font.sans-serif": ["Arial", "DejaVu Sans", "Liberation Sans", "Bitstream Vera Sans", "sans-serif"],
    "font.size": 10, "axes.labelsize": 10, "axes.titlesize": 11, "axes.titleweight": "bold",
    "axes.titlelocation": "left", "xtick.labelsize": 9.5, "ytick.labelsize": 9.5, "legend.fontsize": 9,
    "legend.title_fontsize": 12, "legend.frameon": False, "text.color": INK, "axes.labelcolor": INK,
    "xtick.color": INK, "ytick.color": INK, "axes.edgecolor": FAINT, "axes.linewidth": 0.8, "axes.spines.top": False,
    "axes.spines.right": False, "axes.axisbelow": True, "axes.grid": True, "grid.color": GRID, "grid.linewidth": 0.8,
    "lines.solid_capstyle": "round", "patch.edgecolor": "white", "patch.force_edgecolor": True, "xtick.bottom": False,
    "ytick.left": False, "xtick.major.size": 6, "ytick.major.size": 6, "xtick.major.width": 1.25,
    "ytick.major.width": 1.25,
}  # fmt: skip


def set_style():
    """Set matplotlib to the project's look: a white card, light grid, DejaVu Sans.

    DejaVu Sans ships with matplotlib, so text has the same shape in a PNG of any machine; an SVG has it as text.
    `seaborn.set_theme` is not used: importing seaborn, with SciPy, takes longer than drawing most figures.
    """
    import matplotlib

    matplotlib.use("agg")
    matplotlib.rcParams.update(STYLE)


def save(figure, svg, png, title, *data):
    """Write a figure as SVG and PNG, atomically, without date or program name, and close it.

    The SVG's description names the tables that were drawn and their SHA-256, so that `check_report` can detect a figure
    of other data.

    Args:
        figure: matplotlib figure.
        svg: path ending in .svg.
        png: path ending in .png; 200 dots an inch.
        title: the SVG's title, which screen readers announce.
        data: files whose data it shows, written already; none with times, which differ between runs.
    """
    from matplotlib import pyplot

    drawn = " ".join(f"{os.path.basename(path)}={sha256(path)}" for path in data)
    facts, text = {"Date": None, "Creator": None, "Title": title, "Description": drawn}, io.StringIO()
    figure.savefig(text, format="svg", metadata=facts)
    write_text(svg, compact(text.getvalue()))
    with atomic_path(png) as temporary:
        figure.savefig(temporary, metadata={"Software": None, "Title": title})
    pyplot.close(figure)


def mark_synthetic(axes, manifest):
    """Write "synthetic data" above the axes when the manifest says so: a figure travels without its page."""
    if manifest["synthetic"]:
        axes.set_title("synthetic data", loc="right", fontsize=9, fontweight="normal", color=FAINT)


def majority_shares(manifest, splits):
    """Return {split: share of the largest class or set of labels}, the accuracy of always answering it.

    Args:
        manifest: content of data/manifest.json.
        splits: names of splits.
    """
    return {split: tasks.share_of_largest(manifest["splits"][split]) for split in splits}
