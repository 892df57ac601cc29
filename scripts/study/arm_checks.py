"""Checks of an arm's requests against its framework's facts."""

import frameworks
from common.arms import CHECKPOINT
from frameworks.matched import OPTIONAL, in_effect
from study.seed_plans import every_seed

# These keys of an arm concern weights, so only a framework with checkpoints reads them.
OF_WEIGHTS = ("match", "protocol", "at_update", "freeze", "training")

# An arm with this in place of its settings is left out: a file that goes over another says so.
LEFT_OUT = "left out"


def fill_arms(finetuning):
    """Remove arms that a later file leaves out; give `model: none` and `init: none` to those without a model.

    Args:
        finetuning: config section `finetuning`, not checked yet; changed in place.
    """
    arms = finetuning.get("arms") if isinstance(finetuning, dict) else None
    if not isinstance(arms, dict):
        return
    for name in [name for name, arm in arms.items() if arm == LEFT_OUT]:
        del arms[name]
    for arm in arms.values():
        name = arm.get("framework") if isinstance(arm, dict) else None
        if name in frameworks.names() and frameworks.load(name).INITS == (frameworks.NONE,):
            arm.setdefault("model", frameworks.NONE)
            arm.setdefault("init", frameworks.NONE)


def check_frameworks(config):
    """Yield the requests of arms that their framework cannot meet.

    Args:
        config: settings that agree with the schema.
    """
    data, arms = config["data"], config["finetuning"]["arms"]
    for name, arm in arms.items():
        facts, place = frameworks.load(arm["framework"]), f"finetuning.arms.{name}"
        if arm["init"] not in facts.INITS:
            yield f"{place}.init is {arm['init']}; arms of {arm['framework']} have {' or '.join(facts.INITS)}"
        if data["task"] not in facts.TASKS:
            able = [other for other in frameworks.names() if data["task"] in frameworks.load(other).TASKS]
            yield (
                f"{place}: data.task is {data['task']}, which {facts.LABEL} does not learn; set framework to "
                f"{' or '.join(able)}"
            )
        bare = facts.INITS == (frameworks.NONE,)
        if bare and arm["model"] != frameworks.NONE:
            yield f"{place}.model is {arm['model']}, and {facts.LABEL} starts from no model; take it out"
        elif not bare and arm["model"] in config["finetuning"]["models"] and not facts.OTHERS_MODELS:
            others = having_words("OTHERS_MODELS")
            yield (
                f"{place}: {facts.LABEL} cannot start from the model {arm['model']}; set framework to {others}, or "
                f"model to {CHECKPOINT}"
            )
        for key in arm:
            readers = [other for other in frameworks.names() if key in frameworks.load(other).SETTINGS]
            if arm[key] is not None and readers and arm["framework"] not in readers:
                yield (
                    f"{place}.{key} is for arms of {' or '.join(readers)}; take it out, or set framework to "
                    f"{' or '.join(readers)}"
                )
            if arm[key] is not None and key in OF_WEIGHTS and not facts.CHECKPOINTS:
                yield f"{place}.{key} is for arms that train weights, and {facts.LABEL} trains none; take it out"
        seeds = every_seed(config["finetuning"]["seeds"])
        yield from facts.faults(config["finetuning"] | {"seeds": seeds}, name)
    single = [name for name, arm in arms.items() if not frameworks.load(arm["framework"]).PAIRS]
    if data["source"] == "table" and data["table"]["second"] is not None and single:
        yield (
            f"data.table.second makes pairs of texts, and the frameworks of the arms {', '.join(single)} read one "
            f"text; take these arms out, or set their framework to {having_words('PAIRS')}"
        )


def check_options(config):
    """Yield training options of arms that contradict their framework, the labels or the batch size.

    Args:
        config: settings that agree with the schema.
    """
    finetuning, n_classes = config["finetuning"], len(config["data"]["labels"])
    for name, arm in finetuning["arms"].items():
        facts, given = frameworks.load(arm["framework"]), arm.get("training") or {}
        # Only a framework with checkpoints reads the study's block.
        training = in_effect((finetuning["training"] if facts.CHECKPOINTS else {}) | given)
        places = {
            key: f"finetuning.arms.{name}.training" if key in given else "finetuning.training" for key in training
        }
        for key in [key for key in OPTIONAL if key in training and key not in facts.OPTIONS]:
            remedy = "take it out" if key in given else f"set it to null in finetuning.arms.{name}.training"
            others = having_words("OPTIONS")
            yield f"{places[key]}.{key}: {facts.LABEL} cannot do that; {remedy}, or set the framework to {others}"
        weights, parts = training.get("class_weights"), training.get("accumulation", 1)
        if isinstance(weights, list) and len(weights) != n_classes:
            yield (
                f"{places['class_weights']}.class_weights has {len(weights)} weights, and data.labels {n_classes} "
                "classes; give one weight for each, in that order"
            )
        if parts > training.get("batch_size", parts):
            yield (
                f"{places['accumulation']}.accumulation is {parts}, more than the {training['batch_size']} texts of an "
                "update (batch_size); lower it"
            )


def having_words(fact):
    """Return the names of the frameworks that have a fact, in words."""
    return " or ".join(frameworks.having(fact))
