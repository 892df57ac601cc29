"""Draw the loss of the LoRA runs by update: pairs trained on and pairs kept out."""

from analysis.looks import PALETTE
from common.entry import run
from common.errors import StudyError
from common.files import read_json
from common.frames import read_frame
from study.figures import mark_synthetic, save, set_style

# A smoothed training point averages this many updates: one update has only 4 pairs, and pairs differ.
WINDOW = 9


def curves(loss):
    """Return qa/loss.tsv as a frame of numbers.

    Args:
        loss: path of qa/loss.tsv.

    Raises:
        StudyError: no rows.
    """
    frame = read_frame(loss)
    if frame.empty:
        raise StudyError("qa/loss.tsv has no rows: train the runs again")
    return frame.astype({"update": int, "loss": float, "objective": float})


def smooth(values, window=WINDOW):
    """Return centred moving means of a series; at the ends over the points that there are."""
    return values.rolling(window, center=True, min_periods=1).mean()


# Panels: the loss's column, its name in words, its unit.
PANELS = (
    ("objective", "loss that is optimised", "nats per learnt token"),
    ("loss", "loss on answers", "nats per answer token"),
)


def draw(frame):
    """Return the figure: the loss that training minimises above the loss on the answers alone, on one scale.

    Args:
        frame: from `curves`.
    """
    from matplotlib import pyplot

    set_style()
    figure, panels = pyplot.subplots(2, figsize=(5.4, 6.6), layout="constrained", sharex=True, sharey=True)
    n_seeds = frame["seed"].nunique()
    for axes, (column, title, unit) in zip(panels, PANELS, strict=True):
        draw_panel(axes, frame, column)
        axes.set_title(title)
        axes.set_xlabel("update")
        axes.set_ylabel(unit)
        # A shared axis hides them.
        axes.yaxis.set_tick_params(labelleft=True)
        axes.yaxis.label.set_visible(True)
    panels[0].set_xlim(left=0)
    legend = f"mean of {n_seeds} seeds; band: lowest to highest" if n_seeds > 1 else None
    panels[1].legend(title=legend, title_fontsize=9)
    return figure


def draw_panel(axes, frame, column):
    """Draw one loss by update, pairs trained on and pairs kept out, a colour an arm."""
    import seaborn

    arms = list(frame["arm"].unique())
    for number, arm in enumerate(arms):
        style = {"x": "update", "y": column, "color": PALETTE[number % len(PALETTE)], "ax": axes}
        name = f"{arm}, " if len(arms) > 1 else ""
        of_arm = frame[frame["arm"] == arm]
        train = of_arm[of_arm["split"] == "train"].groupby("update", as_index=False)[column].mean()
        heldout = of_arm[of_arm["split"] == "heldout"]
        if len(train):
            seaborn.lineplot(train, errorbar=None, alpha=0.25, linewidth=0.8, **style)
            train[column] = smooth(train[column])
            label = f"{name}trained on (smoothed)"
            seaborn.lineplot(train, errorbar=None, alpha=0.75, linewidth=1.4, label=label, legend=False, **style)
        if len(heldout):
            # The interval of 100 % of the points: from the lowest seed to the highest.
            style |= {"errorbar": ("pi", 100), "err_kws": {"alpha": 0.15, "linewidth": 0}}
            style |= {"marker": "o", "markersize": 4, "markeredgecolor": style["color"], "markeredgewidth": 1}
            seaborn.lineplot(heldout, linewidth=2, linestyle="--", label=f"{name}held out", legend=False, **style)


def draw_table(path):
    """Return the figure of qa/loss.tsv."""
    return draw(curves(path))


def main(loss, manifest, svg, png):
    """Write the figure as SVG and PNG.

    Args:
        loss: qa/loss.tsv.
        manifest: qa/data/manifest.json.
        svg: figure to write.
        png: figure to write.

    Raises:
        StudyError: no runs.
    """
    figure = draw_table(loss)
    mark_synthetic(figure.axes[1], read_json(manifest))
    save(figure, svg, png, "Losses of the LoRA runs by update: the one that is optimised, and that on answers", loss)


if __name__ == "__main__":
    run(main, snakemake)
