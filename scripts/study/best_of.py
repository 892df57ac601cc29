"""`best of` in a question: the arm, or simple model, that validation prefers among several."""

import re

import frameworks
import measures
from study.baselines import CONSTANT, linear_arms
from study.grids import cells_of
from study.near_names import near_or

BEST = "best of "
# The word for all simple models that learn from every training text, except the largest class, which every arm knows.
SIMPLE = "baselines"


def is_best_of(operand):
    """Return whether an operand of a question is the best of several."""
    return operand.startswith(BEST)


def words(operand):
    """Return the candidates of an operand as written: `best of a, b` gives a and b."""
    return [word.strip() for word in operand.removeprefix(BEST).split(",")]


def token(operand):
    """Return an operand as one word, for the column `contrast`: `best of a, b` gives best_of(a,b)."""
    return f"best_of({','.join(words(operand))})" if is_best_of(operand) else operand


def chosen_among(word):
    """Return the candidates in a word of the column `contrast`, the inverse of `token`; None of a single operand."""
    found = re.fullmatch(r"best_of\((.*)\)", word)
    return found and found[1].split(",")


def members(operand, finetuning):
    """Return the names that an operand chooses among; ties on validation go to the first.

    Args:
        operand: `best of` and names with commas between: an arm, an arm that a grid writes out (all of its cells, the
            fewest epochs and the lowest rate first), a simple model, or `baselines`.
        finetuning: config section `finetuning`, its grids written out.
    """
    found, simple = [], linear_arms(finetuning)
    for word in words(operand):
        if word == SIMPLE:
            found += [name for name, facts in simple.items() if facts == {"features": name, "split": "train"}]
            found = [name for name in found if name not in CONSTANT]
        elif word in finetuning["arms"] or word in simple:
            found.append(word)
        else:
            found += sorted(cells_of(word, finetuning["arms"]), key=lambda name: recipe_of(name, finetuning))
    return list(dict.fromkeys(found))


def recipe_of(name, finetuning):
    """Return an arm's (epochs, learning rate)."""
    training = finetuning["training"] | (finetuning["arms"][name].get("training") or {})
    return training["epochs"], training["lr"]


def best_of_faults(operand, arms, finetuning, measure):
    """Yield in words what is wrong with an operand.

    Args:
        operand: of a question, `is_best_of`.
        arms: all operands of the question.
        finetuning: config section `finetuning`, its grids written out.
        measure: the question's.
    """
    simple, known = linear_arms(finetuning), [*finetuning["arms"], *linear_arms(finetuning), SIMPLE]
    if measure not in measures.names():
        yield f"{operand}: validation chooses among arms of fine-tuning only, which {measure} does not compare"
        return
    for word in words(operand):
        if word not in known and not cells_of(word, finetuning["arms"]):
            hint = near_or(word, known, f"Known: {', '.join(known)}")
            yield f"{operand}: {word} is no arm, no arm of a grid and no simple model. {hint}"
            return
    found = members(operand, finetuning)
    if len(found) < 2:
        yield f"{operand} has {len(found)} to choose from; name two or more, or the one without `best of`"
    if len({name in simple for name in found}) > 1:
        yield f"{operand}: arms and simple models are chosen apart; name two operands"
    for name in found:
        arm = finetuning["arms"].get(name)
        if arm and not frameworks.load(arm["framework"]).VALIDATED(arm):
            yield f"{operand}: {name} has no validation result to be chosen by; leave it out, or give it one"
    for other in arms:
        shared = found if other == operand else set(members(other, finetuning) if is_best_of(other) else [other])
        if other != operand and (twice := [name for name in found if name in shared]):
            yield f"{operand} may choose {twice[0]}, which the question names on its own, too; leave it out of one"
