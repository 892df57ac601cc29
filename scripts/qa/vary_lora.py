"""Train runs that each change one setting of LoRA, or train all weights; in one job, as starts cost seconds."""

import os
import shutil

from common.entry import run
from common.errors import StudyError
from qa.several_runs import train_and_write


def main(train, heldout, base, losses, records, states, seed: int, runs, template, save_every):
    """Train the runs of one seed, or go on with them, and write their curves and records.

    Args:
        train: JSON Lines of pairs to train on.
        heldout: JSON Lines of pairs to measure.
        base: the base model's folder.
        losses: TSVs to write, one a run (`qa.tuning.COLUMNS`; nats).
        records: JSONs to write, one a run.
        states: folder that reruns do not wipe; removed at the end. A finished run's result stays there until then.
        seed: seed of every run.
        runs: what `qa.qa_arms.variations` returns.
        template: `qa.prompt` of the config.
        save_every: updates between two saved states; 0: none.

    Raises:
        StudyError: settings that do not fit the model, or a base that cannot be loaded.
    """
    for one, loss, record in zip(runs, losses, records, strict=True):
        varied = (seed, one["lora"], one["training"], template, os.path.join(states, one["name"]), save_every)
        named = {key: one[key] for key in ("name", "changed")}
        try:
            train_and_write((train, heldout), base, varied, loss, record, {**one, "prompt": template}, **named)
        except StudyError as error:
            raise StudyError(f"qa.variations.runs, {one['name']}: {error}") from error
    shutil.rmtree(states)


if __name__ == "__main__":
    run(main, snakemake)
