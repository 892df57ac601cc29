"""A checkpoint taken from a folder: its three files, all or none."""

import random
import shutil

import pytest

from checkpoint.copy_checkpoint import main
from common.errors import StudyError
from common.files import read_lines, write_lines
from study.addresses import CHECKPOINT_FILES
from support.reviews import learn_pieces, write_reviews


@pytest.fixture(scope="module")
def vocabulary(tmp_path_factory):
    """A folder with pieces and dictionary of 300 rows, and pieces of other text."""
    folder = tmp_path_factory.mktemp("vocabulary")
    write_reviews(folder)
    letters, draw = "abcdefghijklmnopqrstuvwxyz", random.Random(1)
    write_lines(folder / "other.txt", ["".join(draw.choices(letters, k=60)) for _ in range(300)])
    learn_pieces(folder / "other.txt", folder / "other.model", folder / "other.dict")
    return folder


@pytest.fixture
def paths(tmp_path, vocabulary):
    """Three files and where they go."""
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "model.pt").write_text("weights")
    shutil.copy(vocabulary / "dict.txt", tmp_path / "mine" / "dict.txt")
    shutil.copy(vocabulary / "spm.model", tmp_path / "mine" / "sentencepiece.bpe.model")
    return [[tmp_path / folder / name for name in CHECKPOINT_FILES] for folder in ("mine", "checkpoint")]


def test_the_three_files_are_copied_and_logged(paths, capsys):
    main(*paths)
    assert [path.read_bytes() for path in paths[1]] == [path.read_bytes() for path in paths[0]]
    assert capsys.readouterr().out.count("SHA-256") == 3


def test_the_fetched_folder_is_copied_as_a_whole(paths):
    main(str(paths[0][0].parent), paths[1])
    assert [path.read_bytes() for path in paths[1]] == [path.read_bytes() for path in paths[0]]


@pytest.mark.parametrize("place", range(3))
@pytest.mark.parametrize("fault", ["missing", "empty", "folder"])
def test_a_broken_file_leaves_nothing(paths, place, fault):
    broken = paths[0][place]
    broken.unlink()
    if fault == "empty":
        broken.touch()
    elif fault == "folder":
        broken.mkdir()
    with pytest.raises(StudyError, match=rf"{broken.name} is empty or no file: checkpoint\.folder must"):
        main(*paths)
    assert not paths[1][0].parent.exists()


def shuffled(lines):
    return random.Random(1).sample(lines, len(lines))


def counted(lines):
    """As `fairseq-preprocess` writes them: by falling counts, filled up to a multiple of 8."""
    return [f"{line.split()[0]} {1000 - k // 2}" for k, line in enumerate(shuffled(lines))] + ["madeupword0000 0"]


@pytest.mark.parametrize("change", [list, counted])
def test_dictionaries_of_either_order_are_taken(paths, change):
    dictionary = paths[0][1]
    write_lines(dictionary, change(read_lines(dictionary)))
    main(*paths)
    assert paths[1][1].read_bytes() == dictionary.read_bytes()


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        (shuffled, r"dict.txt line \d+: the symbols are neither in the order of falling counts nor in that of"),
        (lambda lines: shuffled(counted(lines)), r"dict.txt line \d+: the symbols are neither"),
        # Two lines exchanged.
        (lambda lines: [*lines[:9], lines[10], lines[9], *lines[11:]], "dict.txt line 11: the symbols are neither"),
        (lambda lines: [*lines, lines[0]], r"dict.txt line 296: symbol .* occurs twice"),
    ],
)
def test_a_dictionary_whose_lines_were_moved_is_refused(paths, change, fault):
    """Each line numbers an embedding: nothing would fail, every piece would have another's."""
    dictionary = paths[0][1]
    write_lines(dictionary, change(read_lines(dictionary)))
    with pytest.raises(StudyError, match=fault):
        main(*paths)
    assert not paths[1][0].parent.exists()


def test_pieces_of_another_checkpoint_are_refused(paths, vocabulary):
    shutil.copy(vocabulary / "other.model", paths[0][2])
    with pytest.raises(StudyError, match=r"dict.txt line \d+: .* is no piece of .*, nor are \d+ others of 295"):
        main(*paths)
    assert not paths[1][0].parent.exists()
