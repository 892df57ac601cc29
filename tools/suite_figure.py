"""Draw a suite for README and other pages: each question's difference on every set, and their mean."""

from analysis.verdicts import points
from report.asked import SHORT
from study.figures import FAINT, INK, save, set_style
from tools.published_answers import contrast

# Colours that colour-blind readers can distinguish: sets, their mean.
SET, MEAN = "#0072B2", "#D55E00"


def draw(questions, sets):
    """Return the figure: a panel a question, a row a set, dots with their intervals, the mean below.

    Args:
        questions, sets: rows of the suite's questions.tsv and sets.tsv; differences are shares, drawn in points.
    """
    from matplotlib import pyplot

    set_style()
    height = 0.9 + 0.34 * (1 + max(int(row["n_sets"]) for row in questions))
    figure, grid = pyplot.subplots(
        1, len(questions), figsize=(3.4 * len(questions) + 1.0, height), layout="constrained", squeeze=False
    )
    for axes, question in zip(grid[0], questions, strict=True):
        on_sets = [row for row in sets if row["question"] == question["question"]]
        marks = [(row["study"], *ends(row, "score_difference_"), SET, "o") for row in on_sets]
        marks.append(("mean", *ends(question, ""), MEAN, "D"))
        for place, (_, value, low, high, colour, shape) in enumerate(reversed(marks)):
            if low is not None:
                axes.plot([low, high], [place, place], color=colour, linewidth=2)
            axes.plot([value], [place], shape, color=colour, markersize=6)
        axes.axvline(0, color=INK, linewidth=0.8)
        if question["equal_within"]:
            for sign in (-100, 100):
                axes.axvline(sign * float(question["equal_within"]), color=FAINT, linewidth=0.8, linestyle=":")
        first = axes is grid[0][0]
        axes.set_yticks(range(len(marks)), [name for name, *_ in reversed(marks)] if first else [""] * len(marks))
        axes.set_ylim(-0.6, len(marks) - 0.4)
        axes.grid(axis="y", visible=False)
        axes.set_title(f"{question['ask']}\n{verdict(question)}", fontsize=9.5)
        axes.set_xlabel(f"{contrast(question)}, points", fontsize=8.5)
    return figure


def ends(row, prefix):
    """Return a row's difference and the ends of its interval in points; None for ends that it lacks."""
    low, high = (100 * float(row[f"{prefix}{end}"]) if row[f"{prefix}{end}"] else None for end in ("low", "high"))
    return 100 * float(row["score_difference"]), low, high


def verdict(row):
    """Return a question's answer and mean difference in a few words."""
    return f"{SHORT[row['answer']][0]}: {points(float(row['score_difference']))}"


def main(questions, sets, tables, svg, png):
    """Write the figure as SVG and PNG.

    Args:
        questions, sets: as of `draw`.
        tables: the files that they are from.
        svg, png: files to write.
    """
    save(draw(questions, sets), svg, png, "Differences on each data set, and their mean", *tables)
