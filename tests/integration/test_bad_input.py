"""Bad input through real Snakemake: one clear message, a non-zero exit, nothing half-made.

The faults of single functions are tested in tests/unit; here each goes the whole way to the user's terminal.
"""

import io
import os
import zipfile
from dataclasses import dataclass, field

import pytest

import servers
import studies
from common.embedded_reviews import generate

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
        {"sentiment": {"finetuning": {"bach_size": 4}}},
        ["unknown key sentiment.finetuning.bach_size", "Did you mean sentiment.finetuning.batch_size?"],
    ),
    "unknown framework": (
        {"sentiment": {"arms": [{"framework": "fairsec", "init": "random"}]}},
        ["sentiment.arms, entry 1, framework", "'fairsec'", "Did you mean fairseq?"],
    ),
    "unknown init": (
        {"sentiment": {"arms": [{"framework": "fairseq", "init": "zero"}]}},
        ["sentiment.arms, entry 1, init", "'zero'", "pretrained", "random"],
    ),
    "seed twice": ({"sentiment": {"seeds": [1, 2, 1]}}, ["sentiment.seeds holds 1 twice"]),
    "mirror without a folder": ({"mirror": "no-such-folder"}, ["mirror: there is no folder 'no-such-folder'"]),
    "more reviews than there are": ({"data": {"n_train": 5000}}, ["data.n_train", "data.embedded.n_labelled is 60"]),
}


@pytest.mark.parametrize("name", SETTINGS)
def test_a_fault_in_the_settings(tmp_path, name):
    changes, words = SETTINGS[name]
    output = run_wrongly(tmp_path, changes, words)
    told_once(output, "configuration: ")
    assert not (tmp_path / "results").exists() and not (tmp_path / "resources").exists()


# ---- The course's data zip ------------------------------------------------------------------------------------------


@dataclass
class Fault:
    """What is wrong with a zip, and what the message must say.

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
    "empty file": Fault(["train.review", "is empty"], {"cls.books/train.review": ""}),
    "different lengths": Fault(
        ["valid.review has 4 reviews", "valid.label has 3 labels"], {"cls.books/valid.label": "1\n0\n1\n"}
    ),
    "label 2": Fault(["test.label, line 3", "'2' is neither 0", "nor 1"], {"cls.books/test.label": "1\n0\n2\n1\n"}),
    "one class": Fault(["test.label", "no review of class 0"], {"cls.books/test.label": "1\n1\n1\n1\n"}),
    "not UTF-8": Fault(["train.review, line 1", "UTF-8"], {"cls.books/train.review": "été\n".encode("latin-1") * 8}),
    "missing members": Fault(
        ["does not hold the expected files", "cls.books/test.review", "cls.books/test.label"],
        {"cls.books/test.review": None, "cls.books/test.label": None},
    ),
    "not a zip": Fault(["neither a zip nor a tar archive", "check the address"], whole=b"not an archive\n" * 50),
}
DOWNLOADS = {
    "missing": Fault(["answered 404", "there is no such file"], request="no-{}", arrives=False),
    "truncated": Fault(["truncated: ", "Try again later"], request="truncated/{}", arrives=False),
    "wrong hash": Fault(["wrong hash", f"expected {'0' * 64}"], settings={"sha256": "0" * 64}, arrives=False),
    "web page": Fault(["web page (HTML) in place of the file"], request="hidden-page/{}", arrives=False),
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
    # What the user typed, or the file that came from it, is named as well.
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

CHECKPOINTS = {
    "no model.pt": ("extract_checkpoint", ["does not hold the expected file model.pt"]),
    "empty model.pt": ("extract_checkpoint", ["model.pt is empty"]),
    "cut model.pt": ("convert_checkpoint", ["results/tiny/checkpoint/model.pt is truncated"]),
    "another size": ("convert_checkpoint", ["checkpoint.architecture.layers is 3", "model.pt has 1", "set it to 1"]),
}


@pytest.mark.parametrize("name", CHECKPOINTS)
def test_a_fault_in_the_checkpoints_zip(tmp_path, server, tiny_study, name):
    rule, words = CHECKPOINTS[name]
    made = tiny_study / "results" / "tiny" / "checkpoint"
    members = {file: (made / file).read_bytes() for file in FAIRSEQ_FILES}
    if name == "no model.pt":
        del members["model.pt"]
    elif name == "empty model.pt":
        members["model.pt"] = b""
    elif name == "cut model.pt":
        members["model.pt"] = members["model.pt"][: len(members["model.pt"]) // 2]
    (server.folder / "checkpoint.zip").write_bytes(packed(members))
    checkpoint = {"source": "fetch", "fetch": {"fairseq": {"url": f"{server.address}/checkpoint.zip"}}}
    if name == "another size":
        checkpoint["architecture"] = {"layers": 3}
    output = run_wrongly(tmp_path, {"checkpoint": checkpoint}, words, "results/tiny/checkpoint/huggingface")
    told_once(output, f"error in rule {rule}: ")
    folder = tmp_path / "results" / "tiny" / "checkpoint"
    assert not (folder / "huggingface").exists()
    if rule == "extract_checkpoint":
        assert not [file for file in FAIRSEQ_FILES if (folder / file).exists()]
