"""The curves of a training in TensorBoard."""

from tensorboard.backend.event_processing.event_accumulator import EventAccumulator


def curves(folder):
    """Return {name: {step: value}} of a folder's event files, as TensorBoard reads them."""
    accumulator = EventAccumulator(str(folder)).Reload()
    return {
        tag: {event.step: event.value for event in accumulator.Scalars(tag)} for tag in accumulator.Tags()["scalars"]
    }
