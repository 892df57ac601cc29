"""Texts that occur twice, exactly or nearly: counted within and across splits, and the first of them listed."""

import heapq
import itertools
from collections import Counter
from typing import NamedTuple

import numpy as np
from scipy import sparse

from data.near import near_pairs
from data.words import folded, letters_of

# At most this many pairs of two splits are listed, of exact and of near ones.
LISTED = 1000
UNLABELLED = "unlabelled"
# A line after every other.
NOWHERE = np.iinfo(np.int64).max


class Duplicates(NamedTuple):
    """The findings of `find_duplicates`.

    Attributes:
        n: pairs, in all.
        counts: {(split, other, "exact" or "near"): (pairs, pairs with different labels)}; absent where there are none.
        n_test_seen: test texts that train or valid has, exactly or nearly.
        listed: list of dicts, the first `LISTED` pairs of each two splits and kind: split, line (0-based), other,
            other_line, similarity (1.0: equal after normalisation), kind.
    """

    n: int
    counts: dict
    n_test_seen: int
    listed: list


def normalised(text):
    """Return `text` as compared: compatibility form, case folded, everything but letters and digits one space.

    Of a text without any (an emoji alone) the signs are kept: two such texts need not be the same.
    """
    return letters_of(text) or " ".join(folded(text).split())


class Copies:
    """The different texts of a study and where each occurs.

    Attributes:
        names: names of the splits, unlabelled last.
        texts: list of the different texts, normalised, those of the first splits first.
        n_labelled: how many of them a labelled split has.
        text, split, line, label: arrays, an entry each occurrence, sorted by text; label is -1 where there is none.
        starts: (n texts + 1,) the occurrences of text k are starts[k] to starts[k + 1].
    """

    def __init__(self, splits, labels):
        """Read {split: list of texts} and {split: list of labels}; see `find_duplicates`."""
        self.names = [name for name in splits if name != UNLABELLED] + [name for name in splits if name == UNLABELLED]
        known, text, split, line, label = {}, [], [], [], []
        self.n_labelled = 0
        for number, name in enumerate(self.names):
            text += [known.setdefault(normalised(one), len(known)) for one in splits[name]]
            split += [number] * len(splits[name])
            line += range(len(splits[name]))
            label += labels.get(name) or [-1] * len(splits[name])
            if name != UNLABELLED or len(self.names) == 1:
                self.n_labelled = len(known)
        self.texts = list(known)
        self.text, self.split, self.line, self.label = map(np.array, (text, split, line, label))
        order = np.argsort(self.text, kind="stable")
        self.text, self.split, self.line, self.label = (
            each[order] for each in (self.text, self.split, self.line, self.label)
        )
        self.starts = np.searchsorted(self.text, np.arange(len(known) + 1))


def find_duplicates(splits, labels=None):
    """Count the exact and near-duplicates within and across splits, and between them and the unlabelled reviews.

    Args:
        splits: {name: list of reviews}; a split named `unlabelled` is compared exactly with itself, and in both ways
            with the others (its near-duplicates within itself do not matter to the study).
        labels: {name: list of labels, ints from 0} of the labelled ones; None: labels are not compared.

    Returns:
        Duplicates: n copies of a review in a split are n - 1 exact pairs there, and one for each earlier split that has
        it. Near-duplicates are all pairs. Its size does not grow with their number.
    """
    copies = Copies(splits, labels or {})
    if not copies.texts:
        return Duplicates(0, {}, 0, [])
    tally = Tally(copies)
    for first, last in zip(copies.starts[:-1], copies.starts[1:], strict=True):
        if last - first > 1:
            tally.add_exact(first, last)
    for i, j, similarity in near_pairs(copies.texts, copies.n_labelled):
        tally.add_near(i, j, similarity)
    return tally.result()


class Tally:
    """Counts of pairs, the first of them, and the test texts that training has, as pairs come."""

    def __init__(self, copies):
        """Count pairs of the occurrences of `copies`."""
        self.copies, self.counts, self.listed = copies, Counter(), {}
        shape = len(copies.texts), len(copies.names), int(copies.label.max(initial=-1)) + 2
        self.shape = shape[1:] * 2
        ones, groups = np.ones(len(copies.text), dtype=np.int64), copies.split * shape[2] + copies.label + 1
        # The number of occurrences of each text in each split with each label.
        self.occurs = sparse.csr_matrix((ones, (copies.text, groups)), (shape[0], shape[1] * shape[2]))
        # The first line of each text in each split.
        self.first = np.full(shape[:2], NOWHERE)
        np.minimum.at(self.first, (copies.text, copies.split), copies.line)
        self.trained = (self.first[:, [name in ("train", "valid") for name in copies.names]] < NOWHERE).any(axis=1)
        self.seen = self.trained.copy()

    def add_exact(self, first, last):
        """Count the occurrences first to last, which are of one text."""
        copies, latest, found = self.copies, {}, {}
        for at in range(first, last):
            split = int(copies.split[at])
            for other, earlier in latest.items():
                key = (other, split, "exact")
                self.counts[key] += 1
                self.counts[*key, "differ"] += int(copies.label[earlier] != copies.label[at])
                found.setdefault(key, []).append((int(copies.line[earlier]), int(copies.line[at]), 1.0))
            latest[split] = at
        for key, pairs in found.items():
            self._list(key, pairs)

    def add_near(self, i, j, similarity):
        """Count pairs of near-duplicates: arrays of the numbers of two texts and of their similarity."""
        n = len(self.copies.texts)
        pairs = sparse.csr_matrix((np.ones(len(i), dtype=np.int64), (i, j)), (n, n))
        # (split, label, split, label): pairs of occurrences.
        found = (self.occurs.T @ (pairs @ self.occurs)).toarray().reshape(self.shape)
        every, alike = found.sum(axis=(1, 3)), np.einsum("akbk->ab", found)
        self.seen[j[self.trained[i]]] = True
        self.seen[i[self.trained[j]]] = True
        names = self.copies.names
        for a, b in itertools.combinations_with_replacement(range(len(names)), 2):
            n, same = every[a, b], alike[a, b]
            if a != b:
                n, same = n + every[b, a], same + alike[b, a]
            if n and not names[a] == names[b] == UNLABELLED:
                key = (a, b, "near")
                self.counts[key] += int(n)
                self.counts[*key, "differ"] += int(n - same)
                self._list(key, self._first_near(a, b, i, j, similarity))

    def _first_near(self, a, b, i, j, similarity):
        """Yield the first pairs of occurrences in splits a and b, each (line, other line, similarity)."""
        if a != b:
            i, j, similarity = np.concatenate([i, j]), np.concatenate([j, i]), np.concatenate([similarity, similarity])
        low, high = self.first[i, a], self.first[j, b]
        if a == b:
            low, high = np.minimum(low, high), np.maximum(low, high)
        places = np.flatnonzero(high < NOWHERE if a == b else (low < NOWHERE) & (high < NOWHERE))
        # A pair of texts has no pair of occurrences before its first.
        for place in places[np.lexsort((high[places], low[places]))[:LISTED]]:
            lines, others = self._lines(i[place], a), self._lines(j[place], b)
            found = itertools.product(lines, others)
            if a == b:
                turned = itertools.product(others, lines)
                found = heapq.merge(*((each for each in both if each[0] < each[1]) for both in (found, turned)))
            for pair in itertools.islice(found, LISTED):
                yield *pair, round(float(similarity[place]), 4)

    def _lines(self, text, split):
        """Return the lines of a split that have a text, in order."""
        places = slice(self.copies.starts[text], self.copies.starts[text + 1])
        return self.copies.line[places][self.copies.split[places] == split].tolist()

    def _list(self, key, pairs):
        """Keep the first of the pairs known and new."""
        self.listed[key] = heapq.nsmallest(LISTED, itertools.chain(self.listed.get(key, ()), pairs))

    def result(self):
        """Return what was counted, as `Duplicates`."""
        names, listed, counts = self.copies.names, [], {}
        for (a, b, kind), pairs in self.listed.items():
            counts[names[a], names[b], kind] = self.counts[a, b, kind], self.counts[a, b, kind, "differ"]
            for line, other, similarity in pairs:
                listed.append((a, b, line, other, similarity, kind))
        listed.sort(key=lambda each: each[:4])
        columns = ("split", "line", "other", "other_line", "similarity", "kind")
        listed = [dict(zip(columns, (names[a], line, names[b], *rest), strict=True)) for a, b, line, *rest in listed]
        in_test = self.copies.split == (names.index("test") if "test" in names else -1)
        n_test_seen = int(self.seen[self.copies.text[in_test]].sum())
        return Duplicates(sum(n for n, _ in counts.values()), counts, n_test_seen, listed)
