"""Bad input through real Snakemake: one clear message, a non-zero exit, nothing half-made.

All kinds of it stand in the tables of tests/unit/study/test_settings.py (settings) and
tests/unit/house/test_refusals.py (files); here some of each family go the whole way to the user's terminal.
"""

import io
import os
import zipfile
from dataclasses import dataclass, field

import pytest
import torch

from data.embedded_reviews import generate
from support import servers, studies

# The tiny study counts as set-up of the first test that needs it.
pytestmark = [pytest.mark.integration, pytest.mark.timeout(1800)]

SPLITS = ("train", "valid", "test")
FAIRSEQ_FILES = ("model.pt", "dict.txt", "sentencepiece.bpe.model")
SPLIT_FILES = [f"data/{split}.{kind}" for split in SPLITS for kind in ("review", "label")] + ["data/manifest.json"]


def packed(members):
    """Return the bytes of a zip of {name: text or bytes}."""
    memory = io.BytesIO()
    with zipfile.ZipFile(memory, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return memory.getvalue()


def course_files():
    """Return the members of the course's data zip, with generated reviews: 8 train, 4 valid, 4 test."""
    content = generate(seed=3, n_labelled=12, n_test=4, n_unlabelled=0)
    # Alternately 1 and 0, so that every split has both.
    labelled = [row for pair in zip(*by_class(content["labelled"]), strict=True) for row in pair]
    rows = {"train": labelled[:8], "valid": labelled[8:], "test": content["test"]}
    members = {}
    for split in SPLITS:
        members[f"cls.books/{split}.review"] = "".join(f"{text}\n" for text, _ in rows[split])
        members[f"cls.books/{split}.label"] = "".join(f"{label}\n" for _, label in rows[split])
    return members


def by_class(rows):
    return [row for row in rows if row[1]], [row for row in rows if not row[1]]


def run_wrongly(folder, changes, words, *targets, base=None):
    """Run a study that must fail with one message that holds all `words`; return the whole output."""
    study = studies.write_study(folder / "study.yaml", changes, base=base)
    done = studies.snakemake(folder, *targets, study=study, cores=1, timeout=900)
    assert done.returncode != 0, done.output
    for word in words:
        assert word in done.output, f"{word!r} is not in:\n{done.output}"
    assert "Traceback" not in done.output, done.output
    half = [path for path in folder.rglob("*") if path.name.startswith((".part-", ".run-"))]
    assert not half, half
    return done.output


def told_once(output, start):
    """Assert that the message beginning with `start` stands in the output once."""
    assert output.count(start) == 1, output


# ---- Settings: refused before anything is planned --------------------------------------------------------------------

SETTINGS = {
    "typo": (
        {"finetuning": {"training": {"bach_size": 4}}},
        ["unknown key finetuning.training.bach_size", "Did you mean finetuning.training.batch_size?"],
    ),
    "mirror without a folder": ({"mirror": "no-such-folder"}, ["mirror: there is no folder 'no-such-folder'"]),
}


@pytest.mark.parametrize("name", SETTINGS)
def test_a_fault_in_the_settings(tmp_path, name):
    changes, words = SETTINGS[name]
    output = run_wrongly(tmp_path, changes, words)
    told_once(output, "configuration: ")
    assert not (tmp_path / "results").exists() and not (tmp_path / "resources").exists()


# ---- Tables of texts -------------------------------------------------------------------------------------------------


def write_tables(folder, labels, text):
    """Write a study's train.csv and test.csv; return its settings."""
    for split, first, n in (("train", 0, 12), ("test", 50, 6)):
        rows = (f'"text {k}","{labels[k % 2]}"\n' for k in range(first, first + n))
        (folder / f"{split}.csv").write_text(f'"{text}",label\n{"".join(rows)}', encoding="utf-8")
    table = {"train": "train.csv", "test": "test.csv", "text": text}
    return {"data": {"source": "table", "labels": labels, "n_train": None, "n_valid": None, "table": table}}


def test_a_folder_in_a_table_s_place(tmp_path):
    changes = write_tables(tmp_path, ["bad", "good"], "text")
    (tmp_path / "train.csv").unlink()
    (tmp_path / "train.csv").mkdir()
    told_once(
        run_wrongly(tmp_path, changes, ["name the files in it"]), "configuration: data.table.train: train.csv is a"
    )
    assert not (tmp_path / "results").exists()


def test_braces_in_classes_and_columns_are_none_of_snakemake_s(tmp_path):
    changes = write_tables(tmp_path, ["{x}", "a {b}"], "{text}")
    few = {"framework": "huggingface", "model": "checkpoint", "init": "pretrained", "n_train": 4}
    study = studies.write_study(tmp_path / "study.yaml", changes | {"finetuning": {"arms": {"few": few}}})
    # Every rule's parameters, and the splits themselves.
    assert studies.plan(tmp_path, study=study)["build_report"] == 1
    done = studies.snakemake(tmp_path, "results/tiny/data/manifest.json", study=study)
    assert done.returncode == 0, done.output
    assert "train: 10 reviews, 5 {x}, 5 a {b}" in (tmp_path / "results/tiny/logs/build_splits.log").read_text()


# ---- The course's data zip ------------------------------------------------------------------------------------------


@dataclass
class Fault:
    """The faults of a zip, and what the message must say.

    Attributes:
        change: member to new content (None: left out); applied to the sound zip.
        words: what the message holds.
        request: how the server is asked for the file: `{}` is its name.
        settings: further changes to the section that holds the address.
        arrives: whether the download itself is in order, so that a later rule finds the fault.
        whole: the served bytes in place of a zip of the members.
    """

    words: list
    change: dict = field(default_factory=dict)
    request: str = "{}"
    settings: dict = field(default_factory=dict)
    arrives: bool = True
    whole: bytes | None = None


CONTENTS = {
    "one class": Fault(["test.label", "no review of class 0"], {"cls.books/test.label": "1\n1\n1\n1\n"}),
    "not a zip": Fault(["neither a zip nor a tar archive", "check the address"], whole=b"not an archive\n" * 50),
}
DOWNLOADS = {
    "missing": Fault(["answered 404", "there is no such file"], request="no-{}", arrives=False),
    "wrong hash": Fault(["wrong hash", f"expected {'0' * 64}"], settings={"sha256": "0" * 64}, arrives=False),
}


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """A server of an empty folder, `folder`, that each test fills."""
    folder = tmp_path_factory.mktemp("served")
    with servers.serve(folder) as running:
        running.folder = folder
        yield running


@pytest.mark.parametrize("name", [*CONTENTS, *DOWNLOADS])
def test_a_fault_in_the_courses_zip(tmp_path, server, name):
    fault = (CONTENTS | DOWNLOADS)[name]
    members = {key: text for key, text in (course_files() | fault.change).items() if text is not None}
    (server.folder / "cls.books.zip").write_bytes(fault.whole or packed(members))
    path = fault.request.format("cls.books.zip")
    source = {"url": f"{server.address}/{path}", **fault.settings}
    changes = {"data": {"source": "cls_books_zip", "n_train": None, "n_valid": None, "cls_books_zip": source}}
    # The message also names what the user typed, or the file that came from it.
    place = f"resources/{server.host}/{path}" if fault.arrives else f"{source['url']} (data.cls_books_zip.url)"
    output = run_wrongly(tmp_path, changes, [place, *fault.words], "results/tiny/data/manifest.json")
    told_once(output, "error in rule build_splits: " if fault.arrives else "error in rule retrieve_cls_books_zip: ")
    assert not [made for made in SPLIT_FILES if (tmp_path / "results" / "tiny" / made).exists()]
    came = tmp_path / place
    assert came.is_file() if fault.arrives else not [p for p in (tmp_path / "resources").rglob("*") if p.is_file()]


def test_a_mirror_that_lacks_the_file(tmp_path):
    (tmp_path / "mirror").mkdir()
    changes = {
        "mirror": "mirror",
        "data": {
            "source": "cls_books_zip",
            "n_train": None,
            "n_valid": None,
            "cls_books_zip": {"url": "https://books.invalid/data/cls.books.zip"},
        },
    }
    words = [
        "https://books.invalid/data/cls.books.zip (data.cls_books_zip.url)",
        "the mirror has no such file",
        os.path.join("mirror", "books.invalid", "data", "cls.books.zip"),
    ]
    output = run_wrongly(tmp_path, changes, words, "results/tiny/data/manifest.json")
    told_once(output, "error in rule retrieve_cls_books_zip: ")
    assert not [path for path in (tmp_path / "resources").rglob("*") if path.is_file()]


# ---- The fairseq checkpoint's zip -----------------------------------------------------------------------------------


class Hostile:
    """An object whose unpickling makes a folder."""

    def __reduce__(self):
        return (os.mkdir, ("pwned",))


CHECKPOINTS = {
    "code in model.pt": ("convert_checkpoint", ["checkpoint/model.pt is not a fairseq checkpoint", "posix.mkdir"]),
    "another size": ("convert_checkpoint", ["checkpoint.architecture.layers is 3", "model.pt has 1", "set it to 1"]),
}


@pytest.mark.parametrize("name", CHECKPOINTS)
def test_a_fault_in_the_checkpoints_zip(tmp_path, server, tiny_study, name):
    rule, words = CHECKPOINTS[name]
    made = tiny_study / "results" / "tiny" / "checkpoint"
    members = {file: (made / file).read_bytes() for file in FAIRSEQ_FILES}
    if name == "code in model.pt":
        memory = io.BytesIO()
        torch.save({"model": {"a": torch.ones(1)}, "args": Hostile()}, memory)
        members["model.pt"] = memory.getvalue()
    (server.folder / "checkpoint.zip").write_bytes(packed(members))
    checkpoint = {"source": "fetch", "fetch": {"fairseq": {"url": f"{server.address}/checkpoint.zip"}}}
    if name == "another size":
        checkpoint["architecture"] = {"layers": 3}
    output = run_wrongly(tmp_path, {"checkpoint": checkpoint}, words, "results/tiny/checkpoint/huggingface")
    told_once(output, f"error in rule {rule}: ")
    folder = tmp_path / "results" / "tiny" / "checkpoint"
    assert not (folder / "huggingface").exists()
    assert not list(tmp_path.rglob("pwned"))


# ---- Question/answer pairs ------------------------------------------------------------------------------------------


def test_a_fault_in_the_users_pairs(tmp_path):
    # A name that a shell would take for a command.
    name = "pairs $(touch pwned)'.json"
    (tmp_path / name).write_text('[{"question": "Et après ?"}]', encoding="utf-8")
    changes = {"qa": {"enabled": True, "data": {"source": "file", "file": name}}}
    words = [f"{name}: pair 1 ('Et après ?') has no answer", "fill it in or delete the pair"]
    output = run_wrongly(tmp_path, changes, words, "results/tiny/qa/data/manifest.json")
    told_once(output, "error in rule build_qa_pairs: ")
    assert not list((tmp_path / "results" / "tiny" / "qa" / "data").glob("*"))
    assert not list(tmp_path.rglob("pwned"))
