"""Train a LoRA run for each rank of the sweep, all else alike; in one job, since the start of one costs seconds."""

import os
import shutil

from common.entry import run
from qa.several_runs import train_and_write


def main(train, heldout, base, losses, records, states, seed: int, ranks, lora, training, template, save_every):
    """Train the sweep's runs of one seed, or go on with them, and write their curves and records.

    Args:
        train: JSON Lines of pairs to train on.
        heldout: JSON Lines of pairs to measure.
        base: the base model's folder.
        losses: TSVs to write, one a rank (`qa.tuning.COLUMNS`; nats).
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
    settings = {"lora": lora, "training": training, "prompt": template}
    for rank, loss, record in zip(ranks, losses, records, strict=True):
        of_rank = (seed, {**lora, "r": rank}, training, template, os.path.join(states, f"rank{rank}"), save_every)
        train_and_write((train, heldout), base, of_rank, loss, record, settings)
    shutil.rmtree(states)


if __name__ == "__main__":
    run(main, snakemake)
