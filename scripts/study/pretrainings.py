"""Several pretrainings of the study's checkpoint (`checkpoint.pretraining.seeds`), and which runs start from which.

The first has the files of a study with one; those of another are in a folder of its seed. All share the tokenizer.
"""

from common.arms import CHECKPOINT

# The source of `finetuning.vary` by which each seed starts from a pretraining of its own.
SOURCE = "checkpoint"
# The settings of `checkpoint.pretraining` that other rules read, and those that a pretraining without them lacks.
APART = ("keep", "word_init", "seeds")
OPTIONAL = ("short_blocks", "first_token_weight")


def pretraining_seeds(config):
    """Return the seeds of the study's pretrainings: one, unless `seeds` lists several."""
    pretraining = config["checkpoint"]["pretraining"]
    return pretraining.get("seeds") or [pretraining["seed"]]


def further_seeds(config):
    """Return the seeds of the pretrainings beside the first."""
    return pretraining_seeds(config)[1:]


def settings_of(config, seed=None):
    """Return the settings of a pretraining, without those that do not affect it.

    Args:
        config: all settings.
        seed: of the pretraining; None: the first's.
    """
    found = {key: value for key, value in config["checkpoint"]["pretraining"].items() if key not in APART}
    found = {key: value for key, value in found.items() if value or key not in OPTIONAL}
    return found | {"seed": pretraining_seeds(config)[0] if seed is None else seed}


def varies_checkpoint(finetuning):
    """Return whether each seed starts from a pretraining of its own."""
    return SOURCE in finetuning.get("vary", ())


def uses_several(config):
    """Return whether runs start from several pretrainings: those of each seed, or those of `sources`."""
    return varies_checkpoint(config["finetuning"]) or any(SOURCE in one["vary"] for one in config.get("sources") or ())


def starts(config):
    """Return {seed of a run: seed of the pretraining that it starts from}; empty where all runs share one checkpoint.

    Args:
        config: all settings, the seeds written out as a list.
    """
    if not varies_checkpoint(config["finetuning"]):
        return {}
    return dict(zip(config["finetuning"]["seeds"], pretraining_seeds(config), strict=True))


def noted(config):
    """Return the pretrainings as a part of the plan of seeds that answers questions: {} where there is one."""
    several = varies_checkpoint(config.get("finetuning", {}))
    return {"pretrainings": pretraining_seeds(config)} if several else {}


def starts_there(arm):
    """Return whether the weights of an arm's runs are those of the study's checkpoint.

    Args:
        arm: its settings, or its `common.arms.Arm` as a dict.
    """
    return arm["model"] == CHECKPOINT and arm["init"] == "pretrained"


def folder_of(config, seed):
    """Return the folder of a pretraining's files below that of the checkpoint, with its slash; '' for the first."""
    return "" if seed == pretraining_seeds(config)[0] else further_folder(seed)


def further_folder(seed):
    """Return the folder of a further pretraining, below that of the checkpoint, with its slash."""
    return f"seed{seed}/"


def start_name(model, update=None, seed=None):
    """Return the name of what runs start from: a model, at an update of its pretraining, of a pretraining's seed.

    Args:
        model: its name among those that arms start from.
        update: of the pretraining; None: the last.
        seed: of the pretraining; None: the first.
    """
    return model + (f" at update {update}" if update else "") + (f" of seed {seed}" if seed is not None else "")


def leave_out(config):
    """Take `seeds` out of a study with one pretraining, in place: it is as if nobody knew the key."""
    if config["checkpoint"]["pretraining"].get("seeds") is None:
        config["checkpoint"]["pretraining"].pop("seeds", None)
