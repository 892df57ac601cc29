"""Constants and input functions that the other rule files share; no rules."""

import atexit
import errno
import shutil
import sys
from collections import Counter

sys.path.insert(0, os.path.join(workflow.basedir, "scripts"))

from common.addresses import (
    CHECKPOINT_FILES,
    checkpoint_files,
    missing_checkpoint,
    qa_addresses,
    qa_retrievals,
    record_path,
)
from common.disk import check_disk, disk_need
from common.download import expected, mirror_path
from common.errors import StudyError
from common.faults import explain, has_full_disk
from common.lock import hold, hold_shared
from common.machine import commit
from common.modules import helpers_digest
from common.protocol import framework_settings
from common.study import check_study

try:
    PINS = check_study(config, workflow.basedir)
except StudyError as error:
    raise WorkflowError(str(error))

CORPUS = config["checkpoint"]["corpus"]["files"]

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


def helpers(script):
    """A digest of the helper modules that a script imports: a parameter, so that an edit to one reruns the script.

    Not inputs: a study of thousands of runs would look at the same few files once for each of them.
    """
    return helpers_digest(os.path.join(workflow.basedir, "scripts", f"{script}.py"))


def grow(amount):
    """A resource that grows with the attempt, should the profile grant a second one.

    Args:
        amount: memory in MB (int), or a time such as "4h" (str).
    """
    number, unit = (int(amount[:-1]), amount[-1]) if isinstance(amount, str) else (amount, None)
    return lambda wildcards, attempt: f"{number * attempt}{unit}" if unit else number * attempt


def runs(pattern):
    """An input function that gives the pattern's paths for every arm and seed of the study.

    Not the list itself: beside the outputs of other rules Snakemake would hash the whole list again for each of its
    members, and planning would grow with the square of the seeds.
    """
    paths = [pattern.format(framework=framework, init=init, seed=seed) for framework, init in ARMS for seed in SEEDS]
    return lambda wildcards: paths


def run_checkpoints(folder):
    """The output of a run's checkpoints: they go once one is selected, unless the study keeps or scores them all."""
    sentiment = config["sentiment"]
    kept = sentiment["keep_checkpoints"] or sentiment["evaluation"]["test_curves"]
    return directory(folder) if kept else temp(directory(folder))


def starting_checkpoint(wildcards):
    """The checkpoint that a fairseq run starts from; a random run needs none and waits for none."""
    return {"checkpoint": f"{RESULTS}/checkpoint/model.pt"} if wildcards.init == "pretrained" else {}


def checkpoint_of_folder():
    """The three files of `checkpoint.folder`; `make regenerate` needs them no more once the study has its own copy."""
    missing = missing_checkpoint(config)
    if missing:
        raise WorkflowError(
            f"configuration: checkpoint.folder: there is no {missing}; name a folder that holds "
            f"{', '.join(CHECKPOINT_FILES)}, or run the study first that makes it"
        )
    return [local(path) for path in checkpoint_files(config["checkpoint"]["folder"])]


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


def tell_full_disk(folder):
    """Say so where Snakemake itself could not write its records: it speaks of permissions."""
    if has_full_disk(folder):
        print(explain(OSError(errno.ENOSPC, ""), "all", RESULTS), file=sys.stderr)


def planned_retrievals():
    """The shared files that planned jobs will make."""
    outputs = [str(path) for job in workflow.dag.needrun_jobs() for path in job.output]
    return [path for path in outputs if path.startswith(f"{RESOURCES}/")]


def planned_need():
    """What the planned jobs will write, by kind, in bytes."""
    jobs = list(workflow.dag.needrun_jobs())
    retrievals = [job for job in jobs if job.rule.name.startswith("retrieve_")]
    return disk_need(
        Counter(job.rule.name for job in jobs),
        config,
        downloads=sum(size or 0 for job in retrievals for size in job.params.sizes),
        corpus=sum(expected(PINS, url)[1] or 0 for url in CORPUS),
        at_once=workflow.resource_settings.cores or workflow.resource_settings.nodes or 1,
    )


onstart:
    # Of the main process only: a job's own Snakemake is part of the same workflow.
    if workflow.is_main_process:
        try:
            # Absolute: Snakemake has left its working directory by then.
            atexit.register(tell_full_disk, os.path.abspath(RESULTS))
            hold(RESULTS, planned_retrievals())
            hold_shared(RESOURCES)
            logger.info(check_disk(planned_need(), RESULTS))
        except (StudyError, OSError) as error:
            raise WorkflowError(explain(error, "all", RESULTS) or str(error))
