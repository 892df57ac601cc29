"""Where runs go wrong: each table by hand, and the figures' files."""

import json
from pathlib import Path

import numpy as np
import pandas
import pytest
from matplotlib import pyplot

from analysis import measure_errors
from analysis.error_figures import confusions, lengths
from common.errors import StudyError
from common.files import read_lines, read_tsv, write_json, write_lines, write_tsv

TABLES = ("confusion", "calibration", "by_length", "agreement", "runs", "counts")
LABELS = [0, 0, 1, 1]
# Two seeds of one arm: answers and probabilities of class 1. Seed 1 errs on review 1, seed 2 on reviews 1 and 2.
GIVEN = {"1": ([0, 1, 1, 1], [0.1, 0.7, 0.8, 0.9]), "2": ([0, 1, 0, 1], [0.4, 0.95, 0.3, 0.55])}
TEXTS = ["un", "deux mots", "trois mots ici", "quatre mots en tout"]


def measured(folder, given=GIVEN, texts=TEXTS, show=False, classes=2, labels=LABELS, names=None, **facts):
    """Run the script on the runs of one arm; return its paths by name."""
    paths = []
    for seed, (answers, probabilities) in given.items():
        rows = [
            {"id": i, "label": label, "prediction": answer}
            | ({"probability": p} if classes == 2 else {f"probability_{k}": q for k, q in enumerate(p)})
            for i, (label, answer, p) in enumerate(zip(labels, answers, probabilities, strict=True))
        ]
        paths.append(str(folder / f"seed{seed}.tsv"))
        write_tsv(paths[-1], rows, tuple(rows[0]))
    write_lines(folder / "test.review", texts)
    write_json(folder / "manifest.json", {"synthetic": False, "source": "cls_books_zip"} | facts)
    made = {name: str(folder / f"{name}.tsv") for name in TABLES} | {"hard": str(folder / "hardest.jsonl")}
    figures = ("confusion", "agreement", "calibration", "by_length")
    svgs, pngs = ([str(folder / f"{name}.{ending}") for name in figures] for ending in ("svg", "png"))
    keys = [("fairseq-random", seed) for seed in given]
    measure_errors.main(
        paths,
        str(folder / "test.review"),
        str(folder / "manifest.json"),
        keys,
        show,
        None,
        names,
        svgs=svgs,
        pngs=pngs,
        **made,
    )
    return made | {"svgs": svgs, "pngs": pngs}


def test_figures_have_the_labels_names_for_readers(tmp_path, monkeypatch):
    drawn = []
    monkeypatch.setattr(
        measure_errors.error_figures, "draw", lambda tables, manifest, *others: drawn.append(manifest["labels"])
    )
    monkeypatch.setattr(measure_errors, "read_json", lambda path: {"source": "table", "labels": ["0", "1"]})
    measured(tmp_path, names={"1": "good"})
    measured(tmp_path)
    assert drawn == [["0", "good"], ["0", "1"]]


def test_confusion_and_agreement_by_hand(tmp_path):
    made = measured(tmp_path)
    rows = {
        (r["seed"], r["label"], r["prediction"]): (r["n_reviews"], float(r["share"]))
        for r in read_tsv(made["confusion"])
    }
    assert rows["1", "0", "0"] == ("1", 0.5) and rows["1", "0", "1"] == ("1", 0.5) and rows["1", "1", "1"] == ("2", 1.0)
    assert rows["2", "1", "0"] == ("1", 0.5) and len(rows) == 8
    shares = {(r["seed_a"], r["seed_b"]): float(r["share"]) for r in read_tsv(made["agreement"])}
    # They differ on review 2 alone.
    assert shares == {("1", "1"): 1.0, ("1", "2"): 0.75, ("2", "1"): 0.75, ("2", "2"): 1.0}
    # No run is right on review 1, one on review 2, both on 0 and 3.
    assert [(r["n_right"], r["n_reviews"]) for r in read_tsv(made["counts"])] == [("0", "1"), ("1", "1"), ("2", "2")]


def test_calibration_by_hand(tmp_path):
    made = measured(tmp_path)
    # Probabilities of the answers of seed 1: 0.9, 0.7, 0.8, 0.9, right but for the second; bins of 0.05 from 0.5:
    # |0.7 - 0| / 4 + |0.8 - 1| / 4 + |0.9 - 1| * 2 / 4 = 0.175 + 0.05 + 0.05
    first, second = read_tsv(made["runs"])
    assert float(first["calibration_error"]) == pytest.approx(0.275) and float(first["confidence"]) == pytest.approx(
        0.825
    )
    # Seed 2: 0.6 right, 0.95 wrong, 0.7 wrong, 0.55 right: (0.4 + 0.95 + 0.7 + 0.45) / 4
    assert float(second["calibration_error"]) == pytest.approx(0.625) and second["n_wrong"] == "2"
    bins = read_tsv(made["calibration"])
    assert [row["n_answers"] for row in bins] == ["1", "1", "0", "2", "0", "1", "0", "2", "1", "0"]
    assert float(bins[3]["confidence"]) == pytest.approx(0.7) and float(bins[3]["accuracy"]) == 0.0
    assert bins[2]["confidence"] == bins[2]["accuracy"] == ""


def test_the_error_of_a_calibrated_run_is_small():
    generator = np.random.default_rng(5)
    sure = generator.uniform(0.5, 1, 200_000)
    right = (generator.uniform(size=len(sure)) < sure).astype(float)
    assert measure_errors.calibration_error(sure, right, 2) < 0.01
    assert measure_errors.calibration_error(sure, 0 * right, 2) == pytest.approx(sure.mean())


def test_accuracy_by_length_by_hand(tmp_path):
    rows = read_tsv(measured(tmp_path)["by_length"])
    # Four lengths: four groups of one review each; review 2 is right in one of two runs.
    assert [(row["bin_low"], row["bin_high"], float(row["mean"])) for row in rows] == [
        ("1", "1", 1.0), ("2", "2", 0.0), ("3", "3", 0.5), ("4", "4", 1.0),
    ]  # fmt: skip
    assert (float(rows[2]["min"]), float(rows[2]["max"])) == (0.0, 1.0)
    (one,) = read_tsv(measured(tmp_path, texts=["trois mots ici"] * 4)["by_length"])
    assert one["n_reviews"] == "4" and float(one["mean"]) == 0.625


def test_texts_without_blanks_are_measured_in_characters(tmp_path):
    made = measured(tmp_path, texts=["好", "不好", "很 好看", "這本書很好看"], length_unit="characters")
    assert [(row["bin_low"], row["bin_high"]) for row in read_tsv(made["by_length"])] == [
        ("1", "1"), ("2", "2"), ("3", "3"), ("6", "6"),
    ]  # fmt: skip
    hard = [json.loads(line) for line in read_lines(made["hard"])]
    assert [row["characters"] for row in hard] == [2, 3] and "words" not in hard[0]
    drawing = Path(made["svgs"][3]).read_text(encoding="utf-8")
    assert "characters in the review" in drawing and "words in the review" not in drawing
    drawing = Path(measured(tmp_path)["svgs"][3]).read_text(encoding="utf-8")
    assert "words in the review" in drawing


def test_the_hardest_reviews_come_first_and_their_words_only_where_wanted(tmp_path):
    hidden = [json.loads(line) for line in read_lines(measured(tmp_path)["hard"])]
    assert [(row["id"], row["n_wrong"], row["words"]) for row in hidden] == [(1, 2, 2), (2, 1, 3)]
    # The right class of review 1 is 0: 1 - 0.7 and 1 - 0.95.
    assert hidden[0]["probability_of_label"]["fairseq, random"] == pytest.approx(0.175)
    assert not any("text" in row for row in hidden)
    shown = [json.loads(line) for line in read_lines(measured(tmp_path, show=True)["hard"])]
    assert [row["text"] for row in shown] == ["deux mots", "trois mots ici"]


def test_figures_are_drawn_and_the_same_again(tmp_path):
    made = measured(tmp_path)
    before = [open(path, "rb").read() for path in (*made["svgs"], *made["pngs"])]
    again = measured(tmp_path)
    assert before == [open(path, "rb").read() for path in (*again["svgs"], *again["pngs"])]
    assert all(b"<svg" in drawn for drawn in before[:4]) and all(drawn[:4] == b"\x89PNG" for drawn in before[4:])


def test_reviews_of_another_test_set_are_refused(tmp_path):
    with pytest.raises(StudyError, match="has 3 reviews, the predictions 4: evaluate the runs again"):
        measured(tmp_path, texts=TEXTS[:3])


@pytest.mark.parametrize(("n_right", "n"), [(7, 10), (1, 3), (2, 3), (21, 30), (70, 100), (0, 5), (5, 5)])
def test_a_mean_of_equal_seeds_lies_between_them_and_the_figure_is_drawn(n_right, n):
    """(0.7 + 0.7 + 0.7) / 3 is less than 0.7 in floats, and no error bar may be negative."""
    right = np.array([1.0] * n_right + [0.0] * (n - n_right))
    keys = [("a", str(seed)) for seed in (1, 2, 3)]
    table = measure_errors.measure_by_length(keys, dict.fromkeys(keys, right), np.arange(n) % 2)
    assert all(row["min"] <= row["mean"] <= row["max"] for row in table.to_dict("records"))
    figure = lengths(table.assign(mean=table["min"] - 1e-16), {"a": ("a", "#0072B2")}, {"one": "text", "many": "texts"})
    pyplot.close(figure)


@pytest.mark.parametrize(
    ("n", "shown"),
    [
        (3, ["class 0", "class 1", "class 2"]),
        (24, [f"class {k}" for k in range(24)]),
        (41, ["0", "10", "20", "30", "40"]),
    ],
)
def test_a_confusion_names_its_classes_or_numbers_every_tenth(n, shown):
    names = {str(k): f"class {k}" for k in range(n)}
    table = pandas.DataFrame(
        [{"arm": "a", "seed": "1", "label": k, "prediction": k, "share": "1"} for k in names], dtype=object
    )
    looks = {"a": ("a", "#000000"), "b": ("b", "#000000")}
    figure = confusions(pandas.concat([table, table.assign(arm="b")]), looks, names, {"many": "texts"})
    axes = figure.axes[0]
    # The page shows 5.7 inches: names of 10 points have 6 there at least.
    assert figure.get_size_inches()[0] < 10
    assert [tick.get_text() for tick in axes.get_xticklabels()] == shown
    assert [tick.get_text() for tick in axes.get_yticklabels()] == shown
    assert axes.get_xlabel() == ("answer" if n <= 24 else "answer (number of a class)")
