"""fairseq, imported fast, and `fairseq-preprocess` inside this process: without a second start-up."""

import importlib
import os
import shlex
import sys
import types

from common.errors import StudyError


def import_fairseq():
    """Import fairseq without the statistics packages that it imports at once and uses for other tasks' metrics.

    They are a third of fairseq's start-up, which every job pays. What fairseq takes from them becomes a function
    that imports the real one when it is called.
    """
    if "fairseq" in sys.modules:
        return

    def stand_in(name):
        def later(attribute):
            if attribute.startswith("__"):
                raise AttributeError(attribute)
            return lambda *args, **kwargs: getattr(importlib.import_module(name), attribute)(*args, **kwargs)

        module = types.ModuleType(name)
        module.__getattr__ = later
        return module

    names = [name for name in ("sklearn", "sklearn.metrics", "scipy.stats") if name not in sys.modules]
    sys.modules.update({name: stand_in(name) for name in names})
    try:
        importlib.import_module("fairseq")
    finally:
        for name in names:
            del sys.modules[name]


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
