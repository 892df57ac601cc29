"""Compare the course's own Hugging Face folder with the conversion made here, tensor by tensor."""

import os
import pickle

from common.entry import run
from common.errors import StudyError
from common.files import write_json
from training.weights import tensor_sha256


def load_weights(folder):
    """Return {name: tensor} of a Hugging Face folder, from safetensors or from the older pickle.

    Raises:
        StudyError: no weights, or a damaged file.
    """
    import torch
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    safe, old = (os.path.join(folder, name) for name in ("model.safetensors", "pytorch_model.bin"))
    try:
        if os.path.isfile(safe):
            return load_file(safe)
        if os.path.isfile(old):
            # Only tensors are unpickled.
            return torch.load(old, map_location="cpu", weights_only=True)
    except pickle.UnpicklingError as error:
        # PyTorch's message is long and advises unpickling anyway.
        raise StudyError(
            f"{old} is damaged or holds more than tensors: it was not unpickled; fetch it again"
        ) from error
    except (SafetensorError, RuntimeError, EOFError, OSError) as error:
        raise StudyError(f"{folder}: its weights are damaged ({error}): fetch it again") from error
    raise StudyError(f"{folder} holds neither model.safetensors nor pytorch_model.bin: fetch it again")


def compare(ours, theirs):
    """Count the tensors that are equal in name, shape and value.

    Args:
        ours: {name: tensor} of the conversion.
        theirs: {name: tensor} of the fetched folder.

    Returns:
        dict: {n_equal, different: [names], only_ours: [names], only_theirs: [names]}.
    """
    ours, theirs = ({name: tensor_sha256(tensor) for name, tensor in state.items()} for state in (ours, theirs))
    shared = ours.keys() & theirs.keys()
    different = sorted(name for name in shared if ours[name] != theirs[name])
    return {
        "n_equal": len(shared) - len(different),
        "different": different,
        "only_ours": sorted(ours.keys() - shared),
        "only_theirs": sorted(theirs.keys() - shared),
    }


def main(ours, theirs, comparison):
    """Write the comparison; a difference is a finding, not a fault: our arms use the conversion.

    Args:
        ours: converted folder.
        theirs: fetched folder.
        comparison: JSON file to write.

    Raises:
        StudyError: the fetched folder is unusable or shares no tensor with ours.
    """
    result = compare(load_weights(ours), load_weights(theirs))
    if not result["n_equal"] and not result["different"]:
        raise StudyError(f"{theirs} shares no tensor name with {ours}: it is not a RoBERTa folder")
    write_json(comparison, result)
    print({key: value if isinstance(value, int) else len(value) for key, value in result.items()})


if __name__ == "__main__":
    run(main, snakemake)
