"""The last layer in training: the first position alone, with the losses, gradients and dropout of all of them."""

import copy

import pytest
import torch

from finetuning.parts import freeze_lower
from frameworks.huggingface.low_rank import add_lora
from support.roberta import ROWS, fairseq_model, huggingface_config
from training import dropout
from training.last_layer import train_first_position

HEAD = "sentence_classification_head"
PAD = 1
# Three reviews of unlike lengths, and three of one length (no padding, so that the frameworks pass no mask).
UNLIKE = torch.tensor([[0, 5, 9, 4, 7, 2], [0, 6, 2, PAD, PAD, PAD], [0, 8, 8, 3, 2, PAD]])
ALIKE = torch.tensor([[0, 5, 9, 4, 2], [0, 6, 7, 10, 2], [0, 8, 8, 3, 2]])


class Fairseq:
    """fairseq's classifier: its layers, head, logits."""

    head = "classification_heads."

    def __init__(self, share):
        self.model = fairseq_model(ROWS, classification=True)
        for module in self.model.modules():
            if type(module).__name__ == "FairseqDropout":
                module.p = share
        self.layers = self.model.encoder.sentence_encoder.layers

    def logits(self, ids):
        return self.model(ids, features_only=True, classification_head_name=HEAD)[0]


class HuggingFace:
    """Hugging Face's classifier: its layers, head, logits."""

    head = "classifier."

    def __init__(self, share):
        from transformers import RobertaForSequenceClassification

        parts = ("hidden_dropout_prob", "attention_probs_dropout_prob", "classifier_dropout")
        config = huggingface_config(ROWS, **dict.fromkeys(parts, share))
        config._attn_implementation = "sdpa"
        self.model = RobertaForSequenceClassification(config)
        generator = torch.Generator().manual_seed(3)
        with torch.no_grad():
            for parameter in self.model.parameters():
                parameter.copy_(torch.randn(parameter.shape, generator=generator) * 0.3)
        self.layers = self.model.roberta.encoder.layer

    def logits(self, ids):
        return self.model(input_ids=ids, attention_mask=(ids != PAD).long()).logits


BOTH = pytest.mark.parametrize("framework", [Fairseq, HuggingFace])


def step(classifier, ids):
    """Return the loss of a batch and {name: gradient}, in double precision: what is left is rounding."""
    classifier.model.double().train()
    loss = torch.nn.functional.cross_entropy(classifier.logits(ids), torch.tensor([0, 1, 1]))
    loss.backward()
    return loss.detach(), {n: p.grad for n, p in classifier.model.named_parameters() if p.grad is not None}


@BOTH
@pytest.mark.parametrize("ids", [UNLIKE, ALIKE], ids=["padded", "of one length"])
def test_loss_and_every_gradient_are_those_of_the_whole_layer(framework, ids):
    whole, first = framework(0.0), framework(0.0)
    train_first_position(first.layers)
    (loss, gradients), (expected_loss, expected) = step(first, ids), step(whole, ids)
    assert gradients.keys() == expected.keys() and len(gradients) > 30
    torch.testing.assert_close(loss, expected_loss, rtol=0, atol=1e-12)
    for name, gradient in expected.items():
        torch.testing.assert_close(gradients[name], gradient, rtol=0, atol=1e-11, msg=name)
    assert gradients[next(n for n in gradients if "1.fc1" in n or "1.intermediate" in n)].abs().max() > 1e-3


@BOTH
def test_only_the_last_layer_and_only_in_training_is_cut(framework):
    classifier, seen = framework(0.1), []
    stock = copy.deepcopy(classifier.model).eval()
    train_first_position(classifier.layers)
    for layer in classifier.layers:
        layer.register_forward_hook(lambda _, inputs, output: seen.append(sorted(output.shape)))
    classifier.model.train()
    classifier.logits(UNLIKE)
    assert seen == [[3, 6, 16], [1, 3, 16]]  # batch, positions, width, in the framework's own order
    classifier.model.eval()
    mine = classifier.logits(UNLIKE)
    classifier.model = stock
    assert torch.equal(mine, classifier.logits(UNLIKE))
    assert seen[2:] == [[3, 6, 16]] * 2


@BOTH
def test_every_dropout_of_the_layer_is_still_drawn_once(framework, monkeypatch):
    drawn, drop = [], dropout.drop
    monkeypatch.setattr(dropout, "drop", lambda x, p: drawn.append((p, x.dim())) or drop(x, p))
    found = []
    for cut in (False, True):
        classifier = framework(0.3)
        if cut:
            train_first_position(classifier.layers)
        drawn.clear()
        classifier.model.train()
        with dropout.cheap_dropout():
            classifier.logits(UNLIKE)
        found.append(list(drawn))
    assert found[0] == found[1]
    assert len(found[0]) == 9  # the input's; attention's, its output's, the feed-forward's, twice; the head's two


def test_lora_and_frozen_layers_are_trained_as_before():
    for arm in ("lora", "frozen"):
        found = []
        for cut in (True, False):
            classifier = HuggingFace(0.0)
            if cut:
                train_first_position(classifier.layers)
            torch.manual_seed(2)
            if arm == "lora":
                merge = add_lora(classifier.model, {"r": 2, "lora_alpha": 4}, HuggingFace.head, "arm")
            else:
                freeze_lower(classifier.model, 1, HuggingFace.head, "arm")
            found.append(step(classifier, UNLIKE)[1])
            if arm == "lora":
                merged = merge().eval()
                assert torch.isfinite(merged(input_ids=UNLIKE).logits).all()
        assert found[0].keys() == found[1].keys() and found[0]
        for name, gradient in found[1].items():
            torch.testing.assert_close(found[0][name], gradient, rtol=0, atol=1e-11, msg=name)
