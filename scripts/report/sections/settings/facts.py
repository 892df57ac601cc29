"""Every setting of the study, as resolved from config.yaml and the study's file."""

import json
import os

from common.machine import study_settings
from report.inputs import Table
from report.numbers import Key, Value

CHAPTER, PLACE = "Methods and sources", 20


def flatten(value, prefix=""):
    """Return [(dotted key, text)] of nested settings; lists of plain values stay on one line."""
    if isinstance(value, dict) and value:
        return [pair for key in value for pair in flatten(value[key], f"{prefix}.{key}" if prefix else str(key))]
    if isinstance(value, (list, tuple)) and any(isinstance(item, (dict, list, tuple)) for item in value):
        return [pair for i, item in enumerate(value) for pair in flatten(item, f"{prefix}[{i}]")]
    if isinstance(value, str):
        # A path of one machine means nothing elsewhere and would differ between two builds.
        return [(prefix, os.path.basename(value) if os.path.isabs(value) else value)]
    return [(prefix, json.dumps(value, ensure_ascii=False))]


def facts(study):
    """Every setting of the study, as resolved from config.yaml and the study's file."""
    values = [Value(text, "config", None, key) for key, text in flatten(study_settings(study.settings))]
    return {"study": study.name, "settings": Table([{"key": Key(value), "value": value} for value in values])}
