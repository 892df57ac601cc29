"""The batch plan that both frameworks follow."""

import pytest

from training.batching import GROUP, count_updates, epoch_batches, length_sorted_batches, padded_length

LENGTHS = [3 + (7 * i) % 50 for i in range(1805)]


@pytest.mark.parametrize("rule", ["length_grouped", "random"])
def test_an_epoch_sees_every_example_once_in_the_counted_updates(rule):
    batches = epoch_batches(LENGTHS, 8, 1, 1, rule)
    assert sorted(i for batch in batches for i in batch) == list(range(1805))
    # 1805 / 8 = 225.6: 225 full batches and one of five.
    assert len(batches) == count_updates(1805, 8, 1) == 226
    assert sorted(map(len, batches))[:2] == [5, 8]


def test_the_published_run_has_1125_updates():
    # ceil(1800 / 8) = 225 an epoch, five epochs.
    assert count_updates(1800, 8, 5) == 1125


def test_the_plan_depends_on_seed_and_epoch_only():
    assert epoch_batches(LENGTHS, 8, 1, 1) == epoch_batches(LENGTHS, 8, 1, 1)
    assert epoch_batches(LENGTHS, 8, 1, 1) != epoch_batches(LENGTHS, 8, 1, 2)
    assert epoch_batches(LENGTHS, 8, 1, 1) != epoch_batches(LENGTHS, 8, 2, 1)


def test_grouping_by_length_spares_padding():
    def padded(rule):
        batches = epoch_batches(LENGTHS, 8, 1, 1, rule)
        return sum(len(batch) * max(LENGTHS[i] for i in batch) for batch in batches)

    assert sum(LENGTHS) <= padded("length_grouped") < 1.1 * sum(LENGTHS) < padded("random")


def test_batches_of_one_group_are_not_in_order_of_length():
    batches = epoch_batches(LENGTHS[: 8 * GROUP], 8, 1, 1)
    longest = [max(LENGTHS[i] for i in batch) for batch in batches]
    assert longest != sorted(longest) and longest != sorted(longest, reverse=True)


def test_an_unknown_rule_is_refused():
    with pytest.raises(ValueError, match="length_grouped"):
        epoch_batches(LENGTHS, 8, 1, 1, "sorted")


def test_scoring_batches_go_from_longest_to_shortest():
    assert length_sorted_batches([1, 5, 3, 5], 3) == [[1, 3, 2], [0]]


@pytest.mark.parametrize(
    ("longest", "limit", "length"), [(1, 256, 16), (16, 256, 16), (17, 256, 32), (250, 256, 256), (99, 100, 100)]
)
def test_padded_lengths_go_in_steps_and_never_beyond_the_longest_example(longest, limit, length):
    assert padded_length(longest, limit) == length
