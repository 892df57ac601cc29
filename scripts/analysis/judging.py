"""The answers to a study's questions: one contrast, one test and one answer each, after each look."""

import numpy as np

import measures
from analysis import contrasts, inference
from analysis.contrasts import ASSURANCE, Term
from analysis.failures import failure_rate
from analysis.measured import score_runs
from analysis.nested_choice import best_of, in_words
from analysis.spending import corrected, share_of_look
from common.arms import summarise
from common.errors import StudyError
from common.files import read_json
from study.best_of import token
from study.questions import continuations, digest, measure_of, sides
from study.seed_plans import UNDECIDED


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


def valid_worths(frame, names, selected):
    """Return {name: worth of each run on validation, the more the better}, by the leading measure.

    Args:
        frame: frame of runs (text), with `arm` and the columns of `measures.Lead`.
        names: the simple models.
        selected: selected.json of each, with its value on validation.
    """
    lead, found = measures.Lead(frame.iloc[0]), {}
    for row in frame.to_dict("records"):
        found.setdefault(row["arm"], []).append(lead.worth(float(row[lead.valid] or "nan")))
    for name, file in zip(names, selected, strict=False):
        found[name] = [lead.worth(float(read_json(file)[lead.valid]))]
    return found


def summed(question, scores):
    """Return a question's contrast of mean scores, {arm: scores of its runs}."""
    return sum(sign * summarise(scores[name])["mean"] for sign, name in sides(question))


def contrast(question, arms, scale, shared=False):
    """Return a question's row before its family is known, and its terms.

    Args:
        question: its settings.
        arms: what `scored` returns.
        scale: one point, or one unit, of the margin in the measure's values.
        shared: True where runs of one seed share their draws; the terms are then paired.
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
    return row, contrasts.paired(terms) if shared else terms


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


def judged(row):
    """Return a row's answer: `difference`, `equal`, `beyond`, `open` or `one_seed`. There is no other criterion."""
    if row["p"] is None:
        return "one_seed"
    return row["tested"] if row["p_holm"] <= row["alpha"] else UNDECIDED


def planned(row, terms):
    """Return what would settle an open question: the half width due to the texts, and the seeds per arm.

    The test planned for is the first step of Holm's correction, which is the strictest. Seeds are named twice: by the
    observed spread, and by its upper bound at `contrasts.ASSURANCE`, since few seeds estimate it poorly.
    """
    empty = dict.fromkeys(("texts_half_width", "seeds_planned", "seeds_assured"))
    if row["answer"] != UNDECIDED:
        return empty
    level = 1 - (1 - row["level"]) / row["n_family"]
    alone = contrasts.texts_alone(terms, level)
    difference, margin = row["score_difference"], row["equal_within"]
    wanted = contrasts.to_tell_apart(difference, margin)
    tail = row["alpha"] / row["n_family"] / (2 if margin is None else 1)
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


def some_runs(by_measure, learned, valid, part):
    """Return the three with some runs of each arm only; a simple model has one.

    Args:
        by_measure, learned, valid: as of `answer`.
        part: slice of an arm's runs.
    """
    fixed = {name for arms in by_measure.values() for name, (_, _, never) in arms.items() if never}
    scores = {
        measure: {name: one if one[2] else (one[0][part], one[1][part], False) for name, one in arms.items()}
        for measure, arms in by_measure.items()
    }
    learned = {name: flags[part] for name, flags in learned.items()}
    return scores, learned, {name: one if name in fixed else one[part] for name, one in (valid or {}).items()}


def rows_of(questions, registered, by_measure, learned, options, valid):
    """Return the rows of questions before they are corrected, and the terms of each.

    Args:
        questions, registered, by_measure, learned, valid: as of `answer`.
        options: with the `alpha` and `level` of one look.

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
        # A guest's runs have their own seeds and draws.
        shared = options.get("paired", False) and name not in measures.of_guests()
        row, terms = contrast(question, arms, 0.01 if measure.UNIT == "share" else 1.0, shared)
        note = registered[key]
        # Judged again with other seeds, a question gets half of what it had.
        share = 0.5 ** continuations(note)
        level = 1 - (1 - options["level"]) * share
        low, high = contrasts.interval_of(terms, row["score_difference"], level)
        row |= {"measure": name, "unit": measure.UNIT, "higher_is_better": measure.HIGHER_IS_BETTER}
        row |= failures(question, arms, flags) | {"validation_chose": chosen}
        row |= {"level": level, "score_difference_low": low, "score_difference_high": high}
        row |= {"asked": note["asked"], "n_runs_then": len(note["runs"]), "question_sha256": key} | tested(row, terms)
        row |= {"alpha": options["alpha"] * share, "n_continued": continuations(note)}
        rows.append(row)
        every.append(terms)
    return rows, every


def check_counts(rows, look, n_seeds):
    """Refuse a look at arms with fewer runs than it is of: where an earlier look's table is edited, they do not train.

    Args:
        rows: of the questions that are open.
        look: its number.
        n_seeds: the runs of each arm.

    Raises:
        StudyError: an arm has fewer.
    """
    for row in rows:
        if lacking := [count for count in row["n_seeds_each"].split() if count not in ("-", str(n_seeds))]:
            raise StudyError(
                f"look {look} judges {row['ask']!r} by {n_seeds} seeds of each arm, and one has {lacking[0]}: a table "
                "in the folder looks/ was edited or is old; remove that folder and start the study again"
            )


def correct(rows, looked=()):
    """Correct the p values of a look's rows in place, and answer them.

    Questions that were asked before any run was finished are corrected over these, so that none asked later changes
    what they say; a later one is corrected over all.

    Args:
        rows: of the questions that are open, in the study's order.
        looked: rows of the questions that earlier looks decided; None: the study has no looks.
    """
    # The later ones first, so that those asked beforehand are overwritten by their own family's.
    for early in (False, True):
        family = [row for row in rows if not (early and row["n_runs_then"])]
        if looked is None:
            n_family = sum(row["p"] is not None for row in family)
            inference.correct(family, "p")
        else:
            done = sum(row["equal_within"] is not None for row in looked if not (early and row["n_runs_then"]))
            n_family = done + len(family)
            claims = [(row["p"], row["equal_within"] is not None) for row in family]
            for row, p in zip(family, corrected(claims, done), strict=True):
                row["p_holm"] = p
        for row in family:
            row["n_family"] = n_family
    for row in rows:
        row["answer"] = judged(row)


def answer(questions, registered, by_measure, learned, options, valid=None, plan=None, last=None):
    """Return the rows of questions.tsv, and those of every look.

    A look judges the questions that the looks before left open, each at its share of alpha; a decided question keeps
    its row. The argument that all looks together err in at most alpha: `analysis.spending`.

    Args:
        questions: the study's.
        registered: what `study.questions.read_register` returns.
        by_measure: {measure: what `scored` returns}.
        learned: {arm: list of booleans, one a run}.
        options: dict with the keys of `OPTIONS`, and `paired` where runs of one seed share their draws.
        valid: {name: worth of each run on validation, the more the better}, for questions about the best of several.
        plan: what `study.seed_plans.plan_of` returns.
        last: number of the last look to judge, from 1; None: all that the study needs.

    Raises:
        StudyError: a question is not registered, or an arm has no run, or fewer than an open question's look is of.
    """
    plan = plan or {}
    looks = plan.get("looks") or [None]
    first = len(plan["seeds"]) - len(plan["confirm"]) if "confirm" in plan else 0
    share = share_of_look(options, len(looks))
    found, history, left = {}, [], list(questions)
    for look, n_seeds in enumerate(looks[:last], start=1):
        some = some_runs(by_measure, learned, valid, slice(first, n_seeds))
        rows, every = rows_of(left, registered, some[0], some[1], share, some[2])
        if n_seeds:
            check_counts(rows, look, n_seeds)
        correct(rows, [row for row, _ in found.values() if row["answer"] != UNDECIDED] if len(looks) > 1 else None)
        for row in rows:
            row |= {"look": look, "n_seeds": n_seeds}
        history += [dict(row) for row in rows]
        found |= {row["question_sha256"]: (row, terms) for row, terms in zip(rows, every, strict=True)}
        left = [question for question in left if found[digest(question)][0]["answer"] == UNDECIDED]
        if not left:
            break
    return [row | planned(row, terms) for row, terms in map(found.get, map(digest, questions))], history
