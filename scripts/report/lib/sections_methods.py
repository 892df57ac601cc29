"""The sections that explain: methods as a text to quote, and the glossary."""

from common.arms import ARM
from report.lib.glossary import ANSWERING, glossary_of
from report.lib.inputs import located
from report.lib.records import Value

# What chose the epochs, in words, where it is not the accuracy.
SELECTED_BY = {"macro_f1": "highest macro-F1", "loss": "lowest loss"}


# What an arm may set for itself.
OWN = ("training", "protocol", "freeze", "lora", "n_train", "at_update")


def methods(study):
    """What was done, as a text with this study's numbers."""
    runs, settings = study.frame("runs"), study.settings.get("finetuning") or {}
    method = study.json("method") if study.has("method") else None
    training = located(settings.get("training") or {}, "config", "finetuning.training")
    needed = ("epochs", "batch_size", "lr", "weight_decay", "warmup_ratio")
    first = runs.drop_duplicates(ARM).to_dict("records")
    arms = settings.get("arms") or {}
    own = [row for row in first if any((arms.get(row["arm"]) or {}).get(key) is not None for key in OWN)]
    seeds = study.frame("test_accuracy")["n_seeds"]
    return {
        "arms": first,
        "run": first[0],
        "n_seeds": seeds.iloc[0],
        # Intervals and tests over seeds are of these.
        "repeated": sum(int(n) > 1 for n in seeds),
        "sizes": sorted({row["n_train"]: row["n_train"] for row in first}.values(), key=int),
        "training": training if all(name in training for name in needed) else None,
        "mode": settings.get("protocol", ""),
        "own": own,
        # Its own defaults have no weight decay: see `finetuning.lib.protocol.framework_settings`.
        "undecayed": settings.get("protocol") == "published" and "huggingface" in {row["framework"] for row in first},
        "several_frameworks": len({row["framework"] for row in first}) > 1,
        "select_by": SELECTED_BY.get(settings.get("select_by")),
        "method": method,
        "answers": study.has("qa_summary"),
        "details": {name.replace("_", " "): text for name, text in (method or {}).items() if isinstance(text, Value)},
    }


def glossary(study):
    """The page's terms."""
    answers = study.has("qa_summary")
    return {
        "terms": {term: words for term, words in glossary_of(study.noun).items() if answers or term not in ANSWERING}
    }
