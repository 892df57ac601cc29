"""The fairseq side: pieces, binarized data, the plug-in's history, resumed pretraining, proof of weights."""

import math
import os
import shutil
import signal
import subprocess
import sys

import pytest

import binarize_reviews
import train_sentencepiece
from common.embedded_reviews import generate
from common.errors import StudyError
from common.fairseq_state import newest_state, require
from common.files import read_json, read_lines, read_tsv, sha256, write_lines
from studies import FINETUNING

ARCHITECTURE = {"layers": 1, "width": 32, "ffn_width": 32, "heads": 2, "max_positions": 64}
PRETRAINING = {
    "updates": 8,
    # 100 texts: three updates an epoch, so that the state of update 4 lies within the second, whose masks are others.
    "batch_size": 40,
    "tokens_per_sample": 32,
    "lr": 1e-3,
    "warmup_updates": 2,
    "weight_decay": 0.01,
    "mask_prob": 0.2,
    "init_sd": 0.02,
    "position_init": "normal",
    "eps": 1e-6,
    "sample_break_mode": "eos",
    "dropout": 0.1,
    "clip_norm": 1.0,
    "precision": "float32",
    "seed": 1,
    "validate_every": 2,
}


def python(folder, code, wait=True):
    """Run code in a process of its own: fairseq keeps much in globals."""
    command = [sys.executable, "-c", f"import sys; sys.path.insert(0, {scripts()!r})\n{code}"]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    process = subprocess.Popen(
        command, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    if not wait:
        return process
    output, _ = process.communicate(timeout=300)
    assert process.returncode == 0, output
    return output


def scripts():
    return os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))), "scripts")


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A tiny checkpoint, made once, and binarized reviews."""
    folder = tmp_path_factory.mktemp("fairseq")
    reviews = generate(1, 60, 20, 120)
    write_lines(folder / "train.txt", reviews["unlabelled"][:100])
    write_lines(folder / "valid.txt", reviews["unlabelled"][100:])
    for split, rows in (
        ("train", reviews["labelled"][:40]),
        ("valid", reviews["labelled"][40:]),
        ("test", reviews["test"]),
    ):
        write_lines(folder / f"{split}.review", [text for text, _ in rows])
        write_lines(folder / f"{split}.label", [str(label) for _, label in rows])
    train_sentencepiece.main(
        str(folder / "train.txt"), str(folder / "spm.model"), str(folder / "dict.txt"), 300, "unigram", 1
    )
    parts = {"train-valid": ["train", "valid"], "test": ["test"]}
    python(
        folder,
        f"""
import binarize_corpus, binarize_reviews, pretrain
binarize_corpus.main("train.txt", "valid.txt", "spm.model", "dict.txt", "corpus", 30, 1)
for part, splits in {parts!r}.items():
    binarize_reviews.main(
        {{s: s + ".review" for s in splits}}, {{s: s + ".label" for s in splits}}, "spm.model", "dict.txt",
        {{s: s + ".pieces" for s in splits}}, part, 64)
pretrain.main("corpus", "model.pt", "pretraining.tsv", "tensorboard", {ARCHITECTURE!r}, {PRETRAINING!r}, "state", 1)
""",
    )
    return folder


def test_the_embedding_table_has_the_configured_rows(made):
    # <s> <pad> </s> <unk>, 295 pieces, <mask>: 300.
    lines = read_lines(made / "dict.txt")
    assert len(lines) == 295 and all(line.endswith(" 1") for line in lines)
    assert not {"<s>", "</s>", "<unk>"} & {line.split(" ")[0] for line in lines}
    import torch

    from common.checkpoints import load_fairseq_checkpoint

    model = load_fairseq_checkpoint(str(made / "model.pt"))["model"]
    assert model["encoder.sentence_encoder.embed_tokens.weight"].shape == torch.Size([300, 32])
    # Padding index 1 shifts the positions by 2.
    assert model["encoder.sentence_encoder.embed_positions.weight"].shape == torch.Size([66, 32])


def test_the_same_corpus_gives_the_same_piece_model_wherever_it_lies(made, tmp_path):
    shutil.copy(made / "train.txt", tmp_path / "corpus.txt")
    again = [str(tmp_path / name) for name in ("corpus.txt", "spm.model", "dict.txt")]
    train_sentencepiece.main(*again, 300, "unigram", 1)
    assert sha256(again[1]) == sha256(made / "spm.model")


def test_a_sample_of_a_long_corpus_is_the_same_one_each_time(made, tmp_path, monkeypatch):
    monkeypatch.setattr(train_sentencepiece, "SENTENCES", 60)
    for name in ("a", "b"):
        paths = [str(made / "train.txt"), str(tmp_path / f"{name}.model"), str(tmp_path / f"{name}.txt")]
        train_sentencepiece.main(*paths, 300, "unigram", 1)
    assert sha256(tmp_path / "a.model") == sha256(tmp_path / "b.model") != sha256(made / "spm.model")
    taken = train_sentencepiece.sample(made / "train.txt", 60)
    assert len(taken) == 60 and max(taken) < len(read_lines(made / "train.txt")) == 100


def test_a_vocabulary_too_large_for_the_corpus_names_its_key(made, tmp_path):
    with pytest.raises(StudyError, match="checkpoint.sentencepiece.vocab_size: 50000"):
        train_sentencepiece.main(str(made / "train.txt"), str(tmp_path / "m"), str(tmp_path / "d"), 50000, "unigram", 1)
    assert os.listdir(tmp_path) == []


def test_pieces_are_cut_to_leave_room_for_the_two_symbols(made):
    assert max(len(line.split()) for line in read_lines(made / "train.pieces")) <= 62


def test_class_k_is_label_k_whatever_their_frequencies(made):
    assert read_lines(made / "train-valid" / "label" / "dict.txt") == ["0 1", "1 1"]


def test_a_label_that_is_neither_0_nor_1_names_file_and_line(made, tmp_path):
    write_lines(tmp_path / "x.review", ["bon", "mauvais"])
    write_lines(tmp_path / "x.label", ["1", "2"])
    with pytest.raises(StudyError, match=r"x.label line 2: label '2' is neither 0 nor 1"):
        binarize_reviews.main(
            {"train": str(tmp_path / "x.review")},
            {"train": str(tmp_path / "x.label")},
            str(made / "spm.model"),
            str(made / "dict.txt"),
            {"train": str(tmp_path / "x.pieces")},
            str(tmp_path / "bin"),
            64,
        )
    assert not (tmp_path / "bin").exists()


def test_pretraining_records_loss_in_nats_at_each_interval(made):
    rows = read_tsv(made / "pretraining.tsv")
    assert [int(row["update"]) for row in rows if row["split"] == "valid"] == [2, 4, 6, 8]
    # A fresh model knows nothing: close to ln 300 = 5.7 nats a predicted token.
    assert 5.0 < float(rows[0]["loss"]) < 6.5
    assert os.listdir(made / "state") == []


def test_a_killed_pretraining_goes_on_and_ends_with_the_same_weights(made):
    code = (
        "import pretrain\n"
        f"pretrain.main('corpus', 'again.pt', 'again.tsv', 'tb2', {ARCHITECTURE!r}, {PRETRAINING!r}, 'state2', 1)"
    )
    # Killed before its sixth update: the state of the fourth lies within the second epoch.
    killed = (
        "import os, signal\n"
        "from common.fairseq_commands import import_fairseq\n"
        "import_fairseq()\n"
        "from fairseq.trainer import Trainer\n"
        "step = Trainer.train_step\n"
        "def stopping(self, *args, **kwargs):\n"
        "    if self.get_num_updates() == 5:\n"
        "        os.kill(os.getpid(), signal.SIGKILL)\n"
        "    return step(self, *args, **kwargs)\n"
        "Trainer.train_step = stopping\n"
    )
    process = python(made, killed + code, wait=False)
    process.communicate(timeout=300)
    assert process.returncode == -signal.SIGKILL
    output = python(made, code)
    assert "going on from" in output
    import torch

    one, two = (torch.load(made / name, weights_only=True)["model"] for name in ("model.pt", "again.pt"))
    assert one.keys() == two.keys()
    assert all(torch.equal(one[name], two[name]) for name in one)
    assert (made / "again.tsv").read_bytes() == (made / "pretraining.tsv").read_bytes()


def test_positions_may_start_as_sine_waves(made):
    settings = PRETRAINING | {"updates": 2, "warmup_updates": 1, "lr": 1e-12, "weight_decay": 0.0, "init_sd": 0.05}
    settings |= {"position_init": "sinusoidal"}
    python(
        made,
        "import pretrain\n"
        f"pretrain.main('corpus', 'waves.pt', 'waves.tsv', 'tb3', {ARCHITECTURE!r}, {settings!r}, 'state3', 1)",
    )
    import torch

    table = torch.load(made / "waves.pt", weights_only=True)["model"]["encoder.sentence_encoder.embed_positions.weight"]
    assert (table[1] == 0).all()  # padding
    for row, i in ((2, 0), (17, 3), (65, 15)):
        angle = row * 10000 ** (-i / 15)  # 32 columns: 16 sines, then 16 cosines, of rates 1 to 1/10000
        for column, wave in ((i, math.sin(angle)), (16 + i, math.cos(angle))):
            assert float(table[row, column]) == pytest.approx(0.05 * 2**0.5 * wave, abs=1e-5)


def test_a_torn_state_is_passed_over(tmp_path, made):
    (tmp_path / "checkpoint_last.pt").write_bytes((made / "model.pt").read_bytes()[:1000])
    assert newest_state(tmp_path) is None
    assert not (tmp_path / "checkpoint_last.pt").exists()


def test_a_missing_checkpoint_is_an_error_and_never_a_random_start():
    with pytest.raises(StudyError, match="nowhere/model.pt is missing"):
        require("nowhere/model.pt", "the pretrained arm cannot start without it")


@pytest.fixture(scope="module")
def runs(made):
    """A pretrained and a random run, and their scores."""
    for init in ("pretrained", "random"):
        python(
            made,
            f"""
import json, os
import evaluate_fairseq, finetune_fairseq, test_curve_fairseq
os.makedirs("{init}")
names = [f"{init}/{{n}}" for n in ("checkpoints", "history.tsv", "run.json", "weights.json", "tensorboard")]
checkpoint = "model.pt" if "{init}" == "pretrained" else None
finetune_fairseq.main("train-valid", checkpoint, "{init}", 3, {ARCHITECTURE!r}, {FINETUNING!r}, *names, 1, "states", 0)
json.dump({{"epoch": 2}}, open("{init}/selected.json", "w"))
evaluate_fairseq.main("test", names[0], "{init}/selected.json", "{init}/predictions.tsv", 7, 1)
test_curve_fairseq.main("test", names[0], names[1], "{init}/curve.tsv", 64, 1)
""",
        )
    return made


def test_the_pretrained_run_proves_its_weights_and_the_random_run_the_opposite(runs):
    proofs = {init: read_json(runs / init / "weights.json") for init in ("pretrained", "random")}
    assert proofs["pretrained"]["n_equal"] == len(proofs["pretrained"]["tensors"]) > 20
    assert proofs["pretrained"]["n_different"] == proofs["pretrained"]["n_absent"] == 0
    assert proofs["random"]["n_absent"] == len(proofs["random"]["tensors"])
    # Afterwards, against the checkpoint: `tests/unit/test_prove_weights.py`.
    theirs = {tensor["sha256"] for tensor in proofs["pretrained"]["tensors"].values()}
    same = [name for name, tensor in proofs["random"]["tensors"].items() if tensor["sha256"] in theirs]
    assert set(same) <= set(proofs["random"]["constant"])


def test_the_run_had_the_published_schedule(runs):
    protocol = read_json(runs / "random" / "run.json")["protocol"]
    # 40 reviews in batches of 8, two epochs: 10 updates; a tenth of them, 1, is warm-up.
    assert (protocol["total_updates"], protocol["warmup_updates"]) == (10, 1)
    # The first update has rate 0, the second the peak, the last 1/9 of it: fairseq's polynomial decay.
    assert protocol["lr_first"] == 0.0
    assert protocol["peak_lr"] == pytest.approx(1e-3)
    assert protocol["lr_last"] == pytest.approx(1e-3 / 9)
    assert protocol["decayed_parameters"] == "every tensor"
    assert protocol["initialisation"]["head_dense"] == "uniform, sd 1/sqrt(3 in)"


def test_history_is_exact_and_one_checkpoint_an_epoch_is_kept(runs):
    rows = read_tsv(runs / "random" / "history.tsv")
    valid = {int(r["epoch"]): r["value"] for r in rows if (r["split"], r["metric"]) == ("valid", "accuracy")}
    correct = {int(r["epoch"]): r["value"] for r in rows if (r["split"], r["metric"]) == ("valid", "n_correct")}
    assert valid.keys() == {1, 2}
    assert all(float(valid[epoch]) == int(correct[epoch]) / 20 for epoch in valid)
    assert sorted(os.listdir(runs / "random" / "checkpoints")) == ["checkpoint1.pt", "checkpoint2.pt"]


def test_predictions_and_curve_agree(runs):
    rows = read_tsv(runs / "random" / "predictions.tsv")
    assert [int(row["id"]) for row in rows] == list(range(20))
    assert [row["label"] for row in rows] == read_lines(runs / "test.label")
    assert all((float(row["probability"]) > 0.5) == (row["prediction"] == "1") for row in rows)
    accuracy = sum(row["label"] == row["prediction"] for row in rows) / 20
    curve = {int(row["epoch"]): float(row["value"]) for row in read_tsv(runs / "random" / "curve.tsv")}
    assert curve[2] == pytest.approx(accuracy, abs=1e-12)


def test_the_training_folder_holds_no_test_reviews(made):
    names = {name for _, _, names in os.walk(made / "train-valid") for name in names}
    assert not [name for name in names if name.startswith("test")]
    assert sha256(made / "train-valid" / "input0" / "dict.txt") == sha256(made / "dict.txt")


@pytest.mark.parametrize(("precision", "tolerance"), [("float32", 1e-5), ("bfloat16", 1e-3)])
def test_from_one_draw_of_weights_both_frameworks_make_the_same_updates(made, precision, tolerance):
    """Without dropout the draw of the head alone tells the pretrained arms apart: given one head, they are one run."""
    settings = FINETUNING | {"epochs": 6, "dropout": 0.0, "clip_norm": 1.0, "weight_decay": 1.0, "precision": precision}
    python(
        made,
        f"""
import os
import torch
import convert_checkpoint, convert_tokenizer, finetune_fairseq, finetune_huggingface, tokenize_reviews

positions = {ARCHITECTURE["max_positions"]}
os.mkdir("same-{precision}")
os.chdir("same-{precision}")
outputs = ("checkpoints", "history.tsv", "run.json", "weights.json", "tensorboard")
fairseq, huggingface = ([f"{{side}}/{{name}}" for name in outputs] for side in ("fairseq", "huggingface"))
os.mkdir("fairseq"), os.mkdir("huggingface")

def keep_head(model, init):
    head = next(iter(model.classification_heads.values()))
    torch.save(head.state_dict(), "head.pt")
    return {{}}

def take_head(model, init):
    model.classifier.load_state_dict(torch.load("head.pt"))
    return {{}}

finetune_fairseq.initialisation, finetune_huggingface.initialisation = keep_head, take_head
finetune_fairseq.main(
    "../train-valid", "../model.pt", "pretrained", 3, {ARCHITECTURE!r}, {settings!r}, *fairseq, 1, "states", 0)
convert_tokenizer.main("../dict.txt", "../spm.model", "tokenizer", positions)
convert_checkpoint.main("../model.pt", "tokenizer", "converted", {ARCHITECTURE!r})
for split in ("train", "valid"):
    tokenize_reviews.main(f"../{{split}}.review", f"../{{split}}.label", "tokenizer", split + ".npz", positions)
finetune_huggingface.main(
    "train.npz", "valid.npz", "converted", "pretrained", 3, {settings!r}, *huggingface, 1, "states", 0)
""",
    )
    theirs, ours = (
        [row for row in read_tsv(made / f"same-{precision}" / side / "history.tsv") if row["metric"] in ("lr", "loss")]
        for side in ("fairseq", "huggingface")
    )
    assert len(theirs) == 6 * 3
    for x, y in zip(theirs, ours, strict=True):
        assert (x | {"value": 0}) == (y | {"value": 0})
        assert float(x["value"]) == pytest.approx(float(y["value"]), abs=tolerance), x
