"""One class for each text: its number, from 0."""

from tasks import ROUNDING

LABEL = "one class for each text"
MEASURE, PROBLEM = "accuracy", None
LOSS, LOSS_UNIT = "cross_entropy", "nats, mean over examples"
BASELINES = ("majority", "tfidf_words", "tfidf_characters")
NAMED, COUNTED, EMPTY = True, True, False
NEEDED = ("train", "valid", "test")
WANTED = "probabilities that sum to 1"
# How much more the answer gets than a class that is as probable.
TIE = 1e-9


def parts(cell):
    """Return the names in a cell of a table: one."""
    return [cell]


def value_of(numbers, n_labels):
    """Return what a text has by the numbers of the names in its cell."""
    (number,) = numbers
    return number


def reader(labels):
    """Return a function of a line of `*.label` that gives its value, or raises a ValueError of what is wanted."""
    numbers = {str(k): k for k in range(len(labels))}

    def read(line):
        if line not in numbers:
            raise ValueError(
                f"no number of a class, 0 ({labels[0]}) to {len(labels) - 1} ({labels[-1]})"
                if len(labels) > 2
                else f"neither 0 ({labels[0]}) nor 1 ({labels[1]})"
            )
        return numbers[line]

    return read


def lacking(values, n_labels):
    """Return the numbers of the labels that no text has."""
    return sorted(set(range(n_labels)) - set(values))


def strata(values, n_labels):
    """Return the stratum of each text, from 0, and how many there are."""
    return list(values), n_labels


def balance(values, labels):
    """Yield (what, its value) for the audit; of two classes the second's share says all."""
    for k in range(1 if len(labels) == 2 else 0, len(labels)):
        yield f"share {labels[k]}", list(values).count(k) / len(values)


def counts(values, n_labels):
    """Return what the manifest says of a split's labels."""
    import numpy as np

    n_by_class = np.bincount(values, minlength=n_labels).tolist()
    return ({"n_positive": n_by_class[1]} if n_labels == 2 else {}) | {"n_by_class": n_by_class}


def array(values):
    """Return (n,) integers: int8, beyond class 127 int16."""
    import numpy as np

    return np.asarray(values, dtype=np.int8 if max(values) <= np.iinfo(np.int8).max else np.int16)


def outputs(labels):
    """Return the fields of a model's configuration that count and name what it gives."""
    return {"id2label": dict(enumerate(labels)), "label2id": {name: k for k, name in enumerate(labels)}}


def compared(logits, labels):
    """Return what `LOSS` compares: its mean is the cross entropy of a text, in nats."""
    return logits, labels


def answers(logits):
    """Return the most probable class of each text, an integer tensor (n,)."""
    return logits.argmax(dim=1)


def probabilities(logits):
    """Return (n, classes) probabilities of logits."""
    return logits.softmax(dim=1)


def right(given, labels):
    """Return whether each answer is its label."""
    return given == labels


def shown(value, labels):
    """Return a text's class by its name."""
    return labels[value]


def said(cell, labels):
    """Return the scores of an answer, 1 and 0, or raise a ValueError of what is wanted."""
    if str(cell) not in labels:
        raise ValueError(f"none of the classes {', '.join(labels)}")
    return [float(name == str(cell)) for name in labels]


def are_right(scores):
    """Return (n,): whether each text's scores are probabilities that sum to 1; what is not finite is none."""
    import numpy as np

    return ((scores >= 0) & (scores <= 1)).all(axis=1) & (np.abs(scores.sum(axis=1) - 1) <= ROUNDING)


def settled(scores, answer, labels):
    """Return a text's scores where its answer is said beside them, which wins a tie.

    Raises:
        ValueError: another class is more probable.
    """
    best, answered = max(scores), answer.index(1.0)
    if scores[answered] != best:
        raise ValueError(
            f"the prediction is {labels[answered]}, and {labels[scores.index(best)]} is more probable; give the most "
            "probable class, or leave the probabilities out"
        )
    return [score + TIE * (k == answered and scores.count(best) > 1) for k, score in enumerate(scores)]


def given(scores):
    """Return the answers (n,) and the probabilities (n, classes)."""
    return scores.argmax(axis=1), scores
