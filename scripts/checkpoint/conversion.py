"""A fine-tuned fairseq classifier as Hugging Face's model."""

from common.errors import StudyError
from training.fairseq_checkpoint import load_fairseq_checkpoint
from training.roberta import head_names, to_huggingface


def load_converted(path, converted):
    """Return the classifier of a fairseq run's epoch, on the CPU, in float32.

    Args:
        path: `checkpoint{epoch}.pt` of the run.
        converted: the starting checkpoint as a Hugging Face folder; its config gives the sizes.

    Returns:
        RobertaForSequenceClassification of as many classes as its head.

    Raises:
        StudyError: the file is missing or broken, has not one head, or does not fit the converted checkpoint's sizes.
    """
    from transformers import RobertaConfig, RobertaForSequenceClassification

    state = load_fairseq_checkpoint(path)["model"]
    heads = head_names(state)
    if len(heads) != 1:
        raise StudyError(f"{path} has {len(heads)} classification heads and must have one: fine-tune again")
    try:
        named = to_huggingface(state, heads[0])
        n_classes = len(named["classifier.out_proj.bias"])
        config = RobertaConfig.from_pretrained(converted, local_files_only=True, num_labels=n_classes)
        model = RobertaForSequenceClassification(config)
        model.load_state_dict(named, strict=True)
    except (OSError, KeyError, RuntimeError) as error:
        raise StudyError(f"{path} does not fit {converted} ({error}): make both again") from error
    return model
