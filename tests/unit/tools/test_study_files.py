"""A study's file is found by its name, in studies/ or a folder of it, and by one name only."""

import pytest

from common.errors import StudyError
from tools.study_files import file_of


def test_a_study_is_found_in_studies_and_in_its_folders():
    assert (file_of("open"), file_of("sst2")) == ("studies/open.yaml", "studies/english/sst2.yaml")


def test_no_file_and_two_files_of_a_name_are_refused(tmp_path):
    for folder in ("", "english"):
        (tmp_path / "studies" / folder).mkdir(exist_ok=True, parents=True)
        (tmp_path / "studies" / folder / "twice.yaml").write_text("study: twice\n")
    (tmp_path / "studies" / "english" / "quick.yaml").write_text("data:\n  n_train: 600\n")
    with pytest.raises(StudyError, match=r"studies/english/twice.yaml and studies/twice.yaml both have the name"):
        file_of("twice", tmp_path)
    for name in ("none", "english/twice", "*", "twice.yaml", "quick"):
        with pytest.raises(StudyError, match="has no file of the name"):
            file_of(name, tmp_path)
