"""The curves of a training for TensorBoard: the same names and units in every framework, so that they overlay."""

import os
import time

from training.imports import without

with without("boto3"):  # which it loads to write to S3
    from tensorboardX.event_file_writer import EventsWriter
    from tensorboardX.proto.event_pb2 import Event
    from tensorboardX.summary import scalar


class Curves:
    """The event file of one process; steps are optimizer updates.

    Names: `train/loss` and `train/learning_rate` at every update; `<split>/loss`, and in classification
    `<split>/accuracy`, a fraction, at every measurement. Losses are means in nats: over the examples in classification,
    over the masked tokens in pretraining. Test has only the accuracy of every epoch, in a file that is written after
    training.
    """

    def __init__(self, folder, done=0, updates=None, epochs=None):
        """Open a file.

        Args:
            folder: folder of the run's event files.
            done: updates that earlier processes made; their records of later ones have been cut off.
            updates, epochs: of the whole training, for the line that each validation prints; None: no line, no epoch.
        """
        os.makedirs(folder, exist_ok=True)
        self._updates, self._epochs = updates, epochs
        # The usual writer has a queue. Here flushed data are in the file, whose length a saved state records. The
        # suffix separates processes that start in the same second.
        self._writer = EventsWriter(os.path.join(folder, "events"), f".after{done}")

    def _add(self, name, value, update):
        event = Event(wall_time=time.time(), step=update, summary=scalar(name, value))
        self._writer.write_event(event)

    def update(self, update, loss, lr):
        """Record an update: its number from 1, its mean loss in nats, its learning rate."""
        self._add("train/loss", loss, update)
        self._add("train/learning_rate", lr, update)

    def measure(self, split, update, loss=None, accuracy=None):
        """Record a measurement after `update` updates: mean loss in nats and accuracy as a fraction, where measured."""
        for name, value in (("loss", loss), ("accuracy", accuracy)):
            if value is not None:
                self._add(f"{split}/{name}", value, update)
        if split == "valid" and self._updates:
            print(progress_line(update, self._updates, self._epochs, loss, accuracy))

    def flush(self):
        """Write all records so far to the file."""
        self._writer.flush()

    def close(self):
        """Close the file: nothing is written after it."""
        self._writer.close()


def progress_line(update, updates, epochs=None, loss=None, accuracy=None):
    """Return the line of the log that says what a training is at; `study.training_progress` reads it."""
    said = f"at update {update} of {updates}"
    if epochs:
        said += f", epoch {round(epochs * update / updates)} of {epochs}"
    scores = [f"accuracy {100 * accuracy:.1f} %"] if accuracy is not None else []
    scores += [f"loss {loss:.3f}"] if loss is not None else []
    return f"{said}: validation {', '.join(scores)}"
