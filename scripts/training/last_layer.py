"""The last encoder layer of a classifier in training, computed for the first position only, which the head reads.

The other positions' queries, attention and feed-forward part would be computed and thrown away: a sixth of the
products of four layers. Keys and values are computed for every position. Loss and gradients are the same but for
rounding; dropout draws fewer masks. The framework scores as usual.
"""

from types import MethodType

import torch.nn.functional as F


def _fairseq_layer(layer, x, encoder_padding_mask, attn_mask=None):
    """Return the output of fairseq's post-norm TransformerEncoderLayer at the first position: (1, batch, width).

    Args:
        layer: the TransformerEncoderLayer.
        x: float tensor (positions, batch, width).
        encoder_padding_mask: bool tensor (batch, positions), True where there is padding, or None.
        attn_mask: None: RoBERTa's encoder has none.

    Source: fairseq.modules.transformer_layer.TransformerEncoderLayerBase.forward
    """
    if not layer.training:
        return type(layer).forward(layer, x, encoder_padding_mask, attn_mask)
    first = x[:1]
    attended, _ = layer.self_attn(first, x, x, key_padding_mask=encoder_padding_mask, need_weights=False)
    first = layer.self_attn_layer_norm(layer.residual_connection(layer.dropout_module(attended), first))
    inner = layer.activation_dropout_module(layer.activation_fn(layer.fc1(first)))
    return layer.final_layer_norm(layer.residual_connection(layer.dropout_module(layer.fc2(inner)), first))


def _huggingface_layer(layer, hidden_states, attention_mask=None, *others, **named):
    """Return the output of Hugging Face's RobertaLayer at the first position: (batch, 1, width).

    Args:
        layer: the RobertaLayer.
        hidden_states: float tensor (batch, positions, width).
        attention_mask: (batch, 1, 1 or positions, positions) or None.
        others, named: arguments that an encoder does not use.

    Source: transformers.models.roberta.modeling_roberta: RobertaLayer, RobertaSelfAttention
    """
    if not layer.training:
        return type(layer).forward(layer, hidden_states, attention_mask, *others, **named)
    first, attention = hidden_states[:, :1], layer.attention.self

    def heads(states):
        return states.unflatten(-1, (-1, attention.attention_head_size)).transpose(1, 2)

    attended = F.scaled_dot_product_attention(
        heads(attention.query(first)),
        heads(attention.key(hidden_states)),
        heads(attention.value(hidden_states)),
        attn_mask=attention_mask if attention_mask is None else attention_mask[:, :, :1],
        dropout_p=attention.dropout.p,
        scale=attention.scaling,
    )
    return layer.feed_forward_chunk(layer.attention.output(attended.transpose(1, 2).flatten(2), first))


def train_first_position(layers):
    """Let the last of a classifier's layers compute only the first position while it trains.

    Args:
        layers: ModuleList of fairseq's TransformerEncoderLayer or Hugging Face's RobertaLayer; the last is changed.
    """
    last = layers[-1]
    last.forward = MethodType(_fairseq_layer if hasattr(last, "self_attn") else _huggingface_layer, last)
