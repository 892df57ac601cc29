"""The start of the pretrained arms, with its curve where the study made it."""

from common.arms import ARM, CHECKPOINT
from common.files import read_json
from report.inputs import located

CHAPTER, PLACE = "Can it be trusted?", 40


def facts(study):
    """The start of the pretrained arms, with its curve where the study made it."""
    arms = study.frame("runs").drop_duplicates(ARM).to_dict("records")
    on_checkpoint = [row for row in arms if row["model"] == CHECKPOINT]
    if not on_checkpoint:
        return None
    started = [row for row in on_checkpoint if row["init"] == "pretrained"]
    # The section names the arms concerned, unless they are all pretrained arms.
    whose = {"every": started == [row for row in arms if row["init"] == "pretrained"] and bool(started)}
    whose |= {"started": bool(started), "of": started or on_checkpoint}
    asked = (study.settings.get("finetuning") or {}).get("arms") or {}
    whose["earlier"] = [row for row in started if (asked.get(row["arm"]) or {}).get("at_update") is not None]
    settings = study.settings.get("checkpoint") or {}
    source = settings.get("source")
    if source in ("fetch", "folder"):
        records = [read_json(path) for path in study.paths("run_records")]
        # Older records lack this.
        unverified = any(record.get("heads_verified") is False for record in records)
        sizes = located(settings.get("architecture") or {}, "config", "checkpoint.architecture")
        return {"source": source, "whose": whose, "heads": sizes["heads"] if unverified else None}
    if not study.has("pretraining", "pretraining_figure"):
        return None
    points = study.table("pretraining")
    valid = [row for row in points.rows if row["split"] == "valid"]
    pretraining = settings.get("pretraining") or {}
    return {
        "source": source,
        "whose": whose,
        "factors": pretraining.get("word_init") == "cooccurrence",
        "first_token": float(pretraining.get("first_token_weight") or 0) > 0,
        "points": points,
        "several": study.table("pretrainings") if study.has("pretrainings") else None,
        "drawing": study.drawing(study.path("pretraining_figure")),
        "ends": valid if len(valid) == 1 else [valid[0], valid[-1]],
    }
