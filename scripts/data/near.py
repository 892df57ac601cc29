"""Near-duplicates: every pair of texts that share most of their character 5-grams, found without holding the pairs.

Exact, not sampled. Texts are compared in tiles of a fixed size: memory grows with the texts and not with the pairs.

Source: prefix filtering, Chaudhuri et al. 2006; Bayardo et al. 2007, Scaling Up All Pairs Similarity Search.
    SetSimilaritySearch has it in loops of Python and returns a list of all pairs; datasketch's MinHash misses pairs.
"""

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components

SHINGLE = 5  # characters
NEAR = 0.8  # Jaccard similarity from which two texts are near-duplicates
# Texts of a tile, on both sides: its table of counts has at most 2 million cells.
LEFT, RIGHT = 256, 8192
# With more steps of a sparse product per cell of its result, equal columns are worth finding.
HEAVY = 4
# A group of at least this many pairs is compared in one product, with at most this many cells per pair.
GROUP, CELLS = 64, 64
# This many pairs are looked up and compared one by one, at a time.
PAIRS = 20000
# Counters of shingles: a power of 2. Shingles that share one are ordered worse, and no pair is lost.
COUNTERS = 24
ODD = np.uint64(0x9E3779B97F4A7C15)  # 2^64 over the golden ratio: Fibonacci hashing (Knuth, volume 3, 6.4)
EXACT = 7131  # different characters whose 5-grams have numbers of 64 bits: 7131^5 < 2^64


class Shingles:
    """Texts as sets of numbers, one for each different 5-gram.

    Numbers are exact for texts of up to 7,131 different characters. Beyond, two 5-grams of 64-bit numbers at hand share
    one with a chance of 1 in 2^64.
    """

    def __init__(self, texts):
        """Number the characters of `texts`, a list of str."""
        self.texts = texts
        signs = {character for text in texts for character in text}
        self.numbers = np.zeros(max(map(ord, signs), default=0) + 1, dtype=np.uint64)
        for number, sign in enumerate(sorted(signs), start=1):
            self.numbers[ord(sign)] = number
        self.base = np.uint64(len(signs) + 1) if len(signs) < EXACT else ODD

    def __getitem__(self, place):
        """Return the sorted 5-grams of a text, uint64; a text shorter than 5 characters is its own."""
        characters = np.frombuffer(self.texts[place].encode("utf-32-le", "surrogatepass"), dtype=np.uint32)
        numbers = self.numbers[characters]
        if len(numbers) < SHINGLE:
            numbers = np.pad(numbers, (0, SHINGLE - len(numbers)))
        codes = numbers[: len(numbers) - SHINGLE + 1].copy()
        for k in range(1, SHINGLE):
            codes *= self.base
            codes += numbers[k : len(numbers) - SHINGLE + 1 + k]
        codes.sort()
        return codes[np.concatenate([[True], codes[1:] != codes[:-1]])]

    def matrix(self, places):
        """Return texts as a sparse 0/1 matrix, a row each, of the 5-grams that they have."""
        return _matrix([self[place] for place in places])


def _matrix(rows):
    """Return sets of numbers, arrays, as the rows of a sparse 0/1 matrix."""
    starts = np.concatenate([[0], np.cumsum([len(row) for row in rows])])
    known, columns = np.unique(np.concatenate(rows), return_inverse=True)
    return _ones(columns, starts, len(known))


def _ones(columns, starts, width):
    """Return the sparse 0/1 matrix (float32) with these columns in its rows."""
    columns = np.asarray(columns, dtype=np.int32)
    return sparse.csr_matrix((np.ones(len(columns), dtype=np.float32), columns, starts), (len(starts) - 1, width))


class Prefixes:
    """The rarest shingles of each text: near-duplicates share some of them.

    Two sets with Jaccard >= t share at least t·|x| elements, so one among the |x| - ceil(t·|x|) + 1 rarest of each.

    Attributes:
        sizes: (n,) shingles of each text.
        lengths: (n,) shingles of its prefix.
        ends: (n,) rank of the prefix's last shingle in the order of all.
        matrix: sparse (n, ranks) 0/1 matrix of the prefixes, without shingles that no other prefix has.
    """

    def __init__(self, shingles, n, threshold):
        """Read n texts twice: to count their shingles, then to choose the rarest."""
        counters = np.zeros(1 << COUNTERS, dtype=np.uint32)
        self.sizes = np.zeros(n, dtype=np.int64)
        for place in range(n):
            codes = shingles[place]
            counters[_slots(codes)] += np.uint32(1)
            self.sizes[place] = len(codes)
        self.lengths = self.sizes - np.ceil(threshold * self.sizes - 1e-9).astype(np.int64) + 1
        starts = np.concatenate([[0], np.cumsum(self.lengths)])
        codes, frequency = np.empty(starts[-1], dtype=np.uint64), np.empty(starts[-1], dtype=np.uint32)
        for place in range(n):
            of_text = shingles[place]
            often = counters[_slots(of_text)]
            # A stable sort of sorted codes gives two shingles the same order in every text.
            chosen = np.argsort(often, kind="stable")[: self.lengths[place]]
            codes[starts[place] : starts[place + 1]] = of_text[chosen]
            frequency[starts[place] : starts[place + 1]] = often[chosen]
        del counters
        known, first, columns = np.unique(codes, return_index=True, return_inverse=True)
        del codes
        ranks = np.empty(len(known), dtype=np.int32)
        ranks[np.lexsort((known, frequency[first]))] = np.arange(len(known), dtype=np.int32)
        del known, first, frequency
        columns = ranks[columns]
        self.ends = columns[starts[1:] - 1]
        shared = np.bincount(columns)[columns] > 1
        renumbered = np.cumsum(np.bincount(columns[shared], minlength=len(ranks)) > 0) - 1
        kept = np.concatenate([[0], np.cumsum(shared)])[starts]
        self.matrix = _ones(renumbered[columns[shared]], kept, int(renumbered[-1]) + 1)


def _slots(codes):
    """Return the counter of each shingle."""
    return ((codes * ODD) >> np.uint64(64 - COUNTERS)).astype(np.int64)


def _alike(left, right):
    """Return the matrices with columns that the same rows have as one, and how many each stands for.

    Texts of one template have most shingles in common: hundreds of columns become one.
    """
    both = sparse.vstack([left, right], format="csc")
    both.sort_indices()
    n_rows = np.diff(both.indptr)
    random = np.random.default_rng(1).integers(0, 2**64, both.shape[0], dtype=np.uint64)
    sums = np.concatenate([np.zeros(1, dtype=np.uint64), np.cumsum(random[both.indices])])
    keys = sums[both.indptr[1:]] - sums[both.indptr[:-1]]
    _, first, group, counts = np.unique(keys, return_index=True, return_inverse=True, return_counts=True)
    # A column whose sum equals another's by chance stays separate.
    same = n_rows == n_rows[first[group]]
    starts, others = np.repeat(both.indptr[:-1], n_rows), np.repeat(both.indptr[first[group]], n_rows)
    steps = np.arange(both.nnz) - starts
    equal = both.indices == both.indices[np.minimum(others + steps, both.nnz - 1)]
    same &= np.bincount(np.repeat(np.arange(len(n_rows)), n_rows), weights=~equal, minlength=len(n_rows)) == 0
    weights = np.bincount(group[same], minlength=len(first))
    apart = np.flatnonzero(~same)
    chosen = np.concatenate([first, apart])
    weights = np.concatenate([weights, np.ones(len(apart))]).astype(np.float32)
    return left.tocsc()[:, chosen].tocsr(), right.tocsc()[:, chosen].tocsr(), weights


def _shared(left, right, known=None):
    """Return how many columns each row of `left` shares with each row of `right`, sparse or dense.

    Args:
        left, right: 0/1 matrices of the same columns.
        known: `right` transposed and the counts of its columns, where they are at hand.
    """
    transposed, counts = known or (right.T.tocsr(), np.bincount(right.indices, minlength=right.shape[1]))
    if counts[left.indices].sum() <= HEAVY * left.shape[0] * right.shape[0]:
        return left @ transposed
    kept = np.unique(left.indices)
    kept = kept[counts[kept] > 0]
    one, other, weights = _alike(left.tocsc()[:, kept].tocsr(), right.tocsc()[:, kept].tocsr())
    one.data = weights[one.indices]
    return (one @ other.T.tocsr()).toarray()


def _least(a, b, threshold):
    """Return how many shingles texts of a and b shingles share at least, where they are near-duplicates."""
    return np.ceil(threshold / (1 + threshold) * (a + b) - 1e-9)


def _candidates(prefixes, left, right, known, threshold):
    """Return places (left, right) of pairs that may be near-duplicates, by their prefixes.

    The shared elements up to the end of the prefix that ends first are in both prefixes and counted; of the others
    there are no more than that text has beyond its prefix.
    """
    counts = _shared(prefixes.matrix[left], prefixes.matrix[right], known)
    if sparse.issparse(counts):
        counts = counts.tocoo()
        rows, columns, counts = counts.row, counts.col, counts.data
    else:
        rows, columns = np.nonzero(counts)
        counts = counts[rows, columns]
    a, b = left[rows], right[columns]
    of_a, of_b = prefixes.sizes[a], prefixes.sizes[b]
    first = np.where(prefixes.ends[a] <= prefixes.ends[b], a, b)
    rest = prefixes.sizes[first] - prefixes.lengths[first]
    useful = np.minimum(of_a, of_b) >= threshold * np.maximum(of_a, of_b) - 1e-9
    useful &= counts + rest >= _least(of_a, of_b, threshold)
    return a[useful], b[useful]


def _groups(a, b):
    """Yield the pairs that are in groups with many, a group each, and last all others: (a, b, whether a group)."""
    nodes, places = np.unique(np.concatenate([a, b]), return_inverse=True)
    one, other = places[: len(a)], places[len(a) :]
    edges = sparse.coo_matrix((np.ones(len(a), dtype=bool), (one, other)), (len(nodes), len(nodes)))
    _, group = connected_components(edges, directed=False)
    group = group[one]
    sizes = np.bincount(group)
    few = np.ones(len(a), dtype=bool)
    for number in np.flatnonzero(sizes >= GROUP):
        members = group == number
        if sizes[number] * CELLS >= len(np.unique(a[members])) * len(np.unique(b[members])):
            few &= ~members
            yield a[members], b[members], True
    if few.any():
        yield a[few], b[few], False


def _compared(shingles, a, b, grouped):
    """Return how many shingles the texts of each pair share; see `_groups`."""
    one, rows = np.unique(a, return_inverse=True)
    other, columns = np.unique(b, return_inverse=True)
    both = shingles.matrix(np.concatenate([one, other]))
    left, right = both[: len(one)], both[len(one) :]
    if grouped:
        counts = _shared(left, right)
        counts = counts.toarray() if sparse.issparse(counts) else counts
        return counts[rows, columns]
    found = np.empty(len(a), dtype=np.float32)
    for start in range(0, len(a), PAIRS):
        part = slice(start, start + PAIRS)
        found[part] = left[rows[part]].multiply(right[columns[part]]).sum(axis=1).A1
    return found


def near_pairs(texts, n_queries=None, threshold=NEAR):
    """Yield all pairs of texts whose character 5-gram sets have a Jaccard similarity of at least `threshold`.

    Args:
        texts: list of different texts.
        n_queries: only pairs with one of the first n_queries texts; None: all pairs.
        threshold: Jaccard similarity, above 0.

    Yields:
        tuple of arrays (i, j, similarity): places of the texts of some pairs, i < j; each pair once, in no order.
    """
    n_queries = len(texts) if n_queries is None else n_queries
    if len(texts) < 2 or not n_queries:
        return
    shingles = Shingles(texts)
    prefixes = Prefixes(shingles, len(texts), threshold)
    order = np.argsort(prefixes.sizes, kind="stable")
    place = np.empty(len(texts), dtype=np.int64)
    place[order] = np.arange(len(texts))
    queries, others = order[order < n_queries], order[order >= n_queries]
    for side in (queries, others):
        for right in _parts(side, RIGHT):
            matrix = prefixes.matrix[right]
            known = matrix.T.tocsr(), np.bincount(matrix.indices, minlength=matrix.shape[1])
            low, high = prefixes.sizes[right[0]] * threshold, prefixes.sizes[right[-1]] / threshold
            for left in _parts(queries, LEFT):
                if prefixes.sizes[left[-1]] < low - 1e-9 or prefixes.sizes[left[0]] > high + 1e-9:
                    continue
                if side is queries and place[left[0]] > place[right[-1]]:
                    continue
                a, b = _candidates(prefixes, left, right, known, threshold)
                if side is queries:
                    once = place[a] < place[b]
                    a, b = a[once], b[once]
                if len(a):
                    yield from _near(shingles, prefixes.sizes, a, b, threshold)


def _near(shingles, sizes, a, b, threshold):
    """Yield the near-duplicates among candidates; see `near_pairs`."""
    for one, other, grouped in _groups(a, b):
        shared = _compared(shingles, one, other, grouped)
        similarity = shared / (sizes[one] + sizes[other] - shared)
        near = similarity >= threshold - 1e-9
        if near.any():
            one, other = one[near], other[near]
            yield np.minimum(one, other), np.maximum(one, other), similarity[near]


def _parts(array, size):
    """Return an array in parts of at most `size`."""
    return [array[start : start + size] for start in range(0, len(array), size)]
