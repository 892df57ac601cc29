"""The questions that a study asks: from its file or the default rule, checked and registered with the finished runs."""

import hashlib
import json
import os

import measures
from common.errors import StudyError
from common.files import read_json, write_text
from common.machine import now
from study.baselines import CONSTANT, linear_arms
from study.best_of import best_of_faults, is_best_of, members
from study.guests import guests
from study.near_names import near_or
from study.pretrainings import noted

REGISTER = "questions.json"
# These keys define a question; `among` has the candidates of `best of`.
KEYS = ("ask", "compare", "measure", "equal_within", "among")
# The settings of `finetuning` that say which seeds answer (`study.seed_plans.plan_of`).
PLAN = ("seeds", "looks", "confirm")


def sides(question):
    """Return the arms of a question as [(sign, arm)]: A - B, or (A - B) - (C - D)."""
    first, second = question["compare"]
    if isinstance(first, str):
        return [(1, first), (-1, second)]
    return [(1, first[0]), (-1, first[1]), (-1, second[0]), (1, second[1])]


def asked_by(config):
    """Return a study's questions: its own, or where it has no key `questions` those of `by_rule`.

    Args:
        config: all settings, grids written out and checked.

    Returns:
        list[dict]: as in the settings, by the leading measure unless they name one; with `among`, {operand: names},
        where an operand is the best of several.
    """
    found = []
    for question in by_rule(config) if config["questions"] is None else config["questions"]:
        best = [operand for _, operand in sides(question) if is_best_of(operand)]
        among = {operand: members(operand, config["finetuning"]) for operand in best}
        led = (
            {}
            if measures.leading(config) == measures.DEFAULT
            else {"measure": measure_of(question, measures.leading(config))}
        )
        found.append(question | led | ({"among": among} if among else {}))
    return found


def by_rule(config):
    """Return the questions of a study that writes none: each arm against the first, the first against a simple model.

    The simple model is the one that validation prefers of those that learn from the first arm's texts.
    """
    first, *others = config["finetuning"]["arms"]
    found = [{"ask": f"Does {name} differ from {first}?", "compare": [name, first]} for name in others]
    n_train = config["finetuning"]["arms"][first].get("n_train")
    split = f"train-{n_train}" if n_train else "train"
    models = linear_arms(config["finetuning"]).items()
    simple = [name for name, facts in models if facts["split"] == split and facts["features"] not in CONSTANT]
    if simple:
        operand = f"best of {', '.join(simple)}" if len(simple) > 1 else simple[0]
        ask = f"Does {first} differ from the simple model that validation prefers?"
        found.append({"ask": ask, "compare": [first, operand]})
    return found


def measure_of(question, leading=measures.DEFAULT):
    """Return the name of the measure that a question is asked by."""
    return question.get("measure") or leading


def measures_asked(questions):
    """Return the sorted names of the measures that questions are asked by."""
    return sorted(set(map(measure_of, questions)))


def names_by(measure, config):
    """Return the names that questions may compare by a measure: arms and simple models, or a guest's."""
    room = measures.of_guests().get(measure)
    if room:
        return guests()[room].compared(config)
    return [*config["finetuning"]["arms"], *linear_arms(config["finetuning"])]


def check_questions(config):
    """Yield faults of a study's questions, whose form the schema has checked."""
    asked = {}
    for number, question in enumerate(config["questions"] or [], start=1):
        place, compare = f"questions, entry {number}", question["compare"]
        if len({isinstance(one, str) for one in compare}) > 1:
            yield f"{place}, compare: give two arms, or two pairs of arms: [[A, B], [C, D]] asks for (A - B) - (C - D)"
            continue
        arms = [arm for _, arm in sides(question)]
        yield from (f"{place}, compare: {fault}" for fault in unknown_names(question, arms, config))
        if len(arms) == 2 and arms[0] == arms[1] or len(arms) == 4 and compare[0] == compare[1]:
            yield f"{place}, compare: both sides are the same; name two"
        if len(arms) == 4 and (compare[0][0] == compare[0][1] or compare[1][0] == compare[1][1]):
            yield f"{place}, compare: a pair names one arm twice; name two"
        if question["ask"] in asked:
            yield f"{place}: ask is that of entry {asked[question['ask']]}, too; ask it once"
        asked.setdefault(question["ask"], number)


def unknown_names(question, arms, config):
    """Yield in words which of a question's arms its measure cannot compare."""
    measure = measure_of(question, measures.leading(config))
    known = names_by(measure, config)
    for operand in filter(is_best_of, arms):
        yield from best_of_faults(operand, arms, config["finetuning"], measure)
    arms = [arm for arm in arms if not is_best_of(arm)]
    others = {arm: name for name in reversed(measures.of_guests()) for arm in names_by(name, config)}
    others |= dict.fromkeys(names_by(measures.leading(config), config), measures.leading(config))
    for arm in dict.fromkeys(arms):
        if arm in known:
            continue
        if arm in others:
            yield f"{arm} is not compared by {measure}; let measure be one that scores it, such as {others[arm]}"
            continue
        there = f"The arms are {', '.join(known)}" if known else "The study asks for none"
        yield f"{arm} is no arm and no simple model of the study. {near_or(arm, known, there)}"


def digest(question):
    """Return the SHA-256 of a question, independent of the order of its keys."""
    return digest_of({key: question[key] for key in KEYS if question.get(key) is not None})


def digest_of(content):
    """Return the SHA-256 of plain data, independent of the order of keys."""
    return hashlib.sha256(json.dumps(content, sort_keys=True, ensure_ascii=False).encode()).hexdigest()


def register(folder, questions, runs, plan=None):
    """Register new questions, with the time and the finished runs; none is ever removed.

    The seeds that are to answer a question are noted as well. Where they change once a run is finished, the question
    is judged again: that is noted, and the answer costs more (`continuations`).

    Args:
        folder: `results/<study>`; it is made.
        questions: the study's.
        runs: function of a measure: the names of the runs that it scores and that are finished, such as
            `fairseq-random/seed1`.
        plan: function of a measure: the seeds that its runs have by the settings (`study.seed_plans.plan_of`); None:
            none is noted.

    Raises:
        StudyError: see `read_register`; or the register is missing beside its answers; or seeds that are to confirm an
            answer were trained before.
    """
    path, table = os.path.join(folder, REGISTER), os.path.join(folder, "questions.tsv")
    if not os.path.exists(path) and os.path.exists(table):
        raise StudyError(
            f"{path} is missing, which says when the questions of {table} were asked: put it back, or remove {table}, "
            "too; the questions then count as asked today"
        )
    known = read_register(path) if os.path.exists(path) else {}
    before, found = json.dumps(known), {}
    for question in questions:
        key, name = digest(question), measure_of(question)
        found.setdefault(name, sorted(runs(name)))
        recorded = recorded_seeds(folder) if key in known and name not in measures.of_guests() else None
        entry = known.setdefault(key, question | {"asked": now(), "runs": found[name]})
        if seeds := plan and plan(name):
            note_seeds(entry, seeds, found[name], recorded)
    if json.dumps(known) != before:
        os.makedirs(folder, exist_ok=True)
        write_text(path, json.dumps(known, indent=1, ensure_ascii=False) + "\n")


def recorded_seeds(folder):
    """Return the plan of seeds that a study's results were made with, by its settings.json; None without one."""
    path = os.path.join(folder, "settings.json")
    settings = read_json(path) if os.path.isfile(path) else {}
    finetuning = settings.get("finetuning", {})
    return {key: finetuning[key] for key in PLAN if finetuning.get(key)} | noted(settings) or None


def note_seeds(entry, plan, runs, made_with=None):
    """Note in a question's entry which seeds are to answer it: a plan for each judgement, the present one last.

    Args:
        entry: of the register; changed in place.
        plan: the seeds by the settings of now.
        runs: names of the finished runs.
        made_with: the plan that the results were made with, by another file of theirs.

    Raises:
        StudyError: see `register`.
    """
    plans = [one["plan"] for one in entry.get("seeds", [])]
    if plans and runs and made_with and made_with not in plans:
        raise StudyError(
            f"{REGISTER} does not have the seeds {made_with} that the results of {entry['ask']!r} were made with "
            "(settings.json): it was edited; put the file back"
        )
    # Nothing was seen of a plan that no run has followed.
    if plans and not runs and plans[-1] != plan:
        plans.pop()
    for one in (made_with if runs else None, plan):
        if one and one not in plans:
            plans.append(one)
    known = {json.dumps(one["plan"]): one for one in entry.get("seeds", [])}
    notes = [
        known.get(json.dumps(one)) or {"plan": one, "noted": now(), "runs": runs, "judgement": place}
        for place, one in enumerate(plans)
    ]
    for note in notes:
        trained = {int(name.rpartition("seed")[2]) for name in note["runs"]}
        if old := sorted(trained & set(note["plan"].get("confirm", ()))):
            raise StudyError(
                f"finetuning.seeds.confirm has seed {old[0]}, which had been trained when {entry['ask']!r} was to be "
                "confirmed: name seeds that no run has"
            )
    # The present one is the last; each keeps its number.
    notes.sort(key=lambda note: note["plan"] == plan)
    if notes != entry.get("seeds"):
        entry["seeds"] = notes
    entry["seeds_sha256"] = digest_of(entry["seeds"])


def continuations(entry):
    """Return how often the seeds of a question changed, with runs at hand, before the present ones.

    Where fresh seeds confirm, only earlier ones that were to confirm count.
    """
    notes = entry.get("seeds")
    if not notes or "confirm" not in notes[-1]["plan"]:
        return notes[-1]["judgement"] if notes else 0
    return sum("confirm" in note["plan"] and note["judgement"] < notes[-1]["judgement"] for note in notes)


def read_register(path):
    """Return {digest: the question, with `asked` (UTC) and `runs` (names of runs that there were)}.

    Raises:
        StudyError: it is no register, or a question or its seeds are not those that their digest is of.
    """
    known = read_json(path)
    whole = isinstance(known, dict) and all(
        isinstance(entry, dict)
        and {"asked", "runs"} <= entry.keys()
        and digest(entry) == key
        and ("seeds" in entry) == ("seeds_sha256" in entry)
        and ("seeds" not in entry or digest_of(entry["seeds"]) == entry["seeds_sha256"])
        for key, entry in known.items()
    )
    if not whole:
        raise StudyError(
            f"{path} is not the register of questions that this study wrote: put the file back, or remove it; the "
            "questions then count as asked today"
        )
    return known
