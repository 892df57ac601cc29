"""Audit the data: duplicates within and across splits, balance, lengths, unknown pieces, test text in the corpus."""

import re
import unicodedata
from collections import Counter

import numpy as np
from scipy import sparse

from common.errors import StudyError
from common.files import read_lines, write_json, write_tsv
from common.pieces import load_model
from common.rule import running

SPLITS = ("train", "valid", "test")
COLUMNS = ("check", "split", "other", "value", "n", "status", "note")
SHINGLE = 5  # characters
NEAR = 0.8  # Jaccard similarity from which two reviews are near-duplicates
# Words in a row that text shares by copying, hardly by chance. Source: Brown et al. 2020, appendix C.
NGRAM = 13
CONTAINED = 0.5  # share of a review's word n-grams found in the corpus from which it counts as contained
LENGTH_QUANTILES = (0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 1.0)
_NOT_WORD = re.compile(r"[\W_]+")


def normalised(text):
    """Return `text` as compared: compatibility form, case folded, everything but letters and digits one space."""
    return _NOT_WORD.sub(" ", unicodedata.normalize("NFKC", text).casefold()).strip()


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
    """Return which reviews stand in the corpus: as a line, or with most of their runs of 13 words.

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
        words = text.split()
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
            words = text.split()
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
        reviews: list of reviews.
        processor: sentencepiece.SentencePieceProcessor.
        known: set of pieces that the dictionary holds.
        limit: pieces of an input (max_positions - 2).

    Returns:
        dict: n, mean, quantiles, n_truncated, n_pieces, n_unknown, histogram ({lower bound of the bin: n}, bins of
        16 pieces).
    """
    encoded = processor.encode(reviews, out_type=str) if reviews else []
    lengths = np.array([len(pieces) for pieces in encoded], dtype=int)
    unknown = sum(piece not in known for pieces in encoded for piece in pieces)
    histogram = Counter((lengths // 16 * 16).tolist())
    return {
        "n": len(reviews),
        "mean": float(lengths.mean()) if len(lengths) else 0.0,
        "quantiles": {str(q): float(np.quantile(lengths, q)) if len(lengths) else 0.0 for q in LENGTH_QUANTILES},
        "n_truncated": int((lengths > limit).sum()),
        "n_pieces": int(lengths.sum()),
        "n_unknown": int(unknown),
        "histogram": {str(start): histogram[start] for start in sorted(histogram)},
    }


def audit(reviews, labels, measured, duplicates, in_corpus):
    """Return the rows of audit.tsv.

    `status` is `ok` or `leak` where a check can fail, `not checked` where it could not be made, else empty.

    Args:
        reviews: {split: list of reviews}, unlabelled among them.
        labels: {split: list of "0"/"1"}.
        measured: {split: what `measure_pieces` returns}; empty splits are left out.
        duplicates: what `find_duplicates` returns.
        in_corpus: what `find_in_corpus` returns for the test reviews, or None without a corpus.
    """
    rows = []

    def add(check, split, other, value, n, status="", note=""):
        rows.append(dict(zip(COLUMNS, (check, split, other, value, n, status, note), strict=True)))

    for split in SPLITS:
        n_positive = sum(label == "1" for label in labels[split])
        add("share positive", split, "", n_positive / len(labels[split]), len(labels[split]))
    for split, values in measured.items():
        add("mean pieces", split, "", values["mean"], values["n"])
        add("median pieces", split, "", values["quantiles"]["0.5"], values["n"])
        add("longest, pieces", split, "", values["quantiles"]["1.0"], values["n"])
        add("share truncated", split, "", values["n_truncated"] / values["n"], values["n"])
        add("unknown-piece rate", split, "", values["n_unknown"] / max(values["n_pieces"], 1), values["n_pieces"])
    names = [split for split in (*SPLITS, "unlabelled") if reviews.get(split)]
    for i, split in enumerate(names):
        for other in names[i:]:
            pairs = [entry for entry in duplicates if (entry["split"], entry["other"]) == (split, other)]
            for kind in ("exact", "near"):
                if split == other == "unlabelled" and kind == "near":
                    continue
                of = [entry for entry in pairs if entry["kind"] == kind]
                leaks = split != other and other != "unlabelled"
                status = ("leak" if of else "ok") if leaks else ""
                note = ""
                if other != "unlabelled":
                    differ = sum(labels[split][e["line"]] != labels[other][e["other_line"]] for e in of)
                    note = f"{differ} with different labels" if of else ""
                add(f"{kind} duplicates, pairs", split, other, len(of), len(reviews[other]), status, note)
    note = f"as a line, or with at least {CONTAINED:.0%} of its runs of {NGRAM} words"
    if in_corpus is None:
        note = "the checkpoint was fetched: its corpus is not at hand"
        add("test reviews in the pretraining corpus", "test", "corpus", None, len(reviews["test"]), "not checked", note)
    else:
        status = "leak" if in_corpus else "ok"
        add(
            "test reviews in the pretraining corpus",
            "test",
            "corpus",
            len(in_corpus),
            len(reviews["test"]),
            status,
            note,
        )
    touched = {e["other_line"] for e in duplicates if e["other"] == "test" and e["split"] in ("train", "valid")}
    add("test reviews in training or validation", "test", "train, valid", len(touched), len(reviews["test"]),
        "leak" if touched else "ok", "exactly or nearly")  # fmt: skip
    return rows


def main(reviews, labels, unlabelled, model, dictionary, corpora, table, report, max_positions):
    """Write the audit.

    Args:
        reviews, labels: {split: path} of the canonical files.
        unlabelled: path of the unlabelled reviews (may be empty).
        model, dictionary: SentencePiece model and fairseq's dict.txt of the checkpoint.
        corpora: files of the pretraining corpus; empty when the checkpoint was fetched.
        table, report: audit.tsv and audit.json to write.
        max_positions: tokens of an input, <s> and </s> among them.

    Raises:
        StudyError: a split is empty, or has not one label a review.
    """
    texts = {split: read_lines(path) for split, path in reviews.items()}
    values = {split: read_lines(path) for split, path in labels.items()}
    for split in SPLITS:
        if not texts[split] or len(texts[split]) != len(values[split]):
            raise StudyError(
                f"{reviews[split]} has {len(texts[split])} reviews and {labels[split]} has {len(values[split])} "
                "labels: a split needs one label for each review, and at least one review"
            )
    texts["unlabelled"] = read_lines(unlabelled)
    processor = load_model(model)
    known = {line.rsplit(" ", 1)[0] for line in read_lines(dictionary)}
    measured = {
        split: measure_pieces(content, processor, known, max_positions - 2)
        for split, content in texts.items()
        if content
    }
    duplicates = find_duplicates(texts)
    in_corpus = find_in_corpus(texts["test"], corpora) if corpora else None
    rows = audit(texts, values, measured, duplicates, in_corpus)
    write_tsv(table, rows, COLUMNS)
    write_json(
        report,
        {
            "settings": {
                "shingle_characters": SHINGLE,
                "near_jaccard": NEAR,
                "ngram_words": NGRAM,
                "contained_share": CONTAINED,
                "max_pieces": max_positions - 2,
            },
            "lengths": measured,
            "duplicates": duplicates,
            "test_in_corpus": in_corpus,
            "n_leaks": sum(row["status"] == "leak" for row in rows),
        },
    )


if __name__ == "__main__":
    with running(snakemake):  # noqa: F821
        splits = snakemake.params.splits  # noqa: F821
        main(
            dict(zip(splits, snakemake.input.reviews, strict=True)),  # noqa: F821
            dict(zip(splits, snakemake.input.labels, strict=True)),  # noqa: F821
            snakemake.input.unlabelled,  # noqa: F821
            snakemake.input.model,  # noqa: F821
            snakemake.input.dictionary,  # noqa: F821
            list(snakemake.input.corpora),  # noqa: F821
            snakemake.output.table,  # noqa: F821
            snakemake.output.details,  # noqa: F821
            snakemake.params.max_positions,  # noqa: F821
        )
