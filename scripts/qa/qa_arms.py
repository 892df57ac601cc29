"""The arms of the question-answering study: their names, and each one's settings."""

import re

# Folders of the study beside those of the arms.
TAKEN = ("base", "data", "figures", "sweep", "variations")
# The run that changes nothing, which the others are read against.
UNCHANGED = "unchanged"


def qa_arms(qa):
    """Return the settings of each arm: `qa.lora` and `qa.training`, with what the arm sets otherwise.

    Args:
        qa: the `qa` section of the config.

    Returns:
        dict: name -> {"lora": dict, "training": dict}; where the study names none, one arm called after its rank.
    """
    arms = qa["arms"] or {f"rank{qa['lora']['r']}": {}}
    return {name: changed_settings(qa, settings) for name, settings in arms.items()}


def changed_settings(qa, changes):
    """Return {"lora": dict, "training": dict}: these sections of `qa` with what `changes` sets otherwise."""
    return {part: {key: changes.get(key, value) for key, value in qa[part].items()} for part in ("lora", "training")}


def variations(qa):
    """Return the runs of `qa.variations`, the one that changes nothing first; [] where the study has none.

    Args:
        qa: the `qa` section of the config.

    Returns:
        list[dict]: name; changed, {setting: value}; lora, `qa.lora` with what the run changes, or None where it trains
        all weights; training, `qa.training` likewise, without `save_every`.
    """
    found = []
    for given in [{"name": UNCHANGED}, *qa["variations"]["runs"]] if qa["variations"]["runs"] else []:
        changed = {key: value for key, value in given.items() if key != "name"}
        parts = changed_settings(qa, changed)
        lora = None if changed.get("tune") == "all" else parts["lora"]
        found.append(
            {"name": given["name"], "changed": changed, "lora": lora, "training": without_saves(parts["training"])}
        )
    return found


def without_saves(training):
    """Return a run's training without `save_every`, which no result depends on."""
    return {key: value for key, value in training.items() if key != "save_every"}


def check_arms(qa):
    """Yield what contradicts itself in the arms of `qa`."""
    for name in qa["arms"]:
        if name in TAKEN:
            yield f"qa.arms.{name}: {', '.join(TAKEN)} are folders of the study's own; give the arm another name"
    for name, settings in qa_arms(qa).items():
        lora = settings["lora"]
        given = qa["arms"].get(name, {})
        place = f"qa.arms.{name}" if {"layers_pattern", "layers_to_transform"} & set(given) else "qa.lora"
        if lora["layers_pattern"] is not None and lora["layers_to_transform"] is None:
            yield f"{place}.layers_pattern has no effect without layers_to_transform: give both, or null for both"
    yield from check_variations(qa)
    same = {}
    for name, settings in qa_arms(qa).items():
        other = same.setdefault(repr(settings), name)
        if other != name:
            yield f"qa.arms.{other} and qa.arms.{name} have the same settings; let them differ, or leave one out"


def check_variations(qa):
    """Yield what contradicts itself in the runs of `qa.variations`."""
    same = {}
    for number, one in enumerate(variations(qa)):
        place = f"qa.variations.runs, entry {number}"
        if number and one["name"] == UNCHANGED:
            yield f"{place}: {UNCHANGED} is the run that changes nothing, which is always there; leave it out"
            continue
        if one["lora"] is None and set(one["changed"]) & set(qa["lora"]):
            key = min(set(one["changed"]) & set(qa["lora"]))
            yield f"{place} ({one['name']}) has {key} beside `tune: all`, which trains without LoRA; leave one out"
        settings = repr({key: one[key] for key in ("lora", "training")})
        other = same.setdefault(settings, one["name"])
        if other != one["name"]:
            yield f"{place} ({one['name']}) has the settings of {other}; let it change something, or leave it out"
    names = [one["name"].lower() for one in qa["variations"]["runs"]]
    for name in sorted({name for name in names if names.count(name) > 1}):
        yield f"qa.variations.runs has {name} twice; give every run a name of its own"


def check_prompt(prompt):
    """Yield what is wrong with `qa.prompt`."""
    for part in ("{question}", "{answer}"):
        if prompt.count(part) != 1:
            n = prompt.count(part) or "no"
            yield f"qa.prompt is {prompt!r:.80} and holds {n} {part}; {{question}} and {{answer}} must each occur once"
            return
    if not prompt.endswith("{answer}"):
        yield (
            f"qa.prompt is {prompt!r:.80}; it must end in {{answer}}, after {{question}}: what ends an answer is the "
            "model's own end of text (qa.training.learn_end_of_text)"
        )
    for other in set(re.findall(r"{\w*}", prompt)) - {"{question}", "{answer}"}:
        yield f"qa.prompt holds {other}; only {{question}} and {{answer}} are replaced"
