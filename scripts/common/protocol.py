"""What each framework trains with: the study's settings in both (matched), or each one's own defaults (published)."""


def framework_settings(sentiment, framework):
    """Return the settings of a framework's fine-tuning.

    `matched`: the config's `finetuning`, and a classification head drawn as PyTorch's `nn.Linear` (fairseq's way)
    without dropout of its own, in both frameworks; Hugging Face without its token-type vector, which fairseq's model
    has not. `published`: fairseq likewise; Hugging Face with the defaults of the `run_glue` example: betas
    (0.9, 0.999), no weight decay, gradients clipped at norm 1, a head drawn as BERT's and with the dropout of the
    states, a token-type vector; both with batches at random.

    Args:
        sentiment: config section `sentiment`.
        framework: "fairseq" or "huggingface".

    Returns:
        dict: `finetuning` with `classifier_dropout` (share), `head_initialisation` ("linear" or "bert"), and
        `init_seed` and `data_seed` as `sentiment` has them, for Hugging Face `token_types` (whether the vector that it
        adds to every token is drawn and trained); without `save_every`, which no result depends on.

    Source: the course's handout; transformers' `TrainingArguments` and `RobertaConfig`.
    """
    settings = {key: value for key, value in sentiment["finetuning"].items() if key != "save_every"}
    settings |= {"classifier_dropout": 0.0, "head_initialisation": "linear"}
    settings |= {key: sentiment[key] for key in ("init_seed", "data_seed")}
    if framework == "huggingface":
        settings["token_types"] = False
    if sentiment["protocol"] == "published":
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


def run_seeds(settings, seed):
    """Return the seeds of a run's weights that are not loaded and of its order of reviews; dropout has the run's own.

    Args:
        settings: what `framework_settings` returns.
        seed: of the run.

    Returns:
        dict: init_seed, data_seed: the run's seed where the settings have none (null).
    """
    return {key: seed if settings[key] is None else settings[key] for key in ("init_seed", "data_seed")}
