"""Train a LoRA run for each rank of the sweep, all else alike; in one job, since the start of one costs seconds."""

import os
import shutil
import time

from common.entry import run
from common.files import write_json, write_tsv
from common.machine import job_record, now
from qa.tuning import COLUMNS, train_run


def main(train, heldout, base, losses, records, states, seed: int, ranks, lora, training, template, save_every):
    """Train the sweep's runs of one seed, or go on with them, and write their curves and records.

    Args:
        train: JSON Lines of pairs to train on.
        heldout: JSON Lines of pairs to measure.
        base: the base model's folder.
        losses: TSVs to write, one a rank (`COLUMNS`; nats).
        records: JSONs to write, one a rank.
        states: folder that reruns do not wipe; removed at the end. A finished rank's result stays there until then.
        seed: seed of every run.
        ranks: `qa.rank_sweep.ranks` of the config.
        lora: `qa.lora` of the config; its alpha is every rank's.
        training: `qa.training` of the config, without `save_every`.
        template: `qa.prompt` of the config.
        save_every: updates between two saved states; 0: none.

    Raises:
        StudyError: settings that do not fit the model, or a base that cannot be loaded.
    """
    for rank, loss, record in zip(ranks, losses, records, strict=True):
        started, about = time.monotonic(), job_record({"lora": lora, "training": training, "prompt": template})
        folder = os.path.join(states, f"rank{rank}")
        settings = (seed, {**lora, "r": rank}, training, template)
        _, rows, made = train_run(train, heldout, base, *settings, folder, save_every, keep_result=True)
        write_tsv(loss, rows, COLUMNS)
        write_json(record, {**about, **made, "seconds": time.monotonic() - started, "ended": now()})
    shutil.rmtree(states)


if __name__ == "__main__":
    run(main, snakemake)
