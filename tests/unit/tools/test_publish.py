"""What is published: no words of others' reviews, and in the pages no more than the tables say."""

import pytest

from common.errors import StudyError
from common.files import write_json, write_lines, write_text, write_tsv
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


PAIR = {"arm_a": "fairseq-pretrained", "arm_b": "fairseq-random", "framework_a": "fairseq", "framework_b": "fairseq"}
PAIR |= {"init_a": "pretrained", "init_b": "random", "claim": "none"}
PAIR |= {"difference": "0.0", "low": "-0.01", "high": "0.01"}


def test_equal_means_are_not_ranked():
    said = "between fairseq pretrained and fairseq random (their means are equal; 95 % interval −1.00 to +1.00)"
    assert publish.said(PAIR) == said
    alone = publish.said(PAIR | {"claim": "one_seed", "low": "", "high": ""})
    assert alone.endswith("(their means are equal; no interval: one seed an arm)")
    ahead = publish.said(PAIR | {"difference": "-0.002"})
    assert ahead.startswith("between fairseq pretrained and fairseq random (fairseq random is ahead by 0.20 points; ")


def test_the_largest_class_is_no_linear_model(tmp_path):
    # Where a linear model always answers the largest class, too, both are as good on validation.
    rows = [
        {"baseline": "majority", "features": "always class 1", "valid_accuracy": 0.8, "test_accuracy": 0.81},
        {"baseline": "tfidf_words", "features": "TF-IDF of words", "valid_accuracy": 0.8, "test_accuracy": 0.82},
    ]
    write_tsv(tmp_path / "baselines.tsv", rows, tuple(rows[0]))
    row = {"framework": "fairseq", "init": "random", "n_seeds": 1, "mean": 0.7, "sd_ddof1": ""}
    write_tsv(tmp_path / "test_accuracy.tsv", [row], tuple(row))
    write_tsv(tmp_path / "statistics" / "pairs.tsv", [], tuple(PAIR))
    text = publish.summary(str(tmp_path), "x")
    assert "- A linear model chosen on validation (TF-IDF of words) reaches 82.00 %." in text


def test_a_page_that_lacks_a_mark_is_refused_before_anything_is_written(tmp_path):
    start, end = publish.marks("own")
    write_text(tmp_path / "results" / "report.html", "<html></html>")
    write_text(tmp_path / "results" / "ro-crate-metadata.json", '{"@graph": []}')
    write_text(tmp_path / "whole.md", f"{start}\n{end}\n")
    config = {"study": "own", "finetuning": {"arms": {}, "seeds": []}, "qa": {"enabled": False}}
    for page, told in (("<!-- own-summary -->", "own-summary"), (f"{publish.CONCLUSIONS[0]}", "conclusions")):
        pages = [str(tmp_path / name) for name in ("whole.md", "short.md")]
        write_text(pages[0], f"{start}\n{end}\n" + (page if told == "conclusions" else ""))
        write_text(pages[1], page if told != "conclusions" else "")
        with pytest.raises(StudyError, match=f"the page needs the marks <!-- {told} -->"):
            publish.main(str(tmp_path / "results"), config, str(tmp_path / "published" / "own"), pages)
        assert not (tmp_path / "published").exists()


def test_every_name_of_a_study_is_found_on_the_page():
    names = ["open", "open-published", "stars2", "My_study.v1"]
    assert publish.studies_on("\n".join("\n".join(publish.marks(name)) for name in names)) == names
