"""The recipe of run_glue on a tiny model: its command line, its padding, its choice, its files, its predictions."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from tokenizers import Tokenizer, models, pre_tokenizers, processors
from transformers import AutoTokenizer, PreTrainedTokenizerFast, RobertaForMaskedLM, RobertaForSequenceClassification

from common.errors import StudyError
from common.files import read_json, read_lines, read_tsv, write_json, write_lines
from finetuning.select_checkpoint import choose
from finetuning.tokenize_texts import tokenize
from frameworks import run_glue
from frameworks.run_glue import command_line, recipe, watching
from frameworks.run_glue import score as evaluate_run_glue
from frameworks.run_glue import test_curve as test_curve_run_glue
from frameworks.run_glue.export import load_trained
from frameworks.run_glue.train import main
from frameworks.run_glue.write_json_texts import main as write_json_texts
from support.arms import facts
from support.roberta import ARCHITECTURE, huggingface_config
from support.settings import message
from support.studies import FINETUNING, importing

WORDS = ["<s>", "<pad>", "</s>", "<unk>", "superbe", "nul", *(f"mot{k}" for k in range(14))]
N = {"train": 22, "valid": 9, "test": 11}
# As the model of `support.roberta` has them.
POSITIONS = ARCHITECTURE["max_positions"]
TRAINING = {key: FINETUNING[key] for key in ("batch_size", "epochs", "eps", "dropout", "precision")}
SETTINGS = run_glue.arm_settings(
    {"training": TRAINING | {"batch_size": 4, "lr": 1e-2, "warmup_ratio": 0.2}, "init_seed": None, "data_seed": None},
    {},
)
OUTPUTS = ("checkpoints", "history.tsv", "run.json", "weights.json", "tensorboard")


def write_split(folder, split, n, seed):
    """Texts whose label is a word of them, some longer than the model's positions."""
    generator = np.random.default_rng(seed)
    labels = generator.permutation(np.arange(n) % 2)
    texts = [
        " ".join([WORDS[5 - label], *(WORDS[k] for k in generator.integers(6, 20, generator.integers(2, 15)))])
        for label in labels
    ]
    write_lines(folder / f"{split}.review", texts)
    write_lines(folder / f"{split}.label", map(str, labels))
    write_json_texts(folder / f"{split}.review", folder / f"{split}.label", folder / f"{split}.json")


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    """A folder with the splits as JSON and a pretrained checkpoint with its tokenizer."""
    torch.set_num_threads(1)
    folder = tmp_path_factory.mktemp("study")
    for seed, (split, n) in enumerate(N.items()):
        write_split(folder, split, n, seed)
    tokenizer = Tokenizer(models.WordLevel({word: k for k, word in enumerate(WORDS)}, unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.post_processor = processors.TemplateProcessing("<s> $A </s>", special_tokens=[("<s>", 0), ("</s>", 2)])
    special = {"bos_token": "<s>", "pad_token": "<pad>", "eos_token": "</s>", "unk_token": "<unk>"}
    fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer, model_max_length=POSITIONS, **special)
    fast.save_pretrained(folder / "huggingface")
    config = huggingface_config(len(WORDS), ARCHITECTURE | {"heads": 2}, classifier_dropout=0.1)
    torch.manual_seed(0)
    RobertaForMaskedLM(config).save_pretrained(folder / "huggingface")
    return folder


def run(study, out, seed=1, **changes):
    files = {"train": "train.json", "valid": "valid.json", "checkpoint": "huggingface"}
    main(
        **{name: str(study / file) for name, file in files.items()},
        **{name.partition(".")[0]: str(out / name) for name in OUTPUTS},
        recipe_records=str(out / "recipe"),
        facts=facts("run_glue", "pretrained"),
        seed=seed,
        settings=SETTINGS | changes,
        threads=1,
        states=str(out / "states"),
        classes=["negative", "positive"],
    )
    return out


@pytest.fixture(scope="module")
def finished(study, tmp_path_factory):
    return run(study, tmp_path_factory.mktemp("runs") / "seed1")


def test_texts_are_written_as_the_recipe_reads_them(study):
    rows = [json.loads(line) for line in read_lines(study / "train.json")]
    assert [list(row) for row in rows] == [["sentence", "label"]] * N["train"]
    assert [row["sentence"] for row in rows] == read_lines(study / "train.review")
    assert [str(row["label"]) for row in rows] == read_lines(study / "train.label")


def test_outputs_of_a_run(finished):
    assert sorted(os.listdir(finished)) == sorted([*OUTPUTS, "recipe"])  # no scratch is left
    assert sorted(os.listdir(finished / "checkpoints")) == ["epoch1", "epoch2"]
    kept = set(os.listdir(finished / "checkpoints" / "epoch2"))
    assert {"config.json", "model.safetensors", "tokenizer_config.json"} <= kept
    assert not kept & {"optimizer.pt", "scheduler.pt", "rng_state.pth", "training_args.bin"}
    rows = read_tsv(finished / "history.tsv")
    value = {(row["epoch"], row["split"], row["metric"]): float(row["value"]) for row in rows}
    # ceil(22 / 4) = 6 updates an epoch, 12 in all; the warm-up is ceil(0.2 * 12) = 3 updates where fairseq's is 2.
    assert {(row["epoch"], row["update"]) for row in rows} == {("1", "6"), ("2", "12")}
    # Update 6 is made with the rate after 5: 1e-2 (12 - 5) / (12 - 3); update 12 with that after 11: 1e-2 / 9.
    assert value["1", "train", "lr"] == pytest.approx(1e-2 * 7 / 9)
    assert value["2", "train", "lr"] == pytest.approx(1e-2 / 9)
    record = read_json(finished / "run.json")
    assert (record["total_updates"], record["warmup_updates"], record["n_train"]) == (12, 3, N["train"])
    assert record["protocol"]["lr_first"] == 0 and record["protocol"]["warmup_updates"] == 3
    assert record["protocol"]["betas"] == [0.9, 0.999] and record["protocol"]["clip_norm"] == 1.0
    assert record["protocol"]["initialisation"]["head_dense"] == "normal, sd 0.02"
    assert record["protocol"]["batching"] == "random" and record["protocol"]["classifier_dropout"] == 0.1
    proof = read_json(finished / "weights.json")
    assert proof["n_different"] == 0 and proof["n_equal"] > 30 and len(proof["head"]) == 4


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"lr": 1e-5, "epochs": 5, "warmup_ratio": 0.06, "batch_size": 8},
        {"betas": [0.9, 0.98], "eps": 1e-6, "weight_decay": 0.01, "clip_norm": 0.0, "warmup_ratio": 0.0},
        {"batching": "length_grouped", "pad_to_max_length": False, "max_seq_length": 128},
    ],
    ids=["as here", "the lab's", "another optimizer", "other batches"],
)
def test_a_command_line_parses_back_to_the_settings(changes):
    settings = SETTINGS | changes
    arguments = command_line.training(
        settings,
        {"model": "a b", "train": "t.json", "valid": "v.json"},
        {"seed": 7, "data_seed": 8},
        "out",
        "c",
        "bfloat16",
    )
    again = command_line.arguments_of(command_line.text(arguments))
    assert again == arguments
    options, data, training = recipe.parse(again)
    found = command_line.settings_of(data, training)
    assert len(found) == 11 and found == {key: settings[key] for key in found}
    assert (options.model_name_or_path, options.config_name, data.validation_file) == ("a b", "c", "v.json")
    assert (training.seed, training.data_seed, training.bf16, training.do_predict) == (7, 8, True, False)
    assert training.eval_strategy == training.save_strategy == "epoch" and training.load_best_model_at_end
    # Defaults of the recipe are not named.
    assert ("--weight_decay" in arguments) == ("weight_decay" in changes)
    assert ("--pad_to_max_length" in arguments) == ("pad_to_max_length" in changes)


def test_the_recorded_command_is_what_ran_and_gives_the_same_weights_by_hand(study, finished, tmp_path):
    record = read_json(finished / "run.json")
    command = record["recipe"]["command"]
    assert read_lines(finished / "recipe" / "command.txt") == [command]
    arguments = command_line.arguments_of(command)
    _, data, training = recipe.parse(arguments)
    found = command_line.settings_of(data, training)
    assert found == {key: SETTINGS[key] for key in found} and data.max_seq_length == 256
    assert not any("--test_file" in argument or "--do_predict" in argument for argument in arguments)
    # By hand it is a stock Trainer: nothing looks on.
    arguments[arguments.index("--output_dir") + 1] = str(tmp_path / "out")
    module = [sys.executable, "-m", "frameworks.run_glue.recipe", *arguments]
    subprocess.run(module, check=True, env=importing(), capture_output=True, cwd=tmp_path)
    for epoch, update in (("epoch1", 6), ("epoch2", 12)):
        ours = load_file(finished / "checkpoints" / epoch / "model.safetensors")
        theirs = load_file(tmp_path / "out" / f"checkpoint-{update}" / "model.safetensors")
        assert ours.keys() == theirs.keys()
        assert all(torch.allclose(ours[name], theirs[name], atol=1e-6) for name in ours)


def test_its_files_and_its_time_are_recorded(finished):
    record, files = read_json(finished / "run.json")["recipe"], read_json(finished / "recipe" / "files.json")
    assert set(files["read"]) == {
        "config.json",
        "model.safetensors",
        "tokenizer_config.json",
        "train.json",
        "valid.json",
    }
    made = files["made"]
    assert {"checkpoint-6/model.safetensors", "checkpoint-12/optimizer.pt", "model.safetensors"} <= set(made)
    # Only the weights of earlier epochs stay: nothing resumes there.
    assert "checkpoint-6/optimizer.pt" not in made
    assert (record["n_files"], record["bytes"]) == (len(made), sum(made.values()))
    assert record["recipe_seconds"] > read_json(finished / "run.json")["train_seconds"] > 0
    metrics = read_json(finished / "recipe" / "all_results.json")
    assert metrics["train_samples"] == N["train"] and metrics["eval_samples"] == N["valid"]


class Widths(recipe.Watch):
    """Keeps the examples."""

    def built(self, model, datasets):
        self.datasets = datasets


def arguments(study, out, **changes):
    files = {
        "model": str(study / "huggingface"),
        "train": str(study / "train.json"),
        "valid": str(study / "valid.json"),
    }
    return command_line.training(SETTINGS | changes, files, {"seed": 1, "data_seed": 1}, str(out))


@pytest.mark.parametrize("wanted", [8, 256])
def test_every_text_is_padded_to_the_length_asked_for_at_most_the_models(study, tmp_path, wanted):
    watch = Widths()
    trainer, logits = recipe.main(arguments(study, tmp_path / "out", max_seq_length=wanted, epochs=1), watch)
    length = min(wanted, POSITIONS)
    assert logits is None
    texts = read_lines(study / "train.review")
    plain = tokenize(AutoTokenizer.from_pretrained(study / "huggingface"), texts, length)
    assert min(map(len, plain)) < length == max(map(len, plain))
    for example, ids in zip(watch.datasets["train"], plain, strict=True):
        # The ids of the other arms, then padding that the mask hides.
        assert example["input_ids"] == ids + [1] * (length - len(ids))
        assert example["attention_mask"] == [1] * len(ids) + [0] * (length - len(ids))
    assert {batch["input_ids"].shape[1] for batch in trainer.get_train_dataloader()} == {length}


def test_what_was_padded_is_recorded_as_it_was(study, finished, tmp_path):
    assert read_json(finished / "run.json")["protocol"]["padding"] == f"every text to {POSITIONS} tokens"
    out = run(study, tmp_path / "run", pad_to_max_length=False, epochs=1)
    assert read_json(out / "run.json")["protocol"]["padding"] == "to the batch's longest"
    assert "--pad_to_max_length False" in read_json(out / "run.json")["recipe"]["command"]


def test_of_equal_epochs_the_recipe_keeps_the_first_as_the_study_does(study, tmp_path):
    # A rate at which no answer changes: all epochs are equal.
    out = run(study, tmp_path / "run", lr=1e-9, epochs=3)
    value = {row["epoch"]: row["value"] for row in read_tsv(out / "history.tsv")
             if (row["split"], row["metric"]) == ("valid", "n_correct")}  # fmt: skip
    assert len(value) == 3 and len(set(value.values())) == 1
    state = read_json(out / "recipe" / "trainer_state.json")
    assert state["best_global_step"] == read_json(out / "run.json")["recipe"]["best_update"] == 6
    chosen = choose(out / "history.tsv")
    assert (chosen["epoch"], chosen["update"], chosen["n_equal"]) == (1, 6, 3)


def test_recorded_validation_is_the_saved_model_without_padding(study, finished):
    model = RobertaForSequenceClassification.from_pretrained(finished / "checkpoints" / "epoch2").eval()
    assert model.config.id2label == {0: "negative", 1: "positive"}
    tokenizer = AutoTokenizer.from_pretrained(study / "huggingface")
    losses, correct = [], 0
    for ids, label in zip(tokenize(tokenizer, read_lines(study / "valid.review"), POSITIONS),
                          map(int, read_lines(study / "valid.label")), strict=True):  # fmt: skip
        with torch.no_grad():
            logits = model(torch.tensor([ids])).logits[0]
        losses.append(float(-torch.log_softmax(logits, 0)[label]))
        correct += int(logits.argmax()) == label
    rows = read_tsv(finished / "history.tsv")
    value = {row["metric"]: float(row["value"]) for row in rows if (row["epoch"], row["split"]) == ("2", "valid")}
    assert value["loss"] == pytest.approx(sum(losses) / len(losses), abs=1e-5) and value["n_correct"] == correct


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_it_learns(study, tmp_path, precision):
    out = run(study, tmp_path / "run", epochs=12, lr=5e-3, precision=precision)
    words = {"float32": "float32", "bfloat16": "bfloat16 on validation, float32 on test"}
    assert read_json(out / "run.json")["protocol"]["evaluation_precision"] == words[precision]
    rows = read_tsv(out / "history.tsv")
    loss = {row["epoch"]: float(row["value"]) for row in rows if (row["split"], row["metric"]) == ("train", "loss")}
    assert loss["1"] > 0.5 and loss["12"] < 0.2


def test_a_killed_run_resumes_after_its_last_epoch_with_the_same_result(study, finished, tmp_path, monkeypatch):
    stock = watching.WatchedTrainer.evaluate

    def killed(self, *args, **kwargs):
        if len(self.records) == 1:
            raise KeyboardInterrupt
        return stock(self, *args, **kwargs)

    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(watching.WatchedTrainer, "evaluate", killed)
        run(study, tmp_path / "run")
    out = run(study, tmp_path / "run")
    assert read_json(out / "run.json")["resumed_after"] == 6
    assert read_lines(out / "history.tsv") == read_lines(finished / "history.tsv")
    for epoch in ("epoch1", "epoch2"):
        ours, theirs = (load_file(run / "checkpoints" / epoch / "model.safetensors") for run in (out, finished))
        assert all(torch.equal(ours[name], theirs[name]) for name in theirs)
    assert read_json(out / "run.json")["protocol"] == read_json(finished / "run.json")["protocol"]


def test_predictions_are_those_of_the_recipe_and_of_the_saved_model(study, finished, tmp_path):
    write_json(tmp_path / "selected.json", {"epoch": 2, "update": 12})
    given = {name: str(study / f"{name}.json") for name in N} | {"tokenizer": str(study / "huggingface")}
    given |= {"selected": str(tmp_path / "selected.json"), "record": str(finished / "run.json"), "threads": 1}
    given |= {"batch_size": 4, "checkpoints": str(finished / "checkpoints")}
    evaluate_run_glue.main(**given, predictions=str(tmp_path / "test.tsv"))
    rows = read_tsv(tmp_path / "test.tsv")
    assert [row["label"] for row in rows] == read_lines(study / "test.label")
    model = load_trained(str(finished / "checkpoints"), 2, None).eval()
    texts = read_lines(study / "test.review")
    for ids, row in zip(
        tokenize(AutoTokenizer.from_pretrained(study / "huggingface"), texts, POSITIONS), rows, strict=True
    ):
        with torch.no_grad():
            share = torch.softmax(model(torch.tensor([ids])).logits[0], 0)
        assert int(row["prediction"]) == int(share.argmax())
        assert float(row["probability"]) == pytest.approx(float(share[1]), abs=1e-5)
    test_curve_run_glue.main(
        **given, history=str(finished / "history.tsv"), predictions=str(tmp_path / "test.tsv"),
        curve=str(tmp_path / "curve.tsv"), tensorboard=str(tmp_path / "tensorboard-test"),
    )  # fmt: skip
    curve = read_tsv(tmp_path / "curve.tsv")
    right = sum(row["label"] == row["prediction"] for row in rows)
    assert [row["update"] for row in curve] == ["6", "12"] and float(curve[1]["value"]) == right / N["test"]


def test_the_recipe_writes_its_own_predictions(study, finished, tmp_path):
    files = {name: str(study / f"{name}.json") for name in N} | {"tokenizer": str(study / "huggingface")}
    files |= {"model": str(finished / "checkpoints" / "epoch2")}
    _, data, _ = recipe.parse(arguments(study, tmp_path))
    given = command_line.prediction(data, files, 4, str(tmp_path / "out"))
    _, logits = recipe.main(given)
    said = read_tsv(tmp_path / "out" / recipe.PREDICTIONS)
    assert [row["prediction"] for row in said] == [str(k) for k in logits.argmax(axis=1)]
    with pytest.raises(StudyError, match="--do_predict needs --test_file"):
        place = given.index("--test_file")
        recipe.main(given[:place] + given[place + 2 :])


def test_dropout_that_the_model_has_not_is_written_into_a_configuration(study, finished, tmp_path):
    assert "--config_name" not in read_json(finished / "run.json")["recipe"]["command"]
    out = run(study, tmp_path / "run", dropout=0.3, classifier_dropout=0.3, epochs=1)
    record = read_json(out / "run.json")
    assert "--config_name" in record["recipe"]["command"]
    assert record["protocol"]["dropout"] == [0.3] and record["protocol"]["attention_dropout"] == 0.3
    assert record["protocol"]["classifier_dropout"] == 0.3


def test_what_it_cannot_train_is_refused(study, tmp_path):
    one = tmp_path / "one.json"
    rows = [json.loads(line) for line in read_lines(study / "train.json")]
    write_lines(one, [json.dumps(row) for row in rows if row["label"] == 1])
    given = arguments(study, tmp_path / "out")
    given[given.index("--train_file") + 1] = str(one)
    with pytest.raises(StudyError, match="a text has the label 0, and no training text has it"):
        recipe.main(given)
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "notes.txt").touch()
    with pytest.raises(StudyError, match="is not empty and holds no checkpoint"):
        recipe.main(arguments(study, tmp_path / "full"))


ARM = "finetuning.arms.stock"
STOCK = {"framework": "run_glue", "model": "checkpoint", "init": "pretrained"}


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({f"{ARM}.freeze": 1}, f"{ARM}.freeze: the recipe of run_glue trains the whole model; take it out"),
        ({f"{ARM}.match": "fairseq-pretrained"}, f"{ARM}.match: the recipe of run_glue keeps the defaults of its own"),
        ({f"{ARM}.protocol": "matched"}, f"{ARM}.protocol: the recipe of run_glue has its own protocol only"),
        ({f"{ARM}.init": "random"}, f"{ARM}.init is random; arms of run_glue have pretrained"),
        (
            {"finetuning.init_seed": 3},
            "finetuning.init_seed is 3, and the recipe of run_glue (arm stock)",
        ),
        ({f"{ARM}.max_seq_length": 2}, f"{ARM}.max_seq_length is 2; it must be a whole number, at least 3"),
        (
            {"finetuning.arms.fairseq-random.pad_to_max_length": True},
            "finetuning.arms.fairseq-random.pad_to_max_length is for arms of run_glue",
        ),
    ],
)
def test_what_its_command_line_cannot_say_is_refused(changes, said):
    assert said in message({ARM: dict(STOCK)} | changes)
