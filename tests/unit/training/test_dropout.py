"""Dropout with cheap masks: its share, scale and gradient, and attention against PyTorch's own."""

import pytest
import torch
import torch.nn.functional as F

from training.dropout import PYTORCH, attend, cheap_dropout, drop, keep_mask


@pytest.mark.parametrize("p", [0.1, 0.5, 0.9])
def test_every_quarter_of_a_draw_drops_its_share(p):
    torch.manual_seed(1)
    dropped = ~keep_mask((1000, 1000), p)
    # Five standard deviations of a binomial share, for all elements and for each quarter of a 64-bit draw.
    for part in (dropped.flatten(), *(dropped.flatten()[i::4] for i in range(4))):
        assert abs(part.double().mean().item() - p) < 5 * (p * (1 - p) / part.numel()) ** 0.5


def test_neighbours_are_dropped_independently():
    torch.manual_seed(2)
    dropped = (~keep_mask((1_000_000,), 0.1)).double()
    for lag in (1, 2, 3, 4, 8):
        together = (dropped[lag:] * dropped[:-lag]).mean().item()
        assert abs(together - 0.01) < 5 * (0.01 * 0.99 / 1e6) ** 0.5


@pytest.mark.parametrize("shape", [(1,), (3, 5), (2, 3, 7)])
def test_masks_of_any_size(shape):
    assert keep_mask(shape, 0.5).shape == shape


def test_the_generator_decides():
    torch.manual_seed(3)
    state = torch.get_rng_state()
    first = keep_mask((50, 50), 0.3)
    other = keep_mask((50, 50), 0.3)
    torch.set_rng_state(state)
    assert torch.equal(first, keep_mask((50, 50), 0.3))
    assert not torch.equal(first, other)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_what_stays_is_scaled_and_gradients_follow(dtype):
    x = torch.full((200, 200), 2.0, dtype=dtype, requires_grad=True)
    y = drop(x, 0.25)
    y.sum().backward()
    kept = y != 0
    assert y.dtype == dtype
    assert torch.equal(y[kept], torch.full_like(y[kept], 2.0 * (1 / 0.75)))
    assert torch.equal(x.grad != 0, kept)
    assert abs(y.float().mean().item() - 2) < 0.05


@pytest.mark.parametrize("kind", ["none", "bool", "float"])
def test_attention_is_pytorch_s_where_nothing_drops(kind):
    torch.manual_seed(4)
    query, key, value = (torch.randn(2, 4, 9, 16) for _ in range(3))
    mask = {"none": None, "bool": torch.ones(2, 1, 1, 9).bool(), "float": torch.zeros(2, 1, 1, 9)}[kind]
    if kind != "none":
        mask[1, :, :, 6:] = False if kind == "bool" else -torch.inf
    torch.testing.assert_close(
        attend(query, key, value, mask, 0.0), F.scaled_dot_product_attention(query, key, value, mask)
    )


def test_attention_drops_weights_without_bias():
    torch.manual_seed(5)
    query, key = torch.zeros(500, 1, 8, 4), torch.zeros(500, 1, 8, 4)
    value = torch.ones(500, 1, 8, 4)
    out = attend(query, key, value, None, 0.2)
    # Eight equal weights, each dropped with probability 0.2: the mean stays 1.
    assert abs(out.mean().item() - 1) < 0.02
    assert out.std() > 0.05


def test_it_stands_in_only_while_it_lasts_and_only_in_training():
    layer, x = torch.nn.Dropout(0.5), torch.ones(64, 64)
    torch.manual_seed(6)
    plain = layer(x)
    with cheap_dropout():
        torch.manual_seed(6)
        assert not torch.equal(layer(x), plain)
        assert torch.equal(layer.eval()(x), x)
        query = torch.randn(1, 2, 5, 8)
        assert torch.equal(
            F.scaled_dot_product_attention(query, query, query, is_causal=True),
            PYTORCH["scaled_dot_product_attention"](query, query, query, is_causal=True),
        )
    assert all(getattr(F, name) is function for name, function in PYTORCH.items())


def test_an_error_inside_leaves_pytorch_as_it_was():
    with pytest.raises(ZeroDivisionError), cheap_dropout():
        raise ZeroDivisionError
    assert all(getattr(F, name) is function for name, function in PYTORCH.items())


@pytest.mark.parametrize("framework", ["huggingface", "fairseq"])
def test_both_frameworks_models_call_it(framework, monkeypatch):
    """Embeddings, two sums a layer and attention: counted, so that a new version that goes around it is noticed."""
    shapes = []
    real = keep_mask
    monkeypatch.setattr("training.dropout.keep_mask", lambda shape, p: shapes.append(shape) or real(shape, p))
    tokens = torch.randint(4, 50, (2, 7))
    if framework == "huggingface":
        from transformers import RobertaConfig, RobertaModel

        sizes = {"num_hidden_layers": 2, "hidden_size": 16, "num_attention_heads": 2, "intermediate_size": 16}
        model = RobertaModel(RobertaConfig(vocab_size=50, attn_implementation="sdpa", **sizes)).train()
        with cheap_dropout():
            model(input_ids=tokens)
    else:
        from training.fairseq_commands import import_fairseq

        import_fairseq()
        from fairseq.models.transformer import TransformerConfig
        from fairseq.modules.transformer_layer import TransformerEncoderLayerBase

        config = TransformerConfig()
        config.encoder.embed_dim = config.encoder.ffn_embed_dim = 16
        config.encoder.attention_heads, config.dropout, config.attention_dropout = 2, 0.1, 0.1
        layer = TransformerEncoderLayerBase(config).train()
        with cheap_dropout():
            layer(torch.randn(7, 2, 16), encoder_padding_mask=None)
    attention = [shape for shape in shapes if tuple(shape) == (2, 2, 7, 7)]
    states = [shape for shape in shapes if shape[-1] == 16]
    assert (len(attention), len(states)) == {"huggingface": (2, 5), "fairseq": (1, 2)}[framework]
