"""A model by its name on the hub, from a stand-in on this machine, and from a mirror."""

import pytest

from common.errors import StudyError
from support.hub import REVISION, environment, serve_hub
from tools.hub_model import hub_entry, is_repo, needed

FILES = ["config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json"]
BESIDE = ["README.md", "pytorch_model.bin", "tf_model.h5", "onnx"]


def repository(folder, names):
    folder.mkdir(parents=True)
    for name in names:
        (folder / name).write_bytes(b"x")
    return folder


@pytest.fixture
def hub(tmp_path, monkeypatch):
    repos = {
        "someone/bert": repository(tmp_path / "bert", FILES + BESIDE),
        "someone/bare": repository(tmp_path / "bare", ["config.json", "model.gguf"]),
    }
    with serve_hub(tmp_path, repos) as served:
        for name, value in environment(served).items():
            monkeypatch.setenv(name, value)
        yield served


def test_the_hub_names_the_commit_and_the_files_that_are_needed(hub):
    assert hub_entry("someone/bert") == {"repo": "someone/bert", "revision": REVISION, "files": FILES}
    assert hub.paths("hub") == ["/api/models/someone/bert/revision/main"]


def test_a_model_without_weights_that_are_read_is_refused(hub):
    with pytest.raises(StudyError, match=r"someone/bare cannot be fine-tuned here: it lacks the weights: model\.safe"):
        hub_entry("someone/bare")


def test_without_an_answer_the_message_says_what_to_write(hub):
    with pytest.raises(StudyError) as refused:
        hub_entry("someone/absent")
    said = str(refused.value)
    assert said.startswith("MODEL=someone/absent: the hub did not list its files")
    assert "finetuning.models.mine.hub" in said and "repo: someone/absent" in said and "40 digits of a commit" in said


def test_a_mirror_is_asked_first_and_no_network(hub, tmp_path):
    kept = tmp_path / "mirror" / "huggingface.co" / "someone" / "kept" / "resolve"
    repository(kept / ("a" * 40), FILES)
    assert hub_entry("someone/kept", str(tmp_path / "mirror"))["revision"] == "a" * 40
    assert not hub.seen
    repository(kept / ("b" * 40), FILES)
    with pytest.raises(StudyError, match="the mirror has 2 commits"):
        hub_entry("someone/kept", str(tmp_path / "mirror"))


def test_needed_takes_one_form_of_weights_with_all_its_shards():
    shards = [f"model-0000{k}-of-00002.safetensors" for k in (1, 2)]
    names = ["config.json", *shards, "model.safetensors.index.json", "pytorch_model.bin", "vocab.txt", "flax.msgpack"]
    assert needed(names) == sorted(["config.json", *shards, "model.safetensors.index.json", "vocab.txt"])
    assert needed(["config.json", "pytorch_model.bin"]) == ["config.json", "pytorch_model.bin"]


@pytest.mark.parametrize(
    ("name", "is_one"), [("almanach/camembert-base", True), ("bert", False), ("/tmp/x/y", False), ("a/b/c", False)]
)
def test_a_name_of_the_hub_has_an_owner(name, is_one):
    assert is_repo(name) == is_one


def test_a_folder_is_no_name_of_the_hub(tmp_path, monkeypatch):
    (tmp_path / "mine" / "bert").mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    assert not is_repo("mine/bert") and is_repo("mine/bart")
