"""The tie rule, by hand and on the published runs."""

import pytest

import select_checkpoint
from common.errors import StudyError
from common.files import read_json, write_json, write_tsv
from common.selection import earliest_best, validation_points
from published import PUBLISHED, UPDATES_PER_EPOCH, write_published

COLUMNS = ("epoch", "update", "split", "metric", "value")


def history(path, counts, n=200):
    rows = []
    for epoch, count in enumerate(counts, start=1):
        for metric, value in (("loss", 0.5), ("accuracy", count / n), ("n_correct", count)):
            rows.append({"epoch": epoch, "update": 10 * epoch, "split": "valid", "metric": metric, "value": value})
        rows.append({"epoch": epoch, "update": 10 * epoch, "split": "train", "metric": "accuracy", "value": 1.0})
    write_tsv(path, rows, COLUMNS)
    return str(path)


@pytest.mark.parametrize(
    ("counts", "epoch", "n_equal"),
    [
        ([150, 160, 155, 160, 159], 2, 2),  # 160 twice: the earlier of epochs 2 and 4
        ([150, 150, 150], 1, 3),
        ([150, 151, 152], 3, 1),
        ([0], 1, 1),
    ],
)
def test_the_earliest_of_equals_is_chosen(tmp_path, counts, epoch, n_equal):
    selected = tmp_path / "selected.json"
    select_checkpoint.main(history(tmp_path / "history.tsv", counts), selected)
    record = read_json(selected)
    assert (record["epoch"], record["update"], record["n_correct"]) == (epoch, 10 * epoch, counts[epoch - 1])
    assert record["valid_accuracy"] == counts[epoch - 1] / 200
    assert record["n_equal"] == n_equal
    assert record["rule"] == "earliest of equals"


def test_the_chosen_weights_are_kept_and_no_others(tmp_path):
    (tmp_path / "fairseq").mkdir()
    for epoch in (1, 2):
        (tmp_path / "fairseq" / f"checkpoint{epoch}.pt").write_text(f"weights of epoch {epoch}")
        (tmp_path / "huggingface" / f"epoch{epoch}").mkdir(parents=True)
        (tmp_path / "huggingface" / f"epoch{epoch}" / "model.safetensors").write_text(f"weights of epoch {epoch}")
    write_json(tmp_path / "selected.json", {"epoch": 2})
    for framework, name in (("fairseq", "checkpoint2.pt"), ("huggingface", "epoch2/model.safetensors")):
        kept = tmp_path / f"{framework}-selected"
        select_checkpoint.keep_weights(tmp_path / framework, tmp_path / "selected.json", kept)
        files = [path for path in kept.rglob("*") if path.is_file()]
        assert files == [kept / name] and files[0].read_text() == "weights of epoch 2"


def test_a_chosen_epoch_without_weights_is_an_error(tmp_path):
    write_json(tmp_path / "selected.json", {"epoch": 2})
    with pytest.raises(StudyError, match="holds no checkpoint of epoch 2: train this run again"):
        select_checkpoint.keep_weights(tmp_path, tmp_path / "selected.json", tmp_path / "selected")
    assert not (tmp_path / "selected").exists()


def test_counts_decide_where_rounded_accuracies_differ():
    # The same 160 of 200, logged as 0.8 and as 0.80000001: still equals, so the earlier epoch.
    points = [
        {"epoch": 1, "update": 1, "n_correct": 160, "accuracy": 0.8},
        {"epoch": 2, "update": 2, "n_correct": 160, "accuracy": 0.80000001},
    ]
    assert earliest_best(points)["epoch"] == 1


def test_epochs_are_compared_as_numbers_not_in_file_order():
    rows = [
        {"epoch": epoch, "update": epoch, "split": "valid", "metric": metric, "value": value}
        for epoch in ("10", "9")
        for metric, value in (("accuracy", "0.5"), ("n_correct", "5"))
    ]
    assert [point["epoch"] for point in validation_points(rows, "history.tsv")] == [9, 10]


def test_the_published_updates_are_selected(tmp_path):
    write_published(tmp_path)
    for (framework, init), seeds in PUBLISHED.items():
        chosen = []
        for seed in seeds:
            home = tmp_path / "sentiment" / framework / init / f"seed{seed}"
            select_checkpoint.main(str(home / "history.tsv"), str(home / "selected.json"))
            chosen.append(read_json(home / "selected.json")["update"])
        if framework == "fairseq":  # Hugging Face's are not published
            assert chosen == {"pretrained": [1125, 675, 900], "random": [900, 450, 1125]}[init]
        assert all(update % UPDATES_PER_EPOCH == 0 for update in chosen)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([], "no validation results"),
        ([("1", "5", "valid", "accuracy", "0.5")], "epoch 1 has no validation n_correct"),
        ([("1", "5", "valid", "n_correct", "5")], "epoch 1 has no validation accuracy"),
        ([("1", "5", "valid", "n_correct", "5"), ("1", "5", "valid", "n_correct", "6")], "line 3: epoch 1 has two"),
        ([("1", "5", "valid", "n_correct", "5"), ("1", "6", "valid", "accuracy", "0.5")], "line 3: epoch 1 has two"),
        ([("1", "5", "valid", "n_correct", "5.5")], "line 2: '5.5' is not a whole number"),
        ([("1", "5", "valid", "accuracy", "")], "line 2"),
    ],
)
def test_a_broken_history_names_the_file_and_writes_nothing(tmp_path, rows, message):
    path = tmp_path / "history.tsv"
    write_tsv(path, [dict(zip(COLUMNS, row, strict=True)) for row in rows], COLUMNS)
    with pytest.raises(StudyError, match="history.tsv") as raised:
        select_checkpoint.main(str(path), tmp_path / "selected.json")
    assert message in str(raised.value)
    assert not (tmp_path / "selected.json").exists()
