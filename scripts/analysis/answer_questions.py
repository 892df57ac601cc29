"""Answer the questions that the study asked: one contrast, one test and one answer each."""

import measures
from analysis.arm_pairs import OPTIONS
from analysis.judging import answer, scored, valid_worths
from analysis.measured import read_answered
from analysis.scored import by_run, prediction_files, sharing
from analysis.scored_tables import read_scored
from common.entry import run
from common.frames import read_frame
from study.guests import guests
from study.questions import measures_asked, read_register
from study.tables import columns_of, write_table

# Columns of a study whose seeds do more than answer at once.
OF_LOOKS, OF_PLANS = ("look", "n_seeds"), ("alpha", "n_continued")


def main(
    runs,
    predictions,
    answers,
    learned,
    questions_table,
    run_keys,
    names,
    questions,
    register,
    selected=(),
    versions=None,
    options=OPTIONS,
    plan=None,
    looks=None,
    saved=None,
    **tables,
):
    """Write the answers, and where the study has looks what each said and saved.

    Args:
        runs: runs.tsv.
        predictions: every run's predictions on test.
        answers: predictions of the simple models.
        learned: learned.tsv.
        questions_table: TSV file to write.
        run_keys: (arm, seed) of each of the predictions.
        names: the simple models, in the order of `answers`.
        questions: the study's.
        register: path of the register of questions.
        selected: selected.json of the simple models, with their accuracy on validation.
        versions: digests of the measures' files; Snakemake compares them.
        options: dict with the keys of `analysis.arm_pairs.OPTIONS`.
        plan: what `study.seed_plans.plan_of` returns; None: every seed answers, at once.
        looks, saved: TSV files to write, of a study with looks.
        **tables: <room>_scores and <room>_items of the guests whose measures are asked by.

    Raises:
        StudyError: see `answer`, `analysis.scored.prediction_files`, `analysis.measured.read_answered` and
            `study.questions.read_register`.
    """
    frame = read_frame(runs)
    files = prediction_files(frame, by_run(run_keys, predictions)) | dict(zip(names, answers, strict=True))
    answered = read_answered(files)
    by_measure = {}
    for name in measures_asked(questions):
        if room := measures.of_guests().get(name):
            by = (tables[f"{room}_scores"], tables[f"{room}_items"], name, guests()[room].is_fixed)
            by_measure[name] = read_scored(*by)
        else:
            by_measure[name] = scored(name, frame, answered, names)
    valid = valid_worths(frame, names, selected)
    judged_runs = runs_that_learned(learned)
    options = options | sharing(frame)
    rows, history = answer(questions, read_register(register), by_measure, judged_runs, options, valid, plan)
    write_answers(questions_table, rows, plan)
    if looks:
        write_table(looks, "looks", [{name: row[name] for name in columns_of("looks")} for row in history])
        write_table(saved, "looks_saved", savings(frame, len(plan["seeds"])))


def runs_that_learned(path):
    """Return {arm: list of booleans, one a run} from learned.tsv; {} without it, as where labels are numbers."""
    found = {}
    for row in read_frame(path).to_dict("records") if path else ():
        found.setdefault(row["arm"], []).append(row["learned"] == "true")
    return found


def write_answers(path, rows, plan):
    """Write questions.tsv; columns that a study's plan of seeds gives one value are left out.

    Args:
        path: the file.
        rows: the answers.
        plan: as of `main`.
    """
    kept = columns_of("questions")
    if "looks" not in (plan or {}):
        kept = [name for name in kept if name not in OF_LOOKS]
    if not plan and not any(row["n_continued"] for row in rows):
        kept = [name for name in kept if name not in OF_PLANS]
    write_table(path, "questions", [{name: row[name] for name in kept} for row in rows], kept)


def savings(frame, n_planned):
    """Return what each arm's looks saved: runs, and their time by the mean of the arm's runs.

    Args:
        frame: of runs.tsv (text).
        n_planned: seeds that an arm has where its questions stay open to the end.
    """
    rows = []
    for name, runs in frame.groupby("arm", sort=False):
        left = n_planned - len(runs)
        seconds = left * runs["train_seconds"].map(float).mean() if runs["train_seconds"].all() else None
        rows.append(
            {"arm": name, "n_seeds": len(runs), "n_planned": n_planned, "n_saved": left, "seconds_saved": seconds}
        )
    return rows


if __name__ == "__main__":
    run(main, snakemake)
