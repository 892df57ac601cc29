"""Exported models of numbers and of sets of labels: `pipeline` answers as the run did, and the card says how."""

import os
import re

import pytest
import torch
from transformers import AutoTokenizer, RobertaConfig, RobertaForSequenceClassification, pipeline

import tasks
from common.errors import StudyError
from common.files import read_json, read_lines, read_tsv, write_json, write_lines, write_tsv
from finetuning import export_model
from finetuning.predictions import write_predictions
from finetuning.scoring import score
from support import studies
from support.arms import facts
from support.roberta import ARCHITECTURE, convert, write_checkpoint

TEXTS = ["un livre superbe et touchant", "un roman ennuyeux et plat", "plat", "une lecture superbe"]
NAMES = ["joy", "fear", "anger"]
LABELS = {"regression": [3.5, 1.25, 2.0, 5.0], "multilabel": ["110", "000", "001", "100"]}
DROPOUTS = {"dropout": [0.125], "attention_dropout": 0.25, "classifier_dropout": 0.375}
ARM = facts("huggingface", "pretrained")


def finished(folder, task):
    """Write a finished run of one kind of labels; return the names of the labels."""
    torch.set_num_threads(1)
    kind, classes = tasks.load(task), NAMES if task == "multilabel" else []
    converted = convert(write_checkpoint(folder / "checkpoint"), folder / "converted")
    torch.manual_seed(6)
    config = RobertaConfig.from_pretrained(converted, initializer_range=0.5, **kind.outputs(classes))
    model = RobertaForSequenceClassification(config).eval()
    tokenizer = AutoTokenizer.from_pretrained(converted, local_files_only=True)
    ids = tokenizer(TEXTS, truncation=True, max_length=ARCHITECTURE["max_positions"])["input_ids"]
    model.classifier.out_proj.bias.data -= score(model, ids, 4).mean(dim=0)
    model.save_pretrained(folder / "checkpoints" / "epoch1")
    write_predictions(folder / "predictions.tsv", score(model, ids, 4), LABELS[task], kind.PROBLEM)
    write_lines(folder / "test.review", TEXTS)
    write_json(folder / "selected.json", {"epoch": 1})
    run = {"protocol": DROPOUTS | {"head": "new"}, "versions": {"torch": "2"}, "n_train": 40, "n_valid": 20}
    write_json(folder / "run.json", run | {"total_updates": 50, "precision": "float32"})
    rows = read_tsv(folder / "predictions.tsv")
    right = sum(row["label"] == row["prediction"] for row in rows) if kind.COUNTED else None
    row = ARM | {"seed": 2, "best_epoch": 1, "best_update": 5, "measure": kind.MEASURE, "valid_score": 0.7125}
    row |= {"n_correct_test": right, "test_accuracy": None if right is None else right / 4, "test_score": 0.6875}
    row |= {"valid_accuracy": None if right is None else 0.5, "n_test": 4, "n_valid": 20, "total_updates": 50}
    write_tsv(folder / "runs.tsv", [row], tuple(row))
    write_tsv(folder / "test_accuracy.tsv", [ARM | {"mean": 0.625}], [*ARM, "mean"])
    summary = ARM | {"n_seeds": 3, "mean": 0.625, "sd_ddof1": 0.03, "t_low": 0.5, "t_high": 0.75, "n_learned": 3}
    write_tsv(folder / "arms.tsv", [summary | {"note": None}], [*summary, "note"])
    counts = kind.counts(LABELS[task], len(classes))
    manifest = {"source": "table", "task": task, "synthetic": False, "labels": classes, "files": {}}
    manifest |= {"splits": dict.fromkeys(("train", "valid", "test"), {"n": 4, "sha256_review": "5" * 64} | counts)}
    overlaps = {"train_test": 0, "train_valid": 0, "valid_test": 0}
    write_json(folder / "manifest.json", manifest | {"identical_reviews": overlaps})
    return classes


def export(folder, classes):
    """Export the run; return its folder."""
    names = ("selected.json", "run.json", "runs.tsv", "test_accuracy.tsv", "arms.tsv", "manifest.json")
    files = {name.partition(".")[0]: str(folder / name) for name in (*names, "predictions.tsv", "checkpoints")}
    files |= {"reviews": str(folder / "test.review"), "converted": str(folder / "converted")}
    files["template"] = os.path.join(studies.ROOT, "report", "model_card.md.j2")
    start = {"source": "pretrain", "fetch": {"fairseq": {"url": "https://example.org/start.zip"}}}
    run = {"arm": ARM["arm"], "facts": ARM, "seed": 2, "study": "tiny", "start": start, "classes": classes}
    export_model.main(**files, **run, folder=str(folder / "model"), batch_size=2, threads=1)
    return str(folder / "model")


def test_a_model_of_numbers_gives_the_numbers_of_the_run(tmp_path):
    out = export(tmp_path, finished(tmp_path, "regression"))
    classify = pipeline("text-classification", model=out, truncation=True)
    rows = read_tsv(tmp_path / "predictions.tsv")
    given = [answer["score"] for answer in classify(TEXTS)]
    assert given == pytest.approx([float(row["prediction"]) for row in rows], abs=1e-4)
    assert not all(0 < number < 1 for number in given)  # no probabilities
    assert read_json(os.path.join(out, "config.json"))["problem_type"] == "regression"
    card = " ".join(read_lines(os.path.join(out, "README.md")))
    assert (
        "a number for each" in card and "| Pearson's correlation of this model, which leads the study | 0.688 |" in card
    )
    assert "validation Pearson's correlation at the chosen epoch | 0.713, of 20" in card
    assert not re.search("accuracy|majority|probabilit|negative|binomial", card)


def test_a_model_of_sets_gives_the_probabilities_of_the_run(tmp_path):
    out = export(tmp_path, finished(tmp_path, "multilabel"))
    classify = pipeline("text-classification", model=out, truncation=True)
    for answer, row in zip(classify(TEXTS, top_k=None), read_tsv(tmp_path / "predictions.tsv"), strict=True):
        given = {each["label"]: each["score"] for each in answer}
        for k, name in enumerate(NAMES):
            assert given[name] == pytest.approx(float(row[f"probability_of_{k}"]), abs=1e-4)
    assert read_json(os.path.join(out, "config.json"))["problem_type"] == "multi_label_classification"
    card = " ".join(read_lines(os.path.join(out, "README.md")))
    assert "which of 3 labels a text has, any number of them: joy, fear, anger." in card
    assert "accuracy of this model, of whole sets |" in card and "more than the commonest set |" in card
    assert "rarest and commonest label" in card and "majority" not in card and "belongs to" not in card


@pytest.mark.parametrize(("task", "column"), [("regression", "prediction"), ("multilabel", "probability_of_2")])
def test_a_model_that_answers_otherwise_is_no_export(tmp_path, task, column):
    classes = finished(tmp_path, task)
    rows = read_tsv(tmp_path / "predictions.tsv")
    rows[1][column] = str(float(rows[1][column]) + 0.01)
    write_tsv(tmp_path / "predictions.tsv", rows, tuple(rows[0]))
    with pytest.raises(StudyError, match=f"test review 2: the exported model gives {column}"):
        export(tmp_path, classes)
    assert not os.path.exists(tmp_path / "model")
