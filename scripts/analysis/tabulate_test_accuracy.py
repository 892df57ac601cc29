"""The leading measure on test by arm: mean and spread over seeds, as TSV, Markdown and LaTeX."""

import pandas

import frameworks
from common.arms import KNOWN, SUMMARY, arm_label, percent, scores_by_arm
from common.entry import run
from common.errors import StudyError
from common.files import write_text
from common.frames import read_frame
from measures import Lead
from study.tables import frame_rows, write_table

NOTE = (
    "Test {label}{unit}. SD is the standard deviation over the n seeds of an arm: "
    "ddof 1 divides by n - 1 (the spread to expect of further seeds), ddof 0 by n (as the published reports print it)."
)
# The tables for readers list up to this many seeds; with more, only runs.tsv has them.
SHOWN_SEEDS = 10
MORE = f"An arm has more than {SHOWN_SEEDS} seeds: each one's figure is in runs.tsv."
SYNTHETIC = "Synthetic data, written by a program: no measurement of real reviews."


def summarise_arms(runs):
    """Return one row per arm, in the order of first appearance in runs.tsv.

    Args:
        runs: frame of runs.tsv (text).

    Returns:
        pandas.DataFrame: the columns that name an arm and the keys of `SUMMARY`; shares are fractions, sd_ddof1
        is missing with one seed.

    Raises:
        StudyError: no runs, or a seed twice in an arm.
    """
    scores = scores_by_arm(runs, Lead(runs.iloc[0]).test) if len(runs) else scores_by_arm(runs)
    for arm, seeds in runs.groupby("arm", sort=False)["seed"]:
        if not seeds.is_unique:
            raise StudyError(f"runs.tsv: arm {arm} has a seed twice ({', '.join(seeds)})")
    return scores.agg(**SUMMARY).reset_index()


def mean_sd(mean, sd=None, show=percent):
    """Return percentages as the course's reports print them: `79.50 ± 0.71`, both with two decimals."""
    return show(mean) + ("" if sd is None else f" ± {show(sd)}")


def shown_seeds(runs):
    """Return the seeds that the tables for readers list, in order: all, or none where they are many."""
    seeds = sorted(set(runs["seed"]), key=int)
    return seeds if len(seeds) <= SHOWN_SEEDS else []


def readable(rows, runs):
    """Return the table for readers as a frame of text, one row per arm.

    Args:
        rows: of `summarise_arms`.
        runs: frame of runs.tsv (text).
    """
    lead = Lead(runs.iloc[0])
    by_seed, show = runs.set_index(["arm", "seed"])[lead.test], lead.text
    cells = []
    for row in rows.itertuples():
        several = row.n_seeds > 1
        found = {f"Seed {s}": show(by_seed.get((row.arm, s))) for s in shown_seeds(runs)}
        cells.append(
            {
                "Arm": arm_label(row.arm),
                "Seeds (n)": str(row.n_seeds),
                "Mean ± SD (ddof 1)": mean_sd(row.mean, row.sd_ddof1, show) if several else "one seed: no spread",
                "Mean ± SD (ddof 0)": mean_sd(row.mean, row.sd_ddof0 if several else None, show),
                "Min": show(row.min),
                "Max": show(row.max),
                **found,
            }
        )
    return pandas.DataFrame(cells)


def columnar(rows, runs):
    """Return the table for a paper as a frame of text: one column per arm, headed by framework and start or its name.

    A study has few arms and any number of seeds, so arms across fit the page.

    Args:
        rows: of `summarise_arms`.
        runs: frame of runs.tsv (text).
    """
    lead = Lead(runs.iloc[0])
    by_seed, show = runs.set_index(["arm", "seed"])[lead.test], lead.text
    columns = {}
    for row in rows.itertuples():
        several = row.n_seeds > 1
        columns[frameworks.label(row.framework), row.init if row.arm in KNOWN else row.arm] = {
            **{f"Seed {seed}": show(by_seed.get((row.arm, seed))) for seed in shown_seeds(runs)},
            "Mean": show(row.mean),
            "SD (ddof 1)": show(row.sd_ddof1) if several else "one seed",
            "SD (ddof 0)": show(row.sd_ddof0) if several else "one seed",
            "Min": show(row.min),
            "Max": show(row.max),
            "Seeds (n)": str(row.n_seeds),
        }
    return pandas.DataFrame(columns)


def as_markdown(table, note):
    """Return a frame of text as Markdown, with its note.

    `DataFrame.to_markdown` would need the package tabulate, and it pads every cell: one longer name would change every
    line.
    """
    header, *rows = [f"| {line} |" for line in table.style.hide().to_string(delimiter=" | ").splitlines()]
    rule = "|".join(["", " :-- ", *[" --: "] * (table.shape[1] - 1), ""])
    return "\n".join([header, rule, *rows, "", note, ""])


def as_latex(table, note):
    r"""Return the frame of `columnar` as LaTeX (package booktabs), with its note; `\input` it into a paper.

    It fits \textwidth of a one-column article (345 pt), or both columns of a two-column one (`table*`).
    """
    columns = table.shape[1] + 1
    body = table.to_latex(column_format="l" + "r" * table.shape[1], multicolumn_format="r")
    body = body.replace("±", r"$\pm$").replace("_", r"\_").replace(r"\midrule", "\\midrule", 1)
    # A gap separates mean and spread from the seeds.
    body = body.replace("\nMean &", "\n\\midrule\nMean &", 1) if table.index[0] != "Mean" else body
    note = f"\\multicolumn{{{columns}}}{{p{{0.9\\linewidth}}}}{{\\footnotesize {note}}} \\\\\n"
    start = "% needs \\usepackage{booktabs}; as wide as the text of a one-column article at most\n"
    return start + body.replace(r"\end{tabular}", note + r"\end{tabular}")


def main(runs, tsv, markdown, latex):
    """Write the table of the leading measure by arm in three forms, from runs.tsv only.

    Raises:
        StudyError: no runs, or a seed twice in an arm.
    """
    runs = read_frame(runs)
    rows = summarise_arms(runs)
    synthetic = (runs["synthetic"] == "true").any()
    lead = Lead(runs.iloc[0])
    said = NOTE.format(label=lead.label, unit=" in percent" if lead.percent else lead.unit and f" in {lead.unit}")
    note = " ".join([*([SYNTHETIC] if synthetic else []), said, *([] if shown_seeds(runs) else [MORE])])
    table = as_markdown(readable(rows, runs), note)
    write_table(tsv, "test_accuracy", frame_rows(rows))
    write_text(markdown, table)
    write_text(latex, as_latex(columnar(rows, runs), note))
    print(table)


if __name__ == "__main__":
    run(main, snakemake)
