"""Constants and input functions that the other rule files share; no rules."""

import shutil
import sys

sys.path.insert(0, os.path.join(workflow.basedir, "scripts"))

from common.addresses import expand_addresses, qa_addresses, qa_retrievals, record_path
from common.config import validate_study
from common.download import mirror_path, read_checksums
from common.errors import StudyError
from common.machine import commit
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
COMMIT = commit(workflow.basedir)


wildcard_constraints:
    framework="fairseq|huggingface",
    init="pretrained|random",
    seed=r"\d+",
    split="train|valid|test",


def common(*modules):
    """Paths of helper modules: listed as inputs, an edit to one reruns the rules that import it."""
    return [workflow.source_path(f"../scripts/common/{module}.py") for module in modules]


def grow(amount):
    """A resource that grows with the attempt, should the profile grant a second one.

    Args:
        amount: memory in MB (int), or a time such as "4h" (str).
    """
    number, unit = (int(amount[:-1]), amount[-1]) if isinstance(amount, str) else (amount, None)
    return lambda wildcards, attempt: f"{number * attempt}{unit}" if unit else number * attempt


def plugin():
    """Paths of the fairseq plug-in's modules, inputs likewise."""
    return [
        workflow.source_path(f"../scripts/fairseq_plugin/{module}.py")
        for module in ("__init__", "architecture", "optimizer", "tasks")
    ] + common("batching", "checkpoints", "fairseq_state", "roberta")


def runs(pattern):
    """An input function that gives the pattern's paths for every arm and seed of the study.

    Not the list itself: beside the outputs of other rules Snakemake would hash the whole list again for each of its
    members, and planning would grow with the square of the seeds.
    """
    paths = [pattern.format(framework=framework, init=init, seed=seed) for framework, init in ARMS for seed in SEEDS]
    return lambda wildcards: paths


def starting_checkpoint(wildcards):
    """The checkpoint that a fairseq run starts from; a random run needs none and waits for none."""
    return {"checkpoint": f"{RESULTS}/checkpoint/model.pt"} if wildcards.init == "pretrained" else {}


def save_every(wildcards, threads):
    """Updates between two saved states: as a function of `threads`, a parameter whose change reruns nothing."""
    return config["sentiment"]["finetuning"]["save_every"]


def retrieved(*urls):
    """Where addresses lie once retrieved: laid out as in a mirror."""
    return [f"{RESOURCES}/{mirror_path(url)}" for url in urls]


# Of the question-answering branch; its constants stand in qa.smk.
def qa_record(name):
    """Where the record of a retrieval lies: in the study where there is nothing to retrieve."""
    urls = QA_RETRIEVALS[name]["urls"]
    return f"{RESOURCES}/{record_path(urls)}" if urls else f"{RESULTS}/qa/retrieved/{name}.json"


def qa_base_files():
    """The files that the base model is made from."""
    if QA["base"]["source"] == "folder":
        return [local(QA["base"]["folder"])] if QA["base"]["folder"] else []
    return retrieved(*QA_ADDRESSES["hub" if QA["base"]["source"] == "hub" else "corpus"])


def qa_pairs_file():
    """The file of pairs in a list; empty for the embedded ones, and where the study forgot it (the script says so)."""
    if QA["data"]["source"] == "file":
        return [local(QA["data"]["file"])] if QA["data"]["file"] else []
    return retrieved(*QA_ADDRESSES["pairs"])


def qa_runs(name):
    """A file's paths for every rank and seed of the study."""
    return [f"{QA_RUN}/{name}".format(rank=rank, seed=seed) for rank in QA["lora"]["r"] for seed in QA["seeds"]]
