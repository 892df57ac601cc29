"""README's results are the generated ones, and its rule graph is the workflow's."""

import os
import re

import pytest

import publish
from check_claims import read_claims
from common.errors import StudyError
from common.files import read_tsv
from common.study import load_study
from publish_study import FILES, block, finished, links, marks, planned, with_block

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def readme():
    with open(os.path.join(ROOT, "README.md"), encoding="utf-8") as handle:
        return handle.read()


# The studies that README shows.
PUBLISHED = re.findall(r"<!-- ([a-z-]+)-study -->", readme())


def docs(study):
    return os.path.join(ROOT, "docs", f"{study}-study")


@pytest.mark.parametrize("study", PUBLISHED)
def test_the_table_of_the_readme_is_the_published_one(study):
    assert with_block(readme(), block(docs(study), f"docs/{study}-study"), *marks(study)) == readme()
    assert all(os.path.exists(os.path.join(docs(study), name)) for name in FILES)


@pytest.mark.parametrize("study", PUBLISHED)
def test_what_a_published_study_says_of_itself_holds(study):
    own = [claim["id"] for claim in read_claims(os.path.join(ROOT, "claims", f"{study}.yaml"))]
    verdicts = {row["id"]: row["verdict"] for row in read_tsv(os.path.join(docs(study), "claims.tsv"))}
    assert own and {name: verdicts.get(name) for name in own} == dict.fromkeys(own, "holds")


@pytest.mark.parametrize("study", PUBLISHED)
def test_all_runs_of_the_study_are_published(study):
    config, _ = load_study(ROOT, os.path.join(ROOT, "studies", f"{study}.yaml"))
    assert sorted(planned(config)) == sorted(finished(docs(study)))


@pytest.mark.parametrize("page", ["report.html", "comparison.html"])
@pytest.mark.parametrize("study", PUBLISHED)
def test_the_published_pages_link_to_what_is_published(study, page):
    found = links(os.path.join(docs(study), page))
    assert found and all(os.path.exists(os.path.join(docs(study), name)) for name in found)


@pytest.mark.skipif(not os.path.exists(publish.FOLDER), reason="no benchmark has been published yet")
def test_the_benchmarks_of_the_readme_are_the_published_ones():
    assert with_block(readme(), publish.block(), *publish.MARKS) == readme()


def test_the_marks_must_be_there():
    start, end = marks("own")
    assert with_block(f"a {start} old {end} b", "new", start, end) == f"a {start}\nnew\n{end} b"
    with pytest.raises(StudyError, match="marks"):
        with_block("nothing", "new", start, end)


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
