"""Join the test labels with the scores of a run that has not seen them: its predictions."""

import numpy as np

import tasks
from common.entry import run
from data.reviews import POLARITY, read_split
from finetuning.prediction_files import write_rows
from finetuning.seals import write_seal


def main(
    probabilities,
    reviews,
    labels,
    predictions,
    classes=POLARITY,
    record=None,
    history=None,
    selected=None,
    seal=None,
    task=tasks.DEFAULT,
):
    """Write the run's predictions.

    Args:
        probabilities: what `finetuning.score_plainly` wrote.
        reviews, labels: files of the test split.
        predictions: TSV to write, see `finetuning.prediction_files.write_rows`.
        classes: names of the classes in order.
        record, history, selected, seal: run.json, history.tsv and selected.json of the run, and the JSON file that
            binds them to the predictions (see `finetuning.seals`); None: no seal is asked for.
        task: kind of the labels.

    Raises:
        StudyError: see `data.reviews.read_split`.
    """
    kind = tasks.load(task)
    truth, (answers, shares) = read_split(reviews, labels, classes, task)[1], kind.given(np.load(probabilities))
    write_rows(predictions, kind.array(truth), answers, shares, kind)
    if seal:
        write_seal(seal, predictions=predictions, record=record, history=history, selected=selected)


if __name__ == "__main__":
    run(main, snakemake)
