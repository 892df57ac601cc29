"""A study's settings as the Snakefile has them: the defaults, the study's own, checked, with its pinned files."""

import os

from common.addresses import expand_addresses
from common.config import validate_study
from common.download import read_checksums
from common.errors import StudyError
from common.files import reading


def check_study(config, root):
    """Check a study's settings and expand the addresses of its corpus in place.

    Args:
        config: all settings, the defaults among them.
        root: folder of the workflow.

    Returns:
        dict: its pinned files (`common.download.read_checksums`).

    Raises:
        StudyError: settings that the workflow refuses.
    """
    validate_study(config, os.path.join(root, "schemas", "config.schema.yaml"))
    pins = read_checksums(config["checksums"] and os.path.join(root, config["checksums"]))
    for key, part in (
        ("checkpoint.corpus.files", config["checkpoint"]["corpus"]),
        ("qa.base.embedded.files", config["qa"]["base"]["embedded"]),
    ):
        part["files"] = expand_addresses(part["files"], pins, key)
    return pins


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
    from snakemake.common.configfile import load_configfile
    from snakemake.exceptions import WorkflowError
    from snakemake.utils import update_config

    config = {}
    for path in (os.path.join(root, "config.yaml"), *files):
        try:
            with reading(path):
                update_config(config, load_configfile(path))
        except WorkflowError as error:
            raise StudyError(f"{path}: {error}") from error
    update_config(config, changes)
    return config, check_study(config, root)
