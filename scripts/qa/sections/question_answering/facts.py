"""A language model with LoRA: loss, perplexity, and answers side by side."""

import difflib

import measures
from report.formats import FILTERS
from report.inputs import Table, located
from report.numbers import derive

CHAPTER, PLACE = "Question answering", 10
SHOWN_ANSWERS = 12


def facts(study):
    """A language model with LoRA: loss, perplexity, and answers side by side."""
    if not study.has("qa_summary", "qa_loss_figure"):
        return None
    summary, manifest = study.table("qa_summary"), study.json("qa_manifest")
    generations = study.lines("qa_generations")
    one = generations[0]
    shown = [row for row in generations if (row["arm"], row["seed"]) == (one["arm"], one["seed"])][:SHOWN_ANSWERS]
    # Pairs from elsewhere have no stated language.
    lang = "fr" if manifest.get("source") == "embedded" else None
    swept = study.table("qa_rank_sweep") if study.has("qa_rank_sweep", "qa_rank_sweep_figure") else None
    qa = study.settings.get("qa") or {}
    base, lora = (located(qa.get(name) or {}, "config", f"qa.{name}") for name in ("base", "lora"))
    if any("lora_alpha" in settings for settings in (qa.get("arms") or {}).values()):
        # In that case the study has no single alpha.
        lora = {name: value for name, value in lora.items() if name != "lora_alpha"}
    return {
        "summary": Table(before_and_after(summary.rows), summary.href),
        "loss": study.table("qa_loss"),
        "pairs": pairs(study) if study.has("qa_pairs") else None,
        "drawing": study.drawing(study.path("qa_loss_figure")),
        "arms": list(dict.fromkeys(row["arm"] for row in summary.rows)),
        "answers": [row | {"lang": lang} | marked(row["before"], row["after"]) for row in shown],
        "answers_href": study.href("qa_generations"),
        "one": one,
        "manifest": manifest,
        "splits": [(name, part["n"]) for name, part in (manifest.get("splits") or {}).items() if "n" in part],
        "base": base,
        "bloom": is_bloom(base),
        "lora": lora,
        "swept": swept,
        "sweep_ends": sweep_ends(swept.rows) if swept else None,
        "sweep_drawing": study.drawing(study.path("qa_rank_sweep_figure")) if swept else None,
        "varied": varied(study) if study.has("qa_variations") else None,
        "schematic": study.drawing(study.path("lora_schematic")) if study.has("lora_schematic") else None,
    }


def pairs(study):
    """Return the comparisons of arms, each with its measure in words."""
    table, words = study.table("qa_pairs"), {}
    for name in {row["measure"] for row in table.rows}:
        measure = measures.load(name)
        unit = "" if measure.UNIT == "share" else f", {measure.UNIT}"
        words[name] = f"{measure.LABEL}{unit} ({'higher' if measure.HIGHER_IS_BETTER else 'lower'} is better)"
    rows = [row | {"words": words[row["measure"]]} for row in table.rows]
    # A single held-out question compares nothing.
    return Table(rows, table.href) if rows else None


def is_bloom(base):
    """Say whether the base model is known to be a BLOOM: the one that the study trains, or by its name on the hub."""
    source = base.get("source")
    return source == "embedded" or (source == "hub" and "bloom" in base["hub"]["repo"].lower())


def sweep_ends(rows):
    """Return a row of the smallest and of the largest rank of a sweep, with the seeds' mean held-out loss."""
    ends = []
    for row in (rows[0], rows[-1]):
        losses = [other["heldout_loss"] for other in rows if other["rank"] == row["rank"]]
        ends.append(row | {"heldout_loss": derive("mean", *losses)})
    return ends


def varied(study):
    """Return the runs that vary one setting: a row a variation, with means over its seeds, and these seeds."""
    table, rows = study.table("qa_variations"), []
    names = list(dict.fromkeys(row["variation"] for row in table.rows))
    for name in names:
        runs = [row for row in table.rows if row["variation"] == name]
        means = {
            column: derive("mean", *(row[column] for row in runs))
            for column in ("heldout_loss", "train_loss", "update_seconds")
        }
        rows.append(runs[0] | means)
    seeds = [row["seed"] for row in table.rows if row["variation"] == names[0]]
    return {"table": Table(rows, table.href), "seeds": seeds}


def marked(before, after):
    """Return the second text as [(word, whether the first lacks it in that place)]."""
    first, second = before.split(), after.split()
    new = [True] * len(second)
    for match in difflib.SequenceMatcher(None, first, second, False).get_matching_blocks():
        new[match.b : match.b + match.size] = [False] * match.size
    return {"after_words": [(FILTERS["word"](after, place), flag) for place, flag in enumerate(new)]}


def before_and_after(rows):
    """Return a row for each arm and measure of qa/summary.tsv, with what it was before tuning and after."""
    found = {}
    for row in rows:
        measure, _, moment = row["metric"].rpartition("_")
        place = found.setdefault((row["arm"], measure), {"arm": row["arm"], "rank": row["rank"], "measure": measure})
        place |= {"n_seeds": row["n_seeds"], moment: row["mean"], f"{moment}_sd": row["sd_ddof1"]}
    empty = {"before": "", "before_sd": "", "after": "", "after_sd": ""}
    return [empty | row for row in found.values()]
