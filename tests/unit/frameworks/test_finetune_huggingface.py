"""The Trainer arm on a tiny model: what it does at every update, and what it refuses."""

import ast
import math
import os
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import RobertaForMaskedLM, RobertaForSequenceClassification

from common.errors import StudyError
from common.files import read_json, read_tsv, write_json
from finetuning.protocol import framework_settings
from finetuning.runs import history_rows
from finetuning.scoring import pad_batch, score, summarize
from finetuning.token_ids import read_token_ids, write_token_ids
from frameworks.huggingface import score as evaluate_huggingface
from frameworks.huggingface import test_curve as test_curve_huggingface
from frameworks.huggingface.classifier import build_model, load_epoch
from frameworks.huggingface.study_trainer import PlannedBatches, Reviews, StudyTrainer, as_call
from frameworks.huggingface.train import main
from study.configuration import load_study
from support.arms import facts
from support.roberta import ARCHITECTURE, huggingface_config
from support.studies import FINETUNING
from training.batching import epoch_batches
from training.schedule import learning_rate

ROOT = Path(__file__).resolve().parents[3]
SETTINGS = FINETUNING | {"batch_size": 4, "lr": 1e-2, "warmup_ratio": 0.2}
N_TRAIN, N_VALID, N_TEST = 22, 9, 11
OUTPUTS = ("checkpoints", "history.tsv", "run.json", "weights.json", "tensorboard")


def examples(n, seed):
    """Reviews whose label is a token: 5 for positive, 6 for negative."""
    generator = np.random.default_rng(seed)
    labels = generator.integers(0, 2, n)
    texts = [generator.integers(7, 20, generator.integers(2, 9)) for _ in range(n)]
    return [[0, 5 if label else 6, *text, 2] for label, text in zip(labels, texts, strict=True)], labels


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    """A folder with token ids of three splits and a pretrained checkpoint."""
    torch.set_num_threads(1)
    folder = tmp_path_factory.mktemp("study")
    for split, n, seed in (("train", N_TRAIN, 1), ("valid", N_VALID, 2), ("test", N_TEST, 3)):
        write_token_ids(str(folder / f"{split}.npz"), *examples(n, seed))
    config = huggingface_config(20, ARCHITECTURE | {"heads": 2}, classifier_dropout=0.0)
    torch.manual_seed(0)
    RobertaForMaskedLM(config).save_pretrained(str(folder / "huggingface"))
    write_json(folder / "huggingface" / "conversion.json", {"heads_verified": True})
    return folder


def run(study, out, init="pretrained", seed=1, **changes):
    files = {"train": "train.npz", "valid": "valid.npz", "checkpoint": "huggingface"}
    main(
        **{name: str(study / file) for name, file in files.items()},
        **{name.partition(".")[0]: str(out / name) for name in OUTPUTS},
        facts=facts("huggingface", init),
        seed=seed,
        settings=SETTINGS | changes,
        threads=1,
        states=str(out / "states"),
        save_every=0,
    )
    return out


@pytest.fixture(scope="module")
def finished(study, tmp_path_factory):
    return run(study, tmp_path_factory.mktemp("runs") / "seed1")


def test_outputs_of_a_run(finished):
    assert sorted(os.listdir(finished)) == sorted(OUTPUTS)  # no scratch is left
    assert sorted(os.listdir(finished / "checkpoints")) == ["epoch1", "epoch2"]
    assert sorted(os.listdir(finished / "checkpoints" / "epoch1")) == ["config.json", "model.safetensors"]
    assert any("tfevents" in name for name in os.listdir(finished / "tensorboard"))


def test_history(finished):
    rows = read_tsv(finished / "history.tsv")
    assert list(rows[0]) == ["epoch", "update", "split", "metric", "value"]
    # 7 rows an epoch: lr, and loss, accuracy, n_correct of train and valid; ceil(22 / 4) = 6 updates an epoch.
    assert len(rows) == 14
    assert {(row["epoch"], row["update"]) for row in rows} == {("1", "6"), ("2", "12")}
    value = {(row["epoch"], row["split"], row["metric"]): float(row["value"]) for row in rows}
    # 12 updates, warm-up floor(0.2 * 12) = 2; update 6 has n = 5: 1e-2 (1 - 3/10); update 12: 1e-2 (1 - 9/10).
    assert value["1", "train", "lr"] == pytest.approx(0.007)
    assert value["2", "train", "lr"] == pytest.approx(0.001)
    for epoch in "12":
        assert value[epoch, "train", "accuracy"] == value[epoch, "train", "n_correct"] / N_TRAIN
        assert value[epoch, "valid", "accuracy"] == value[epoch, "valid", "n_correct"] / N_VALID


def test_it_learns(study, tmp_path):
    rows = read_tsv(run(study, tmp_path / "run", epochs=12, dropout=0.0, lr=5e-3) / "history.tsv")
    loss = {row["epoch"]: float(row["value"]) for row in rows if (row["split"], row["metric"]) == ("train", "loss")}
    # The label is a token of the review: from ln 2 (chance) to nearly nothing.
    assert loss["1"] > 0.5 and loss["12"] < 0.1


@pytest.mark.parametrize(
    ("own", "moved"),
    [
        ({"freeze": "encoder"}, set()),
        ({"lora": {"r": 2, "lora_alpha": 4, "target_modules": ["query"]}}, {"query"}),
    ],
    ids=["frozen encoder", "LoRA"],
)
def test_an_arm_that_trains_a_part_saves_whole_models(study, tmp_path, own, moved):
    out = run(study, tmp_path / "run", epochs=1, lr=1e-1, **own)
    saved = load_epoch(str(out / "checkpoints"), 1).state_dict()
    start = load_file(str(study / "huggingface" / "model.safetensors"))
    changed = {name for name, tensor in saved.items() if name in start and not torch.equal(tensor.cpu(), start[name])}
    assert {name.split(".")[-2] for name in changed} == moved and (not moved or len(changed) >= 1)
    record = read_json(out / "run.json")
    assert record["protocol"][next(iter(own))] == next(iter(own.values()))
    # Without the updates of the head nothing would be learnt.
    assert read_json(out / "weights.json")["n_different"] == 0


def test_recorded_validation_is_the_saved_model(study, finished):
    """The numbers in the history are those of the checkpoint on disk, computed one review at a time."""
    sequences, labels = read_token_ids(str(study / "valid.npz"))
    model = RobertaForSequenceClassification.from_pretrained(str(finished / "checkpoints" / "epoch2")).eval()
    losses, correct = [], 0
    with torch.no_grad():
        for sequence, label in zip(sequences, labels, strict=True):
            logits = model(torch.tensor([sequence.tolist()])).logits[0]
            losses.append(float(-torch.log_softmax(logits, 0)[int(label)]))
            correct += int(logits.argmax()) == label
    value = {
        row["metric"]: float(row["value"])
        for row in read_tsv(finished / "history.tsv")
        if row["epoch"] == "2" and row["split"] == "valid"
    }
    assert value["loss"] == pytest.approx(sum(losses) / len(losses), abs=1e-5)
    assert value["n_correct"] == correct


def test_run_json_is_read_from_live_objects(finished):
    record = read_json(finished / "run.json")
    assert (record["framework"], record["init"], record["seed"]) == ("huggingface", "pretrained", 1)
    assert (record["n_train"], record["n_valid"]) == (N_TRAIN, N_VALID)
    assert (record["total_updates"], record["warmup_updates"]) == (12, 2)
    protocol = record["protocol"]
    assert protocol["optimizer"] == "torch.AdamW"
    assert (protocol["betas"], protocol["eps"], protocol["weight_decay"]) == ([0.9, 0.98], 1e-8, 0.01)
    assert protocol["decayed_parameters"] == "every tensor"
    assert protocol["lr_first"] == 0.0
    assert protocol["lr_last"] == pytest.approx(0.001)
    assert (protocol["dropout"], protocol["attention_dropout"], protocol["classifier_dropout"]) == ([0.1], 0.1, 0.0)
    assert (protocol["batch_size"], protocol["batching"]) == (4, "length_grouped")
    assert protocol["truncation"] == "first 10 pieces between <s> and </s>"
    assert protocol["head"] == "dense (16, 16), tanh, projection (2, 16)"
    assert protocol["precision"] == "float32"
    assert (protocol["peak_lr"], protocol["warmup_updates"]) == (0.01, 2)
    drawn = "uniform, sd 1/sqrt(3 in)"
    assert protocol["initialisation"] == {"head_dense": drawn, "head_projection": drawn}


def test_same_seed_same_run_other_seed_other_run(study, finished, tmp_path):
    again = run(study, tmp_path / "again")
    assert read_tsv(again / "history.tsv") == read_tsv(finished / "history.tsv")
    other = run(study, tmp_path / "other", seed=2)
    assert read_tsv(other / "history.tsv") != read_tsv(finished / "history.tsv")


def test_bfloat16_trains_and_evaluates_in_float32(study, finished, tmp_path):
    out = run(study, tmp_path / "bf16", precision="bfloat16", clip_norm=1.0, batching="random")
    protocol = read_json(out / "run.json")["protocol"]
    assert (protocol["precision"], protocol["clip_norm"], protocol["batching"]) == ("bfloat16", 1.0, "random")
    assert all(
        t.dtype == torch.float32 for t in load_file(out / "checkpoints" / "epoch2" / "model.safetensors").values()
    )
    assert math.isfinite(float(read_tsv(out / "history.tsv")[-1]["value"]))


def test_proof_of_weights(study, finished, tmp_path):
    proof = read_json(finished / "weights.json")
    encoder = [n for n in load_file(study / "huggingface" / "model.safetensors") if n.startswith("roberta.")]
    assert proof["n_equal"] == len(encoder) and proof["n_different"] == 0
    assert len(proof["head"]) == 4
    assert all(name.startswith("lm_head.") for name in proof["unused"])
    out = run(study, tmp_path / "random", init="random", epochs=1)
    drawn = read_json(out / "run.json")["protocol"]["initialisation"]
    assert {name: rule for name, rule in drawn.items() if not name.startswith("head")} == dict.fromkeys(
        ("embeddings", "positions", "attention_query", "attention_output", "feed_forward"), "normal, sd 0.02"
    )
    proof = read_json(out / "weights.json")
    moved = [name for name in encoder if name not in proof["constant"]]
    assert proof["n_different"] >= len(moved) > 0
    assert all(proof["tensors"][name]["status"] == "different" for name in moved)


@pytest.mark.parametrize("fault", ["removed", "renamed", "reshaped", "truncated", "missing"])
def test_partial_checkpoint_is_refused(study, tmp_path, fault):
    state = load_file(study / "huggingface" / "model.safetensors")
    name = "roberta.encoder.layer.1.output.dense.weight"
    os.makedirs(tmp_path / "huggingface")
    for split in ("train", "valid"):
        os.link(study / f"{split}.npz", tmp_path / f"{split}.npz")
    for file in ("config.json", "conversion.json"):
        os.link(study / "huggingface" / file, tmp_path / "huggingface" / file)
    path = tmp_path / "huggingface" / "model.safetensors"
    if fault == "removed":
        del state[name]
    elif fault == "renamed":
        state[name.replace("dense", "sparse")] = state.pop(name)
    elif fault == "reshaped":
        state[name] = state[name][:, :3].contiguous()
    if fault != "missing":
        save_file(state, path, metadata={"format": "pt"})
    if fault == "truncated":
        path.write_bytes(path.read_bytes()[:1000])
    with pytest.raises(StudyError, match="huggingface") as caught:
        run(tmp_path, tmp_path / "out")
    if fault in ("removed", "renamed"):
        assert name in str(caught.value)
    assert not (tmp_path / "out" / "run.json").exists()


def test_too_long_input_is_refused(study, tmp_path):
    os.symlink(study / "huggingface", tmp_path / "huggingface")
    os.link(study / "valid.npz", tmp_path / "valid.npz")
    write_token_ids(str(tmp_path / "train.npz"), [[0, *[7] * 11, 2]], [1])
    with pytest.raises(StudyError, match="13 tokens.*12 positions"):
        run(tmp_path, tmp_path / "out")
    with pytest.raises(StudyError, match="missing or damaged"):
        Reviews(str(tmp_path / "none.npz"))


def test_init_is_explicit(study):
    with pytest.raises(StudyError, match="'fresh'.*pretrained, random"):
        build_model(str(study / "huggingface"), "fresh", 1, SETTINGS | {"dropout": 0.1})
    a = build_model(str(study / "huggingface"), "random", 1, SETTINGS | {"dropout": 0.0})
    b = build_model(str(study / "huggingface"), "random", 1, SETTINGS | {"dropout": 0.0})
    assert all(torch.equal(x, y) for x, y in zip(a.parameters(), b.parameters(), strict=True))
    assert a.config._attn_implementation == "sdpa"


def test_a_vector_that_fairseq_has_not_takes_part_only_where_asked(study, tmp_path):
    name = "roberta.embeddings.token_type_embeddings.weight"
    checkpoint = load_file(str(study / "huggingface" / "model.safetensors"))[name]
    for asked in (False, True):
        run(study, tmp_path / f"{asked}", init="random", token_types=asked)
        trained = load_file(str(tmp_path / f"{asked}" / "checkpoints" / "epoch2" / "model.safetensors"))[name]
        assert bool(trained.any()) is asked
        protocol = read_json(tmp_path / f"{asked}" / "run.json")["protocol"]
        assert ("token_types" in protocol) is asked and protocol["decayed_parameters"] == "every tensor"
        model = build_model(str(study / "huggingface"), "pretrained", 1, SETTINGS | {"token_types": asked})
        vector = model.roberta.embeddings.token_type_embeddings.weight
        assert torch.equal(vector, checkpoint) and vector.requires_grad is asked
    kept = load_file(str(run(study, tmp_path / "kept") / "checkpoints" / "epoch2" / "model.safetensors"))[name]
    assert torch.equal(kept, checkpoint)


def test_updates_equal_a_plain_loop(study, tmp_path):
    """The Trainer takes the steps of a loop written out: same batches, rates, AdamW, weights."""
    settings = SETTINGS | {"dropout": 0.0, "clip_norm": 0.5}
    out = run(study, tmp_path / "trainer", **settings)
    reviews = Reviews(str(study / "train.npz"))
    model = build_model(str(study / "huggingface"), "pretrained", 1, SETTINGS | {"dropout": 0.0}).train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2, betas=(0.9, 0.98), eps=1e-8, weight_decay=0.01)
    update = 0
    for epoch in (1, 2):
        for batch in epoch_batches(reviews.lengths, 4, 1, epoch, "length_grouped"):
            update += 1
            for group in optimizer.param_groups:
                group["lr"] = learning_rate(update, 1e-2, 2, 12)
            inputs = pad_batch([reviews.sequences[i] for i in batch])
            labels = torch.tensor([int(reviews.labels[i]) for i in batch])
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(model(**inputs).logits, labels).backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 0.5)
            optimizer.step()
    saved = load_file(out / "checkpoints" / "epoch2" / "model.safetensors")
    for name, parameter in model.state_dict().items():
        # The softmax does not see the keys' bias: its gradient is rounding, which Adam makes as large as any other.
        if not name.endswith("key.bias"):
            assert torch.allclose(parameter, saved[name], atol=1e-5), name


def test_batch_plan_follows_the_epoch():
    lengths = [3, 9, 4, 8, 5, 7]
    plan = PlannedBatches(lengths, 4, 7, "length_grouped")
    assert len(plan) == 2
    for epoch in (1, 2):
        plan.epoch = epoch
        assert list(plan) == epoch_batches(lengths, 4, 7, epoch, "length_grouped")


def test_score_does_not_depend_on_batches(study):
    sequences, labels = read_token_ids(str(study / "test.npz"))
    model = build_model(str(study / "huggingface"), "pretrained", 1, SETTINGS | {"dropout": 0.1}).train()
    one, many = score(model, sequences, 1), score(model, sequences, 64)
    assert model.training
    assert torch.allclose(one, many, atol=1e-5)
    assert one.dtype == torch.float32
    # Nor on a GPU that is too small for them: in halves, every text is scored once.
    model.register_forward_pre_hook(too_large, with_kwargs=True)
    torch.testing.assert_close(score(model, sequences, 64), many, rtol=0, atol=1e-5)


def too_large(model, arguments, inputs):
    if len(inputs["input_ids"]) > 3:
        raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 MiB.")


def test_summarize_by_hand():
    # Log-odds 0 and ln 3: class 1 has probability 1/2 and 3/4; labels 0 and 1: loss (ln 2 + ln 4/3) / 2.
    logits = torch.tensor([[0.0, 0.0], [0.0, math.log(3)]])
    summary = summarize(logits, [0, 1])
    assert summary["loss"] == pytest.approx((math.log(2) + math.log(4 / 3)) / 2)
    assert (summary["accuracy"], summary["n_correct"]) == (1.0, 2)


def test_history_rows_keep_full_precision():
    record = {"epoch": 1, "update": 3, "lr": 0.1}
    sums = {"loss": 1 / 3, "accuracy": 2 / 3, "n_correct": 2}
    rows = list(history_rows([record | {"train": sums, "valid": sums}]))
    assert [row["value"] for row in rows] == [0.1, 1 / 3, 2 / 3, 2, 1 / 3, 2 / 3, 2]


def test_evaluation_and_test_curve(study, finished, tmp_path):
    write_json(tmp_path / "selected.json", {"epoch": 1, "update": 6})
    arguments = (str(finished / "checkpoints"), str(study / "test.npz"))
    evaluate_huggingface.main(
        str(tmp_path / "selected.json"), *arguments, str(tmp_path / "predictions.tsv"), batch_size=4, threads=1
    )
    rows = read_tsv(tmp_path / "predictions.tsv")
    assert list(rows[0]) == ["id", "label", "prediction", "probability"]
    assert [int(row["id"]) for row in rows] == list(range(N_TEST))
    sequences, labels = read_token_ids(str(study / "test.npz"))
    assert [int(row["label"]) for row in rows] == labels.tolist()
    logits = score(load_epoch(arguments[0], 1), sequences, 1)
    probabilities = torch.softmax(logits, 1)[:, 1]
    assert [float(row["probability"]) for row in rows] == pytest.approx(probabilities.tolist(), abs=1e-5)
    assert all(int(row["prediction"]) == (float(row["probability"]) > 0.5) for row in rows)
    test_curve_huggingface.main(
        str(finished / "history.tsv"),
        arguments[0],
        str(tmp_path / "selected.json"),
        str(tmp_path / "predictions.tsv"),
        arguments[1],
        str(tmp_path / "curve.tsv"),
        str(tmp_path / "tensorboard-test"),
        batch_size=4,
        threads=1,
    )
    curve = read_tsv(tmp_path / "curve.tsv")
    assert [(row["epoch"], row["update"], row["split"], row["metric"]) for row in curve] == [
        ("1", "6", "test", "accuracy"),
        ("2", "12", "test", "accuracy"),
    ]
    right = sum(row["label"] == row["prediction"] for row in rows)
    assert float(curve[0]["value"]) == right / N_TEST
    with pytest.raises(StudyError, match="epoch9"):
        load_epoch(arguments[0], 9)


def test_trainer_without_clipping_computes_no_norm():
    assert StudyTrainer._get_grad_norm(None, None) is None


def test_the_log_shows_the_trainers_call():
    from transformers import TrainingArguments

    given = {"output_dir": "x", "use_cpu": True, "seed": 7, "eval_strategy": "epoch", "logging_steps": 25}
    call = as_call(TrainingArguments(**given))
    shown = {word.arg: ast.literal_eval(word.value) for word in ast.parse(call, mode="eval").body.keywords}
    # One argument may imply another: to evaluate each epoch is to evaluate.
    assert shown.items() >= given.items() and len(shown) <= len(given) + 1
    assert TrainingArguments(**shown).to_dict() == TrainingArguments(**given).to_dict()
    # Settings that the example leaves alone, with Hugging Face's defaults.
    defaults = TrainingArguments(output_dir="x", use_cpu=True)
    config, _ = load_study(str(ROOT), str(ROOT / "studies" / "open-published.yaml"))
    settings = framework_settings(config["finetuning"], "huggingface")
    assert settings["betas"] == [defaults.adam_beta1, defaults.adam_beta2]
    assert (settings["weight_decay"], settings["clip_norm"]) == (defaults.weight_decay, defaults.max_grad_norm)
