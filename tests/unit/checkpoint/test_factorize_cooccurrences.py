"""First word vectors from the corpus's co-occurrences: what is counted, what is factorized, what is written."""

import numpy as np
import pytest

from checkpoint import binarize_corpus, factorize_cooccurrences
from checkpoint.factorize_cooccurrences import associations, count_pairs, factorize
from common.files import read_lines
from support.reviews import write_reviews


@pytest.mark.parametrize("chunk", [1, 2, 3, 100])
def test_pairs_within_the_window_are_counted_both_ways_and_across_no_line(chunk):
    pieces, lines = np.array([0, 1, 2, 1, 3, 0]), np.array([0, 0, 0, 0, 1, 1])
    counts = count_pairs(pieces, lines, 4, window=2, chunk=chunk).toarray()
    expected = np.zeros((4, 4))
    for line in ([0, 1, 2, 1], [3, 0]):
        for i, one in enumerate(line):
            for other in line[i + 1 : i + 3]:
                expected[one, other] += 1
                expected[other, one] += 1
    assert (counts == expected).all() and counts[1, 1] == 2


@pytest.mark.parametrize("n", range(14))
def test_corpora_and_chunks_of_fewer_pieces_than_the_window_are_counted(n):
    pieces, lines = np.arange(n) % 3, np.zeros(n, dtype=int)
    # n pieces in one line have n - d pairs at distance d, each counted both ways.
    expected = 2 * sum(max(0, n - distance) for distance in range(1, 7))
    for chunk in (7, 100):
        assert count_pairs(pieces, lines, 3, window=6, chunk=chunk).sum() == expected


def test_an_association_is_the_logarithm_of_how_much_oftener_two_meet_than_by_chance():
    counts = count_pairs(np.array([0, 1, 0, 1, 2, 3]), np.array([0, 0, 1, 1, 2, 2]), 4, window=1)
    # Without smoothing: 0 and 1 meet in 2 of 6 pairs counted both ways; each is a third of the pieces.
    found = associations(counts, smoothing=1).toarray()
    assert found[0, 1] == pytest.approx(np.log((2 / 6) / (2 / 6 * 2 / 6)))
    assert found[2, 3] == pytest.approx(np.log((1 / 6) / (1 / 6 * 1 / 6)))
    assert found[0, 2] == 0
    # Smoothing gives rare contexts more room, so that they say less.
    assert associations(counts).toarray()[2, 3] < found[2, 3]


def test_pieces_in_like_company_get_like_vectors():
    # 0 and 1 stand beside 2 and 3, 4 and 5 beside 6 and 7; 8 is never seen.
    draws = np.random.default_rng(1)
    lines = [
        (draws.choice(group), draws.choice(others)) for group, others in [((0, 1), (2, 3)), ((4, 5), (6, 7))] * 200
    ]
    pieces, places = np.array(lines).ravel(), np.repeat(np.arange(len(lines)), 2)
    vectors = factorize(associations(count_pairs(pieces, places, 9)), 4, seed=1)
    assert vectors.shape == (9, 4) and vectors.dtype == np.float32
    assert vectors[0] @ vectors[1] > 0.9 and vectors[4] @ vectors[5] > 0.9
    assert abs(vectors[0] @ vectors[4]) < 0.1
    assert np.linalg.norm(vectors[:8], axis=1) == pytest.approx(np.ones(8), abs=1e-6)
    assert not vectors[8].any()
    # More columns than pieces: the rest stays empty.
    assert factorize(associations(count_pairs(pieces, places, 9)), 12, seed=1).shape == (9, 12)


def test_a_corpus_gives_the_same_vectors_each_time_and_none_to_its_symbols(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_reviews(tmp_path)
    binarize_corpus.main("train.txt", "valid.txt", "spm.model", "dict.txt", "corpus", 30, 1)
    for name in ("one.npy", "other.npy"):
        factorize_cooccurrences.main("corpus", name, 32, 1)
    assert (tmp_path / "one.npy").read_bytes() == (tmp_path / "other.npy").read_bytes()
    vectors = np.load(tmp_path / "one.npy")
    assert vectors.shape == (4 + len(read_lines(tmp_path / "dict.txt")), 32)
    assert not vectors[:4].any() and vectors[4:].any(axis=1).mean() > 0.9
