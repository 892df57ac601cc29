"""Pieces and pretraining: the vocabulary's size, the recorded losses, a killed pretraining, first positions."""

import math
import os
import shutil
from types import SimpleNamespace

import numpy
import pytest
import torch

from checkpoint import pretrain as pretraining
from checkpoint import train_sentencepiece
from common.errors import StudyError
from common.files import read_lines, read_tsv, sha256
from support.killed_runs import run_forked
from support.reviews import ARCHITECTURE, learn_pieces, write_reviews
from support.studies import PRETRAINING
from training.fairseq_checkpoint import load_fairseq_checkpoint
from training.fairseq_commands import import_fairseq

# PRETRAINING: 100 texts in batches of 40: three updates an epoch, so that the state of update 4 lies within the second,
# whose masks are others.
KEEP = (2, 4, 8)
# As the start of sine waves is to be read off: no update moves it.
WAVES = PRETRAINING | {"updates": 2, "warmup_updates": 1, "lr": 1e-12, "weight_decay": 0.0, "init_sd": 0.05}
WAVES |= {"position_init": "sinusoidal"}


# Blocks of 8 tokens for four updates of eight.
SHORT = PRETRAINING | {
    "sample_break_mode": "none",
    "batch_size": 4,
    "short_blocks": {"updates": 4, "tokens_per_sample": 8},
}


def pretrain(name, settings=PRETRAINING, kill=None, keep=(), vectors=None):
    outputs = {
        "model": f"{name}/model.pt",
        "history": f"{name}/history.tsv",
        "tensorboard": f"{name}/tensorboard",
        "states": f"{name}/states",
    }
    arguments = {"data": "corpus", "architecture": ARCHITECTURE, "pretraining": settings, "threads": 1} | outputs
    if vectors:
        arguments |= {"vectors": vectors}
    if keep:
        arguments |= {"keep": list(keep), "kept": [f"{name}/kept/update{update}/model.pt" for update in keep]}
    return {"name": name, "script": "checkpoint.pretrain", "arguments": arguments, "kill": kill}


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Pieces, and pretrainings in a folder each; `again` and `muon-again` were killed once."""
    folder = tmp_path_factory.mktemp("pretrain")
    write_reviews(folder)
    files = {"train": "train.txt", "valid": "valid.txt", "model": "spm.model", "dictionary": "dict.txt"}
    corpus = {
        "script": "checkpoint.binarize_corpus",
        "arguments": {**files, "folder": "corpus", "limit": 30, "threads": 1},
    }
    # Killed before its sixth update: the state of the fourth lies within the second epoch.
    killed = pretrain("again", kill={"before_step": 6})
    runs = [corpus | {"name": "corpus"}, pretrain("whole"), killed, pretrain("again"), pretrain("waves", WAVES)]
    # Killed when the state of the last update is saved, and nothing made of it.
    runs += [pretrain("last", kill={"after": "checkpoint.pretrain:train"}), pretrain("last")]
    muon = PRETRAINING | {"muon_lr": 0.2}
    runs += [pretrain("muon", muon), pretrain("muon-again", muon, {"before_step": 6}), pretrain("muon-again", muon)]
    runs += [pretrain("kept", keep=KEEP), pretrain("kept-again", kill={"before_step": 6}, keep=KEEP)]
    runs += [pretrain("kept-again", keep=KEEP)]
    # Killed in the short blocks, between the two, and in the long ones.
    runs += [pretrain("short", SHORT, keep=KEEP)]
    kills = {"short-3": {"before_step": 4}, "short-4": {"in_save": 3}, "short-7": {"before_step": 8}}
    runs += [
        run
        for name, kill in kills.items()
        for run in (pretrain(name, SHORT, kill, KEEP), pretrain(name, SHORT, keep=KEEP))
    ]
    first = PRETRAINING | {"first_token_weight": 1.0}
    runs += [pretrain("first", first), pretrain("first-again", first, {"before_step": 6})]
    runs += [pretrain("first-again", first)]
    # First vectors for pieces 10 to 299 of a dictionary without <mask>; then for the killed run of others.
    for file, value in (("vectors.npy", 1), ("others.npy", -1)):
        vectors = numpy.zeros((299, 32), dtype=numpy.float32)
        vectors[10:, 3] = value
        numpy.save(folder / file, vectors)
    runs += [pretrain("vectors", WAVES, vectors="vectors.npy"), pretrain("vectors-8", vectors="vectors.npy")]
    for file, kill in (("vectors.npy", {"before_step": 6}), ("vectors.npy", None)):
        runs += [pretrain("vectors-6", kill=kill, vectors=file)]
    for file, kill in (("others.npy", {"before_step": 6}), ("vectors.npy", None)):
        runs += [pretrain("vectors-other", kill=kill, vectors=file)]
    # Killed while it kept nothing.
    runs += [pretrain("late", kill={"before_step": 6}), pretrain("late", keep=KEEP)]
    run_forked(folder, runs)
    return folder


def table(path, name):
    return load_fairseq_checkpoint(str(path))["model"][f"encoder.sentence_encoder.{name}.weight"]


class Keyed(Exception):
    """A pretraining that has come to its key."""


def key_of(monkeypatch, folder, device, threads):
    """The key under which a pretraining would keep its states."""

    def stop(root, key):
        raise Keyed(key)

    monkeypatch.setattr(pretraining, "state_folder", stop)
    monkeypatch.setattr(pretraining, "choose_device", lambda: device)
    monkeypatch.setattr(pretraining, "set_threads", lambda threads: None)
    monkeypatch.setattr(pretraining, "code_hash", lambda *objects: [each.__name__ for each in objects])
    outputs = [str(folder / name) for name in ("model.pt", "history.tsv", "tensorboard")]
    with pytest.raises(Keyed) as caught:
        pretraining.main(str(folder), *outputs, ARCHITECTURE, PRETRAINING, str(folder / "states"), threads)
    return caught.value.args[0]


def test_a_state_is_resumed_with_the_same_threads_on_the_same_device_only(monkeypatch, tmp_path):
    for name in ("train.bin", ".snakemake_timestamp"):
        (tmp_path / name).touch()
    keys = [key_of(monkeypatch, tmp_path, *of) for of in (("cpu", 1), ("cpu", 2), ("cuda", 1), ("cpu", 1))]
    assert keys[0] == keys[3] and keys[0] not in keys[1:3] and keys[1] != keys[2]
    assert list(keys[0]["data"]) == ["train.bin"]
    # These numbers also follow from this, beside the other code.
    assert "flush_denormals" in keys[0]["code"]


def test_the_embedding_table_has_the_configured_rows(made):
    # <s> <pad> </s> <unk>, 295 pieces, <mask>: 300.
    lines = read_lines(made / "dict.txt")
    assert len(lines) == 295 and all(line.endswith(" 1") for line in lines)
    assert not {"<s>", "</s>", "<unk>"} & {line.split(" ")[0] for line in lines}
    assert table(made / "whole" / "model.pt", "embed_tokens").shape == torch.Size([300, 32])
    # Padding index 1 shifts the positions by 2.
    assert table(made / "whole" / "model.pt", "embed_positions").shape == torch.Size([66, 32])


def test_the_same_corpus_gives_the_same_piece_model_wherever_it_lies(made, tmp_path):
    shutil.copy(made / "train.txt", tmp_path / "corpus.txt")
    learn_pieces(tmp_path / "corpus.txt", tmp_path / "spm.model", tmp_path / "dict.txt")
    assert sha256(tmp_path / "spm.model") == sha256(made / "spm.model")


def test_a_sample_of_a_long_corpus_is_the_same_one_each_time(made, tmp_path, monkeypatch):
    monkeypatch.setattr(train_sentencepiece, "SENTENCES", 60)
    for name in ("a", "b"):
        learn_pieces(made / "train.txt", tmp_path / f"{name}.model", tmp_path / f"{name}.txt")
    assert sha256(tmp_path / "a.model") == sha256(tmp_path / "b.model") != sha256(made / "spm.model")
    taken = train_sentencepiece.sample(made / "train.txt", 60)
    assert len(taken) == 60 and max(taken) < len(read_lines(made / "train.txt")) == 100


def test_a_vocabulary_too_large_for_the_corpus_names_its_key(made, tmp_path):
    with pytest.raises(StudyError, match="checkpoint.sentencepiece.vocab_size: 50000"):
        learn_pieces(made / "train.txt", tmp_path / "m", tmp_path / "d", rows=50000)
    assert os.listdir(tmp_path) == []


def test_pretraining_records_loss_in_nats_at_each_interval(made):
    rows = read_tsv(made / "whole" / "history.tsv")
    assert [int(row["update"]) for row in rows if row["split"] == "valid"] == [2, 4, 6, 8]
    # A fresh model knows nothing: close to ln 300 = 5.7 nats a predicted token.
    assert 5.0 < float(rows[0]["loss"]) < 6.5
    assert not (made / "whole" / "states").exists()


def test_a_killed_pretraining_goes_on_and_ends_with_the_same_weights(made):
    assert "going on after update 4" in (made / "again.log").read_text()
    for name in ("model.pt", "history.tsv"):
        assert (made / "again" / name).read_bytes() == (made / "whole" / name).read_bytes()


def test_a_pretraining_whose_last_state_is_saved_trains_no_more(made):
    """fairseq would make one more update before it looks at --max-update, and another at every further start."""
    for name in ("model.pt", "history.tsv"):
        assert (made / "last" / name).read_bytes() == (made / "whole" / name).read_bytes()


@pytest.mark.parametrize("name", ["kept", "kept-again", "late"])
def test_weights_that_are_kept_change_nothing_of_the_training(made, name):
    for file in ("model.pt", "history.tsv"):
        assert (made / name / file).read_bytes() == (made / "whole" / file).read_bytes()
    assert not (made / name / "states").exists()
    for update in KEEP:
        kept = f"kept/update{update}/model.pt"
        assert (made / name / kept).read_bytes() == (made / "kept" / kept).read_bytes()


def test_what_is_kept_are_the_weights_of_that_update(made):
    assert "going on after update 4" in (made / "kept-again.log").read_text()
    # The state of a pretraining that kept nothing does not serve: what it passed by is gone.
    assert "going on" not in (made / "late.log").read_text()
    weights = {n: table(made / "kept" / "kept" / f"update{n}" / "model.pt", "embed_tokens") for n in KEEP}
    assert len({w.numpy().tobytes() for w in weights.values()}) == 3
    # The last update's are those of the pretraining itself.
    assert (made / "kept/kept/update8/model.pt").read_bytes() == (made / "kept/model.pt").read_bytes()


def test_positions_may_start_as_sine_waves(made):
    positions = table(made / "waves" / "model.pt", "embed_positions")
    assert (positions[1] == 0).all()  # padding
    for row, i in ((2, 0), (17, 3), (65, 15)):
        angle = row * 10000 ** (-i / 15)  # 32 columns: 16 sines, then 16 cosines, of rates 1 to 1/10000
        for column, wave in ((i, math.sin(angle)), (16 + i, math.cos(angle))):
            assert float(positions[row, column]) == pytest.approx(0.05 * 2**0.5 * wave, abs=1e-5)


def test_word_vectors_may_start_from_a_file(made):
    given, drawn = (table(made / name / "model.pt", "embed_tokens") for name in ("vectors", "waves"))
    for rows in (slice(0, 10), slice(299, 300)):
        torch.testing.assert_close(given[rows], drawn[rows], rtol=0, atol=1e-9)
    # The length is the average of drawn ones: 0.05 in each of 32 columns.
    expected = torch.zeros(289, 32)
    expected[:, 3] = 0.05 * 32**0.5
    torch.testing.assert_close(given[10:299], expected, rtol=0, atol=1e-6)
    assert drawn[10:299].norm(dim=1).mean() == pytest.approx(0.05 * 32**0.5, rel=0.05)


def test_a_killed_pretraining_goes_on_from_no_other_vectors(made):
    assert "going on after update 4" in (made / "vectors-6.log").read_text()
    assert "going on" not in (made / "vectors-other.log").read_text()
    for name in ("vectors-6", "vectors-other"):
        for file in ("model.pt", "history.tsv"):
            assert (made / name / file).read_bytes() == (made / "vectors-8" / file).read_bytes()
    assert (made / "vectors-8/model.pt").read_bytes() != (made / "whole/model.pt").read_bytes()


def test_muon_moves_the_matrices_of_the_layers_and_leaves_the_rest_to_adamw(made):
    muon, plain = (load_fairseq_checkpoint(str(made / name / "model.pt"))["model"] for name in ("muon", "whole"))
    said = (made / "muon.log").read_text()
    assert "--optimizer muon_adamw" in said and "--muon-lr 0.2" in said
    # Muon moves every direction of a matrix by its rate, 200 times AdamW's here.
    name = "encoder.sentence_encoder.layers.0.fc1.weight"
    assert muon[name].norm() > 2 * plain[name].norm()


def test_a_killed_pretraining_with_muon_goes_on_and_ends_with_the_same_weights(made):
    assert "going on after update 4" in (made / "muon-again.log").read_text()
    for name in ("model.pt", "history.tsv"):
        assert (made / "muon-again" / name).read_bytes() == (made / "muon" / name).read_bytes()


def test_a_pretraining_whose_first_tokens_predict_goes_on_and_records_the_same_kind_of_loss(made):
    assert "going on after update 4" in (made / "first-again.log").read_text()
    for name in ("model.pt", "history.tsv"):
        assert (made / "first-again" / name).read_bytes() == (made / "first" / name).read_bytes()
    said = (made / "first.log").read_text()
    assert "--criterion masked_lm_and_first_token " in said and "--first-token-weight 1.0 " in said
    # Two updates move little: the losses of masked language modelling are near each other, their sum twice that.
    with_it, without = (float(read_tsv(made / name / "history.tsv")[0]["loss"]) for name in ("first", "whole"))
    assert with_it == pytest.approx(without, rel=0.05)


def test_each_optimizer_steps_as_it_does_alone():
    import_fairseq()
    from training.fairseq_plugin.optimizer import MuonAdamW, MuonAdamWConfig

    torch.manual_seed(1)
    values = [torch.randn(4, 3), torch.randn(5, 3), torch.randn(4)]  # matrix, embedding, bias
    mine = [torch.nn.Parameter(value.clone()) for value in values]
    alone = [torch.nn.Parameter(value.clone()) for value in values]
    mine[0].hidden_matrix = True
    both = MuonAdamW(MuonAdamWConfig(lr=[0.1], muon_lr=0.5, weight_decay=0.01), iter(mine))
    muon = torch.optim.Muon(alone[:1], lr=0.5, weight_decay=0.01)
    adamw = torch.optim.AdamW(alone[1:], lr=0.1, betas=(0.9, 0.98), eps=1e-8, weight_decay=0.01, fused=True)
    for rate in (0.1, 0.05):
        # Muon's rate stays five times AdamW's.
        both.set_lr(rate)
        muon.param_groups[0]["lr"], adamw.param_groups[0]["lr"] = 5 * rate, rate
        for one, other in zip(mine, alone, strict=True):
            one.grad = torch.randn(one.shape)
            other.grad = one.grad.clone()
        both.step()
        muon.step()
        adamw.step()
        assert both.get_lr() == rate
    assert all(torch.equal(one, other) for one, other in zip(mine, alone, strict=True))
    assert list(both.params) == [mine[1], mine[2], mine[0]]
    both.zero_grad()
    assert all(parameter.grad is None for parameter in mine)


def test_short_blocks_come_first_and_the_same_number_of_tokens(made):
    said = (made / "short.log").read_text()
    first, second = (line for line in said.splitlines() if line.startswith("fairseq-train "))
    assert "--tokens-per-sample 8 " in first and "--batch-size 16 " in first and "--max-update 4 " in first
    assert "--tokens-per-sample 32 " in second and "--batch-size 4 " in second and "--max-update 8 " in second
    assert "--places 25 --spread 2 " in first and "--places 1 --spread 1 " in second
    assert "--total-num-update 8 " in first and "--total-num-update 8 " in second
    assert "--reset-dataloader" in second and "--reset-dataloader" not in first
    rows = read_tsv(made / "short" / "history.tsv")
    assert [row["update"] for row in rows if row["split"] == "valid"] == ["2", "4", "6", "8"]
    # The rate goes on falling: warm-up of 2, then linearly to 0 after 8.
    rates = {int(row["update"]): float(row["lr"]) for row in rows}
    assert [rates[update] for update in (4, 6)] == pytest.approx([1e-3 * (8 - n) / 6 for n in (3, 5)])


def test_short_blocks_train_every_position_of_the_long_ones(made):
    # Blocks of 8 at the first positions would leave 24 of 32 where they began; decay alone moves no value by 1e-5.
    early, late = (table(made / "short" / f"kept/update{update}" / "model.pt", "embed_positions") for update in (2, 4))
    moved = (late - early).abs().amax(dim=1) > 1e-5
    # Two rows stand before the first position: an unused one, and padding's.
    assert moved[2:34].all() and not moved[:2].any() and not moved[34:].any()


def test_places_open_slowly_at_first_and_none_in_scoring():
    import_fairseq()
    from training.fairseq_plugin import tasks

    rows = torch.nn.Embedding(34, 4, padding_idx=1)
    tokens = torch.full((400, 8), 5)
    tokens[0, 6:] = 1  # padding stays padding
    stock = rows(torch.arange(2, 10).expand(400, -1))

    def starts(made):
        task = SimpleNamespace(made=made, cfg=SimpleNamespace(places=25, spread=100))
        moved = tasks.ReviewMaskedLM._move(task, rows, (tokens,), stock)
        assert torch.equal(moved[0, 6:], rows.weight[[1, 1]])
        first = [int((rows.weight == moved[i, 0]).all(dim=1).nonzero()) - 2 for i in range(1, 400)]
        expected = rows(torch.arange(2, 10) + torch.tensor(first)[:, None])
        assert torch.equal(moved[1:], expected)
        return set(first)

    # A quarter of the 24 places besides the first is open after half of the updates, all at their end and after it.
    opened = {made: starts(made) for made in (0, 50, 100, 500)}
    assert opened == {0: {0}, 50: set(range(7)), 100: set(range(25)), 500: set(range(25))}
    assert tasks.ReviewMaskedLM._move(None, rows.eval(), (tokens,), stock) is stock


@pytest.mark.parametrize("name", ["short-3", "short-4", "short-7"])
def test_a_pretraining_killed_in_either_part_ends_with_the_same_weights(made, name):
    assert "going on after update" in (made / f"{name}.log").read_text()
    for file in ("model.pt", "history.tsv", *(f"kept/update{update}/model.pt" for update in KEEP)):
        assert (made / name / file).read_bytes() == (made / "short" / file).read_bytes()


@pytest.mark.parametrize("shape", [(6, 6), (8, 3), (3, 8)])
def test_muon_in_float32_makes_the_step_of_bfloat16_more_exactly(shape):
    import_fairseq()
    from training.fairseq_plugin.optimizer import Muon

    torch.manual_seed(2)
    grad = torch.randn(shape)
    steps = {}
    for precision in ("float32", "bfloat16"):
        matrix = torch.nn.Parameter(torch.zeros(shape))
        matrix.grad = grad.clone()
        Muon([matrix], precision, lr=1.0, weight_decay=0.0).step()
        steps[precision] = -matrix.detach() / max(1, shape[0] / shape[1]) ** 0.5
    # The iteration brings singular values near 1 (Jordan et al.: 0.7 to 1.2) and turns no direction.
    u, _, v = torch.linalg.svd(grad, full_matrices=False)
    inner = u.T @ steps["float32"] @ v.T
    assert torch.dist(inner, inner.diag().diag()) < 1e-4
    assert ((inner.diag() > 0.6) & (inner.diag() < 1.3)).all()
    assert 1e-5 < torch.dist(steps["float32"], steps["bfloat16"]) < 0.2
