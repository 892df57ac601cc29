"""The methods, as a text with this study's numbers."""

import frameworks
import measures
from analysis.scored import shared
from common.arms import ARM
from report.inputs import located
from report.numbers import Value

CHAPTER, PLACE = "Methods and sources", 10
# An arm may override these settings.
OWN = ("training", "protocol", "freeze", "lora", "n_train", "at_update")
# The text names these of `finetuning.training`, with every value that an arm has.
NAMED = ("epochs", "batch_size", "lr", "weight_decay", "warmup_ratio")


def selected_by(settings):
    """Return what chose the epochs, in words; None where it is the number of right answers.

    Args:
        settings: section `finetuning`.
    """
    name = settings.get("select_by")
    return None if name in (None, "accuracy") else measures.best(name)


def used(settings, arms):
    """Return {setting: its different values, ascending} of the settings in `NAMED`; None where one is unknown.

    Args:
        settings: section `finetuning`.
        arms: names of the arms that were trained so.
    """
    default = located(settings.get("training") or {}, "config", "finetuning.training")
    overridden = located(settings.get("arms") or {}, "config", "finetuning.arms")
    of_arms = [default | ((overridden.get(arm) or {}).get("training") or {}) for arm in arms]
    if not of_arms or not all(name in one for one in of_arms for name in NAMED):
        return None
    values = {name: {float(one[name]): one[name] for one in of_arms} for name in NAMED}
    return {name: [found[value] for value in sorted(found)] for name, found in values.items()}


def has_more(arm):
    """Return whether an arm has settings that `used` lacks."""
    overridden = {key: value for key, value in arm.items() if key in OWN and value is not None}
    return bool(overridden.keys() - {"training"} or (overridden.get("training") or {}).keys() - set(NAMED))


def facts(study):
    """The methods, as a text with this study's numbers."""
    runs, settings = study.frame("runs"), study.settings.get("finetuning") or {}
    method = study.json("method") if study.has("method") else None
    training = located(settings.get("training") or {}, "config", "finetuning.training")
    first = runs.drop_duplicates(ARM).to_dict("records")
    arms = settings.get("arms") or {}
    with_own_keys = [row for row in first if has_more(arms.get(row["arm"]) or {})]
    seeds = study.frame("test_accuracy")["n_seeds"]
    modes = {(arms.get(row["arm"]) or {}).get("protocol") or settings.get("protocol", "") for row in first}
    by_epochs = [row for row in first if row["framework"] in frameworks.having("CHECKPOINTS")]
    return {
        "arms": first,
        "by_epochs": by_epochs,
        "others": {
            frameworks.load(name).METHOD: [row for row in first if row["framework"] == name]
            for name in dict.fromkeys(row["framework"] for row in first if row not in by_epochs)
            if name in frameworks.names()
        },
        "run": first[0],
        "n_seeds": sorted({n: n for n in seeds}.values(), key=int),
        # Intervals and tests over seeds apply to these.
        "repeated": sum(int(n) > 1 for n in seeds),
        "sizes": sorted({row["n_train"]: row["n_train"] for row in by_epochs}.values(), key=int),
        "training": training if all(name in training for name in NAMED) else None,
        "used": used(settings, [row["arm"] for row in by_epochs]),
        "mode": modes.pop() if len(modes) == 1 else "",
        "own": with_own_keys,
        "undecayed": settings.get("protocol") == "published"
        and any(row["framework"] in frameworks.having("UNDECAYED") for row in first),
        "several_frameworks": len({row["framework"] for row in by_epochs}) > 1,
        "select_by": selected_by(settings),
        "method": method,
        "shared": shared(runs),
        "task": study.json("manifest").get("task", ""),
        "asked": ("own" if study.settings.get("questions") else "rule") if study.has("questions") else None,
        "answers": study.has("qa_summary"),
        # The course's reports cite these, where the study is compared with them.
        "lab": study.has("conclusions"),
        "details": {name.replace("_", " "): text for name, text in (method or {}).items() if isinstance(text, Value)},
    }
