"""The lines of published/README.md on a study's questions, one each, from questions.tsv alone."""

import os

import measures
from analysis.verdicts import p_text, points
from common.arms import percent
from common.files import read_tsv
from report.asked import SHORT
from study.best_of import chosen_among
from study.closing import operand


def in_unit(row, text, signed=True):
    """Return a value of a row as printed, without its unit: points of a share, three decimals of anything else."""
    value = float(text)
    if row["unit"] == "share":
        return points(value, sign=signed)
    return f"{value:{'+' if signed else ''}.3f}".replace("-", "\N{MINUS SIGN}")


def operand_label(word):
    """Return a word of a contrast as the terminal has it, for a list: without an article or the comma of an arm."""
    label = operand(word)
    return label.removeprefix("the ") if chosen_among(word) else label.replace(",", "")


def contrast(row):
    """Return a row's contrast with the arms' names for readers; two pairs have brackets."""
    terms = row["contrast"].split(" ")
    names = [operand_label(name) for name in terms[::2]]
    if len(names) == 2:
        return f"{names[0]} \N{MINUS SIGN} {names[1]}"
    first, second = (f"({a} \N{MINUS SIGN} {b})" for a, b in (names[:2], names[2:]))
    return f"{first} \N{MINUS SIGN} {second}"


def answer(row):
    """Return a question's line: what was asked, the answer, the difference with its interval and p, and when."""
    measure = measures.load(row["measure"])
    unit = "points" if row["unit"] == "share" else row["unit"]
    over = f" on {measure.ON}" if hasattr(measure, "ON") else ""
    said = f"{contrast(row)} is {in_unit(row, row['score_difference'])} {unit} of {measure.LABEL}{over}"
    if hasattr(measure, "ON") or not measure.HIGHER_IS_BETTER:
        said += f", of which {'higher' if measure.HIGHER_IS_BETTER else 'lower'} is better"
    if row["score_difference_low"]:
        low, high = (in_unit(row, row[f"score_difference_{end}"]) for end in ("low", "high"))
        said += f" ({percent(row['level'], 0)} % interval {low} to {high})"
    if row["equal_within"]:
        said += f", asked to be within {in_unit(row, row['equal_within'], signed=False)}"
    if row["p_holm"]:
        said += f"; {p_text(float(row['p_holm']))} after Holm for {row['n_family']}"
    chosen = (
        f" Validation chose, for each seed by the other seeds, {row['validation_chose']}."
        if row["validation_chose"]
        else ""
    )
    return f"- **{row['ask']}** {SHORT[row['answer']][0]}: {said}.{chosen}"


def when(rows):
    """Return when a study's questions were asked: for all of them, or how many of them later than the first run."""
    later = [row for row in rows if row["n_runs_then"] != "0"]
    if not later:
        return "before any run was finished"
    counts = " or ".join(sorted({row["n_runs_then"] for row in later}, key=int))
    share = "" if len(later) == len(rows) else f"; {len(later)} of {len(rows)}"
    return f"afterwards{share}, when {counts} runs were finished: take the answers as hints"


def answers(folder):
    """Return the lines of a published study's questions, a blank one before them; none where it asked nothing."""
    path = os.path.join(folder, "questions.tsv")
    if not os.path.exists(path):
        return []
    rows = read_tsv(path)
    return ["", f"What the study asked, {when(rows)}:", "", *map(answer, rows)]


def brief(row):
    """Return a question's contrast, difference and interval, for a list of several with one answer."""
    said = f"{contrast(row)} {in_unit(row, row['score_difference'])}"
    if row["score_difference_low"]:
        said += f" ({' to '.join(in_unit(row, row[f'score_difference_{end}']) for end in ('low', 'high'))})"
    return said


def in_short(folder):
    """Return the answers about arms in lines of a list: what is shown, then what is equal and what is not settled.

    Questions about simple models, or by another measure than accuracy, are left to the report.

    Args:
        folder: folder of a study that asked questions.
    """
    every = read_tsv(os.path.join(folder, "questions.tsv"))
    rows = [row for row in every if row["measure"] == "accuracy" and "-" not in row["n_seeds_each"].split()]
    by_answer = {name: [row for row in rows if row["answer"] == name] for name in SHORT}
    sentences = {name: "; ".join(map(brief, found)) for name, found in by_answer.items() if found}
    later = ", asked after the runs were finished" if any(row["n_runs_then"] != "0" for row in every) else ""
    level, margins = (
        percent(every[0]["level"], 0),
        {in_unit(row, row["equal_within"], signed=False) for row in by_answer["equal"]},
    )
    lines = [
        f"{SHORT[name][0]}, points ({level} % interval): {sentences[name]}."
        for name in ("difference", "beyond")
        if name in sentences
    ]
    rest = [f"Equal within {' or '.join(sorted(margins))}: {sentences['equal']}."] if margins else []
    rest += [f"{SHORT[name][0]}: {sentences[name]}." for name in ("open", "one_seed") if name in sentences]
    rest.append(f"Corrected for {len(every)} [questions](docs/guides/questions.md#what-the-answers-mean){later}.")
    return [*lines, " ".join(rest)]
