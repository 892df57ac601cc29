"""Curves by epoch: the points of every seed, their mean and spread, and a drawing that separates the seeds."""

import frameworks
from common.arms import ARM, SUMMARY
from measures import Lead
from study.figures import FAINT, INK

RUN = [*ARM, "seed"]
SPLITS = {"valid": "validation", "test": "test, scored after training, chose nothing"}
# The dashes of the seeds' lines, in turn; matplotlib's terms: lengths on and off, in line widths.
DASHES = ("", (5, 2), (1.5, 1.5), (6, 2, 1.5, 2), (3, 1))
# The points of an epoch take this share of its width, side by side.
SPREAD = 0.74
RING = {"s": 80, "facecolors": "none", "linewidths": 1.2, "zorder": 5}


def by_epochs(table):
    """Return which rows of a table are of frameworks that train by epochs."""
    return table["framework"].isin(frameworks.having("CHECKPOINTS"))


def metric_points(history, runs, metrics, splits):
    """Return the rows of history.tsv for some metrics and splits, of all arms that are trained by epochs.

    Args:
        history: frame of history.tsv (text).
        runs: frame of runs.tsv (text).
        metrics: names of metrics.
        splits: names of splits.

    Returns:
        pandas.DataFrame: the columns of `RUN`, epoch, update (int), split, metric, value (float), and chosen: true at
        the epoch whose checkpoint was tested.
    """
    points = history[history["metric"].isin(metrics) & history["split"].isin(splits)]
    points = points[by_epochs(points)]
    points = points.merge(runs[[*RUN, "best_epoch"]], how="left", on=RUN)
    points = points.assign(value=points["value"].map(float), chosen=points["epoch"] == points["best_epoch"])
    return points.astype({"epoch": int, "update": int}).drop(columns="best_epoch")


def leading_points(history, runs, lead=None):
    """Return `metric_points` of the leading measure on valid and test, with its column for metric and value.

    Args:
        history, runs: as in `metric_points`.
        lead: `measures.Lead`; None: that of `runs`.

    Returns:
        pandas.DataFrame: of accuracy the column is `accuracy` (fraction), of another measure `score`.
    """
    lead = lead or Lead(runs.iloc[0])
    points = metric_points(history, runs, [lead.name], SPLITS).rename(columns={"value": lead.curve})
    return points[[*RUN, "epoch", "update", "split", lead.curve, "chosen"]]


def shared_epochs(points, by=()):
    """Return the points of the epochs that every seed has: a mean over fewer seeds would jump where a run ends.

    Args:
        points: frame with seed and epoch.
        by: columns that distinguish curves.
    """
    by = list(by)
    every = points.groupby(by)["seed"].transform("nunique") if by else points["seed"].nunique()
    return points[points.groupby([*by, "epoch"])["seed"].transform("nunique") == every]


def summary(points, value, by):
    """Return mean and spread over seeds by epoch, for the epochs that every seed has.

    Args:
        points: frame with seed, epoch, update and `value`.
        value: column to summarise.
        by: columns that distinguish curves.

    Returns:
        pandas.DataFrame: `by`, epoch, update, and the keys of `common.arms.SUMMARY`; sd_ddof1 is missing with one seed.
    """
    groups = shared_epochs(points, by).groupby([*by, "epoch", "update"], sort=False)
    return groups[value].agg(**SUMMARY).reset_index().astype({"sd_ddof1": float})


def places(seeds, slot=(0, 1)):
    """Return the places of seeds and their mean within an epoch's width, from -SPREAD / 2 to SPREAD / 2, the mean last.

    Args:
        seeds: names of seeds.
        slot: (number of this curve, how many share the epoch).

    Returns:
        dict: {seed or "mean": shift in epochs}.
    """
    names = [*seeds, *(["mean"] if len(seeds) > 1 else [])]
    width = SPREAD / slot[1]
    start = -SPREAD / 2 + slot[0] * width
    return {name: start + (place + 0.5) * width / len(names) for place, name in enumerate(names)}


def draw_curve(axes, points, value, colour, slot=(0, 1), dash="-"):
    """Draw one curve of every seed: numbers for points, separate dashes; a thick mean with +/- SD (ddof 1).

    Points of an epoch are offset sideways, so that equal ones do not hide each other.

    Args:
        axes: axes to draw on.
        points: one arm's points of one split: seed, epoch, chosen and `value`.
        value: column to draw.
        colour: colour of the curve.
        slot: (number of this curve, how many share the epoch).
        dash: matplotlib's style of the mean's line.
    """
    import seaborn

    seeds = sorted(points["seed"].unique(), key=int)
    shift = places(seeds, slot)
    placed = points.assign(place=points["epoch"] + points["seed"].map(shift))
    of_seeds = {"x": "place", "y": value, "style": "seed", "style_order": seeds, "color": colour}
    dashes = {seed: DASHES[number % len(DASHES)] for number, seed in enumerate(seeds)}
    seaborn.lineplot(placed, dashes=dashes, linewidth=0.8, alpha=0.6, estimator=None, legend=False, ax=axes, **of_seeds)
    # The numbers have a white background, so that no line strikes them out.
    axes.scatter(placed["place"], placed[value], s=34, color="white", zorder=2.5)
    numbers = {seed: f"${seed}$" for seed in seeds}
    seaborn.scatterplot(placed, markers=numbers, s=30, linewidth=0, zorder=3, legend=False, ax=axes, **of_seeds)
    chosen = placed[placed["chosen"]]
    axes.scatter(chosen["place"], chosen[value], edgecolors=colour, **RING)
    if "mean" not in shift:
        return
    means = summary(points, value, [])
    axes.errorbar(
        means["epoch"] + shift["mean"],
        means["mean"],
        yerr=means["sd_ddof1"],
        color=colour,
        linewidth=2.2,
        linestyle=dash,
        marker="_",
        elinewidth=1.4,
        capsize=3,
        zorder=4,
    )


def finish_axes(axes, points, ylabel, limits=None):
    """Label the axes: epochs below, updates above the first, the axis' limits, no vertical grid."""
    from matplotlib.ticker import MaxNLocator

    epochs = points["epoch"]
    for number, each in enumerate(axes):
        each.set(xlim=(epochs.min() - 0.5, epochs.max() + 0.5), xlabel=None, ylabel=ylabel)
        if limits:
            each.set_ylim(limits)
        each.xaxis.set_major_locator(MaxNLocator(nbins=10, integer=True, min_n_ticks=1))
        each.grid(axis="x", visible=False)
        if number == 0:
            add_updates(each, points)
    axes[-1].set_xlabel("epoch")


def add_updates(axes, points):
    """Add the updates as a second axis above, where every epoch has the same number of them."""
    an_epoch = (points["update"] / points["epoch"]).unique()
    if len(an_epoch) != 1:
        return
    above = axes.secondary_xaxis("top", functions=(lambda e: e * an_epoch[0], lambda u: u / an_epoch[0]))
    low, high = axes.get_xlim()
    above.set_xticks([round(tick * an_epoch[0]) for tick in axes.get_xticks() if low <= tick <= high])
    above.tick_params(length=3)
    above.set_xlabel("update")


def legend_handles(points, majority=True):
    """Return the legend's entries for the marks of `draw_curve`, in grey.

    Args:
        points: drawn points: with one seed there is no mean.
        majority: True where the share of the largest class is drawn.
    """
    from matplotlib.lines import Line2D

    seeds = sorted(points["seed"].unique(), key=int)
    entries = [
        Line2D([], [], color=FAINT, marker=f"${seeds[0]}$", markersize=6, linewidth=0.8, label="a seed, by number")
    ]
    if len(seeds) > 1:
        entries.append(Line2D([], [], color=INK, linewidth=2.2, marker="|", markersize=9, label="mean ± SD (ddof 1)"))
    ring = {"marker": "o", "markersize": 9, "markerfacecolor": "none", "markeredgecolor": FAINT}
    entries.append(Line2D([], [], linestyle="", label="epoch chosen", **ring))
    if majority:
        entries.append(Line2D([], [], color=FAINT, linestyle=":", linewidth=1, label="majority class"))
    return entries
