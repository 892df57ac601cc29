"""What published/README.md says of the questions that a study asked: a line each, from questions.tsv alone."""

import os

import measures
from analysis.verdicts import p_text, points
from common.arms import arm_label, percent
from common.files import read_tsv
from report.asked import SHORT
from study.baselines import model_label


def in_unit(row, text, signed=True):
    """Return a value of a row as printed, without its unit: points of a share, three decimals of anything else."""
    value = float(text)
    if row["unit"] == "share":
        return points(value, sign=signed)
    return f"{value:{'+' if signed else ''}.3f}".replace("-", "\N{MINUS SIGN}")


def contrast(row):
    """Return a row's contrast with the arms' names for readers; two pairs have brackets."""
    terms = row["contrast"].split(" ")
    names = [arm_label(model_label(name)).replace(",", "") for name in terms[::2]]
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
    later = f" Asked afterwards, when {row['n_runs_then']} runs were finished." if row["n_runs_then"] != "0" else ""
    return f"- **{row['ask']}** {SHORT[row['answer']][0]}: {said}.{later}"


def answers(folder):
    """Return the lines of a published study's questions, a blank one before them; none where it asked nothing."""
    path = os.path.join(folder, "questions.tsv")
    if not os.path.exists(path):
        return []
    return ["", "What the study asked:", "", *map(answer, read_tsv(path))]
