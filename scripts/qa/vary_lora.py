"""Train runs that each change one setting of LoRA, or train all weights; in one job, as starts cost seconds."""

import os
import shutil
import time

from common.entry import run
from common.errors import StudyError
from common.files import write_json, write_tsv
from common.machine import job_record, now
from qa.tuning import COLUMNS, train_run


def main(train, heldout, base, losses, records, states, seed: int, runs, template, save_every):
    """Train the runs of one seed, or go on with them, and write their curves and records.

    Args:
        train: JSON Lines of pairs to train on.
        heldout: JSON Lines of pairs to measure.
        base: the base model's folder.
        losses: TSVs to write, one a run (`COLUMNS`; nats).
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
        started, about = time.monotonic(), job_record({**one, "prompt": template})
        settings = (seed, one["lora"], one["training"], template, os.path.join(states, one["name"]), save_every)
        try:
            _, rows, made = train_run(train, heldout, base, *settings, keep_result=True)
        except StudyError as error:
            raise StudyError(f"qa.variations.runs, {one['name']}: {error}") from error
        write_tsv(loss, rows, COLUMNS)
        named = {"name": one["name"], "changed": one["changed"]}
        write_json(record, {**about, **made, **named, "seconds": time.monotonic() - started, "ended": now()})
    shutil.rmtree(states)


if __name__ == "__main__":
    run(main, snakemake)
