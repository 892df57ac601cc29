"""The inputs of fairseq's runs, and its outputs for others."""


def starting_checkpoint(wildcards):
    """The checkpoint that a run starts from; a random run needs none and waits for none."""
    update = config["finetuning"]["arms"][wildcards.arm].get("at_update")
    file = kept_file(update) if update else "model.pt"
    return {"checkpoint": path(f"<results>/checkpoint/{file}")} if ARMS[wildcards.arm].init == "pretrained" else {}


def parity(*splits):
    """The proofs that both frameworks see the same token ids; none where the study has no arm of fairseq."""
    found = [path(f"<results>/finetuning/token-ids/checkpoint/{split}.parity.json") for split in splits]
    return found if RUN_FILES.names_of("fairseq") else []
