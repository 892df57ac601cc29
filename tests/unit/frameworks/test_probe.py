"""Linear models on frozen features: the same as scikit-learn's, features of a text alone, C chosen on validation."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler
from transformers import BertConfig, BertModel

from common.errors import StudyError
from frameworks.linear.extract_features import extract
from frameworks.linear.probes import STRENGTHS, choose, fit, predict
from support.settings import message


def drawn(n_classes, n=60, width=5):
    generator = np.random.default_rng(1)
    labels = np.arange(n) % n_classes
    return (generator.normal(size=(n, width)) + labels[:, None]).astype(np.float32), labels


@pytest.mark.parametrize("n_classes", [2, 3])
def test_probabilities_are_those_of_scikit_learn(n_classes):
    features, labels = drawn(n_classes)
    scaler = StandardScaler().fit(features.astype(np.float64))
    theirs = LogisticRegression(C=0.1, max_iter=1000).fit(scaler.transform(features.astype(np.float64)), labels)
    ours = predict(fit(features, labels, 0.1, n_classes), features)
    wanted = theirs.predict_proba(scaler.transform(features.astype(np.float64)))
    np.testing.assert_allclose(ours, wanted, atol=1e-9)


def test_a_class_without_training_texts_gets_probability_0():
    features, labels = drawn(2)
    found = predict(fit(features, labels, 1.0, 3), features)
    assert (found[:, 2] == 0).all() and np.allclose(found.sum(axis=1), 1)
    with pytest.raises(StudyError, match="the training texts have one class"):
        fit(features, np.zeros(60, dtype=int), 1.0, 2)


def test_a_text_alone_gets_the_same_digits():
    features, labels = drawn(2)
    probe = fit(features, labels, 1.0, 2)
    assert (predict(probe, features)[7] == predict(probe, features[7:8])[0]).all()


def test_strength_is_chosen_on_validation_and_the_smallest_of_equals():
    features, labels = drawn(2)
    # All strengths classify validation texts far from the boundary alike.
    easy = np.where(labels[:4, None] == 1, 50.0, -50.0) * np.ones((4, 5))
    assert choose(features, labels, easy, labels[:4], 2)[0] == STRENGTHS[0]
    # With labels that only one strength gets right, that one is chosen.
    by_strength = [predict(fit(features, labels, c, 2), features).argmax(axis=1) for c in STRENGTHS]
    best = choose(features, labels, features, by_strength[-1], 2)[0]
    right = [int((one == by_strength[-1]).sum()) for one in by_strength]
    assert best == STRENGTHS[right.index(60)]


@pytest.mark.parametrize("features", ["mean", "first"])
def test_features_depend_on_no_other_text(features):
    config = BertConfig(vocab_size=50, hidden_size=16, num_hidden_layers=2, num_attention_heads=2,
                        intermediate_size=16, max_position_embeddings=20)  # fmt: skip
    model = BertModel(config).eval()
    texts = [np.array([2, 7, 3]), np.array([2, 9, 8, 7, 6, 5, 3]), np.array([2, 4, 3])]
    together = extract(model, texts, features)
    assert together.shape == (3, 16) and together.dtype == np.float32
    assert all((extract(model, [text], features)[0] == row).all() for text, row in zip(texts, together, strict=True))
    import torch

    states = model(torch.tensor([[2, 7, 3]])).last_hidden_state[0].detach()
    wanted = states[0] if features == "first" else states.sum(dim=0) / 3
    np.testing.assert_allclose(together[0], wanted.numpy(), atol=1e-6)


ARM = "finetuning.arms.huggingface-pretrained"


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({}, f"{ARM} has no features; set it to mean or first"),
        ({"features": "last"}, f"{ARM}.features is 'last'; it must be one of mean, first"),
        ({"features": "mean", "init": "random"}, f"{ARM}.init is random; arms of linear have pretrained"),
        ({"features": "mean", "freeze": "encoder"}, f"{ARM}.freeze is for arms that train weights"),
    ],
)
def test_settings_of_a_probe(changes, said):
    probe = {"framework": "linear", "model": "checkpoint", "init": "pretrained"}
    assert said in message({ARM: probe | changes})
