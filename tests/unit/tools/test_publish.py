"""A published study holds no words of others' reviews."""

import pytest

from common.errors import StudyError
from common.files import write_json, write_lines
from tools import publish


def test_a_page_with_the_words_of_reviews_is_not_published(tmp_path):
    write_json(tmp_path / "data" / "manifest.json", {"synthetic": False})
    (tmp_path / "errors").mkdir()
    publish.check_texts(str(tmp_path))
    write_lines(tmp_path / "errors" / "hardest.jsonl", ['{"id": 3}', '{"id": 4, "text": "Un livre."}'])
    with pytest.raises(StudyError, match="set report.show_texts to false and build the report again"):
        publish.check_texts(str(tmp_path))
    write_lines(tmp_path / "errors" / "hardest.jsonl", ['{"id": 3}', '{"id": 4}'])
    publish.check_texts(str(tmp_path))
    # The project's own reviews may be read by anybody.
    write_json(tmp_path / "data" / "manifest.json", {"synthetic": True})
    write_lines(tmp_path / "errors" / "hardest.jsonl", ['{"id": 4, "text": "Un livre."}'])
    publish.check_texts(str(tmp_path))
