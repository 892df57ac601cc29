"""Run fairseq's commands inside this process: the same code as the command line, without a second start-up."""

import importlib
import os
import shlex
import sys
import types

from common.errors import StudyError

PLUGIN = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "fairseq_plugin")


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


def architecture_flags(architecture):
    """Return `fairseq-train`'s flags for the sizes of the encoder (config section `checkpoint.architecture`)."""
    return {
        "--arch": "roberta_small",
        "--encoder-layers": architecture["layers"],
        "--encoder-embed-dim": architecture["width"],
        "--encoder-ffn-embed-dim": architecture["ffn_width"],
        "--encoder-attention-heads": architecture["heads"],
        "--max-positions": architecture["max_positions"],
    }


def _refuse_to_skip(trainer, error):
    raise MemoryError(str(error)) from error


def train(arguments):
    """Run `fairseq-train` with a list of arguments (the plug-in's `--user-dir` is added).

    Raises:
        StudyError: fairseq rejected an argument.
    """
    import_fairseq()
    arguments = [*arguments, "--user-dir", PLUGIN]
    print("fairseq-train", shlex.join(arguments))
    # fairseq reads sys.argv for --user-dir and for the command's options alike.
    before, sys.argv = sys.argv, ["fairseq-train", *arguments]
    try:
        from fairseq.trainer import Trainer
        from fairseq_cli.train import cli_main

        # It would skip the batch, and the run would not be the one that was asked for.
        Trainer._log_oom = _refuse_to_skip
        cli_main()
    except SystemExit as stop:
        if stop.code not in (0, None):
            raise StudyError("fairseq-train rejected its arguments: see the last lines of the log") from stop
    finally:
        sys.argv = before
    # fairseq leaves its TensorBoard writers open: they would write after their folder has moved.
    from fairseq.logging import progress_bar

    for writer in (progress_bar._tensorboard_writers or {}).values():
        writer.close()
    progress_bar._tensorboard_writers.clear()


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
