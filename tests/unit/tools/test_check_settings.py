"""A study is checked before anything runs: its settings and its tables, with the study's file first."""

import pytest

from common.errors import StudyError
from support import studies
from tools.check_settings import check_fairseq, main
from tools.near_study import near_study, remedy

ROWS = [f"text {k},{'good' if k % 2 else 'bad'}" for k in range(20)]


def write(folder, train=None, test=None, **changes):
    """Write a study of a table; return its path."""
    for name, rows in (
        ("train", train or ["text,label", *ROWS]),
        ("test", test or ["text,label", "new,good", "old,bad"]),
    ):
        content = "\n".join(rows) + "\n"
        (folder / f"{name}.csv").write_bytes(content if isinstance(content, bytes) else content.encode("latin-1"))
    table = {"train": str(folder / "train.csv"), "test": str(folder / "test.csv"), "text": "text", "label": "label"}
    data = {"source": "table", "labels": ["bad", "good"], "table": table, "n_train": None, "n_valid": 4}
    return studies.write_study(folder / "mine.yaml", studies.merged({"data": data}, changes))


def refused(folder, capsys, **case):
    path = write(folder, **case)
    assert main([path]) == 1
    said = capsys.readouterr().err.strip()
    assert said.startswith(f"{path}: "), said
    return said


def test_a_study_with_whole_tables_passes_in_silence(tmp_path, capsys):
    assert main([write(tmp_path)]) == 0 and capsys.readouterr().err == ""


def test_an_environment_without_fairseq_refuses_what_needs_it(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert "made without fairseq; install a C++ compiler" in refused(tmp_path, capsys)
    hub = {"framework": "huggingface", "model": "minilm", "init": "pretrained"}
    check_fairseq({"finetuning": {"arms": {"whole": hub}}})
    with pytest.raises(StudyError, match="arms start from the study's own checkpoint"):
        check_fairseq({"finetuning": {"arms": {"whole": hub, "own": hub | {"model": "checkpoint"}}}})


@pytest.mark.parametrize(
    ("task", "labels"), [("regression", [f"{k / 4}" for k in range(20)]), ("multilabel", ["", "good", "bad|good"] * 7)]
)
def test_tables_of_other_labels_pass_and_their_faults_are_told(tmp_path, capsys, task, labels):
    rows = ["text,label", *(f"text {k},{label}" for k, label in enumerate(labels))]
    arm = {"framework": "huggingface", "model": "checkpoint", "init": "random"}
    case = {"test": ["text,label", *(f"new {row}" for row in rows[1:])], "data": {"task": task}}
    case |= {"finetuning": {"arms": {"a": arm}, "evaluation": {"test_curves": False}}}
    assert main([write(tmp_path, train=rows, **case)]) == 0, capsys.readouterr().err
    assert f"row {len(rows)}" in refused(tmp_path, capsys, train=[*rows, "odd,x"], **case)


@pytest.mark.parametrize(
    ("case", "words"),
    [
        (
            {"train": ["txt,label", *ROWS]},
            "train.csv has no column 'text'; its columns are 'txt', 'label'. Did you mean 'txt'?",
        ),
        (
            {"train": [f"words that are a text,{row[-4:]}" for row in ROWS]},
            "the file has no header: give columns by number",
        ),
        (
            {"train": ["text,label", *ROWS, "x,fine"]},
            "row 21 (line 22) has the label 'fine', which is not in data.labels",
        ),
        ({"train": ["text,label", *ROWS, "caf\xe9,good"]}, "UTF-8"),
        ({"data": {"table": {"text": 1, "label": 2}}}, "If that row is the header, name the columns in data.table"),
        ({"data": {"table": {"test": "absent.csv"}}}, "data.table.test: there is no file absent.csv"),
        ({"data": {"n_train": 100}}, "data.n_train (100) and data.n_valid (4) ask for 104"),
        (
            {"finetuning": {"seeds": 3}},
            "at least 1 entry (one run per arm and seed). Write [1, 2, 3]",
        ),
        ({"finetuning": {"training": {"learning_rate": 1}}}, "Did you mean finetuning.training.lr?"),
        ({"finetuning": {"num_train_epochs": 1}}, "There is a key finetuning.training.epochs"),
    ],
    ids=["column", "no header", "label", "encoding", "header", "file", "size", "seeds", "lr", "epochs"],
)
def test_a_fault_is_told_before_anything_runs(tmp_path, capsys, case, words):
    assert words in refused(tmp_path, capsys, **case)


def test_large_tables_are_left_to_the_first_job(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("tools.check_settings.MOST_BYTES", 100)
    assert main([write(tmp_path, train=["txt,label", *ROWS])]) == 0 and capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("mystudy", "studies/mystudy.yaml"),
        ("opem", "studies/open.yaml"),
        ("studies/opem.yaml", "studies/open.yaml"),
        ("sst2", "studies/english/sst2.yaml"),
        ("quick", None),
        ("nothing-like-it", None),
        ("", None),
    ],
)
def test_a_near_name_of_a_study_is_suggested(tmp_path, name, found):
    (tmp_path / "studies" / "english").mkdir(parents=True)
    for one in ("open", "mystudy", "stars", "english/sst2"):
        (tmp_path / "studies" / f"{one}.yaml").write_text(f"study: {one}\n")
    # This file goes over another, and is no study.
    (tmp_path / "studies" / "english" / "quick.yaml").write_text("data: {n_train: 600}\n")
    assert near_study(name, tmp_path) == found
    assert (f"did you mean STUDY={found}?" == remedy(name, tmp_path)) == bool(found)
