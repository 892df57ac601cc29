"""Write a study's file for someone's own texts, and say what is in them (`make new`).

python -m tools.new_study NAME --train FILE --test FILE --text COLUMN --label COLUMN [--second COLUMN] [--valid FILE]
    [--model FOLDER or OWNER/NAME] [--mirror FOLDER] [--task regression|multilabel]
"""

import argparse
import contextlib
import itertools
import os
import re
import sys

import jinja2
import pandas
import yaml

import tasks
from common.errors import StudyError
from common.files import atomic_path, write_text
from data.reviews import decode
from data.text_tables import quoting_of, read_examples, read_rows, read_table
from data.words import length_unit, measure_lengths
from study.addresses import is_address
from study.configuration import load_study
from tools.hub_model import hub_entry, is_repo

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
TEMPLATE = os.path.join(ROOT, "tools", "new_study.yaml.j2")
USAGE = (
    "make new NAME=mystudy TRAIN=FILE TEST=FILE TEXT=COLUMN LABEL=COLUMN [SECOND=COLUMN] [VALID=FILE] "
    "[MODEL=FOLDER or OWNER/NAME of the hub] [TASK=regression|multilabel]"
)
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,99}")
# `data.labels` takes at most this many labels of this length.
MOST_CLASSES, LONGEST_NAME = 200, 100
# More different numbers than this may be values to predict, and no classes.
MOST_NUMBERED = 20
# The number of config.yaml, where the texts suffice.
VOCABULARY, UPDATES, WARMUP, BATCH = 2400, 1800, 100, 32
# The small checkpoint makes this many passes over the training texts, if that is less than `UPDATES`.
PASSES = 60
# Approximate tokens per word, with that vocabulary and with a smaller one; tokens of an input are a multiple of 32.
TOKENS_PER_WORD, TOKENS_PER_WORD_OF_FEW, STEP, LONGEST = 1.6, 3, 32, 512
# The most tokens where texts are measured in characters.
TOKENS_PER_CHARACTER = 1


def columns_in(path, named):
    """Return columns as the settings have them: by number where all are numbers and the table has none of such names.

    Args:
        path: table.
        named: {text, label, second: as given, or None}.
    """
    given = [name for name in named.values() if name]
    if not all(re.fullmatch(r"[1-9]\d*", name) for name in given):
        return named
    # A name may be a number, as 2024 is; a faulty table is reported where it is read.
    with contextlib.suppress(StudyError):
        read_rows(path, given)
        return named
    return {key: name and int(name) for key, name in named.items()}


def read_frame(files, columns, task=tasks.DEFAULT):
    """Return a frame with a row for each text, or pair of texts: split, text, label, place, length, unit of lengths.

    Args:
        files: {split: path}.
        columns: text, label and second (None where a row is one text), by name or number.
        task: kind of the labels.

    Raises:
        StudyError: see `data.text_tables.read_examples`.
    """
    rows = [(split, *example) for split, path in files.items() for example in read_examples(path, **columns, task=task)]
    frame = pandas.DataFrame(rows, columns=["split", "text", "label", "place"])
    unit = length_unit(frame.loc[frame["split"] == "train", "text"])
    return frame.assign(length=measure_lengths(frame["text"], unit), unit=unit)


def check_numbers(frame):
    """Ask what numbers are, where TASK does not say and they may be more than names of classes.

    Raises:
        StudyError: they may be.
    """
    numbers = pandas.to_numeric(frame["label"], errors="coerce")
    n = numbers.nunique()
    if numbers.notna().all() and ((numbers % 1 != 0).any() or n > MOST_NUMBERED):
        raise StudyError(
            f"the column of labels has numbers, {n} different ones ({numbers.min():g} to {numbers.max():g}); add "
            "TASK=regression to predict a number, or TASK=classification where each is the name of a class"
        )


def classes_of(frame, task=tasks.DEFAULT):
    """Return the labels in order: numbers by size, others by the alphabet; none where labels are numbers.

    Raises:
        StudyError: one class, or so many that they are none.
    """
    kind = tasks.load(task)
    if not kind.NAMED:
        return []
    found = list(dict.fromkeys(part for cell in frame["label"].unique() for part in kind.parts(cell)))
    if not 2 <= len(found) <= MOST_CLASSES:
        raise StudyError(
            f"the column of labels has {len(found)} different values, and a study 2 to {MOST_CLASSES} classes; is it "
            f"the right column? It has {', '.join(repr(label[:30]) for label in found[:4])}"
        )
    numeric = pandas.to_numeric(pandas.Series(found), errors="coerce").notna().all()
    return sorted(found, key=float) if numeric else sorted(found, key=lambda label: (label.casefold(), label))


def check_headers(frame, files, columns):
    """Refuse files with a header whose columns are given by number: its row would be a text, its label a class.

    Args:
        frame, columns: see `read_frame`.
        files: {split: path}.
    """
    first = frame.groupby("split", sort=False).head(1)
    alone = all((frame["label"] == label).sum() == len(files) for label in first["label"])
    if isinstance(columns["text"], int) and len(first[["text", "label"]].drop_duplicates()) == 1 and alone:
        text, label = first.iloc[0][["text", "label"]]
        raise StudyError(
            f"{next(iter(files.values()))} has a header: its first row is {text!r:.40}, {label!r:.40}; name the "
            f"columns, as in TEXT={text} LABEL={label}"
        )


def check_labels(frame, files, task=tasks.DEFAULT):
    """Refuse a label that is no class's name, or that one file has and another lacks; the message names the row."""
    if task != tasks.DEFAULT:
        return
    long = frame[frame["label"].str.len() > LONGEST_NAME]
    for row in long.itertuples():
        raise StudyError(
            f"{row.place} has a label of {len(row.label)} characters, and a class's name at most {LONGEST_NAME}; is it "
            "the right column?"
        )
    for split, path in files.items():
        lacking = frame[~frame["label"].isin(frame.loc[frame["split"] == split, "label"])]
        for row in lacking.itertuples():
            raise StudyError(
                f"{row.place} has the label {row.label!r}, which no row of {path} has; correct it, or add such rows "
                "there"
            )


def quotation_marks(path):
    """Return in words whose the quotation marks at the beginning of cells are; empty where the format decides."""
    if not path.lower().endswith(".tsv"):
        return ""
    with open(path, "rb") as handle:
        is_text = quoting_of(path, decode(handle.read(), path)) == "none"
    return ", quotation marks read as the texts' own (data.table.quoting: none)" if is_text else ""


def describe(frame, files, labels, task=tasks.DEFAULT):
    """Return in words what the files hold: rows, classes, lengths, repeated texts, texts of test that train has."""
    lines = []
    for split, path in files.items():
        part = frame[frame["split"] == split]
        lines.append(f"{split}: {path}, {len(part)} rows{quotation_marks(path)}")
        lines.append(f"  {balance(part, labels, task)}")
        length, unit = part["length"], part["unit"].iloc[0]
        lines.append(f"  {unit} in a text: median {length.median():g}, longest {length.max()}")
        lines.append(f"  texts that occur before in this file: {part['text'].duplicated().sum()}")
    for split, other in (("train", "valid"), ("train", "test"), ("valid", "test")):
        if {split, other} <= files.keys():
            known = set(frame.loc[frame["split"] == split, "text"])
            n = frame.loc[frame["split"] == other, "text"].isin(known).sum()
            lines.append(f"texts of {other} that {split} has, too: {n}{' (a leak: remove them)' if n else ''}")
    return "\n".join(lines)


def balance(part, labels, task):
    """Return in words what labels a split has."""
    kind = tasks.load(task)
    if not kind.NAMED:
        numbers = part["label"].map(float)
        return f"numbers: mean {numbers.mean():.4g}, SD {numbers.std():.4g}, {numbers.min():g} to {numbers.max():g}"
    counts = part["label"].map(kind.parts).explode().value_counts()
    shares = (f"{name} {counts.get(name, 0)} ({counts.get(name, 0) / len(part):.0%})" for name in labels)
    return f"{'classes' if task == tasks.DEFAULT else 'labels'}: {', '.join(shares)}"


def sizes(train):
    """Return the sizes of a small checkpoint that so much text bears.

    Args:
        train: the rows of train.

    Returns:
        dict: vocab_size, n_different (words, or characters), unit, positions, long (the length, in that unit, of all
        but the longest 5 % of the texts), updates, passes, warmup.
    """
    texts, unit = train["text"], train["unit"].iloc[0]
    n_words, n_signs = len(set(" ".join(texts).split())), len(set("".join(texts)))
    # Merging pieces makes at least each different word; a fifth of the texts is held out with its words.
    most = max(VOCABULARY, 2 * n_signs)
    vocab_size = min(most, max(100, n_signs + n_words // 2))
    long = int(train["length"].quantile(0.95))
    tokens = long * (TOKENS_PER_WORD if vocab_size >= VOCABULARY else TOKENS_PER_WORD_OF_FEW)
    if unit == "characters":
        tokens = long * TOKENS_PER_CHARACTER
    positions = min(LONGEST, (int(tokens) + 2 + STEP) // STEP * STEP)
    updates = min(UPDATES, max(200, PASSES * len(train) // BATCH // 20 * 20))
    passes = max(1, round(updates * BATCH / len(train)))
    return {
        "vocab_size": vocab_size,
        "n_different": n_signs if unit == "characters" else n_words,
        "unit": unit,
        "positions": positions,
        "long": long,
        "updates": updates,
        "passes": passes,
        "warmup": min(WARMUP, updates // 10),
    }


def study_text(name, files, columns, frame, labels, model, task=tasks.DEFAULT):
    """Return the text of the study's file.

    Args:
        name: name of the study.
        files: {split: path}.
        columns: see `read_frame`.
        frame: what `read_frame` returns.
        labels: names of the classes in order.
        model: the entry of `finetuning.models` ({folder} or {hub}), or None.
        task: kind of the labels.
    """
    environment = jinja2.Environment(
        undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True
    )
    environment.filters["yaml"] = lambda value: (
        yaml.safe_dump(value, default_flow_style=True, width=10**9, allow_unicode=True).strip().removesuffix("\n...")
    )
    train = frame[frame["split"] == "train"]
    counts = train["label"].map(tasks.load(task).parts).explode().value_counts() if labels else {}
    with open(TEMPLATE, encoding="utf-8") as handle:
        template = environment.from_string(handle.read())
    return template.render(
        name=name,
        files={"valid": None} | files,
        rows=frame["split"].value_counts().to_dict(),
        **columns,
        by_number=", counted from 1: the files have no header" if isinstance(columns["text"], int) else "",
        task=task,
        labels=labels,
        counts=", ".join(str(counts.get(name, 0)) for name in labels) + " rows of train",
        n_valid=max(len(train) // 5, len(labels)),
        model=model,
        **sizes(train),
    )


def model_entry(model, mirror=None):
    """Return the entry of `finetuning.models` for a folder, or for a model of the hub by its name.

    Raises:
        StudyError: there is no such model, or the hub does not answer.
    """
    if os.path.isfile(os.path.join(model, "config.json")):
        return {"folder": model}
    if is_repo(model):
        return {"hub": hub_entry(model, mirror)}
    raise StudyError(
        f"MODEL={model}: there is no {os.path.join(model, 'config.json')}; name a model's folder, or a model of the "
        "hub as OWNER/NAME"
    )


def main(name, files, text, label, second=None, model=None, folder="studies", mirror=None, task=None):
    """Look at the files and write `FOLDER/NAME.yaml`.

    Args:
        name: name of the study.
        files: {split: path}, train, test and perhaps valid.
        text, label: columns: names, or numbers from 1 as text.
        second: column of the second texts, likewise, where a row is a pair of texts; None: it is one text.
        model: folder of a Hugging Face model, or its name on the hub (OWNER/NAME); None: a small checkpoint is
            pretrained on the training texts.
        folder: where the file goes.
        mirror: folder that replaces the network, or None.
        task: kind of the labels; None: classes, unless they look like numbers to predict.

    Returns:
        tuple[str, str]: its path, and what was found.

    Raises:
        StudyError: the file exists, the name is taken, a table cannot be read, its labels are no classes, or there is
            no such model.
    """
    path = os.path.join(folder, f"{name}.yaml")
    if not NAME.fullmatch(name):
        raise StudyError(f"NAME={name}: use letters, digits, '_', '.' and '-', beginning with a letter or digit")
    if name == load_study(ROOT)[0]["study"]:
        raise StudyError(f"NAME={name} is the study of config.yaml, whose results are there; choose another NAME")
    if os.path.lexists(path):
        raise StudyError(f"{path} exists and is not overwritten; choose another NAME, or remove it first")
    for split, file in files.items():
        if is_address(file):
            raise StudyError(f"{split.upper()}={file}: make new reads files of this machine; download it first")
    named = {"TEXT": text, "SECOND": second, "LABEL": label}
    for one, other in itertools.combinations(named, 2):
        if named[one] == named[other]:
            raise StudyError(f"{one} and {other} are both {named[one]}; name two columns")
    entry = model_entry(model, mirror) if model else None
    columns = columns_in(files["train"], {"text": text, "label": label, "second": second})
    if task not in (None, *tasks.names()):
        raise StudyError(f"TASK={task}: choose {', '.join(tasks.names())}")
    kind = task or tasks.DEFAULT
    frame = read_frame(files, columns, kind)
    check_headers(frame, files, columns)
    if task is None:
        check_numbers(frame)
    labels = classes_of(frame, kind)
    check_labels(frame, files, kind)
    # The study itself would refuse these.
    read_table(list(files.values()), list(files), columns, labels, kind)
    with atomic_path(path) as temporary:
        write_text(temporary, study_text(name, files, columns, frame, labels, entry, kind))
        load_study(ROOT, temporary)
    return path, describe(frame, files, labels, kind)


def asked(arguments):
    """Return the words of the command line; one that is empty was not given."""
    parser = argparse.ArgumentParser(prog="make new", usage=USAGE)
    parser.add_argument("name")
    for option in ("train", "test", "valid", "text", "label", "second", "model", "mirror", "task"):
        parser.add_argument(f"--{option}", default="")
    words = parser.parse_args(arguments)
    for option in ("name", "train", "test", "text", "label"):
        if not getattr(words, option):
            raise StudyError(f"{option.upper()} is missing: {USAGE}")
    return words


if __name__ == "__main__":
    try:
        words = asked(sys.argv[1:])
        given = {split: getattr(words, split) for split in ("train", "valid", "test") if getattr(words, split)}
        written, found = main(
            words.name,
            given,
            words.text,
            words.label,
            words.second or None,
            words.model or None,
            mirror=words.mirror or None,
            task=words.task or None,
        )
    except StudyError as error:
        sys.exit(f"make new: {error}")
    print(found)
    print(f"Written: {written}. Read it, then: make study STUDY={written}")
