"""The arithmetic of the benchmarks; they themselves run by `make benchmark`, never in the tests."""

import json
import math
import re
import subprocess
import types

import numpy as np
import pytest
import torch
from tensorboardX import SummaryWriter
from transformers import RobertaForMaskedLM

import benchmark
import denormals
import equivalence
import last_layer
import many_arms
import overhead
import plain_commands
import plain_huggingface
import probe
from checkpoint import pretrain
from common.files import read_json, read_tsv
from finetuning.token_ids import read_token_ids, write_token_ids
from support import studies
from support.roberta import ARCHITECTURE, huggingface_config


def test_an_update_is_the_median_interval_between_logged_points(tmp_path):
    # Points every 10 updates; a validation of 90 s lies between updates 20 and 30.
    times = {10: 100.0, 20: 105.0, 30: 200.0, 40: 205.0, 50: 210.0}
    with SummaryWriter(str(tmp_path / "train")) as writer:
        for step, time in times.items():
            writer.add_scalar("loss", 1.0, step, walltime=time)
    # Intervals an update: 0.5, 9.5, 0.5, 0.5 s.
    assert benchmark.seconds_an_update(tmp_path) == (pytest.approx(0.5), (10, 100.0))


def test_arithmetic_of_an_update(monkeypatch):
    sizes = {"layers": 4, "width": 512, "ffn_width": 512}
    study = types.SimpleNamespace(config={"checkpoint": {"architecture": sizes}})
    # 8 reviews of 100 tokens: 800 tokens, 8 * 100^2 = 80 000 squares.
    monkeypatch.setattr(benchmark, "tokens_an_update", lambda study: (800, 80_000))
    # A layer holds 6 * 512^2 = 1 572 864 weights (PROTOCOL); 6 operations each, 800 tokens, 4 layers: 30.199 GFLOP.
    # Attention: 12 * 80 000 * 512 * 4 = 1.966 GFLOP.
    # Of the last layer nobody reads 6 * 792 tokens * 4 * 512^2 = 4.983, and attention of 12 * 79 200 * 512 = 0.487.
    assert benchmark.gflop_an_update(study) == pytest.approx(30.199 + 1.966 - 4.983 - 0.487, abs=2e-3)


def test_both_last_layers_are_timed_in_turn(monkeypatch, capsys):
    order = []
    update = last_layer.update
    monkeypatch.setattr(last_layer, "LENGTHS", (8, 16))
    monkeypatch.setattr(last_layer, "set_threads", lambda threads: None)
    monkeypatch.setattr(last_layer, "update", lambda model, *rest: order.append(model) or update(model, *rest))
    last_layer.main(["--rounds", "2", "--sizes", "2", "16", "24", "4", "50", "--precision", "float32"])
    whole, first = order[0], order[2]
    # A round that is not counted and two that are, two batches a side.
    assert order == [whole, whole, first, first] * 3
    assert "forward" in vars(first.roberta.encoder.layer[-1]) and "forward" not in vars(whole.roberta.encoder.layer[-1])
    assert re.search(r"ratio \d\.\d\d \(\d\.\d\d to \d\.\d\d in 2 rounds\)", capsys.readouterr().out)


@pytest.mark.slow
def test_small_numbers_cost_time_and_change_no_loss(tiny_study, capsys, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", f"{studies.ROOT}/scripts")
    denormals.main([str(tiny_study / "results" / "tiny"), "--reviews", "16", "--rounds", "1"])
    said = capsys.readouterr().out
    assert re.search(r"ratio \d+\.\d\d \(\d+\.\d\d to \d+\.\d\d in 1 rounds\)", said)
    # One loss, not two.
    assert re.search(r"last loss 0\.\d+; one core", said)


@pytest.mark.slow
def test_only_one_side_takes_small_numbers_as_zero(tiny_study, monkeypatch):
    asked = []
    monkeypatch.setattr(torch, "set_flush_denormal", asked.append)
    for flush in (False, True):
        denormals.updates(str(tiny_study / "results" / "tiny"), 8, flush)
    # First as every training does, then as the side has it.
    assert asked == [True, False, True, True]


@pytest.mark.slow
def test_a_probe_reads_the_layers_of_every_text_but_the_test_sets(tiny_study, capsys):
    results = tiny_study / "results" / "tiny"
    probe.main([str(results)])
    said = capsys.readouterr().out
    read = [read_token_ids(f"{results}/finetuning/token-ids/checkpoint/{split}.npz") for split in ("train", "valid")]
    assert f"model.pt: {sum(len(ids) for ids, _ in read)} texts" in said
    assert re.search(r"layer 1: mean 0\.\d+, first 0\.\d+, attention's entropy \d\.\d\d nats", said)


def test_the_states_of_a_probe_are_those_of_each_text_alone():
    torch.manual_seed(1)
    model = RobertaForMaskedLM(huggingface_config(20)).roberta.eval()
    model.set_attn_implementation("eager")
    texts = [[0, 5, 6, 7, 8, 2], [0, 9, 2], [0, 4, 10, 11, 2]]
    kept, entropy = probe.states(model, texts)
    made = [model(torch.tensor([text]), output_attentions=True, output_hidden_states=True) for text in texts]
    for i, alone in enumerate(made):
        last = alone.hidden_states[-1][0].detach().numpy()
        layer = len(alone.hidden_states) - 1
        assert kept[layer, "first"][i] == pytest.approx(last[0], abs=1e-5)
        assert kept[layer, "mean"][i] == pytest.approx(last.mean(axis=0), abs=1e-5)
    of_first_layer = torch.cat([torch.special.entr(m.attentions[0][0]).sum(-1).mean(0) for m in made])
    assert entropy[0] == pytest.approx(of_first_layer.mean().item(), abs=1e-5)


def test_a_probe_reads_what_a_line_divides_and_nothing_of_noise():
    draws = np.random.default_rng(1)
    features, labels = draws.normal(size=(200, 4)), np.array([0, 1] * 100)
    assert probe.read_off(features, labels) < 0.65
    features[:, 2] += 4 * labels
    assert probe.read_off(features, labels) > 0.95


def test_summary_is_of_medians_and_shows_every_round():
    def costs(*seconds):
        keys = ("seconds", "cpu_seconds", "update_seconds", "startup_seconds", "peak_mb")
        return [dict.fromkeys(keys, value) for value in seconds]

    found = benchmark.summary(costs(10, 20, 12), costs(3, 3, 3))["seconds"]
    assert (found["plain"], found["workflow"], found["ratio"]) == (12, 3, 0.25)
    assert found["ratio_range"] == [0.15, 0.3]


def prepared(training):
    """A `Study` of these hyperparameters, whose commands are asked for and not run."""
    study = plain_commands.Study.__new__(plain_commands.Study)
    study.results, study.plain = "results", "plain"
    training = {**studies.FINETUNING, **training}
    checkpoint = {"architecture": ARCHITECTURE}
    study.config = {"data": {"n_train": 70}, "checkpoint": checkpoint, "finetuning": {"training": training}}
    return study


def test_the_plain_commands_train_with_the_studys_hyperparameters():
    # Values that no framework has by itself, so that a default cannot pass for them.
    chosen = {"lr": 0.123, "weight_decay": 0.321, "dropout": 0.27, "batch_size": 7, "epochs": 9}
    study = prepared({**chosen, "betas": [0.8, 0.7], "eps": 1e-8})
    names = {
        "fairseq": ("--lr", "--weight-decay", "--dropout", "--batch-size", "--max-epoch"),
        "huggingface": ("--lr", "--weight-decay", "--dropout", "--batch-size", "--epochs"),
    }
    for framework, flags in names.items():
        words = study.plain_command(framework, "pretrained", 1, "out")
        found = [float(words[words.index(flag) + 1]) for flag in flags]
        assert found == list(chosen.values())
        assert "0.8, 0.7" in " ".join(words) or "0.8 0.7" in " ".join(words)


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_a_tuned_recipe_is_the_plain_one_and_what_its_framework_offers(monkeypatch, precision):
    monkeypatch.setattr(plain_commands, "resolve_precision", lambda asked: precision)
    study, found = prepared({}), {}
    for framework in ("fairseq", "huggingface"):
        plain = study.plain_command(framework, "pretrained", 1, "out")
        tuned = study.plain_command(f"{framework}-tuned", "pretrained", 1, "out")
        assert tuned[: len(plain)] == plain
        found[framework] = tuned[len(plain) :]
    assert found["fairseq"] == ["--batch-size-valid", "64"]
    assert found["huggingface"] == ["--tuned", "--precision", precision, "--eval-batch-size", "64"]


def test_arithmetic_of_a_pretraining_update():
    sizes = {"layers": 4, "width": 512, "ffn_width": 512}
    settings = {"batch_size": 8, "tokens_per_sample": 256, "mask_prob": 0.25}
    checkpoint = {"architecture": sizes, "pretraining": settings, "sentencepiece": {"vocab_size": 32000}}
    study = types.SimpleNamespace(config={"checkpoint": checkpoint})
    # 2 048 tokens: 6 * 4 * 1 572 864 * 2 048 = 77.309 GFLOP; attention 12 * 2 048 * 256 * 512 * 4 = 12.885;
    # logits of 512 tokens: 6 * 512 * (512^2 + 512 * 32 000) = 51.137.
    assert benchmark.gflop_a_pretraining_update(study) == pytest.approx(77.309 + 12.885 + 51.137, abs=1e-3)


def test_plain_pretraining_has_the_workflows_settings():
    study = prepared({})
    chosen = {"lr": 0.123, "weight_decay": 0.321, "dropout": 0.27, "batch_size": 7, "mask_prob": 0.37, "eps": 1e-7}
    chosen |= {"clip_norm": 0.9, "seed": 3, "updates": 44, "warmup_updates": 11, "tokens_per_sample": 77}
    study.config["checkpoint"]["pretraining"] = {**chosen, "sample_break_mode": "none"}
    plain = study.plain_pretraining("out")
    ours = pretrain.training_arguments("data", "state", ARCHITECTURE, studies.PRETRAINING | chosen, "float32", False)
    flags = ["--lr", "--weight-decay", "--dropout", "--attention-dropout", "--batch-size", "--mask-prob", "--adam-eps"]
    flags += ["--clip-norm", "--seed", "--max-update", "--total-num-update", "--warmup-updates", "--tokens-per-sample"]
    flags += ["--lr-scheduler", "--encoder-layers", "--encoder-embed-dim", "--adam-betas", "--criterion"]
    for flag in flags:
        assert plain[plain.index(flag) + 1] == ours[ours.index(flag) + 1], flag


def test_a_batch_is_padded_to_its_longest_or_to_a_length():
    reviews = [{"input_ids": np.arange(2, 2 + n), "labels": label} for n, label in ((3, 1), (2, 0))]
    batch = plain_huggingface.padded(reviews)
    assert batch["input_ids"].tolist() == [[2, 3, 4], [2, 3, 1]] and batch["labels"].tolist() == [1, 0]
    assert batch["attention_mask"].tolist() == [[1, 1, 1], [1, 1, 0]]
    assert plain_huggingface.padded(reviews, 5)["input_ids"].shape == (2, 5)


def test_the_tuned_recipe_trains(tmp_path, monkeypatch):
    monkeypatch.setenv("TENSORBOARD_LOGGING_DIR", "")  # which the recipe sets
    chosen, lengths = [], []
    init, pad = plain_huggingface.DecayEverywhere.__init__, plain_huggingface.pad_batch
    monkeypatch.setattr(
        plain_huggingface.DecayEverywhere,
        "__init__",
        lambda self, **given: chosen.append(given["args"]) or init(self, **given),
    )
    monkeypatch.setattr(plain_huggingface, "pad_batch", lambda *batch: lengths.append(batch[2]) or pad(*batch))
    RobertaForMaskedLM(huggingface_config(20)).save_pretrained(tmp_path / "checkpoint")
    for split in ("train", "valid", "test"):
        sequences = [[0, *range(4, 4 + n), 2] for n in range(1, 9)]
        write_token_ids(str(tmp_path / f"{split}.npz"), sequences, [0, 1] * 4)
    folders = [str(tmp_path / "checkpoint"), str(tmp_path), str(tmp_path / "out")]
    plain_huggingface.main([*folders, "--random", "--tuned", "--epochs", "2", "--batch-size", "4"])
    found = read_json(tmp_path / "out" / "run.json")
    (args,) = chosen
    assert args.bf16 and args.optim == "adamw_torch_fused" and args.train_sampling_strategy == "group_by_length"
    assert set(lengths) == {None}  # no batch is padded further than to its longest
    assert 0 <= found["test_accuracy"] <= 1
    assert [row["epoch"] for row in found["history"] if "eval_accuracy" in row] == [1, 2]


def test_plain_fairseq_is_read_from_its_log(tmp_path):
    text = (
        "INFO | valid | epoch 001 | valid on 'valid' subset | loss 1 | nll_loss 0.01 | accuracy 62.5 | wps 10\n"
        "INFO | test | epoch 001 | valid on 'test' subset | loss 0.5 | nll_loss 0.01 | accuracy 65.8 | wps 9\n"
    )
    (tmp_path / "log").write_text(text, encoding="utf-8")
    # One bit is ln 2 nats.
    assert equivalence.plain_fairseq(tmp_path) == [
        (1, "valid", "loss", pytest.approx(math.log(2))),
        (1, "valid", "accuracy", 0.625),
        (1, "test", "loss", pytest.approx(math.log(2) / 2)),
        (1, "test", "accuracy", pytest.approx(0.658)),
    ]


def test_the_plain_side_is_tested_at_its_best_validation_epoch_the_earliest_of_equals():
    rows = [(e, "valid", "accuracy", v) for e, v in ((1, 0.5), (2, 0.7), (3, 0.7))]
    rows += [(e, "test", "accuracy", v) for e, v in ((1, 0.4), (2, 0.6), (3, 0.8))]
    assert equivalence.test_accuracy(rows) == 0.6


def test_planning_is_compared_with_snakemake_alone_and_its_aim(monkeypatch, capsys):
    written = []
    monkeypatch.setattr(overhead, "plan", lambda n_seeds: 3.0 * n_seeds)
    monkeypatch.setattr(overhead, "plan_trivial", lambda n_chains: 0.5 * n_chains)
    monkeypatch.setattr(overhead, "install", lambda: 80.0)
    monkeypatch.setattr(overhead, "seconds", lambda command, folder=None: 2.0)
    monkeypatch.setattr(overhead, "write_tsv", lambda path, rows, columns: written.extend(rows))
    overhead.main(["--long", "--install"])
    rows = {row["what"]: row for row in written}
    # 1 000 seeds: 3 000 s; 3 000 chains of three jobs: 1 500 s.
    planned = rows["plan 1000 seeds, 3000 runs"]
    assert (planned["seconds"], planned["snakemake_seconds"], planned["ratio"]) == (3000, 1500, 2)
    assert planned["aim"] == "at most 1.5 x" and rows["plan 3333 seeds, 9999 runs"]["aim"] == "below 60 s"
    assert rows["make test-env, empty caches"]["ratio"] is None
    assert re.search(r"plan 1000 seeds.* 2\.00 x +at most 1\.5 x", capsys.readouterr().out)


def test_the_trivial_workflow_has_three_jobs_a_chain(monkeypatch, tmp_path):
    printed = []

    def dry_run(command, folder):
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
        printed.append(done.stdout + done.stderr)
        return 1.0

    monkeypatch.setattr(overhead, "seconds", dry_run)
    assert overhead.plan_trivial(4) == 1.0
    # 3 * 4 and `all`.
    assert re.search(r"^total +13$", printed[0], re.MULTILINE), printed


def test_equivalence_needs_both_sides_within_the_margin():
    plain = [0.700, 0.702, 0.704, 0.706, 0.708]
    near = equivalence.compare(plain, [value + 0.002 for value in plain])
    far = equivalence.compare(plain, [value + 0.02 for value in plain])
    assert near["equivalent"] and not far["equivalent"]
    assert near["difference"] == pytest.approx(0.002)
    # Five values 0.002 apart: variance 1e-5, so se = sqrt(2 * 1e-5 / 5) = 0.002; t(0.95, 8) = 1.8595.
    assert near["interval_90"] == pytest.approx([0.002 - 1.8595 * 0.002, 0.002 + 1.8595 * 0.002], abs=1e-6)
    # The interval and the test agree: inside the margin exactly where p < 0.05.
    for found in (near, far):
        low, high = found["interval_90"]
        assert found["equivalent"] == (-found["margin"] < low and high < found["margin"])


def test_every_comparison_of_many_arms_is_run_on_generated_records(tmp_path, capsys):
    many_arms.write_study(tmp_path, 3, 2, 40)
    for script in many_arms.SCRIPTS:
        many_arms.measure(script, tmp_path)
    told = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [set(one) for one in told] == [{"seconds", "processor", "megabytes"}] * len(many_arms.SCRIPTS)
    rows = {
        table: len(read_tsv(tmp_path / table))
        for table in (
            "compute_statistics/pairs.tsv",
            "compare_measures/pairs.tsv",
            "compare_baselines/against.tsv",
            "answer_questions/questions.tsv",
        )
    }
    # Three pairs of arms, by four measures; three arms against two simple models; two pairs of neighbours.
    assert list(rows.values()) == [3, 12, 6, 2]
