"""Frames hold the same strings whatever else is installed."""

import pandas

from common import frames
from report.numbers import Value


def test_a_frame_keeps_the_record_of_a_value():
    # pyarrow, which the lock has for Parquet files, must not change what pandas does with strings.
    assert frames.read_frame  # importing the module sets pandas up
    value = Value("0.8", "runs.tsv", 2, "test_accuracy")
    kept = pandas.DataFrame([{"accuracy": value}])["accuracy"].tolist()[0]
    assert getattr(kept, "record", None) == value.record
