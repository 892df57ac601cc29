"""Grids of arms: `finetuning.grids` written out as separately named arms."""

import itertools
import re

from study.near_names import near_or

# A grid may vary these settings; an arm's name shows them in this form.
AXES = {"lr": "lr", "epochs": "epochs", "n_train": "n", "at_update": "update"}
# These keys belong to the arm; the others to its block `training`.
OWN = ("n_train", "at_update")
# The form of an arm's name is that of the schema.
LONGEST = 40


def written(value):
    """Return a number as the name of an arm has it: 1e-5, 2.5e-4, 10."""
    if isinstance(value, int):
        return str(value)
    digits, _, power = f"{value:.12e}".partition("e")
    return f"{digits.rstrip('0').rstrip('.')}e{int(power)}"


def cells(grid):
    """Return {end of a name: {key: value}} of every cell of a grid, in the order of its lists."""
    axes = [[(key, value) for value in grid[key]] for key in AXES if grid.get(key)]
    return {"".join(f"-{AXES[key]}{written(value)}" for key, value in cell): dict(cell) for cell in product(axes)}


def cells_of(name, arms):
    """Return the names of the arms that a grid wrote out of an arm, as `expand_grids` names them."""
    end = re.compile(r"(-lr[\d.]+(e-?\d+)?)?(-epochs\d+)?(-n\d+)?(-update\d+)?")
    return [arm for arm in arms if arm.startswith(f"{name}-") and end.fullmatch(arm[len(name) :])]


def product(axes):
    """Return the cells of axes; of no axes, none."""
    return list(itertools.product(*axes)) if axes else []


def with_cell(arm, cell):
    """Return an arm with the settings of a cell."""
    training = {key: value for key, value in cell.items() if key not in OWN}
    made = arm | {key: value for key, value in cell.items() if key in OWN}
    return made | {"training": (arm.get("training") or {}) | training} if training else made


def expand_grids(finetuning):
    """Replace `finetuning.grids` by its arms, in place.

    An arm of a grid is replaced by one arm for each cell; where it has to match another arm of its grid, each matches
    the other's arm of the same cell.

    Args:
        finetuning: config section `finetuning`, checked (`check_grids`).

    Returns:
        bool: whether there was a grid.
    """
    grids, arms = finetuning.pop("grids"), {}
    ends = {name: cells(grid) for grid in grids for name in grid["arms"]}
    for name, arm in finetuning["arms"].items():
        for end, cell in ends.get(name, {"": {}}).items():
            made = with_cell(arm, cell)
            arms[name + end] = made | ({"match": arm["match"] + end} if arm.get("match") else {})
    finetuning["arms"] = arms
    return bool(grids)


def check_grids(finetuning):
    """Yield contradictions in `finetuning.grids`, in words.

    Args:
        finetuning: config section `finetuning`, as the schema wants it.
    """
    arms, grids, origins = finetuning["arms"], finetuning["grids"], {}
    for number, grid in enumerate(grids, start=1):
        place = f"finetuning.grids, entry {number}"
        if not any(grid.get(key) for key in AXES):
            yield f"{place} varies nothing: give at least one of {', '.join(AXES)}, each a list"
        for name in grid["arms"]:
            if name not in arms:
                hint = near_or(name, arms, f"The arms are {', '.join(arms)}")
                yield f"{place}, arms: {name} is no arm of the study. {hint}"
                return
            if name in origins:
                yield f"finetuning.grids: the arm {name} is in entries {origins[name]} and {number}; leave it in one"
            origins.setdefault(name, number)
            yield from _check_arm(name, arms, grid, place)
    for name, arm in arms.items():
        match = arm.get("match")
        if match in arms and origins.get(name) != origins.get(match):
            yield (
                f"finetuning.arms.{name}.match is {match}, and only one of the two is in that grid; put both into one "
                "entry of finetuning.grids, or leave match out"
            )


def _check_arm(name, arms, grid, place):
    """Yield faults of an arm of a grid."""
    arm = arms[name]
    for key in AXES:
        block = arm if key in OWN else arm.get("training") or {}
        if grid.get(key) and block.get(key) is not None:
            where = key if key in OWN else f"training.{key}"
            yield f"finetuning.arms.{name}.{where} is set, and {place} varies it; take it out of the arm"
    for end in cells(grid):
        if name + end in arms:
            yield f"finetuning.arms.{name}{end} is made by finetuning.grids and is an arm of its own; rename that arm"
        if len(name + end) > LONGEST:
            yield (
                f"{place} makes the arm {name}{end}, whose name has {len(name + end)} characters; at most {LONGEST} "
                f"are allowed: give {name} a shorter name"
            )
            return
