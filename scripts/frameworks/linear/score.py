"""Let the simple models answer the test texts: predictions like every other arm's."""

import tasks
from common.entry import run
from common.files import read_json, write_tsv
from data.reviews import POLARITY, read_split
from finetuning.prediction_files import write_rows
from finetuning.seals import write_seal
from frameworks.linear import other_labels
from frameworks.linear.models import answers, fit


def main(
    train,
    train_labels,
    records,
    selected,
    reviews,
    labels,
    predictions,
    seals,
    arms,
    splits,
    classes=POLARITY,
    task=tasks.DEFAULT,
):
    """Fit every linear arm with the strength that validation chose, and write its predictions.

    Args:
        train, train_labels: files of the training splits, in the order of `splits`.
        records: run.json, one an arm, which its seal binds to the predictions.
        selected: selected.json with C, one an arm.
        reviews, labels: files of the test split; the labels are copied beside the answers and decide none.
        predictions: TSV files to write, one an arm: id, label, prediction, and probability of class 1; for more than
            two classes probability_0, probability_1, ….
        seals: JSON files to write, one an arm (see `finetuning.seals`).
        arms: {name: {features, split}}.
        splits: names of the training splits.
        classes: names of the classes in order.
        task: kind of the labels.

    Raises:
        StudyError: see `data.reviews.read_split`.
    """
    texts, wanted = read_split(reviews, labels, classes, task)
    learnt = {
        split: read_split(*paths, classes, task) for split, *paths in zip(splits, train, train_labels, strict=True)
    }
    several = len(classes) > 2
    names = [f"probability_{k}" for k in range(len(classes))] if several else ["probability"]
    files = zip(arms.values(), records, selected, predictions, seals, strict=True)
    for arm, record, choice, path, seal in files:
        model = fit(learnt[arm["split"]], arm["features"], read_json(choice)["C"], task)
        if task != tasks.DEFAULT:
            kind = tasks.load(task)
            write_rows(path, kind.array(wanted), *other_labels.answers(model, texts, task), kind)
            write_seal(seal, predictions=path, record=record, selected=choice)
            continue
        chosen, probabilities = answers(model, texts, len(classes))
        shown = (probabilities if several else probabilities[:, 1:]).tolist()
        rows = [
            {"id": place, "label": label, "prediction": answer} | dict(zip(names, values, strict=True))
            for place, (label, answer, values) in enumerate(zip(wanted, chosen.tolist(), shown, strict=True))
        ]
        write_tsv(path, rows, ("id", "label", "prediction", *names))
        write_seal(seal, predictions=path, record=record, selected=choice)


if __name__ == "__main__":
    run(main, snakemake)
