"""A checkpoint taken from a folder: its three files, all or none."""

import pytest

from common.addresses import CHECKPOINT_FILES
from common.errors import StudyError
from copy_checkpoint import main


@pytest.fixture
def paths(tmp_path):
    """Three files and where they go."""
    (tmp_path / "mine").mkdir()
    for name in CHECKPOINT_FILES:
        (tmp_path / "mine" / name).write_text(name.upper())
    return [[tmp_path / folder / name for name in CHECKPOINT_FILES] for folder in ("mine", "checkpoint")]


def test_the_three_files_are_copied_and_told(paths, capsys):
    main(*paths)
    assert [path.read_text() for path in paths[1]] == [name.upper() for name in CHECKPOINT_FILES]
    assert capsys.readouterr().out.count("SHA-256") == 3


@pytest.mark.parametrize("place", range(3))
@pytest.mark.parametrize("fault", ["missing", "empty", "folder"])
def test_a_broken_file_leaves_nothing(paths, place, fault):
    broken = paths[0][place]
    broken.unlink()
    if fault == "empty":
        broken.touch()
    elif fault == "folder":
        broken.mkdir()
    with pytest.raises(StudyError, match=rf"checkpoint\.folder: .*{broken.name} is empty or no file"):
        main(*paths)
    assert not paths[1][0].parent.exists()
