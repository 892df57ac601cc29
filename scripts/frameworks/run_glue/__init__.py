"""Hugging Face as the lab used it: texts written as JSON, then the recipe of the `run_glue` example: facts."""

from frameworks.matched import matched_settings

LABEL = "Hugging Face, run_glue"
RECIPE = "in Hugging Face's example, as it stands"
TRAINER = "the recipe of Hugging Face's run_glue"
ENVIRONMENT = "huggingface"
INITS = ("pretrained",)
CHECKPOINTS = True
UNDECAYED = True
TERMS = ("head", "token_types")
ONLY = ("token_types",)
BESIDE = True
STEPS = {
    "write_json_texts": "frameworks/run_glue/write_json_texts.py",
    "convert_tokenizer": "checkpoint/convert_tokenizer.py",
    "convert_checkpoint": "checkpoint/convert_checkpoint.py",
    "finetune_run_glue": "frameworks/run_glue/train.py",
    "select_checkpoint": "finetuning/select_checkpoint.py",
    "evaluate_run_glue": "frameworks/run_glue/score.py",
}
SETTINGS = {
    "max_seq_length": {
        "description": "tokens that a text is cut to, by default 256, at most those of the model; run_glue only",
        "type": "integer",
        "minimum": 3,
    },
    "pad_to_max_length": {
        "description": "whether every text is filled up to that length (the recipe's default); run_glue only",
        "type": "boolean",
    },
}
# The command line has no flag for these keys of an arm, and its one seed draws both the head and the dropout.
NO_FLAG = {
    "freeze": "trains the whole model",
    "match": "keeps the defaults of its own and is trained like no other arm",
    "protocol": "has its own protocol only",
}


def faults(finetuning, name):
    """Yield the settings of an arm that the recipe's command line cannot express.

    Args:
        finetuning: config section `finetuning`.
        name: name of the arm.
    """
    for key, reason in NO_FLAG.items():
        if finetuning["arms"][name].get(key) is not None:
            yield f"finetuning.arms.{name}.{key}: the recipe of run_glue {reason}; take it out"
    if finetuning["init_seed"] is not None:
        yield (
            f"finetuning.init_seed is {finetuning['init_seed']}, and the recipe of run_glue (arm {name}) draws its "
            "head by the seed of the run; set init_seed to null, or take the arm out"
        )


def arm_settings(finetuning, arm):
    """Return the settings of an arm's runs: the recipe's defaults, whatever the other arms' protocol.

    Args:
        finetuning: config section `finetuning`, with training as the arm has it: batch size, epochs, rate, warm-up,
            eps, dropout and precision are the study's.
        arm: its entry in `finetuning.arms`.

    Returns:
        dict: also `max_seq_length` (tokens) and `pad_to_max_length`.

    Source: `TrainingArguments` of Transformers and `DataTrainingArguments` of its run_glue.py; 256 is the lab's.
    """
    return matched_settings(finetuning) | {
        "batching": "random",
        "betas": [0.9, 0.999],
        "weight_decay": 0.0,
        "clip_norm": 1.0,
        "classifier_dropout": finetuning["training"]["dropout"],
        "head_initialisation": "bert",
        "token_types": True,
        "max_seq_length": 256,
        "pad_to_max_length": True,
    }
