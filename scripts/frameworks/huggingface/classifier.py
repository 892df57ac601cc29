"""Hugging Face's classifier: new, with an encoder and a fresh head, or as a run saved it."""

import os

import torch
from safetensors import SafetensorError

import tasks
from common.errors import StudyError
from common.files import read_json
from finetuning.encoders import load_classifier, named_classes
from training.imports import postponed, without
from training.precision import choose_device

# Accelerate would load boto3 for Amazon's machines, and Transformers scipy for the losses of object detection.
with without("boto3"), postponed("scipy.optimize"):
    from transformers import RobertaConfig, RobertaForSequenceClassification

HEAD = "classifier."
INITS = ("pretrained", "random")


def build_model(checkpoint, init, seed, settings, classes=None, task=tasks.DEFAULT):
    """Return a RobertaForSequenceClassification with a new head.

    Args:
        checkpoint: Hugging Face folder: its weights when `init` is "pretrained", its sizes only when "random".
        init: "pretrained" or "random" (Hugging Face's rule: normal with sd 0.02, zero biases).
        seed: seed of the new weights.
        settings: `dropout` (of states and attention), `classifier_dropout`, `head_initialisation`: "bert"
            (Hugging Face's) or "linear" (PyTorch's for `nn.Linear`, which is fairseq's), and `token_types`: True where
            the token-type vector is drawn and trained; False leaves it out as in fairseq.
        classes: names of the classes in order; None: two without names.
        task: kind of the labels.

    Raises:
        StudyError: the folder is unusable, or anything but the classification head would stay random.
    """
    if init not in INITS:
        raise StudyError(f"init is {init!r}: use one of {', '.join(INITS)}")
    weights = os.path.join(checkpoint, "model.safetensors")
    if not os.path.isfile(weights):
        raise StudyError(f"{weights} is missing: convert the checkpoint again")
    try:
        config = RobertaConfig.from_pretrained(
            checkpoint,
            local_files_only=True,
            **named_classes(classes, task),
            hidden_dropout_prob=settings["dropout"],
            attention_probs_dropout_prob=settings["dropout"],
            classifier_dropout=settings["classifier_dropout"],
        )
        torch.manual_seed(seed)
        if init == "random":
            config._attn_implementation = "sdpa"
            return adapt(RobertaForSequenceClassification(config), init, settings)
        model, info = RobertaForSequenceClassification.from_pretrained(
            checkpoint,
            config=config,
            local_files_only=True,
            attn_implementation="sdpa",
            dtype=torch.float32,
            output_loading_info=True,
        )
    except (OSError, ValueError, RuntimeError, SafetensorError) as error:
        raise StudyError(f"{checkpoint} cannot be loaded ({error}): convert the checkpoint again") from error
    missing = sorted(name for name in info["missing_keys"] if not name.startswith(HEAD))
    unexpected = sorted(name for name in info["unexpected_keys"] if not name.startswith("lm_head."))
    mismatched = sorted(str(name) for name in info["mismatched_keys"])
    if missing or mismatched:
        raise StudyError(f"{weights} has no tensor {(missing or mismatched)[0]} that fits: it would stay random")
    if unexpected:
        raise StudyError(f"{weights} has a tensor {unexpected[0]} that the model has no place for")
    return adapt(model, init, settings)


def adapt(model, init, settings):
    """Return the model changed to fairseq's where the settings ask for it: its head's draw, no token-type vector.

    A random vector that is added to every token takes a third of the variance that the first LayerNorm sees, so a
    random arm that has one learns more slowly.
    """
    if settings["head_initialisation"] == "linear":
        model.classifier.dense.reset_parameters()
        model.classifier.out_proj.reset_parameters()
    if not settings["token_types"]:
        vector = model.roberta.embeddings.token_type_embeddings.weight
        if init == "random":
            torch.nn.init.zeros_(vector)
        vector.requires_grad_(False)
    return model


def load_epoch(checkpoints, epoch):
    """Return the classifier that a run saved after an epoch, whole, on the device, in float32.

    Args:
        checkpoints: the run's folder of `epoch1/`, `epoch2/`, ...
        epoch: 1-based.

    Raises:
        StudyError: the folder is missing or does not hold every tensor.
    """
    folder = os.path.join(checkpoints, f"epoch{epoch}")
    if not os.path.isfile(os.path.join(folder, "model.safetensors")):
        raise StudyError(f"{folder} holds no model: fine-tune again")
    if read_json(os.path.join(folder, "config.json")).get("architectures") != ["RobertaForSequenceClassification"]:
        return load_classifier(folder).to(choose_device())
    model, info = RobertaForSequenceClassification.from_pretrained(
        folder, local_files_only=True, attn_implementation="sdpa", dtype=torch.float32, output_loading_info=True
    )
    wrong = sorted(info["missing_keys"]) + sorted(info["unexpected_keys"])
    if wrong:
        raise StudyError(f"{folder}: tensor {wrong[0]} is missing or has no place: fine-tune again")
    return model.to(choose_device())
