"""The short form of `make fuzz`: each reader, for a moment, always with the same random input."""

import pytest

from support import fuzz


@pytest.mark.parametrize("name", fuzz.TARGETS)
def test_nothing_but_a_study_error_comes_out(name):
    # A page takes a second, the statistics of a study half of one.
    fuzz.run(name, {"report": 4, "result_sets": 10}.get(name, 40))


def test_a_leak_is_noticed():
    with pytest.raises(ZeroDivisionError), fuzz.refused():
        raise ZeroDivisionError
