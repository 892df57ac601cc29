"""Score binarized reviews with a fine-tuned fairseq checkpoint, in float32."""

import torch

from common.errors import StudyError
from training.accumulation import in_halves
from training.batching import length_sorted_batches
from training.fairseq_commands import import_fairseq

HEAD = "sentence_classification_head"


def load_task_and_model(checkpoint, data):
    """Return the task (reading `data`) and the model of a checkpoint of the rule `finetune_fairseq`.

    Args:
        checkpoint: `checkpoint{epoch}.pt`.
        data: data folder with `input0/` and `label/`.

    Raises:
        StudyError: the file is missing or cannot be read.
    """
    import os

    import_fairseq()
    from fairseq import checkpoint_utils

    from training import fairseq_plugin  # noqa: F401 - the architecture and the tasks that checkpoints name

    if not os.path.isfile(checkpoint):
        raise StudyError(f"{checkpoint} is missing: train the run again")
    models, _, task = checkpoint_utils.load_model_ensemble_and_task([checkpoint], arg_overrides={"data": data})
    return task, models[0].eval().float()


def score(task, model, split, batch_size):
    """Return the class scores of a split.

    Args:
        task, model: of `load_task_and_model`.
        split: "valid" or "test".
        batch_size: reviews scored at once, sorted by length; fewer where a GPU's memory does not suffice.

    Returns:
        tuple: logits float32 (n, classes) and labels int64 (n,), both in the order of the data file.
    """
    dataset = task.datasets.get(split) or task.load_dataset(split)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    model.to(device)
    n_classes = model.classification_heads[HEAD].out_proj.out_features
    logits, labels = torch.empty(len(dataset), n_classes), torch.empty(len(dataset), dtype=torch.long)

    def answers_to(batch):
        sample = dataset.collater([dataset[i] for i in batch])
        tokens = sample["net_input"]["src_tokens"].to(device)
        output, _ = model(tokens, features_only=True, classification_head_name=HEAD)
        return output.float().cpu(), sample["target"].view(-1)

    with torch.inference_mode():
        for batch in length_sorted_batches([dataset.size(i) for i in range(len(dataset))], batch_size):
            for part, found in in_halves(answers_to, batch):
                logits[part], labels[part] = found
    return logits, labels
