"""Simulated suites: page and table agree, no error is above its bound, and suites drawn again give the same."""

import pytest

from common.files import read_tsv
from tools import simulated_suites as simulated

ROWS = read_tsv(simulated.TABLE)


def numbers(row):
    """A row of the table as `simulate` gives it."""
    found = {name: int(row[name]) for name in ("n_sets", "n_seeds", "suites")}
    found |= {name: float(row[name]) for name in ("sd_seeds", "sd_sets")}
    return found | {name: float(row[name]) if row[name] else None for name in simulated.ERRORS}


def test_the_page_is_that_of_the_table():
    with open(simulated.PAGE, encoding="utf-8") as handle:
        assert handle.read() == simulated.page([numbers(row) for row in ROWS])
    assert [(int(row["n_sets"]), float(row["sd_sets"])) for row in ROWS] == [
        (one[0], one[3]) for one in simulated.SETTINGS
    ]


def test_no_error_is_above_six_per_cent_by_more_than_chance():
    for row in map(numbers, ROWS):
        assert not any(simulated.excessive(row[name], row["suites"]) for name in simulated.ERRORS), row
        assert (row["others_missed"] is None) == (row["n_sets"] < simulated.LEAST_SETS)


def test_the_errors_over_all_settings_are_at_most_six_per_cent():
    """By the mean of all rows, whose standard error is a fifth of one row's."""
    for name in simulated.ERRORS:
        shares = [row[name] for row in map(numbers, ROWS) if row[name] is not None]
        assert sum(shares) / len(shares) <= simulated.MOST


@pytest.mark.parametrize("place", [0, 3])
def test_suites_drawn_again_err_as_those_of_the_table(place):
    _, found = simulated.block_of((place, 0, 20))
    row = numbers(ROWS[place])
    # The first twenty are among those counted.
    assert all(count <= round(row[name] * row["suites"]) for name, count in found.items() if count is not None)


def test_intervals_that_are_too_narrow_would_be_seen(monkeypatch):
    whole = simulated.interval
    monkeypatch.setattr(simulated, "interval", lambda difference, varies, level: whole(difference, varies, 0.3))
    _, found = simulated.block_of((0, 0, 20))
    assert simulated.excessive(found["missed"] / 20, 20)
