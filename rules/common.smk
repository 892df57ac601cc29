"""Shared by the rules of every room: the study's settings, its paths, each rule's common parts; no rules."""

import re
import shutil
import sys

# This project's folder, also where another workflow uses it as a module.
ROOT = os.path.dirname(workflow.current_basedir.get_path_or_uri(secret_free=True))
if not os.path.isdir(ROOT):
    raise WorkflowError(
        f"{ROOT}: this workflow runs from a clone; clone it, and name the clone's Snakefile in `module`"
    )
sys.path.insert(0, os.path.join(ROOT, "scripts"))

import measures
import tasks
from common.arms import CHECKPOINT, arms_in, uses_checkpoint
from common.errors import StudyError
from common.faults import explain
from common.machine import commit
from finetuning.study_start import Start, refusing
from frameworks import NONE
from study.addresses import retrievals
from study.baselines import linear_arms
from study.configuration import check_file, check_study, with_defaults
from study.pins import mirror_path
from study.freshness import Digests
from study.guests import gathered, guests, merged
from study.isolation import leave_out_home, pin_build_tools
from study.seed_plans import plan_of, trained_seeds
from study.modules import file_digest
from study.ownership import check_named
from study.products import chosen, generated_rules, product
from study.rule_completion import complete_rules
from study.run_files import RunFiles, framework_files
from study.spread import draw_in, with_source_arms
from study.source_files import checkpoint_of_folder, local_tables, other_source, source_files, table_settings
from study.terminal import install

TERMINAL = install(workflow)

try:
    for file in workflow.overwrite_configfiles:
        check_file(file)
    # A profile or the Makefile would not suffice: every job's Snakemake reads this again, on any machine.
    leave_out_home()
    pin_build_tools()
    check_named(config, workflow.overwrite_configfiles)
    # `configfile` would not suffice: a study's arms replace the default ones, and a module's settings would replace
    # all.
    config = with_defaults(config, ROOT)
    PINS = check_study(config, ROOT)
    RETRIEVALS = retrievals(config, PINS)
except StudyError as error:
    raise WorkflowError(str(error))
# Trainings also record the leading measure, and know the arms of `sources`, which no table of the study's arms has.
FINETUNING = with_source_arms(config)["finetuning"] | {"measure": config["measure"]}


pathvars:
    results=f"results/{config['study']}",
    logs="<results>/logs",
    benchmarks="<results>/benchmarks",
    run="<results>/finetuning/{arm}/seed{seed}",


wildcard_constraints:
    arm="|".join(map(re.escape, [*FINETUNING["arms"], *gathered("arms", config)])),
    model="|".join(map(re.escape, ["checkpoint", *config["finetuning"]["models"]])),
    seed=r"\d+",
    look=r"\d+",
    split=r"test|(train|valid|train-\d+)(-seed\d+)?",
    part=r"test|train(-\d+)?-valid(-seed\d+)?",
    n_train=r"\d+",


# They are kept, because `workflow` has those of an importing workflow once the rules are read.
PATHVARS = workflow.pathvars
# A module's `prefix` is put before the files of rules; parameters and locks also need it.
RESULTS, RESOURCES = (
    workflow.modifier.path_modifier.replace_prefix(PATHVARS.apply(folder)) for folder in ("<results>", "<resources>")
)

if TERMINAL:
    TERMINAL.results, TERMINAL.config = RESULTS, config

# A training job asks for a GPU where this machine has one; on a cluster the profile asks (`set-resources`).
GPU = int(shutil.which("nvidia-smi") is not None)

# Parameters of rules where another measure than accuracy leads.
LED = {} if config["measure"] == measures.DEFAULT else {"measure": config["measure"]}
# The files of the measures that choose epochs or lead, which scripts load by name.
CHOOSING = [
    measures.file(name) for name in dict.fromkeys([FINETUNING["select_by"], *measures.unrecorded(config["measure"])])
]
ARMS = arms_in(config)
SEEDS = config["finetuning"]["seeds"]
LOOKS = config["finetuning"].get("looks")
# The simple models, of one run each.
LINEAR = linear_arms(config["finetuning"])
# The models that arms start from, and those among them that are external (`finetuning.models`).
STARTS = list(dict.fromkeys(arm.model for arm in ARMS.values() if arm.model != NONE))
FOREIGN = [name for name in STARTS if name != CHECKPOINT]
# Where no arm does, nothing of the checkpoint is made.
USES_CHECKPOINT = uses_checkpoint(config)
SPLITS = ("train", "valid", "test")
# Sizes of the subsets that arms learn from, where not from all training reviews; each is a split, such as `train-300`.
SUBSETS = sorted({arm["n_train"] for arm in config["finetuning"]["arms"].values() if arm.get("n_train")})
ALL_SPLITS = (*SPLITS, *(f"train-{n}" for n in SUBSETS))
# True where the weights of every epoch are kept.
KEEPS_CHECKPOINTS = config["finetuning"]["keep_checkpoints"] or config["finetuning"]["evaluation"]["test_curves"]
# A job on another machine has the code and no repository.
COMMIT = os.environ["STUDY_COMMIT"] = commit(ROOT) or os.environ.get("STUDY_COMMIT", "")


envvars:
    "STUDY_COMMIT",


def path(pattern):
    """A path with its path variables filled in, where Snakemake does not do it: from an input function."""
    return PATHVARS.apply(pattern)


def runs(pattern, arms=None):
    """An input function that gives the pattern's paths for every seed of the arms, by default all of the study's.

    Not the list itself: beside the outputs of other rules Snakemake would hash the whole list again for each of its
    members, and planning would grow with the square of the seeds.
    """
    pattern = path(pattern)

    def paths(wildcards):
        seeds = seeds_of_arms(wildcards)
        return [
            pattern.format(arm=name, framework=arm.framework, seed=seed)
            for name, arm in (ARMS if arms is None else arms).items()
            for seed in seeds[name]
        ]

    fixed = None if LOOKS else paths(None)
    return paths if LOOKS else lambda wildcards: fixed


def seeds_of_arms(wildcards):
    """The seeds of each arm, {name: seeds}; of a study with looks those that its questions need."""
    # While a look's table is missing, Snakemake runs the look and asks again.
    verdicts = lambda look: checkpoints.judge_look.get(look=look).output[0]
    return trained_seeds(config, verdicts, wildcards.get("look") if LOOKS else None)


def linear(pattern):
    """The pattern's paths for every simple model."""
    return [pattern.replace("{arm}", name) for name in LINEAR]


def shown(row, file, value=None):
    """An output that Snakemake's own report shows where the product has a caption; a family's labels name its value."""
    if not row.caption:
        return file
    led = {name: label.replace("{leading}", config["measure"]) for name, label in row.labels.items()}
    labels = {name: label if value is None else re.sub(r"{\w+}", value, label) for name, label in led.items()}
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
        return runs(f"<results>/{row.file(config)}", arms)
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
            found[row.output or row.key] = shown(row, f"<results>/{row.file(config)}")
    return found


def recorded():
    """The additions of guests to the records of settings and provenance, as inputs."""
    return {name: [f"<results>/{file}" for file in files] for name, files in merged("recorded", config).items()}


def parity(*splits):
    """The proofs that two frameworks see the same token ids, which a framework's rules may offer."""
    return []


def finished(wildcards):
    """An input function of `all`: the files that the page uses and links to, so that deleted ones are made again.

    Where only the page was asked for, Snakemake would not miss them. Not what a job measured of itself: a training is
    not repeated for a lost benchmark.
    """
    asked = [value for name, value in (PAGE | recorded()).items() if name != "training_benchmarks"]
    asked += [made(row.key) for row in chosen(config, derived=True) if row.each or not row.wildcards]
    asked += [*map(made, ("run_histories", "run_selections", "seals")), *RUN_FILES.records_of_sources().values()]
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
    """The places of retrieved addresses, laid out as in a mirror."""
    return [f"<resources>/{mirror_path(url)}" for url in urls]


def state(place):
    """The place of the state that a killed job resumes from: no output, since those are wiped."""
    return os.path.join(RESULTS, "state", place)


def run_checkpoints(folder):
    """The output of a run's checkpoints: they go once one is selected, unless the study keeps or scores them all."""
    return directory(folder) if KEEPS_CHECKPOINTS else temp(directory(folder))


def framework_digest(name, *modules):
    """A parameter: a digest of modules of a framework."""
    return [file_digest(file) for file in framework_files(ROOT, name, *modules)]


def first_run(name, file):
    """A file of the run that stands for a framework, as an input's name and path."""
    arm, seed = FIRST_RUNS[name]
    return path(f"<run>/{file}").format(arm=arm, seed=seed)


def class_names(wildcards):
    """A parameter: `data.labels`, whose braces are none of Snakemake's wildcards (see `prompt_template`)."""
    return config["data"]["labels"] if tasks.load(tasks.name_of(config)).NAMED else []


# Parameters of rules where labels are no classes.
TASK = {} if tasks.name_of(config) == tasks.DEFAULT else {"task": tasks.name_of(config)}


DIGESTS = Digests(RESULTS)
# A change of the study's local tables changes this parameter and reruns.
TABLE_DIGESTS = DIGESTS.of_all(local_tables(config["data"]))
RUN_FILES = RunFiles(config, path, retrieved, DIGESTS.of_all)
START = Start(workflow, config, ROOT, (RESULTS, RESOURCES), PINS, DIGESTS)
if workflow.is_main_process:
    START.clear(KEEPS_CHECKPOINTS)
    if "--unlock" not in sys.argv:
        refusing(START.check_records, TABLE_DIGESTS, RETRIEVALS)


onstart:
    if workflow.is_main_process:
        try:
            START.begin(logger)
        except (StudyError, OSError) as error:
            raise WorkflowError(explain(error, "all", RESULTS) or str(error))
