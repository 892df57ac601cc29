"""What the rules of every room share: the study's settings, its paths, what each rule has; no rules."""

import atexit
import errno
import re
import shutil
import sys
from collections import Counter
from glob import escape, glob

# This project's folder, also where another workflow has it as a module.
ROOT = os.path.dirname(workflow.current_basedir.get_path_or_uri(secret_free=True))
if not os.path.isdir(ROOT):
    raise WorkflowError(
        f"{ROOT}: this workflow runs from a clone; clone it, and name the clone's Snakefile in `module`"
    )
sys.path.insert(0, os.path.join(ROOT, "scripts"))

from snakemake.io import IOFile, update_wildcard_constraints
from snakemake.settings.enums import RerunTrigger

import measures
from common.arms import CHECKPOINT, arms_in, run_label, uses_checkpoint
from common.errors import StudyError
from common.faults import explain, has_full_disk
from common.lock import hold, hold_shared
from common.machine import commit
from finetuning.protocol import arm_settings
from finetuning.seals import check_folder, run_of
from frameworks import NONE
from study.baselines import linear_arms
from study.addresses import (
    CHECKPOINT_FILES,
    checkpoint_files,
    hub_addresses,
    is_address,
    kept_file,
    kept_updates,
    missing_checkpoint,
    missing_file,
    record_path,
    retrievals,
    source_addresses,
    table_files,
)
from study.disk import check_disk, corpus_bytes, disk_need, model_bytes
from study.download import expected, mirror_path
from study.guests import gathered, guests, merged
from study.isolation import Isolation, leave_out_home, pin_build_tools
from study.freshness import Digests, check_downloads, check_fresh, hides_changes, visible_files
from study.modules import file_digest, helpers_digest
from study.ownership import check_named, claim
from study.remains import remove_remains
from study.configuration import check_file, check_recorded, check_study, read_settings, with_defaults
from study.products import chosen, generated_rules, product
from study.questions import asked_by, register
from study.settings import unused_keys

try:
    for file in workflow.overwrite_configfiles:
        check_file(file)
    # Here and not in a profile or the Makefile: every job's Snakemake reads this again, on whatever machine.
    leave_out_home()
    pin_build_tools()
    check_named(config, workflow.overwrite_configfiles)
    # Not by `configfile`: a study's arms replace the default ones, and a module's settings would replace all.
    config = with_defaults(config, ROOT)
    PINS = check_study(config, ROOT)
    RETRIEVALS = retrievals(config, PINS)
except StudyError as error:
    raise WorkflowError(str(error))


pathvars:
    results=f"results/{config['study']}",
    logs="<results>/logs",
    benchmarks="<results>/benchmarks",
    run="<results>/finetuning/{arm}/seed{seed}",


wildcard_constraints:
    arm="|".join(map(re.escape, [*config["finetuning"]["arms"], *gathered("arms", config)])),
    model="|".join(map(re.escape, ["checkpoint", *config["finetuning"]["models"]])),
    seed=r"\d+",
    split=r"train|valid|test|train-\d+",
    part=r"train-valid|test|train-\d+-valid",
    n_train=r"\d+",


# Kept: once the rules are read, `workflow` has those of the workflow that has this one as a module.
PATHVARS = workflow.pathvars
# A module's `prefix` is put before the files of rules; parameters and locks need it, too.
RESULTS, RESOURCES = (
    workflow.modifier.path_modifier.replace_prefix(PATHVARS.apply(folder)) for folder in ("<results>", "<resources>")
)

# A training job asks for a GPU where this machine has one; on a cluster the profile asks (`set-resources`).
GPU = int(shutil.which("nvidia-smi") is not None)

# The file of the measure that chooses epochs, which scripts load by name.
CHOOSING = [measures.file(config["finetuning"]["select_by"])]
ARMS = arms_in(config)
SEEDS = config["finetuning"]["seeds"]
# The simple models, of one run each.
LINEAR = linear_arms(config["finetuning"])
# What the arms start from, and which of it is others' (`finetuning.models`).
STARTS = list(dict.fromkeys(arm.model for arm in ARMS.values() if arm.model != NONE))
FOREIGN = [name for name in STARTS if name != CHECKPOINT]
# Where no arm does, nothing of the checkpoint is made.
USES_CHECKPOINT = uses_checkpoint(config)
SPLITS = ("train", "valid", "test")
# Sizes of the subsets that arms learn from, where not from all training reviews: each a split of its own, `train-300`.
SUBSETS = sorted({arm["n_train"] for arm in config["finetuning"]["arms"].values() if arm.get("n_train")})
ALL_SPLITS = (*SPLITS, *(f"train-{n}" for n in SUBSETS))
# Of every epoch.
KEEPS_CHECKPOINTS = config["finetuning"]["keep_checkpoints"] or config["finetuning"]["evaluation"]["test_curves"]
# What the scripts of a framework's folder do, as the rules that run them are called.
STEPS = {"train": "finetune", "score": "evaluate", "test_curve": "test_curve"}
# A job on another machine has the code and no repository.
COMMIT = os.environ["STUDY_COMMIT"] = commit(ROOT) or os.environ.get("STUDY_COMMIT", "")


envvars:
    "STUDY_COMMIT",


# Before anything is planned on what is left of them. The one folder of a run that is temporary.
if workflow.is_main_process and not KEEPS_CHECKPOINTS:
    remove_remains(RESULTS, [os.path.join(RESULTS, "finetuning", arm, f"seed{seed}") for arm in ARMS for seed in SEEDS])


def path(pattern):
    """A path with its path variables filled in, where Snakemake does not do it: from an input function."""
    return PATHVARS.apply(pattern)


def runs(pattern, arms=None):
    """An input function that gives the pattern's paths for every seed of the arms, by default all of the study's.

    Not the list itself: beside the outputs of other rules Snakemake would hash the whole list again for each of its
    members, and planning would grow with the square of the seeds.
    """
    pattern = path(pattern)
    paths = [
        pattern.format(arm=name, framework=arm.framework, seed=seed)
        for name, arm in (ARMS if arms is None else arms).items()
        for seed in SEEDS
    ]
    return lambda wildcards: paths


def linear(pattern):
    """The pattern's paths for every simple model."""
    return [pattern.replace("{arm}", name) for name in LINEAR]


def shown(row, file, value=None):
    """An output that Snakemake's own report shows where the product has a caption; a family's labels name its value."""
    if not row.caption:
        return file
    labels = {name: label if value is None else re.sub(r"{\w+}", value, label) for name, label in row.labels.items()}
    if row.subcategory:
        labels = {"subcategory": row.subcategory, "labels": labels}
    else:
        labels = {"labels": labels}
    return report(file, caption=f"{ROOT}/report/{row.caption}.rst", category=row.category, **labels)


def made(key):
    """A product's path, or the paths of a family; none where the study lacks it. Of every run: an input function."""
    row = product(key)
    if not row.when(config):
        return []
    if "seed" in row.wildcards:
        arms = {name: arm for name, arm in ARMS.items() if row.of_framework(frameworks.load(arm.framework))}
        return runs(f"<results>/{row.path}", arms)
    paths = [f"<results>/{file}" for file in row.paths(config)]
    return paths if row.each else paths[0]


def inputs(**keys):
    """The products of these keys, as inputs; a list of keys gives those that the study has."""
    return {
        name: [made(each) for each in key if made(each)] if isinstance(key, list) else made(key)
        for name, key in keys.items()
    }


def outputs(rule):
    """Products of the study that a rule makes, as its outputs; all of its products where the study has none."""
    found = {}
    for row in chosen(config, rule=rule) or chosen(None, rule=rule):
        if row.each:
            values = [
                str(value).replace("_", " ") if "name" in row.wildcards else str(value) for value in row.each(config)
            ]
            files = [f"<results>/{file}" for file in row.paths(config)]
            found[row.output or row.key] = [shown(row, *pair) for pair in zip(files, values)]
        else:
            found[row.output or row.key] = shown(row, f"<results>/{row.path}")
    return found


def recorded():
    """What guests add to what the settings and the provenance record, as inputs."""
    return {name: [f"<results>/{file}" for file in files] for name, files in merged("recorded", config).items()}


def parity(*splits):
    """The proofs that two frameworks see the same token ids, which a framework's own rules may offer."""
    return []


def finished(wildcards):
    """An input function of `all`: what the page links to and rests on, so that what was deleted is made again.

    Where only the page was asked for, Snakemake would not miss them. Not what a job measured of itself: a training is
    not repeated for a lost benchmark.
    """
    asked = [value for name, value in (PAGE | recorded()).items() if name != "training_benchmarks"]
    asked += [made(row.key) for row in chosen(config, derived=True) if row.each or not row.wildcards]
    asked += [made(name) for name in ("run_histories", "run_selections", "seals")]
    asked += [linear(f"<results>/predictions/{{arm}}/seed0.{ending}") for ending in ("tsv", "json")]
    asked += [linear(f"<results>/finetuning/{{arm}}/seed0/{name}.json") for name in ("run", "selected")]
    files = []
    for value in asked:
        files += value(wildcards) if callable(value) else [value] if isinstance(value, str) else value
    return list(dict.fromkeys(path(file) for file in files))


def grow(amount):
    """A resource that grows with the attempt, should the profile grant a second one.

    Args:
        amount: memory in MB (int), or a time such as "4h" (str).
    """
    number, unit = (int(amount[:-1]), amount[-1]) if isinstance(amount, str) else (amount, None)
    return lambda wildcards, attempt: f"{number * attempt}{unit}" if unit else number * attempt


def unwatched(value):
    """A parameter that no result depends on: as a function of `threads`, its change reruns nothing."""
    return lambda wildcards, threads: value


def retrieved(*urls):
    """Where addresses lie once retrieved: laid out as in a mirror."""
    return [f"<resources>/{mirror_path(url)}" for url in urls]


def state(place):
    """Where a job keeps the state that the next one resumes from after a kill: no output, since those are wiped."""
    return os.path.join(RESULTS, "state", place)


def checkpoint_of_folder():
    """The three files of `checkpoint.folder`.

    Where they are missing, the study's earlier copy must not serve unnoticed: it may be of another checkpoint. It serves
    where the command names the rules that may run (`make regenerate`); Snakemake knows them only once it has read these.
    """
    missing = USES_CHECKPOINT and missing_checkpoint(config)
    named = any(word.partition("=")[0] == "--allowed-rules" for word in sys.argv)
    if missing and (not named or any(word.endswith("copy_checkpoint") for word in sys.argv)):
        raise WorkflowError(
            f"configuration: checkpoint.folder: there is no {missing}; name a folder that holds "
            f"{', '.join(CHECKPOINT_FILES)}, or run the study first that makes it (a copy that this study made "
            "earlier serves `make regenerate` only)"
        )
    if missing and workflow.is_main_process:
        logger.info(f"checkpoint.folder: there is no {missing}; the study's own copy is used instead")
    return [local(file) for file in checkpoint_files(config["checkpoint"]["folder"], kept_updates(config))]


# Of the study's local tables, and of the files of models from a folder: a change is a parameter's and reruns.
DIGESTS = Digests(RESULTS)
TABLE_DIGESTS = {}
if config["data"]["source"] == "table":
    TABLE_DIGESTS = DIGESTS.of_all(file for _, file in table_files(config["data"]["table"]) if not is_address(file))
# Here and not in `onstart`, which does not run where nothing is to be done.
if workflow.is_main_process and "--unlock" not in sys.argv:
    places = [([mirror_path(url) for url in each["urls"]], record_path(each["urls"])) for each in RETRIEVALS.values()]
    folders = {name: model.get("folder") for name, model in config["finetuning"]["models"].items()}
    taken = {name: DIGESTS.of_all(visible_files(folder)) for name, folder in folders.items() if folder}
    try:
        trained = {name: arm_settings(config["finetuning"], name) for name in config["finetuning"]["arms"]}
        check_fresh(RESULTS, config, TABLE_DIGESTS, hides_changes(sys.argv), taken, trained)
        check_downloads(RESOURCES, places, DIGESTS.of)
        check_folder(RESULTS, DIGESTS.of, planned=True)
    except StudyError as error:
        raise WorkflowError(f"configuration: {error}")


def source_files():
    """The files of the data source. A table's that lies on this machine is missed before anything is planned.

    But not where the command names the rules that may run, none of which reads it (`make regenerate`).
    """
    if config["data"]["source"] != "table":
        return retrieved(*source_addresses(config["data"]))
    found = table_files(config["data"]["table"])
    named = any(word.partition("=")[0] == "--allowed-rules" for word in sys.argv)
    for split, file in found:
        if workflow.is_main_process and not (named or is_address(file)) and (fault := missing_file(file)):
            raise WorkflowError(f"configuration: data.table.{split}: {fault}")
    return [retrieved(file)[0] if is_address(file) else local(file) for _, file in found]


def table_settings():
    """The settings of a table of texts, with its files in their order and the split of each; None: another source."""
    if config["data"]["source"] != "table":
        return None
    table = config["data"]["table"]
    splits, files = zip(*table_files(table))
    # A parameter that a study of single texts lacks, so that its splits are as they were.
    keys = ["text", "label", "language", "licence", *(["second"] if table["second"] is not None else [])]
    keys += ["quoting"] if table["quoting"] != "auto" else []
    return {key: table[key] for key in keys} | {
        "splits": list(splits),
        "files": list(files),
    }


def of_part(pattern):
    """An input function that gives the pattern's paths for the splits of a part."""
    return lambda wildcards: expand(pattern, split=PARTS[wildcards.part])


def run_checkpoints(folder):
    """The output of a run's checkpoints: they go once one is selected, unless the study keeps or scores them all."""
    return directory(folder) if KEEPS_CHECKPOINTS else temp(directory(folder))


def names_of(*names):
    """The names of the arms of frameworks."""
    return [name for name, arm in ARMS.items() if arm.framework in names]


def of_framework(*names):
    """A constraint of the wildcard `arm`: the arms of frameworks, or none."""
    return "|".join(map(re.escape, names_of(*names))) or "(?!)"


def framework_digest(name, *modules):
    """A parameter: a digest of modules of a framework, which a script finds by the framework's name."""
    return [file_digest(os.path.join(ROOT, "scripts", "frameworks", name, f"{module}.py")) for module in modules]


def model_folder(name):
    """The Hugging Face folder of a model."""
    return path("<results>/checkpoint/huggingface" if name == CHECKPOINT else f"<results>/finetuning/models/{name}")


def start_folder(arm):
    """The Hugging Face folder that an arm starts from."""
    update = config["finetuning"]["arms"][arm].get("at_update")
    return path(f"<results>/checkpoint/kept/update{update}/huggingface") if update else model_folder(ARMS[arm].model)


def model_files(wildcards):
    """The files that a model of another's is taken from: its folder, or its files from the hub."""
    model = config["finetuning"]["models"][wildcards.model]
    if model.get("folder"):
        # Each of its own: the folder itself does not change where a file in it is written over.
        return [local(file) for file in visible_files(model["folder"])] or [local(model["folder"])]
    return [path(file) for file in retrieved(*hub_addresses(model))]


def model_digests(wildcards):
    """A parameter: the SHA-256 of every file of a model's folder; None of a model from the hub, whose files are pinned."""
    folder = config["finetuning"]["models"][wildcards.model].get("folder")
    return DIGESTS.of_all(visible_files(folder)) if folder else None


def tokenizer_of(wildcards):
    """The folder of a model's tokenizer."""
    return path("<results>/checkpoint/tokenizer") if wildcards.model == CHECKPOINT else model_folder(wildcards.model)


def token_ids(split):
    """An input function: a split's token ids by the tokenizer of the arm's model."""
    return lambda wildcards: path(f"<results>/finetuning/token-ids/{ARMS[wildcards.arm].model}/{split}.npz")


def training_split(arm):
    """The split that an arm learns from."""
    n_train = config["finetuning"]["arms"][arm].get("n_train")
    return f"train-{n_train}" if n_train else "train"


def training_texts(ending):
    """An input function: a file of the split that an arm learns from, of its texts (`review`) or labels (`label`)."""
    return lambda wildcards: path(f"<results>/data/{training_split(wildcards.arm)}.{ending}")


def training_ids(wildcards):
    """The token ids that an arm learns from, by the tokenizer of its model."""
    return token_ids(training_split(wildcards.arm))(wildcards)


def facts_of_arm(wildcards):
    """A parameter: what is known of the wildcard's arm."""
    return ARMS[wildcards.arm]._asdict()


def start_of_arm(wildcards):
    """A parameter: where the settings say that the wildcard's arm starts from."""
    model = ARMS[wildcards.arm].model
    if model != CHECKPOINT:
        return {"source": "model", **config["finetuning"]["models"][model]}
    return {key: config["checkpoint"][key] for key in ("source", "folder", "fetch")}


def first_run(name, file):
    """A file of the run that stands for a framework, as an input's name and path."""
    arm, seed = FIRST_RUNS[name]
    return path(f"<run>/{file}").format(arm=arm, seed=seed)


def class_names(wildcards):
    """A parameter: `data.labels`, whose braces are none of Snakemake's wildcards (see `prompt_template`)."""
    return config["data"]["labels"]


def script_name(rule):
    """A rule's name as this project has it: its script's. A module's importer may rename the rule (`study_*`)."""
    folder, name = os.path.split(os.path.splitext(rule.script)[0])
    room, framework = os.path.split(folder)
    return f"{STEPS[name]}_{framework}" if os.path.basename(room) == "frameworks" and name in STEPS else name


def script_path(rule):
    """The path of a rule's script, which the rule's own file names from where it is."""
    return os.path.normpath(os.path.join(os.path.dirname(str(rule.snakefile)), rule.script))


def constrain_outputs(each):
    """Constrain the wildcards of a rule's outputs: Snakemake 9.27 leaves those of a path variable free (`sweep/rank2`).

    Not by `Rule.update_wildcard_constraints`: with object storage that takes the local paths anew from addresses made
    before the constraints, and so loses all of them.
    """
    for place, file in enumerate(each.output):
        pattern = update_wildcard_constraints(file, each.wildcard_constraints, workflow.wildcard_constraints)
        each.output[place] = IOFile(pattern, rule=each)
        each.output[place].clone_flags(file, skip_storage_object=True)
        if file.is_storage:
            each.output[place].flags["storage_object"] = file.storage_object


def complete_rules():
    """Give all rules with a script a log, a benchmark, a digest of its helpers and isolation, so that none need say so.

    Log and benchmark are named after the script and the wildcards (`<logs>/finetune_lora/rank16/seed1.log`). The digest
    is a parameter, so that an edit to a helper reruns its scripts; not an input, or a study of thousands of runs would
    look at the same few files once for each of them. Another parameter keeps foreign packages from the script.
    Tables, figures and the page take seconds: what runs in their environment is no job for a cluster.
    """
    # Without those of another workflow that has this one as a module.
    for each in filter(lambda rule: rule.script, workflow.modifier.rules):
        if "script" in dict(each.params.items()):
            each.script = each.script.replace("{params.script}", each.params.script)
        numbered = {"seed": "seed{seed}"}
        wildcards = dict.fromkeys(re.findall(r"{(\w+)", str(each.output[0])))
        place = os.path.join(script_name(each), *(numbered.get(name, f"{{{name}}}") for name in wildcards))
        modifier = workflow.modifier.path_modifier
        if not each.log:
            each.log_modifier = modifier
            each.set_log(f"<logs>/{place}.log")
        if not each.benchmark:
            each.benchmark_modifier = modifier
            each.benchmark = f"<benchmarks>/{place}.tsv"
        each.set_params(helpers=helpers_digest(script_path(each), CHOOSING), isolation=Isolation())
        constrain_outputs(each)
        if os.path.basename(str(each.conda_env)) == "report.yaml":
            workflow.localrules(each.name)
            each.ruleinfo.localrule = True


def tell_full_disk(folder):
    """Say so where Snakemake itself could not write its records: it speaks of permissions."""
    if has_full_disk(folder):
        print(explain(OSError(errno.ENOSPC, ""), "all", RESULTS), file=sys.stderr)


def check_settings():
    """Compare the settings with those that the results were made with; return a notice, or ''."""
    choices, record = workflow.dag_settings, os.path.join(RESULTS, "settings.json")
    if not os.path.isfile(record):
        return ""
    return check_recorded(config, record, RerunTrigger.PARAMS in choices.rerun_triggers and not choices.allowed_rules)


def planned_retrievals():
    """The shared files that planned jobs will make."""
    outputs = [str(path) for job in workflow.dag.needrun_jobs() for path in job.output]
    return [path for path in outputs if path.startswith(f"{RESOURCES}/")]


def finished_runs(measure):
    """The names of the finished runs that a measure scores, wherever their records lie."""
    room = measures.of_guests().get(measure, "finetuning")
    jobs = [job for job in workflow.dag.jobs if "run" in job.output.keys() and not workflow.dag.needrun(job)]
    # Where results lie in a bucket, only the jobs tell.
    records = [str(job.output.run) for job in jobs] + glob(f"{escape(RESULTS)}/{room}/*/seed*/run.json")
    found = {run_of(path) for path in records if f"/{room}/" in path}
    # Simple models are fitted in seconds, and their answers say little of the arms'.
    return {run_label(*run) for run in found if run[0] not in LINEAR}


def planned_need():
    """What the planned jobs will write, by kind, in bytes."""
    # Another workflow that has this one as a module may have rules of its own.
    rules = os.path.join(ROOT, "rules", "")
    jobs = [job for job in workflow.dag.needrun_jobs() if str(job.rule.snakefile).startswith(rules)]
    retrievals = [job for job in jobs if "sizes" in job.params.keys()]

    def size_of(url):
        return expected(PINS, url)[1]

    return disk_need(
        Counter(script_name(job.rule) for job in jobs if job.rule.script),
        config,
        downloads=sum(size or 0 for job in retrievals for size in job.params.sizes),
        corpus=corpus_bytes(config["checkpoint"]["corpus"], size_of),
        at_once=workflow.resource_settings.cores or workflow.resource_settings.nodes or 1,
        models=model_bytes(config, size_of),
    )


onstart:
    # Of the main process only: a job's own Snakemake is part of the same workflow.
    if workflow.is_main_process:
        try:
            # Absolute: Snakemake has left its working directory by then.
            atexit.register(tell_full_disk, os.path.abspath(RESULTS))
            hold(RESULTS, planned_retrievals())
            hold_shared(RESOURCES)
            claim(RESULTS, workflow.overwrite_configfiles)
            register(RESULTS, asked_by(config), finished_runs)
            DIGESTS.save()
            if notice := check_settings():
                logger.warning(notice)
            for file in workflow.overwrite_configfiles:
                for key, reason in unused_keys(read_settings(file), config).items():
                    logger.warning(f"{file}: {key} is not read, because {reason}")
            logger.info(check_disk(planned_need(), RESULTS))
        except (StudyError, OSError) as error:
            raise WorkflowError(explain(error, "all", RESULTS) or str(error))
