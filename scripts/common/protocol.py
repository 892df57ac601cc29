"""What each framework trains with: the study's settings in both (matched), or each one's own defaults (published)."""


def framework_settings(sentiment, framework):
    """Return the settings of a framework's fine-tuning.

    `matched`: the config's `finetuning`, and a classification head drawn as PyTorch's `nn.Linear` (fairseq's way)
    without dropout of its own, in both frameworks. `published`: fairseq likewise; Hugging Face with the defaults
    of the `run_glue` example: betas (0.9, 0.999), no weight decay, gradients clipped at norm 1, a head drawn as
    BERT's and with the dropout of the states; both with batches at random.

    Args:
        sentiment: config section `sentiment`.
        framework: "fairseq" or "huggingface".

    Returns:
        dict: `finetuning` with `classifier_dropout` (share) and `head_initialisation` ("linear" or "bert").

    Source: the course's handout; transformers' `TrainingArguments` and `RobertaConfig`.
    """
    settings = {**sentiment["finetuning"], "classifier_dropout": 0.0, "head_initialisation": "linear"}
    if sentiment["protocol"] == "published":
        settings["batching"] = "random"
        if framework == "huggingface":
            settings |= {
                "betas": [0.9, 0.999],
                "weight_decay": 0.0,
                "clip_norm": 1.0,
                "classifier_dropout": settings["dropout"],
                "head_initialisation": "bert",
            }
    return settings
