"""The tie rule, by hand and on the published runs."""

import pytest

from common.errors import StudyError
from common.files import read_json, read_tsv, write_tsv
from finetuning import select_checkpoint
from finetuning.selection import earliest_best, stalled, validation_points
from support.published import PUBLISHED, UPDATES_PER_EPOCH, write_published

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
    record = select_checkpoint.choose(history(tmp_path / "history.tsv", counts))
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
    counts = history(tmp_path / "history.tsv", [150, 160])
    for framework, name in (("fairseq", "checkpoint2.pt"), ("huggingface", "epoch2/model.safetensors")):
        kept, selected = tmp_path / f"{framework}-selected", tmp_path / f"{framework}.json"
        select_checkpoint.main(counts, tmp_path / framework, kept, selected)
        assert read_json(selected) == select_checkpoint.choose(counts)
        files = [path for path in kept.rglob("*") if path.is_file()]
        assert files == [kept / name] and files[0].read_text() == "weights of epoch 2"


def test_a_chosen_epoch_without_weights_is_an_error(tmp_path):
    arguments = [history(tmp_path / "history.tsv", [150, 160]), tmp_path, tmp_path / "kept", tmp_path / "selected.json"]
    with pytest.raises(StudyError, match="holds no checkpoint of epoch 2: train this run again"):
        select_checkpoint.main(*arguments)
    assert not (tmp_path / "kept").exists() and not (tmp_path / "selected.json").exists()


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
            home = tmp_path / "finetuning" / f"{framework}-{init}" / f"seed{seed}"
            chosen.append(select_checkpoint.choose(home / "history.tsv")["update"])
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
        select_checkpoint.main(str(path), tmp_path, tmp_path / "kept", tmp_path / "selected.json")
    assert message in str(raised.value)
    assert not (tmp_path / "selected.json").exists()


def measured(path, values, metric):
    rows = [row for row in read_tsv(history(path, [150, 160, 155])) if row["metric"] != metric]
    for epoch, value in enumerate(values, start=1):
        rows.append({"epoch": epoch, "update": 10 * epoch, "split": "valid", "metric": metric, "value": value})
    write_tsv(path, rows, COLUMNS)
    return str(path)


def test_another_measure_may_choose_the_epoch(tmp_path):
    path = measured(tmp_path / "history.tsv", [0.7, 0.5, 0.5], "loss")
    assert [select_checkpoint.choose(path, by)["epoch"] for by in ("accuracy", "loss")] == [2, 2]
    path = measured(tmp_path / "history.tsv", [0.4, 0.7, 0.4], "loss")
    chosen = select_checkpoint.choose(path, "loss")
    assert (chosen["epoch"], chosen["n_equal"], chosen["value"], chosen["n_correct"]) == (1, 2, 0.4, 150)
    path = measured(tmp_path / "history.tsv", [0.1, 0.2, 0.3], "macro_f1")
    assert select_checkpoint.choose(path, "macro_f1")["epoch"] == 3
    # The words for a choice by accuracy are unchanged.
    assert set(select_checkpoint.choose(path)) == {"epoch", "update", "valid_accuracy", "n_correct", "n_equal", "rule"}


def test_a_history_without_the_measure_is_refused(tmp_path):
    with pytest.raises(StudyError, match="epoch 1 has no validation macro_f1; train this run again"):
        select_checkpoint.choose(history(tmp_path / "history.tsv", [150]), "macro_f1")


@pytest.mark.parametrize(
    ("losses", "patience", "ends"),
    [
        ([0.6, 0.5, 0.5, 0.4], 2, None),  # epoch 4 is better before two have passed since epoch 2
        ([0.6, 0.5, 0.5, 0.55], 2, 4),  # an equal value is no better
        ([0.6, 0.7], 1, 2),
        ([0.6, 0.7, 0.8], None, None),
    ],
)
def test_patience_counts_epochs_without_a_better_value(losses, patience, ends):
    # The number of right answers rises all the while: it does not choose here.
    records = [
        {"epoch": epoch, "valid": {"loss": loss, "accuracy": epoch / 10, "n_correct": epoch}}
        for epoch, loss in enumerate(losses, start=1)
    ]
    ended = [epoch for epoch in range(len(losses) + 1) if stalled(records[:epoch], patience, "loss")]
    assert ended[:1] == ([ends] if ends else [])
    assert not stalled(records, patience or 1, "accuracy")
