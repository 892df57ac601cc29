"""What each framework trains with: the study's settings in both (matched), or each one's own defaults (published)."""


def framework_settings(finetuning, framework):
    """Return the settings of a framework's fine-tuning.

    `matched`: the config's `finetuning.training`, and a classification head drawn as PyTorch's `nn.Linear` (fairseq's
    way) without dropout of its own, in both frameworks; Hugging Face without its token-type vector, which fairseq's
    model lacks. `published`: fairseq likewise; Hugging Face with the defaults of the `run_glue` example: betas
    (0.9, 0.999), no weight decay, gradients clipped at norm 1, a head drawn as BERT's and with the dropout of the
    states, a token-type vector; both with batches at random.

    Args:
        finetuning: config section `finetuning`.
        framework: "fairseq" or "huggingface".

    Returns:
        dict: `finetuning` with `classifier_dropout` (share), `head_initialisation` ("linear" or "bert"), and
        `init_seed` and `data_seed` as `finetuning` has them, for Hugging Face `token_types` (whether the vector that it
        adds to every token is drawn and trained); `macro_f1` where that
        chooses the epoch; without `save_every`, which no result depends on.

    Source: the course's handout; transformers' `TrainingArguments` and `RobertaConfig`.
    """
    settings = {key: value for key, value in finetuning["training"].items() if key != "save_every"}
    settings |= {"classifier_dropout": 0.0, "head_initialisation": "linear"}
    settings |= {key: finetuning[key] for key in ("init_seed", "data_seed")}
    if finetuning.get("select_by") == "macro_f1":
        # Only then does a history have it, so that no other study's changes.
        settings["macro_f1"] = True
    if framework == "huggingface":
        settings["token_types"] = False
    if finetuning["protocol"] == "published":
        settings["batching"] = "random"
        if framework == "huggingface":
            settings |= {
                "betas": [0.9, 0.999],
                "weight_decay": 0.0,
                "clip_norm": 1.0,
                "classifier_dropout": settings["dropout"],
                "head_initialisation": "bert",
                "token_types": True,
            }
    return settings


def arm_settings(finetuning, name):
    """Return the settings of an arm's fine-tuning: its framework's, and over them what the arm itself says.

    Args:
        finetuning: config section `finetuning`.
        name: of the arm.

    Returns:
        dict: as `framework_settings`, with `freeze` or `lora` where the arm has them.
    """
    arm = finetuning["arms"][name]
    training = arm.get("training") or {}
    study = finetuning | {
        "protocol": arm.get("protocol") or finetuning["protocol"],
        "training": finetuning["training"] | training,
    }
    own = {key: value for key, value in training.items() if key != "save_every"}
    own |= {key: arm[key] for key in ("freeze", "lora") if arm.get(key) is not None}
    return framework_settings(study, arm["framework"]) | own


def arm_training(finetuning, name):
    """Return `finetuning.training` as an arm has it."""
    return finetuning["training"] | (finetuning["arms"][name].get("training") or {})


def run_seeds(settings, seed):
    """Return the seeds of a run's weights that are not loaded and of its order of reviews; dropout has the run's own.

    Args:
        settings: what `framework_settings` returns.
        seed: of the run.

    Returns:
        dict: init_seed, data_seed: the run's seed where the settings have none (null).
    """
    return {key: seed if settings[key] is None else settings[key] for key in ("init_seed", "data_seed")}
