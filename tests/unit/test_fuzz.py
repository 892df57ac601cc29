"""The short form of `make fuzz`: each reader, for a moment, always with the same random input."""

import pytest

import fuzz


@pytest.mark.parametrize("name", fuzz.TARGETS)
def test_nothing_but_a_study_error_comes_out(name):
    fuzz.run(name, 40)


def test_a_leak_is_noticed():
    with pytest.raises(ZeroDivisionError), fuzz.refused():
        raise ZeroDivisionError
