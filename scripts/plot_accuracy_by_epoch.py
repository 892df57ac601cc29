"""Draw an arm's accuracy by epoch: every seed, their mean, the epochs that were chosen."""

from common.arms import arm_label, colour_of
from common.errors import StudyError
from common.figures import FAINT, majority_shares, mark_synthetic, padded_limits, save, set_style
from common.files import read_json, read_tsv, write_tsv
from common.rule import running

COLUMNS = ("framework", "init", "seed", "epoch", "update", "split", "accuracy", "chosen")
SPLITS = {"valid": ("validation", "-", "o"), "test": ("test", (0, (4, 2)), "D")}


def accuracy_points(history, runs, framework=None, init=None):
    """Return the accuracies by epoch on valid and test, of one arm or of all.

    Args:
        history: rows of history.tsv (strings).
        runs: rows of runs.tsv (strings).
        framework: of the arm; None for all arms.
        init: of the arm.

    Returns:
        list[dict]: `COLUMNS`; accuracy is a fraction, chosen is true at the epoch whose checkpoint was tested.

    Raises:
        StudyError: the arm has no validation accuracy.
    """
    best = {(run["framework"], run["init"], run["seed"]): int(run["best_epoch"]) for run in runs}
    points = []
    for row in history:
        if row["metric"] != "accuracy" or row["split"] not in SPLITS:
            continue
        if framework and (row["framework"], row["init"]) != (framework, init):
            continue
        epoch = int(row["epoch"])
        chosen = best.get((row["framework"], row["init"], row["seed"])) == epoch
        points.append(
            {key: row[key] for key in ("framework", "init", "seed", "split")}
            | {"epoch": epoch, "update": int(row["update"]), "accuracy": float(row["value"]), "chosen": chosen}
        )
    if not points:
        raise StudyError(f"history.tsv holds no accuracy by epoch for arm {framework}, {init}")
    return points


def over_seeds(points):
    """Return [(epoch, lowest, mean, highest seed)], only of epochs that every seed has, sorted.

    A mean over fewer seeds would jump where a run ends.
    """
    by_epoch = {}
    for point in points:
        by_epoch.setdefault(point["epoch"], {})[point["seed"]] = point["accuracy"]
    n_seeds = max(len(seeds) for seeds in by_epoch.values())
    return [
        (epoch, min(seeds.values()), sum(seeds.values()) / n_seeds, max(seeds.values()))
        for epoch, seeds in sorted(by_epoch.items())
        if len(seeds) == n_seeds
    ]


def draw(points, limits, majority, colour):
    """Return a figure of one arm: thin line per seed, band from lowest to highest seed, thick line for the mean.

    Args:
        points: the arm's `accuracy_points`.
        limits: (low, high) of the axis in percent, the same for every arm.
        majority: {split: share of the larger class}.
        colour: of the arm.
    """
    from matplotlib import pyplot
    from matplotlib.lines import Line2D
    from matplotlib.ticker import MaxNLocator

    set_style()
    figure, axes = pyplot.subplots(figsize=(4.6, 3.9), layout="constrained")
    handles = []
    for split, (name, style, marker) in SPLITS.items():
        of_split = [point for point in points if point["split"] == split]
        if not of_split:
            continue
        seeds = list(dict.fromkeys(point["seed"] for point in of_split))
        for seed in seeds:
            line = sorted((point["epoch"], 100 * point["accuracy"]) for point in of_split if point["seed"] == seed)
            # One epoch has no line: a dot shows it.
            axes.plot(
                *zip(*line, strict=True),
                color=colour,
                linewidth=0.9,
                alpha=0.5,
                linestyle=style,
                marker="." if len(line) < 2 else "",
            )
        chosen = [(point["epoch"], 100 * point["accuracy"]) for point in of_split if point["chosen"]]
        # Validation filled (it decided), test hollow (it only followed).
        face = colour if split == "valid" else "white"
        if chosen:
            axes.scatter(
                *zip(*chosen, strict=True),
                s=34,
                marker=marker,
                facecolor=face,
                edgecolor=colour,
                linewidth=1.2,
                zorder=4,
            )
        mean = over_seeds(of_split)
        if len(seeds) > 1 and len(mean) > 1:
            epochs, lows, means, highs = zip(*mean, strict=True)
            axes.fill_between(epochs, [100 * v for v in lows], [100 * v for v in highs], color=colour, alpha=0.09, lw=0)
            axes.plot(epochs, [100 * v for v in means], color=colour, linewidth=2.2, linestyle=style, zorder=3)
        handles.append(
            Line2D([], [], color=colour, linestyle=style, linewidth=2, marker=marker, markerfacecolor=face, label=name)
        )
    for share in sorted(set(majority.values())):
        axes.axhline(100 * share, color=FAINT, linewidth=1, linestyle=":", zorder=1)
    handles.append(Line2D([], [], color=FAINT, linestyle=":", linewidth=1, label="majority class"))
    epochs = {point["epoch"] for point in points}
    axes.set_xlim(min(epochs) - 0.3, max(epochs) + 0.3)
    axes.set_ylim(*limits)
    axes.xaxis.set_major_locator(MaxNLocator(nbins=10, integer=True, min_n_ticks=1))
    axes.grid(axis="x", visible=False)
    axes.set_xlabel("epoch")
    axes.set_ylabel("accuracy (%)")
    axes.set_title(arm_label(points[0]["framework"], points[0]["init"]))
    figure.legend(handles=handles, loc="outside lower center", ncols=len(handles), handlelength=2.6, columnspacing=1.4)
    return figure


def main(runs, history, manifest, svg, png, data, framework, init, colours):
    """Write an arm's figure as SVG and PNG, and its points as a table.

    Args:
        runs: runs.tsv, for the chosen epochs.
        history: history.tsv; every arm's values set the axis, so that figures can be laid side by side.
        manifest: data/manifest.json, for the majority class.
        svg: figure to write.
        png: figure to write.
        data: table of the drawn points to write.
        framework: of the arm.
        init: of the arm.
        colours: configured colours by arm, or None.

    Raises:
        StudyError: the arm has no accuracy in the history.
    """
    history, runs, manifest = read_tsv(history), read_tsv(runs), read_json(manifest)
    points = accuracy_points(history, runs, framework, init)
    everything = accuracy_points(history, runs)
    majority = majority_shares(manifest, {point["split"] for point in everything})
    limits = padded_limits([100 * point["accuracy"] for point in everything] + [100 * v for v in majority.values()], 5)
    figure = draw(points, limits, majority, colour_of(framework, init, colours))
    mark_synthetic(figure.axes[0], manifest)
    save(figure, svg, png, f"Accuracy by epoch, {arm_label(framework, init)}")
    write_tsv(data, points, COLUMNS)


if __name__ == "__main__":
    with running(snakemake):  # noqa: F821
        main(
            snakemake.input.runs,  # noqa: F821
            snakemake.input.history,  # noqa: F821
            snakemake.input.manifest,  # noqa: F821
            snakemake.output.svg,  # noqa: F821
            snakemake.output.png,  # noqa: F821
            snakemake.output.data,  # noqa: F821
            snakemake.wildcards.framework,  # noqa: F821
            snakemake.wildcards.init,  # noqa: F821
            snakemake.params.colours,  # noqa: F821
        )
