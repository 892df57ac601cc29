"""runs.tsv and history.tsv from run folders; what each check exists to catch."""

import hashlib

import pytest

from analysis import aggregate_runs
from common.arms import ARM
from common.errors import StudyError
from common.files import read_json, read_tsv, write_json, write_tsv
from finetuning import select_checkpoint
from finetuning.seals import write_seal
from support import studies
from support.published import PUBLISHED, write_published

CURVE = ("epoch", "update", "split", "metric", "value")


@pytest.fixture
def study(tmp_path):
    """The published runs with their checkpoints selected; a dictionary of path lists."""
    paths = write_published(tmp_path)
    paths["selected"] = [path.replace("history.tsv", "selected.json") for path in paths["histories"]]
    for history, selected in zip(paths["histories"], paths["selected"], strict=True):
        write_json(selected, select_checkpoint.choose(history))
    paths["test_curves"] = []
    return paths


def run(tmp_path, study, subsets=None):
    runs, history = tmp_path / "runs.tsv", tmp_path / "history.tsv"
    aggregate_runs.main(
        study["records"],
        study["selected"],
        study["histories"],
        study["predictions"],
        study["test_curves"],
        tmp_path / "data" / "manifest.json",
        runs,
        history,
        "published",
        subsets,
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


def test_a_run_that_stopped_early_is_whole_and_has_its_updates(tmp_path, study):
    # 1,125 updates are what all five epochs have; the schedule of this run was laid out over ten.
    edit(study["records"][0], total_updates=2250, stopped={"epoch": 5, "update": 1125})
    rows, _ = run(tmp_path, study)
    assert {row["total_updates"] for row in rows} == {"1125"}
    edit(study["records"][0], stopped={"epoch": 4, "update": 900})
    with pytest.raises(StudyError, match="history.tsv, line 31: ends at update 1125 of 900"):
        run(tmp_path, study)


def test_history_is_long_whole_and_unrounded(tmp_path, study):
    _, rows = run(tmp_path, study)
    assert len(rows) == 9 * 5 * 6  # runs x epochs x metrics
    assert list(rows[0]) == [
        *ARM,
        *("seed", "epoch", "update", "split", "metric", "value"),
    ]
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
    with pytest.raises(StudyError, match="fairseq-random/seed2.*id 7"):
        run(tmp_path, study)
    write_tsv(path, rows[:7], tuple(rows[0]))
    with pytest.raises(StudyError, match="fairseq-random/seed2.*7 instead of 2000"):
        run(tmp_path, study)


def test_a_missing_file_is_an_error_naming_the_run(tmp_path, study):
    for kind, what in (("selected", "selected.json"), ("histories", "history.tsv"), ("predictions", "predictions")):
        whole = study[kind]
        study[kind] = whole[:-1]
        with pytest.raises(StudyError, match=f"huggingface-pretrained/seed3 has no {what}"):
            run(tmp_path, study)
        study[kind] = whole
    study["records"] = study["records"][1:]
    with pytest.raises(StudyError, match="fairseq-pretrained/seed1 .*no run.json"):
        run(tmp_path, study)


def test_partial_test_curves_are_an_error(tmp_path, study):
    curve = study["histories"][0].replace("history.tsv", "test_curve.tsv")
    write_tsv(curve, [dict(zip(CURVE, (1, 225, "test", "accuracy", 0.5), strict=True))], CURVE)
    study["test_curves"] = [curve]
    with pytest.raises(StudyError, match="fairseq-pretrained/seed2 has no test_curve.tsv"):
        run(tmp_path, study)


def test_test_rows_in_a_training_history_are_an_error(tmp_path, study):
    path = study["histories"][0]
    rows = read_tsv(path)
    write_tsv(path, rows + [rows[0] | {"split": "test"}], CURVE)
    with pytest.raises(StudyError, match="seed1/history.tsv holds rows of split test"):
        run(tmp_path, study)


def test_an_arm_of_a_subset_is_held_to_its_own_number_of_reviews(tmp_path, study):
    for path in study["records"][:3]:
        edit(path, n_train=300)
    arm = read_json(study["records"][0])["arm"]
    rows, _ = run(tmp_path, study, {arm: 300})
    assert [row["n_train"] for row in rows] == ["300"] * 3 + ["1800"] * 6
    with pytest.raises(StudyError, match="trained with 300 reviews of train, its arm's n_train is 400"):
        run(tmp_path, study, {arm: 400})


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"seed": 9}, "fairseq-random/seed2: its run.json says fairseq-random/seed9"),
        ({"n_train": 1600}, "fairseq-random/seed2/run.json, line 12: trained with 1600 reviews of train"),
        ({"n_valid": 400}, "fairseq-random/seed2/run.json, line 13: trained with 400 reviews of valid"),
        ({"total_updates": 900}, "fairseq-random/seed2/history.tsv, line 31: ends at update 1125 of 900"),
        (
            {"warmup_updates": 9, "protocol": {"warmup_updates": 67}},
            "warmup_updates is 9, under `protocol` 67",
        ),
        ({"settings_sha256": "a" * 64}, "line 17: trained with other settings (aaaaaaaaaaaa) than"),
    ],
)
def test_a_run_that_contradicts_itself_or_the_others_is_named(tmp_path, study, changes, message):
    for record in study["records"]:
        edit(record, settings_sha256="b" * 64)
    edit(study["records"][4], **changes)
    with pytest.raises(StudyError) as raised:
        run(tmp_path, study)
    assert message in str(raised.value)


@pytest.mark.parametrize(
    ("column", "value", "message"),
    [
        ("id", "3", "line 2: id '3' is not the number of the example"),
        ("label", "2", "line 2: label '2'"),
        ("prediction", "", "line 2: prediction ''"),
        ("prediction", "1", "line 2: prediction '1' is not the more probable class"),
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


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"epoch": 3}, "line 2: epoch is 3, by "),
        ({"n_correct": 131}, "line 3: n_correct is 131, by "),
        ({"n_equal": 2}, "line 4: n_equal is 2, by "),
        ({"update": 451}, "line 6: update is 451, by "),
        ({"valid_accuracy": 0.655}, "line 7: valid_accuracy is 0.655, by "),
    ],
)
def test_a_selection_that_is_not_the_historys_is_named(tmp_path, study, changes, message):
    edit(study["selected"][4], **changes)
    with pytest.raises(StudyError) as raised:
        run(tmp_path, study)
    assert f"fairseq-random/seed2/selected.json, {message}" in str(raised.value)
    assert "fairseq-random/seed2/history.tsv" in str(raised.value)


def test_an_edited_history_is_named(tmp_path, study):
    path = study["histories"][4]
    rows = read_tsv(path)
    kinds = [(row["split"], row["metric"]) for row in rows]
    place = kinds.index(("valid", "accuracy"))
    rows[place]["value"] = "0.7"  # epoch 1: (130 - 3) of 200 are right
    write_tsv(path, rows, CURVE)
    with pytest.raises(
        StudyError, match=f"history.tsv, line {place + 2}: the accuracy on valid is 0.7, not 127 of 200"
    ):
        run(tmp_path, study)


def test_predictions_of_other_data_are_named(tmp_path, study):
    manifest = tmp_path / "data" / "manifest.json"
    content = read_json(manifest)
    labels = "".join(f"{row['label']}\n" for row in read_tsv(study["predictions"][0]))
    content["splits"]["test"]["sha256_label"] = hashlib.sha256(labels.encode()).hexdigest()
    write_json(manifest, content)
    run(tmp_path, study)
    content["splits"]["test"]["sha256_label"] = hashlib.sha256(labels[2:].encode()).hexdigest()
    write_json(manifest, content)
    with pytest.raises(StudyError, match="seed1.tsv: the labels.*are not those of the data"):
        run(tmp_path, study)
    content["splits"]["test"]["n"] = 1999
    write_json(manifest, content)
    with pytest.raises(StudyError, match="seed1.tsv, line 2001: every run has 2000 predictions.* 1999 reviews"):
        run(tmp_path, study)


def test_the_records_of_the_published_study_are_accepted(tmp_path):
    """They give the published rows."""
    home = studies.published("open")
    published = read_tsv(f"{home}/runs.tsv")
    found = [(row["arm"], row["seed"]) for row in published]
    places = [f"{home}/finetuning/{arm}/seed{seed}" for arm, seed in found]
    aggregate_runs.main(
        [f"{place}/run.json" for place in places],
        [f"{place}/selected.json" for place in places],
        [f"{place}/history.tsv" for place in places],
        [f"{home}/predictions/{arm}/seed{seed}.tsv" for arm, seed in found],
        [f"{place}/test_curve.tsv" for place in places],
        f"{home}/data/manifest.json",
        tmp_path / "runs.tsv",
        tmp_path / "history.tsv",
        "open",
    )
    assert read_tsv(tmp_path / "runs.tsv") == published


def test_files_that_are_not_those_of_their_evaluation_are_refused_by_name(tmp_path, study):
    """Every file that a seal binds; the seals are those of the files as they were evaluated."""
    seals = [path.replace(".tsv", ".json") for path in study["predictions"]]
    kinds = {"predictions": "predictions", "record": "records", "history": "histories", "selected": "selected"}
    for place, seal in enumerate(seals):
        write_seal(seal, **{name: study[kind][place] for name, kind in kinds.items()})
    files = [study[kind] for kind in ("records", "selected", "histories", "predictions", "test_curves")]
    written = (tmp_path / "data" / "manifest.json", tmp_path / "runs.tsv", tmp_path / "history.tsv", "published")
    aggregate_runs.main(*files, *written, seals=seals)
    for kind in kinds.values():
        first, second = ((tmp_path / path) for path in study[kind][:2])
        kept = first.read_bytes()
        first.write_bytes(second.read_bytes())
        with pytest.raises(StudyError, match="seed1.* is not the file that the evaluation of run .*remove"):
            aggregate_runs.main(*files, *written, seals=seals)
        first.write_bytes(kept)
    with pytest.raises(StudyError, match="huggingface-pretrained/seed3 has no seal"):
        aggregate_runs.main(*files, *written, seals=seals[:-1])


def test_the_seed_of_its_pretraining_is_shown_although_it_is_the_runs_own():
    records = [{"seed": 1, "checkpoint_seed": 1}, {"seed": 2, "checkpoint_seed": 2}, {"seed": 1}]
    assert aggregate_runs.source_seeds(records) == [
        {"checkpoint_seed": 1},
        {"checkpoint_seed": 2},
        {"checkpoint_seed": None},
    ]
    # The default leaves its columns out.
    assert aggregate_runs.source_seeds([{"seed": 1, "init_seed": 1}, {"seed": 2, "init_seed": 2}]) == [{}, {}]
