"""Pretrain a small RoBERTa by masked language modelling with `fairseq-train`, resuming where it was stopped."""

import os
import shutil

from common.errors import StudyError
from common.fairseq_commands import architecture_flags, train
from common.fairseq_state import export_weights, newest_state
from common.files import sha256, write_tsv
from common.rule import running
from common.state import state_folder
from common.training import resolve_precision, set_threads, versions

COLUMNS = ("update", "epoch", "split", "loss", "tokens", "lr")


def training_arguments(data, state, architecture, pretraining, precision):
    """Return `fairseq-train`'s arguments.

    Args:
        data: binarized corpus.
        state: folder of the resumable state.
        architecture, pretraining: the config sections `checkpoint.architecture` and `.pretraining`.
        precision: "float32" or "bfloat16".
    """
    interval = str(min(pretraining["validate_every"], pretraining["updates"]))
    flags = {
        "--task": "review_masked_lm",
        "--criterion": "masked_lm",
        **architecture_flags(architecture),
        "--tokens-per-sample": pretraining["tokens_per_sample"],
        "--sample-break-mode": pretraining["sample_break_mode"],
        "--mask-prob": pretraining["mask_prob"],
        "--init-sd": pretraining["init_sd"],
        "--position-init": pretraining["position_init"],
        "--dropout": pretraining["dropout"],
        "--attention-dropout": pretraining["dropout"],
        "--optimizer": "fused_adamw",
        "--adam-betas": "(0.9, 0.98)",
        "--adam-eps": pretraining["eps"],
        "--weight-decay": pretraining["weight_decay"],
        "--clip-norm": pretraining["clip_norm"],
        "--lr-scheduler": "polynomial_decay",
        "--lr": pretraining["lr"],
        "--warmup-updates": pretraining["warmup_updates"],
        "--total-num-update": pretraining["updates"],
        "--max-update": pretraining["updates"],
        "--batch-size": pretraining["batch_size"],
        "--batch-size-valid": pretraining["batch_size"],
        "--required-batch-size-multiple": 1,
        "--seed": pretraining["seed"],
        "--autocast": precision,
        "--history-file": os.path.join(state, "history.jsonl"),
        "--save-dir": state,
        "--tensorboard-logdir": os.path.join(state, "tensorboard"),
        "--validate-interval-updates": interval,
        "--save-interval-updates": interval,
        "--keep-interval-updates": 1,
        "--validate-interval": 1_000_000,
        "--save-interval": 1_000_000,
        # Masking is Python and slow: a process of its own prepares the next batches, the same ones.
        "--num-workers": 1,
        "--distributed-world-size": 1,
        "--log-format": "simple",
        "--log-interval": 50,
    }
    arguments = [data]
    for flag, value in flags.items():
        arguments += [flag, str(value)]
    return [*arguments, "--skip-invalid-size-inputs-valid-test", "--no-epoch-checkpoints"]


def history_rows(records):
    """Turn the plug-in's records into rows of `pretraining.tsv`: mean loss in nats a predicted token."""
    for record in records:
        for split in ("train", "valid"):
            sums = record[split]
            if sums:
                yield {
                    "update": record["update"],
                    "epoch": record["epoch"],
                    "split": split,
                    "loss": sums["loss"] / sums["n"],
                    "tokens": sums["n"],
                    "lr": record["lr"],
                }


def main(data, model, history, tensorboard, architecture, pretraining, state_root, threads):
    """Pretrain, or go on from the saved state, and write the weights.

    Args:
        data: binarized corpus (folder).
        model: `model.pt` to write.
        history: TSV to write: `COLUMNS`, loss in nats a predicted token.
        tensorboard: folder to write.
        architecture, pretraining: config sections.
        state_root: folder that reruns do not wipe; the state's own folder is named by what affects the result.
        threads: CPU threads.

    Raises:
        StudyError: training ended before its last update.
    """
    set_threads(threads)
    precision = resolve_precision(pretraining["precision"])
    key = {
        "architecture": architecture,
        "pretraining": pretraining,
        "precision": precision,
        "data": {name: sha256(os.path.join(data, name)) for name in sorted(os.listdir(data))},
        "versions": versions(),
    }
    state = state_folder(state_root, key)
    arguments = training_arguments(data, state, architecture, pretraining, precision)
    resumed = newest_state(state)
    if resumed:
        print(f"going on from {resumed}")
        arguments += ["--restore-file", os.path.abspath(resumed)]
    train(arguments)

    from fairseq_plugin.tasks import read_history

    records = read_history(os.path.join(state, "history.jsonl"))
    if not records or records[-1]["update"] != pretraining["updates"]:
        raise StudyError("pretraining ended early: run again to go on; the log has the reason")
    write_tsv(history, history_rows(records), COLUMNS)
    shutil.rmtree(tensorboard, ignore_errors=True)
    shutil.copytree(os.path.join(state, "tensorboard"), tensorboard)
    export_weights(newest_state(state), model)
    shutil.rmtree(state)


if __name__ == "__main__":
    with running(snakemake):  # noqa: F821
        main(
            snakemake.input.data,  # noqa: F821
            snakemake.output.model,  # noqa: F821
            snakemake.output.history,  # noqa: F821
            snakemake.output.tensorboard,  # noqa: F821
            snakemake.params.architecture,  # noqa: F821
            snakemake.params.pretraining,  # noqa: F821
            snakemake.params.state,  # noqa: F821
            snakemake.threads,  # noqa: F821
        )
