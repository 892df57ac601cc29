"""Random input for every reader of what others wrote: nothing but a `StudyError` may come out.

`make fuzz MINUTES=10` runs all targets in turn until the time is over; the tests run each for a moment.
What a fuzz run finds is mended and kept as a case of its own in the tests of the reader.
"""

import contextlib
import copy
import functools
import gzip
import io
import json
import os
import re
import resource
import sys
import tarfile
import tempfile
import time
import warnings
import zipfile
from pathlib import Path
from unittest import mock

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "scripts")] if str(ROOT / "scripts") not in sys.path else []

import yaml  # noqa: E402
from hypothesis import HealthCheck, Phase, given, seed, settings  # noqa: E402
from hypothesis import strategies as st  # noqa: E402

from analysis.parameter_counts import CONVENTIONS  # noqa: E402
from checkpoint.vocabulary import SPECIALS, read_dictionary  # noqa: E402
from common.errors import StudyError  # noqa: E402
from common.machine import settings_hash  # noqa: E402
from data.archives import extract_members  # noqa: E402
from data.reviews import decode_lines, is_blank, normalise, pair, parse_items, parse_labels, parse_reviews  # noqa: E402
from data.text_tables import label_name, read_examples  # noqa: E402
from lab import claims  # noqa: E402
from lab.claim_tables import VERDICTS  # noqa: E402
from qa import build_qa_pairs  # noqa: E402
from study.addresses import expand_addresses, retrievals, source_addresses  # noqa: E402
from study.pins import expected, mirror_path, read_checksums  # noqa: E402
from study.rule_parameters import PUBLISHED_SIZE  # noqa: E402
from study.schema import read_schema  # noqa: E402
from study.settings import validate_study  # noqa: E402

SCHEMA = ROOT / "schemas" / "config.schema.yaml"
TARGETS = {}
# Bytes of address space that a run may have; torch's libraries take most of it.
MEMORY = 6 << 30


def target(*strategies):
    """Register a function of drawn values as a target."""

    def register(function):
        TARGETS[function.__name__] = (function, strategies)
        return function

    return register


def run(name, examples, number=None):
    """Call a target with drawn values.

    Args:
        name: of `TARGETS`.
        examples: how many.
        number: seed of the draws; None: the same ones every time.

    Raises:
        Exception: what came out that is no `StudyError`; hypothesis prints the smallest such input.
    """
    function, strategies = TARGETS[name]
    test = settings(
        max_examples=examples,
        deadline=None,
        database=None,
        derandomize=number is None,
        phases=[Phase.generate, Phase.shrink],
        suppress_health_check=list(HealthCheck),
    )(given(*strategies)(function))
    (test if number is None else seed(number)(test))()


@contextlib.contextmanager
def refused(*parts):
    """Let a `StudyError` pass, if its message holds all parts."""
    try:
        yield
    except StudyError as error:
        for part in parts:
            assert str(part) in str(error), f"{part!r} is not in {str(error)!r}"


@contextlib.contextmanager
def folder():
    """Yield an empty folder, removed afterwards."""
    with tempfile.TemporaryDirectory(prefix="fuzz-") as path:
        yield Path(path)


# ---- Values -------------------------------------------------------------------------------------------------------

# Inputs that break readers: signs of the formats in use, line ends that are none, half characters, numbers without end.
SIGNS = ["\0", "\ufeff", "\r\n", "\n", "\t", "\u2028", "\x85", "\ud800", '"', "'", "\\", "{x}", "$(x)", "../", "0", "1"]
LONG = ["9" * 5000, "a" * 3000, "[" * 3000, " " * 100]
TEXT = st.lists(st.one_of(st.sampled_from(SIGNS + LONG), st.text(max_size=8), st.characters()), max_size=6).map("".join)
NUMBERS = st.one_of(st.integers(), st.integers(0, 50), st.floats(), st.sampled_from([10**30, -1, 0, 1e300, 2**32]))
SCALARS = st.one_of(st.none(), st.booleans(), NUMBERS, TEXT)
VALUES = st.recursive(
    SCALARS, lambda v: st.one_of(st.lists(v, max_size=4), st.dictionaries(st.one_of(TEXT, NUMBERS), v, max_size=4))
)
ENCODINGS = st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "latin-1", "cp1252"])


def encoded(texts):
    """Return a strategy of bytes: texts in some encoding, sometimes with bytes changed, or any bytes."""
    whole = st.builds(lambda text, encoding: text.encode(encoding, "replace"), texts, ENCODINGS)
    raw = texts.map(lambda text: text.encode("utf-8", "surrogatepass"))
    return st.one_of(raw, raw, whole, damaged(raw), st.binary(max_size=200))


def damaged(contents):
    """Return a strategy of bytes with up to four places overwritten, cut out or cut off."""

    def apply(content, cuts):
        for share, length, patch in cuts:
            start = int(share * len(content))
            content = content[:start] + patch + content[start + length :]
        return content

    cut = st.tuples(st.floats(0, 1), st.integers(0, 40), st.binary(max_size=12))
    return st.builds(apply, contents, st.lists(cut, min_size=1, max_size=4))


URLS = st.one_of(
    TEXT,
    st.builds(
        "{}://{}/{}".format,
        st.sampled_from(["https", "http", "HTTPS", "ftp", "file", "javascript"]),
        st.one_of(st.sampled_from(["host.org", "127.0.0.1:80", "[::1]", "me:pw@host", "..", "ho{st", "é.fr"]), TEXT),
        st.one_of(st.sampled_from(["a.zip", "a/../b", "..", "%2e%2e/x", "a?b=../c", "*", "{x}"]), TEXT),
    ),
)

# ---- Settings -----------------------------------------------------------------------------------------------------


@functools.cache
def defaults():
    """Return config.yaml, the schema, and the places of every value in the former."""
    config = yaml.safe_load((ROOT / "config.yaml").read_text(encoding="utf-8"))
    found = []

    def walk(value, path):
        if path:
            found.append(path)
        if isinstance(value, dict | list):
            for key, part in value.items() if isinstance(value, dict) else enumerate(value):
                walk(part, (*path, key))

    walk(config, ())
    return config, read_schema(SCHEMA), found


PLACES = st.deferred(lambda: st.sampled_from(defaults()[2]))
WORDS = st.sampled_from(["fetch", "cls_books_zip", "cls_archive", "url", "file", "hub", "folder", "huggingface", "nf4"])


@target(st.lists(st.tuples(PLACES, st.one_of(VALUES, WORDS, URLS), st.sampled_from("=+-")), min_size=1, max_size=4))
def config(changes):
    """Settings with values replaced, keys added and removed; what is accepted must serve the rules."""
    changed, schema, _ = defaults()
    changed = copy.deepcopy(changed)
    for path, value, kind in changes:
        node = changed
        try:
            for key in path[:-1]:
                node = node[key]
            if kind == "=":
                node[path[-1]] = value
            elif kind == "+":
                node[value] = value
            else:
                del node[path[-1]]
        except (KeyError, IndexError, TypeError):  # an earlier change took the place away, or a list has no such key
            continue
    with mock.patch("study.settings.read_schema", return_value=schema), refused("configuration: "):
        validate_study(changed, SCHEMA)
        settings_hash(changed)
        with refused():
            expand_addresses(changed["checkpoint"]["corpus"]["files"], {}, "checkpoint.corpus.files")
            retrievals(changed, {})
            source_addresses(changed["data"])


@target(URLS)
def address(url):
    """An address becomes a path below the downloads' folder, or is refused."""
    with refused():
        path = mirror_path(url)
        parts = path.split("/")
        assert len(parts) > 1 and not {"", ".", ".."} & set(parts), path
        assert path.isascii() and path.isprintable() and not set("{}*?\\ ") & set(path), path


CELLS = st.one_of(
    URLS, st.sampled_from(["url", "sha256", "bytes", "a" * 64, "7", "", '"' + "x" * 140_000, "٣", "9" * 5000]), TEXT
)
TABLES = st.lists(st.lists(CELLS, max_size=5).map("\t".join), max_size=6).map("\n".join)


@target(encoded(st.one_of(TABLES, TABLES.map("url\tsha256\tbytes\n".__add__))))
def checksums(content):
    """The table of checksums."""
    with folder() as place:
        path = place / "checksums.tsv"
        path.write_bytes(content)
        pins = {}
        with refused(path):
            pins = read_checksums(path)
        with refused():
            for url, pin in pins.items():
                assert expected(pins, url) == (pin["sha256"], pin["size"])
                mirror_path(url)


# ---- Reviews ------------------------------------------------------------------------------------------------------

LINES = st.lists(st.one_of(TEXT, st.sampled_from(["bon", "très mauvais", "", "0", "1", " 1 ", "\r"])), max_size=6)


@target(encoded(LINES.map("\n".join)), encoded(LINES.map("\n".join)))
def reviews(texts, labels):
    """Reviews and labels; what is accepted reads the same once it is written."""
    with refused("the file"):
        decode_lines(texts, "the file")
    with refused("the file"):
        found = parse_reviews(texts, "the file")
        assert not any(is_blank(text) or normalise(text) != text for text in found)
        assert parse_reviews("\n".join(found).encode(), "written") == found
        marks = parse_labels(labels, "the file")
        assert set(marks) <= {0, 1}
        pair(found, marks, "the file", "the file")


ITEMS = st.lists(
    st.one_of(
        st.sampled_from(
            ["<item>", "</item>", "<text>", "</text>", "<rating>", "</rating>", "<![CDATA[", "]]>", "&amp;"]
        ),
        st.sampled_from(["4.0", "1", "9" * 400, "1.1.1", ".", "&#0;", "&#xD800;", "&#99999999;", f"&#{'9' * 5000};"]),
        st.builds("<item><rating>{}</rating><text>{}</text></item>".format, TEXT, TEXT),
        TEXT,
    ),
    max_size=12,
).map("".join)


@target(encoded(ITEMS), st.booleans())
def items(content, labelled):
    """A file of the complete CLS archive."""
    with refused("the file"):
        for text, label in parse_items(content, "the file", labelled):
            assert label in ((0, 1) if labelled else (None,)) and not is_blank(text)
            text.encode("utf-8")


TEXT_TABLE = st.one_of(
    st.lists(
        st.lists(st.one_of(TEXT, st.sampled_from(["a", "1.0", '"', '""', " "])), max_size=3).map(",".join), max_size=5
    )
    .map("\n".join)
    .flatmap(lambda rows: st.sampled_from([rows, f"text,label\n{rows}", f"label;text\n{rows}"])),
    st.lists(st.fixed_dictionaries({"text": TEXT, "label": SCALARS}).map(json.dumps), max_size=4).map("\n".join),
)


@target(encoded(TEXT_TABLE), st.sampled_from(["csv", "tsv", "jsonl"]), st.booleans())
def text_tables(content, ending, header):
    """A table of somebody's texts; what is accepted is one line of UTF-8 with a label."""
    with folder() as place:
        path = place / f"table.{ending}"
        path.write_bytes(content)
        with refused(path):
            for text, label, at in read_examples(str(path), *(("text", "label") if header else (1, 2))):
                assert not is_blank(text) and normalise(text) == text and label == label_name(label) and "row" in at
                text.encode("utf-8")


@functools.cache
def parquet_bytes():
    """Return the bytes of small Parquet files: packed or not, of one row group or several."""
    import pyarrow
    import pyarrow.parquet

    labels = (["a", "b", None], [1, 2, 3], [1.0, 0.5, float("nan")], pyarrow.array(["x", "y", "x"]).dictionary_encode())
    found = []
    for number, label in enumerate(labels):
        memory = io.BytesIO()
        table = pyarrow.table({"text": ["one", "two \0", "\u202bthree"], "other": [[1], [], None], "label": label})
        packed = {"compression": ("none", "snappy")[number % 2], "row_group_size": 1 + number}
        pyarrow.parquet.write_table(table, memory, write_page_checksum=number > 1, **packed)
        found.append(memory.getvalue())
    return found


@target(damaged(st.deferred(lambda: st.sampled_from(parquet_bytes()))), st.sampled_from(["text", "other"]))
def parquet_tables(content, text):
    """A Parquet file with bytes changed: what is accepted is one line of UTF-8 with a label."""
    with folder() as place:
        path = place / "table.parquet"
        path.write_bytes(content)
        with refused(path):
            for found, label, at in read_examples(str(path), text, "label"):
                assert normalise(found) == found and label == label_name(label) and "row" in at
                found.encode("utf-8")


# ---- Question/answer pairs ----------------------------------------------------------------------------------------

PAIRS = st.lists(
    st.one_of(st.fixed_dictionaries({"question": TEXT, "answer": TEXT}), st.fixed_dictionaries({"question": VALUES}))
)
JSON = st.one_of(PAIRS, st.builds(lambda pairs: {"questions": pairs}, PAIRS), VALUES)
JSON_TEXT = st.builds(lambda value, plain: json.dumps(value, ensure_ascii=plain), JSON, st.booleans())


@target(encoded(st.one_of(JSON_TEXT, st.sampled_from(["[" * 10**5, "NaN", "[1e999]", "9" * 5000]))), st.integers(1, 4))
def pairs(content, n_heldout):
    """The file of question/answer pairs, through the whole rule."""
    with folder() as place:
        path = place / "pairs.json"
        path.write_bytes(content)
        outputs = [str(place / "out" / name) for name in ("train.jsonl", "heldout.jsonl", "manifest.json")]
        with refused(), contextlib.redirect_stdout(io.StringIO()):
            build_qa_pairs.main("file", [str(path)], None, *outputs, n_heldout, 1)
            for line in Path(outputs[1]).read_text(encoding="utf-8").split("\n")[:-1]:
                assert json.loads(line)["question"]
        made = [file for file in outputs if os.path.exists(file)]
        assert made in ([], outputs), made


# ---- Dictionary and claims ----------------------------------------------------------------------------------------

ENTRIES = st.lists(
    st.one_of(
        st.builds("{} {}".format, TEXT, st.one_of(st.integers(), TEXT)),
        st.sampled_from(["▁le 1", "▁le 1", "<s> 1", "<mask> 1", "a 1 #fairseq:overwrite", "a ²", " 1", "a --1"]),
        TEXT,
    ),
    max_size=6,
)


@target(encoded(ENTRIES.map("\n".join)))
def dictionary(content):
    """fairseq's dict.txt; every id is given once."""
    with folder() as place:
        path = place / "dict.txt"
        path.write_bytes(content)
        with refused(path):
            indices = read_dictionary(str(path))
            assert sorted(indices.values()) == list(range(len(indices)))
            assert list(indices)[: len(SPECIALS)] == list(SPECIALS)


ROWS = {
    "runs.tsv": [
        {"framework": "fairseq", "seed": str(seed), "test_accuracy": "0.8", "valid_accuracy": "", "x": "word"}
        # As published_points.tsv has them.
        | {"source": source, "study": "s", "init": "random", "update": update, "split": "test", "accuracy": "0.8"}
        | {"n_reviews": "10", "n_test": "10"}
        for seed, source, update in ((1, "a page", "5"), (2, "a page", "9"), (1, "x", ""))
    ]
}
PRINTED = st.sampled_from(["80", "0.71", "-1.5e-5", "1e999", "9" * 5000, "", "\N{MINUS SIGN}3", "80 %"])
COLUMNS = st.sampled_from(["test_accuracy", "valid_accuracy", "seed", "x", "none"])
WHERE = st.one_of(st.just({}), st.just({"framework": "fairseq"}), st.dictionaries(COLUMNS, SCALARS, max_size=2), VALUES)
CLAIM = st.fixed_dictionaries(
    {
        "id": st.one_of(st.just("a"), SCALARS),
        "sentence": st.one_of(st.just("It is 80.0 ± 0.7."), VALUES),
        "source": st.one_of(st.just("a page"), SCALARS),
        "assertion": st.one_of(
            st.sampled_from(list(claims.ASSERTIONS)), st.sampled_from(list(claims.ASSERTIONS)), VALUES
        ),
    },
    optional={
        **{key: st.one_of(PRINTED, VALUES) for key in ("mean", "sd", "value", "count", "ddof", "needs", "numbers")},
        **{key: st.one_of(PRINTED, VALUES) for key in ("within", "updates", "because", "note", "seed")},
        **dict.fromkeys(("where", "better", "worse", "more", "less"), WHERE),
        "verdict": st.one_of(st.sampled_from(VERDICTS), VALUES),
        "among": st.one_of(st.just(["1", "2"]), VALUES),
        "counts": st.one_of(st.lists(PRINTED, min_size=2, max_size=2), VALUES),
        "figures": st.one_of(
            st.lists(st.fixed_dictionaries({"split": st.just("test"), "value": PRINTED}, optional={"update": PRINTED})),
            VALUES,
        ),
        "table": st.one_of(st.just("runs.tsv"), VALUES),
        "column": st.one_of(COLUMNS, VALUES),
        "values": st.one_of(st.dictionaries(COLUMNS, PRINTED, max_size=2), VALUES),
        **{
            key: st.one_of(st.sampled_from(list(CONVENTIONS)), st.sampled_from(["a page", "x"]), WHERE)
            for key in ("convention", "first", "second")
        },
        "terms": st.one_of(st.lists(st.sampled_from(["tokens", "positions"]), max_size=2), VALUES),
        "size": st.one_of(st.just(dict(PUBLISHED_SIZE)), VALUES),
        "split": st.one_of(st.just("test"), SCALARS),
    },
)
CLAIMS = st.one_of(st.builds(lambda found: {"claims": found}, st.lists(CLAIM, max_size=3)), VALUES)
YAML_TEXT = st.one_of(
    CLAIMS.map(lambda value: yaml.safe_dump(value, allow_unicode=True)),
    CLAIMS.map(json.dumps),
    st.sampled_from(
        ["claims: 2026-02-30", "claims: !!python/object/apply:os.system [true]", "&a [*a]", "[" * 3000, "? {}"]
    ),
    TEXT,
)


@target(encoded(YAML_TEXT))
def claims_file(content):
    """The published or own claims, and their check."""
    with folder() as place:
        path = place / "claims.yaml"
        path.write_bytes(content)
        found = []
        with refused(path):
            found = claims.read_claims(str(path))
        for claim in found:
            with refused("claim "):
                row = claims.check(claim, ROWS)
                assert row["verdict"] in VERDICTS


# ---- Archives -----------------------------------------------------------------------------------------------------

NAMES = st.one_of(
    st.sampled_from(
        ["x/a", "a", "b", "/a", "../a", "x/../../a", "C:a", "a\\b", "x//a", "./b", "__MACOSX/a", "a/", "é"]
    ),
    TEXT,
)
BODIES = st.one_of(st.binary(max_size=60), st.sampled_from([b"", bytes(3000)]))


@st.composite
def zips(draw):
    """Bytes of a zip whose records may say anything."""
    memory = io.BytesIO()
    with zipfile.ZipFile(memory, "w") as archive, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a name twice is wanted
        for _ in range(draw(st.integers(0, 4))):
            try:
                record = zipfile.ZipInfo(draw(NAMES))
                record.external_attr = draw(st.sampled_from([0, 0o100644 << 16, 0o120777 << 16, 0o040755 << 16, 0x10]))
                record.compress_type = draw(
                    st.sampled_from([zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_LZMA])
                )
                archive.writestr(record, draw(BODIES))
                record.file_size += draw(st.sampled_from([0, 0, 0, 1, 10**10]))
            except (ValueError, IndexError, zipfile.LargeZipFile):  # a name that zipfile itself cannot write
                continue
    return memory.getvalue()


@st.composite
def tars(draw):
    """Bytes of a tar, plain or packed, whose records may be of any kind."""
    memory = io.BytesIO()
    form = draw(st.sampled_from([tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT]))
    with tarfile.open(fileobj=memory, mode="w", format=form) as archive:
        for _ in range(draw(st.integers(0, 4))):
            record = tarfile.TarInfo(draw(NAMES))
            record.type = draw(st.sampled_from([b"0", b"0", b"0", *(bytes([kind]) for kind in b"1234567SLKgxX\0")]))
            record.linkname = draw(st.sampled_from(["", "/etc/hosts", "../x"]))
            fields = st.sampled_from(
                ["size", "path", "GNU.sparse.map", "GNU.sparse.major", "GNU.sparse.realsize", "mtime"]
            )
            record.pax_headers = draw(
                st.dictionaries(fields, st.sampled_from(["1", "-5", "x", "0,1", "9" * 30]), max_size=2)
            )
            body = draw(BODIES)
            record.size = len(body) + draw(st.sampled_from([0, 0, 0, 1, 10**10]))
            with contextlib.suppress(ValueError, OSError):  # a record that tarfile itself cannot write
                archive.addfile(record, io.BytesIO(body))
    content = memory.getvalue()
    return gzip.compress(content, mtime=0) if draw(st.booleans()) else content


ARCHIVES = st.one_of(zips(), tars(), damaged(zips()), damaged(tars()), st.binary(max_size=600))


@target(ARCHIVES)
def archives(content):
    """An archive leaves the files asked for, whole, or nothing; and nothing anywhere else."""
    with folder() as place:
        path = place / "archive"
        path.write_bytes(content)
        wanted = {"x/a": place / "out" / "first", "b": place / "out" / "second"}
        with refused(path):
            extract_members(str(path), wanted)
        made = sorted(str(file.relative_to(place)) for file in place.rglob("*") if not file.is_dir())
        assert made in (["archive"], ["archive", "out/first", "out/second"]), made
        assert not any(file.is_symlink() for file in place.rglob("*"))


# ---- Checkpoints --------------------------------------------------------------------------------------------------


@functools.cache
def checkpoint_bytes():
    """Return the bytes of a small PyTorch file, laid out as fairseq's, in the form of today and of before 1.6."""
    import argparse

    import torch

    state = {"model": {"a.weight": torch.ones(2, 3), "b": torch.zeros(2).half()}, "args": argparse.Namespace(x=1)}
    found = []
    for zipped in (True, False):
        memory = io.BytesIO()
        torch.save(state, memory, _use_new_zipfile_serialization=zipped)
        found.append(memory.getvalue())
    return found


@st.composite
def checkpoint_files(draw):
    """Bytes of a checkpoint with its pickle changed inside a sound zip, or with any bytes changed."""
    whole, old = checkpoint_bytes()
    if draw(st.booleans()):
        return draw(damaged(st.sampled_from([whole, old])))
    memory = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(whole)) as source, zipfile.ZipFile(memory, "w", zipfile.ZIP_STORED) as changed:
        for name in source.namelist():
            content = source.read(name)
            changed.writestr(name, draw(damaged(st.just(content))) if name.endswith("data.pkl") else content)
    return memory.getvalue()


@target(checkpoint_files())
def checkpoints(content):
    """A damaged model.pt, for both of its readers."""
    from analysis.parameter_counts import read_shapes
    from training.fairseq_checkpoint import load_fairseq_checkpoint

    with folder() as place:
        path = place / "model.pt"
        path.write_bytes(content)
        with refused(path):
            load_fairseq_checkpoint(str(path))
        with refused(path):
            read_shapes(str(path))


# ---- The page ----------------------------------------------------------------------------------------------------

ARM = st.tuples(st.sampled_from(["fairseq", "huggingface"]), st.sampled_from(["pretrained", "random"]))


@st.composite
def small_studies(draw):
    """Labels and runs of a small study: few seeds and reviews, with ties, equal arms, all right, all wrong."""
    n = draw(st.integers(2, 12))
    answers = st.one_of(st.just([1] * n), st.just([0] * n), st.lists(st.integers(0, 1), min_size=n, max_size=n))
    labels = draw(answers)
    seeds = draw(st.lists(st.sampled_from([0, 1, 2, 3, 10, 2**31]), min_size=1, max_size=4, unique=True))
    arms = draw(st.lists(ARM, min_size=1, max_size=4, unique=True))
    kinds = st.one_of(answers, st.just(labels), st.just([1 - label for label in labels]))
    n_valid = draw(st.integers(2, 9))
    runs = {arm: {seed: (draw(kinds), draw(st.integers(0, n_valid))) for seed in seeds} for arm in arms}
    return labels, runs, n_valid, draw(st.integers(1, 3))


@target(small_studies())
def report(drawn):
    """A study's results become a page that says what they say, whatever they are."""
    from support import result_sets as sets

    labels, runs, n_valid, epochs = drawn
    with folder() as place:
        with contextlib.redirect_stdout(io.StringIO()):
            files = sets.write_tables(place, labels, runs, n_valid, epochs)
        settings = sets.settings_of(runs)
        html = sets.make_page(place, files, settings)
        sets.check_page(place, files, settings)
        assert not re.search(r"\b(nan|inf)\b", html.split("<body>")[1].split("<script>")[0]), "a number that is none"
        assert html == sets.make_page(place, files, settings)


# ---- Results ------------------------------------------------------------------------------------------------------


@target(st.integers(0, 2**32 - 1))
def result_sets(number):
    """A small or degenerate set of results: no statistic, verdict or own claim crashes or contradicts another."""
    from support.simulation import simulate

    assert simulate(1, number, largest=300) == []


def main(minutes):
    """Run every target in turn, with other draws each time, until the time is over.

    Memory is bounded, so that an input that takes all of it is found and not only felt.
    """
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    warnings.simplefilter("ignore")
    end, number, counts = time.monotonic() + 60 * minutes, 0, dict.fromkeys(TARGETS, 0)
    while time.monotonic() < end:
        for name in TARGETS:
            run(name, 100, number)
            counts[name] += 100
            if time.monotonic() > end:
                break
        number += 1
    for name, count in counts.items():
        print(f"{name}: {count} inputs")
    print(f"No exception but StudyError in {minutes:g} minutes")


if __name__ == "__main__":
    main(float(sys.argv[1]))
