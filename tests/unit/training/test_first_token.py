"""The second loss of a pretraining: masked tokens predicted from the first token of their block."""

from types import SimpleNamespace

import pytest
import torch

from support.roberta import fairseq_model
from training.fairseq_commands import import_fairseq

PAD = 1


@pytest.fixture
def model():
    import_fairseq()
    return fairseq_model(20).train()


@pytest.fixture
def sample(model):
    """Two blocks of which some tokens are to be predicted: three of the first, one of the second, <s> itself."""
    tokens = torch.tensor([[0, 5, 6, 7, 8, 9], [0, 9, 8, 7, PAD, PAD]])
    target = torch.full_like(tokens, PAD)
    target[0, [0, 2, 4]], target[1, 3] = torch.tensor([0, 10, 11]), 12
    return {"net_input": {"src_tokens": tokens}, "target": target, "ntokens": 10, "nsentences": 2}


def criterion(weight):
    import_fairseq()
    from training.fairseq_plugin.criterion import FirstTokenConfig, MaskedLmAndFirstToken

    task = SimpleNamespace(target_dictionary=SimpleNamespace(pad=lambda: PAD))
    return MaskedLmAndFirstToken(FirstTokenConfig(first_token_weight=weight, tpu=False), task)


def test_the_first_token_predicts_what_is_masked_in_its_own_block(model, sample):
    model.eval()  # no dropout; the criterion is told that this is training
    model.training = True
    loss, n_masked, logged = criterion(0.5)(model, sample)
    scores = torch.log_softmax(model(sample["net_input"]["src_tokens"])[0], dim=-1)  # (blocks, tokens, pieces)
    places = sample["target"].ne(PAD).nonzero().tolist()
    masked_lm = -sum(scores[i, j, sample["target"][i, j]] for i, j in places)
    bag = -sum(scores[i, 0, sample["target"][i, j]] for i, j in places)
    assert n_masked == 4
    torch.testing.assert_close(loss, masked_lm + 0.5 * bag)
    # Only masked language modelling's loss is recorded.
    torch.testing.assert_close(logged["loss"], masked_lm.detach())


def test_it_asks_nothing_in_scoring_and_leaves_no_hook(model, sample):
    criterion(0.5)(model, sample)
    model.eval()
    loss, _, logged = criterion(0.5)(model, sample)
    plain, _, of_plain = criterion(0.0)(model, sample)
    assert torch.equal(loss, plain) and torch.equal(logged["loss"], of_plain["loss"])
    assert not model.encoder.lm_head._forward_pre_hooks


def test_its_gradient_reaches_the_first_tokens_state(model, sample):
    """Where nothing but a later token is to be predicted, masked language modelling never reads the first's output."""
    model.eval()
    model.training = True
    sample["target"][0, 0] = PAD

    def gradient(weight):
        outputs = []
        hook = model.encoder.lm_head.register_forward_pre_hook(lambda _, inputs: outputs.append(inputs[0]))
        loss, _, _ = criterion(weight)(model, sample)
        hook.remove()
        return torch.autograd.grad(loss, outputs[0])[0][:, 0]

    assert not gradient(0.0).any()
    assert (gradient(1.0).abs().amax(dim=1) > 0).all()
