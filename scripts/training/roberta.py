"""RoBERTa's weights under fairseq's names and under Hugging Face's: pure functions on dictionaries of tensors."""

import re

import torch

from common.errors import StudyError

ENCODER = "encoder.sentence_encoder."
PAD = 1  # fairseq's padding index; the position table starts behind it, so it has max_positions + 2 rows

# One encoder layer, fairseq -> Hugging Face.
LAYER = {
    "self_attn.q_proj": "attention.self.query",
    "self_attn.k_proj": "attention.self.key",
    "self_attn.v_proj": "attention.self.value",
    "self_attn.out_proj": "attention.output.dense",
    "self_attn_layer_norm": "attention.output.LayerNorm",
    "fc1": "intermediate.dense",
    "fc2": "output.dense",
    "final_layer_norm": "output.LayerNorm",
}
TOP = {
    f"{ENCODER}embed_tokens.weight": "roberta.embeddings.word_embeddings.weight",
    f"{ENCODER}embed_positions.weight": "roberta.embeddings.position_embeddings.weight",
    f"{ENCODER}layernorm_embedding.weight": "roberta.embeddings.LayerNorm.weight",
    f"{ENCODER}layernorm_embedding.bias": "roberta.embeddings.LayerNorm.bias",
    "encoder.lm_head.dense.weight": "lm_head.dense.weight",
    "encoder.lm_head.dense.bias": "lm_head.dense.bias",
    "encoder.lm_head.layer_norm.weight": "lm_head.layer_norm.weight",
    "encoder.lm_head.layer_norm.bias": "lm_head.layer_norm.bias",
    "encoder.lm_head.bias": "lm_head.bias",
    "encoder.lm_head.weight": "lm_head.decoder.weight",
}
HEAD = {
    "dense.weight": "classifier.dense.weight",
    "dense.bias": "classifier.dense.bias",
    "out_proj.weight": "classifier.out_proj.weight",
    "out_proj.bias": "classifier.out_proj.bias",
}
TOKEN_TYPES = "roberta.embeddings.token_type_embeddings.weight"
# fairseq itself leaves out these counters, which are no weights, when it loads a checkpoint.
IGNORED = re.compile(r"(^|\.)version$|\._float_tensor$|^encoder\._ema$|^encoder\.regression_head\.")


def upgrade_names(state):
    """Return a state dictionary under the names of fairseq 0.12, whichever release wrote it.

    Args:
        state: {name: tensor}; not changed.

    Source: `upgrade_state_dict_named` of fairseq's RobertaModel (decoder, emb_layer_norm),
        MultiheadAttention (in_proj_weight) and TransformerEncoderLayer (layer_norms).
    """
    upgraded = {}
    for name, tensor in state.items():
        if name.startswith("decoder."):
            name = "encoder." + name[len("decoder.") :]
        name = name.replace(".emb_layer_norm.", ".layernorm_embedding.")
        name = name.replace(".layer_norms.0.", ".self_attn_layer_norm.")
        name = name.replace(".layer_norms.1.", ".final_layer_norm.")
        if IGNORED.search(name):
            continue
        stacked = re.fullmatch(r"(.*)in_proj_(weight|bias)", name)
        if stacked:
            # This was once one matrix, queries above keys above values: (3 D, D).
            parts = tensor.chunk(3, dim=0)
            for projection, part in zip(("q_proj", "k_proj", "v_proj"), parts, strict=True):
                upgraded[f"{stacked[1]}{projection}.{stacked[2]}"] = part
        else:
            upgraded[name] = tensor
    return upgraded


def names(layers, head=None):
    """Return {fairseq name: Hugging Face name} of a model.

    Args:
        layers: encoder layers.
        head: name of fairseq's classification head, or None.
    """
    mapping = dict(TOP)
    for i in range(layers):
        for theirs, ours in LAYER.items():
            for kind in ("weight", "bias"):
                mapping[f"{ENCODER}layers.{i}.{theirs}.{kind}"] = f"roberta.encoder.layer.{i}.{ours}.{kind}"
    if head:
        mapping |= {f"classification_heads.{head}.{theirs}": ours for theirs, ours in HEAD.items()}
    return mapping


def count_layers(state):
    """Return the encoder layers of a fairseq state dictionary."""
    found = (re.match(re.escape(ENCODER) + r"layers\.(\d+)\.", name) for name in state)
    return 1 + max((int(match[1]) for match in found if match), default=-1)


def head_names(state):
    """Return the names of a fairseq state dictionary's classification heads."""
    return sorted({name.split(".")[1] for name in state if name.startswith("classification_heads.")})


def sizes(state, source="the checkpoint"):
    """Return the sizes that a fairseq state dictionary's tensors have, after checking every shape.

    Args:
        state: {name: tensor} under fairseq 0.12's names.
        source: its origin, for messages.

    Returns:
        dict: layers, width, ffn_width, max_positions, rows (vocabulary).

    Raises:
        StudyError: a tensor is missing, is not RoBERTa's, or has another shape than the others demand.
    """
    mapping = names(count_layers(state))
    heads = {name for name in state if name.startswith("classification_heads.")}
    lacking = [name for name in mapping if name not in state]
    if lacking:
        raise StudyError(f"{source} has no tensor {lacking[0]}: it is not a whole RoBERTa encoder with its head")
    unknown = [name for name in state if name not in mapping and name not in heads]
    if unknown:
        raise StudyError(f"{source} has a tensor {unknown[0]} that a (post-norm) RoBERTa has no place for")
    if count_layers(state) == 0:
        raise StudyError(f"{source} has no tensor {ENCODER}layers.0.fc1.weight: it has no encoder layer")
    rows, width = state[f"{ENCODER}embed_tokens.weight"].shape
    positions = state[f"{ENCODER}embed_positions.weight"].shape[0]
    ffn_width = state[f"{ENCODER}layers.0.fc1.weight"].shape[0]
    for name in mapping:
        expected = _shape(name, rows, width, ffn_width, positions)
        if tuple(state[name].shape) != expected:
            raise StudyError(f"{source}: tensor {name} has shape {tuple(state[name].shape)}, expected {expected}")
    return {
        "layers": count_layers(state),
        "width": width,
        "ffn_width": ffn_width,
        "max_positions": positions - PAD - 1,
        "rows": rows,
    }


def _shape(name, rows, width, ffn_width, positions):
    """Return the shape that a fairseq tensor must have."""
    if name.endswith(("embed_tokens.weight", "lm_head.weight")):
        return (rows, width)
    if name.endswith("embed_positions.weight"):
        return (positions, width)
    if name == "encoder.lm_head.bias":
        return (rows,)
    if name.endswith("fc1.weight"):
        return (ffn_width, width)
    if name.endswith("fc1.bias"):
        return (ffn_width,)
    if name.endswith("fc2.weight"):
        return (width, ffn_width)
    if name.endswith(("_proj.weight", "dense.weight")):
        return (width, width)
    return (width,)


def to_huggingface(state, head=None):
    """Return Hugging Face's state dictionary of a fairseq model.

    Args:
        state: {name: tensor} under fairseq 0.12's names.
        head: None: `RobertaForMaskedLM`; the name of a classification head: `RobertaForSequenceClassification`.

    Returns:
        dict: {name: tensor}; the tensors are shared with `state`. The one token-type row, which fairseq's
        model does not have, is zero.

    Raises:
        KeyError: a tensor is missing (see `sizes`).
    """
    mapping = names(count_layers(state), head)
    if head:
        mapping = {theirs: ours for theirs, ours in mapping.items() if not ours.startswith("lm_head.")}
    converted = {ours: state[theirs] for theirs, ours in mapping.items()}
    if not head:
        converted["lm_head.decoder.bias"] = converted["lm_head.bias"]
    tokens = converted["roberta.embeddings.word_embeddings.weight"]
    converted[TOKEN_TYPES] = torch.zeros(1, tokens.shape[1], dtype=tokens.dtype)
    return converted


def to_fairseq(state, head="sentence_classification_head"):
    """Return fairseq's state dictionary of a Hugging Face model: the inverse of `to_huggingface`.

    A token-type row that is not zero (fine-tuning moves it) is added to every position but padding's: the
    sum that enters the encoder is the same.

    Args:
        state: {name: tensor} of a RobertaForMaskedLM or RobertaForSequenceClassification with one token type.
        head: name to give the classification head, where the model has one.
    """
    layers = [re.match(r"roberta\.encoder\.layer\.(\d+)\.", name) for name in state]
    mapping = names(1 + max((int(match[1]) for match in layers if match), default=-1), head)
    converted = {theirs: state[ours] for theirs, ours in mapping.items() if ours in state}
    if "lm_head.bias" in state and "encoder.lm_head.weight" not in converted:
        # Tied weights are saved once.
        converted["encoder.lm_head.weight"] = converted[f"{ENCODER}embed_tokens.weight"]
    row = state.get(TOKEN_TYPES)
    if row is not None and bool(row.any()):
        positions = converted[f"{ENCODER}embed_positions.weight"].clone()
        positions[PAD + 1 :] += row[0]
        converted[f"{ENCODER}embed_positions.weight"] = positions
    return converted
