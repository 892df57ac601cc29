"""The lab's questions in their order: counts, LoRA's settings, the table of tasks 3 to 5, task 7, and every figure."""

from common.arms import ARM
from report.inputs import Table

CHAPTER, PLACE = "Results", 60
# The lab's reviews, from any of their addresses.
SOURCES = ("cls_books_zip", "cls_books_pieces", "cls_archive")
# The lab's frameworks; the stock recipe appears beside them where a study has it.
ARMS = ("fairseq-pretrained", "fairseq-random", "huggingface-pretrained", "run_glue-pretrained")
# Framework and start of each.
TASKS = tuple(name.rpartition("-")[::2] for name in ARMS)
GIVEN = ("r", "lora_alpha", "target_modules", "lora_dropout", "bias", "task_type")


def facts(study):
    """The lab's questions; None where the study is of other texts, or has other arms than the lab's."""
    if (study.settings.get("data") or {}).get("source") not in SOURCES or not study.has("report_items", "derivation"):
        return None
    # The lab's questions are about accuracy.
    if not study.lead.default:
        return None
    arms = lab_arms(study)
    if not arms:
        return None
    runs, derivation = study.frame("runs"), study.table("derivation")
    model = derivation.rows[-1]["model"]
    counts = [row for row in derivation.rows if row["model"] == model and (row["total"] or row["published"])]
    return {
        "counts": Table(counts, derivation.href),
        "model": model,
        "lora": lora(study) if study.has("lora_ledger") else None,
        "arms": Table(arms, study.href("test_accuracy")),
        "seeds": sorted(runs["seed"].unique(), key=int),
        "tuned": tuned(study) if study.has("qa_summary") else None,
        "figures": figures(study),
    }


def lab_arms(study):
    """Return the rows of the lab's arms with each seed's accuracy; none where one of the three is lacking or twice."""
    by_seed = study.frame("runs").pivot(index=ARM, columns="seed", values="test_accuracy").fillna("").reset_index()
    rows = study.frame("test_accuracy").merge(by_seed, on=ARM).to_dict("records")
    found = [[row for row in rows if (row["framework"], row["init"]) == task] for task in TASKS]
    if any(len(arms) != 1 for arms in found[:3]) or len(found[3]) > 1:
        return []
    return [row for arms in found for row in arms]


def lora(study):
    """Return what the lab gave to `LoraConfig`, by the ledger of the last model that it has."""
    ledger = study.table("lora_ledger")
    last = ledger.rows[-1]
    rows = [row for row in ledger.rows if (row["model"], row["arm"]) == (last["model"], last["arm"])]
    return Table([row for row in rows if row["setting"] in GIVEN], ledger.href)


def tuned(study):
    """Return {before, after}: rows of the mean perplexity on the training pairs, of the first arm."""
    rows = study.table("qa_summary").rows
    of_arm = [row for row in rows if row["arm"] == rows[0]["arm"]]
    return {
        moment: next((row for row in of_arm if row["metric"] == f"train_perplexity_{moment}"), None)
        for moment in ("before", "after")
    }


def figures(study):
    """Return the reports' figures and tables in their order, those that this study has, as rows of report_items."""
    there = {study.link(path) for paths in study.files.values() for path in paths or []}
    items = study.table("report_items")
    rows = [row for row in items.rows if row["asks"].startswith(("Figure", "Table")) and row["answered_in"] in there]
    return Table(rows, items.href)
