"""The figures of `measure_errors`: confusion, agreement, calibration, accuracy by length."""

import numpy as np

from analysis.looks import looks_of
from common.arms import arm_label
from data.reviews import noun_of
from data.words import unit_of
from study.figures import FAINT, INK, mark_synthetic, save, set_style

# These names of classes are used where the data give none.
POLARITY = {"0": "negative", "1": "positive"}
# Each figure shows these tables.
DRAWN = {
    "confusion": ("confusion",),
    "agreement": ("agreement", "counts"),
    "calibration": ("calibration",),
    "by_length": ("by_length",),
}
# With more classes than this a heat map's cells have no room for numbers, or its axes none for names.
NUMBERED, NAMED = 8, 24
# Then a number marks every tenth class, the first being 0.
EVERY = 10


def draw(tables, manifest, colours, svgs, pngs, files):
    """Write the four figures.

    Args:
        tables: {name: frame} of `measure_errors`, numbers as numbers.
        manifest: content of data/manifest.json.
        colours: configured colours by arm, or None.
        svgs, pngs: paths to write, in the order of `figures`.
        files: {name: path} of the tables as written.
    """
    for (name, figure, title), svg, png in zip(figures(tables, manifest, colours), svgs, pngs, strict=True):
        # A panel's name fills the width of a confusion.
        if name != "confusion":
            mark_synthetic(figure.axes[0], manifest)
        elif manifest["synthetic"]:
            figure.suptitle("synthetic data", x=1, ha="right", fontsize=9, color=FAINT)
        save(figure, svg, png, title, *(files[table] for table in DRAWN[name]))


def figures(tables, manifest, colours):
    """Return [(name, figure, title)]; arguments as in `draw`."""
    set_style()
    noun, unit = noun_of(manifest), unit_of(manifest)
    classes = list(dict.fromkeys(map(str, tables["confusion"]["label"])))
    names = dict(zip(classes, manifest.get("labels") or [POLARITY.get(k, k) for k in classes], strict=True))
    arms = list(dict.fromkeys(tables["calibration"]["arm"]))
    looks = {arm: (arm_label(arm), colour) for arm, (colour, *_) in looks_of(arms, colours).items()}
    return [
        ("confusion", confusions(tables["confusion"], looks, names, noun), "Confusion of each arm"),
        ("agreement", agreements(tables["agreement"], tables["counts"], noun), "Agreement of runs"),
        ("calibration", reliability(tables["calibration"], looks), "Calibration of each arm"),
        ("by_length", lengths(tables["by_length"], looks, noun, unit), f"Accuracy by length of {noun['one']}"),
    ]


def rows_of_arm(table, arm):
    """Return an arm's rows."""
    return table[table["arm"] == arm]


def panels(n, width=3.4, height=2.9, columns=3, **options):
    """Return a figure and so many panels, in rows of three at most."""
    from matplotlib import pyplot

    across = min(n, columns)
    down = -(-n // across)
    figure, axes = pyplot.subplots(
        down,
        across,
        figsize=(width * across + 0.4, height * down + 0.4),
        squeeze=False,
        layout="constrained",
        **options,
    )
    for spare in axes.flat[n:]:
        spare.set_visible(False)
    return figure, list(axes.flat[:n])


def confusions(table, looks, names, noun):
    """Return the mean share of each class that gets each answer, over seeds, a panel for each arm."""
    many, named = len(names) > 2, len(names) <= NAMED
    room = 0.3 * max(0, (len(names) if named else NUMBERED) - 4)
    # Two panels fit in a row, so that a phone shows their numbers; one, where the page would shrink the names of many.
    columns = 1 if named and len(names) > NUMBERED else 2
    figure, axes = panels(len(looks), width=(3.4 if many else 2.6) + room, height=2.7 + room, columns=columns)
    for panel, (arm, (label, _)) in zip(axes, looks.items(), strict=True):
        # A cell without a row has no reviews.
        rows = rows_of_arm(table, arm)
        sums = (
            rows.assign(share=rows["share"].astype(float)).groupby(["label", "prediction"], sort=False)["share"].sum()
        )
        shares = sums.unstack().reindex(index=list(names), columns=list(names)).fillna(0) / rows["seed"].nunique()
        shares = shares.to_numpy(dtype=float)
        panel.imshow(shares, cmap="Blues", vmin=0, vmax=1, aspect="auto")
        for (i, j), share in np.ndenumerate(shares) if len(names) <= NUMBERED else ():
            ink = "white" if share > 0.55 else INK
            panel.text(j, i, f"{100 * share:.1f}", ha="center", va="center", color=ink, fontsize=9 if many else 11)
        ticks = range(0, len(names), 1 if named else EVERY)
        shown = [cut(name) for name in names.values()] if named else [str(tick) for tick in ticks]
        panel.set(xticks=ticks, yticks=ticks, xlabel="answer" if named else "answer (number of a class)", title=label)
        panel.set_xticklabels(shown, rotation=90 if many and named else 0)
        panel.set_yticklabels(shown, rotation=0 if many else 90, va="center")
        panel.grid(visible=False)
    axes[0].set_ylabel(f"label (per cent of its {noun['many']})")
    return figure


def cut(name, longest=18):
    """Return a class's name with a limited number of characters; a dollar sign is escaped, so it begins no formula."""
    return (name if len(name) <= longest else f"{name[: longest - 1]}…").replace("$", r"\$")


def agreements(table, counts, noun):
    """Return the histogram of runs that get a text right, and a heat map of every two runs."""
    from matplotlib import pyplot

    runs = list(dict.fromkeys(table[["arm_a", "seed_a"]].itertuples(index=False, name=None)))
    shares = table["share"].to_numpy(dtype=float).reshape(len(runs), len(runs))
    figure, (first, second) = pyplot.subplots(2, figsize=(5.4, 8.2), layout="constrained")
    first.bar(counts["n_right"], counts["n_reviews"], color="#0072B2", width=0.85)
    one, many = noun["one"], noun["many"]
    first.set(xlabel=f"runs that get the {one} right (of {len(runs)})", ylabel=many, title=f"Runs per {one}")
    first.grid(axis="x", visible=False)
    drawn = second.imshow(100 * shares, cmap="viridis", vmax=100)
    labels = [f"{arm_label(arm)} {seed}" for arm, seed in runs]
    small = 8 if len(runs) <= 12 else 5
    second.set(xticks=range(len(runs)), yticks=range(len(runs)), title="Same answer (%)")
    second.set_xticklabels(labels, rotation=90, fontsize=small)
    second.set_yticklabels(labels, fontsize=small)
    second.grid(visible=False)
    figure.colorbar(drawn, ax=second, shrink=0.8)
    return figure


def reliability(table, looks):
    """Return accuracy against probability, a line for each arm; the size of a dot is the number of answers."""
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(5.4, 4.4), layout="constrained")
    low = 100 * float(table["bin_low"].min())
    axes.plot([low, 100], [low, 100], color=FAINT, linestyle=":", linewidth=1.2, label="calibrated")
    for arm, (label, colour) in looks.items():
        rows = rows_of_arm(table, arm)
        rows = rows[rows["n_answers"] > 0]
        across, down = (100 * rows[name].to_numpy(dtype=float) for name in ("confidence", "accuracy"))
        axes.plot(across, down, color=colour, linewidth=1.6, label=label)
        sizes = rows["n_answers"].to_numpy(dtype=float)
        axes.scatter(across, down, s=12 + 100 * sizes / sizes.max(), color=colour, alpha=0.6, linewidth=0)
    axes.set(xlabel="probability of the answer (%)", ylabel="answers that are right (%)")
    axes.legend(loc="best")
    return figure


def lengths(table, looks, noun, unit="words"):
    """Return accuracy by bins of words or characters, a line for each arm with its lowest and highest seed."""
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(5.4, 3.8), layout="constrained")
    for place, (arm, (label, colour)) in enumerate(looks.items()):
        rows = rows_of_arm(table, arm)
        across = rows["bin"].to_numpy(dtype=float) + 0.06 * (place - (len(looks) - 1) / 2)
        mean, least, most = (100 * rows[name].to_numpy(dtype=float) for name in ("mean", "min", "max"))
        # No error bar may be negative, although rounding can leave that.
        reach = [(mean - least).clip(0), (most - mean).clip(0)]
        axes.errorbar(across, mean, reach, color=colour, marker="o", capsize=2.5, label=label)
    rows = rows_of_arm(table, next(iter(looks)))
    names = [
        f"{low}–{high}" if low != high else f"{low}"
        for low, high in zip(rows["bin_low"], rows["bin_high"], strict=True)
    ]
    axes.set(xlabel=f"{unit} in the {noun['one']}", ylabel="test accuracy (%)", xticks=rows["bin"].tolist())
    axes.set_xticklabels(names)
    axes.legend(loc="best")
    return figure
