"""The actual settings of each framework."""

import os

from common.files import read_json
from report.inputs import Table, located

CHAPTER, PLACE = "Can it be trusted?", 50


def facts(study):
    """The actual settings of each framework."""
    if not study.has("protocol_diff"):
        return None
    settings = study.table("protocol_diff")
    # It is empty where no arm starts from weights.
    weights = study.table("weights") if study.has("weights") else None
    parity = []
    for path in study.paths("parity"):
        record = located(read_json(path), study.link(path))
        parity.append({"split": os.path.basename(path).split(".")[0]} | record | {"href": study.link(path)})
    return {
        "mode": located((study.settings.get("finetuning") or {}).get("protocol", ""), "config", "finetuning.protocol"),
        "settings": settings,
        "frameworks": [name for name in settings.rows[0] if name not in ("setting", "equal", "note")],
        "unequal": [row["setting"] for row in settings.rows if row["equal"] == "false"],
        "n_settings": study.count(study.path("protocol_diff")),
        "n_unequal": study.count(study.path("protocol_diff"), equal="false"),
        "weights": weights if weights and weights.rows else None,
        "parity": Table(parity) if parity else None,
        "logits": study.table("logit_parity") if study.has("logit_parity") else None,
    }
