"""The embedded study's settings with faults put into them, and what a user reads then."""

import copy
import pathlib

import pytest
import yaml

from common.errors import StudyError
from study.settings import validate_study

ROOT = pathlib.Path(__file__).parents[2]
SCHEMA = ROOT / "schemas" / "config.schema.yaml"
DELETE = object()


def defaults():
    return yaml.safe_load((ROOT / "config.yaml").read_text(encoding="utf-8"))


def changed(changes):
    """The embedded study's settings with {dotted path: value} changed; numbers in a path are list entries."""
    config = copy.deepcopy(defaults())
    for path, value in changes.items():
        *parents, last = [int(part) if part.isdigit() else part for part in path.split(".")]
        node = config
        for part in parents:
            node = node[part]
        if value is DELETE:
            del node[last]
        else:
            node[last] = value
    return config


def message(changes):
    with pytest.raises(StudyError) as caught:
        validate_study(changed(changes), SCHEMA)
    text = str(caught.value)
    assert all(line.startswith("configuration: ") for line in text.split("\n")) and "None" not in text
    return text
