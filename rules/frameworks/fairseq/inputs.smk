"""The inputs of fairseq's runs, and its outputs for others."""


def starting_checkpoint(wildcards):
    """The checkpoint that a run starts from; a random run needs none and waits for none."""
    file = RUN_FILES.checkpoint_file(wildcards)
    return {"checkpoint": file} if file else {}


def parity(*splits):
    """The proofs that both frameworks see the same token ids; none where the study has no arm of fairseq."""
    found = [path(f"<results>/finetuning/token-ids/checkpoint/{split}.parity.json") for split in splits]
    return found if RUN_FILES.names_of("fairseq") else []
