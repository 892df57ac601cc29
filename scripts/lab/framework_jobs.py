"""The jobs of using a framework, from texts to test predictions, as their logs and benchmarks are called."""

# The rule of a framework that reads texts as JSON.
JSON = "write_json_texts"


def in_json(steps, splits):
    """Return what the data's jobs make of a framework that reads texts as JSON, {FRAMEWORK_RULE: paths}.

    Args:
        steps: {framework: {rule: script}} of those in use.
        splits: such as train.
    """
    made = {
        JSON: [f"<results>/finetuning/json/{split}.json" for split in splits],
        "convert_tokenizer": "<results>/checkpoint/tokenizer",
        "convert_checkpoint": "<results>/checkpoint/huggingface",
    }
    return {f"{name}_{rule}": made[rule] for name, rules in steps.items() if JSON in rules for rule in made}


def data_jobs(parts, splits, steps):
    """Return the names of the jobs that bring texts and checkpoint into the frameworks' forms.

    Args:
        parts: parts of the binarized texts, such as train-valid.
        splits: splits of the token ids, such as train.
        steps: {framework: {rule: script}} of those in use.
    """
    binarized = [f"binarize_texts/{part}" for part in parts]
    tokenized = [f"tokenize_texts/checkpoint/{split}" for split in splits]
    written = [f"{JSON}/{split}" for split in splits if any(JSON in rules for rules in steps.values())]
    return [*binarized, *tokenized, *written, "convert_tokenizer", "convert_checkpoint"]


def first_trainings(runs):
    """Return the names of the trainings that represent their framework.

    Args:
        runs: {framework: (arm, seed)}.
    """
    return [f"finetune_{framework}/{arm}/seed{seed}" for framework, (arm, seed) in runs.items()]


def run_jobs(arms, seeds):
    """Return the names of the jobs of every run.

    Args:
        arms: {name: `common.arms.Arm`}.
        seeds: {name: seeds of its runs}.
    """
    return [
        f"{step}/{name}/seed{seed}"
        for name, arm in arms.items()
        for step in (f"finetune_{arm.framework}", "select_checkpoint", f"evaluate_{arm.framework}")
        for seed in seeds[name]
    ]
