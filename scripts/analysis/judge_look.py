"""Judge the questions that the looks so far left open: the arms of those that stay open train further."""

import pandas

import measures
from analysis.arm_pairs import OPTIONS
from analysis.judging import answer, scored, valid_worths
from analysis.measured import read_answered
from analysis.scored import SHARED, sharing
from common.arms import ARM
from common.entry import run
from common.files import read_json
from finetuning.seals import run_of
from study.questions import measures_asked, read_register
from study.tables import columns_of, write_table


def run_rows(records, selected):
    """Return what the runs' records say, as a frame of text with the columns that `analysis.judging` reads."""
    rows = []
    for record, chosen in zip(map(read_json, records), map(read_json, selected), strict=True):
        rows.append({name: str(record[name]) for name in (*ARM, "seed", *SHARED) if name in record})
        if measure := chosen.get("measure"):
            rows[-1]["measure"] = measure
        valid = measures.Lead(rows[-1]).valid
        rows[-1][valid] = repr(chosen[valid])
    return pandas.DataFrame(rows)


def main(
    records, selected, predictions, answers, chosen, table, look: int, names, questions, register, plan, versions=None
):
    """Write the look's table.

    Args:
        records, selected, predictions: of every run that the look is of, in one order.
        answers, chosen: predictions and selected.json of the simple models.
        table: TSV file to write.
        look: its number, from 1.
        names: the simple models.
        questions: the study's.
        register: path of the register of questions.
        plan: what `study.seed_plans.plan_of` returns.
        versions: digests of the measures' files; Snakemake compares them.

    Raises:
        StudyError: see `analysis.judging.answer` and `study.questions.read_register`.
    """
    frame = run_rows(records, selected)
    keys = [(arm, str(seed)) for arm, seed in map(run_of, predictions)]
    answered = read_answered(dict(zip(keys, predictions, strict=True)) | dict(zip(names, answers, strict=True)))
    by_measure = {name: scored(name, frame, answered, names) for name in measures_asked(questions)}
    valid = valid_worths(frame, names, chosen)
    options = OPTIONS | sharing(frame)
    _, history = answer(questions, read_register(register), by_measure, {}, options, valid, plan, look)
    rows = [{name: row[name] for name in columns_of("looks")} for row in history if row["look"] == look]
    write_table(table, "look_verdicts", rows)


if __name__ == "__main__":
    run(main, snakemake)
