"""Compute frozen features of a split's texts: one vector a text, from an encoder's last states."""

import numpy as np
import torch
from tqdm import tqdm
from transformers import AutoModel
from transformers import logging as transformers_logging

from common.entry import run
from common.errors import StudyError
from common.files import atomic_path
from finetuning.scoring import has_segments, pad_batch
from finetuning.token_ids import read_token_ids
from training.precision import choose_device
from training.process import set_threads


def extract(model, sequences, features, progress=None):
    """Return (n, width) float32 features.

    Each text is encoded alone, without padding: its features then depend on no other text, to the last bit.

    Args:
        model: a bare encoder.
        sequences: list of n integer arrays, as `finetuning.token_ids` has them.
        features: "mean" of all tokens' last states, special ones among them, or the "first" token's.
        progress: label of a progress bar; None: no bar.
    """
    model.eval()
    device, found = next(model.parameters()).device, []
    with torch.inference_mode(), torch.autocast(device.type, enabled=False):
        for sequence in tqdm(sequences, desc=progress, disable=progress is None):
            inputs = pad_batch([sequence], segments=has_segments(model))
            states = model(**{name: tensor.to(device) for name, tensor in inputs.items()}).last_hidden_state[0]
            found.append((states[0] if features == "first" else states.mean(dim=0)).float().cpu().numpy())
    return np.stack(found)


def main(checkpoint, token_ids, table, features, threads):
    """Write the features of one split.

    Args:
        checkpoint: Hugging Face folder of the encoder.
        token_ids: `.npz` of the split.
        table: `.npy` to write: float32 (n, width).
        features: "mean" or "first".
        threads: CPU threads.

    Raises:
        StudyError: a tensor of the encoder is not in its folder, or a feature is no number.
    """
    transformers_logging.set_verbosity_error()
    set_threads(threads)
    model, info = AutoModel.from_pretrained(
        checkpoint, local_files_only=True, trust_remote_code=False, dtype=torch.float32, output_loading_info=True
    )
    # The last states do not pass through a pooler.
    if missing := sorted(name for name in info["missing_keys"] if "pooler" not in name):
        raise StudyError(f"{checkpoint} lacks the tensor {missing[0]} of its encoder; name a folder that has all")
    found = extract(model.to(choose_device()), read_token_ids(token_ids)[0], features, progress="features")
    if not np.isfinite(found).all():
        place = int(np.argmin(np.isfinite(found).all(axis=1)))
        raise StudyError(f"{checkpoint}: the features of text {place + 1} are not finite; use another encoder")
    with atomic_path(table) as temporary, open(temporary, "wb") as handle:
        np.save(handle, found)
    print(f"{found.shape[0]} texts, {found.shape[1]} features each")


if __name__ == "__main__":
    run(main, snakemake)
