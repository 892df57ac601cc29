"""Frames as files, without the check of what a study declares of its tables."""

from common.files import write_tsv
from study.tables import frame_rows


def write_frame(path, frame):
    """Write a pandas frame as a TSV file; a missing value is an empty cell."""
    write_tsv(path, frame_rows(frame), list(frame))
