"""The tiny base, the loss, the loop with its resume, evaluation and tables."""

import json
import math
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas
import pytest
import torch
from safetensors.torch import load_file

from common.errors import StudyError
from common.files import read_json, read_lines, read_tsv
from qa import (
    aggregate_qa,
    build_qa_base_model,
    evaluate_qa,
    export_adapter,
    finetune_lora,
    plot_qa_loss,
    plot_rank_sweep,
    sweep_lora_ranks,
    tabulate_rank_sweep,
    tabulate_variations,
    tuning,
    vary_lora,
)
from qa.answer_trainer import microbatches
from qa.causal_lm import as_tensors, encoder, load_base, load_tokenizer, score, token_nats
from qa.qa_arms import variations
from qa.question_pairs import encode_pair, prompt
from support.qa_support import GENERATION, LORA, PAIRS, PROMPT, SAVE_EVERY, TRAINING, make_base, texts, write_pairs
from support.studies import importing

ROOT = Path(__file__).parents[3]
CPU = torch.device("cpu")


@pytest.fixture(scope="module")
def base(tmp_path_factory):
    folder = str(tmp_path_factory.mktemp("base") / "base")
    rows = make_base(folder, updates=40)
    assert rows[-1]["loss"] < 0.7 * rows[0]["loss"]
    return folder


@pytest.fixture(scope="module")
def pairs(tmp_path_factory):
    return write_pairs(str(tmp_path_factory.mktemp("pairs")))


def run(folder, base, pairs, seed=1, lora=LORA, arm="rank4", template=PROMPT, save_every=SAVE_EVERY, **changes):
    """Train one run in `folder`; return the paths of loss.tsv, adapter and run.json."""
    loss, adapter, curves, record = (str(folder / name) for name in ("loss.tsv", "adapter", "tensorboard", "run.json"))
    outputs, training = (loss, adapter, curves, record), {**TRAINING, **changes}
    settings = (arm, seed, lora, training, template, save_every)
    finetune_lora.main(*pairs[:2], base, *outputs, str(folder / "states"), *settings)
    return [loss, adapter, record]


def losses(path, split, column="loss"):
    return [float(row[column]) for row in read_tsv(path) if row["split"] == split]


def examples(base, **changes):
    tokenizer, end = load_tokenizer(base)
    settings = {"loss_on": "answer", "learn_end_of_text": True, "max_tokens": 96, **changes}
    return [
        encode_pair(encoder(tokenizer), PROMPT, p["question"], p["answer"], end, **settings) for p in PAIRS[:5]
    ], end


# ---------------------------------------------------------------- base model


def test_the_tokenizer_returns_every_text(base):
    from tokenizers import Tokenizer

    tokenizer, end = load_tokenizer(base)
    own = Tokenizer.from_file(os.path.join(base, "tokenizer.json"))
    for text in ("Où est ma commande ? 12 €", "  deux  blancs\n", "œuvre — 🙂", prompt(PROMPT, "a", "b")):
        ids = encoder(tokenizer)(text)
        assert tokenizer.decode(ids) == text
        assert own.encode(text).ids == ids
    assert tokenizer.convert_tokens_to_ids("</s>") == end == 2


def test_prompt_and_answer_encoded_apart_are_the_whole(base):
    tokenizer, _ = load_tokenizer(base)
    for pair in PAIRS:
        apart = encode_pair(encoder(tokenizer), PROMPT, pair["question"], pair["answer"], 2, "all", False, 500)[
            "input_ids"
        ]
        assert apart == encoder(tokenizer)(prompt(PROMPT, pair["question"], pair["answer"]))


def test_the_base_is_a_bloom_in_safetensors(base):
    model = load_base(base, "none", True, "float32", CPU)
    assert type(model).__name__ == "BloomForCausalLM" and not model.training
    assert {"config.json", "model.safetensors", "tokenizer.json"} <= set(os.listdir(base))


@pytest.mark.parametrize("source", ["hub", "folder"])
def test_a_base_from_files_is_the_same_model(tmp_path, base, source):
    files = [os.path.join(base, name) for name in sorted(os.listdir(base))] if source == "hub" else [base]
    build_qa_base_model.main(source, files, str(tmp_path / "copy"), str(tmp_path / "pretraining.tsv"), None, PROMPT)
    for name in ("config.json", "model.safetensors", "tokenizer.json"):
        assert (tmp_path / "copy" / name).read_bytes() == Path(base, name).read_bytes()


def test_a_base_folder_without_weights_is_told(tmp_path, base):
    (tmp_path / "config.json").write_text('{"model_type": "bloom"}')
    with pytest.raises(StudyError, match="has no weights: model.safetensors is missing"):
        build_qa_base_model.main(
            "folder", [str(tmp_path)], str(tmp_path / "out"), str(tmp_path / "log.tsv"), None, PROMPT
        )
    files = [os.path.join(base, "config.json"), os.path.join(base, "tokenizer.json")]
    with pytest.raises(StudyError, match=f"folder {tmp_path}/out has no weights"):
        build_qa_base_model.main("hub", files, str(tmp_path / "out"), str(tmp_path / "log.tsv"), None, PROMPT)
    assert not (tmp_path / "out").exists()
    with pytest.raises(StudyError, match="qa.base.folder: None is no folder"):
        build_qa_base_model.main("folder", [], str(tmp_path / "out"), str(tmp_path / "log.tsv"), None, PROMPT)


def test_weights_that_do_not_fit_are_told(tmp_path, base):
    for name in os.listdir(base):
        (tmp_path / name).write_bytes(Path(base, name).read_bytes())
    config = read_json(os.path.join(base, "config.json"))
    (tmp_path / "config.json").write_text(json.dumps({**config, "n_layer": 3}))
    with pytest.raises(StudyError, match="the weights do not fit config.json: .*h.2"):
        load_base(str(tmp_path), "none", True, "float32", CPU)


def test_the_base_reads_the_files_and_then_the_tables_in_their_order(tmp_path):
    tables = tmp_path / "corpus-tables"
    tables.mkdir()
    for number in (2, 10, 1):
        (tables / f"{number}.txt").write_text(f"text of table {number}\nanother of {number}\n", encoding="utf-8")
    (tmp_path / "novel.txt").write_text("a novel\n\n", encoding="utf-8")
    found = build_qa_base_model.embedded_texts(0, 1, [str(tmp_path / "novel.txt")], str(tables))
    order = [text for number in (1, 2, 10) for text in (f"text of table {number}", f"another of {number}")]
    assert found == ["a novel", *order]


def test_dialogues_pair_neighbours():
    assert build_qa_base_model.in_dialogue(["a", "b", "c"], 0, 1, PROMPT) == ["a", "b", "c"]
    expected = [prompt(PROMPT, *two) for two in ("ab", "bc", "ca")]
    assert build_qa_base_model.in_dialogue(["a", "b", "c"], 1, 1, PROMPT) == expected
    half = build_qa_base_model.in_dialogue(texts(), 0.5, 1, PROMPT)
    assert half == build_qa_base_model.in_dialogue(texts(), 0.5, 1, PROMPT)
    assert 0.3 < sum(text.startswith("<human>") for text in half) / len(half) < 0.7


def test_settings_of_the_base_are_told():
    with pytest.raises(StudyError, match="vocab_size: 200 is below the 260"):
        build_qa_base_model.train_tokenizer(texts(), 200)
    tokenizer = build_qa_base_model.train_tokenizer(texts(), 300)
    with pytest.raises(StudyError, match="less than one block of 100000"):
        build_qa_base_model.blocks(tokenizer, texts(), 100000)
    with pytest.raises(StudyError, match="width 30 must be a multiple of heads 4"):
        build_qa_base_model.new_model(300, {"layers": 1, "width": 30, "heads": 4}, seed=1)


# ---------------------------------------------------------------- loss


def test_the_loss_is_transformers_own(base):
    found, end = examples(base, loss_on="all")
    model = load_base(base, "none", True, "float32", CPU)
    batch = as_tensors(found, end, CPU)
    nats, learnt, _ = token_nats(model, batch)
    with torch.no_grad():
        keys = ("input_ids", "attention_mask", "labels")
        theirs = model(**{key: batch[key] for key in keys}).loss.item()
    assert nats[learnt].mean().item() == pytest.approx(theirs, rel=1e-5)
    assert score(model, found, end, CPU, 2)["objective"] == pytest.approx(theirs, rel=1e-5)


def test_scores_do_not_depend_on_padding_and_part_the_end_of_text(base):
    found, end = examples(base)
    model = load_base(base, "none", True, "float32", CPU)
    alone, together = score(model, found, end, CPU, 1), score(model, found, end, CPU, 5)
    answers, one_by_one = np.array(together.pop("answers")), np.array(alone.pop("answers"))
    assert one_by_one == pytest.approx(answers, rel=1e-5)
    assert alone == pytest.approx(together, rel=1e-5)
    # objective = (answer nats + end-of-text nats) / (answer tokens + 5 ends)
    n = together["n_tokens"]
    expected = (together["loss"] * n + together["end_of_text"] * 5) / (n + 5)
    assert together["objective"] == pytest.approx(expected, rel=1e-6)
    without = score(model, examples(base, learn_end_of_text=False)[0], end, CPU, 5)
    assert without["end_of_text"] is None
    assert without["loss"] == pytest.approx(together["loss"], rel=1e-5) == without["objective"]
    whole = score(model, examples(base, loss_on="all")[0], end, CPU, 5)
    assert whole["loss"] == pytest.approx(together["loss"], rel=1e-5)
    assert whole["end_of_text"] == pytest.approx(together["end_of_text"], rel=1e-5)


# ---------------------------------------------------------------- training


@pytest.mark.parametrize("warmup_ratio, warmup", [(0.0, 0), (0.05, 1), (0.3, 3)])
def test_the_rate_warms_up_and_then_falls_as_a_cosine(tmp_path, base, pairs, warmup_ratio, warmup):
    """p · n / w before the warm-up's end, then p · (1 + cos(π (n - w) / (u - w))) / 2; n counts the updates done."""
    loss, _, record = run(tmp_path, base, pairs, updates=10, warmup_ratio=warmup_ratio, lr=1e-3)
    falling = [(1 + math.cos(math.pi * (n - warmup) / (10 - warmup))) / 2 for n in range(warmup, 10)]
    expected = [1e-3 * factor for factor in [n / max(1, warmup) for n in range(warmup)] + falling]
    assert losses(loss, "train", "lr") == pytest.approx(expected, rel=1e-12, abs=1e-18)
    assert read_json(record)["warmup_updates"] == warmup


def test_every_pair_comes_once_an_epoch():
    stream = microbatches(5, 2, seed=1)
    epochs = [[next(stream) for _ in range(3)] for _ in range(3)]
    assert [[len(batch) for batch in epoch] for epoch in epochs] == [[2, 2, 1]] * 3
    flat = [[i for batch in epoch for i in batch] for epoch in epochs]
    assert [sorted(epoch) for epoch in flat] == [[0, 1, 2, 3, 4]] * 3
    assert flat[0] != flat[1]


def test_training_lowers_both_losses_and_says_how(tmp_path, base, pairs):
    loss, adapter, record = run(tmp_path, base, pairs, updates=30, evaluate_every=10)
    heldout, train = losses(loss, "heldout"), losses(loss, "train")
    assert len(train) == 30 and len(heldout) == 4
    assert heldout[-1] < heldout[0] - 0.1 and sum(train[-5:]) < sum(train[:5])
    record = read_json(record)
    # 2 layers, A 4 × 32 and B 96 × 4
    assert record["trainable_params"] == 2 * 4 * (32 + 96)
    assert record["optimizer"] == "torch.optim.AdamW(fused=True)"
    assert (record["n_train"], record["n_heldout"], record["warmup_updates"]) == (18, 6, 3)
    # Without peft's own card, which says "[More Information Needed]" throughout.
    assert set(os.listdir(adapter)) == {"adapter_config.json", "adapter_model.safetensors"}
    assert not (tmp_path / "states").exists()
    # 1024 trainable float32 weights, their gradients and AdamW's two averages: 4 · 4 · 1024 bytes.
    assert record["training_bytes"] == 4 * 4 * 1024
    assert 0 < record["update_seconds"] < record["seconds"]


def test_an_update_is_adamw_on_the_mean_over_all_its_learnt_tokens(tmp_path, base, pairs):
    """The same weights and losses from a loop of torch's own parts, across an epoch's end and a short batch."""
    changes = {"updates": 5, "batch_size": 5, "accumulation": 3, "clip_norm": 0.05, "weight_decay": 0.1}
    lora = LORA | {"lora_dropout": 0.0}
    loss, adapter, _ = run(tmp_path, base, pairs, lora=lora, warmup_ratio=0.0, **changes)
    tokenizer, end = load_tokenizer(base)
    found = [json.loads(line) for line in read_lines(pairs[0])]
    found = tuning.encode_pairs(found, tokenizer, end, PROMPT, TRAINING)
    model = tuning.adapted_model(base, 1, lora, TRAINING, "float32", CPU).train()
    weights = list(tuning.trainable(model).values())
    optimizer = torch.optim.AdamW(weights, lr=TRAINING["lr"], weight_decay=0.1)
    stream, rows = microbatches(len(found), 5, seed=1), []
    for n in range(5):
        taken = [as_tensors([found[i] for i in next(stream)], end, CPU) for _ in range(3)]
        costs = [token_nats(model, batch) for batch in taken]
        learnt = torch.cat([nats[mask] for nats, mask, _ in costs])
        answer = torch.cat([nats[mask] for nats, _, mask in costs])
        rows.append((learnt.mean().item(), answer.mean().item(), len(answer)))
        optimizer.zero_grad()
        learnt.mean().backward()
        torch.nn.utils.clip_grad_norm_(weights, 0.05)
        optimizer.param_groups[0]["lr"] = TRAINING["lr"] * (1 + math.cos(math.pi * n / 5)) / 2
        optimizer.step()
    expected = [list(column) for column in zip(*rows, strict=True)]
    for column, values in zip(("objective", "loss", "n_tokens"), expected, strict=True):
        assert losses(loss, "train", column) == pytest.approx(values, rel=1e-4)
    written = load_file(os.path.join(adapter, "adapter_model.safetensors"))
    ended = {name.replace(".default", ""): weight.detach() for name, weight in tuning.trainable(model).items()}
    assert written.keys() == ended.keys()
    for name, weight in written.items():
        assert torch.allclose(weight, ended[name], rtol=1e-3, atol=1e-5), name


def test_tensorboard_holds_the_curves_of_the_table(tmp_path, base, pairs):
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    loss, *_ = run(tmp_path, base, pairs)
    events = EventAccumulator(str(tmp_path / "tensorboard")).Reload()
    rows = read_tsv(loss)
    assert set(events.Tags()["scalars"]) == {"train/loss", "heldout/loss", "train/learning_rate"}
    for tag, split, column in (
        ("train/loss", "train", "loss"),
        ("heldout/loss", "heldout", "loss"),
        ("train/learning_rate", "train", "lr"),
    ):
        written = [(point.step, point.value) for point in events.Scalars(tag)]
        expected = [(int(row["update"]), float(row[column])) for row in rows if row["split"] == split]
        assert [step for step, _ in written] == [step for step, _ in expected]
        assert [value for _, value in written] == pytest.approx([value for _, value in expected], rel=1e-6)


def test_the_sweep_trains_every_rank_as_a_run_of_its_own(tmp_path, base, pairs):
    single, *_ = run(tmp_path, base, pairs)
    outputs = [[str(tmp_path / f"rank{rank}.{ending}") for rank in (2, 4)] for ending in ("tsv", "json")]
    sweep = (*pairs[:2], base, *outputs, str(tmp_path / "sweep"), 1, [2, 4])
    sweep_lora_ranks.main(*sweep, LORA | {"r": 99}, TRAINING, PROMPT, SAVE_EVERY)
    assert Path(outputs[0][1]).read_bytes() == Path(single).read_bytes()
    assert not (tmp_path / "sweep").exists()
    table = str(tmp_path / "sweep.tsv")
    tabulate_rank_sweep.main(*outputs[::-1], table)
    rows = read_tsv(table)
    assert [(row["rank"], row["seed"], row["update"]) for row in rows] == [("2", "1", "6"), ("4", "1", "6")]
    # 2 layers, A r × 32 and B 96 × r: the cost is linear in r.
    assert [int(row["trainable_params"]) for row in rows] == [2 * 2 * 128, 2 * 4 * 128]
    assert [int(row["training_bytes"]) for row in rows] == [16 * 512, 16 * 1024]
    for row, loss in zip(rows, outputs[0], strict=True):
        assert float(row["heldout_loss"]) == losses(loss, "heldout")[-1]
        assert float(row["heldout_perplexity"]) == pytest.approx(math.exp(float(row["heldout_loss"])))
        assert float(row["trainable_share"]) == int(row["trainable_params"]) / int(row["total_params"])
        # 18 pairs, 2 an update: an epoch has 9 updates, more than the 6 that there are.
        epoch = [(float(r["loss"]), int(r["n_tokens"])) for r in read_tsv(loss) if r["split"] == "train"]
        mean = sum(nats * n for nats, n in epoch) / sum(n for _, n in epoch)
        assert float(row["train_loss"]) == pytest.approx(mean)
    figure = [str(tmp_path / f"sweep.{ending}") for ending in ("svg", "png")]
    # Losses are far from 0: their axis alone does not start there.
    starts = [axes.get_ylim()[0] for axes in plot_rank_sweep.draw_table(table).axes]
    assert starts[0] > 0 and starts[1:] == [0, 0, 0]
    plot_rank_sweep.main(table, pairs[2], *figure)
    assert all(os.path.getsize(path) > 1000 for path in figure)


def test_variations_change_what_they_name_and_nothing_else(tmp_path, base, pairs):
    changed = [{"lora_alpha": 4}, {"target_modules": "all-linear"}, {"tune": "all", "lr": 1.0e-3}]
    runs = [{"name": f"run{number}", **one} for number, one in enumerate(changed)]
    runs = variations({"lora": LORA, "training": TRAINING, "variations": {"runs": runs}})
    outputs = [[str(tmp_path / f"{one['name']}.{ending}") for one in runs] for ending in ("tsv", "json")]
    vary_lora.main(*pairs[:2], base, *outputs, str(tmp_path / "states"), 1, runs, PROMPT, SAVE_EVERY)
    single, *_ = run(tmp_path, base, pairs)
    assert Path(outputs[0][0]).read_bytes() == Path(single).read_bytes() and not (tmp_path / "states").exists()
    table = str(tmp_path / "variations.tsv")
    tabulate_variations.main(*outputs[::-1], table)
    rows = read_tsv(table)
    assert [row["changed"] for row in rows] == [
        "as set",
        "lora_alpha 4",
        "target_modules all-linear",
        "lr 0.001, tune all",
    ]
    # 2 layers of width 32, rank 4. Fused: in 32, out 96. All linear: that, 32 + 32, 32 + 128, 128 + 32.
    fused, linear = 2 * 4 * 128, 2 * 4 * (128 + 64 + 160 + 160)
    total = int(rows[0]["total_params"]) - fused
    assert [int(row["trainable_params"]) for row in rows] == [fused, fused, linear, total]
    assert [int(row["saved_bytes"]) for row in rows] == [4 * fused, 4 * fused, 4 * linear, 4 * total]
    assert [int(row["training_bytes"]) for row in rows] == [16 * fused, 16 * fused, 16 * linear, 16 * total]
    assert [row["lora_alpha"] for row in rows] == ["8", "4", "8", ""] and float(rows[3]["trainable_share"]) == 1
    ends = [float(row["heldout_loss"]) for row in rows]
    assert len(set(ends)) == 4
    # Every run starts from the same model: before any update the pairs are as likely.
    starts = [losses(loss, "heldout")[0] for loss in outputs[0]]
    assert starts == pytest.approx([starts[0]] * 4, rel=1e-6)


def test_four_bit_weights_are_not_trained_whole(base):
    with pytest.raises(StudyError, match="4-bit"):
        tuning.whole_model(base, 1, TRAINING | {"quantization": "nf4"}, "float32", CPU)


def test_a_killed_sweep_keeps_its_finished_ranks(tmp_path, base, pairs, monkeypatch):
    outputs = [[str(tmp_path / f"rank{rank}.{ending}") for rank in (2, 4)] for ending in ("tsv", "json")]
    sweep = (*pairs[:2], base, *outputs, str(tmp_path / "sweep"), 1, [2, 4])
    counts = tuning.count_parameters

    def dies_at_rank_4(model):
        if model.peft_config["default"].r == 4:
            raise KeyboardInterrupt
        return counts(model)

    with monkeypatch.context() as patch:
        patch.setattr(tuning, "count_parameters", dies_at_rank_4)
        with pytest.raises(KeyboardInterrupt):
            sweep_lora_ranks.main(*sweep, LORA, TRAINING, PROMPT, SAVE_EVERY)
    before = Path(outputs[0][0]).read_bytes()
    # Snakemake removes what a failed job left.
    os.remove(outputs[0][0])
    sweep_lora_ranks.main(*sweep, LORA, TRAINING, PROMPT, SAVE_EVERY)
    assert Path(outputs[0][0]).read_bytes() == before
    first, second = (read_json(path) for path in outputs[1])
    assert (first["resumed_after"], second["resumed_after"]) == (6, 0)
    assert first["update_seconds"] > 0 and first["training_bytes"] == 16 * 512


def test_accumulation_equals_one_large_batch(tmp_path, base, pairs):
    lora = {**LORA, "lora_dropout": 0.0}
    (tmp_path / "a").mkdir(), (tmp_path / "b").mkdir()
    small, *_ = run(tmp_path / "a", base, pairs, lora=lora, batch_size=1, accumulation=6, updates=3)
    large, *_ = run(tmp_path / "b", base, pairs, lora=lora, batch_size=6, accumulation=1, updates=3)
    for split in ("train", "heldout"):
        assert losses(small, split) == pytest.approx(losses(large, split), rel=1e-4)


def test_seeds_differ_and_a_seed_repeats_itself(tmp_path, base, pairs):
    texts = []
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        (tmp_path / name).mkdir()
        texts.append(Path(run(tmp_path / name, base, pairs, seed=seed)[0]).read_text())
    assert texts[0] == texts[1] != texts[2]


KILLED = """
import json, sys
from qa import finetune_lora
finetune_lora.main(**json.load(open(sys.argv[1])))
"""


@pytest.mark.slow
def test_a_killed_run_ends_with_the_same_curve(tmp_path, base, pairs):
    """SIGKILL in the middle, then the same command again: the loss file is the same, byte for byte."""
    training = {**TRAINING, "updates": 100, "evaluate_every": 20}
    paths, environment = {}, importing()
    commands = {}
    for name in ("whole", "killed"):
        folder = tmp_path / name
        folder.mkdir()
        paths[name] = folder
        arguments = {"train": pairs[0], "heldout": pairs[1], "base": base, "arm": "rank4", "seed": 3}
        arguments |= {"loss": f"{folder}/loss.tsv", "adapter": f"{folder}/adapter", "tensorboard": f"{folder}/curves"}
        arguments |= {"run": f"{folder}/run.json", "states": f"{folder}/states", "lora": LORA, "training": training}
        arguments |= {"template": PROMPT, "save_every": 5}
        (folder / "arguments.json").write_text(json.dumps(arguments))
        commands[name] = [sys.executable, "-c", KILLED, f"{folder}/arguments.json"]
    # Every process counts with one thread, so the sums are made in one order.
    subprocess.run(commands["whole"], env=environment, check=True, capture_output=True)

    process = subprocess.Popen(
        commands["killed"], env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    deadline = time.monotonic() + 120
    saved = set()
    while len(saved) < 4:  # the fourth state: well after the start, well before the end
        saved |= {path.stat().st_mtime_ns for path in paths["killed"].glob("states/*/state.pt")}
        assert process.poll() is None and time.monotonic() < deadline, "no state was saved"
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    assert not (paths["killed"] / "loss.tsv").exists()

    again = subprocess.run(commands["killed"], env=environment, check=True, capture_output=True, text=True)
    assert "resumed after update" in again.stdout
    assert 0 < read_json(paths["killed"] / "run.json")["resumed_after"] < 100
    assert read_json(paths["whole"] / "run.json")["resumed_after"] == 0
    for name in ("loss.tsv", "adapter/adapter_model.safetensors"):
        assert (paths["whole"] / name).read_bytes() == (paths["killed"] / name).read_bytes(), name
    assert not (paths["killed"] / "states").exists()


def test_a_state_of_other_settings_is_not_taken(base, pairs):
    settings = {"rank": 4, "training": TRAINING}
    key = tuning.state_key(settings, pairs[:2])
    assert key == tuning.state_key(settings, pairs[:2])
    assert key != tuning.state_key({**settings, "rank": 5}, pairs[:2])
    assert key != tuning.state_key({"rank": 4, "training": {**TRAINING, "lr": 1.0}}, pairs[:2])
    assert key != tuning.state_key(settings, [pairs[1], pairs[0]])


def test_how_often_the_state_is_saved_decides_nothing(tmp_path, base, pairs, monkeypatch):
    keys, made = [], {}
    state_folder = tuning.state_folder

    def kept(root, key):
        keys.append(key)
        return state_folder(root, key)

    monkeypatch.setattr(tuning, "state_folder", kept)
    for save_every in (0, 2):
        (tmp_path / str(save_every)).mkdir()
        made[save_every] = run(tmp_path / str(save_every), base, pairs, save_every=save_every)
    assert keys[0] == keys[1]
    one, other = (Path(made[save_every][0]).read_bytes() for save_every in (0, 2))
    assert one == other
    assert "save_every" not in read_json(made[2][2])["protocol"]


def test_a_state_follows_from_its_tokenizer_its_packages_and_how_small_numbers_count(tmp_path, pairs, monkeypatch):
    names = ["config.json", "merges.txt", "model.safetensors", "tokenizer.model"]
    for name in [*names, "README.md", ".snakemake_timestamp"]:
        (tmp_path / name).touch()
    assert tuning.model_files(str(tmp_path)) == [str(tmp_path / name) for name in names]
    monkeypatch.setattr(tuning, "code_hash", lambda *objects: [each.__name__ for each in objects])
    key = tuning.state_key({}, pairs[:2])
    assert {"torch", "numpy", "transformers", "tokenizers", "peft"} <= key["versions"].keys()
    assert "flush_denormals" in key["code"]


@pytest.mark.parametrize(
    "changes, message",
    [
        ({"optimizer": "sgd"}, "qa.training.optimizer: 'sgd' is not one of auto, adamw, paged_adamw_8bit"),
        ({"precision": "float16"}, "qa.training.precision: 'float16' is not one of auto, float32, bfloat16"),
        ({"quantization": "int8"}, "qa.training.quantization: 'int8' is not one of none, nf4"),
        ({"max_tokens": 5}, "qa.training.max_tokens: 5 leaves no room"),
    ],
)
def test_bad_settings_are_told(tmp_path, base, pairs, changes, message):
    with pytest.raises(StudyError, match=message):
        run(tmp_path, base, pairs, **changes)


def test_divergence_is_told_at_once_with_update_and_rate(tmp_path, base, pairs):
    # A warm-up has rate 0 at first: no update before the third starts from weights that moved.
    told = (
        r"training diverged: the (training|held-out) loss is (nan|inf) at update [23], at a learning rate of .*e\+3\d"
    )
    with pytest.raises(StudyError, match=told + "; lower qa.training.lr"):
        run(tmp_path, base, pairs, lr=1e38)
    assert not (tmp_path / "adapter").exists()
    with pytest.raises(StudyError, match=told + "; lower qa.base.embedded.training.lr"):
        make_base(str(tmp_path / "base"), updates=40, lr=1e38)


def test_the_paged_optimizer_needs_a_gpu():
    settings = {"lr": 1.0, "betas": [0.9, 0.999], "eps": 1e-8, "weight_decay": 0.0}
    with pytest.raises(StudyError, match="paged_adamw_8bit needs a GPU; auto takes AdamW on a CPU"):
        tuning.make_optimizer("paged_adamw_8bit", [torch.nn.Parameter(torch.zeros(1))], settings, CPU)


def test_4_bit_training_runs(tmp_path, pairs):
    pytest.importorskip("bitsandbytes", reason="bitsandbytes is not installed")
    # A width that is no multiple of NF4's block of 64, too.
    make_base(str(tmp_path / "base"), updates=20, width=96)
    folder, base = tmp_path, str(tmp_path / "base")
    loss, adapter, record = run(folder, base, pairs, quantization="nf4", updates=12, evaluate_every=12)
    heldout = losses(loss, "heldout")
    assert heldout[-1] < heldout[0]
    assert read_json(record)["quantization"] == "nf4"
    outputs = [str(tmp_path / name) for name in ("generations.jsonl", "evaluation.json")]
    training = {**TRAINING, "quantization": "nf4"}
    evaluate_qa.main(*pairs[:2], base, adapter, record, *outputs, training, GENERATION, PROMPT)
    assert read_json(outputs[1])["heldout"]["after"]["loss"] == pytest.approx(heldout[-1], rel=1e-3)


def test_4_bit_that_does_not_work_is_told(base, monkeypatch):
    pytest.importorskip("bitsandbytes", reason="bitsandbytes is not installed")
    monkeypatch.setitem(sys.modules, "bitsandbytes", None)
    with pytest.raises(StudyError, match="4-bit loading does not work here .*: set qa.training.quantization to none"):
        load_base(base, "nf4", True, "float32", CPU)


# ---------------------------------------------------------------- evaluation, tables, figure


def test_evaluation_tables_and_figure(tmp_path, base, pairs):
    files = {"run.json": [], "evaluation.json": [], "loss.tsv": [], "generations.jsonl": []}
    for seed in (1, 2):
        folder = tmp_path / f"seed{seed}"
        folder.mkdir()
        loss, adapter, record = run(folder, base, pairs, seed=seed, updates=12, lora={**LORA, "bias": "all"})
        outputs = [str(folder / name) for name in ("generations.jsonl", "evaluation.json")]
        evaluate_qa.main(*pairs[:2], base, adapter, record, *outputs, TRAINING, GENERATION, PROMPT)
        for name in files:
            files[name].append(str(folder / name))
        evaluation = read_json(outputs[1])
        heldout = losses(loss, "heldout")
        # The loop's measure and the evaluation's are one: the base before, the adapter reloaded after.
        assert evaluation["heldout"]["before"]["loss"] == pytest.approx(heldout[0], rel=1e-5)
        assert evaluation["heldout"]["after"]["loss"] == pytest.approx(heldout[-1], rel=1e-5)
        for moment in ("before", "after"):
            facts = evaluation["heldout"][moment]
            assert facts["perplexity"] == pytest.approx(math.exp(facts["loss"]))
        assert evaluation["heldout"]["after"]["perplexity"] < evaluation["heldout"]["before"]["perplexity"]
        rows = [json.loads(line) for line in read_lines(outputs[0])]
        assert len(rows) == 2
        keys = {"id", "question", "reference", "before", "after", "stopped", "repeats"}
        assert all(set(row) == keys for row in rows)
        assert evaluation["chrf_signature"].startswith("nrefs:1|case:mixed")
        for key, most in (("chrf", 100), ("rouge_l", 1)):
            assert all(0 <= evaluation[key][moment] <= most for moment in ("before", "after"))
        assert evaluation["n_stopped"]["after"] == sum(row["stopped"]["after"] for row in rows)

    tables = [str(tmp_path / name) for name in ("runs.tsv", "loss.tsv", "summary.tsv", "generations.jsonl")]
    aggregate_qa.main(*files.values(), pairs[2], *tables, "a-study")
    runs = read_tsv(tables[0])
    assert [(row["arm"], row["rank"], row["seed"], row["synthetic"]) for row in runs] == [
        ("rank4", "4", seed, "false") for seed in "12"
    ]
    summary = {row["metric"]: row for row in read_tsv(tables[2])}
    after = [float(row["heldout_perplexity_after"]) for row in runs]
    row = summary["heldout_perplexity_after"]
    assert float(row["mean"]) == pytest.approx(sum(after) / 2)
    # Two values: the standard deviation with ddof 1 is |a - b| / √2.
    assert float(row["sd_ddof1"]) == pytest.approx(abs(after[0] - after[1]) / math.sqrt(2))
    assert len(read_tsv(tables[1])) == 2 * (12 + 5) and len(read_lines(tables[3])) == 4

    svg, png = str(tmp_path / "loss.svg"), str(tmp_path / "loss.png")
    plot_qa_loss.main(tables[1], pairs[2], svg, png)
    first = Path(svg).read_bytes()
    plot_qa_loss.main(tables[1], pairs[2], svg, png)
    assert Path(svg).read_bytes() == first and os.path.getsize(png) > 1000

    files["evaluation.json"].reverse()
    with pytest.raises(StudyError, match="run.json is of arm rank4 seed 1, evaluation.json of arm rank4 seed 2"):
        aggregate_qa.main(*files.values(), pairs[2], *tables, "a-study")


def test_the_adapters_card_shows_an_answer_that_it_gives(tmp_path, base, pairs):
    """The code of the card, run where it says, prints the answer that the card shows; every number is the tables'."""
    loss, adapter, record = run(tmp_path, base, pairs, updates=12)
    outputs = [str(tmp_path / name) for name in ("generations.jsonl", "evaluation.json")]
    evaluate_qa.main(*pairs[:2], base, adapter, record, *outputs, TRAINING, GENERATION, PROMPT)
    tables = [str(tmp_path / name) for name in ("runs.tsv", "loss_all.tsv", "summary.tsv", "answers.jsonl")]
    aggregate_qa.main([record], [outputs[1]], [loss], [outputs[0]], pairs[2], *tables, "a-study")
    (tmp_path / "qa").mkdir()
    (tmp_path / "qa" / "base").symlink_to(base)
    inputs = {"adapter": adapter, "run": record, "generations": outputs[0], "evaluation": outputs[1]}
    inputs |= {"runs": tables[0], "summary": tables[2], "manifest": pairs[2], "base": base}
    inputs["template"] = str(ROOT / "report" / "adapter_card.md.j2")
    architecture = {"layers": 2, "width": 32, "heads": 4}
    source = {"source": "embedded", "folder": None, "embedded": {"architecture": architecture, "files": []}}
    folder = tmp_path / "qa-rank4-seed1"
    export_adapter.main(str(folder), "rank4", 1, "a-study", source, GENERATION, **inputs)
    card = (folder / "README.md").read_text(encoding="utf-8")
    code = card.split("```python\n")[1].split("```")[0]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    told = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, env=environment, check=True, capture_output=True, text=True
    )
    answer = json.loads(read_lines(outputs[0])[0])["after"]
    assert told.stdout.splitlines()[-1] == answer
    assert f"> {export_adapter.plain(answer)}\n" in card
    after = read_tsv(tables[0])[0]["heldout_loss_after"]
    assert f"| {float(after):.4g} |" in card and "6 pairs were kept out of training, 2 of their questions" in card
    assert "More Information Needed" not in card and "license: unknown" in card
    assert read_json(folder / "adapter_config.json")["base_model_name_or_path"] == "qa/base"
    # The card's code would ask in another way than the study did.
    with pytest.raises(StudyError, match=r"^qa\.generation\.temperature is 9\.5, and .*evaluation\.json was made with"):
        export_adapter.main(str(folder), "rank4", 1, "a-study", source, GENERATION | {"temperature": 9.5}, **inputs)


def test_one_run_has_no_standard_deviation():
    row = dict.fromkeys(aggregate_qa.METRICS, 1.5) | {
        "arm": "rank8",
        "rank": 8,
        "end_of_text_before": None,
        "n_stopped_after": 6,
    }
    summary = aggregate_qa.summarise(pandas.DataFrame([row])).set_index("metric")
    assert set(summary.index) == set(aggregate_qa.METRICS) - {"end_of_text_before"}
    assert summary["sd_ddof1"].isna().all() and (summary["n_seeds"] == 1).all()
    # A count is written as one, beside floats.
    assert repr(summary["max"]["n_stopped_after"]) == "6" and repr(summary["max"]["train_perplexity_after"]) == "1.5"


def test_smoothing_is_a_centred_mean():
    # Window 3: ends over two points. (1 + 2) / 2, (1 + 2 + 6) / 3, (2 + 6) / 2
    assert plot_qa_loss.smooth(pandas.Series([1, 2, 6]), 3).tolist() == [1.5, 3.0, 4.0]


def test_an_untouched_adapter_answers_as_the_base(base):
    """B begins at 0, so before any update the tuned model is the base: same numbers, same answers."""
    from peft import LoraConfig, get_peft_model

    tokenizer, end = load_tokenizer(base)
    model = load_base(base, "none", True, "float32", CPU)
    questions = [prompt(PROMPT, pair["question"]) for pair in PAIRS[:3]]
    settings = {**GENERATION, "max_new_tokens": 12}
    before = evaluate_qa.generate(model, tokenizer, end, questions, settings, CPU)
    tuned = get_peft_model(model, LoraConfig(r=2, target_modules=["query_key_value"], task_type="CAUSAL_LM")).eval()
    assert evaluate_qa.generate(tuned, tokenizer, end, questions, settings, CPU) == before
    # Question i draws with seed + i, whatever came before it.
    assert evaluate_qa.generate(tuned, tokenizer, end, questions[:1], settings, CPU) == before[:1]
    greedy = {**settings, "temperature": 0}
    first = evaluate_qa.generate(tuned, tokenizer, end, questions, greedy, CPU)
    assert first == evaluate_qa.generate(tuned, tokenizer, end, questions, {**greedy, "seed": 9}, CPU)


def test_public_english_pairs_go_through_the_branch(tmp_path, base):
    mirror = ROOT.parent / "shared" / "mirror" / "raw.githubusercontent.com" / "feven-t"
    found = list(mirror.glob("semantic_Search/*/Ecommerce_FAQ_Chatbot_dataset.json"))
    if not found:
        pytest.skip("the public English pairs are not here: ../shared/mirror")
    from qa import build_qa_pairs

    paths = [str(tmp_path / name) for name in ("train.jsonl", "heldout.jsonl", "manifest.json")]
    build_qa_pairs.main("url", [str(found[0])], "https://example.org/pairs.json", *paths, 16, 1)
    assert read_json(paths[2])["synthetic"] is False
    loss, adapter, record = run(tmp_path, base, paths, updates=15, max_tokens=256, evaluate_every=15)
    outputs = [str(tmp_path / name) for name in ("generations.jsonl", "evaluation.json")]
    evaluate_qa.main(*paths[:2], base, adapter, record, *outputs, {**TRAINING, "max_tokens": 256}, GENERATION, PROMPT)
    evaluation = read_json(outputs[1])
    assert evaluation["heldout"]["after"]["perplexity"] < evaluation["heldout"]["before"]["perplexity"]
