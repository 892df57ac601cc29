"""Pretrain a small RoBERTa by masked language modelling with `fairseq-train`, resuming where it was stopped."""

import os
import shutil

import torch

from common.entry import run
from common.errors import StudyError
from common.files import atomic_path, sha256, visible, write_tsv
from training import dropout, fairseq_state
from training.fairseq_commands import import_fairseq
from training.fairseq_train import architecture_flags, train
from training.loss_curves import Curves
from training.precision import choose_device, resolve_precision
from training.process import flush_denormals, set_threads, versions
from training.state import STATE, code_hash, load_state, save_state, state_folder

COLUMNS = ("update", "epoch", "split", "loss", "n_tokens", "lr")
HISTORY = "history.jsonl"


def phases(pretraining):
    """Return the parts of a pretraining: (first update, last update, settings), the short blocks first.

    An update has as many tokens in both. In the first half of their updates the short blocks spread over the positions
    of a whole one.
    """
    updates, short = pretraining["updates"], pretraining.get("short_blocks")
    if not short:
        return [(0, updates, pretraining)]
    length, whole = short["tokens_per_sample"], pretraining["tokens_per_sample"]
    first = {"tokens_per_sample": length, "batch_size": max(1, pretraining["batch_size"] * whole // length)}
    first = pretraining | first | {"places": whole - length + 1, "spread": max(1, short["updates"] // 2)}
    return [(0, short["updates"], first), (short["updates"], updates, pretraining)]


def training_arguments(data, state, architecture, pretraining, precision, resumed, last=None, vectors=None):
    """Return `fairseq-train`'s arguments.

    Args:
        data: binarized corpus.
        state: folder of the resumable state.
        architecture, pretraining: the config sections `checkpoint.architecture` and `.pretraining`.
        precision: "float32" or "bfloat16".
        resumed: whether the training continues from its saved state.
        last: update to stop after; None: the last of all.
        vectors: first word vectors (NPY file); None: drawn.
    """
    flags = {
        "--task": "review_masked_lm",
        "--criterion": "masked_lm",
        **architecture_flags(architecture),
        "--tokens-per-sample": pretraining["tokens_per_sample"],
        "--sample-break-mode": pretraining["sample_break_mode"],
        "--mask-prob": pretraining["mask_prob"],
        "--init-sd": pretraining["init_sd"],
        "--position-init": pretraining["position_init"],
        **({"--word-vectors": vectors} if vectors else {}),
        "--places": pretraining.get("places", 1),
        "--spread": pretraining.get("spread", 1),
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
        "--max-update": last or pretraining["updates"],
        "--batch-size": pretraining["batch_size"],
        "--batch-size-valid": pretraining["batch_size"],
        "--required-batch-size-multiple": 1,
        "--seed": pretraining["seed"],
        "--autocast": precision,
        "--history-file": os.path.join(state, HISTORY),
        "--save-dir": state,
        "--validate-interval-updates": pretraining["validate_every"],
        "--validate-interval": 1_000_000,
        # Masking is Python and slow, so another process prepares the next batches, which are the same.
        "--num-workers": 1,
        "--distributed-world-size": 1,
        "--log-format": "simple",
        "--log-interval": 50,
    }
    if pretraining.get("first_token_weight"):
        flags |= {"--criterion": "masked_lm_and_first_token", "--first-token-weight": pretraining["first_token_weight"]}
    if pretraining["muon_lr"] is not None:
        flags |= {"--optimizer": "muon_adamw", "--muon-lr": pretraining["muon_lr"], "--muon-precision": precision}
    if resumed:
        flags["--restore-file"] = os.path.abspath(os.path.join(state, STATE))
    arguments = [data, *(str(word) for flag in flags.items() for word in flag)]
    return [*arguments, "--skip-invalid-size-inputs-valid-test", "--no-save"]


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
                    "n_tokens": sums["n"],
                    "lr": record["lr"],
                }


def kept_place(folder, update):
    """Return where the unfinished pretraining keeps the weights of an update."""
    return os.path.join(folder, f"kept-update{update}.pt")


def write_weights(path, checkpoint):
    """Write a checkpoint, whole or not at all."""
    with atomic_path(path) as temporary:
        torch.save(checkpoint, temporary)


def main(data, model, history, tensorboard, architecture, pretraining, states, threads, keep=(), kept=(), vectors=None):
    """Pretrain, or go on from the saved state, and write the weights.

    Long: the steps of a pretraining, in their order, and what each argument is.

    Args:
        data: binarized corpus (folder).
        model: `model.pt` to write.
        history: TSV to write: `COLUMNS`, loss in nats a predicted token.
        tensorboard: folder to write.
        architecture, pretraining: config sections.
        states: folder that reruns do not wipe, for the states of an unfinished pretraining; removed at the end, with
            what other settings left in it.
        threads: CPU threads.
        keep: updates whose weights are written, too: multiples of `validate_every`, when the state is saved anyway, so
            that keeping them changes nothing of the training.
        kept: file to write for each of them.
        vectors: first word vectors, where they are not drawn (`factorize_cooccurrences`).

    Raises:
        StudyError: training ended before its last update.
    """
    import_fairseq()
    from training.fairseq_plugin import criterion, optimizer, tasks

    set_threads(threads)
    precision = resolve_precision(pretraining["precision"])
    key = {
        "architecture": architecture,
        "pretraining": pretraining,
        "precision": precision,
        # Another number of threads, or a GPU, adds numbers in another order.
        "threads": threads,
        "device": choose_device(),
        "data": {name: sha256(os.path.join(data, name)) for name in visible(data)},
        "versions": versions(),
        "code": code_hash(
            criterion,
            dropout,
            fairseq_state,
            optimizer,
            tasks,
            phases,
            training_arguments,
            set_threads,
            flush_denormals,
        ),
    }
    if vectors:
        key["vectors"] = sha256(vectors)
    if keep:
        # Another list starts over, because the weights of earlier updates are gone.
        key["keep"] = list(keep)
    folder = state_folder(states, key)
    saved = load_state(folder)
    done, updates = saved["updates"] if saved else 0, pretraining["updates"]
    # This ends at the last update: fairseq makes one more before it looks at --max-update.
    if done < updates:
        if saved:
            print(f"going on after update {done}")
        saved = None  # fairseq reads it from its file
        task = tasks.ReviewMaskedLM
        curves = task.curves = Curves(os.path.join(folder, "tensorboard"), done, updates)

        def save(state):
            curves.flush()
            # This precedes the state: a process that is killed in between makes this update again.
            if state["updates"] in keep:
                write_weights(
                    kept_place(folder, state["updates"]), fairseq_state.bare_checkpoint(task.current.live_model)
                )
            save_state(folder, state)

        task.save, task.save_every = save, pretraining["validate_every"]
        for first, last, settings in phases(pretraining):
            if done >= last:
                continue
            task.first = first
            arguments = training_arguments(data, folder, architecture, settings, precision, done > 0, last, vectors)
            # The first update of a part begins its blocks.
            train([*arguments, *(["--reset-dataloader"] if done and done == first else [])])
            done = task.current.updates
            if done == last < updates:
                save(task.current.last_state(done))
        curves.close()
        if done != updates:
            raise StudyError(f"pretraining ended after {done} of {updates} updates: see the log")
        save_state(folder, {"updates": done, "checkpoint": fairseq_state.bare_checkpoint(task.current.live_model)})
        saved = load_state(folder)
    write_tsv(history, history_rows(tasks.read_history(os.path.join(folder, HISTORY))), COLUMNS)
    with atomic_path(tensorboard) as temporary:
        shutil.copytree(os.path.join(folder, "tensorboard"), temporary)
    for update, path in zip(keep, kept, strict=True):
        if update < updates:
            with atomic_path(path) as temporary:
                shutil.copyfile(kept_place(folder, update), temporary)
        else:
            write_weights(path, saved["checkpoint"])
    write_weights(model, saved["checkpoint"])
    shutil.rmtree(states)


if __name__ == "__main__":
    run(main, snakemake)
