"""A study's settings as the Snakefile uses them: defaults overridden by the study, checked, with its pinned files."""

import json
import os
from collections import Counter

import yaml

import tasks
from common.errors import StudyError
from common.files import read_json, reading
from common.machine import result_settings
from frameworks.matched import leave_out
from study import pretrainings, spread, variation
from study.addresses import expand_addresses
from study.arm_checks import fill_arms
from study.freshness import ADDED
from study.grids import expand_grids
from study.guests import gathered, guests
from study.ownership import check_named
from study.pins import read_checksums
from study.seed_plans import write_out
from study.settings import refuse, validate_study


def check_study(config, root):
    """Check a study's settings; write out its grids of arms and expand the addresses of its corpus, in place.

    Args:
        config: all settings, the defaults among them.
        root: folder of the workflow.

    Returns:
        dict: its pinned files (`study.pins.read_checksums`).

    Raises:
        StudyError: settings that the workflow refuses.
    """
    schema = os.path.join(root, "schemas", "config.schema.yaml")
    fill_arms(config.get("finetuning"))
    validate_study(config, schema)
    if expand_grids(config["finetuning"]):
        # These arms are treated as if written by hand.
        validate_study(config | {"finetuning": config["finetuning"] | {"grids": []}}, schema)
    config["finetuning"]["select_by"] = config["finetuning"]["select_by"] or config["measure"]
    leave_out(config["finetuning"])
    variation.leave_out(config["finetuning"])
    pretrainings.leave_out(config)
    spread.leave_out(config)
    write_out(config["finetuning"])
    refuse(missing_files(config, root))
    checksums = config["checksums"] and os.path.join(root, config["checksums"])
    pins = read_checksums(checksums)
    for key, part in (
        ("checkpoint.corpus.files", config["checkpoint"]["corpus"]),
        *gathered("corpora", config),
    ):
        part["files"] = expand_addresses(part["files"], pins, key)
    for i, entry in enumerate(config["checkpoint"]["corpus"]["tables"], start=1):
        entry["urls"] = expand_addresses(entry["urls"], pins, f"checkpoint.corpus.tables, entry {i}, urls")
    return pins


def in_file(path, text):
    """Return the text of a fault, one a line, with the study's file first, unless a line has it already."""
    lines = [line.removeprefix("configuration: ") for line in str(text).splitlines()]
    return "\n".join(line if path in line else f"{path}: {line}" for line in lines)


def missing_files(config, root):
    """Yield a message for each file of the clone that the settings name and that is missing."""
    yield from gathered("missing_files", config, root)
    if config["checksums"] and not os.path.isfile(path := os.path.join(root, config["checksums"])):
        yield f"checksums: there is no file {path}; name a table like studies/checksums.tsv, or null"


def check_file(path):
    """Refuse a settings file that Snakemake would misread, or could not read.

    YAML silently keeps the last of a key that occurs twice.

    Raises:
        StudyError: text that is not UTF-8, no YAML, a key that occurs twice, an anchor that contains itself.
    """
    with reading(path), open(path, "rb") as handle:
        content = handle.read()
    try:
        text = content.decode("utf-8-sig")
        # JSON may be indented with tabs, which YAML refuses.
        root = None if _is_json(text, path) else yaml.compose(text, yaml.SafeLoader)
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        raise StudyError(f"{path}, line {line}: this is not UTF-8 text; save the file as UTF-8") from error
    except RecursionError as error:
        raise StudyError(f"{path}: the settings are nested too deeply to be read") from error
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise StudyError(f"{path}, line {line}: this is not YAML: {error.problem or error.context}") from error
    except yaml.YAMLError as error:
        raise StudyError(f"{path}: this is not YAML: {' '.join(str(error).split())}") from error
    if root is not None:
        _check_node(root, path, (), {})


def _is_json(text, path):
    """Return whether Snakemake will read this text as JSON; refuse a key that occurs twice."""

    def unique(pairs):
        twice = [key for key, count in Counter(key for key, _ in pairs).items() if count > 1]
        if twice:
            raise StudyError(f"{path}: the key {twice[0]} occurs twice in its block; keep one of them")

    try:
        json.loads(text, object_pairs_hook=unique)
    except ValueError:
        return False
    return True


def _check_node(node, path, keys, seen):
    """Check a part of a settings file: `keys` lead to it; `seen` holds {id: whether it is still being checked}."""
    line = node.start_mark.line + 1
    if seen.get(id(node)):
        raise StudyError(f"{path}, line {line}: the block {'.'.join(keys)} contains itself")
    if id(node) in seen:
        return
    seen[id(node)] = True
    if isinstance(node, yaml.MappingNode):
        lines = {}
        for key, value in node.value:
            name, here = str(key.value), key.start_mark.line + 1
            if name in lines:
                place = ".".join((*keys, name))
                raise StudyError(f"{path}, lines {lines[name]} and {here} both give {place}; keep one of them")
            lines[name] = here
            _check_node(value, path, (*keys, name), seen)
    elif isinstance(node, yaml.SequenceNode):
        for value in node.value:
            _check_node(value, path, keys, seen)
    seen[id(node)] = False


def read_settings(path):
    """Return a YAML file's settings, as Snakemake reads them.

    Raises:
        StudyError: no YAML of settings (see `check_file`).
    """
    from snakemake.common.configfile import load_configfile
    from snakemake.exceptions import WorkflowError

    check_file(path)
    try:
        with reading(path):
            return load_configfile(path)
    except WorkflowError as error:
        raise StudyError(f"{path}: {error}") from error


def with_defaults(config, root):
    """Return a study's settings over the defaults of config.yaml, as Snakemake merges them; its arms replace those.

    A table of texts is used whole unless the study says otherwise. The default questions are of the default arms and
    simple models: a study with others of its own asks what it writes itself, or what the rule asks
    (`study.questions.by_rule`).

    Args:
        config: the study's own settings; not changed.
        root: folder of the workflow, with config.yaml.
    """
    from snakemake.utils import update_config

    merged = read_settings(os.path.join(root, "config.yaml"))
    data = config.get("data")
    if isinstance(data, dict) and data.get("source") == "table":
        # The default sizes are those of the generated reviews.
        merged["data"] |= {"n_train": None, "n_valid": None}
    if isinstance(data, dict) and data.get("task") in tasks.names()[1:]:
        kind = tasks.load(data["task"])
        merged["measure"], merged["finetuning"]["baselines"] = kind.MEASURE, list(kind.BASELINES)
        merged["finetuning"]["evaluation"]["test_curves"] = False
    update_config(merged, config)
    finetuning = config.get("finetuning")
    if isinstance(finetuning, dict) and finetuning.get("arms") is not None:
        merged["finetuning"]["arms"] = finetuning["arms"]
    if "questions" not in config and isinstance(finetuning, dict) and {"arms", "baselines"} & finetuning.keys():
        merged["questions"] = None
    for guest in guests().values():
        guest.own_defaults(merged, config)
    return merged


def load_study(root, *files, **changes):
    """Read a study outside Snakemake, as Snakemake reads it.

    Args:
        root: folder of the workflow, with config.yaml.
        files: the study's own files, each over those before it; none: the embedded study.
        changes: settings over all of those, such as `mirror`.

    Returns:
        tuple[dict, dict]: the settings, and what `check_study` returns.

    Raises:
        StudyError: no YAML of settings, or settings that the workflow refuses.
    """
    from snakemake.utils import update_config

    config = {}
    for path in files:
        update_config(config, read_settings(path))
    check_named(config, files)
    update_config(config, changes)
    config = with_defaults(config, root)
    return config, check_study(config, root)


def check_recorded(config, record, reruns):
    """Compare a study's settings with those of its results.

    Args:
        config: the study's settings.
        record: path of what the rule record_settings wrote.
        reruns: whether what depends on a changed setting is rerun.

    Returns:
        str: a notice of what will be rerun, or '' if nothing differs.

    Raises:
        StudyError: a setting differs and nothing is rerun, so that results would be shown beside settings that they
            were not made with.
    """
    recorded, current = (_flat(settings) for settings in (read_json(record), result_settings(config)))
    recorded = ADDED | recorded
    differing = [key for key in {**current, **recorded} if recorded.get(key) != current.get(key)]
    if not differing:
        return ""
    key = differing[0]
    was = f"{key}: the results were made with {recorded.get(key)!r}, and the settings now say {current.get(key)!r}"
    if not reruns:
        raise StudyError(f"{was}. Set it back, or run the study with the new setting (this command trains nothing)")
    others = (
        f" {len(differing) - 1} more setting{'s differ' if len(differing) > 2 else ' differs'}."
        if differing[1:]
        else ""
    )
    return f"{was}.{others} What depends on them is rerun; give the study another name to keep both results."


def _flat(settings, path=()):
    """Return {dotted path: value} of all values that are no block of keys."""
    flat = {}
    for key, value in settings.items():
        block = isinstance(value, dict) and value
        flat.update(_flat(value, (*path, key)) if block else {".".join((*path, str(key))): value})
    return flat
