"""Audit the data: duplicates within and across splits, balance, lengths, unknown pieces, test text in the corpus."""

import itertools
from array import array

import numpy as np

import tasks
from common.entry import run
from common.files import read_json, read_lines, write_json, write_tsv
from data.duplicates import find_duplicates, normalised
from data.lengths import describe_lengths
from data.near import NEAR, SHINGLE
from data.pieces import load_model
from data.reviews import POLARITY, pairs_of, read_splits
from data.words import split_words

COLUMNS = ("check", "split", "other", "value", "n", "status", "note")
# A run of this many words is shared by copying, hardly by chance. Source: Brown et al. 2020, appendix C.
NGRAM = 13
WAITING = 2_000_000  # runs of the corpus that are looked up together
CONTAINED = 0.5  # share of a review's word n-grams found in the corpus from which it counts as contained


def runs_of(text):
    """Return numbers for a normalised text's runs of 13 words; equal runs have equal numbers within a process."""
    words = split_words(text)
    return [hash(tuple(words[i : i + NGRAM])) for i in range(len(words) - NGRAM + 1)]


def find_in_corpus(reviews, corpora):
    """Return which reviews the corpus holds: as a line, or with most of their runs of 13 words (`data.words`).

    Args:
        reviews: list of reviews.
        corpora: list of paths, a text a line; lines that repeat are read once.

    Returns:
        list[dict]: line (0-based), kind (line | contained), share of the review's n-grams found (1.0 for a line).
    """
    lines, grams, owners = {}, array("q"), array("q")
    for number, review in enumerate(reviews):
        text = normalised(review)
        lines.setdefault(text, []).append(number)
        runs = runs_of(text)
        grams.extend(runs)
        owners.extend([number] * len(runs))
    wanted, places = np.unique(np.array(grams, dtype=np.int64), return_inverse=True)
    # A run that occurs twice in a review counts once.
    pairs = np.unique(places * len(reviews) + np.array(owners, dtype=np.int64))
    places, owners = np.divmod(pairs, max(len(reviews), 1))
    held, same, seen, waiting = np.zeros(len(wanted), dtype=bool), set(), set(), array("q")
    for path in corpora:
        for line in read_lines(path):
            if line in seen:
                continue
            seen.add(line)
            text = normalised(line)
            if text in lines:
                same.add(text)
            waiting.extend(runs_of(text))
            if len(waiting) >= WAITING:
                held |= np.isin(wanted, waiting)
                waiting = array("q")
    held |= np.isin(wanted, waiting)
    found_lines = {number for text in same for number in lines[text]}
    n_all = np.bincount(owners, minlength=len(reviews)).tolist()
    n_found = np.bincount(owners[held[places]], minlength=len(reviews)).tolist()
    result = []
    for number in range(len(reviews)):
        share = n_found[number] / n_all[number] if n_all[number] else 0.0
        if number in found_lines:
            result.append({"line": number, "kind": "line", "share": 1.0})
        elif share >= CONTAINED:
            result.append({"line": number, "kind": "contained", "share": round(share, 4)})
    return result


def measure_pieces(reviews, processor, known, limit):
    """Return the length distribution in pieces, the share truncated and the unknown-piece rate.

    Args:
        reviews: list of reviews, not empty.
        processor: sentencepiece.SentencePieceProcessor.
        known: set of pieces that the dictionary holds.
        limit: pieces of an input (max_positions less special tokens).

    Returns:
        dict: see `data.lengths.describe_lengths`.
    """
    first, second = pairs_of(reviews)
    encoded = processor.encode(first, out_type=str)
    if second:
        encoded = [a + b for a, b in zip(encoded, processor.encode(second, out_type=str), strict=True)]
    unknown = sum(piece not in known for pieces in encoded for piece in pieces)
    return describe_lengths([len(pieces) for pieces in encoded], unknown, limit)


def describe_splits(labels, measured, classes=POLARITY, tokens=(), task=tasks.DEFAULT):
    """Yield the rows of audit.tsv on class balance and length.

    Args:
        labels: {split: list of labels, numbers from 0}.
        measured: {split: what `measure_pieces` returns}; empty splits are left out.
        classes: names of the classes in order.
        tokens: what `finetuning.measure_tokens` wrote of each model of others.
        task: kind of the labels.
    """
    balances = {split: dict(tasks.load(task).balance(values, classes)) for split, values in labels.items()}
    for check in dict.fromkeys(check for balance in balances.values() for check in balance):
        for split, values in labels.items():
            yield row(check, split, "", balances[split][check], len(values))
    for split, values in measured.items():
        n, n_pieces = values["n"], values["n_pieces"]
        yield row("mean pieces", split, "", values["mean"], n)
        yield row("median pieces", split, "", values["quantiles"]["0.5"], n)
        yield row("longest, pieces", split, "", values["quantiles"]["1.0"], n)
        yield row("share truncated", split, "", values["n_truncated"] / n, n)
        yield row("unknown-piece rate", split, "", values["n_unknown"] / max(n_pieces, 1), n_pieces)
    for model in tokens:
        name, limit = model["model"], f"{model['reads']} {model['limit']}"
        note = f"by the model's own tokenizer; it reads the {limit} tokens"
        for split, values in model["splits"].items():
            n, n_tokens = values["n"], values["n_pieces"]
            yield row(f"{name}: mean tokens", split, "", values["mean"], n)
            yield row(f"{name}: median tokens", split, "", values["quantiles"]["0.5"], n)
            yield row(f"{name}: longest, tokens", split, "", values["quantiles"]["1.0"], n)
            yield row(f"{name}: share truncated", split, "", values["n_truncated"] / n, n, note=note)
            yield row(f"{name}: unknown-token rate", split, "", values["n_unknown"] / max(n_tokens, 1), n_tokens)


def count_duplicates(reviews, duplicates):
    """Yield the rows on duplicates for each pair of splits.

    Args:
        reviews: {split: list of reviews}, unlabelled among them.
        duplicates: what `find_duplicates` returns.
    """
    for split, other in itertools.combinations_with_replacement([name for name in reviews if reviews[name]], 2):
        for kind in ("exact", "near"):
            if split == other == "unlabelled" and kind == "near":
                continue
            n, n_differ = duplicates.counts.get((split, other, kind), (0, 0))
            status, note = "", ""
            if split != other != "unlabelled":
                status = "leak" if n else "ok"
            if n and other != "unlabelled":
                note = f"{n_differ} with different labels"
            yield row(f"{kind} duplicates, pairs", split, other, n, len(reviews[other]), status, note)


def find_leaks(n_test, duplicates, in_corpus, why="the checkpoint was made elsewhere: its corpus is not at hand"):
    """Yield the rows on test reviews that the model has seen.

    Args:
        n_test: test reviews.
        duplicates: what `find_duplicates` returns.
        in_corpus: what `find_in_corpus` returns for the test reviews, or None without a corpus.
        why: there is none.
    """
    check = "test reviews in the pretraining corpus"
    if in_corpus is None:
        yield row(check, "test", "corpus", None, n_test, "not checked", why)
    else:
        note = f"as a line, or with at least {CONTAINED:.0%} of its runs of {NGRAM} words"
        yield row(check, "test", "corpus", len(in_corpus), n_test, "leak" if in_corpus else "ok", note)
    check, status = "test reviews in training or validation", "leak" if duplicates.n_test_seen else "ok"
    yield row(check, "test", "train, valid", duplicates.n_test_seen, n_test, status, "exactly or nearly")


def row(check, split, other, value, n, status="", note=""):
    """Return a row of audit.tsv.

    `status` is `ok` or `leak` where a check can fail, `not checked` where it could not be made, else empty.
    """
    return dict(zip(COLUMNS, (check, split, other, value, n, status, note), strict=True))


def main(
    reviews,
    labels,
    unlabelled,
    corpora,
    table,
    details,
    max_positions,
    classes=POLARITY,
    model=None,
    dictionary=None,
    tokens=(),
    task=tasks.DEFAULT,
):
    """Write the audit.

    Long: the checks in their order, and what each argument is.

    Args:
        reviews, labels: files of train, valid and test.
        unlabelled: the unlabelled reviews (may be empty).
        corpora: files of the pretraining corpus; empty when the checkpoint was made elsewhere.
        table, details: audit.tsv and audit.json to write.
        max_positions: tokens of an input of the checkpoint's model, <s> and </s> among them.
        classes: names of the classes in order.
        model, dictionary: SentencePiece model and fairseq's dict.txt of the checkpoint; None: no arm starts from it.
        tokens: what `finetuning.measure_tokens` wrote, a file for each model of others.
        task: kind of the labels.

    Raises:
        StudyError: see `data.reviews.read_split`.
    """
    splits = read_splits(reviews, labels, classes, task)
    values = {split: numbers for split, (_, numbers) in splits.items()}
    texts = {split: lines for split, (lines, _) in splits.items()} | {"unlabelled": read_lines(unlabelled)}
    # <s> text </s>, or <s> first </s></s> second </s>.
    limit, measured = max_positions - (4 if pairs_of(texts["test"])[1] else 2), {}
    if model:
        processor, known = load_model(model), {line.rsplit(" ", 1)[0] for line in read_lines(dictionary)}
        measured = {split: measure_pieces(lines, processor, known, limit) for split, lines in texts.items() if lines}
    foreign = [read_json(path) for path in tokens]
    why = {} if model else {"why": "others trained the models: what on is not known here"}
    # Sets are compared by numbers of their own.
    numbers = {one: number for number, one in enumerate(sorted({one for its in values.values() for one in its}))}
    same = {split: [numbers[one] for one in its] for split, its in values.items()}
    duplicates = find_duplicates(texts, values if task == tasks.DEFAULT else same)
    in_corpus = find_in_corpus(texts["test"], corpora) if corpora else None
    rows = [
        *describe_splits(values, measured, classes, foreign, task),
        *count_duplicates(texts, duplicates),
        *find_leaks(len(texts["test"]), duplicates, in_corpus, **why),
    ]
    write_tsv(table, rows, COLUMNS)
    settings = {
        "shingle_characters": SHINGLE,
        "near_jaccard": NEAR,
        "ngram_words": NGRAM,
        "contained_share": CONTAINED,
        **({"max_pieces": limit} if model else {}),
    }
    report = {"settings": settings, "lengths": measured, "duplicates": duplicates.listed, "test_in_corpus": in_corpus}
    if duplicates.n > len(duplicates.listed):
        report["n_duplicates_not_listed"] = duplicates.n - len(duplicates.listed)
    if foreign:
        report["tokens"] = foreign
    write_json(details, report | {"n_leaks": sum(each["status"] == "leak" for each in rows)})


if __name__ == "__main__":
    run(main, snakemake)
