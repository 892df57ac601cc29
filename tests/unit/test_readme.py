"""README's results are the generated ones, and its rule graph is the workflow's."""

import os
import re

import pytest

import publish
from common.errors import StudyError
from publish_study import END, FILES, START, block, links, with_block

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PUBLISHED = os.path.join(ROOT, "docs", "open-study")


def readme():
    with open(os.path.join(ROOT, "README.md"), encoding="utf-8") as handle:
        return handle.read()


@pytest.mark.skipif(not os.path.exists(PUBLISHED), reason="no open study has been published yet")
def test_the_table_of_the_readme_is_the_published_one():
    assert with_block(readme(), block(PUBLISHED, "docs/open-study")) == readme()
    assert all(os.path.exists(os.path.join(PUBLISHED, name)) for name in FILES)


@pytest.mark.skipif(not os.path.exists(PUBLISHED), reason="no open study has been published yet")
@pytest.mark.parametrize("page", ["report.html", "comparison.html"])
def test_the_published_pages_link_to_what_is_published(page):
    found = links(os.path.join(PUBLISHED, page))
    assert found and all(os.path.exists(os.path.join(PUBLISHED, name)) for name in found)


@pytest.mark.skipif(not os.path.exists(publish.FOLDER), reason="no benchmark has been published yet")
def test_the_benchmarks_of_the_readme_are_the_published_ones():
    assert with_block(readme(), publish.block(), *publish.MARKS) == readme()


def test_the_marks_must_be_there():
    assert with_block(f"a {START} old {END} b", "new") == f"a {START}\nnew\n{END} b"
    with pytest.raises(StudyError, match="marks"):
        with_block("nothing", "new")


def test_every_rule_of_the_graph_exists_and_every_training_rule_is_in_it():
    with open(os.path.join(ROOT, "docs", "rulegraph.svg"), encoding="utf-8") as handle:
        drawn = set(re.findall(r">(\w+)</text>", handle.read()))
    defined = set()
    for name in os.listdir(os.path.join(ROOT, "rules")):
        with open(os.path.join(ROOT, "rules", name), encoding="utf-8") as handle:
            defined |= set(re.findall(r"^\s*rule (\w+):|^use rule \w+ as (\w+)", handle.read(), re.M))
    defined = {name for pair in defined for name in pair if name} | {"all"}
    assert drawn <= defined
    assert {"pretrain", "finetune_fairseq", "finetune_huggingface", "evaluate_fairseq", "build_report"} <= drawn
