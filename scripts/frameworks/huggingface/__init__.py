"""Hugging Face's Trainer, with the study's batches, optimizer and schedule: facts."""

from frameworks.matched import OPTIONAL, matched_settings

LABEL = "Hugging Face"
RECIPE = "in Hugging Face's example"
TRAINER = "Hugging Face's Trainer"
ENVIRONMENT = "huggingface"
INITS = ("pretrained", "random")
OTHERS_MODELS = True
PAIRS = True
TASKS = ("classification", "regression", "multilabel")
CHECKPOINTS = True
HOLDS_SOURCES = True
OPTIONS = tuple(OPTIONAL)
UNDECAYED = True
TERMS = ("head", "token_types")
ONLY = ("token_types",)
SETTINGS = {
    "lora": {
        "description": "low-rank updates beside a frozen encoder; huggingface only",
        "type": ["object", "null"],
        "additionalProperties": False,
        "required": ["r", "lora_alpha"],
        "properties": {
            "r": {"description": "rank of the update", "type": "integer", "minimum": 1},
            "lora_alpha": {"description": "scale of the update times r", "type": "number", "exclusiveMinimum": 0},
            "lora_dropout": {
                "description": "dropout before the matrix A",
                "type": "number",
                "minimum": 0,
                "exclusiveMaximum": 1,
            },
            "target_modules": {
                "description": "ends of the names of the encoder's linear modules, or all-linear",
                "anyOf": [
                    {"const": "all-linear"},
                    {
                        "type": "array",
                        "minItems": 1,
                        "uniqueItems": True,
                        "items": {"type": "string", "minLength": 1},
                    },
                ],
            },
        },
    },
}
STEPS = {
    "convert_tokenizer": "checkpoint/convert_tokenizer.py",
    "convert_checkpoint": "checkpoint/convert_checkpoint.py",
    "tokenize_texts": "finetuning/tokenize_texts.py",
    "finetune_huggingface": "frameworks/huggingface/train.py",
    "select_checkpoint": "finetuning/select_checkpoint.py",
    "evaluate_huggingface": "frameworks/huggingface/score.py",
}


def arm_settings(finetuning, arm):
    """Return the settings of an arm's runs.

    `matched`: without the token-type vector, which fairseq's model lacks. `published`: the defaults of the `run_glue`
    example: betas (0.9, 0.999), no weight decay, gradients clipped at norm 1, a head that is drawn as BERT's and has
        the dropout of the states, a token-type vector, batches at random.

    Args:
        finetuning: config section `finetuning`, with protocol and training as the arm has them.
        arm: its entry in `finetuning.arms`.

    Returns:
        dict: also `token_types` (True: the vector that is added to every token is drawn and trained), and `lora` where
            the arm has it.

    Source: transformers' `TrainingArguments` and `RobertaConfig`.
    """
    settings = matched_settings(finetuning) | {"token_types": False}
    if finetuning["protocol"] == "published":
        settings |= {
            "batching": "random",
            "betas": [0.9, 0.999],
            "weight_decay": 0.0,
            "clip_norm": 1.0,
            "classifier_dropout": settings["dropout"],
            "head_initialisation": "bert",
            "token_types": True,
        }
    return settings
