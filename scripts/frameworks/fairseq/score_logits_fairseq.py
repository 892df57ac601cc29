"""Score validation reviews with fairseq: the checkpoint's encoder, and a fine-tuned classifier of each framework."""

import os

import numpy as np
import torch

from common.entry import run
from common.errors import StudyError
from common.files import atomic_path, read_json
from frameworks.fairseq.scoring import HEAD, load_task_and_model, score
from training.batching import length_sorted_batches
from training.fairseq_checkpoint import load_fairseq_checkpoint
from training.process import set_threads
from training.roberta import to_fairseq


def load(model, state, may_lack):
    """Put weights under fairseq's names into a model.

    Args:
        model: fairseq's RobertaModel with a classification head.
        state: {name: tensor}.
        may_lack: prefix of the names that the weights may lack.

    Raises:
        StudyError: any other name is missing, or has no place.
    """
    missing, unexpected = model.load_state_dict(state, strict=False)
    wrong = [name for name in missing if not name.startswith(may_lack)] + list(unexpected)
    if wrong:
        raise StudyError(f"tensor {wrong[0]} is missing from the converted weights or has no place in fairseq's model")


def encode(model, dataset, batch_size):
    """Return the encoder's outputs for reviews.

    Args:
        model: fairseq's RobertaModel.
        dataset: fairseq's data set of n reviews.
        batch_size: reviews scored at once, sorted by length.

    Returns:
        dict: features float32 (all tokens, width), review after review; vocabulary float32 (n, rows), the
        language model's logits at each review's middle token.
    """
    features, vocabulary = [None] * len(dataset), [None] * len(dataset)
    with torch.inference_mode():
        for batch in length_sorted_batches([dataset.size(i) for i in range(len(dataset))], batch_size):
            sample = dataset.collater([dataset[i] for i in batch])
            hidden, _ = model(sample["net_input"]["src_tokens"], features_only=True)
            for row, i in enumerate(batch):
                states = hidden[row, : dataset.size(i)]
                features[i] = states.numpy()
                vocabulary[i] = model.encoder.lm_head(states[len(states) // 2]).numpy()
    return {"features": np.concatenate(features), "vocabulary": np.stack(vocabulary)}


def main(
    fairseq,
    fairseq_selected,
    huggingface,
    huggingface_selected,
    checkpoint,
    data,
    logits,
    batch_size,
    threads,
):
    """Write fairseq's numbers for three sets of weights.

    Args:
        fairseq, fairseq_selected: folder of checkpoints and `selected.json` of a fairseq run.
        huggingface, huggingface_selected: the same of a Hugging Face run: converted to fairseq's names here.
        checkpoint: `model.pt`.
        data: binarized train and valid reviews.
        logits: `.npz` to write: features, vocabulary (of the checkpoint), fairseq, huggingface (class scores of the
            fine-tuned models, float32 (n, classes)).
        batch_size: reviews scored at once.
        threads: CPU threads.

    Raises:
        StudyError: weights that do not fit.
    """
    from safetensors.torch import load_file

    set_threads(threads)
    epoch = read_json(fairseq_selected)["epoch"]
    task, model = load_task_and_model(os.path.join(fairseq, f"checkpoint{epoch}.pt"), data)
    values = {"fairseq": score(task, model, "valid", batch_size)[0].numpy()}
    model.cpu()
    epoch = read_json(huggingface_selected)["epoch"]
    tuned = load_file(os.path.join(huggingface, f"epoch{epoch}", "model.safetensors"))
    load(model, to_fairseq(tuned, HEAD), may_lack="encoder.lm_head.")
    values["huggingface"] = score(task, model, "valid", batch_size)[0].numpy()
    model.cpu()
    load(model, load_fairseq_checkpoint(checkpoint)["model"], may_lack="classification_heads.")
    values |= encode(model, task.datasets["valid"], batch_size)
    with atomic_path(logits) as temporary:
        np.savez(temporary, **values)


if __name__ == "__main__":
    run(main, snakemake)
