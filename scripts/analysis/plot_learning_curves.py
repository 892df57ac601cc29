"""Draw learning curves: the leading measure by labelled reviews and by updates of pretraining, TF-IDF beside it."""

import math

import pandas

from analysis.looks import MARKERS, PALETTE
from common.entry import run
from common.files import read_json
from common.frames import read_frame
from finetuning.learning_curves import REVIEWS
from measures import Lead
from study.figures import FAINT, mark_synthetic, save, set_style

# The simple models that are drawn, and their line styles.
SIMPLE = {"tfidf_words": ":", "tfidf_characters": "--"}


def draw(means, seeds, whole, simple=None):
    """Return the figure: a panel for each curve, a line through the means of each start, a dot for each seed.

    Args:
        means, seeds: frames of learning_curves/means.tsv and learning_curves/runs.tsv (text).
        whole: frame of baselines.tsv: results of the simple models with all training reviews.
        simple: frame of learning_curves/baselines.tsv; None: no curve of labelled reviews.
    """
    from matplotlib import pyplot

    set_style()
    lead = Lead(seeds.iloc[0])
    curves = list(dict.fromkeys(means["curve"]))
    figure, grid = pyplot.subplots(
        1, len(curves), figsize=(max(5.4, 4.2 * len(curves)), 4.2), layout="constrained", squeeze=False, sharey=True
    )
    for axes, curve in zip(grid[0], curves, strict=True):
        of_curve, dots = (frame[frame["curve"] == curve] for frame in (means, seeds))
        for place, start in enumerate(dict.fromkeys(of_curve["start"])):
            look = {"color": PALETTE[place % len(PALETTE)], "markeredgecolor": "white"}
            of_start, points = of_curve[of_curve["start"] == start], dots[dots["start"] == start]
            axes.plot(
                number(of_start["amount"]), lead.scale * number(of_start["mean"]), linewidth=1.8, label=start, **look
            )
            look |= {"linestyle": "", "marker": MARKERS[place % len(MARKERS)]}
            axes.plot(number(points["amount"]), lead.scale * number(points[lead.test]), markersize=5, **look)
        bars(axes, curve, whole, simple, lead)
        amounts = apart(set(number(of_curve["amount"])), curve)
        if curve == REVIEWS:
            axes.set_xscale("log")
        axes.set_xticks(amounts, [f"{amount:,.0f}".replace(",", "\u202f") for amount in amounts])
        axes.minorticks_off()
        axes.set_xlabel(f"{curve} (logarithmic)" if curve == REVIEWS else curve)
        axes.legend(loc="lower right", fontsize=7.5)
    grid[0][0].set_ylabel(f"test {lead.axis}")
    return figure


def apart(amounts, curve):
    """Return the amounts, from the largest on, whose numbers do not overlap below the axis."""
    size = math.log10 if curve == REVIEWS else float
    room = (size(max(amounts)) - size(min(amounts))) / 10
    kept = []
    for amount in sorted(amounts, reverse=True):
        if all(abs(size(amount) - size(other)) >= room for other in kept):
            kept.append(amount)
    return sorted(kept)


def bars(axes, curve, whole, simple, lead):
    """Draw the simple models: a line by labelled reviews, or their result with all reviews by updates."""
    for name, style in SIMPLE.items():
        if name not in set(whole["baseline"]):
            continue
        words = f"TF-IDF, {name.removeprefix('tfidf_')}"
        if curve == REVIEWS and simple is not None:
            rows = simple[simple["baseline"] == name]
            reached = lead.scale * number(rows[lead.test])
            axes.plot(number(rows["n_train"]), reached, color=FAINT, linestyle=style, linewidth=1.4, label=words)
        else:
            reached = lead.scale * float(whole.loc[whole["baseline"] == name, lead.test].iloc[0])
            axes.axhline(reached, color=FAINT, linestyle=style, linewidth=1.4, label=words)


def number(column):
    """Return a column of text as numbers."""
    return pandas.to_numeric(column)


def main(means, seeds, whole, simple, manifest, svg, png):
    """Write the figure as SVG and PNG.

    Args:
        means, seeds: learning_curves/means.tsv and learning_curves/runs.tsv.
        whole: baselines.tsv.
        simple: learning_curves/baselines.tsv in a list; empty: there is none.
        manifest: data/manifest.json.
        svg, png: figures to write.
    """
    figure = draw(*map(read_frame, (means, seeds, whole)), *map(read_frame, simple))
    mark_synthetic(figure.axes[-1], read_json(manifest))
    title = (
        f"Learning curves: test {Lead(read_frame(seeds).iloc[0]).label} by labelled reviews and by pretraining updates"
    )
    save(figure, svg, png, title, means, seeds, whole, *simple)


if __name__ == "__main__":
    run(main, snakemake)
