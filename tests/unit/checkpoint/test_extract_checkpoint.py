"""The fetched checkpoint: three files, or a Hugging Face folder, out of the course's zips."""

import os

import pytest

from checkpoint.extract_checkpoint import main
from common.errors import StudyError
from study.addresses import CHECKPOINT_FILES
from support.archives import make_zip


@pytest.mark.parametrize("folder", ["", "RoBERTa_small_fr/", "deep/er/"])
def test_the_three_files_from_any_folder(tmp_path, folder):
    path = make_zip(tmp_path / "a.zip", {**{folder + name: name.upper() for name in CHECKPOINT_FILES}, "readme": "x"})
    main("fairseq", path, tmp_path / "out")
    assert {name: (tmp_path / "out" / name).read_text() for name in os.listdir(tmp_path / "out")} == {
        name: name.upper() for name in CHECKPOINT_FILES
    }


@pytest.mark.parametrize("gone", CHECKPOINT_FILES)
def test_a_missing_file_leaves_nothing(tmp_path, gone):
    path = make_zip(tmp_path / "a.zip", {"x/" + name: "x" for name in CHECKPOINT_FILES if name != gone})
    with pytest.raises(StudyError) as caught:
        main("fairseq", path, tmp_path / "out")
    assert path in str(caught.value) and f"expected file {gone}" in str(caught.value)
    assert not (tmp_path / "out").exists()


def test_an_empty_file(tmp_path):
    path = make_zip(tmp_path / "a.zip", {**dict.fromkeys(CHECKPOINT_FILES, "x"), "dict.txt": ""})
    with pytest.raises(StudyError, match=r"dict\.txt is empty"):
        main("fairseq", path, tmp_path / "out")


@pytest.mark.parametrize("folder", ["", "RoBERTa_small_fr_HuggingFace/"])
def test_huggingface_folder(tmp_path, folder):
    files = {"config.json": "{}", "pytorch_model.bin": "w", "sentencepiece.bpe.model": "s", "deeper/notes": "n"}
    path = make_zip(tmp_path / "a.zip", {folder + name: content for name, content in files.items()} | {"other/x": "x"})
    main("huggingface", path, tmp_path / "out")
    assert sorted(os.listdir(tmp_path / "out")) == ["config.json", "pytorch_model.bin", "sentencepiece.bpe.model"]
    assert (tmp_path / "out" / "pytorch_model.bin").read_text() == "w"


@pytest.mark.parametrize(
    ("files", "fault"),
    [
        (["model.safetensors"], "it holds 0: model.safetensors"),
        (["a/config.json", "a/model.safetensors", "b/config.json"], "it holds 2"),
        (["a/config.json", "b/model.safetensors"], "no model.safetensors or pytorch_model.bin"),
    ],
)
def test_no_huggingface_folder(tmp_path, files, fault):
    path = make_zip(tmp_path / "a.zip", dict.fromkeys(files, "x"))
    with pytest.raises(StudyError, match=fault):
        main("huggingface", path, tmp_path / "out")
    assert not (tmp_path / "out").exists()
