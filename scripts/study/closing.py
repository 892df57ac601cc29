"""The terminal's closing lines of a study: the answers to its questions, a table of its arms, the page's path."""

import os
import textwrap

import measures
from common.arms import arm_label, percent
from common.files import read_tsv
from study.baselines import model_label
from study.best_of import BEST, SIMPLE, chosen_among
from study.products import product

# The short answer by that of questions.tsv.
SHORT = {
    "difference": "Difference shown",
    "beyond": "Difference beyond the margin shown",
    "equal": "Equal within the margin",
    "open": "Not settled",
    "one_seed": "Cannot be decided",
}
# Arms in the table; the page has the rest.
MOST = 12


def closing(results, width=80):
    """Return the lines for a finished study; none where it has no page.

    Args:
        results: the study's folder.
        width: columns.
    """
    page = os.path.join(results, "report.html")
    if not os.path.exists(page):
        return []
    lines = [""]
    questions, runs = (os.path.join(results, name) for name in ("questions.tsv", "runs.tsv"))
    leading = measures.leading((read_tsv(runs) if os.path.exists(runs) else [{}])[0])
    scores = os.path.join(results, product("test_accuracy").file({"measure": leading}))
    for row in read_tsv(questions) if os.path.exists(questions) else []:
        lines += textwrap.wrap(row["ask"], width - 1)
        lines += textwrap.wrap(answer(row), width - 1, initial_indent="  ", subsequent_indent="  ")
    if os.path.exists(scores):
        lines += ["", *table(read_tsv(scores), leading), ""]
    return [*lines, f"The report: {os.path.abspath(page)}"]


def is_uncorrected(row):
    """Return whether an open question's interval leaves out 0: it is of this question alone, and the answer of all."""
    low, high = row["score_difference_low"], row["score_difference_high"]
    asks_difference = row["answer"] == "open" and not row.get("equal_within")
    return asks_difference and bool(low) and not float(low) <= 0 <= float(high)


def answer(row):
    """Return a question's answer in a sentence.

    Args:
        row: of questions.tsv.
    """
    share = row["unit"] == "share"
    unit = "points" if share else row["unit"]

    def signed(text):
        return (f"{100 * float(text):+.2f}" if share else f"{float(text):+.3f}").replace("-", "−")

    said = f"{SHORT[row['answer']]}: {contrast(row['contrast'])} is {signed(row['score_difference'])} {unit} of "
    said = said.replace("  ", " ") + label(row["measure"])
    if row["score_difference_low"]:
        low, high = (signed(row[f"score_difference_{end}"]) for end in ("low", "high"))
        said += f" ({float(row['level']) * 100:.4g} % interval {low} to {high})"
        if is_uncorrected(row):
            said += ", which is not corrected for the other questions; the answer is"
    return f"{said}."


def label(measure):
    """Return a measure's name for readers; its file's name where Snakemake lacks the libraries of measures."""
    try:
        return measures.load(measure).LABEL
    except ImportError:
        return measure.replace("_", " ")


def operand(name):
    """Return an operand of the column `contrast` for readers: an arm, a simple model, or the best of several."""
    candidates = chosen_among(name)
    if not candidates:
        return arm_label(model_label(name))
    return "the best simple model" if candidates == [SIMPLE] else f"the {BEST}{', '.join(candidates)}"


def contrast(text):
    """Return a contrast with the arms' names for readers."""
    names = [operand(name) for name in text.split()[::2]]
    pairs = [f"{a} − {b}" for a, b in zip(names[::2], names[1::2], strict=False)]
    if len(pairs) == 2:
        # The signs of the second pair are turned.
        return f"({pairs[0]}) − ({pairs[1]})"
    return pairs[0]


def shown(measure):
    """Return (how values of a measure are printed, their unit after a comma).

    Args:
        measure: name of the measure; one whose libraries Snakemake lacks is printed as it is.
    """
    try:
        lead = measures.Lead({"measure": measure})
    except ImportError:
        return (percent, ", %") if measure == measures.DEFAULT else (str, "")
    return lead.text, ", %" if lead.percent else f", {lead.unit}" if lead.unit else ""


def table(rows, measure=measures.DEFAULT):
    """Return the lines of a table: each arm on test by the leading measure, mean and standard deviation over seeds."""
    show, unit = shown(measure)
    title = f"Test {label(measure)}{unit}"
    wide = max(len(arm_label(row["arm"])) for row in rows[:MOST])
    lines = [f"{title:<{wide + 2}}   mean     SD  seeds"]
    for row in rows[:MOST]:
        spread = show(row["sd_ddof1"]) or "-"
        lines.append(f"  {arm_label(row['arm']):<{wide}}{show(row['mean']):>7}{spread:>7}{row['n_seeds']:>7}")
    return [*lines, f"  and {len(rows) - MOST} more"] if len(rows) > MOST else lines
