"""Token ids and labels of a split, as one NumPy file."""

import zipfile

import numpy as np

import tasks
from common.errors import StudyError
from common.files import atomic_path

# An id has 24 bits; the segment above them is 1 for a pair's second text, where the tokenizer marks it.
SEGMENT = 24


def with_segments(sequences, segments):
    """Return sequences of ids with the segment of each token above its id.

    Args:
        sequences, segments: lists of lists of int, alike in shape.
    """
    return [
        [number | segment << SEGMENT for number, segment in zip(*each, strict=True)]
        for each in zip(sequences, segments, strict=True)
    ]


def apart(sequence):
    """Return a sequence's ids and segments.

    Args:
        sequence: integer array.
    """
    sequence = np.asarray(sequence)
    return sequence & (1 << SEGMENT) - 1, sequence >> SEGMENT


def write_token_ids(path, sequences, labels):
    """Write sequences of different lengths flat.

    Args:
        path: `.npz` file: ids (int32, all tokens, see `SEGMENT`), offsets (int64, n + 1), labels (as
            `tasks` has them as an array: of classes int8, n, or int16 beyond class 127).
        sequences: list of n lists of ids, <s> and </s> included.
        labels: n labels: classes from 0, or an array of another kind of labels.
    """
    lengths = [len(sequence) for sequence in sequences]
    with atomic_path(path) as temporary:
        np.savez(
            temporary,
            ids=np.concatenate([np.asarray(sequence, dtype=np.int32) for sequence in sequences]),
            offsets=np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
            labels=labels if isinstance(labels, np.ndarray) else tasks.load(tasks.DEFAULT).array(labels),
        )


def read_token_ids(path):
    """Return what `write_token_ids` wrote.

    Args:
        path: the file.

    Returns:
        tuple: list of n int32 arrays, and the array of labels.

    Raises:
        StudyError: the file is missing or damaged.
    """
    try:
        with np.load(path) as file:
            ids, offsets, labels = file["ids"], file["offsets"], file["labels"]
    except (OSError, ValueError, KeyError, zipfile.BadZipFile) as error:
        raise StudyError(f"{path} is missing or damaged: remove it and run again") from error
    return [ids[start:end] for start, end in zip(offsets[:-1], offsets[1:], strict=True)], labels
