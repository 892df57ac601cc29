"""runs.tsv and history.tsv from run folders; what each check exists to catch."""

import pytest

import aggregate_runs
import select_checkpoint
from common.errors import StudyError
from common.files import read_json, read_tsv, write_json, write_tsv
from published import PUBLISHED, write_published

CURVE = ("epoch", "update", "split", "metric", "value")


@pytest.fixture
def study(tmp_path):
    """The published runs with their checkpoints selected; a dictionary of path lists."""
    paths = write_published(tmp_path)
    paths["selected"] = [path.replace("history.tsv", "selected.json") for path in paths["histories"]]
    for history, selected in zip(paths["histories"], paths["selected"], strict=True):
        select_checkpoint.main(history, selected)
    paths["test_curves"] = []
    return paths


def run(tmp_path, study):
    runs, history = tmp_path / "runs.tsv", tmp_path / "history.tsv"
    aggregate_runs.main(
        study["runs"],
        study["selected"],
        study["histories"],
        study["predictions"],
        study["test_curves"],
        tmp_path / "data" / "manifest.json",
        runs,
        history,
        "published",
    )
    return read_tsv(runs), read_tsv(history)


def edit(path, **changes):
    write_json(path, read_json(path) | changes)


def test_every_run_has_its_row_with_the_accuracy_counted_from_predictions(tmp_path, study):
    rows, _ = run(tmp_path, study)
    published = [(*arm, str(seed), *values) for arm, seeds in PUBLISHED.items() for seed, values in seeds.items()]
    assert len(rows) == len(published) == 9
    for row, (framework, init, seed, test, valid, update) in zip(rows, published, strict=True):
        assert (row["framework"], row["init"], row["seed"]) == (framework, init, seed)
        assert float(row["test_accuracy"]) == pytest.approx(test / 100, abs=1e-12)
        assert int(row["n_correct_test"]) == round(test * 20)  # 2 000 examples
        assert float(row["valid_accuracy"]) == pytest.approx(valid / 100, abs=1e-12)
        assert int(row["best_update"]) == update
        assert int(row["best_epoch"]) == update // 225
        assert (row["n_train"], row["n_valid"], row["n_test"]) == ("1800", "200", "2000")
        assert row["synthetic"] == "false"
        assert (row["study"], row["total_updates"], row["train_seconds"]) == ("published", "1125", "")


def test_history_is_long_whole_and_unrounded(tmp_path, study):
    _, rows = run(tmp_path, study)
    assert len(rows) == 9 * 5 * 5  # runs x epochs x metrics
    assert list(rows[0]) == ["framework", "init", "seed", "epoch", "update", "split", "metric", "value"]
    source = read_tsv(study["histories"][0])
    assert [row["value"] for row in rows[: len(source)]] == [row["value"] for row in source]


def test_test_curves_join_the_history_but_never_the_accuracy(tmp_path, study):
    before, _ = run(tmp_path, study)
    for path in study["histories"]:
        curve = path.replace("history.tsv", "test_curve.tsv")
        points = [(epoch, 225 * epoch, "test", "accuracy", 0.99) for epoch in range(1, 6)]
        write_tsv(curve, [dict(zip(CURVE, point, strict=True)) for point in points], CURVE)
        study["test_curves"].append(curve)
    after, history = run(tmp_path, study)
    assert after == before
    assert sum(row["split"] == "test" for row in history) == 9 * 5


def test_the_order_of_the_lists_does_not_matter(tmp_path, study):
    before = run(tmp_path, study)
    for kind in ("selected", "histories", "predictions"):
        study[kind].reverse()
    assert run(tmp_path, study) == before


def test_other_test_labels_are_an_error_naming_the_run(tmp_path, study):
    path = study["predictions"][4]
    rows = read_tsv(path)
    rows[7]["label"] = "0"  # example 7 is positive
    write_tsv(path, rows, tuple(rows[0]))
    with pytest.raises(StudyError, match="fairseq/random/seed2.*id 7"):
        run(tmp_path, study)
    write_tsv(path, rows[:7], tuple(rows[0]))
    with pytest.raises(StudyError, match="fairseq/random/seed2.*7 instead of 2000"):
        run(tmp_path, study)


def test_a_missing_file_is_an_error_naming_the_run(tmp_path, study):
    for kind, what in (("selected", "selected.json"), ("histories", "history.tsv"), ("predictions", "predictions")):
        whole = study[kind]
        study[kind] = whole[:-1]
        with pytest.raises(StudyError, match=f"huggingface/pretrained/seed3 has no {what}"):
            run(tmp_path, study)
        study[kind] = whole
    study["runs"] = study["runs"][1:]
    with pytest.raises(StudyError, match="fairseq/pretrained/seed1 .*no run.json"):
        run(tmp_path, study)


def test_partial_test_curves_are_an_error(tmp_path, study):
    curve = study["histories"][0].replace("history.tsv", "test_curve.tsv")
    write_tsv(curve, [dict(zip(CURVE, (1, 225, "test", "accuracy", 0.5), strict=True))], CURVE)
    study["test_curves"] = [curve]
    with pytest.raises(StudyError, match="fairseq/pretrained/seed2 has no test_curve.tsv"):
        run(tmp_path, study)


def test_test_rows_in_a_training_history_are_an_error(tmp_path, study):
    path = study["histories"][0]
    rows = read_tsv(path)
    write_tsv(path, rows + [rows[0] | {"split": "test"}], CURVE)
    with pytest.raises(StudyError, match="seed1/history.tsv holds rows of split test"):
        run(tmp_path, study)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"seed": 9}, "fairseq/random/seed2: its run.json says fairseq/random/seed9"),
        ({"n_train": 1600}, "fairseq/random/seed2 has n_train 1600"),
        ({"n_valid": 400}, "fairseq/random/seed2: its validation accuracy 0.65 is not 130 of 400"),
    ],
)
def test_a_run_that_contradicts_itself_or_the_others_is_named(tmp_path, study, changes, message):
    edit(study["runs"][4], **changes)
    with pytest.raises(StudyError) as raised:
        run(tmp_path, study)
    assert message in str(raised.value)


@pytest.mark.parametrize(
    ("column", "value", "message"),
    [
        ("id", "3", "line 2: id 3 where 0"),
        ("label", "2", "line 2: label '2'"),
        ("prediction", "", "line 2: prediction ''"),
        ("probability", "1.5", "line 2: probability '1.5'"),
        ("probability", "nan", "line 2: probability 'nan'"),
        ("probability", "", "line 2: probability ''"),
    ],
)
def test_a_bad_prediction_names_file_and_line(tmp_path, study, column, value, message):
    path = study["predictions"][0]
    rows = read_tsv(path)
    rows[0][column] = value
    write_tsv(path, rows, tuple(rows[0]))
    with pytest.raises(StudyError) as raised:
        run(tmp_path, study)
    assert "seed1.tsv" in str(raised.value) and message in str(raised.value)
