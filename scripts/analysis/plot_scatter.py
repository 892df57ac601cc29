"""Draw the numbers that each arm answers by the true ones, and say how near they are."""

import numpy as np

from analysis.looks import looks_of
from analysis.measured import read_answered
from analysis.scored import by_run
from common.arms import arm_label
from common.entry import run
from common.files import read_json
from study.figures import FAINT, mark_synthetic, save, set_style
from study.tables import write_table

ACROSS = 3


def draw(numbers, labels):
    """Return the figure: a panel for each arm, a dot for each text, the line on which answers are right.

    Args:
        numbers: {arm: (N,) answers, means over seeds}.
        labels: (N,) true numbers.
    """
    from matplotlib import pyplot

    set_style()
    across = min(ACROSS, len(numbers))
    down = -(-len(numbers) // across)
    figure, panels = pyplot.subplots(
        down, across, figsize=(0.6 + 2.6 * across, 0.5 + 2.5 * down), sharex=True, sharey=True, squeeze=False,
        layout="constrained",
    )  # fmt: skip
    every = np.concatenate([labels, *numbers.values()])
    pad = 0.04 * (every.max() - every.min() or 1)
    limits = every.min() - pad, every.max() + pad
    looks = looks_of(list(numbers), None)
    for axes, (arm, answers) in zip(panels.flat, numbers.items(), strict=False):
        axes.plot(limits, limits, color=FAINT, linewidth=1, linestyle=":")
        axes.plot(
            labels, answers, linestyle="", marker="o", markersize=3, alpha=0.5, markeredgewidth=0, color=looks[arm][0]
        )
        axes.set(xlim=limits, ylim=limits, title=arm_label(arm))
    for axes in panels.flat[len(numbers) :]:
        axes.set_visible(False)
    figure.supxlabel("label", fontsize=10)
    figure.supylabel("answer, mean over seeds", fontsize=10)
    return figure


def main(predictions, run_keys, manifest, svg, png, data, distances):
    """Write the figure, its table and the distances.

    Args:
        predictions: every run's predictions on test.
        run_keys: (arm, seed) of each of them.
        manifest: data/manifest.json.
        svg, png: figure to write.
        data, distances: TSV files to write: figures/scatter.tsv, errors/numbers.tsv.
    """
    runs, labels = {}, None
    for (arm, _), answered in read_answered(by_run(run_keys, predictions)).items():
        labels = answered.labels
        runs.setdefault(arm, []).append(answered.answers)
    numbers = {arm: np.mean(its, axis=0) for arm, its in runs.items()}
    points = [
        {"arm": arm, "id": i, "true_number": float(label), "mean_number": float(answer)}
        for arm, its in numbers.items()
        for i, (label, answer) in enumerate(zip(labels, its, strict=True))
    ]
    write_table(data, "scatter_data", points)
    rows = [
        {
            "arm": arm,
            "n_seeds": len(its),
            "n_test": len(labels),
            "bias": float(np.mean(np.stack(its) - labels)),
            "absolute_distance": float(np.abs(np.stack(its) - labels).mean()),
            "spread": float(np.stack(its).std(axis=1).mean()),
            "true_spread": float(np.std(labels)),
        }
        for arm, its in runs.items()
    ]
    write_table(distances, "errors_numbers", rows)
    figure = draw(numbers, labels)
    mark_synthetic(figure.axes[0], read_json(manifest))
    save(figure, svg, png, "Numbers answered on test by the true ones", data)


if __name__ == "__main__":
    run(main, snakemake)
