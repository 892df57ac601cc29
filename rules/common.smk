"""Constants and input functions that the other rule files share; no rules."""

import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(workflow.basedir, "scripts"))

from common.addresses import expand_addresses
from common.config import validate_study
from common.download import mirror_path, read_checksums
from common.errors import StudyError
from common.protocol import framework_settings

try:
    validate_study(config, os.path.join(workflow.basedir, "schemas", "config.schema.yaml"))
    PINS = read_checksums(config["checksums"] and os.path.join(workflow.basedir, config["checksums"]))
    CORPUS = expand_addresses(config["checkpoint"]["corpus"]["files"], PINS)
    config["checkpoint"]["corpus"]["files"] = CORPUS
except StudyError as error:
    raise WorkflowError(str(error))

RESULTS = f"results/{config['study']}"
LOGS = f"{RESULTS}/logs"
BENCHMARKS = f"{RESULTS}/benchmarks"
RESOURCES = "resources"

# A training job asks for a GPU where this machine has one; on a cluster the profile asks (`set-resources`).
GPU = int(shutil.which("nvidia-smi") is not None)

ARMS = [(arm["framework"], arm["init"]) for arm in config["sentiment"]["arms"]]
SEEDS = config["sentiment"]["seeds"]
COMMIT = subprocess.run(
    ["git", "-C", workflow.basedir, "describe", "--always", "--dirty", "--abbrev=40"],
    capture_output=True,
    text=True,
).stdout.strip()


wildcard_constraints:
    framework="fairseq|huggingface",
    init="pretrained|random",
    seed=r"\d+",
    split="train|valid|test",


def common(*modules):
    """Paths of helper modules: listed as inputs, an edit to one reruns the rules that import it."""
    return [workflow.source_path(f"../scripts/common/{module}.py") for module in modules]


def plugin():
    """Paths of the fairseq plug-in's modules, inputs likewise."""
    return [
        workflow.source_path(f"../scripts/fairseq_plugin/{module}.py")
        for module in ("__init__", "architecture", "optimizer", "tasks")
    ] + common("batching", "checkpoints", "roberta")


def runs(pattern):
    """The pattern's paths for every arm and seed of the study."""
    return [
        pattern.format(framework=framework, init=init, seed=seed)
        for framework, init in ARMS
        for seed in SEEDS
    ]


def retrieved(*urls):
    """Where addresses lie once retrieved: laid out as in a mirror."""
    return [f"{RESOURCES}/{mirror_path(url)}" for url in urls]
