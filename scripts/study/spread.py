"""A study of the sources of chance (`sources`): an arm's runs with one source varied at a time, and with all of them.

Each way to vary is an arm of its own, such as `fairseq-pretrained--split`, with `vary` and seeds that no other way has.
The rules train and score these arms like any other; no table of the study's own arms has them.
"""

from collections import Counter

import frameworks
from study.near_names import near_or
from study.pretrainings import SOURCE as CHECKPOINT
from study.pretrainings import pretraining_seeds, starts_there
from study.variation import DEFAULT, DRAWS, FIXED, NAMES, check_variation, draw_of, of_arm

# Between the name of an arm and what its runs vary; the second is also the way in which all sources are varied.
MARK, TOGETHER = "--", "all"
# Further rows of the table of sources: the test texts, these and all sources, and what sources do only jointly.
TEXTS, NEW, JOINT = "texts", "all and texts", "jointly"
# Readers see these words for the table's rows; {texts} are the study's.
SHOWN = NAMES | {TOGETHER: "all of these", TEXTS: "test {texts}", NEW: "all and test {texts}"}


def leave_out(config):
    """Take the key out of a study that asks for no sources, in place: it is as if nobody knew it."""
    if not config.get("sources"):
        config.pop("sources", None)


def sections(config):
    """Return the entries of `sources`; none without the key."""
    return config.get("sources") or []


def compared(section):
    """Return the names of the arms that an entry of `sources` is of: one, or A and B of A - B."""
    return list(section.get("compare") or [section["arm"]])


def ways(section):
    """Return {name: sources that differ between its runs}: one at a time, then all together."""
    return {source: [source] for source in section["vary"]} | {TOGETHER: list(section["vary"])}


def seeds_of(section, way):
    """Return the seeds of the runs of a way to vary.

    A source that is held has the seed `FIXED`, so none varies with it: the runs of several ways would be the same one.
    Those of all sources together come after the others: in shared draws the two would not be independent.
    """
    first = FIXED + 1 + (section["runs"] if way == TOGETHER else 0)
    return list(range(first, first + section["runs"]))


def name_of(arm, way):
    """Return the name of the arm that varies an arm's sources in one way."""
    return f"{arm}{MARK}{way}"


def source_arms(config):
    """Return {name: settings, with `vary`} of the arms of `sources`; none without the key.

    Args:
        config: all settings, grids written out and checked.
    """
    arms = config["finetuning"]["arms"]
    return {
        name_of(arm, way): arms[arm] | {"vary": vary}
        for section in sections(config)
        for arm in compared(section)
        for way, vary in ways(section).items()
    }


def source_runs(config):
    """Return [(arm, seed)] of every run of `sources`, the ways of an arm one after the other."""
    return [run for section in sections(config) for run in runs_of(section)]


def runs_of(section):
    """Return [(arm, seed)] of the runs of an entry of `sources`."""
    found = [(arm, way) for arm in compared(section) for way in ways(section)]
    return [(name_of(arm, way), seed) for arm, way in found for seed in seeds_of(section, way)]


def runs_by_arm(config):
    """Return {arm of the study: number of its runs for `sources`}, a Counter."""
    return Counter({arm: len(ways(one)) * one["runs"] for one in sections(config) for arm in compared(one)})


def source_starts(config):
    """Return {(arm, seed as text): seed of the pretraining} of the runs of `sources` that vary it.

    The i-th run of a way starts from the i-th pretraining. Those of the source alone and of all together share them,
    because a pretraining costs more than a run.
    """
    seeds, found = pretraining_seeds(config), {}
    for section in sections(config):
        for way, vary in ways(section).items() if CHECKPOINT in section["vary"] else ():
            for arm in compared(section) if CHECKPOINT in vary else ():
                for seed, start in zip(seeds_of(section, way), seeds, strict=False):
                    found[name_of(arm, way), str(seed)] = start
    return found


def with_source_arms(config):
    """Return the settings with the arms of `sources` beside the study's own: what training and scoring know."""
    arms = config["finetuning"]["arms"] | source_arms(config)
    return config | {"finetuning": config["finetuning"] | {"arms": arms}}


def draw_in(config):
    """Return how the runs of a study that draw their texts do it, of `DRAWS`; None: every run has the study's split."""
    finetuning = with_source_arms(config)["finetuning"]
    found = [draw_of(finetuning), *(draw_of(of_arm(finetuning, name)) for name in finetuning["arms"])]
    return next(filter(None, found), None)


def check_sources(config):
    """Yield what is wrong with `sources`.

    Args:
        config: settings that agree with the schema, grids written out.
    """
    finetuning, entries = config["finetuning"], {}
    for number, section in enumerate(config["sources"], start=1):
        place = f"sources, entry {number}"
        faults = list(_of_arms(section, finetuning, place))
        yield from faults or _of_sources(section, config, place)
        for name in [] if faults else compared(section):
            if name in entries:
                yield f"sources: arm {name} is in entries {entries[name]} and {number}; leave it in one"
            entries.setdefault(name, number)
    draws = {draw_of(section) for section in (finetuning, *config["sources"])} - {None}
    if len(draws) > 1 and not set(DRAWS) <= set(finetuning["vary"]):
        yield (
            f"sources and finetuning.vary have {' and '.join(sorted(draws))}, two ways to draw the texts of a study; "
            "leave one"
        )
    if config["sources"] and isinstance(finetuning["seeds"], dict) and "looks" in finetuning["seeds"]:
        yield (
            "sources: finetuning.seeds has looks, so the number of seeds is chosen as the study runs, and what a "
            "source adds to an answer depends on it; give a list of seeds, or take sources out"
        )


def _of_arms(section, finetuning, place):
    """Yield faults of the arms that an entry names."""
    if ("arm" in section) == ("compare" in section):
        yield f"{place} must have either arm (one arm) or compare ([A, B], for A - B)"
        return
    key, arms = "arm" if "arm" in section else "compare", finetuning["arms"]
    for name in compared(section):
        if name not in arms:
            hint = near_or(name, arms, f"The arms are {', '.join(arms)}")
            yield f"{place}, {key}: {name} is no arm of the study. {hint}"
    if len(set(compared(section))) < len(compared(section)):
        yield f"{place}, compare: both sides are the same arm; name two"


def _of_sources(section, config, place):
    """Yield the sources that an arm, the data or another setting does not let vary alone."""
    finetuning, vary = config["finetuning"], section["vary"]
    names = compared(section)
    for name in names:
        arm = finetuning["arms"][name]
        facts = frameworks.load(arm["framework"])
        if not (facts.HOLDS_SOURCES and facts.CHECKPOINTS):
            why = "has no seed for each source of chance" if not facts.HOLDS_SOURCES else "trains no weights by seeds"
            able = [one for one in frameworks.having("HOLDS_SOURCES") if frameworks.load(one).CHECKPOINTS]
            yield f"{place}: arm {name} is of {facts.LABEL}, which {why}; name an arm of {' or '.join(able)}"
            return
        for way in ways(section):
            if (made := name_of(name, way)) in finetuning["arms"]:
                yield f"finetuning.arms.{made} has the name that sources gives to runs of {name}; rename that arm"
    if CHECKPOINT in vary and not any(starts_there(finetuning["arms"][name]) for name in names):
        yield (
            f"{place}: vary has {CHECKPOINT}, and no arm of it starts from the study's checkpoint (model: checkpoint, "
            f"init: pretrained); name one that does, or take {CHECKPOINT} out"
        )
    for source, key in zip(DEFAULT, ("init_seed", "data_seed"), strict=True):
        if source in vary and finetuning[key] is not None:
            yield f"{place}: vary has {source}, and finetuning.{key} is {finetuning[key]} in all runs; set it to null"
    # These arms keep the rules of sources that the study's seeds vary.
    arms = {name: finetuning["arms"][name] for name in names}
    alike = config | {"finetuning": finetuning | {"vary": vary, "arms": arms}}
    yield from (fault.replace("finetuning.vary", f"{place}: vary") for fault in check_variation(alike))
