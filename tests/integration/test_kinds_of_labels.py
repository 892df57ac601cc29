"""Numbers for pairs of texts, and sets of labels: from a table to predictions, measures and page."""

import csv
import json

import numpy as np
import pytest
from scipy.stats import pearsonr
from sklearn.metrics import f1_score

from common.files import read_json, read_lines, read_tsv
from support import studies
from support.encoders import write_encoder

pytestmark = [pytest.mark.integration, pytest.mark.slow, pytest.mark.timeout(1800)]

LABELS = ["bon", "long", "facile"]
WORDS = {"bon": "bon livre", "long": "très pénible", "facile": "facile à lire"}
ARM = {"framework": "huggingface", "model": "theirs", "init": "pretrained"}
ARMS = {"whole": ARM, "frozen": ARM | {"freeze": "encoder"}, "lora": ARM | {"lora": {"r": 2, "lora_alpha": 4}}}


def pairs(first, n):
    """n pairs with a number each: more where both have more words."""
    return [(f"livre {'bon ' * (k % 5)}numéro {k}", f"un livre {k}", 1 + k % 5 / 2) for k in range(first, first + n)]


def sets(first, n):
    """n texts with the labels whose words they have; every eighth has none."""
    found = []
    for k in range(first, first + n):
        own = [label for bit, label in enumerate(LABELS) if k >> bit & 1]
        found.append((f"numéro {k} {' '.join(WORDS[label] for label in own)}", "|".join(own)))
    return found


KINDS = {
    "regression": (pairs, ["a", "b", "label"], {"text": "a", "second": "b"}, {"measures": ["spearman", "rmse"]}, {}),
    "multilabel": (
        sets,
        ["text", "label"],
        {"text": "text"},
        {"measures": ["micro_f1", "subset_accuracy"]},
        {"labels": LABELS},
    ),
}


def write_kind(folder, kind):
    """Write tables, model and study file of a kind; return the file."""
    rows, header, columns, finetuning, data = KINDS[kind]
    for split, first, n in (("train", 0, 60), ("test", 100, 24)):
        with open(folder / f"{split}.csv", "w", encoding="utf-8", newline="") as handle:
            csv.writer(handle).writerows([header, *rows(first, n)])
    write_encoder(folder / "theirs", "bert")
    table = {"train": "train.csv", "test": "test.csv", "label": "label"} | columns
    changes = {
        "data": {"source": "table", "task": kind, "n_train": None, "n_valid": 16, "table": table} | data,
        "questions": [{"ask": "Does the encoder help?", "compare": ["whole", "frozen"]}],
        "finetuning": {
            "seeds": [1, 2],
            "models": {"theirs": {"folder": str(folder / "theirs")}},
            "arms": ARMS,
            "training": {"lr": 1e-3},
            "evaluation": {"test_curves": False},
        }
        | finetuning,
    }
    return studies.write_study(folder / "study.yaml", changes)


@pytest.fixture(scope="module", params=list(KINDS))
def kind(request):
    return request.param


@pytest.fixture(scope="module")
def results(kind, tmp_path_factory):
    folder = tmp_path_factory.mktemp(kind)
    done = studies.snakemake(folder, study=write_kind(folder, kind))
    assert done.returncode == 0, done.output
    return folder / "results" / "tiny"


def test_scores_are_those_of_the_predictions(results, kind):
    scores = {
        (row["arm"], row["seed"], row["measure"]): float(row["score"])
        for row in read_tsv(results / "measures" / "runs.tsv")
    }
    assert {arm for arm, *_ in scores} == set(ARMS)
    for arm in ARMS:
        rows = read_tsv(results / "predictions" / arm / "seed2.tsv")
        assert [row["label"] for row in rows] == read_lines(results / "data" / "test.label")
        labels, answers = ([row[name] for row in rows] for name in ("label", "prediction"))
        if kind == "regression":
            assert list(rows[0]) == ["id", "label", "prediction"]
            labels, answers = (np.array(side, dtype=float) for side in (labels, answers))
            wanted = {"rmse": float(np.sqrt(np.mean((labels - answers) ** 2)))}
            (row,) = [row for row in read_tsv(results / "runs.tsv") if (row["arm"], row["seed"]) == (arm, "2")]
            assert float(row["test_score"]) == pytest.approx(pearsonr(labels, answers).statistic, abs=1e-9)
            assert row["test_accuracy"] == ""
        else:
            labels, answers = (np.array([list(map(int, bits)) for bits in side]) for side in (labels, answers))
            given = np.array([[float(row[f"probability_of_{k}"]) for k in range(3)] for row in rows])
            assert ((given >= 0.5) == answers).all()
            wanted = {"micro_f1": f1_score(labels, answers, average="micro", zero_division=0)}
        for name, value in wanted.items():
            assert scores[arm, "2", name] == pytest.approx(value, abs=1e-12)


def test_the_leading_measure_chose_the_epoch(results, kind):
    name = {"regression": "pearson", "multilabel": "macro_f1"}[kind]
    selected = read_json(results / "finetuning" / "whole" / "seed1" / "selected.json")
    history = [
        row for row in read_tsv(results / "finetuning" / "whole" / "seed1" / "history.tsv") if row["split"] == "valid"
    ]
    values = {int(row["epoch"]): float(row["value"]) for row in history if row["metric"] == name}
    assert len(values) == 2 and selected["epoch"] == max(values, key=lambda epoch: (values[epoch], -epoch))


def test_the_saved_model_says_what_it_gives(results, kind):
    (path,) = (results / "finetuning" / "lora" / "seed1" / "selected").glob("epoch*/config.json")
    config = json.loads(path.read_text(encoding="utf-8"))
    assert config["problem_type"] == {"regression": "regression", "multilabel": "multi_label_classification"}[kind]
    assert kind == "regression" or list(config["id2label"].values()) == LABELS


def test_the_page_has_the_sections_that_fit(results, kind):
    page = (results / "report.html").read_text(encoding="utf-8")
    here, gone = {
        "regression": ("Numbers answered, by label", "Each label on test"),
        "multilabel": ("Each label on test", "Numbers answered"),
    }[kind]
    assert here in page and gone not in page and "Confusion of each arm" not in page
    # No test says which runs of numbers learnt; no one answer has a calibration; the study states nothing.
    assert ("Runs that learnt" in page) == (kind == "multilabel")
    assert "Calibration of Modern" not in page and "Claims, checked" not in page
    (row,) = read_tsv(results / "questions.tsv")
    assert row["measure"] == {"regression": "pearson", "multilabel": "macro_f1"}[kind]
