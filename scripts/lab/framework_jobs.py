"""The jobs of using a framework, from texts to test predictions, as their logs and benchmarks are called."""


def data_jobs(parts, splits):
    """Return the names of the jobs that bring texts and checkpoint into the frameworks' forms.

    Args:
        parts: of the binarized texts, such as train-valid.
        splits: of the token ids, such as train.
    """
    binarized = [f"binarize_texts/{part}" for part in parts]
    tokenized = [f"tokenize_texts/checkpoint/{split}" for split in splits]
    return [*binarized, *tokenized, "convert_tokenizer", "convert_checkpoint"]


def run_jobs(arms, seeds):
    """Return the names of the jobs of every run.

    Args:
        arms: {name: `common.arms.Arm`}.
        seeds: of the study.
    """
    return [
        f"{step}/{name}/seed{seed}"
        for name, arm in arms.items()
        for step in (f"finetune_{arm.framework}", "select_checkpoint", f"evaluate_{arm.framework}")
        for seed in seeds
    ]
