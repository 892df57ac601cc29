"""Sources of texts in files of their own: none is built in, each has its block of settings and its digest."""

import pytest

import sources
from common.errors import StudyError
from data.raw_sources import read_source
from study.source_files import other_source

SOURCE = """
SETTINGS = {"n": {"type": "integer"}}


def addresses(settings):
    return []


def read(files, settings, classes):
    rows = [(f"text {i}", i % len(classes)) for i in range(settings["n"])]
    return {"train": rows, "test": rows[:2]}, ["more"]
"""


@pytest.fixture
def planted(tmp_path, monkeypatch):
    """A source in a folder of sources; the real one has none."""
    (tmp_path / "numbered.py").write_text(SOURCE, encoding="utf-8")
    monkeypatch.setattr(sources, "FOLDER", str(tmp_path))
    monkeypatch.setattr(sources, "__path__", [str(tmp_path)])
    sources.names.cache_clear()
    yield
    sources.names.cache_clear()


def test_no_source_is_listed_where_there_is_none():
    assert sources.names() == [] and other_source({"source": "embedded"}) == {}


def test_a_source_is_found_and_its_settings_are_a_block_of_the_schema(planted):
    assert sources.names() == ["numbered"]
    block = sources.schema("numbered")
    assert block["required"] == ["n"] and block["additionalProperties"] is False and "null" in block["type"]
    found = other_source({"source": "numbered", "numbered": {"n": 3}})
    assert found["settings"] == {"n": 3} and found["version"]


def test_its_texts_are_what_it_reads(planted):
    splits, unlabelled, facts = read_source("numbered", [], None, None, ("a", "b"), {"n": 3})
    assert splits["train"] == [("text 0", 0), ("text 1", 1), ("text 2", 0)] and unlabelled == ["more"] and facts == {}
    with pytest.raises(StudyError, match="use embedded, table"):
        read_source("other", [], None)
