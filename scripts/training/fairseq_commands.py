"""A fast import of fairseq, and `fairseq-preprocess` inside this process, without a second start-up."""

import importlib
import os
import shlex
import sys

from common.errors import StudyError
from training.imports import postponed


def import_fairseq():
    """Import fairseq without the statistics packages and the TensorBoard that it imports at once.

    It uses them for other tasks' metrics and for `--tensorboard-logdir`; they are a third of its start-up, which every
    job pays.
    """
    if "fairseq" not in sys.modules:
        with postponed("sklearn", "sklearn.metrics", "scipy.stats", "torch.utils.tensorboard"):
            importlib.import_module("fairseq")


def preprocess(arguments):
    """Run `fairseq-preprocess` with a list of arguments."""
    import_fairseq()
    from fairseq import options
    from fairseq_cli import preprocess as command

    print("fairseq-preprocess", shlex.join(arguments))
    parser = options.get_preprocessing_parser()
    command.main(parser.parse_args(arguments))


def binarize(pieces, dictionary, destination, workers=1):
    """Binarize files of space-joined pieces with a fixed dictionary.

    Args:
        pieces: {split: path}; splits among train, valid, test.
        dictionary: path of `dict.txt`.
        destination: folder to write: {split}.bin, {split}.idx, dict.txt.
        workers: processes.
    """
    arguments = ["--only-source", "--srcdict", dictionary, "--destdir", destination, "--workers", str(workers)]
    for split, path in pieces.items():
        arguments += [f"--{split}pref", path]
    preprocess(arguments)
    os.remove(os.path.join(destination, "preprocess.log"))
    # fairseq names single-language files {split}.bin when --only-source is given without a language.
    for split in pieces:
        if not os.path.exists(os.path.join(destination, f"{split}.bin")):
            raise StudyError(f"fairseq-preprocess wrote no {split}.bin in {destination}: see the log")
