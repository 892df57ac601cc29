"""The labels of a table of texts: what is in their cells, as the study's labels."""

import json
import re
import unicodedata

import tasks
from common.errors import StudyError
from data.reviews import normalise

# Labels of a file that a message names.
SHOWN = 8


def label_name(value):
    """Return a label as it is compared: one line in composed form, and 1.0 (as tables write whole numbers) as 1.

    Args:
        value: text of a cell, or what JSON has.
    """
    text = unicodedata.normalize("NFC", value) if isinstance(value, str) else json.dumps(value)
    return re.sub(r"^(-?\d+)\.0+$", r"\1", normalise(text))


def values_of(examples, split, paths, labels, task=tasks.DEFAULT, numbered=False):
    """Return the label of each row of a split: the number of a class, or what another kind of labels has.

    Args:
        examples: `data.text_tables.Example` of each row.
        split: its name, for messages.
        paths: its files, likewise.
        labels: names of the classes in order.
        task: kind of the labels.
        numbered: True where the columns have numbers, so that a header may have been read as a row.

    Raises:
        StudyError: a label that is not among `labels`, or one of them that no row has; two of them that are the same
            as compared; or a label that is no number where numbers are asked for.
    """
    kind = tasks.load(task)
    if not kind.NAMED:
        return [_number(kind, example, numbered) for example in examples]
    numbers = {label_name(name): number for number, name in enumerate(labels)}
    for number, name in enumerate(labels):
        if numbers[label_name(name)] != number:
            other = labels[numbers[label_name(name)]]
            raise StudyError(f"data.labels: {name!r} and {other!r} are compared as one label; take one out")
    parts = [[label_name(part) for part in kind.parts(example.label)] for example in examples]
    found = list(dict.fromkeys(part for its in parts for part in its))
    for example, its in zip(examples, parts, strict=True):
        for part in its:
            if part not in numbers:
                raise StudyError(
                    f"{example.place} has the label {part[:40]!r}, which is not in data.labels ({_some(labels)})"
                    f"; correct the row, or let data.labels name the labels of the file ({_some(found)})"
                    f"{_header_hint(example.place, numbered)}"
                )
    for name in labels if split in kind.NEEDED else ():
        if label_name(name) not in found:
            raise StudyError(
                f"data.table.{split}: no row of {', '.join(paths)} has the label {name!r}, which data.labels names; "
                "add such rows, or take it out of data.labels"
            )
    return [kind.value_of([numbers[part] for part in its], len(labels)) for its in parts]


def _number(kind, example, numbered):
    """Return the number that a row has for a label.

    Raises:
        StudyError: it has none.
    """
    try:
        return kind.number_of(example.label)
    except ValueError as error:
        raise StudyError(
            f"{example.place} has the label {example.label[:40]!r}, {error}; correct the row"
            f"{_header_hint(example.place, numbered)}"
        ) from error


def _header_hint(place, numbered):
    """Return what to do where the first row of a file whose columns have numbers has a label that is no class's."""
    first = numbered and ": row 1 (" in place
    return ". If that row is the header, name the columns in data.table in place of their numbers" if first else ""


def _some(names):
    """Return the first few of some names in words."""
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return ", ".join(name[:40] for name in names[:SHOWN]) + more
