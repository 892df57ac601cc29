"""The runs' answers on test: the only reader of their predictions."""

import numpy as np
import pandas

import tasks
from common.errors import StudyError
from common.frames import read_frame
from tasks import ROUNDING

PROBABLE = "the more probable class (probability is that of class 1)"


def read_predictions(path):
    """Return a run's predictions on test.

    Args:
        path: TSV: id, label, prediction, probability (for more than two classes probability_0, probability_1, …);
            one row per test example, in the order of the file.

    Returns:
        pandas.DataFrame: its columns as text; n rows, numbered like the ids.

    Raises:
        StudyError: no rows, ids not 0, 1, 2, ..., a class that does not exist, a probability outside 0 to 1,
            probabilities that do not sum to 1, a prediction that is not the most probable class.
    """
    frame = read_frame(path)
    if frame.empty:
        raise StudyError(f"{path} holds no predictions; run the evaluation again")
    kind = tasks.of_columns(frame.columns)
    if kind is not tasks.load(tasks.DEFAULT):
        _check_other(frame, path, kind)
        return frame
    given = probabilities_of(frame, path)
    classes = [str(k) for k in range(max(2, given.shape[1]))]
    known = "0 or 1" if len(classes) == 2 else f"a class from 0 to {classes[-1]}"
    for column, right, wanted in (
        ("id", frame["id"] == frame.index.astype(str), "the number of the example, from 0"),
        ("label", frame["label"].isin(classes), known),
        ("prediction", frame["prediction"].isin(classes), known),
        *((column, given[column].between(0, 1), "between 0 and 1") for column in given),
        *most_probable(frame, given),
    ):
        if not right.all():
            place = right.idxmin()
            raise StudyError(
                f"{path}, line {place + 2}: {column} {frame[column][place]!r} is not {wanted}; run the evaluation again"
            )
    return frame


def _check_other(frame, path, kind):
    """Refuse predictions of another kind of labels that are not whole; see `read_predictions`."""
    given = frame.iloc[:, 3:].apply(pandas.to_numeric, errors="coerce")
    if list(given) != list(kind.columns(given.shape[1])):
        raise StudyError(f"{path}, line 1: its columns are {', '.join(frame)}; run the evaluation again")
    read, wrong = kind.reader(list(given)), frame["id"] != frame.index.astype(str)
    for place in wrong[wrong].index[:1]:
        raise StudyError(
            f"{path}, line {place + 2}: id {frame['id'][place]!r} is not {place}; run the evaluation again"
        )
    for column in ("label", "prediction"):
        for place, cell in frame[column].items():
            try:
                read(cell)
            except ValueError as error:
                raise StudyError(
                    f"{path}, line {place + 2}: {column} {cell!r} is {error}; run the evaluation again"
                ) from error
    for column in given:
        right = given[column].between(0, 1)
        if not right.all():
            place = right.idxmin()
            raise StudyError(
                f"{path}, line {place + 2}: {column} {frame[column][place]!r} is not between 0 and 1; run the "
                "evaluation again"
            )
    if given.shape[1]:
        agrees = pandas.Series(kind.cells((given.to_numpy() >= kind.THRESHOLD).astype(int))) == frame["prediction"]
        if not agrees.all():
            place = agrees.idxmin()
            raise StudyError(
                f"{path}, line {place + 2}: prediction {frame['prediction'][place]!r} is not the labels of probability "
                f"{kind.THRESHOLD} or more; run the evaluation again"
            )


def arrays_of(frame, path):
    """Return labels, answers and probabilities of predictions as arrays, see `measures`.

    Args:
        frame: what `read_predictions` returns.
        path: its file, for messages.
    """
    kind = tasks.of_columns(frame.columns)
    if kind is not tasks.load(tasks.DEFAULT):
        sides = (
            kind.array([kind.reader(frame.columns[3:])(cell) for cell in frame[name]])
            for name in ("label", "prediction")
        )
        given = frame.iloc[:, 3:].to_numpy(dtype=float)
        return *sides, given if given.shape[1] else None
    given = probabilities_of(frame, path).to_numpy(dtype=float)
    if given.shape[1] == 1:
        given = np.hstack([1 - given, given])
    return *(frame[name].to_numpy(dtype=int) for name in ("label", "prediction")), given


def probabilities_of(frame, path):
    """Return the columns of probabilities as numbers, one column for two classes, k columns for k classes.

    Raises:
        StudyError: it has neither.
    """
    names = [column for column in frame if column.startswith("probability")]
    if names != ["probability"] and (len(names) < 3 or names != [f"probability_{k}" for k in range(len(names))]):
        raise StudyError(
            f"{path}, line 1: the columns of probabilities are {', '.join(names) or 'missing'}, not probability, or "
            "probability_0, probability_1, … of more than two classes; run the evaluation again"
        )
    return frame[names].apply(pandas.to_numeric, errors="coerce")


def most_probable(frame, given):
    """Yield (column, True for each right row, what it should be) for predictions and their probabilities.

    At a tie to the last digit either class may have the greater logit.
    """
    if given.shape[1] == 1:
        first = given["probability"]
        yield "prediction", (first == 0.5) | ((first > 0.5) == (frame["prediction"] == "1")), PROBABLE
        return
    yield given.columns[-1], (given.sum(axis=1) - 1).abs() <= ROUNDING, "what the others leave of 1"
    answers = frame["prediction"].map(dict(zip(map(str, range(given.shape[1])), given.columns, strict=True)))
    answered = pandas.Series(
        [given.at[i, column] for i, column in answers.dropna().items()], index=answers.dropna().index
    )
    yield "prediction", answered.reindex(frame.index) == given.max(axis=1), "the most probable class"


def read_answers(paths):
    """Return the labels of the test reviews and every run's answers.

    Args:
        paths: {run: path of its predictions}, at least one.

    Returns:
        tuple[pandas.Series, pandas.DataFrame]: n labels, and n rows of one column a run; each a class, "0", "1", ….

    Raises:
        StudyError: as `read_predictions`, or two runs were not tested on the same reviews.
    """
    labels, answers = None, {}
    for run, path in paths.items():
        frame = read_predictions(path)
        if labels is None:
            first, labels = path, frame["label"]
        if len(frame) != len(labels):
            _refuse(path, first, f"{len(frame)} instead of {len(labels)} examples")
        differs = frame["label"] != labels
        if differs.any():
            _refuse(path, first, f"the first difference is id {differs.idxmax()}, line {differs.idxmax() + 2}")
        answers[run] = frame["prediction"]
    return labels, pandas.DataFrame(answers)


def _refuse(path, first, where):
    raise StudyError(f"{path} and {first} are not of the same test reviews ({where}): evaluate the runs again")
