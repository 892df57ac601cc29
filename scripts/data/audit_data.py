"""Audit the data: duplicates within and across splits, balance, lengths, unknown pieces, test text in the corpus."""

import itertools
from collections import Counter

import numpy as np
from scipy import sparse

from common.entry import run
from common.files import read_json, read_lines, write_json, write_tsv
from data.lib.lengths import describe_lengths
from data.lib.pieces import load_model
from data.lib.reviews import POLARITY, pairs_of, read_splits
from data.lib.words import folded, letters_of, split_words

COLUMNS = ("check", "split", "other", "value", "n", "status", "note")
SHINGLE = 5  # characters
NEAR = 0.8  # Jaccard similarity from which two reviews are near-duplicates
# Words in a row that text shares by copying, hardly by chance. Source: Brown et al. 2020, appendix C.
NGRAM = 13
CONTAINED = 0.5  # share of a review's word n-grams found in the corpus from which it counts as contained


def normalised(text):
    """Return `text` as compared: compatibility form, case folded, everything but letters and digits one space.

    Of a text without any (an emoji alone) the signs are kept: two such texts need not be the same.
    """
    return letters_of(text) or " ".join(folded(text).split())


def shingle_matrix(texts):
    """Return the (n, distinct shingles) sparse 0/1 matrix of the texts' character 5-grams, rarest columns first.

    Args:
        texts: list of normalised texts; one shorter than 5 characters is its own shingle.
    """
    numbers, columns, starts = {}, [], [0]
    for text in texts:
        found = {text[i : i + SHINGLE] for i in range(max(1, len(text) - SHINGLE + 1))}
        columns += [numbers.setdefault(shingle, len(numbers)) for shingle in found]
        starts.append(len(columns))
    columns = np.array(columns, dtype=np.int32)
    frequency = np.bincount(columns, minlength=len(numbers))
    rank = np.empty(len(numbers), dtype=np.int32)
    rank[np.argsort(frequency, kind="stable")] = np.arange(len(numbers), dtype=np.int32)
    matrix = sparse.csr_matrix(
        (np.ones(len(columns), dtype=np.float32), rank[columns], starts), shape=(len(texts), len(numbers))
    )
    matrix.sort_indices()
    return matrix


def near_duplicates(texts, n_queries=None, threshold=NEAR):
    """Return every pair of texts whose character 5-gram sets have a Jaccard similarity of at least `threshold`.

    Exact, not sampled. Two sets with Jaccard >= t share an element among the |x| - ceil(t·|x|) + 1 rarest of each (else
    the intersection could not reach t·|x|); the few pairs which share such a rare shingle are compared in full.

    Args:
        texts: list of normalised texts.
        n_queries: only pairs with one of the first n_queries texts; None: all pairs.
        threshold: Jaccard similarity, above 0.

    Returns:
        list[tuple[int, int, float]]: (i, j, similarity), i < j, in order.

    Source: prefix filtering, Chaudhuri et al. 2006; Bayardo et al. 2007, Scaling Up All Pairs Similarity Search.
        SetSimilaritySearch has it in loops of Python, without sparse matrices; datasketch's MinHash misses pairs.
    """
    if len(texts) < 2:
        return []
    matrix = shingle_matrix(texts)
    sizes = np.diff(matrix.indptr)
    n_queries = len(texts) if n_queries is None else n_queries
    # The prefix of a row: its first (rarest) columns.
    lengths = sizes - np.ceil(threshold * sizes - 1e-9).astype(int) + 1
    position = np.arange(matrix.nnz) - np.repeat(matrix.indptr[:-1], sizes)
    kept = position < np.repeat(lengths, sizes)
    starts = np.concatenate([[0], np.cumsum(lengths)])
    prefixes = sparse.csr_matrix(
        (np.ones(int(kept.sum()), dtype=np.float32), matrix.indices[kept], starts), shape=matrix.shape
    )
    transposed = prefixes.T.tocsr()
    pairs = []
    for start in range(0, n_queries, 512):
        stop = min(start + 512, n_queries)
        candidates = (prefixes[start:stop] @ transposed).tocoo()
        left, right = candidates.row + start, candidates.col
        # Each pair once, and only where the sizes allow the similarity at all.
        low, high = np.minimum(sizes[left], sizes[right]), np.maximum(sizes[left], sizes[right])
        useful = (left < right) & (low >= threshold * high - 1e-9)
        left, right = left[useful], right[useful]
        for first in range(0, len(left), 20000):
            a, b = left[first : first + 20000], right[first : first + 20000]
            shared = np.asarray(matrix[a].multiply(matrix[b]).sum(axis=1)).ravel()
            similarity = shared / (sizes[a] + sizes[b] - shared)
            for k in np.flatnonzero(similarity >= threshold - 1e-9):
                pairs.append((int(a[k]), int(b[k]), round(float(similarity[k]), 4)))
    return sorted(pairs)


def find_duplicates(splits):
    """Return the exact and near-duplicates within and across splits, and between them and the unlabelled reviews.

    Args:
        splits: {name: list of reviews}; a split named `unlabelled` is compared exactly with itself, and in both ways
            with the others (its near-duplicates within itself do not matter to the study).

    Returns:
        list[dict]: split, line (0-based), other, other_line, similarity (1.0: equal after normalisation), kind.
    """
    names = [name for name in splits if name != "unlabelled"] + [name for name in splits if name == "unlabelled"]
    place, first_of, distinct, members = [], {}, [], []
    for name in names:
        for line, text in enumerate(splits[name]):
            text = normalised(text)
            number = first_of.setdefault(text, len(distinct))
            if number == len(distinct):
                distinct.append(text)
                members.append([])
            members[number].append((name, line))
        place.append(len(distinct))
    found = []

    def add(a, b, similarity, kind):
        a, b = sorted((a, b), key=lambda at: (names.index(at[0]), at[1]))
        found.append(dict(zip(("split", "line", "other", "other_line"), (*a, *b), strict=True)))
        found[-1] |= {"similarity": similarity, "kind": kind}

    for same in members:
        # One pair per further copy, so that n copies of a review are n - 1 duplicates, and one for each other split.
        for i, at in enumerate(same):
            previous = {}
            for earlier in same[:i]:
                previous[earlier[0]] = earlier
            for earlier in previous.values():
                add(earlier, at, 1.0, "exact")
    n_labelled = place[-2] if names and names[-1] == "unlabelled" and len(names) > 1 else len(distinct)
    for i, j, similarity in near_duplicates(distinct, n_labelled):
        for at in members[i]:
            for other in members[j]:
                if not at[0] == other[0] == "unlabelled":
                    add(at, other, similarity, "near")
    return sorted(found, key=lambda e: (names.index(e["split"]), names.index(e["other"]), e["line"], e["other_line"]))


def find_in_corpus(reviews, corpora):
    """Return which reviews the corpus holds: as a line, or with most of their runs of 13 words (`data.lib.words`).

    Args:
        reviews: list of reviews.
        corpora: list of paths, a text a line; lines that repeat are read once.

    Returns:
        list[dict]: line (0-based), kind (line | contained), share of the review's n-grams found (1.0 for a line).
    """
    texts = [normalised(review) for review in reviews]
    wanted, lines = {}, {}
    for number, text in enumerate(texts):
        lines.setdefault(text, []).append(number)
        words = split_words(text)
        for i in range(len(words) - NGRAM + 1):
            wanted.setdefault(hash(tuple(words[i : i + NGRAM])), set()).add(number)
    found_lines, found_grams, seen = set(), set(), set()
    for path in corpora:
        for line in read_lines(path):
            if line in seen:
                continue
            seen.add(line)
            text = normalised(line)
            if text in lines:
                found_lines.update(lines[text])
            words = split_words(text)
            for i in range(len(words) - NGRAM + 1):
                gram = hash(tuple(words[i : i + NGRAM]))
                if gram in wanted:
                    found_grams.add(gram)
    n_found = Counter(number for gram in found_grams for number in wanted[gram])
    n_all = Counter(number for numbers in wanted.values() for number in numbers)
    result = []
    for number in range(len(texts)):
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
        dict: see `data.lib.lengths.describe_lengths`.
    """
    first, second = pairs_of(reviews)
    encoded = processor.encode(first, out_type=str)
    if second:
        encoded = [a + b for a, b in zip(encoded, processor.encode(second, out_type=str), strict=True)]
    unknown = sum(piece not in known for pieces in encoded for piece in pieces)
    return describe_lengths([len(pieces) for pieces in encoded], unknown, limit)


def describe_splits(labels, measured, classes=POLARITY, tokens=()):
    """Yield the rows of audit.tsv on class balance and length.

    Args:
        labels: {split: list of labels, numbers from 0}.
        measured: {split: what `measure_pieces` returns}; empty splits are left out.
        classes: names of the classes in order.
        tokens: what `finetuning.measure_tokens` wrote of each model of others.
    """
    # Of two classes the second's share says all.
    for k in range(1 if len(classes) == 2 else 0, len(classes)):
        for split, values in labels.items():
            yield row(f"share {classes[k]}", split, "", values.count(k) / len(values), len(values))
    for split, values in measured.items():
        n, n_pieces = values["n"], values["n_pieces"]
        yield row("mean pieces", split, "", values["mean"], n)
        yield row("median pieces", split, "", values["quantiles"]["0.5"], n)
        yield row("longest, pieces", split, "", values["quantiles"]["1.0"], n)
        yield row("share truncated", split, "", values["n_truncated"] / n, n)
        yield row("unknown-piece rate", split, "", values["n_unknown"] / max(n_pieces, 1), n_pieces)
    for model in tokens:
        name, note = model["model"], f"by the model's own tokenizer; it reads the first {model['limit']} tokens"
        for split, values in model["splits"].items():
            n, n_tokens = values["n"], values["n_pieces"]
            yield row(f"{name}: mean tokens", split, "", values["mean"], n)
            yield row(f"{name}: median tokens", split, "", values["quantiles"]["0.5"], n)
            yield row(f"{name}: longest, tokens", split, "", values["quantiles"]["1.0"], n)
            yield row(f"{name}: share truncated", split, "", values["n_truncated"] / n, n, note=note)
            yield row(f"{name}: unknown-token rate", split, "", values["n_unknown"] / max(n_tokens, 1), n_tokens)


def count_duplicates(reviews, labels, duplicates):
    """Yield the rows on duplicates for each pair of splits.

    Args:
        reviews: {split: list of reviews}, unlabelled among them.
        labels: {split: list of labels}.
        duplicates: what `find_duplicates` returns.
    """
    for split, other in itertools.combinations_with_replacement([name for name in reviews if reviews[name]], 2):
        for kind in ("exact", "near"):
            if split == other == "unlabelled" and kind == "near":
                continue
            found = [e for e in duplicates if (e["split"], e["other"], e["kind"]) == (split, other, kind)]
            status, note = "", ""
            if split != other != "unlabelled":
                status = "leak" if found else "ok"
            if found and other != "unlabelled":
                n_differ = sum(labels[split][e["line"]] != labels[other][e["other_line"]] for e in found)
                note = f"{n_differ} with different labels"
            yield row(f"{kind} duplicates, pairs", split, other, len(found), len(reviews[other]), status, note)


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
    touched = {e["other_line"] for e in duplicates if e["other"] == "test" and e["split"] in ("train", "valid")}
    check, status = "test reviews in training or validation", "leak" if touched else "ok"
    yield row(check, "test", "train, valid", len(touched), n_test, status, "exactly or nearly")


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
):
    """Write the audit.

    Args:
        reviews, labels: files of train, valid and test.
        unlabelled: the unlabelled reviews (may be empty).
        corpora: files of the pretraining corpus; empty when the checkpoint was made elsewhere.
        table, details: audit.tsv and audit.json to write.
        max_positions: tokens of an input of the checkpoint's model, <s> and </s> among them.
        classes: names of the classes in order.
        model, dictionary: SentencePiece model and fairseq's dict.txt of the checkpoint; None: no arm starts from it.
        tokens: what `finetuning.measure_tokens` wrote, a file for each model of others.

    Raises:
        StudyError: see `data.lib.reviews.read_split`.
    """
    splits = read_splits(reviews, labels, classes)
    values = {split: numbers for split, (_, numbers) in splits.items()}
    texts = {split: lines for split, (lines, _) in splits.items()} | {"unlabelled": read_lines(unlabelled)}
    # <s> text </s>, or <s> first </s></s> second </s>.
    limit, measured = max_positions - (4 if pairs_of(texts["test"])[1] else 2), {}
    if model:
        processor, known = load_model(model), {line.rsplit(" ", 1)[0] for line in read_lines(dictionary)}
        measured = {split: measure_pieces(lines, processor, known, limit) for split, lines in texts.items() if lines}
    foreign = [read_json(path) for path in tokens]
    why = {} if model else {"why": "others trained the models: what on is not known here"}
    duplicates = find_duplicates(texts)
    in_corpus = find_in_corpus(texts["test"], corpora) if corpora else None
    rows = [
        *describe_splits(values, measured, classes, foreign),
        *count_duplicates(texts, values, duplicates),
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
    report = {"settings": settings, "lengths": measured, "duplicates": duplicates, "test_in_corpus": in_corpus}
    if foreign:
        report["tokens"] = foreign
    write_json(details, report | {"n_leaks": sum(each["status"] == "leak" for each in rows)})


if __name__ == "__main__":
    run(main, snakemake)
