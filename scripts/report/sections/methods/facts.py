"""The methods, as a text with this study's numbers."""

import frameworks
import measures
from common.arms import ARM
from report.inputs import located
from report.numbers import Value

CHAPTER, PLACE = "Methods and sources", 10
# An arm may override these settings.
OWN = ("training", "protocol", "freeze", "lora", "n_train", "at_update")


def selected_by(settings):
    """Return what chose the epochs, in words; None where it is the number of right answers.

    Args:
        settings: section `finetuning`.
    """
    name = settings.get("select_by")
    return None if name in (None, "accuracy") else measures.best(name)


def facts(study):
    """The methods, as a text with this study's numbers."""
    runs, settings = study.frame("runs"), study.settings.get("finetuning") or {}
    method = study.json("method") if study.has("method") else None
    training = located(settings.get("training") or {}, "config", "finetuning.training")
    needed = ("epochs", "batch_size", "lr", "weight_decay", "warmup_ratio")
    first = runs.drop_duplicates(ARM).to_dict("records")
    arms = settings.get("arms") or {}
    with_own_keys = [row for row in first if any((arms.get(row["arm"]) or {}).get(key) is not None for key in OWN)]
    seeds = study.frame("test_accuracy")["n_seeds"]
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
        "n_seeds": seeds.iloc[0],
        # Intervals and tests over seeds apply to these.
        "repeated": sum(int(n) > 1 for n in seeds),
        "sizes": sorted({row["n_train"]: row["n_train"] for row in by_epochs}.values(), key=int),
        "training": training if all(name in training for name in needed) else None,
        "mode": settings.get("protocol", ""),
        "own": with_own_keys,
        "undecayed": settings.get("protocol") == "published"
        and any(row["framework"] in frameworks.having("UNDECAYED") for row in first),
        "several_frameworks": len({row["framework"] for row in by_epochs}) > 1,
        "select_by": selected_by(settings),
        "method": method,
        "task": study.json("manifest").get("task", ""),
        "asked": ("own" if study.settings.get("questions") else "rule") if study.has("questions") else None,
        "answers": study.has("qa_summary"),
        # The course's reports cite these, where the study is compared with them.
        "lab": study.has("conclusions"),
        "details": {name.replace("_", " "): text for name, text in (method or {}).items() if isinstance(text, Value)},
    }
