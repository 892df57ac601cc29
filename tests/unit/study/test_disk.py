"""The disk that a run fills, told before it starts: against hand-computed sizes and the files of real runs."""

import os
from pathlib import Path

import pytest
import yaml

from common.errors import StudyError
from qa.guest import bloom_parameters
from study.disk import REST, check_disk, corpus_bytes, disk_need, in_words, model_bytes
from support import studies


@pytest.fixture(scope="module")
def default():
    with open(os.path.join(studies.ROOT, "config.yaml"), encoding="utf-8") as handle:
        return yaml.safe_load(handle)


def settings(default, name):
    with open(os.path.join(studies.ROOT, "studies", f"{name}.yaml"), encoding="utf-8") as handle:
        return studies.merged(default, yaml.safe_load(handle))


def test_the_open_study_by_hand(default):
    jobs = {"finetune_fairseq": 6, "finetune_huggingface": 3, "pretrain": 1, "convert_checkpoint": 1, "build_corpus": 1}
    config = studies.merged(settings(default, "open"), {"finetuning": {"evaluation": {"test_curves": False}}})
    need = disk_need(jobs, config, downloads=7, corpus=10**6, at_once=2)
    # PROTOCOL's counts for these sizes: 23 388 418 in fairseq's whole model, 23 093 250 in Hugging Face's; 4 bytes
    # each. One selected checkpoint of each run, 6 and 3, and all 5 epochs of the two at work.
    assert need["fine-tuned checkpoints"] == 4 * ((6 + 2 * 5) * 23_388_418 + (3 + 2 * 5) * 23_093_250)
    keeping = studies.merged(config, {"finetuning": {"keep_checkpoints": True}})
    kept = disk_need(jobs, keeping, downloads=7, corpus=10**6, at_once=2)
    # Every epoch's and the selected one once more.
    assert kept["fine-tuned checkpoints"] == 4 * 6 * (6 * 23_388_418 + 3 * 23_093_250)
    # Two files of the checkpoint, and the weights kept at five of its updates. States are weights and two moments: 2
    # fairseq runs with an old and a new one each are the most at one time (pretraining has one such pair).
    assert need["checkpoint"] == (2 + 5) * 4 * 23_388_418
    assert need["saved states"] == 2 * 2 * 12 * 23_388_418
    assert need["corpus"] == 1_500_000 and need["downloads"] == 7
    # Three pretrainings, two at work at one time.
    several = disk_need(jobs | {"pretrain": 3, "convert_checkpoint": 3}, config, downloads=7, corpus=0, at_once=2)
    assert several["checkpoint"] == 3 * need["checkpoint"]
    alone = disk_need({"pretrain": 3}, config, downloads=0, corpus=0, at_once=2)
    assert alone["saved states"] == 2 * 2 * 12 * 23_388_418
    assert list(need) == sorted(need, key=need.get, reverse=True)


def test_the_corpus_by_hand():
    corpus = {"files": ["a", "b"], "files_repeat": 2, "tables": [{"urls": ["c", "d"], "repeat": 3}]}
    # Twice 10 and 20 bytes, three times 100; of the last file nothing is known.
    assert corpus_bytes(corpus, {"a": 10, "b": 20, "c": 100}.get) == 360


def test_a_fetched_checkpoint_has_the_published_size(default):
    jobs = {"extract_checkpoint": 1, "convert_checkpoint": 1}
    need = disk_need(jobs, settings(default, "lab"), downloads=0, corpus=0, at_once=2)
    assert need["checkpoint"] == 2 * 4 * 23_388_418


def test_models_of_others_are_as_large_as_their_files(default, tmp_path):
    for name, sizes in {
        "one": {"model.safetensors": 400, "pytorch_model.bin": 9},
        "two": {"pytorch_model.bin": 1200},
    }.items():
        (tmp_path / name).mkdir()
        for file, size in sizes.items():
            (tmp_path / name / file).write_bytes(b"-" * size)
    hub = {"repo": "a/b", "revision": "0" * 40, "files": ["config.json", "model.safetensors"]}
    models = {name: {"folder": str(tmp_path / name)} for name in ("one", "two")} | {
        "three": {"hub": hub},
        "unused": {"hub": hub},
    }
    arms = {name: {"framework": "huggingface", "model": name, "init": "pretrained"} for name in ("one", "two", "three")}
    config = default | {"finetuning": default["finetuning"] | {"models": models, "arms": arms}}
    found = model_bytes(config, {f"https://huggingface.co/a/b/resolve/{'0' * 40}/model.safetensors": 2000}.get)
    assert found == {"one": 400, "two": 1200, "three": 2000}
    need = disk_need({"take_model": 3, "finetune_huggingface": 6}, config, 0, 0, at_once=1, models=found)
    # On average (100 + 300 + 500) / 3 = 300 parameters of 4 bytes; 10 epochs of the one at work, 6 selected.
    epochs = config["finetuning"]["training"]["epochs"]
    assert need["others' models"] == 3600
    kept = config["finetuning"]["keep_checkpoints"] or config["finetuning"]["evaluation"]["test_curves"]
    assert need["fine-tuned checkpoints"] == 1200 * (6 * (epochs + 1) if kept else 6 + epochs)
    assert need["saved states"] == 2 * 3 * 1200 and "checkpoint" not in need


def test_nothing_is_counted_that_is_not_planned(default):
    assert disk_need({"build_report": 1}, default, 0, 0, at_once=2) == {"tables, figures and logs": REST}


def test_a_bloom_has_the_published_count():
    # PROTOCOL: BLOOM-560m, 24 layers, width 1 024, vocabulary 250 880.
    assert bloom_parameters(250_880, 1024, 24) == 559_214_592


def test_sizes_in_words():
    assert [in_words(n) for n in (10, 17_400_000, 4_277_632_597)] == ["1 MB", "17 MB", "4.3 GB"]


def test_too_small_a_disk_is_refused_before_anything_is_trained(tmp_path):
    with pytest.raises(StudyError, match=r"about 1000000000\.0 GB \(models 1000000000\.0 GB\).* free: free some space"):
        check_disk({"models": 10**18}, tmp_path)
    assert "are free" in check_disk({"models": 10**6}, tmp_path)


def size_of(folder):
    return sum(path.stat().st_size for path in Path(folder).rglob("*") if path.is_file())


@pytest.mark.integration
@pytest.mark.timeout(1800)
def test_a_real_study_is_no_larger_than_told(default, tiny_study):
    jobs = {"finetune_fairseq": 2, "finetune_huggingface": 1, "pretrain": 1, "convert_checkpoint": 1, "build_corpus": 1}
    need = disk_need(jobs, studies.merged(default, studies.TINY), 0, 0, at_once=2)
    results = tiny_study / "results" / "tiny"
    assert size_of(results) < sum(need.values())
    # A small model's file is a third names and settings; weights are the rest.
    folders = [*results.glob("finetuning/*/seed1/checkpoints"), *results.glob("finetuning/*/seed1/selected")]
    checkpoints = sum(size_of(folder) for folder in folders)
    assert 0.6 * checkpoints < need["fine-tuned checkpoints"] < checkpoints
