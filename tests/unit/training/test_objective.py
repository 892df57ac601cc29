"""The loss that training minimizes: the formula by hand, PyTorch's own, and the weights that scikit-learn has."""

import math

import numpy as np
import pytest
import torch
from sklearn.utils.class_weight import compute_class_weight
from torch.nn.functional import cross_entropy

from common.errors import StudyError
from training.accumulation import MicroBatches, in_halves
from training.divergence import DivergenceError, refuse_divergence
from training.objective import Objective, balanced_weights

LABELS = torch.tensor([0, 0, 1])
# Probabilities (1/2, 1/2), (3/4, 1/4), (1/4, 3/4).
LOGITS = torch.tensor([[0.0, 0.0], [math.log(3), 0.0], [0.0, math.log(3)]])


def objective(**settings):
    return Objective(settings, LABELS.numpy(), 2)


def test_weights_and_smoothing_by_hand():
    # With weights 1 and 4: (ln 2 + ln 4/3 + 4 ln 4/3) / (1 + 1 + 4).
    weighted = objective(class_weights=[1.0, 4.0])
    assert float(weighted.mean(LOGITS, LABELS)) == pytest.approx((math.log(2) + 5 * math.log(4 / 3)) / 6)
    assert weighted.size(LABELS) == 6 and not weighted.plain
    # Smoothing 0.2 gives the label 0.8 + 0.2 / 2 = 0.9 and the other class 0.1 (fairseq's own would give 0.8 and 0.2).
    own, other = math.log(4 / 3), math.log(4)
    smoothed = (math.log(2) + 2 * (0.9 * own + 0.1 * other)) / 3
    assert float(objective(label_smoothing=0.2).mean(LOGITS, LABELS)) == pytest.approx(smoothed)
    assert objective().plain and objective(label_smoothing=0).plain


@pytest.mark.parametrize("settings", [{}, {"class_weights": [0.5, 4.0]}, {"label_smoothing": 0.3}])
def test_mean_and_shares_are_pytorchs_own(settings):
    found, weights = objective(**settings), settings.get("class_weights")
    wanted = cross_entropy(
        LOGITS, LABELS, weights and torch.tensor(weights), label_smoothing=settings.get("label_smoothing", 0.0)
    )
    assert torch.equal(found.mean(LOGITS, LABELS), wanted)
    # Two micro-batches of two and one example.
    shares = [found.sum(LOGITS[part], LABELS[part]) / found.size(LABELS) for part in (slice(0, 2), slice(2, 3))]
    assert float(sum(shares)) == pytest.approx(float(wanted), rel=1e-6)


def test_a_rare_class_pulls_by_its_weight():
    # 98 of class 0 and 2 of class 1, no information: balanced weights make the mean gradient of the bias (0, 0).
    labels = torch.tensor([0] * 98 + [1] * 2)
    for settings, wanted in (({}, [-0.48, 0.48]), ({"class_weights": "balanced"}, [0.0, 0.0])):
        bias = torch.zeros(2, requires_grad=True)
        Objective(settings, labels.numpy(), 2).mean(bias.expand(100, 2), labels).backward()
        # Without weights: 1/2 - 0.98 and 1/2 - 0.02.
        assert bias.grad.tolist() == pytest.approx(wanted, abs=1e-6)


def test_balanced_weights_are_those_of_scikit_learn():
    labels = np.array([0] * 6 + [1] * 3 + [2])
    # 10 / (3 · 6), 10 / (3 · 3), 10 / (3 · 1)
    assert balanced_weights(labels, 3) == pytest.approx([5 / 9, 10 / 9, 10 / 3])
    wanted = compute_class_weight("balanced", classes=np.arange(3), y=labels)
    assert balanced_weights(labels, 3) == wanted.tolist()
    with pytest.raises(StudyError, match="class_weights is balanced, and no training text has the class 1, 3"):
        balanced_weights([0, 2], 4)
    with pytest.raises(StudyError, match="3 weights for 2 classes"):
        objective(class_weights=[1, 1, 1])


def test_batches_are_cut_and_halved():
    assert MicroBatches(8).parts(8) == [slice(0, 8)]
    # 8 in 3: at most 3 at once.
    assert MicroBatches(8, 3).parts(8) == [slice(0, 3), slice(3, 6), slice(6, 8)]
    micro, tried, forgotten = MicroBatches(8), [], []

    def step(part):
        tried.append((part.start, part.stop, float(torch.rand(()))))
        if part.stop - part.start > 2:
            raise torch.OutOfMemoryError("out of memory")
        return part.start

    # The batch of 7 is halved to 4, then to 2: 0, 2, 4, 6 begin a part; every attempt begins with the same draw.
    assert micro.run(5, 7, step, lambda: forgotten.append(1)) == [0, 2, 4, 6]
    assert [part[:2] for part in tried] == [(0, 7), (0, 4), (0, 2), (2, 4), (4, 6), (6, 7)]
    assert tried[0][2] == tried[1][2] == tried[2][2] != tried[3][2] and len(forgotten) == 2
    assert micro.halvings == [{"update": 5, "micro_batch": 4}, {"update": 5, "micro_batch": 2}]
    other = MicroBatches(8)
    other.take_up(micro.state())
    assert other.parts(4) == [slice(0, 2), slice(2, 4)]


def test_what_does_not_fit_at_all_and_what_is_no_lack_of_memory_is_raised():
    def fail(error):
        def step(part):
            raise error

        return step

    with pytest.raises(StudyError, match=r"does not suffice for one example \(update 2: .*shorten the texts"):
        MicroBatches(4).run(2, 4, fail(RuntimeError("CUBLAS_STATUS_ALLOC_FAILED")), lambda: None)
    with pytest.raises(RuntimeError, match="shapes"):
        MicroBatches(4).run(2, 4, fail(RuntimeError("shapes differ")), lambda: None)


def test_scoring_goes_on_in_halves_where_memory_does_not_suffice():
    tried = []

    def step(batch):
        tried.append(list(batch))
        if len(batch) > 2:
            raise torch.OutOfMemoryError("CUDA out of memory")
        return sum(batch)

    # The first half of 7 is 4, which is halved again; one of the other 3 remains.
    assert list(in_halves(step, [0, 1, 2, 3, 4, 5, 6])) == [([0, 1], 1), ([2, 3], 5), ([4, 5], 9), ([6], 6)]
    assert tried[:3] == [[0, 1, 2, 3, 4, 5, 6], [0, 1, 2, 3], [0, 1]]

    def never(batch):
        raise torch.OutOfMemoryError("CUDA out of memory")

    with pytest.raises(StudyError, match="does not suffice to score one example .*shorten the texts"):
        list(in_halves(never, [1, 2]))
    with pytest.raises(RuntimeError, match="shapes"):
        list(in_halves(lambda batch: (_ for _ in ()).throw(RuntimeError("shapes differ")), [1, 2]))


def test_divergence_names_run_update_precision_and_remedy():
    told = (
        "a/seed2: training diverged: the training loss is nan at update 7, at a learning rate of 0.1 in bfloat16; "
        "set x.precision to float32, lower x.lr or warm up for longer"
    )
    with pytest.raises(DivergenceError) as caught:
        refuse_divergence("the training loss", math.nan, 7, 0.1, "x", "bfloat16", "a/seed2")
    assert str(caught.value) == told
    with pytest.raises(DivergenceError, match="rate of 0.1 in float32; lower x.lr or warm"):
        refuse_divergence("the training loss", math.inf, 7, 0.1, "x", "float32")
