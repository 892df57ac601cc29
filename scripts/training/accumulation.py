"""An update's batch in micro-batches, whose gradients add up, and scoring; smaller ones where a GPU's memory ends."""

import torch

from common.errors import StudyError

# Failures of a GPU's libraries that are PyTorch's RuntimeError and mean the same as its OutOfMemoryError.
# Source: accelerate.utils.memory.should_reduce_batch_size.
MEANS_MEMORY = ("CUDA out of memory", "CUBLAS_STATUS_ALLOC_FAILED")


def is_out_of_memory(error):
    """Tell whether an error says that a GPU's memory did not suffice."""
    return isinstance(error, torch.OutOfMemoryError) or any(words in str(error) for words in MEANS_MEMORY)


class MicroBatches:
    """The micro-batches of every update of a run.

    Attributes:
        most: examples that a micro-batch has at most.
        halvings: [{update, micro_batch}] of the times when memory did not suffice: the update that was begun anew, and
            `most` from there on.
    """

    def __init__(self, batch_size, accumulation=1):
        """Split batches of `batch_size` examples into `accumulation` micro-batches."""
        self.most, self.halvings = -(-batch_size // accumulation), []

    def state(self):
        """Return what a resumed run needs."""
        return {"most": self.most, "halvings": self.halvings}

    def take_up(self, state):
        """Go on as `state` says."""
        self.most, self.halvings = state["most"], list(state["halvings"])

    def parts(self, n):
        """Return the slices of a batch of n examples, in order; the last may be short."""
        return [slice(start, min(start + self.most, n)) for start in range(0, n, self.most)]

    def run(self, update, n, step, forget):
        """Return what `step` returns for each micro-batch, in order.

        Where a GPU's memory does not suffice, the whole update is begun anew with micro-batches of half the size: the
        same examples and the same random state, so the update differs by rounding and by the draws of dropout alone.

        Args:
            update: its number, from 1.
            n: examples of its batch.
            step: function of a slice; it adds to the gradients.
            forget: function that removes the gradients so far.

        Raises:
            StudyError: not even one example fits.
        """
        random = _random_state()
        while True:
            try:
                return [step(part) for part in self.parts(n)]
            except RuntimeError as error:
                if not is_out_of_memory(error):
                    raise
                if min(self.most, n) == 1:
                    raise StudyError(
                        f"the GPU's memory does not suffice for one example (update {update}: {error}); shorten the "
                        "texts, train fewer layers (freeze) or a smaller model"
                    ) from error
            # Here, because the error holds on to the tensors of the attempt.
            forget()
            if torch.cuda.is_available():
                torch.cuda.empty_cache()
            _restore(random)
            self.most = -(-min(self.most, n) // 2)
            self.halvings.append({"update": update, "micro_batch": self.most})
            print(f"out of GPU memory at update {update}: begun anew in micro-batches of {self.most}")


def in_halves(step, batch):
    """Yield (examples, what `step` returns for them): a batch, or halves of it while a GPU's memory does not suffice.

    For scoring, where no example depends on the others.

    Args:
        step: function of a list of examples.
        batch: list of examples, at least one.

    Raises:
        StudyError: not even one example fits.
    """
    try:
        found = step(batch)
    except RuntimeError as error:
        if not is_out_of_memory(error):
            raise
        if len(batch) == 1:
            raise StudyError(
                f"the GPU's memory does not suffice to score one example ({error}); shorten the texts, or use a "
                "smaller model"
            ) from error
    else:
        yield batch, found
        return
    # Here, because the error holds on to the tensors of the attempt.
    if torch.cuda.is_available():
        torch.cuda.empty_cache()
    half = -(-len(batch) // 2)
    print(f"out of GPU memory while {len(batch)} examples were scored: scored again in batches of {half}")
    for part in (batch[:half], batch[half:]):
        yield from in_halves(step, part)


def _random_state():
    return torch.get_rng_state(), torch.cuda.get_rng_state_all() if torch.cuda.is_available() else []


def _restore(state):
    torch.set_rng_state(state[0])
    if state[1]:
        torch.cuda.set_rng_state_all(state[1])
