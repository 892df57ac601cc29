"""Factorize the corpus's co-occurrences of pieces into first word vectors for the pretraining.

Source: Levy and Goldberg 2014, Neural Word Embedding as Implicit Matrix Factorization, NeurIPS; the smoothed contexts
and the root of the singular values are those of Levy, Goldberg and Dagan 2015, TACL 3.
"""

import io
import os

import numpy as np
from scipy import sparse

from common.entry import run
from common.files import atomic_path
from training.fairseq_commands import import_fairseq

WINDOW = 6  # pieces on either side
SMOOTHING = 0.75  # exponent of a context's frequency
CHUNK = 4_000_000  # pieces counted at a time


def read_corpus(folder):
    """Return (pieces, lines, n): int32 ids of the training text, the number of each one's line, the dictionary's size.

    The dictionary's symbols (`</s>` after each line) are left out.
    """
    import_fairseq()
    from fairseq.data import Dictionary, indexed_dataset

    dictionary = Dictionary.load(os.path.join(folder, "dict.txt"))
    texts = indexed_dataset.make_dataset(os.path.join(folder, "train"), impl="mmap")
    pieces = np.concatenate([np.asarray(texts[i]) for i in range(len(texts))]).astype(np.int32)
    lines = np.repeat(np.arange(len(texts), dtype=np.int32), texts.sizes)
    words = pieces >= dictionary.nspecial
    return pieces[words], lines[words], len(dictionary)


def count_pairs(pieces, lines, n, window=WINDOW, chunk=CHUNK):
    """Return the (n, n) CSR matrix of how often two pieces stand within `window` of each other in a line."""
    counts = sparse.csr_matrix((n, n), dtype=np.float32)
    for start in range(0, len(pieces), chunk):
        here, line = pieces[start : start + chunk + window], lines[start : start + chunk + window]
        pairs = []
        for distance in range(1, window + 1):
            # A pair is counted with the chunk of its first piece.
            first = slice(0, max(0, min(chunk, len(here) - distance)))
            second = slice(distance, distance + first.stop)
            together = line[first] == line[second]
            pairs.append(here[first][together].astype(np.int64) * n + here[second][together])
        cells, times = np.unique(np.concatenate(pairs), return_counts=True)
        counts += sparse.csr_matrix((times.astype(np.float32), (cells // n, cells % n)), shape=(n, n))
    return (counts + counts.T).tocsr()


def associations(counts, smoothing=SMOOTHING):
    """Return each pair's positive pointwise mutual information in nats (CSR), its context's frequency smoothed."""
    cells = counts.tocoo()
    frequency = np.asarray(counts.sum(axis=1), dtype=float).ravel()
    context = frequency**smoothing
    context /= context.sum()
    information = np.log(cells.data) - np.log(frequency[cells.row]) - np.log(context[cells.col])
    shape = {"shape": counts.shape, "dtype": np.float32}
    positive = sparse.csr_matrix((np.maximum(information, 0), (cells.row, cells.col)), **shape)
    positive.eliminate_zeros()
    return positive


def factorize(matrix, width, seed):
    """Return (n, width) float32 vectors of length 1 whose products come near the matrix; a row of zeros stays so."""
    from sklearn.utils.extmath import randomized_svd

    rank = min(width, matrix.shape[0])
    left, values, _ = randomized_svd(matrix, rank, n_oversamples=20, n_iter=2, random_state=seed)
    vectors = np.zeros((matrix.shape[0], width), dtype=np.float32)
    vectors[:, :rank] = left * np.sqrt(values)
    vectors[np.diff(matrix.indptr) == 0] = 0
    length = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.divide(vectors, length, out=np.zeros_like(vectors), where=length > 0)


def main(data, vectors, width, seed):
    """Write the vectors of all pieces.

    Args:
        data: binarized corpus (folder), of which the training text is read.
        vectors: NPY file to write: (pieces of the dictionary, width) float32, each row of length 1, or 0 where a piece
            has no company.
        width: width of the model.
        seed: seed of the factorization.
    """
    pieces, lines, n = read_corpus(data)
    counts = count_pairs(pieces, lines, n)
    print(f"{len(pieces)} pieces, {counts.nnz // 2} pairs of pieces within {WINDOW} of each other")
    # The array goes through memory: where NumPy itself writes to a file, a full disk's error number is lost.
    data = io.BytesIO()
    np.save(data, factorize(associations(counts), width, seed))
    with atomic_path(vectors) as temporary, open(temporary, "wb") as handle:
        handle.write(data.getbuffer())


if __name__ == "__main__":
    run(main, snakemake)
