"""The proof of an exported model: asked through Transformers' `pipeline`, it answers as the run did."""

from transformers import pipeline

import tasks
from common.errors import StudyError
from data.reviews import POLARITY, pairs_of
from training.precision import choose_device

# The card shows the model's answer to this example, whatever it is: a review, or a text in any language.
EXAMPLE, NEUTRAL = "Un livre superbe, que je relirai.", "Lorem ipsum dolor sit amet."
OF_PAIRS = {"text": NEUTRAL, "text_pair": "Consectetur adipiscing elit."}
# The tolerance applies to probabilities (both computed in float32) and, as a share, to numbers above 1.
TOLERANCE = 1e-4
# Transformers' name of a number that a model gives.
NUMBER = "LABEL_0"


def prove(folder, texts, rows, batch_size, classes=POLARITY, example=EXAMPLE, task=tasks.DEFAULT):
    """Ask the saved model through `pipeline`, compare with the run's predictions, and let it answer an example.

    Args:
        folder: the exported model.
        texts: n test reviews.
        rows: n rows of the run's predictions (see `finetuning.predictions`), in the same order.
        batch_size: reviews scored at once.
        classes: names of the classes in order.
        example: text.
        task: kind of the labels.

    Returns:
        dict: n, n_equal (equal answers; one may differ only within `TOLERANCE` of a tie), max_difference of the
        probabilities or numbers, example, answer: {label: score} of the example, the likelier first.

    Raises:
        StudyError: another number of reviews, or a probability or number that differs by more than `TOLERANCE`.
    """
    if len(texts) != len(rows) or not rows:
        raise StudyError(f"{len(texts)} test reviews but {len(rows)} predictions: evaluate the run again")
    classify = pipeline("text-classification", model=folder, device=choose_device())
    if classify.tokenizer.pad_token is None:
        # Texts go one at a time because a batch cannot be padded.
        batch_size = 1
    first, second = pairs_of(texts)
    if second:
        pairs = zip(first, second, strict=True)
        texts, example = [{"text": a, "text_pair": b} for a, b in pairs], OF_PAIRS
    answers = classify(texts, truncation=True, batch_size=batch_size, top_k=None)
    compared, n_equal, worst = compared_columns(classes, task), 0, 0.0
    for number, (answer, row) in enumerate(zip(answers, rows, strict=True), start=1):
        given = {each["label"]: each["score"] for each in answer}
        for name, column in compared:
            difference = abs(given[name] - float(row[column]))
            # A number that is not finite also fails the comparison.
            if not difference <= TOLERANCE * max(1, abs(float(row[column]))):
                raise StudyError(
                    f"test review {number}: the exported model gives {column} {given[name]:.6f} and the run's "
                    f"predictions say {float(row[column]):.6f}: evaluate the run again"
                )
            worst = max(worst, difference)
        n_equal += answered(given, classes, task) in (None, row["prediction"])
    (answer,) = classify([example], truncation=True, top_k=None)
    answer = {each["label"]: each["score"] for each in answer}
    return {"n": len(rows), "n_equal": n_equal, "max_difference": worst, "example": example, "answer": answer}


def compared_columns(classes, task):
    """Return (label of `pipeline`, column of the predictions) of each score that the two have in common."""
    kind = tasks.load(task)
    if not kind.NAMED:
        return [(NUMBER, "prediction")]
    if task != tasks.DEFAULT:
        return list(zip(classes, kind.columns(len(classes)), strict=True))
    columns = ("probability",) if len(classes) == 2 else tuple(f"probability_{k}" for k in range(len(classes)))
    return list(zip(classes[-len(columns) :], columns, strict=True))


def answered(given, classes, task):
    """Return the answer of {label: score} as predictions have it; None of a number, which is compared already."""
    kind = tasks.load(task)
    if not kind.NAMED:
        return None
    if task != tasks.DEFAULT:
        return "".join("1" if given[name] >= kind.THRESHOLD else "0" for name in classes)
    return str(classes.index(max(given, key=given.get)))
