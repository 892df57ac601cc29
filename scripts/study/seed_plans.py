"""Looks: after how many seeds a study judges its questions, and which arms train further.

`finetuning.seeds` is a list of seeds, or {looks: [3, 5, 10]}, or {seen: [1, 2, 3], confirm: [4, 5, 6]}. The rules know
the list that these give, with `finetuning.looks` or `finetuning.confirm` beside it.
"""

import itertools
import os

import measures
from common.files import read_tsv
from study.baselines import linear_arms
from study.questions import PLAN, asked_by, digest, measure_of, sides

# The answer of a question that more seeds may settle.
UNDECIDED = "open"
TABLE = os.path.join("looks", "look{look}.tsv")


def check_seeds(config):
    """Yield what is wrong with `finetuning.seeds` where it is no list."""
    seeds, place = config["finetuning"]["seeds"], "finetuning.seeds"
    if isinstance(seeds, list):
        return
    if set(seeds) not in ({"looks"}, {"seen", "confirm"}):
        found = ", ".join(seeds) or "no key"
        yield f"{place} has {found}; give a list of seeds, {{looks: [3, 5, 10]}}, or {{seen: [1, 2], confirm: [3, 4]}}"
        return
    if looks := seeds.get("looks"):
        if any(later <= sooner for sooner, later in itertools.pairwise(looks)):
            yield f"{place}.looks is {looks}: the numbers of seeds must rise, such as [3, 5, 10]"
    elif both := sorted(set(seeds["seen"]) & set(seeds["confirm"])):
        yield f"{place}: seed {both[0]} is in seen and in confirm; the seeds that confirm are fresh ones"
    if config["questions"] == []:
        yield f"{place}: looks and confirmation are about questions, and `questions` has none; ask one, or give a list"
    for number, question in enumerate(config["questions"] or [], start=1):
        if measure_of(question) in measures.of_guests():
            yield (
                f"questions, entry {number}: {measure_of(question)} is of runs that finetuning.seeds does not train; "
                f"give {place} as a list, or ask this question in another study"
            )


def write_out(finetuning):
    """Replace `seeds` by the list of all seeds in place, and add `looks` or `confirm` where the study has them.

    Args:
        finetuning: config section `finetuning`, checked.
    """
    seeds = finetuning["seeds"]
    if isinstance(seeds, dict):
        finetuning |= {"seeds": every_seed(seeds)} | {key: seeds[key] for key in ("looks", "confirm") if key in seeds}


def every_seed(seeds):
    """Return the list of all seeds that `finetuning.seeds` may train; of faulty settings, those that it has."""
    if isinstance(seeds, list):
        return seeds
    if seeds.get("looks"):
        return list(range(1, seeds["looks"][-1] + 1))
    return [*(seeds.get("seen") or ()), *(seeds.get("confirm") or ())]


def plan_of(section):
    """Return which seeds answer the study's questions: {"seeds": [...]}, with `looks` or `confirm` where it has them.

    Args:
        section: config section `finetuning`, or a guest's.
    """
    return {key: section[key] for key in PLAN if section.get(key)}


def arms_of(question, finetuning):
    """Return the names of the arms, simple models left out, that a question needs."""
    among = question.get("among", {})
    names = [name for _, operand in sides(question) for name in among.get(operand, [operand])]
    return [name for name in dict.fromkeys(names) if name in finetuning["arms"] and name not in linear_arms(finetuning)]


def undecided(path):
    """Return the digests of the questions that a look left open.

    Args:
        path: its `TABLE`.
    """
    return {row["question_sha256"] for row in read_tsv(path) if row["answer"] == UNDECIDED}


def trained_seeds(config, table, look=None):
    """Return {arm: seeds to train}: those of the first look, and more where a look left one of its questions open.

    Args:
        config: all settings.
        table: function of a look's number that gives the path of its `TABLE`; it may raise where the look is to come.
        look: number of the look, from 1, that the runs are for, also as text; None: the last one that is needed.
    """
    finetuning = config["finetuning"]
    looks = finetuning.get("looks") or [len(finetuning["seeds"])]
    counts = dict.fromkeys(finetuning["arms"], looks[0])
    for number, n_seeds in enumerate(looks[1 : None if look is None else int(look)], start=1):
        keys = undecided(table(number))
        if not keys:
            break
        for question in asked_by(config):
            if digest(question) in keys:
                counts |= dict.fromkeys(arms_of(question, finetuning), n_seeds)
    return {arm: finetuning["seeds"][:n_seeds] for arm, n_seeds in counts.items()}


def progress(folder, finetuning):
    """Return (looks that are done, looks that are planned, questions that the last one left open) of a study.

    Args:
        folder: `results/<study>`.
        finetuning: config section `finetuning`.
    """
    planned = len(finetuning.get("looks", []))
    paths = [os.path.join(folder, TABLE.format(look=look)) for look in range(1, planned)]
    done = list(itertools.takewhile(os.path.isfile, paths))
    return len(done), planned, len(undecided(done[-1])) if done else None
