"""`fairseq-train` inside this process: the same code as the command line, without a second start-up."""

import shlex
import sys

import torch

from common.errors import StudyError
from training.fairseq_commands import import_fairseq


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


def fail_at_once():
    """Let faults of the machine end the run: fairseq would skip such a batch, or save again after a failure.

    Without the batch the run would differ from the one requested. A second save appends to the remains of the first in
    the same file, so the weights would be lost even where the disk has room again.
    """
    from fairseq import checkpoint_utils
    from fairseq.trainer import Trainer

    Trainer._log_oom = _refuse_to_skip
    checkpoint_utils._torch_persistent_save = torch.save


def train(arguments, stops=lambda: False):
    """Run `fairseq-train` with a list of arguments and the study's plug-in.

    Args:
        arguments: list of str.
        stops: function that tells, after each update, whether training ends here: fairseq's own count of epochs without
            improvement begins anew in a resumed run.

    The plug-in is registered by its import: `--user-dir` would import it under another name, and put this folder on
    `sys.path`.

    Raises:
        StudyError: fairseq rejected an argument.
    """
    import_fairseq()
    from training import fairseq_plugin  # noqa: F401 - registration

    print("fairseq-train", shlex.join(arguments))
    before, sys.argv = sys.argv, ["fairseq-train", *arguments]
    try:
        from fairseq_cli import train as command

        command.should_stop_early = lambda cfg, loss: stops()
        fail_at_once()
        command.cli_main()
    except SystemExit as stop:
        if stop.code not in (0, None):
            raise StudyError("fairseq-train rejected its arguments: see the last lines of the log") from stop
    finally:
        sys.argv = before
