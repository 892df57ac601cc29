"""Test accuracy by arm: mean and spread over seeds, as TSV, Markdown and LaTeX."""

from common.arms import arm_label, arms_of, percent, summarise
from common.errors import StudyError
from common.files import read_tsv, write_text, write_tsv
from common.rule import running

COLUMNS = ("framework", "init", "n_seeds", "mean", "sd_ddof1", "sd_ddof0", "min", "max")


def summarise_arms(runs):
    """Return one row per arm, in the order of first appearance in runs.tsv.

    Args:
        runs: rows of runs.tsv (strings).

    Returns:
        list[dict]: `COLUMNS`; accuracies are fractions, sd_ddof1 is None with one seed.

    Raises:
        StudyError: no runs, or a seed twice in an arm.
    """
    if not runs:
        raise StudyError("runs.tsv holds no runs: run the study first")
    rows = []
    for framework, init in arms_of(runs):
        of_arm = [run for run in runs if (run["framework"], run["init"]) == (framework, init)]
        seeds = [run["seed"] for run in of_arm]
        if len(set(seeds)) < len(seeds):
            raise StudyError(f"runs.tsv: arm {framework}, {init} has a seed twice ({', '.join(seeds)})")
        rows.append({"framework": framework, "init": init} | summarise([float(run["test_accuracy"]) for run in of_arm]))
    return rows


def mean_sd(mean, sd):
    """Return percentages as the course's reports print them: `79.5 ± 0.71`.

    The mean has two decimals without trailing zeros (at least one stays), the standard deviation two.
    """
    if sd is None:
        return f"{round(100 * mean, 2)}"
    return f"{round(100 * mean, 2)} ± {percent(sd)}"


def _cells(row):
    """Return a row's cells for readers: arm, n, mean ± sd (ddof 1), mean ± sd (ddof 0), min, max."""
    return (
        arm_label(row["framework"], row["init"]),
        str(row["n_seeds"]),
        mean_sd(row["mean"], row["sd_ddof1"]) if row["n_seeds"] > 1 else "one seed: no spread",
        mean_sd(row["mean"], row["sd_ddof0"]) if row["n_seeds"] > 1 else mean_sd(row["mean"], None),
        percent(row["min"]),
        percent(row["max"]),
    )


HEADER = ("Arm", "Seeds (n)", "Mean ± SD (ddof 1)", "Mean ± SD (ddof 0)", "Min", "Max")
NOTE = (
    "Test accuracy in percent. SD is the standard deviation over the n seeds of an arm: "
    "ddof 1 divides by n - 1 (the spread to expect of further seeds), ddof 0 by n (as the published reports print it)."
)
SYNTHETIC = "Synthetic data, written by a program: no measurement of real reviews."


def note_of(runs):
    """Return the table's note, which says so when the data are synthetic."""
    return f"{SYNTHETIC} {NOTE}" if any(run["synthetic"] == "true" for run in runs) else NOTE


def as_markdown(rows, note=NOTE):
    """Return the table as Markdown, with its note."""
    lines = ["| " + " | ".join(HEADER) + " |", "|" + "|".join([" :-- "] + [" --: "] * (len(HEADER) - 1)) + "|"]
    lines += ["| " + " | ".join(_cells(row)) + " |" for row in rows]
    return "\n".join([*lines, "", note, ""])


def as_latex(rows, note=NOTE):
    r"""Return the table as LaTeX (package booktabs), with its note; `\input` it into a paper."""
    lines = [
        "% needs \\usepackage{booktabs}",
        "\\begin{tabular}{l" + "r" * (len(HEADER) - 1) + "}",
        "\\toprule",
        " & ".join(HEADER).replace("±", "$\\pm$") + " \\\\",
        "\\midrule",
        *(" & ".join(_cells(row)).replace("±", "$\\pm$").replace("_", "\\_") + " \\\\" for row in rows),
        "\\bottomrule",
        f"\\multicolumn{{{len(HEADER)}}}{{p{{0.9\\linewidth}}}}{{\\footnotesize {note}}} \\\\",
        "\\end{tabular}",
    ]
    return "\n".join([*lines, ""])


def main(runs, tsv, markdown, latex):
    """Write the table of test accuracy by arm in three forms, from runs.tsv only.

    Raises:
        StudyError: no runs, or a seed twice in an arm.
    """
    runs = read_tsv(runs)
    rows = summarise_arms(runs)
    write_tsv(tsv, rows, COLUMNS)
    write_text(markdown, as_markdown(rows, note_of(runs)))
    write_text(latex, as_latex(rows, note_of(runs)))
    print(as_markdown(rows))


if __name__ == "__main__":
    with running(snakemake):  # noqa: F821
        main(
            snakemake.input.runs,  # noqa: F821
            snakemake.output.tsv,  # noqa: F821
            snakemake.output.markdown,  # noqa: F821
            snakemake.output.latex,  # noqa: F821
        )
