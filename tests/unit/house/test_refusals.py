"""Bad and hostile input, one table: what is wrong with a file, and what the one message must say.

Each case runs the main of the rule that meets the fault, as its job does. A faulty study file is told by
tests/unit/study/test_settings.py; tests/integration/test_bad_input.py goes the whole way through Snakemake.
"""

import functools
import gzip
import io
import os
import pickle
import random
import tarfile
import zipfile

import pytest
import torch

from checkpoint import (
    build_corpus,
    compare_huggingface_weights,
    convert_checkpoint,
    convert_tokenizer,
    extract_checkpoint,
)
from common.files import read_json, read_lines
from common.machine import commit
from data import build_splits, retrieve
from lab import check_claims
from qa import build_qa_pairs
from report import print_report
from study import download
from study.addresses import CHECKPOINT_FILES, checkpoint_files
from support import servers
from support.qa_support import status_of
from support.roberta import ARCHITECTURE, write_checkpoint

SPLITS = ("train", "valid", "test")
REVIEWS = ["Un beau livre.", "Très mauvais.", "Je l'ai aimé.", "À éviter."]
MEMBERS = {
    f"cls.books/{split}.{kind}": "".join(f"{line}\n" for line in lines).encode()
    for split in SPLITS
    for kind, lines in (("review", REVIEWS), ("label", [1, 0, 1, 0]))
}
TRAIN, TRAIN_LABELS = "cls.books/train.review", "cls.books/train.label"
ITEM = "<item><rating>{}</rating><text>{}</text></item>\n"
ITEMS = (ITEM.format("5.0", "Un beau livre.") + ITEM.format("1.0", "Très mauvais.")).encode() * 2
PAIRS = b'[{"question": "Un ?", "answer": "Oui."}, {"question": "Deux ?", "answer": "Non."}]'
CLAIM = "claims:\n- {id: a, sentence: It is 80., source: a page, assertion: headline, table: runs.tsv, where: {}, "


class Hostile:
    """An object whose unpickling makes a folder."""

    def __reduce__(self):
        return (os.mkdir, ("pwned",))


def zip_of(members):
    """Return the bytes of a zip of {name or record: content}; None leaves one out."""
    memory = io.BytesIO()
    with zipfile.ZipFile(memory, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            if content is not None:
                archive.writestr(name, content)
    return memory.getvalue()


def link(name, target="/etc/passwd"):
    """Return a zip's record that is a symbolic link, and what it points to."""
    record = zipfile.ZipInfo(name)
    record.external_attr = 0o120777 << 16
    return {record: target}


def tar_of(members, kind=tarfile.REGTYPE):
    """Return the bytes of a tar.gz of {name: content}; kind: of a further record, `evil`."""
    memory = io.BytesIO()
    with tarfile.open(fileobj=memory, mode="w:gz") as archive:
        for name, content in members.items():
            record = tarfile.TarInfo(name)
            record.size = len(content)
            archive.addfile(record, io.BytesIO(content))
        if kind != tarfile.REGTYPE:
            record = tarfile.TarInfo("evil")
            record.type, record.linkname = kind, "../../outside"
            archive.addfile(record)
    return memory.getvalue()


def pax_header(size):
    """Return the 512 bytes that announce a pax header of this size."""
    record = tarfile.TarInfo("pax")
    record.type, record.size = tarfile.XHDTYPE, size
    return record.tobuf(tarfile.GNU_FORMAT)


# Random, since a review that packs better would be refused as a bomb.
LONG_REVIEW = random.Random(1).randbytes(5 * 10**6).hex().encode()
HEADER_BOMB = gzip.compress(pax_header(50_000_000) + bytes(50_000_000))
SPARSE = pax_header(31) + b"31 GNU.sparse.map=0,1,2,3,4,xx\n".ljust(512, b"\0") + tarfile.TarInfo("a").tobuf()


def saved(state, **options):
    """Return the bytes of `torch.save`."""
    memory = io.BytesIO()
    torch.save(state, memory, **options)
    return memory.getvalue()


# ---- The rules: each returns a function of `place` that runs it on the case's input ---------------------------------


def splits(source, content, **sizes):
    """The rule build_splits on a file of the source."""

    def job(place):
        path = place.file("source", content)
        outputs = [place.out(f"{split}.{kind}") for kind in ("review", "label") for split in SPLITS]
        rest = [place.out(name) for name in ("unlabelled.review", "pretraining.review", "manifest.json")]
        numbers = {"n_train": None, "n_valid": None, "n_test": None} | sizes
        build_splits.main(
            source, [path], ["https://host/x"], outputs[:3], outputs[3:], *rest, **numbers, split_seed=1, embedded=None
        )

    return job


def course(change=(), **sizes):
    """The course's zip with members changed (None: left out) or added."""
    return splits("cls_books_zip", zip_of(MEMBERS | dict(change)), **sizes)


def cls(change=(), **options):
    """The complete CLS archive with members changed or added."""
    members = {f"cls/fr/books/{name}.review": ITEMS for name in ("train", "test", "unlabeled")} | dict(change)
    return splits("cls_archive", tar_of(members, **options), n_train=2, n_valid=2)


def corpus(content):
    """The rule build_corpus on one public text."""

    def job(place):
        texts = place.file("novel.txt", content), place.file("unlabelled", b""), place.file("training", b"")
        outputs = [place.out(name) for name in ("train.txt", "valid.txt", "manifest.json")]
        build_corpus.main([texts[0]], *texts[1:], *outputs, {"files": 1, "unlabelled": 1, "train": 1}, 0.5)

    return job


def pairs(content, n_heldout=1):
    """The rule build_qa_pairs on a user's file."""

    def job(place):
        outputs = [place.out(name) for name in ("train.jsonl", "heldout.jsonl", "manifest.json")]
        build_qa_pairs.main("file", [place.file("pairs.json", content)], None, *outputs, n_heldout, 1)

    return job


def own_claims(text):
    """The rule check_claims, up to the reading of its file."""
    return lambda place: check_claims.main(
        place.file("claims.yaml", text),
        place.file("reports.tsv", b"report\theading\topening\n"),
        [],
        [place.file("runs.tsv", b"x\n1\n")],
        ["runs.tsv"],
        place.out("claims.tsv"),
        place.out("claims_by_report.tsv"),
    )


def fetched(request="file.txt", scheme=None, **expected):
    """A retrieving rule; request: how the server is asked, scheme: an address in place of the server's."""

    def job(place):
        url = f"{scheme or place.server.address}/{request.format(host=place.server.host)}"
        mirror = expected.get("mirror") and str(place.folder / expected["mirror"])
        facts = [expected.get("sha256")], [expected.get("size")]
        retrieve.main([url], [place.out("file")], place.out("record.json"), *facts, mirror, "data.cls_books_zip.url")

    return job


def checkpoint(change=(), architecture=(), whole=None):
    """The rules that take a fetched checkpoint apart and convert it, one after the other."""

    def job(place):
        members = {f"small/{name}": content for name, content in place.checkpoint.items()} | dict(change)
        archive = place.file("small.zip", zip_of(members) if whole is None else whole(members))
        extract_checkpoint.main("fairseq", archive, place.step("fairseq"))
        model, dictionary, pieces = checkpoint_files(place.step("fairseq"))
        sizes = ARCHITECTURE | dict(architecture)
        convert_tokenizer.main(dictionary, pieces, place.step("tokenizer"), sizes["max_positions"])
        convert_checkpoint.main(model, place.step("tokenizer"), place.out("huggingface"), sizes)

    return job


def changed_weights(change):
    """A checkpoint whose `model.pt` had its dictionary of tensors changed."""

    def job(place):
        state = torch.load(io.BytesIO(place.checkpoint["model.pt"]), weights_only=False)
        change(state["model"])
        checkpoint({"small/model.pt": saved(state)})(place)

    return job


def huggingface_weights(name, content):
    """The rule compare_huggingface_weights on a fetched folder."""

    def job(place):
        folder = place.folder / "fetched"
        folder.mkdir()
        (folder / name).write_bytes(content)
        compare_huggingface_weights.main(str(folder), str(folder), place.out("comparison.json"))

    return job


def printed(place):
    """The rule print_report."""
    print_report.main(place.file("report.html", b"<p>"), place.out("report.pdf"))


# ---- The table ------------------------------------------------------------------------------------------------------

latin1 = "Très beau.\n".encode("latin-1") * 4
CASES = {
    # Reviews and labels of the course's zip
    "empty reviews": (course({TRAIN: b""}), ["source: cls.books/train.review is empty"]),
    "only line ends": (course({TRAIN: b"\xef\xbb\xbf\r\n\r\n"}), ["cls.books/train.review is empty"]),
    "empty labels": (course({TRAIN_LABELS: b""}), ["cls.books/train.label is empty"]),
    "one class": (course({TRAIN_LABELS: b"1\n1\n1\n1\n"}), ["train.label has no review of class 0", "both classes"]),
    "latin-1": (course({TRAIN: latin1}), ["train.review, line 1: character", "is not UTF-8", "iconv"]),
    "UTF-16 with its mark": (
        course({TRAIN: "Très\nbeau\n".encode("utf-16")}),
        ["train.review: this is UTF-16", "iconv"],
    ),
    "UTF-16 of plain letters": (
        course({TRAIN: "beau\nnul\nbeau\nnul\n".encode("utf-16-le")}),
        ["train.review, line 1: a NUL character", "UTF-16", "iconv"],
    ),
    "blank review": (course({TRAIN: b"a\n \t \nb\nc\n"}), ["train.review, line 2: the review is blank", "remove it"]),
    "control characters only": (course({TRAIN: b"a\nb\n\x07\x1b\x7f\nc\n"}), ["line 3: the review is blank"]),
    "invisible review": (course({TRAIN: "a\nb\nc\n\u200b\u2060\n".encode()}), ["line 4: the review is blank"]),
    "review of 10 MB": (course({TRAIN: b"a\nb\nc\n" + LONG_REVIEW}), ["line 4: a review of 10000000 characters"]),
    "fewer labels": (course({TRAIN_LABELS: b"1\n0\n"}), ["has 4 reviews but", "train.label has 2 labels"]),
    "label 2": (course({TRAIN_LABELS: b"1\n0\n2\n0\n"}), ["train.label, line 3", "'2' is neither 0", "nor 1"]),
    "labels in words": (course({TRAIN_LABELS: b"pos\nneg\npos\nneg\n"}), ["train.label, line 1", "'pos'"]),
    "more reviews than there are": (course(n_train=7, n_valid=2), ["data.n_train (7)", "the source has 8"]),
    "more test reviews": (course(n_test=5), ["data.n_test (5)", "4 test reviews"]),
    # Its archive
    "missing members": (
        course({TRAIN: None, TRAIN_LABELS: None}),
        ["does not hold the expected files cls.books/train.review, cls.books/train.label", "it holds cls.books/"],
    ),
    "a file twice": (course({"copy/cls.books/train.review": b"x"}), ["both fit the expected file", "keep one"]),
    "no archive": (splits("cls_books_zip", b"no archive\n" * 99), ["neither a zip nor a tar", "check the address"]),
    "archive cut short": (splits("cls_books_zip", zip_of(MEMBERS)[:-60]), ["damaged or cut short", "remove it"]),
    "path that climbs": (course({"../evil": b"x"}), ["'../evil'", "leads out of its folder: refused"]),
    "absolute path": (course({"/tmp/evil": b"x"}), ["'/tmp/evil'", "absolute", "refused"]),
    "link in a zip": (course(link("cls.books/readme")), ["a link or device: refused"]),
    "link in a tar": (cls(kind=tarfile.SYMTYPE), ["'evil'", "a link or device: refused"]),
    "hard link in a tar": (cls(kind=tarfile.LNKTYPE), ["'evil'", "a link or device: refused"]),
    "device in a tar": (cls(kind=tarfile.CHRTYPE), ["'evil'", "a link or device: refused"]),
    "bomb by size": (course({"bomb": bytes(20_000_000)}), ["bomb would unpack to more than 200 times its size"]),
    "bomb by count": (
        course({f"{k}": b"" for k in range(10_001)}),
        ["holds more than 10000 entries: refused"],
    ),
    "bomb in a tar's header": (
        splits("cls_archive", HEADER_BOMB),
        ["an entry of 50000000 bytes", "refused"],
    ),
    "chain of a tar's headers": (splits("cls_archive", pax_header(0) * 3000), ["damaged or cut short"]),
    "header that is no number": (splits("cls_archive", SPARSE), ["damaged or cut short"]),
    # The complete archive
    "rating in words": (cls({"cls/fr/books/train.review": ITEM.format("cinq", "a").encode()}), ["no <rating>"]),
    "item without text": (cls({"cls/fr/books/test.review": b"<item><rating>5</rating></item>"}), ["no <text>"]),
    "no items": (cls({"cls/fr/books/test.review": b"<reviews/>"}), ["holds no reviews (<item>", "CLS archive?"]),
    "number of no character": (
        cls({"cls/fr/books/train.review": ITEM.format("5.0", f"&#{'9' * 5000};").encode()}),
        ["train.review, item at line 1", "character reference"],
    ),
    # Public text
    "novel in latin-1": (corpus(latin1), ["novel.txt is not UTF-8 text (byte 2)", "iconv"]),
    "novel without text": (corpus(b"\n \n"), ["the corpus is empty", "checkpoint.corpus.files"]),
    # Question/answer pairs
    "pairs cut short": (pairs(PAIRS[:-20]), ["pairs.json is not valid JSON", "line 1"]),
    "web page for pairs": (pairs(b"<!doctype html>"), ["pairs.json is not valid JSON"]),
    "pairs in latin-1": (pairs('["é"]'.encode("latin-1")), ["pairs.json is not UTF-8"]),
    "pairs nested without end": (pairs(b"[" * 10**5), ["pairs.json", "nested too deeply"]),
    "no pairs": (pairs(b"[]"), ["pairs.json holds no question/answer pair"]),
    "pair without an answer": (pairs(b'[{"question": "Un ?"}]'), ["pair 1 ('Un ?') has no answer", "fill it in"]),
    "answer of control characters": (
        pairs(b'[{"question": "Un ?", "answer": "\\u0000\\u001b"}]'),
        ["pair 1 ('Un ?') has no answer"],
    ),
    "half a character": (
        pairs(b'[{"question": "Un ?", "answer": "\\ud83d"}]'),
        ["pair 1: its answer holds half a character"],
    ),
    "more held out than there are": (pairs(PAIRS, 2), ["qa.data.n_heldout: 2", "choose 1 to 1"]),
    # Claims
    "claims that run code": (
        own_claims(b"claims: !!python/object/apply:os.mkdir [pwned]"),
        ["claims.yaml is not valid YAML"],
    ),
    "claim with a number for text": (own_claims(f"{CLAIM}value: 80.0}}".encode()), ["quote value as printed"]),
    "claim that cannot be computed": (
        own_claims(f'{CLAIM.replace("where: {}", "where: 3")}value: "80"}}'.encode()),
        ["claim a (headline): one of its values cannot be used"],
    ),
    # Downloads
    "404": (fetched("nothing.zip"), ["answered 404", "there is no such file", "check the address"]),
    "403": (fetched("status/403/x.zip"), ["answered 403", "`mirror`"]),
    "web page": (fetched("page/x.zip"), ["web page (HTML) in place of the file"]),
    "hidden web page": (fetched("hidden-page/x.zip"), ["web page (HTML) in place of the file"]),
    "download cut short": (fetched("truncated/file.txt"), ["truncated: 750 of 1500 bytes", "Try again later"]),
    "another size": (fetched(size=1499), ["1500 bytes, 1499 were expected"]),
    "wrong hash": (fetched(sha256="0" * 64), ["wrong hash", f"expected {'0' * 64}", "nothing was kept"]),
    "empty download": (fetched("empty.txt"), ["the file is empty"]),
    "redirects in a circle": (fetched("loop/x"), ["more than 5 redirects"]),
    "redirect to this machine's files": (fetched("redirect-to/file:///etc/passwd"), ["file:///etc/passwd", "refused"]),
    "redirect over http to another host": (
        fetched("redirect-to/http://localhost:1/x"),
        ["http://localhost:1/x", "which is not https: refused"],
    ),
    "timeout": (fetched("silent/x"), ["too slow: 0 bytes of the file in", "(4 attempts). Try again later"]),
    "crawl": (fetched("drip/x"), ["too slow"]),
    "endless": (fetched("endless/x", size=10**6), ["sends more than 1000000 bytes: stopped"]),
    "file of 1 TB": (fetched("huge/x"), ["has 1000000000000 bytes, more than the 8000000000 allowed"]),
    "nobody there": (fetched(scheme="http://127.0.0.1:9"), ["connection failed", "4 attempts"]),
    "no address of a file": (fetched(scheme="file:///etc"), ["must begin with https://"]),
    "mirror without the file": (fetched(mirror="mirror"), ["the mirror has no such file", "mirror/127.0.0.1"]),
    # The fetched checkpoint
    "no model.pt": (checkpoint({"small/model.pt": None}), ["does not hold the expected file model.pt"]),
    "empty model.pt": (checkpoint({"small/model.pt": b""}), ["small.zip: model.pt is empty"]),
    "model.pt cut short": (
        lambda place: checkpoint({"small/model.pt": place.checkpoint["model.pt"][:5000]})(place),
        ["model.pt is truncated or is not a PyTorch file", "again"],
    ),
    "web page for model.pt": (checkpoint({"small/model.pt": b"<!doctype html>"}), ["model.pt", "not a"]),
    "model.pt that runs code": (
        checkpoint({"small/model.pt": saved({"model": {"a": torch.ones(1)}, "args": Hostile()})}),
        ["model.pt is not a fairseq checkpoint of tensors and settings (it holds a posix.mkdir)"],
    ),
    "old model.pt that runs code": (
        checkpoint({"small/model.pt": saved({"args": Hostile()}, _use_new_zipfile_serialization=False)}),
        ["model.pt is not a fairseq checkpoint of tensors and settings (it holds a posix.mkdir)"],
    ),
    "bare pickle that runs code": (checkpoint({"small/model.pt": pickle.dumps(Hostile())}), ["model.pt"]),
    "state without weights": (checkpoint({"small/model.pt": saved({"weights": {}})}), ["no weights under `model`"]),
    "packed model.pt": (
        checkpoint({"small/model.pt": zip_of({"m/data.pkl": bytes(10**6)})}),
        ["is not a PyTorch file"],
    ),
    "tensor of claimed values": (
        checkpoint({"small/model.pt": saved({"model": {"a": torch.ones(1).half().expand(10**6, 10**6)}})}),
        ["`a` under `model` is not a tensor with all its values"],
    ),
    "another architecture": (
        changed_weights(lambda model: model.pop("encoder.sentence_encoder.layers.0.fc1.weight")),
        ["has no tensor encoder.sentence_encoder.layers.0.fc1.weight", "not a whole RoBERTa"],
    ),
    "a tensor too much": (
        changed_weights(lambda model: model.update({"encoder.adapter.weight": torch.ones(2)})),
        ["has a tensor encoder.adapter.weight"],
    ),
    "a tensor of another shape": (
        changed_weights(lambda model: model.update({"encoder.lm_head.bias": torch.ones(3)})),
        ["tensor encoder.lm_head.bias has shape (3,), expected (32,)"],
    ),
    "other sizes than the study's": (
        checkpoint(architecture={"layers": 4}),
        ["checkpoint.architecture.layers is 4", "model.pt has 2", "set it to 2"],
    ),
    "dictionary of another model": (
        lambda place: checkpoint({"small/dict.txt": place.checkpoint["dict.txt"] + b"plus 1\n"})(place),
        ["gives 33 ids", "has 32 embeddings", "do not belong together"],
    ),
    "pieces of another model": (
        lambda place: checkpoint({"small/sentencepiece.bpe.model": place.checkpoint["model.pt"]})(place),
        ["sentencepiece.bpe.model is not a SentencePiece model"],
    ),
    "dictionary with a byte order mark": (
        lambda place: checkpoint({"small/dict.txt": b"\xef\xbb\xbf" + place.checkpoint["dict.txt"]})(place),
        ["dict.txt begins with a byte order mark"],
    ),
    "dictionary without counts": (checkpoint({"small/dict.txt": b"le\nla\n"}), ["line 1", "'le' is not `<symbol>"]),
    "dictionary with a symbol twice": (checkpoint({"small/dict.txt": b"a 1\na 1\n"}), ["symbol 'a' occurs twice"]),
    "dictionary in latin-1": (checkpoint({"small/dict.txt": "é 1\n".encode("latin-1")}), ["dict.txt is not UTF-8"]),
    "checkpoint's zip with a link": (
        lambda place: checkpoint(whole=lambda members: zip_of(members | link("small/model.pt ")))(place),
        ["a link or device: refused"],
    ),
    "old Hugging Face weights that run code": (
        huggingface_weights("pytorch_model.bin", saved({"a": Hostile()})),
        ["pytorch_model.bin is damaged or holds more than tensors", "not unpickled"],
    ),
    "safetensors cut short": (
        huggingface_weights("model.safetensors", b"\xff" * 20),
        ["its weights are damaged", "fetch it again"],
    ),
    # Tools
    "no browser to print with": (printed, ["printing the report needs a browser", "install one"]),
}


class Place:
    """Where a case happens: what it reads, and what it must not make."""

    def __init__(self, folder, server, made):
        self.folder, self.server, self.checkpoint = folder, server, made

    def file(self, name, content):
        """Write an input; return its path."""
        (self.folder / name).write_bytes(content)
        return str(self.folder / name)

    def out(self, name):
        """Return the path of an output, which a refused case leaves unmade."""
        return str(self.folder / "out" / name)

    def step(self, name):
        """Return the path of a file between two rules."""
        return str(self.folder / "steps" / name)


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    folder = tmp_path_factory.mktemp("served")
    (folder / "file.txt").write_bytes(b"Un beau livre.\n" * 100)
    (folder / "empty.txt").write_bytes(b"")
    with servers.serve(folder) as running:
        yield running


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A sound checkpoint's files, as bytes."""
    folder = write_checkpoint(tmp_path_factory.mktemp("checkpoint"))
    return {name: (folder / name).read_bytes() for name in CHECKPOINT_FILES}


@pytest.fixture
def place(tmp_path, monkeypatch, server, made):
    for variable in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        monkeypatch.setenv(variable, "1")
    monkeypatch.chdir(tmp_path)
    # Patience of milliseconds, as in tests/unit/study/test_download.py.
    fast = functools.partial(download.retrieve, wait=0.01, timeout=(2, 0.4), stall=0.3, progress=False)
    monkeypatch.setattr(retrieve, "retrieve", fast)
    return Place(tmp_path, server, made)


def files_of(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if not path.is_dir())


@pytest.mark.parametrize("name", CASES)
def test_it_is_refused_with_one_message(place, name, monkeypatch):
    job, words = CASES[name]
    if job is printed:
        monkeypatch.setenv("PATH", str(place.folder))
    status, shown = status_of(job, place, folder=str(place.folder))
    assert status == 1
    assert shown.startswith("error in rule a_rule: ") and shown.count("\n") == 1, shown
    for word in words:
        assert word in shown
    # Nothing is made, not even by half, and nothing ran that came with the input.
    assert not (place.folder / "out").exists() or files_of(place.folder / "out") == []
    assert not [path for path in files_of(place.folder) if ".part-" in path]
    assert not list(place.folder.rglob("pwned")) and not list(place.folder.rglob("evil"))


def test_the_table_is_as_long_as_it_should_be():
    assert len(CASES) >= 40


SOUND = {
    "reviews": course(),
    "line ends and mark of Windows": course({TRAIN: b"\xef\xbb\xbf" + MEMBERS[TRAIN].replace(b"\n", b"\r\n")}),
    "control characters inside": course({TRAIN: MEMBERS[TRAIN].replace(b" ", b"\x07 \x1b")}),
    "litter of macOS": course({"__MACOSX/cls.books/._train.review": b"x"}),
    "complete archive": cls(),
    "novel": corpus(b"Un mot.\r\nDeux mots.\r\n"),
    "pairs": pairs(PAIRS),
    "pairs with a mark of Windows": pairs(b"\xef\xbb\xbf" + PAIRS),
    "download": fetched(),
    "redirect on the host": fetched("redirect/file.txt"),
    "checkpoint": checkpoint(),
}


@pytest.mark.parametrize("name", SOUND)
def test_sound_input_passes(place, name):
    """The table's changes alone cause the refusals: unchanged, or with what is allowed, the same jobs finish."""
    SOUND[name](place)
    assert files_of(place.folder / "out")


@pytest.mark.parametrize("name", ["line ends and mark of Windows", "control characters inside", "litter of macOS"])
def test_what_is_mended_reads_the_same(place, name):
    SOUND["reviews"](place)
    read = read_lines(place.out("train.review"))
    SOUND[name](place)
    assert read_lines(place.out("train.review")) == read == REVIEWS


def test_an_answer_from_another_address_is_recorded(place):
    fetched("redirect/file.txt?pass=secret")(place)
    (record,) = read_json(place.out("record.json"))["files"]
    assert record["answered_by"] == f"{place.server.address}/file.txt"


def test_without_git_the_commit_is_left_out(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert commit() == ""
