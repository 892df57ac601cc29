"""Answer the questions that the study asked: one contrast, one test and one answer each."""

import numpy as np

import measures
from analysis import contrasts, inference
from analysis.arm_pairs import OPTIONS
from analysis.contrasts import ASSURANCE, Term
from analysis.failures import failure_rate
from analysis.measured import read_answered, score_runs
from analysis.nested_choice import best_of, in_words
from analysis.scored import by_run, prediction_files
from analysis.scored_tables import read_scored
from common.arms import summarise
from common.entry import run
from common.errors import StudyError
from common.files import read_json
from common.frames import read_frame
from study.best_of import token
from study.guests import guests
from study.questions import digest, measure_of, measures_asked, read_register, sides
from study.tables import write_table


def scored(measure, runs, answered, models):
    """Return {arm: (scores of its runs, (S, N) values of texts, whether no seed changes it)} of every arm by a measure.

    Args:
        measure: name.
        runs: frame of runs.tsv (text).
        answered: what `analysis.measured.read_answered` returns of all runs, those of simple models by name.
        models: names of the simple models.

    Raises:
        StudyError: the measure gives no number.
    """
    loaded, found = measures.load(measure), {}
    for arm, its in score_runs(runs, answered, loaded).items():
        found[arm.arm] = [one["score"] for one in its], np.stack([one["items"] for one in its]), False
    for name in models:
        score, items = answered[name].score(loaded)
        found[name] = [score], items[None], True
    return found


def summed(question, scores):
    """Return a question's contrast of mean scores, {arm: scores of its runs}."""
    return sum(sign * summarise(scores[name])["mean"] for sign, name in sides(question))


def contrast(question, arms, scale):
    """Return a question's row before its family is known, and its terms.

    Args:
        question: its settings.
        arms: what `scored` returns.
        scale: one point, or one unit, of the margin in the measure's values.
    """
    pairs = [(sign, arms[name]) for sign, name in sides(question)]
    terms = [Term(sign, items, fixed) for sign, (_, items, fixed) in pairs]
    difference = summed(question, {name: scores for name, (scores, _, _) in arms.items()})
    # Sums of equal means differ by less than this.
    difference = 0.0 if abs(difference) < 1e-12 else difference
    margin = question["equal_within"] * scale if question.get("equal_within") is not None else None
    row = {
        "ask": question["ask"],
        "contrast": " ".join(f"{'+' if sign > 0 else '-'} {token(name)}" for sign, name in sides(question))[2:],
        "n_seeds_each": " ".join("-" if fixed else str(len(scores)) for _, (scores, _, fixed) in pairs),
        "n_test": terms[0].items.shape[1],
        "score_difference": difference,
        "equal_within": margin,
    }
    return row, terms


def failures(question, arms, learned):
    """Return the caveats of a question's answer: runs that failed, and the result of the others.

    An arm that sometimes fails invalidates every interval of few seeds, so the page warns.

    Args:
        question: its settings.
        arms: what `scored` returns.
        learned: {arm: list of booleans, one a run, in the order of its scores}.
    """
    # No table says whether a guest's run has learned.
    varying = [name for _, name in sides(question) if not arms[name][2] and name in learned]
    rates = [failure_rate(learned[name], arms[name][0]) for name in dict.fromkeys(varying)]
    n_failed = sum(rate["n_failed"] for rate in rates)
    kept = {
        name: [
            score
            for score, one in zip(arms[name][0], learned.get(name) or [True] * len(arms[name][0]), strict=True)
            if one
        ]
        for _, name in sides(question)
    }
    alone = None
    if n_failed and all(kept.values()):
        alone = summed(question, kept)
    return {
        "n_failed": n_failed,
        "n_runs": sum(rate["n_seeds"] for rate in rates),
        "failure_high": max((rate["high"] for rate in rates), default=None),
        "learned_difference": alone,
    }


def tested(row, terms):
    """Return a row's p and its claim: a difference, equality within the margin, or a difference beyond it.

    With a margin the nearer claim is tested. Only one of the two can be false, so no correction is needed.
    """
    if not contrasts.decidable(terms):
        return {"p": None, "tested": "nothing"}
    difference, margin = row["score_difference"], row["equal_within"]
    if margin is None:
        return {"p": contrasts.p_beyond(terms, difference), "tested": "difference"}
    if abs(difference) < margin:
        return {"p": contrasts.p_within(terms, difference, margin), "tested": "equal"}
    return {"p": contrasts.p_beyond(terms, difference, margin), "tested": "beyond"}


def judged(row, alpha):
    """Return a row's answer: `difference`, `equal`, `beyond`, `open` or `one_seed`. There is no other criterion."""
    if row["p"] is None:
        return "one_seed"
    return row["tested"] if row["p_holm"] <= alpha else "open"


def planned(row, terms, family, options):
    """Return what would settle an open question: the half width due to the texts, and the seeds per arm.

    The test planned for is the first step of Holm's correction, which is the strictest. Seeds are named twice: by the
    observed spread, and by its upper bound at `contrasts.ASSURANCE`, since few seeds estimate it poorly.
    """
    empty = dict.fromkeys(("texts_half_width", "seeds_planned", "seeds_assured"))
    if row["answer"] != "open":
        return empty
    level = 1 - (1 - options["level"]) / family
    alone = contrasts.texts_alone(terms, level)
    difference, margin = row["score_difference"], row["equal_within"]
    wanted = contrasts.to_tell_apart(difference, margin)
    tail = options["alpha"] / family / (2 if margin is None else 1)
    found = [contrasts.seeds_to_settle(terms, wanted, tail, assurance) for assurance in (None, ASSURANCE)]
    return {"texts_half_width": alone, "seeds_planned": found[0], "seeds_assured": found[1]}


def with_best(question, arms, valid, learned):
    """Return the operands of a question that names the best of several: arms, learned, and the choice in words.

    Args:
        question: its settings, with `among` where it does.
        arms, learned: as of `failures`.
        valid: {name: worth of each run on validation, the more the better}.
    """
    words, arms, learned = [], dict(arms), dict(learned)
    for operand, names in question.get("among", {}).items():
        arms[operand], chosen = best_of(names, arms, valid)
        words.append(in_words(operand, chosen))
        if all(name in learned for name in chosen):
            learned[operand] = [learned[name][seed] for seed, name in enumerate(chosen)]
    return arms, learned, "; ".join(words)


def answer(questions, registered, by_measure, learned, options, valid=None):
    """Return the rows of questions.tsv.

    Questions asked before any run was finished are corrected (Holm) among themselves, so that later ones do not change
    their answers. A later question is corrected among all.

    Args:
        questions: the study's.
        registered: what `study.questions.read_register` returns.
        by_measure: {measure: what `scored` returns}.
        learned: {arm: list of booleans, one a run}.
        options: dict with the keys of `OPTIONS`.
        valid: {name: worth of each run on validation, the more the better}, for questions about the best of several.

    Raises:
        StudyError: a question is not registered, or an arm has no run.
    """
    rows, every = [], []
    for question in questions:
        key, name = digest(question), measure_of(question)
        if key not in registered:
            raise StudyError(f"the question {question['ask']!r} is not registered; start the study again")
        arms, flags, chosen = with_best(question, by_measure[name], valid, learned)
        if lacking := [arm for _, arm in sides(question) if arm not in arms]:
            raise StudyError(f"the question {question['ask']!r} names {lacking[0]}, which has no run in runs.tsv")
        measure = measures.load(name)
        row, terms = contrast(question, arms, 0.01 if measure.UNIT == "share" else 1.0)
        low, high = contrasts.interval_of(terms, row["score_difference"], options["level"])
        note = registered[key]
        row |= {"measure": name, "unit": measure.UNIT, "higher_is_better": measure.HIGHER_IS_BETTER}
        row |= failures(question, arms, flags) | {"validation_chose": chosen}
        row |= {"level": options["level"], "score_difference_low": low, "score_difference_high": high}
        row |= {"asked": note["asked"], "n_runs_then": len(note["runs"]), "question_sha256": key} | tested(row, terms)
        rows.append(row)
        every.append(terms)
    beforehand = [row for row in rows if not row["n_runs_then"]]
    # The later ones first, so that those asked beforehand are overwritten by their own family's.
    for family in (rows, beforehand):
        inference.correct(family, "p")
        n_family = sum(row["p"] is not None for row in family)
        for row in family:
            row["n_family"] = n_family
    for row in rows:
        row["answer"] = judged(row, options["alpha"])
    return [row | planned(row, terms, row["n_family"], options) for row, terms in zip(rows, every, strict=True)]


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
    **tables,
):
    """Write the answers.

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
    judged_runs, valid, lead = {}, {}, measures.Lead(frame.iloc[0])
    # No table says which runs learned where labels are numbers.
    for row in read_frame(learned).to_dict("records") if learned else ():
        judged_runs.setdefault(row["arm"], []).append(row["learned"] == "true")
    for row in frame.to_dict("records"):
        valid.setdefault(row["arm"], []).append(lead.worth(float(row[lead.valid] or "nan")))
    for name, file in zip(names, selected, strict=False):
        valid[name] = [lead.worth(float(read_json(file)[lead.valid]))]
    rows = answer(questions, read_register(register), by_measure, judged_runs, options, valid)
    write_table(questions_table, "questions", rows)


if __name__ == "__main__":
    run(main, snakemake)
