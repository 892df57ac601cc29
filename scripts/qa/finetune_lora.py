"""Tune the base model on the question/answer pairs with LoRA; a killed run resumes when it is started again."""

import shutil
import time

from common.entry import run
from common.errors import StudyError
from common.files import atomic_path, write_json, write_tsv
from common.machine import job_record, now
from qa.tuning import COLUMNS, train_run, write_adapter


def write_tensorboard(folder, rows):
    """Write a run's curves as TensorBoard files, by update: nats per token of the answers, learning rate.

    At the end and not along the way, so that a run that was resumed has every point once.

    Args:
        folder: folder to write.
        rows: of `qa.tuning.COLUMNS`.
    """
    from tensorboardX import SummaryWriter

    with atomic_path(folder) as temporary, SummaryWriter(temporary, write_to_disk=True) as writer:
        for row in rows:
            writer.add_scalar(f"{row['split']}/loss", row["loss"], row["update"])
            if row["lr"] is not None:
                writer.add_scalar("train/learning_rate", row["lr"], row["update"])


def main(
    train,
    heldout,
    base,
    loss,
    adapter,
    tensorboard,
    run,
    states,
    arm,
    seed: int,
    lora,
    training,
    template,
    save_every,
):
    """Train one run, or go on with it, and write its curve, adapter and record.

    Args:
        train: JSON Lines of pairs to train on.
        heldout: JSON Lines of pairs to measure.
        base: the base model's folder.
        loss: TSV to write (`COLUMNS`; nats).
        adapter: folder to write, peft's format.
        tensorboard: folder to write: `train/loss`, `heldout/loss`, `train/learning_rate`.
        run: JSON to write.
        states: folder that reruns do not wipe, for the states of this run while it is unfinished; removed at the end,
            with what other settings left in it.
        arm: name of the run's arm.
        seed: seed of A's first values, dropout and order.
        lora: `qa.lora` of the config, with what the arm sets otherwise.
        training: `qa.training` of the config, likewise, without `save_every`.
        template: `qa.prompt` of the config.
        save_every: updates between two saved states; 0: none.

    Raises:
        StudyError: settings that do not fit the model, or a base that cannot be loaded.
    """
    started = time.monotonic()
    record = job_record({"arm": arm, "lora": lora, "training": training, "prompt": template})
    try:
        model, rows, made = train_run(train, heldout, base, seed, lora, training, template, states, save_every)
    except StudyError as error:
        raise StudyError(f"arm {arm}: {error}") from error
    write_tsv(loss, rows, COLUMNS)
    write_adapter(adapter, model)
    write_tensorboard(tensorboard, rows)
    write_json(run, {**record, **made, "arm": arm, "seconds": time.monotonic() - started, "ended": now()})
    shutil.rmtree(states)


if __name__ == "__main__":
    run(main, snakemake)
