"""A study's settings: checked against the schema and against each other, all faults reported in plain words."""

import os

import sources
from common.arms import uses_checkpoint
from common.errors import StudyError
from study.arm_checks import check_frameworks, check_options
from study.baselines import check_baselines
from study.checkpoint_checks import (
    check_checkpoint,
    check_depths,
    check_kept,
    check_pretrainings,
    check_short_blocks,
)
from study.data_checks import check_data, check_task
from study.finetuning_checks import (
    check_case,
    check_colours,
    check_finetuning_arms,
    check_models,
    check_subsets,
)
from study.grids import check_grids
from study.guests import check_guests, merged
from study.matching import check_matches
from study.questions import check_questions
from study.schema import read_schema
from study.schema_faults import messages, name_of, show
from study.seed_plans import check_seeds
from study.spread import check_sources
from study.variation import check_variation

# The limit is 32 bits; the bounds of most settings are far below, in the schema.
LARGEST = 2**32 - 1
# A longer list is cut, because one fault may cause many.
MOST_FAULTS = 20

# Each setting that chooses, and the keys that are read under each choice only.
ALTERNATIVES = {
    "data.source": {
        name: [f"data.{name}"]
        for name in ("embedded", "table", "cls_books_zip", "cls_books_pieces", "cls_archive", *sources.names())
    },
    "checkpoint.source": {
        "pretrain": [f"checkpoint.{name}" for name in ("sentencepiece", "corpus", "pretraining")],
        "fetch": ["checkpoint.fetch"],
        "folder": ["checkpoint.folder"],
    },
}


def validate_study(config, schema_path):
    """Check a study's settings.

    Args:
        config: dictionary, the merger of config.yaml, the study's file and the command line.
        schema_path: YAML file holding the JSON Schema (draft 2020-12).

    Raises:
        StudyError: every fault, the most telling first: which key, what it holds, what is allowed.
    """
    schema = read_schema(schema_path)
    # Settings are compared with each other only once each is valid.
    refuse(messages(config, schema) or cross_checks(config))


def refuse(faults):
    """Refuse settings with all their faults, one a line.

    Raises:
        StudyError: there is a fault.
    """
    lines = [f"configuration: {fault}" for fault in faults]
    if len(lines) > MOST_FAULTS:
        lines[MOST_FAULTS:] = [f"configuration: {len(lines) - MOST_FAULTS} more faults are not listed"]
    if lines:
        raise StudyError("\n".join(lines))


def cross_checks(config):
    """Yield a message for each setting that contradicts another one.

    Args:
        config: settings that agree with the schema.

    Yields:
        str: the keys, their values and the remedy.
    """
    mirror = config["mirror"]
    if mirror is not None and not os.path.isdir(mirror):
        yield f"mirror: there is no folder {mirror!r}; give an existing folder laid out HOST/PATH, or null"
    yield from check_data(config["data"])
    yield from check_task(config)
    yield from check_checkpoint(config["checkpoint"])
    yield from check_guests(config)
    yield from check_grids(config["finetuning"])
    yield from check_subsets(config)
    yield from check_short_blocks(config)
    yield from check_kept(config)
    yield from check_models(config["finetuning"])
    yield from check_finetuning_arms(config["finetuning"]["arms"], config["report"]["colours"])
    yield from check_frameworks(config)
    # Several arms may share a fault of the study's block.
    yield from dict.fromkeys(check_options(config))
    yield from check_baselines(config["finetuning"])
    # They may name arms that a grid writes out; the settings are checked again with these.
    if not config["finetuning"]["grids"]:
        yield from check_questions(config)
        yield from check_sources(config)
    yield from check_seeds(config)
    yield from check_variation(config)
    yield from check_pretrainings(config)
    yield from check_depths(config)
    for place, names in (
        ("finetuning.arms", config["finetuning"]["arms"]),
        ("finetuning.models", config["finetuning"]["models"]),
    ):
        yield from check_case(place, names)
    yield from check_colours(config["finetuning"]["arms"], config["report"]["colours"])
    yield from _check_sizes(config)
    yield from check_matches(config["finetuning"])


def unused_keys(given, config):
    """Return {dotted key: reason} of settings in a study's file that nothing reads because of other settings.

    Args:
        given: the settings of the study's file alone.
        config: all settings, the defaults among them.
    """

    def value(path):
        node = config
        for key in path.split("."):
            node = node.get(key) if isinstance(node, dict) else None
        return node

    unused = {}
    for switch, choices in (ALTERNATIVES | merged("alternatives")).items():
        for choice, keys in choices.items():
            if value(switch) != choice:
                unused |= dict.fromkeys(keys, f"{switch} is {str(value(switch)).lower()}")
    if not uses_checkpoint(config):
        unused["checkpoint"] = "no arm starts from it"
    if value("finetuning.protocol") == "published":
        unused["finetuning.training.batching"] = "finetuning.protocol is published"
    return {key: reason for key, reason in unused.items() if _has(given, key.split("."))}


def _has(settings, keys):
    """Return whether nested settings hold a key with a value."""
    for key in keys:
        if not isinstance(settings, dict) or settings.get(key) is None:
            return False
        settings = settings[key]
    return True


def _check_sizes(value, path=()):
    """Yield the whole numbers that no library takes, wherever they occur in the settings."""
    if isinstance(value, dict | list):
        for key, part in value.items() if isinstance(value, dict) else enumerate(value):
            yield from _check_sizes(part, (*path, key))
    elif isinstance(value, int) and value > LARGEST:
        yield f"{name_of(path)} is {show(value)}, more than the {LARGEST} that a setting can hold; lower it"
