"""Hugging Face encoders for sequence classification: their configuration, tokenizer, and classifiers built on them."""

import copy
import os

import torch
import transformers
from transformers import AutoConfig, AutoModelForSequenceClassification, AutoTokenizer
from transformers.models.auto.modeling_auto import (
    MODEL_FOR_CAUSAL_LM_MAPPING_NAMES,
    MODEL_FOR_MASKED_LM_MAPPING_NAMES,
    MODEL_FOR_SEQUENCE_CLASSIFICATION_MAPPING_NAMES,
)

import tasks
from common.errors import StudyError
from common.files import read_json
from finetuning.scoring import SEGMENTS, has_segments
from training.weights import prove_weights

# Names that configurations use for each kind of dropout in `finetuning.training`.
STATES = ("hidden_dropout_prob", "dropout", "embedding_dropout", "mlp_dropout", "hidden_dropout")
ATTENTION = ("attention_probs_dropout_prob", "attention_dropout")
HEADS = ("classifier_dropout", "classifier_dropout_prob", "seq_classif_dropout", "cls_dropout")
POSITIONS = ("max_position_embeddings", "n_positions", "max_sequence_length")
# These configurations have unused rows before the first position (after the padding's number).
OFFSET = (
    "roberta",
    "roberta-prelayernorm",
    "camembert",
    "xlm-roberta",
    "xlm-roberta-xl",
    "xmod",
    "mpnet",
    "longformer",
    "data2vec-text",
    "esm",
    "ibert",
    "layoutlmv3",
    "lilt",
    "luke",
    "markuplm",
)
GENERATION = ("ForCausalLM", "LMHeadModel", "ForConditionalGeneration", "ForSeq2SeqLM")
# A tokenizer without a limit reports 1e30.
NO_LIMIT = 10**9


def check_config(folder, place):
    """Return the configuration of a model's folder.

    Args:
        folder: folder of the model.
        place: its name in messages.

    Raises:
        StudyError: no configuration, custom code, a model that generates text, quantised weights, or a model
            without a classifier.
    """
    if not os.path.isfile(os.path.join(folder, "config.json")):
        raise StudyError(
            f"{place} has no config.json; name a folder that `save_pretrained` wrote, or list it among hub.files"
        )
    check_code(folder, place)
    try:
        config = AutoConfig.from_pretrained(folder, local_files_only=True, trust_remote_code=False)
    except (OSError, ValueError, KeyError) as error:
        raise StudyError(
            f"{place}: config.json names no model that Transformers knows ({str(error).splitlines()[0]}); models with "
            "code of their own are not run"
        ) from error
    if getattr(config, "quantization_config", None):
        raise StudyError(f"{place} has quantised weights, which cannot be trained; name the model in full precision")
    kinds = [config.architectures] if isinstance(config.architectures, str) else config.architectures
    generates = [kind for kind in kinds or [] if kind.endswith(GENERATION)]
    # The architectures of a bare encoder or its classifier name no generation.
    only_decoder = (
        config.model_type in MODEL_FOR_CAUSAL_LM_MAPPING_NAMES
        and config.model_type not in MODEL_FOR_MASKED_LM_MAPPING_NAMES
    )
    if generates or only_decoder or config.is_encoder_decoder or getattr(config, "is_decoder", False):
        kind = (generates or [config.model_type])[0]
        raise StudyError(f"{place} generates text ({kind}); name an encoder, such as BERT, RoBERTa or DeBERTa")
    if config.model_type not in MODEL_FOR_SEQUENCE_CLASSIFICATION_MAPPING_NAMES:
        raise StudyError(
            f"{place}: Transformers has no sequence classifier for {config.model_type}; name another model"
        )
    return config


def check_code(folder, place):
    """Refuse a model that asks for custom code, even where Transformers knows its `model_type`.

    Args:
        folder: folder of the model.
        place: its name in messages.

    Raises:
        StudyError: config.json or tokenizer_config.json has an `auto_map`, or names a class that Transformers lacks.
    """
    for file in ("config.json", "tokenizer_config.json"):
        if _fields(folder, file, place).get("auto_map"):
            raise StudyError(
                f"{place}: {file} has an `auto_map`, so the model brings code of its own, and models with code of "
                f"their own are not run; where Transformers' own classes will do, take `auto_map` out of {file}"
            )
    kinds = _fields(folder, "config.json", place).get("architectures") or []
    kinds = [kinds] if isinstance(kinds, str) else [str(kind) for kind in kinds]
    # Version 5 dropped the classes of TensorFlow and Flax, whose weights may be in the same folder as PyTorch's.
    unknown = [kind for kind in kinds if not hasattr(transformers, kind.removeprefix("TF").removeprefix("Flax"))]
    if unknown and not any(kind.endswith(GENERATION) for kind in unknown):
        raise StudyError(
            f"{place}: `architectures` of config.json names {unknown[0]}, which Transformers lacks, and models with "
            "code of their own are not run; where the model is a plain one, write the name of its class there"
        )


def _fields(folder, file, place):
    """Return the content of a model's JSON file; {} where there is none."""
    path = os.path.join(folder, file)
    try:
        fields = read_json(path) if os.path.isfile(path) else {}
    except StudyError as error:
        raise StudyError(f"{place}: {str(error).replace(path, file)}; get the file again") from error
    if not isinstance(fields, dict):
        raise StudyError(f"{place}: {file} is no block of names and values; get the file again")
    return fields


def load_tokenizer(folder, place=None):
    """Return the tokenizer of a model's folder.

    Args:
        folder: folder of the model.
        place: how messages call it; None: by its folder.

    Raises:
        StudyError: it has none.
    """
    try:
        tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True, trust_remote_code=False)
        if len(tokenizer) > len(tokenizer.all_special_ids) and tokenizer("a b")["input_ids"]:
            return tokenizer
        reason = "it has special tokens only"
    except Exception as error:  # noqa: BLE001 - each tokenizer fails in a way of its own
        reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
    raise StudyError(
        f"{place or folder} has no tokenizer that can be read ({reason[:200]}); copy the model's tokenizer files "
        "(tokenizer.json, or vocab.txt, or sentencepiece.bpe.model …) into it, or list them among hub.files"
    )


def tokenizer_inputs(tokenizer, model):
    """Return the names of a tokenizer's outputs, without segments where the model has no place for them."""
    return [name for name in tokenizer.model_input_names if name != SEGMENTS or has_segments(model)]


def part_read(taken):
    """Return which tokens of a longer text a model reads: "first", or "last" where its tokenizer cuts at the left.

    Args:
        taken: conversion.json of the folder that `finetuning.take_model` wrote.
    """
    return "last" if taken.get("truncation_side") == "left" else "first"


def longest_input(config, tokenizer, place, max_tokens=None):
    """Return the most tokens of an input, including special ones: the positions', or the tokenizer's if lower.

    Args:
        config, tokenizer: config and tokenizer of the model.
        place: its name in messages.
        max_tokens: the settings' limit, which counts where it is below the positions; None: no limit.

    Raises:
        StudyError: neither has a limit, the configuration lacks the padding's number that its positions begin after, or
            the settings ask for more than the model's positions.
    """
    table = next((getattr(config, key) for key in POSITIONS if isinstance(getattr(config, key, None), int)), None)
    if table is not None and config.model_type in OFFSET:
        if config.pad_token_id is None:
            raise StudyError(
                f"{place}: config.json has no pad_token_id, after which a {config.model_type} counts its positions; "
                "write the padding's id there"
            )
        table -= config.pad_token_id + 1
    limit = tokenizer.model_max_length if tokenizer.model_max_length < NO_LIMIT else None
    if max_tokens is not None:
        if table is not None and max_tokens > table:
            raise StudyError(
                f"{place}: max_tokens is {max_tokens}, and the model has {table} positions; set max_tokens to at most "
                f"{table}"
            )
    found = [max_tokens] if max_tokens else [number for number in (table, limit) if number and number > 0]
    if not found:
        raise StudyError(
            f"{place}: neither config.json of this {config.model_type} nor its tokenizer says how long an input may "
            "be; write model_max_length (tokens, such as 512) into its tokenizer_config.json"
        )
    special = tokenizer.num_special_tokens_to_add()
    if min(found) <= special:
        raise StudyError(
            f"{place}: an input of {min(found)} tokens has no place for a text beside {special} special ones; correct "
            "model_max_length in its tokenizer_config.json, or set max_tokens of this model"
        )
    return min(found)


def with_dropout(config, settings):
    """Return the configuration with the arm's dropout under its names for dropout."""
    for names, share in ((STATES, "dropout"), (ATTENTION, "dropout"), (HEADS, "classifier_dropout")):
        for name in names:
            if hasattr(config, name):
                setattr(config, name, settings[share])
    return config


def named_classes(classes, task=tasks.DEFAULT):
    """Return the fields of a configuration that count and name its classes; None: two without names."""
    return {"num_labels": 2} if classes is None else tasks.load(task).outputs(classes)


def build_encoder(folder, init, seed, settings, classes=None, task=tasks.DEFAULT):
    """Return a classifier, and the names of its new tensors: the head's, where the folder has none of its size.

    Args:
        folder: what `finetuning.take_model` wrote.
        init: "pretrained", or "random": all weights are drawn by the model's rule.
        seed: seed of the new weights.
        settings: `dropout`, `classifier_dropout`.
        classes: names of the classes in order; None: two without names.
        task: kind of the labels.

    Raises:
        StudyError: a tensor of the encoder would stay random, or has another shape.
    """
    config = AutoConfig.from_pretrained(
        folder, local_files_only=True, trust_remote_code=False, **named_classes(classes, task)
    )
    config = with_dropout(config, settings)
    # A multi-label classifier would turn its scores into probabilities by another function.
    config.problem_type = tasks.load(task).PROBLEM
    torch.manual_seed(seed)
    if init == "random":
        model = AutoModelForSequenceClassification.from_config(config, trust_remote_code=False).float()
        set_head_dropout(model, settings["classifier_dropout"])
        return model, sorted(head_tensors(model))
    model, info = AutoModelForSequenceClassification.from_pretrained(
        folder,
        config=config,
        local_files_only=True,
        trust_remote_code=False,
        dtype=torch.float32,
        ignore_mismatched_sizes=True,
        output_loading_info=True,
    )
    fresh = {name for name, _ in model.named_parameters()} & set(info["missing_keys"])
    fresh |= {str(entry[0]) for entry in info["mismatched_keys"]}
    wrong = [n for n in sorted(fresh) if n.startswith(encoder_prefix(model)) and ".pooler." not in n]
    if wrong:
        raise StudyError(
            f"{folder} has no tensor {wrong[0]} that fits config.json: {len(wrong)} of the encoder would stay random"
        )
    set_head_dropout(model, settings["classifier_dropout"])
    return model, sorted(fresh)


def head_dropouts(model):
    """Return the dropout modules of a classifier's head; a pooler's dropout (DeBERTa's) stays as the model has it."""
    return [
        module
        for name, module in model.named_modules()
        if isinstance(module, torch.nn.Dropout) and not name.startswith((encoder_prefix(model), "pooler."))
    ]


def set_head_dropout(model, share):
    """Give the head the arm's dropout; without a name for it in the configuration the head would take the encoder's."""
    for module in head_dropouts(model):
        module.p = share


def head_tensors(model):
    """Return the names of all tensors that are not the encoder's: the classification head's."""
    return [name for name, _ in model.named_parameters() if not name.startswith(encoder_prefix(model))]


def head_prefixes(model):
    """Return the prefixes of the names outside the encoder: the classification head's."""
    return tuple(dict.fromkeys(f"{name.split('.')[0]}." for name in head_tensors(model)))


def prefix_of(config):
    """Return the first part of the names of the encoder's tensors in the classifier of a configuration."""
    return AutoModelForSequenceClassification._model_mapping[type(config)].base_model_prefix


def encoder_prefix(model):
    """Return the prefix of the names of a classifier's encoder."""
    return f"{model.base_model_prefix}."


def prove_encoder(model, fresh, reference, init):
    """Compare the tensors in memory with the model's file before the first update: see `training.weights`.

    Args:
        model: the classifier.
        fresh: names of tensors that the file lacks.
        reference: {name: tensor} of the file; a bare encoder's names lack the classifier's prefix.
        init: "pretrained" or "random".

    Returns:
        dict: see `training.weights.prove_weights`; `head` names the fresh tensors.

    Raises:
        StudyError: a tensor of the file was not loaded.
    """
    memory, prefix = dict(model.named_parameters()), encoder_prefix(model)
    named = {name if name in memory else f"{prefix}{name}": tensor for name, tensor in reference.items()}
    # The file's head is drawn anew only where it does not fit.
    return prove_weights(memory, named, init, tuple(fresh) or ("no head",), lambda: drawn_again(model))


def drawn_again(model):
    """Return {name: tensor} of a classifier drawn again from its configuration alone.

    The generator has advanced since the model's draw, so only computed tensors are the same. The run's later draws are
    not affected.
    """
    with torch.random.fork_rng(devices=[]):
        again = AutoModelForSequenceClassification.from_config(copy.deepcopy(model.config), trust_remote_code=False)
    return dict(again.float().named_parameters())


def load_classifier(folder):
    """Return a saved classifier, whole, in float32.

    Raises:
        StudyError: a tensor is missing or has no place.
    """
    model, info = AutoModelForSequenceClassification.from_pretrained(
        folder, local_files_only=True, trust_remote_code=False, dtype=torch.float32, output_loading_info=True
    )
    wrong = sorted(info["missing_keys"]) + sorted(info["unexpected_keys"])
    if wrong:
        raise StudyError(f"{folder}: tensor {wrong[0]} is missing or has no place: fine-tune again")
    return model
