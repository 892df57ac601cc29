"""One of several tunings in a job, since the start of a job costs seconds."""

import time

from common.files import write_json, write_tsv
from common.machine import job_record, now
from qa.tuning import COLUMNS, train_run


def train_and_write(pairs, base, run, loss, record, settings, **noted):
    """Train a run, or go on with it, and write its curve and record.

    The run's result stays in its states until the job has trained all runs.

    Args:
        pairs: JSON Lines of pairs to train on, and to measure.
        base: the base model's folder.
        run: seed, lora, protocol, template, states and save_every of `qa.tuning.train_run`.
        loss: TSV to write (`COLUMNS`; nats).
        record: JSON to write.
        settings: plain values whose hash the record has.
        noted: what the record has beside.

    Raises:
        StudyError: settings that do not fit the model, or a base that cannot be loaded.
    """
    started, about = time.monotonic(), job_record(settings)
    _, rows, made = train_run(*pairs, base, *run, keep_result=True)
    write_tsv(loss, rows, COLUMNS)
    write_json(record, {**about, **made, **noted, "seconds": time.monotonic() - started, "ended": now()})
