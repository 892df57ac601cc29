"""A set of labels for each text: any number of those that `data.labels` names, or none.

In files a set is a digit for each label in their order: 0110 has the second and the third.
"""

import re
from collections import Counter

LABEL = "a set of labels for each text"
MEASURE, PROBLEM = "macro_f1", "multi_label_classification"
LOSS, LOSS_UNIT = "binary_cross_entropy_with_logits", "nats, mean over examples and labels"
BASELINES = ("commonest", "tfidf_words", "tfidf_characters")
NAMED, COUNTED, EMPTY = True, True, True
NEEDED = ("train", "test")
WANTED = "probabilities from 0 to 1"
# Between the labels in a cell of a table.
BETWEEN = "|"
# A label of this probability or more is given.
THRESHOLD = 0.5
# Sets of labels that fewer texts have are drawn as one stratum.
RARE = 10


def parts(cell):
    """Return the names in a cell of a table, each once; none of an empty cell."""
    return list(dict.fromkeys(name for name in (part.strip() for part in cell.split(BETWEEN)) if name))


def value_of(numbers, n_labels):
    """Return what a text has by the numbers of the names in its cell."""
    return "".join("1" if k in numbers else "0" for k in range(n_labels))


def reader(labels):
    """Return a function of a line of `*.label` that gives its value, or raises a ValueError of what is wanted."""
    form = re.compile(f"[01]{{{len(labels)}}}")

    def read(line):
        if not form.fullmatch(line):
            raise ValueError(f"no set of the {len(labels)} labels, written as a digit 0 or 1 for each")
        return line

    return read


def lacking(values, n_labels):
    """Return the numbers of the labels that no text has."""
    return [k for k in range(n_labels) if not any(value[k] == "1" for value in values)]


def strata(values, n_labels):
    """Return the stratum of each text, from 0, and how many there are: sets, the rare ones by their rarest label."""
    sets, single = Counter(values), Counter(k for value in values for k in range(n_labels) if value[k] == "1")

    def stratum(value):
        if sets[value] >= RARE:
            return value
        return min((single[k], k) for k in range(n_labels) if value[k] == "1")[1] if "1" in value else -1

    found = [str(stratum(value)) for value in values]
    numbers = {name: number for number, name in enumerate(sorted(set(found)))}
    return [numbers[name] for name in found], len(numbers)


def balance(values, labels):
    """Yield (what, its value) for the audit."""
    for k, name in enumerate(labels):
        yield f"share {name}", sum(value[k] == "1" for value in values) / len(values)
    yield "labels of a text, mean", sum(value.count("1") for value in values) / len(values)
    yield "share without a label", sum("1" not in value for value in values) / len(values)


def counts(values, n_labels):
    """Return what the manifest says of a split's labels."""
    return {
        "n_by_label": [sum(value[k] == "1" for value in values) for k in range(n_labels)],
        "n_by_set": sorted(Counter(values).values(), reverse=True),
        "n_without_label": sum("1" not in value for value in values),
    }


def array(values):
    """Return (n, labels) int8, 0 or 1."""
    import numpy as np

    return np.array([[int(digit) for digit in value] for value in values], dtype=np.int8)


def outputs(labels):
    """Return the fields of a model's configuration that count and name what it gives."""
    named = {"id2label": dict(enumerate(labels)), "label2id": {name: k for k, name in enumerate(labels)}}
    return named | {"problem_type": PROBLEM}


def compared(logits, labels):
    """Return what `LOSS` compares: its mean is the binary cross entropy of a text and label, in nats."""
    return logits, labels.to(logits.dtype)


def answers(logits):
    """Return the labels given to each text, an integer tensor (n, labels) of 0 and 1."""
    return (probabilities(logits) >= THRESHOLD).long()


def probabilities(logits):
    """Return (n, labels) probabilities of logits."""
    return logits.sigmoid()


def right(given, labels):
    """Return whether each answer is the whole set, no label more or less."""
    return (given == labels).all(dim=1)


def fits(columns):
    """Tell whether predictions with these columns are sets of labels."""
    return columns[:3] == ["id", "label", "prediction"] and columns[3:4] == ["probability_of_0"]


def columns(n_outputs):
    """Return the names of the columns of probabilities."""
    return tuple(f"probability_of_{k}" for k in range(n_outputs))


def cells(array):
    """Return the cell of each text of an array."""
    return ["".join(map(str, row)) for row in array.tolist()]


def shown(value, labels):
    """Return the names of a text's labels."""
    return [name for name, digit in zip(labels, value, strict=True) if digit == "1"]


def said(cell, labels):
    """Return the scores of an answer, a list of names or a cell as in a table, or raise a ValueError."""
    names = list(map(str, cell)) if isinstance(cell, list) else parts(str(cell))
    if not set(names) <= set(labels):
        raise ValueError(f"no set of the labels {', '.join(labels)} ({BETWEEN} between them, or a list)")
    return [float(name in names) for name in labels]


def are_right(scores):
    """Return (n,): whether each text's scores are probabilities; what is not finite is none."""
    return ((scores >= 0) & (scores <= 1)).all(axis=1)


def settled(scores, answer, labels):
    """Return a text's scores where its answer is said beside them.

    Raises:
        ValueError: the answer is another set than the labels whose probability suffices.
    """
    if [float(score >= THRESHOLD) for score in scores] != answer:
        raise ValueError(
            f"the prediction is not the set of labels of probability {THRESHOLD} or more; give these, or leave the "
            "probabilities out"
        )
    return scores


def given(scores):
    """Return the answers (n, labels), 0 and 1, and the probabilities."""
    return (scores >= THRESHOLD).astype("int64"), scores
