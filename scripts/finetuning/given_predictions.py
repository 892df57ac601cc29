"""Predictions that others made, checked row by row."""

import csv
import json
import math

import numpy as np

import tasks
from common.errors import StudyError
from common.files import reading
from data.reviews import BETWEEN, normalise

PROBABILITY = "probability_"
FORMATS = (".tsv", ".csv", ".jsonl")
# A line beyond it is no row of predictions.
LONGEST = 2_000_000


def read_given(path, texts, classes, seed=None, called=None, task=tasks.DEFAULT):
    """Return the scores that a file gives each text.

    Args:
        path: TSV or CSV (quoted as Python's csv module writes them) with a header, or JSON Lines. A row is a text:
            `id` (its place in the split, from 0) or `text` (and `second`), `prediction` (the name of a class, names of
            labels, or a number) and, for every label or for none, `probability_<label>`.
        texts: the split's texts.
        classes: names of the classes in order.
        called: how messages call the file; None: its path.
        seed: of the run, where the file is a table of several: long, with the column `seed`, or wide, with a column of
            predictions for each seed (`1`, or `seed1`). None: the file is of one run.
        task: kind of the labels.

    Returns:
        list[list[float]]: a row a text, see `tasks`; 1 and 0 where the file names labels alone.

    Raises:
        StudyError: a fault, by file and row.
    """
    if not str(path).endswith(FORMATS):
        raise StudyError(f"{path} has none of the extensions {', '.join(FORMATS)}; write one of these formats")
    called = called or path
    places, found, probable = places_of(texts), [None] * len(texts), None
    for place, row in of_run(called, records(path, called), seed):
        answer = scores_of(place, row, classes, tasks.load(task))
        certain = not any(key.startswith(PROBABILITY) for key in row)
        if probable not in (None, not certain):
            raise StudyError(
                f"{place}: some texts have probabilities and some have none; give them for all, or for none"
            )
        probable = not certain
        for number in texts_of(place, row, texts, places):
            if found[number] not in (None, answer) or (found[number] and "id" in row):
                raise StudyError(f"{place}: {named(row)} has a second prediction; give one a text")
            found[number] = answer
    if None in found:
        lacking = found.index(None)
        raise StudyError(
            f"{called} has predictions for {len(found) - found.count(None)} of {len(found)} texts; the first without "
            f"one has id {lacking}: {texts[lacking][:60]!r}"
        )
    return found


def records(path, called):
    """Yield (place for messages, {column: value}) of every row of a file.

    Raises:
        StudyError: no such file, not UTF-8, or not of the format that its extension says.
    """
    with reading(called), open(path, encoding="utf-8-sig", newline="") as handle:
        if str(path).endswith(".jsonl"):
            yield from json_records(called, handle)
            return
        limit = csv.field_size_limit(LONGEST)  # for the whole process, so it is put back
        rows = csv.DictReader(handle, delimiter="," if str(path).endswith(".csv") else "\t", strict=True)
        try:
            header = rows.fieldnames or []
            if twice := [name for place, name in enumerate(header) if name in header[:place]]:
                raise StudyError(f"{called}: the header has {twice[0]!r} twice; rename one column")
            for number, row in enumerate(rows, start=1):
                if None in row or None in row.values():
                    raise StudyError(
                        f"{called}, row {number} has {'more' if None in row else 'fewer'} cells than the header "
                        f"({', '.join(header)})"
                    )
                yield f"{called}, row {number}", row
        except csv.Error as error:
            raise StudyError(f"{called}, line {rows.line_num}: {error}; write it with a csv library") from error
        finally:
            csv.field_size_limit(limit)


def json_records(called, handle):
    """Yield what `records` does of JSON Lines."""
    number = 0
    while line := handle.readline(LONGEST):
        number += 1
        try:
            # Python would take NaN, which JSON lacks.
            row = json.loads(line, parse_constant=lambda name: name)
        except (ValueError, RecursionError) as error:
            raise StudyError(
                f"{called}, row {number} is not JSON: {line[:60].strip()!r}; write one object a line"
            ) from error
        if not isinstance(row, dict):
            raise StudyError(f"{called}, row {number} is no JSON object; write one a line")
        yield f"{called}, row {number}", row


def of_run(called, rows, seed):
    """Yield the rows of one run, without what tells the runs apart.

    Raises:
        StudyError: the table has no such run.
    """
    if seed is None:
        yield from rows
        return
    there, columns = False, []
    for place, row in rows:
        columns = list(row)
        wide = [name for name in (str(seed), f"seed{seed}") if name in row]
        if "seed" in row:
            if str(row["seed"]) == str(seed):
                there = True
                yield place, {key: value for key, value in row.items() if key != "seed"}
        elif wide:
            there = True
            yield (
                place,
                {key: row[key] for key in ("id", "text", "second") if key in row} | {"prediction": row[wide[0]]},
            )
    if not there:
        raise StudyError(
            f"{called} has no run of seed {seed}: its columns are {', '.join(columns) or 'none'}; give it a column "
            "seed, or one for each seed; or put {seed} into the path, or set fixed: true where no seed changes it"
        )


def scores_of(place, row, labels, kind):
    """Return a row's scores in the order of the labels; of a number, itself.

    Args:
        place: file and row, for messages.
        row: {column: value}.
        labels: their names in order.
        kind: module of the kind of labels.

    Raises:
        StudyError: a column or label that there is not, numbers that are no probabilities, or a prediction that is not
            what the probabilities say.
    """
    columns = [f"{PROBABILITY}{name}" for name in labels]
    known = ["id", "text", "second", "prediction", *columns]
    if unknown := [key for key in row if key not in known]:
        raise StudyError(f"{place}: the column {unknown[0]} is none of {', '.join(known)}; take it out or rename it")
    answer, given = row.get("prediction"), [row[name] for name in columns if name in row]
    try:
        said = None if answer is None else kind.said(answer, labels)
    except ValueError as error:
        raise StudyError(f"{place}: the prediction {str(answer)[:60]!r} is {error}") from error
    if not given:
        if said is None:
            wanted = f"{columns[0]}; give the class, or every probability" if columns else "another number; give it"
            raise StudyError(f"{place} has neither prediction nor {wanted}")
        return said
    if len(given) < len(labels):
        raise StudyError(f"{place} lacks {next(c for c in columns if c not in row)}; give every class a probability")
    try:
        numbers = [float(value) for value in given]
    except (TypeError, ValueError, OverflowError):
        numbers = [math.nan]
    if not kind.are_right(np.array([numbers]))[0]:
        raise StudyError(f"{place}: {', '.join(map(str, given))[:80]} are not {kind.WANTED}")
    try:
        return numbers if said is None else kind.settled(numbers, said, labels)
    except ValueError as error:
        raise StudyError(f"{place}: {error}") from error


def places_of(texts):
    """Return {text: its places in the split}."""
    found = {}
    for number, text in enumerate(texts):
        found.setdefault(text, []).append(number)
    return found


def texts_of(place, row, texts, places):
    """Return the places in the split of a row's text: several where the text occurs more than once.

    Raises:
        StudyError: an id or text that the split does not have, or an id beside another text.
    """
    text = BETWEEN.join(normalise(str(row[key])) for key in ("text", "second") if row.get(key) is not None)
    if row.get("id") is None:
        if row.get("text") is None:
            raise StudyError(f"{place} has neither id nor text; give one of them")
        if text not in places:
            raise StudyError(f"{place}: {text[:60]!r} is no text of the split; the texts have to be those of the study")
        return places[text]
    given = str(row["id"])
    if not (len(given) < 12 and given.isascii() and given.isdigit() and int(given) < len(texts)):
        raise StudyError(f"{place}: the id {given[:20]!r} is no place of a text (0 to {len(texts) - 1})")
    if row.get("text") is not None and text != texts[int(given)]:
        raise StudyError(f"{place}: the text with id {given} is {texts[int(given)][:60]!r}, not {text[:60]!r}")
    return [int(given)]


def named(row):
    """Return how a message calls a row's text."""
    return f"id {row['id']}" if row.get("id") is not None else repr(str(row["text"])[:60])
