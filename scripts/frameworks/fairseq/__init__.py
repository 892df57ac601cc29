"""fairseq, with the study's tasks and criterion as a plug-in: facts."""

from frameworks.matched import OPTIONAL, matched_settings

LABEL = "fairseq"
RECIPE = "in the lab's recipe for fairseq"
TRAINER = "fairseq (and converted to this form)"
ENVIRONMENT = "fairseq"
INITS = ("pretrained", "random")
CHECKPOINTS = True
HOLDS_SOURCES = True
OPTIONS = tuple(OPTIONAL)
# Its model keeps the language-model head.
TERMS = ("head", "lm_head")
STEPS = {
    "binarize_texts": "frameworks/fairseq/binarize_texts.py",
    "finetune_fairseq": "frameworks/fairseq/train.py",
    "select_checkpoint": "finetuning/select_checkpoint.py",
    "evaluate_fairseq": "frameworks/fairseq/score.py",
}
# Its command lines always have these flags, which a person would leave out.
FLAG_DEFAULTS = {
    "--workers": "1",
    "--classification-head-name": "sentence_classification_head",
    "--encoder-layers": "4",
    "--encoder-embed-dim": "512",
    "--encoder-ffn-embed-dim": "512",
    "--encoder-attention-heads": "8",
    "--dropout": "0.1",
    "--attention-dropout": "0.1",
    "--pooler-dropout": "0.0",
    "--adam-betas": "(0.9, 0.98)",
    "--adam-eps": "1e-08",
    "--weight-decay": "0.0",
    "--clip-norm": "0.0",
    "--batching": "random",
    "--autocast": "float32",
    "--seed": "1",
    "--init-seed": "1",
    "--data-seed": "1",
    "--distributed-world-size": "1",
}


def arm_settings(finetuning, arm):
    """Return the settings of an arm's runs: those of both protocols, with batches at random in `published`.

    Args:
        finetuning: config section `finetuning`, with protocol and training as the arm has them.
        arm: its entry in `finetuning.arms`.

    Source: the course's handout.
    """
    settings = matched_settings(finetuning)
    if finetuning["protocol"] == "published":
        settings["batching"] = "random"
    return settings
