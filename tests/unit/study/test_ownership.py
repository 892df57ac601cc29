"""A results folder is of one study file; a study file names its study."""

import os

import pytest

from common.errors import StudyError
from study.configuration import load_study
from study.ownership import check_named, claim
from support import studies


def test_a_folder_remembers_its_file_and_refuses_another(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("a.yaml", "b.yaml"):
        (tmp_path / name).write_text("study: own\n")
    for _ in range(2):
        claim("results/own", [str(tmp_path / "a.yaml")])
    with pytest.raises(StudyError, match="results/own holds the results of a.yaml, and b.yaml gives its study"):
        claim("results/own", ["b.yaml"])
    with pytest.raises(StudyError, match="config.yaml gives its study the same name"):
        claim("results/own", [])
    # A file that was renamed is the same study's.
    os.rename("a.yaml", "c.yaml")
    claim("results/own", ["c.yaml"])
    with pytest.raises(StudyError, match="holds the results of c.yaml"):
        claim("results/own", ["b.yaml"])


def test_a_file_without_a_name_is_refused(tmp_path):
    check_named({}, [])
    check_named({"study": "x"}, ["a.yaml"])
    with pytest.raises(StudyError, match="mine/sst.yaml has no key study; .* such as study: sst"):
        check_named({"data": {}}, ["mine/sst.yaml"])
    (tmp_path / "a.yaml").write_text("qa: {enabled: false}\n")
    with pytest.raises(StudyError, match="a.yaml has no key study"):
        load_study(studies.ROOT, str(tmp_path / "a.yaml"))
