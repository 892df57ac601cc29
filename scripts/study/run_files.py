"""The files of arms, models and splits: input functions and parameters of the rules."""

import math
import os
import re

from snakemake.io import local

import frameworks
from common.arms import CHECKPOINT, arms_in, run_label
from study.addresses import hub_addresses, kept_file
from study.freshness import visible_files
from study.pretrainings import folder_of, further_folder, start_name, starts, starts_there
from study.products import product
from study.spread import source_runs, source_starts, with_source_arms
from study.variation import draw_of, of_arm

# The records of a run, by their names in rule aggregate_runs.
RECORDS = {
    "records": "run_records",
    "selected": "run_selections",
    "histories": "run_histories",
    "predictions": "predictions",
    "seals": "seals",
}


class RunFiles:
    """The files that a run reads, by its arm.

    Attributes:
        path: function that fills the path variables of a pattern.
        retrieved: function of addresses: where they are kept once retrieved.
        digest: function of files: their SHA-256 by path.
        finetuning, checkpoint: these sections of the settings, grids written out, with the arms of `sources`.
        arms: {name: `common.arms.Arm`}, those among them.
        source_runs: (arm, seed) of every run of `sources`.
        starts: {(arm, seed as text): (seed, folder) of its pretraining}; a run that is not in it has the first.
    """

    def __init__(self, config, path, retrieved, digest):
        """Store the settings and the functions of the rules."""
        self.path, self.retrieved, self.digest = path, retrieved, digest
        self.source_runs, arms = source_runs(config), config["finetuning"]["arms"]
        every = {(arm, str(seed)): start for arm in arms for seed, start in starts(config).items()}
        every |= source_starts(config)
        self.starts = {run: (seed, folder_of(config, seed)) for run, seed in every.items()}
        config = with_source_arms(config)
        self.finetuning, self.checkpoint, self.arms = config["finetuning"], config["checkpoint"], arms_in(config)

    def arm(self, wildcards):
        """Return the settings of the wildcard's arm."""
        return self.finetuning["arms"][wildcards.arm]

    def model_folder(self, name):
        """Return the Hugging Face folder of a model."""
        return self.checkpoint_folder() if name == CHECKPOINT else self.path(f"<results>/finetuning/models/{name}")

    def checkpoint_folder(self, folder="", update=None):
        """Return the Hugging Face folder of a pretraining's weights.

        Args:
            folder: of `study.pretrainings.folder_of`; '': the first pretraining.
            update: of the pretraining; None: the last.
        """
        return self.path(f"<results>/checkpoint/{folder}{f'kept/update{update}/' if update else ''}huggingface")

    def pretraining(self, wildcards):
        """Return (seed, folder) of the pretraining that a run starts from; (None, '') where all share one checkpoint.

        Runs that start at random take the sizes and the tokenizer of the first, whatever their seed.
        """
        there = starts_there(self.facts(wildcards))
        return self.starts.get((wildcards.arm, wildcards.seed), (None, "")) if there else (None, "")

    def checkpoint_file(self, wildcards):
        """Return the file of fairseq's checkpoint that a run starts from; None of a run that starts at random."""
        if self.arms[wildcards.arm].init != "pretrained":
            return None
        update, (_, folder) = self.arm(wildcards).get("at_update"), self.pretraining(wildcards)
        return self.path(f"<results>/checkpoint/{folder}{kept_file(update) if update else 'model.pt'}")

    def start_folder(self, wildcards):
        """Return the Hugging Face folder that the wildcards' run starts from."""
        (_, folder), update = self.pretraining(wildcards), self.arm(wildcards).get("at_update")
        if folder or update:
            return self.checkpoint_folder(folder, update)
        return self.model_folder(self.arms[wildcards.arm].model)

    def every_start(self, models, updates, seeds):
        """Return {name: Hugging Face folder} of all that runs start from, by the names of `finetuning.prove_weights`.

        Args:
            models: names of the models.
            updates: updates of the pretraining that arms start from, beside the last.
            seeds: seeds of the pretrainings beside the first.
        """
        found = {model: self.model_folder(model) for model in models}
        folders = {None: ""} | {seed: further_folder(seed) for seed in seeds}
        for seed, folder in folders.items() if CHECKPOINT in models else ():
            for update in (None, *updates):
                found[start_name(CHECKPOINT, update, seed)] = self.checkpoint_folder(folder, update)
        return found

    def further_starts(self):
        """Return {run, as `common.arms.run_label`: seed of its pretraining} where that is not the first."""
        there = {name for name, arm in self.arms.items() if starts_there(arm._asdict())}
        return {run_label(*run): seed for run, (seed, folder) in self.starts.items() if folder and run[0] in there}

    def model_files(self, wildcards):
        """Return the files of an external model: its folder, or its files from the hub."""
        model = self.finetuning["models"][wildcards.model]
        if model.get("folder"):
            # Each file is listed, because a folder does not change where a file in it is overwritten.
            return [local(file) for file in visible_files(model["folder"])] or [local(model["folder"])]
        return [self.path(file) for file in self.retrieved(*hub_addresses(model))]

    def model_digests(self, wildcards):
        """Return the SHA-256 of every file of a model's folder; None of a model of the hub, which is pinned."""
        folder = self.finetuning["models"][wildcards.model].get("folder")
        return self.digest(visible_files(folder)) if folder else None

    def tokenizer(self, wildcards):
        """Return the folder of a model's tokenizer."""
        if wildcards.model == CHECKPOINT:
            return self.path("<results>/checkpoint/tokenizer")
        return self.model_folder(wildcards.model)

    def token_ids(self, split):
        """Return an input function: a split's token ids by the tokenizer of the arm's model."""
        return lambda wildcards: self.path(
            f"<results>/finetuning/token-ids/{self.arms[wildcards.arm].model}/{self.drawn(split, wildcards)}.npz"
        )

    def of_sources(self, pattern):
        """Return the pattern's paths for every run of `sources`; none without it."""
        pattern = self.path(pattern)
        return [pattern.format(arm=name, seed=seed) for name, seed in self.source_runs]

    def records_of_sources(self):
        """Return {input of aggregate_runs: its paths of the runs of `sources`}."""
        return {name: self.of_sources(f"<results>/{product(key).path}") for name, key in RECORDS.items()}

    def with_sources(self, asked, pattern):
        """Return an input function: what another one gives, and the same of the runs of `sources`."""
        more = self.of_sources(pattern)
        return (lambda wildcards: [*asked(wildcards), *more]) if more else asked

    def features(self, wildcards, split):
        """Return a split's frozen features by the model of the wildcards' run."""
        arm, (_, folder) = self.arm(wildcards), self.pretraining(wildcards)
        return self.path(f"<results>/finetuning/features/{arm['model']}/{folder}{arm['features']}/{split}.npy")

    def training_split(self, wildcards):
        """Return the split that the wildcard's arm learns from."""
        n_train = self.arm(wildcards).get("n_train")
        return self.drawn(f"train-{n_train}" if n_train else "train", wildcards)

    def drawn(self, split, wildcards):
        """Return a split's name in a run: its seed's own, such as `valid-seed3`, where seeds draw texts."""
        draws = draw_of(of_arm(self.finetuning, wildcards.arm)) is not None
        return split if split == "test" or not draws or "-seed" in split else f"{split}-seed{wildcards.seed}"

    def of_valid(self, pattern):
        """Return an input function: the pattern's path, `{split}` being the one that chooses the run's epoch."""
        return lambda wildcards: self.path(pattern.replace("{split}", self.drawn("valid", wildcards)))

    def of_training_split(self, pattern):
        """Return an input function: the pattern's path, `{split}` being the one that the arm learns from."""
        return lambda wildcards: self.path(pattern.replace("{split}", self.training_split(wildcards)))

    def training_ids(self, wildcards):
        """Return the token ids that the wildcard's arm learns from."""
        return self.token_ids(self.training_split(wildcards))(wildcards)

    def further_files(self, wildcards):
        """Return the files that the wildcards' run reads beside the texts, by its framework's facts."""
        reads = frameworks.load(self.arms[wildcards.arm].framework).READS
        return [local(file) for file in reads(self.arm(wildcards), int(wildcards.seed))] if reads else []

    def placed(self, wildcards, key, default):
        """Return what the wildcard's arm says of where its jobs run, or the default."""
        value = self.arm(wildcards).get(key)
        return default if value is None else value

    def environment(self, name, root):
        """Return the environment of a framework's jobs, or where an arm may name one, a function of the wildcards."""
        facts = frameworks.load(name)
        usual = os.path.join(root, "envs", f"{facts.ENVIRONMENT}.yaml")
        if "conda" not in facts.PLACED:
            return usual
        return lambda wildcards: os.path.abspath(self.placed(wildcards, "conda", usual))

    def resources(self, name, mem_mb, hours):
        """Return the resources of a framework's jobs: an arm's, where it may say so, else these, by the attempt."""
        found = {
            "mem_mb": lambda wildcards, attempt: self.placed(wildcards, "mem_mb", mem_mb) * attempt,
            # The job's clock also runs while it starts and checks.
            "runtime": lambda wildcards, attempt: math.ceil(60 * self.placed(wildcards, "hours", hours) * attempt) + 5,
        }
        return found | ({"gpu": lambda wildcards: self.placed(wildcards, "gpu", 0)} if self.places(name, "gpu") else {})

    def places(self, name, key):
        """Tell whether the arms of a framework may say something of where their jobs run."""
        return key in frameworks.load(name).PLACED

    def limit(self, name, hours):
        """Return a parameter: how long a job may take, on which no result depends; none where no arm may say so."""
        if not self.places(name, "hours"):
            return {}
        return {"hours": lambda wildcards, threads: self.placed(wildcards, "hours", hours)}

    def further_params(self, name, hours):
        """Return what few frameworks' trainings have: `limit`, and the SHA-256 of the files beside the texts."""
        if not frameworks.load(name).READS:
            return self.limit(name, hours)
        digests = {"digests": lambda wildcards: self.digest(map(str, self.further_files(wildcards)))}
        return digests | self.limit(name, hours)

    def facts(self, wildcards):
        """Return the facts of the wildcard's arm: a parameter."""
        return self.arms[wildcards.arm]._asdict()

    def run_facts(self, wildcards):
        """Return the facts of a run's arm, with the seed of its pretraining where seeds differ in it: a parameter."""
        seed, _ = self.pretraining(wildcards)
        return self.facts(wildcards) | ({} if seed is None else {"checkpoint_seed": seed})

    def start(self, wildcards):
        """Return the start of the wildcard's arm in the settings: a parameter."""
        model = self.arms[wildcards.arm].model
        if model != CHECKPOINT:
            return {"source": "model", **self.finetuning["models"][model]}
        return {key: self.checkpoint[key] for key in ("source", "folder", "fetch")}

    def names_of(self, *frameworks):
        """Return the names of the arms of frameworks."""
        return [name for name, arm in self.arms.items() if arm.framework in frameworks]

    def of_framework(self, *frameworks):
        """Return a constraint of the wildcard `arm`: the arms of frameworks, or none."""
        return "|".join(map(re.escape, self.names_of(*frameworks))) or "(?!)"


def splits_of(part):
    """Return the splits of a part of binarized texts: of `train-300-valid-seed3`, train-300-seed3 and valid-seed3."""
    names, mark, seed = part.partition("-seed")
    train = names.removesuffix("-valid")
    return [f"{split}{mark}{seed}" for split in ((train, "valid") if train != names else (names,))]


def part_of(split):
    """Return the first part of binarized texts that holds a split, the inverse of `splits_of`."""
    name, mark, seed = split.partition("-seed")
    return name if name == "test" else f"{name.replace('valid', 'train')}-valid{mark}{seed}"


def framework_files(root, name, *modules):
    """Return the paths of modules of a framework, which a script finds by the framework's name."""
    return [os.path.join(root, "scripts", "frameworks", name, f"{module}.py") for module in modules]
