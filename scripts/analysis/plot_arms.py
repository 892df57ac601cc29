"""Draw all arms side by side: every seed's test score, the mean and its interval."""

import pandas

from analysis.intervals import LEVEL, t_interval
from analysis.looks import limits_of, looks_of
from common.arms import ARM, arm_label, scores_by_arm, summarise
from common.entry import run
from common.files import read_json
from common.frames import read_frame
from measures import Lead
from study.figures import FAINT, INK, majority_shares, mark_synthetic, save, set_style
from study.tables import frame_rows, write_table


def intervals(runs, majority):
    """Return one row per arm: mean on test and Student's interval over seeds.

    Args:
        runs: frame of runs.tsv (text).
        majority: share of the largest class on test.

    Returns:
        pandas.DataFrame: the columns of `ARM`, n_seeds, mean, level, t_low, t_high, majority_share; fractions. The
        interval is missing with one seed.

    Raises:
        StudyError: no runs.
    """
    rows = []
    lead = Lead(runs.iloc[0]) if len(runs) else Lead()
    for arm, values in scores_by_arm(runs, lead.test):
        facts = summarise(values)
        low, high = t_interval(values, LEVEL, lead.bounds) or (None, None)
        rows.append(
            dict(zip(ARM, arm, strict=True))
            | {"n_seeds": facts["n_seeds"], "mean": facts["mean"], "level": LEVEL}
            | {"t_low": low, "t_high": high, "majority_share": majority if lead.exact else None}
        )
    return pandas.DataFrame(rows).astype({"t_low": float, "t_high": float})


def draw(runs, rows, colours):
    """Return the figure: one line of the page per arm, dots for seeds, a bar for the mean, a whisker for the interval.

    Args:
        runs: frame of runs.tsv (text).
        rows: `intervals`.
        colours: configured colours by arm, or None.
    """
    import seaborn
    from matplotlib import pyplot
    from matplotlib.markers import MarkerStyle

    set_style()
    lead = Lead(runs.iloc[0])
    figure, axes = pyplot.subplots(figsize=(5.4, 1.4 + 0.8 * len(rows)), layout="constrained")
    percents = rows.assign(
        **{name: lead.scale * rows[name].astype(float) for name in ("mean", "t_low", "t_high", "majority_share")}
    )
    looks = looks_of(list(rows["arm"]), colours)
    # Arms are also distinguishable without colour, by the seeds' marks and the interval's line.
    palette, marks, styles = zip(*looks.values(), strict=True)
    palette = list(palette)
    seeds = pandas.DataFrame(
        {"percent": lead.scale * runs[lead.test].map(float), "place": runs.groupby(ARM, sort=False).ngroup()}
    )
    shown = pandas.concat([seeds["percent"], *(percents[name] for name in ("t_low", "t_high"))])
    limits = limits_of([*shown.dropna(), *percents["majority_share"][:1].dropna()], lead)
    # This comes before the dots, whose sideways places depend on the axes' scale.
    axes.set(xlim=limits, ylim=(len(rows) - 0.5, -0.6), yticks=[])
    dots = {"size": 6.2, "alpha": 0.85, "edgecolor": "white", "linewidth": 0.7, "zorder": 3}
    seaborn.swarmplot(
        seeds, x="percent", y="place", hue="place", palette=palette, orient="y", native_scale=True, legend=False,
        ax=axes, **dots,
    )  # fmt: skip
    for of_arm, name in zip(axes.collections, marks, strict=True):
        mark = MarkerStyle(name)
        of_arm.set_paths([mark.get_path().transformed(mark.get_transform())])
    below = percents.index + 0.3
    whiskers = {"colors": palette, "linewidth": 2.2, "linestyles": list(styles), "zorder": 2}
    axes.hlines(below, percents["t_low"], percents["t_high"], **whiskers)
    several = percents["n_seeds"] > 1
    axes.plot(percents["mean"][several], below[several], "|", color=INK, markersize=13, markeredgewidth=2.4)
    if lead.exact:
        axes.axvline(percents["majority_share"][0], color=FAINT, linewidth=1, linestyle=":", zorder=1)
    for place, name in enumerate(looks):
        # Names are above their dots, not beside the axis, so that the figure is narrow enough for a phone.
        axes.annotate(
            arm_label(name), (limits[0], place - 0.38), xytext=(5, 0), textcoords="offset points", va="center",
            fontweight="bold", bbox={"facecolor": "white", "edgecolor": "none", "pad": 1.5}, zorder=5,
        )  # fmt: skip
    axes.grid(axis="y", visible=False)
    axes.set(xlabel=f"test {lead.axis}", ylabel=None)
    figure.legend(handles=legend(several.any(), lead.exact), loc="outside lower center", ncols=2, columnspacing=2)
    return figure


def legend(several, majority=True):
    """Return the legend's handles; mean and interval only where an arm has several seeds."""
    from matplotlib.lines import Line2D

    handles = [Line2D([], [], color=FAINT, marker="o", linestyle="", label="one seed")]
    if several:
        mean = {"color": INK, "marker": "|", "markersize": 11, "markeredgewidth": 2.2, "linestyle": ""}
        handles.append(Line2D([], [], label="mean of seeds", **mean))
        handles.append(Line2D([], [], color=FAINT, linewidth=2.2, label=f"{100 * LEVEL:.0f} % t-interval of the mean"))
    if majority:
        handles.append(Line2D([], [], color=FAINT, linestyle=":", linewidth=1, label="majority class"))
    return handles


def main(runs, manifest, svg, png, data, colours):
    """Write the figure as SVG and PNG, and the means and intervals as a table.

    Args:
        runs: runs.tsv.
        manifest: data/manifest.json, for the majority class of test.
        svg: figure to write.
        png: figure to write.
        data: table to write.
        colours: configured colours by arm, or None.

    Raises:
        StudyError: no runs.
    """
    frame, manifest = read_frame(runs), read_json(manifest)
    rows = intervals(frame, majority_shares(manifest, ["test"])["test"])
    figure = draw(frame, rows, colours)
    mark_synthetic(figure.axes[0], manifest)
    write_table(data, "arms_data", frame_rows(rows))
    save(figure, svg, png, f"Test {Lead(frame.iloc[0]).label} of every arm", data)


if __name__ == "__main__":
    run(main, snakemake)
