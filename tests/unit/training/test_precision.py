"""Learning rate, precision, updates and the proof of loaded weights."""

import argparse

import pytest
import torch

from common.errors import StudyError
from training.precision import choose_device, resolve_precision
from training.process import versions
from training.schedule import learning_rate, warmup_updates
from training.weights import is_constant, prove_weights, tensor_sha256


def test_learning_rate_by_hand():
    # p = 1, w = 2, t = 6. Update k uses n = k - 1 updates done:
    # n = 0: 0/2; 1: 1/2; 2: 2/2; 3: 1 - 1/4; 4: 1 - 2/4; 5: 1 - 3/4; n = 6 is after the last update: 0.
    assert [learning_rate(k, 1.0, 2, 6) for k in range(1, 8)] == [0.0, 0.5, 1.0, 0.75, 0.5, 0.25, 0.0]
    # No warm-up: p (1 - n / t).
    assert [learning_rate(k, 2.0, 0, 4) for k in range(1, 6)] == [2.0, 1.5, 1.0, 0.5, 0.0]


@pytest.mark.parametrize(("warmup", "total"), [(67, 1125), (0, 10), (1, 7), (10, 10)])
def test_learning_rate_equals_fairseq(warmup, total):
    from fairseq.optim.lr_scheduler.polynomial_decay_schedule import PolynomialDecayLRSchedule

    class Optimizer:
        def set_lr(self, lr):
            self.lr = lr

        def get_lr(self):
            return self.lr

    settings = argparse.Namespace(
        lr=[1e-5], warmup_updates=warmup, total_num_update=total, end_learning_rate=0.0, power=1.0, force_anneal=None
    )
    # The schedule's base class wants a FairseqOptimizer: only its two methods are used.
    schedule = PolynomialDecayLRSchedule.__new__(PolynomialDecayLRSchedule)
    schedule.cfg, schedule.optimizer = settings, Optimizer()
    schedule.lr, schedule.end_learning_rate, schedule.power = 1e-5, 0.0, 1.0
    schedule.total_num_update, schedule.warmup_factor = total, 1.0 / max(warmup, 1)
    # fairseq.trainer: step_update(0) when the optimizer is made and at the first epoch; then after each update.
    schedule.step_begin_epoch(1)
    schedule.step_update(0)
    for update in range(1, total + 1):
        assert learning_rate(update, 1e-5, warmup, total) == pytest.approx(schedule.optimizer.get_lr(), rel=1e-12)
        if update == total // 2:
            schedule.step_begin_epoch(2)
        schedule.step_update(update)


def test_learning_rate_equals_transformers():
    from transformers import get_linear_schedule_with_warmup

    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=2e-4)
    schedule = get_linear_schedule_with_warmup(optimizer, 11, 190)
    for update in range(1, 191):
        assert learning_rate(update, 2e-4, 11, 190) == pytest.approx(schedule.get_last_lr()[0], rel=1e-12)
        optimizer.step()
        schedule.step()


def test_warmup_updates_is_the_floor():
    assert warmup_updates(1125, 0.06) == 67  # 67.5
    assert warmup_updates(190, 0.06) == 11  # 11.4
    assert warmup_updates(1150, 0.06) == 69  # 68.99999999999999 in binary
    assert warmup_updates(10, 0.0) == 0


def test_resolve_precision(monkeypatch):
    assert resolve_precision("float32") == "float32"
    assert resolve_precision("bfloat16", "cpu") == "bfloat16"
    for capabilities, precision in (
        ({"avx512_bf16": True, "cpu_name": "AMD EPYC"}, "bfloat16"),
        ({"avx512_bf16": True, "amx_bf16": False, "cpu_name": "Intel Xeon"}, "float32"),
        ({"avx512_bf16": True, "amx_bf16": True, "cpu_name": "Intel Xeon"}, "bfloat16"),
        ({"avx2": True, "cpu_name": "AMD EPYC"}, "float32"),
    ):
        monkeypatch.setattr(torch.cpu, "get_capabilities", lambda found=capabilities: found)
        assert resolve_precision("auto", "cpu") == precision, capabilities
    with pytest.raises(StudyError, match="fp16.*auto, float32, bfloat16"):
        resolve_precision("fp16")


def test_device_and_versions():
    assert choose_device() in ("cpu", "cuda")
    assert versions()["torch"] == torch.__version__.split("+")[0] or versions()["torch"] == torch.__version__


def model():
    """Names and values of a small model, its checkpoint, and a head that no checkpoint has."""
    generator = torch.Generator().manual_seed(1)
    checkpoint = {
        "encoder.a": torch.randn(3, 2, generator=generator),
        "encoder.b": torch.randn(4, generator=generator),
        "encoder.norm": torch.ones(4),
        "lm_head.x": torch.randn(2, generator=generator),
    }
    memory = {name: t.clone() for name, t in checkpoint.items() if not name.startswith("lm_head")}
    return memory | {"classifier.w": torch.randn(2, generator=generator)}, checkpoint


def test_pretrained_weights_are_proved():
    memory, checkpoint = model()
    proof = prove_weights(memory, checkpoint, "pretrained", head="classifier.")
    assert (proof["n_equal"], proof["n_different"], proof["n_absent"]) == (3, 0, 0)
    assert proof["head"] == ["classifier.w"]
    assert proof["unused"] == ["lm_head.x"]
    assert proof["tensors"]["encoder.a"]["sha256"] == tensor_sha256(checkpoint["encoder.a"])


@pytest.mark.parametrize("fault", ["removed", "renamed", "changed", "reshaped"])
def test_pretrained_faults_name_the_tensor(fault):
    memory, checkpoint = model()
    if fault in ("removed", "renamed"):
        tensor = checkpoint.pop("encoder.b")
        if fault == "renamed":
            checkpoint["encoder.c"] = tensor
    elif fault == "changed":
        checkpoint["encoder.b"] = checkpoint["encoder.b"] + torch.tensor([0, 0, 1e-6, 0])
    else:
        checkpoint["encoder.b"] = checkpoint["encoder.b"].reshape(2, 2)
    with pytest.raises(StudyError, match="encoder.b"):
        prove_weights(memory, checkpoint, "pretrained", head="classifier.")


def test_random_weights_are_proved_new():
    memory, checkpoint = model()
    fresh = {n: torch.randn(t.shape, generator=torch.Generator().manual_seed(9)) for n, t in memory.items()}
    fresh["encoder.norm"] = torch.ones(4)  # constant: alike in every model, so it proves nothing
    proof = prove_weights(fresh, checkpoint, "random", head="classifier.")
    assert (proof["n_equal"], proof["n_different"]) == (1, 2)
    assert proof["constant"] == ["encoder.norm"]
    with pytest.raises(StudyError, match="encoder.a"):
        prove_weights(fresh | {"encoder.a": memory["encoder.a"]}, checkpoint, "random", head="classifier.")
    # The checkpoint's tensor under another name is found too.
    with pytest.raises(StudyError, match="encoder.q"):
        prove_weights(fresh | {"encoder.q": memory["encoder.a"]}, checkpoint, "random", head="classifier.")


def test_proof_needs_tensors():
    with pytest.raises(StudyError, match="nothing can be proved"):
        prove_weights({"classifier.w": torch.ones(2)}, {}, "pretrained", head="classifier.")
    assert is_constant(torch.zeros(3)) and not is_constant(torch.tensor([0.0, 1.0]))
