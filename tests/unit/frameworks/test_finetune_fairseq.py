"""fairseq's fine-tuning: binarized data, what a run proves and records, its scores, its likeness to Hugging Face's."""

import json
import math
import os
import re

import pytest
import torch
import yaml

from common.errors import StudyError
from common.files import read_json, read_lines, read_tsv, sha256, write_lines
from frameworks.fairseq import binarize_texts, scoring
from frameworks.fairseq import train as finetune_fairseq
from support.arms import facts
from support.curves import curves
from support.killed_runs import run_forked
from support.reviews import ARCHITECTURE, binarize, write_reviews
from support.settings import SCHEMA, defaults
from support.studies import FINETUNING
from training.fairseq_checkpoint import load_fairseq_checkpoint
from training.fairseq_commands import import_fairseq

# The largest that the settings take: every training of this file has it.
SEED = 2**31 - 1
POSITIONS = ARCHITECTURE["max_positions"]
OUTPUTS = {"checkpoints": "", "tensorboard": "", "history": ".tsv", "run": ".json", "weights": ".json"}
SAME = {"epochs": 6, "dropout": 0.0, "clip_norm": 1.0, "weight_decay": 1.0}
# Another objective than plain cross entropy.
WEIGHED = {"class_weights": [0.5, 3.0], "label_smoothing": 0.1}
EPOCHS_HELD = 10
TOLERANCES = {"float32": 1e-5, "bfloat16": 1e-3}
# Runs of both frameworks that make the same updates, by name; "split" in micro-batches of 3, 3 and 2 reviews.
LIKE = TOLERANCES | {"weighed": 1e-5, "split": 1e-5}
FILES = {"fairseq": {"data": "train-valid", "checkpoint": "model.pt", "architecture": ARCHITECTURE}}
FILES["huggingface"] = {"train": "train.npz", "valid": "valid.npz", "checkpoint": "converted"}


def job(script, name=None, **arguments):
    return {"name": name or script, "script": script, "arguments": arguments}


def finetune(framework, folder, init="pretrained", settings=FINETUNING, head=None):
    """A run that writes to a folder; `head`: file by which a classification head is handed over."""
    arguments = {output: f"{folder}/{output}{ending}" for output, ending in OUTPUTS.items()} | FILES[framework]
    arguments |= {
        "facts": facts(framework, init),
        "seed": SEED,
        "settings": settings,
        "threads": 1,
        "states": f"{folder}/states",
    }
    name, script = folder.replace("/", "-"), f"frameworks.{framework}.train"
    if head:
        script = "support.one_head"
        arguments |= {"framework": framework, "head": head}
    return job(script, name, **arguments, save_every=0)


def refused(script, name, **arguments):
    """A run that must be refused; `<name>.told` gets the reason."""
    return job("support.refused", f"{name}.refused", refused=script, told=f"{name}.told", **arguments)


def same_head(name, **more):
    """A run of each framework that starts with one head."""
    settings = FINETUNING | SAME | more
    for framework in ("fairseq", "huggingface"):
        yield finetune(framework, f"{name}/{framework}", settings=settings, head=f"{name}.pt")


def holding(framework):
    """A run of ten epochs that writes `held/<framework>.json`: see `support.held`."""
    run = finetune(framework, f"held/{framework}", settings=FINETUNING | {"epochs": EPOCHS_HELD})
    arguments = run["arguments"] | {"framework": framework, "held": f"held/{framework}.json", "save_every": 4}
    return job("support.held", run["name"], **arguments)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Binarized reviews, a checkpoint in both forms, runs and their scores."""
    folder = tmp_path_factory.mktemp("fairseq")
    write_reviews(folder)
    for part in ("train-valid", "test"):
        binarize(folder, part)
    pieces = {"model": "spm.model", "dictionary": "dict.txt"}
    pretraining = defaults()["checkpoint"]["pretraining"] | {"updates": 4, "warmup_updates": 1, "precision": "float32"}
    pretraining["seed"] = SEED
    corpus = {"train": "train.txt", "valid": "valid.txt", "folder": "corpus", "limit": 30}
    pretrained = {"model": "model.pt", "history": "pretraining.tsv", "tensorboard": "curves", "states": "states"}
    pretrained |= {"architecture": ARCHITECTURE, "pretraining": pretraining}
    folders = {"checkpoint": "model.pt", "tokenizer": "tokenizer", "folder": "converted", "architecture": ARCHITECTURE}
    tokenizer = {"dictionary": "dict.txt", "pieces": "spm.model", "folder": "tokenizer", "max_positions": POSITIONS}
    runs = [
        job("checkpoint.binarize_corpus", **pieces, **corpus, threads=1),
        job("checkpoint.pretrain", data="corpus", **pretrained, threads=1),
        job("checkpoint.convert_tokenizer", **tokenizer),
        job("checkpoint.convert_checkpoint", **folders),
    ]
    for split in ("train", "valid"):
        files = {"reviews": f"{split}.review", "labels": f"{split}.label", "token_ids": f"{split}.npz"}
        runs.append(job("finetuning.tokenize_texts", **files, tokenizer="tokenizer", max_positions=POSITIONS))
    for init in ("pretrained", "random"):
        (folder / init).mkdir()
        (folder / init / "selected.json").write_text(json.dumps({"epoch": 2}))
        scored = {"data": "test", "checkpoints": f"{init}/checkpoints", "threads": 1}
        predicted = {"selected": f"{init}/selected.json", "predictions": f"{init}/predictions.tsv", "batch_size": 7}
        curve = predicted | {
            "history": f"{init}/history.tsv",
            "curve": f"{init}/curve.tsv",
            "tensorboard": f"{init}/board",
        }
        runs.append(finetune("fairseq", init, init))
        runs.append(job("frameworks.fairseq.score", **scored, **predicted))
        runs.append(job("frameworks.fairseq.test_curve", **scored, **curve | {"batch_size": 64}))
    runs.append(finetune("fairseq", "frozen", settings=FINETUNING | {"freeze": "encoder"}))
    hot = pretrained | {"pretraining": pretraining | {"lr": 1e38}, "model": "hot.pt"}
    runs.append(refused("checkpoint.pretrain", "pretraining", data="corpus", **hot, threads=1))
    for framework in FILES:
        diverging = finetune(framework, f"hot/{framework}", settings=FINETUNING | {"lr": 1e38, "clip_norm": 0.0})
        runs.append(refused(diverging["script"], framework, **diverging["arguments"]))
    runs += map(holding, FILES)
    runs += [*same_head("float32"), *same_head("bfloat16", precision="bfloat16"), *same_head("weighed", **WEIGHED)]
    run_forked(folder, [*runs, *same_head("split", **WEIGHED, accumulation=3)])
    return folder


def test_pieces_are_cut_to_leave_room_for_the_two_symbols(made):
    assert max(len(line.split()) for line in read_lines(made / "train-valid-pieces" / "train.pieces")) <= 62


def test_class_k_is_label_k_whatever_their_frequencies(made):
    assert read_lines(made / "train-valid" / "label" / "dict.txt") == ["0 1", "1 1"]


def test_a_label_that_is_neither_0_nor_1_names_file_and_line(made, tmp_path):
    write_lines(tmp_path / "x.review", ["bon", "mauvais"])
    write_lines(tmp_path / "x.label", ["1", "2"])
    files = ([str(tmp_path / f"x.{kind}")] for kind in ("review", "label"))
    folders = (str(tmp_path / name) for name in ("bin", "pieces"))
    with pytest.raises(StudyError, match=r"x.label, line 2: label '2' is neither 0 \(negative\) nor 1"):
        binarize_texts.main(*files, str(made / "spm.model"), str(made / "dict.txt"), *folders, ["train"], 64)
    assert sorted(os.listdir(tmp_path)) == ["x.label", "x.review"]


def test_a_missing_checkpoint_is_an_error_and_never_a_random_start(tmp_path):
    run = finetune("fairseq", str(tmp_path))["arguments"] | {"checkpoint": "nowhere/model.pt"}
    with pytest.raises(StudyError, match="nowhere/model.pt is missing"):
        finetune_fairseq.main(**run)
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("framework", FILES)
def test_a_training_holds_no_copy_of_the_checkpoint(made, framework):
    copies = read_json(made / "held" / f"{framework}.json")["copies"]
    assert len(copies) > 2 and not any(copies)


@pytest.mark.parametrize("framework", FILES)
def test_memory_is_handed_back_around_each_validation_and_does_not_grow(made, framework):
    released = read_json(made / "held" / f"{framework}.json")["released"]
    assert len(released) == 2 * EPOCHS_HELD  # before scoring, and after scoring or saving
    # From the third epoch's end on: earlier, kernels and buffers are still being made.
    assert released[-1] < 1.03 * released[5]


@pytest.mark.parametrize("framework", FILES)
def test_a_training_cuts_its_last_layer(made, framework):
    assert read_json(made / "held" / f"{framework}.json")["cut"] == [ARCHITECTURE["layers"]]


def test_a_frozen_encoder_stays_the_checkpoint(made):
    names = ("model.pt", "frozen/checkpoints/checkpoint2.pt")
    start, saved = (load_fairseq_checkpoint(str(made / name))["model"] for name in names)
    kept = [name for name in saved if "sentence_encoder" in name and name in start]
    assert len(kept) > 10 and all(torch.equal(start[name], saved[name].float()) for name in kept)
    assert read_json(made / "frozen" / "run.json")["protocol"]["freeze"] == "encoder"
    losses = [row["value"] for row in read_tsv(made / "frozen" / "history.tsv") if row["metric"] == "loss"]
    assert len(set(losses)) == len(losses) == 4


def test_a_record_says_whether_the_heads_are_verified(made):
    # Pretrained here: the checkpoint tells its heads. Random weights have none to verify.
    told = [read_json(made / name).get("heads_verified") for name in ("pretrained/run.json", "random/run.json")]
    assert told == [True, None]


def test_the_pretrained_run_proves_its_weights_and_the_random_run_the_opposite(made):
    proofs = {init: read_json(made / init / "weights.json") for init in ("pretrained", "random")}
    assert proofs["pretrained"]["n_equal"] == len(proofs["pretrained"]["tensors"]) > 20
    assert proofs["pretrained"]["n_different"] == proofs["pretrained"]["n_absent"] == 0
    assert proofs["random"]["n_absent"] == len(proofs["random"]["tensors"])
    # Afterwards, against the checkpoint: `test_prove_weights.py`.
    theirs = {tensor["sha256"] for tensor in proofs["pretrained"]["tensors"].values()}
    same = [name for name, tensor in proofs["random"]["tensors"].items() if tensor["sha256"] in theirs]
    assert set(same) <= set(proofs["random"]["constant"])


def test_the_run_had_the_published_schedule(made):
    protocol = read_json(made / "random" / "run.json")["protocol"]
    # 40 reviews in batches of 8, two epochs: 10 updates; a tenth of them, 1, is warm-up.
    assert (protocol["total_updates"], protocol["warmup_updates"]) == (10, 1)
    # The first update has rate 0, the second the peak, the last 1/9 of it: fairseq's polynomial decay.
    assert protocol["lr_first"] == 0.0
    assert protocol["peak_lr"] == pytest.approx(1e-3)
    assert protocol["lr_last"] == pytest.approx(1e-3 / 9)
    assert protocol["decayed_parameters"] == "every tensor"
    assert protocol["initialisation"]["head_dense"] == "uniform, sd 1/sqrt(3 in)"


def test_history_is_exact_and_one_checkpoint_an_epoch_is_kept(made):
    rows = read_tsv(made / "random" / "history.tsv")
    valid = {int(r["epoch"]): r["value"] for r in rows if (r["split"], r["metric"]) == ("valid", "accuracy")}
    correct = {int(r["epoch"]): r["value"] for r in rows if (r["split"], r["metric"]) == ("valid", "n_correct")}
    assert valid.keys() == {1, 2}
    assert all(float(valid[epoch]) == int(correct[epoch]) / 20 for epoch in valid)
    assert sorted(os.listdir(made / "random" / "checkpoints")) == ["checkpoint1.pt", "checkpoint2.pt"]


def test_predictions_and_curve_agree(made):
    rows = read_tsv(made / "random" / "predictions.tsv")
    assert [int(row["id"]) for row in rows] == list(range(20))
    assert [row["label"] for row in rows] == read_lines(made / "test.label")
    assert all((float(row["probability"]) > 0.5) == (row["prediction"] == "1") for row in rows)
    accuracy = sum(row["label"] == row["prediction"] for row in rows) / 20
    curve = {int(row["epoch"]): float(row["value"]) for row in read_tsv(made / "random" / "curve.tsv")}
    assert curve[2] == pytest.approx(accuracy, abs=1e-12)


def test_the_training_folder_holds_no_test_reviews(made):
    names = {name for _, _, names in os.walk(made / "train-valid") for name in names}
    assert not [name for name in names if name.startswith("test")]
    assert sha256(made / "train-valid" / "input0" / "dict.txt") == sha256(made / "dict.txt")


def losses(run):
    """The learning rates and losses of a run's history."""
    return [row for row in read_tsv(run / "history.tsv") if row["metric"] in ("lr", "loss")]


@pytest.mark.parametrize("name", LIKE)
def test_from_one_draw_of_weights_both_frameworks_make_the_same_updates(made, name):
    """Without dropout the draw of the head alone tells the pretrained arms apart: given one head, they are one run."""
    theirs, ours = (losses(made / name / side) for side in ("fairseq", "huggingface"))
    assert len(theirs) == 6 * 3
    for x, y in zip(theirs, ours, strict=True):
        assert (x | {"value": 0}) == (y | {"value": 0})
        assert float(x["value"]) == pytest.approx(float(y["value"]), abs=LIKE[name]), x


@pytest.mark.parametrize("framework", FILES)
def test_micro_batches_change_nothing_and_weights_something(made, framework):
    plain, weighed, split = (losses(made / name / framework) for name in ("float32", "weighed", "split"))
    values = [[float(row["value"]) for row in rows] for rows in (plain, weighed, split)]
    assert values[2] == pytest.approx(values[1], abs=1e-5) and values[1] != pytest.approx(values[0], abs=1e-3)
    record = read_json(made / "split" / framework / "run.json")
    assert record["protocol"].items() >= (WEIGHED | {"accumulation": 3, "batch_size": 8}).items()
    assert not {"class_weights", "label_smoothing", "accumulation", "patience"} & record["protocol"].keys() - {
        *WEIGHED,
        "accumulation",
    }
    # The first record is of updates from equal weights up to the second: plain cross entropy in both runs.
    assert weighed[1]["metric"] == "loss" and values[1][1] == pytest.approx(values[0][1], abs=0.05)


@pytest.mark.parametrize("precision", TOLERANCES)
def test_the_curves_of_both_frameworks_overlay(made, precision):
    """The same updates have the same names, steps and units."""
    theirs, ours = (curves(made / precision / side / "tensorboard") for side in ("fairseq", "huggingface"))
    updates, epochs = range(1, 31), range(5, 31, 5)
    assert {tag: list(points) for tag, points in theirs.items()} == {
        "train/loss": list(updates),
        "train/learning_rate": list(updates),
        "valid/loss": list(epochs),
        "valid/accuracy": list(epochs),
    }
    assert ours.keys() == theirs.keys()
    for tag, points in theirs.items():
        # In bfloat16 single reviews at the border may fall to either side.
        tolerance = 0.1 if tag == "valid/accuracy" and precision == "bfloat16" else 10 * TOLERANCES[precision]
        assert ours[tag] == pytest.approx(points, abs=tolerance), tag


def test_curves_have_the_units_of_the_history(made):
    found, history = curves(made / "random" / "tensorboard"), {}
    for row in read_tsv(made / "random" / "history.tsv"):
        history.setdefault((row["split"], row["metric"]), {})[int(row["update"])] = float(row["value"])
    assert found["valid/loss"] == pytest.approx(history["valid", "loss"], rel=1e-6)
    assert found["valid/accuracy"] == pytest.approx(history["valid", "accuracy"], rel=1e-6)
    # Both epochs of five updates of eight reviews: the epoch's mean is that of its updates.
    losses = list(found["train/loss"].values())
    assert sum(losses[:5]) / 5 == pytest.approx(history["train", "loss"][5], rel=1e-6)
    pretraining = curves(made / "curves")
    assert pretraining.keys() == {"train/loss", "train/learning_rate", "valid/loss"}
    valid = {int(r["update"]): float(r["loss"]) for r in read_tsv(made / "pretraining.tsv") if r["split"] == "valid"}
    assert pretraining["valid/loss"] == pytest.approx(valid, rel=1e-6)
    # Nats per masked token of 300 pieces: near ln 300 = 5.7.
    assert list(pretraining["train/loss"]) == [1, 2, 3, 4] and 5 < pretraining["train/loss"][1] < 6.5


@pytest.mark.parametrize(
    ("name", "section"),
    [("pretraining", "checkpoint.pretraining"), *((name, "finetuning.training") for name in FILES)],
)
def test_divergence_is_told_at_once_with_update_and_rate(made, name, section):
    told = (made / f"{name}.told").read_text()
    # The first update of a warm-up has rate 0, the second the peak: the third cannot be made.
    assert re.fullmatch(
        rf"({name}-pretrained/seed{SEED}: )?training diverged: the training loss is (nan|inf) at update 3, at a "
        rf"learning rate of [\d.]+e\+3\d in float32; "
        rf"lower {section}.lr or warm up for longer",
        told,
    )
    # No checkpoint of useless weights.
    assert not list(made.rglob("crash.pt")) and not (made / "hot.pt").exists()


def test_infinite_gradients_are_divergence():
    import_fairseq()
    from training.fairseq_plugin.optimizer import FusedAdamW, FusedAdamWConfig

    weight = torch.nn.Parameter(torch.ones(2))
    weight.grad = torch.tensor([1.0, math.inf])
    optimizer = FusedAdamW(FusedAdamWConfig(lr=[0.5]), [weight])
    optimizer.update_facts = {"update": 7, "section": "finetuning.training"}
    with pytest.raises(StudyError, match="the gradients' norm is inf at update 7, at a learning rate of 0.5"):
        optimizer.clip_grad_norm(0.0)


def test_the_largest_seed_is_the_one_that_settings_take():
    assert yaml.safe_load(SCHEMA.read_text(encoding="utf-8"))["$defs"]["seed"]["maximum"] == SEED


class Lengths(list):
    """Reviews as fairseq's dataset has them, and a batch of them."""

    def size(self, number):
        return len(self[number])

    def collater(self, rows):
        tokens = torch.tensor([[len(row)] for row in rows])
        return {"net_input": {"src_tokens": tokens}, "target": tokens % 2}


class SmallGpu(torch.nn.Module):
    """Scores a review by its length; more than 2 at once do not fit."""

    def __init__(self):
        super().__init__()
        head = torch.nn.Module()
        head.out_proj = torch.nn.Linear(1, 2)
        self.classification_heads = torch.nn.ModuleDict({scoring.HEAD: head})

    def forward(self, tokens, **options):
        if len(tokens) > 2:
            raise torch.OutOfMemoryError("CUDA out of memory")
        return torch.cat([tokens, -tokens], dim=1).float(), None


def test_scoring_goes_on_in_smaller_batches_where_a_gpu_is_too_small():
    reviews = Lengths(["aaa", "a", "aaaaa", "aa", "aaaa"])
    task = type("Task", (), {"datasets": {"test": reviews}})
    logits, labels = scoring.score(task, SmallGpu(), "test", 5)
    assert logits.tolist() == [[len(review), -len(review)] for review in reviews]
    assert labels.tolist() == [len(review) % 2 for review in reviews]
