"""Files from this machine: missed before planning, unless the command names its rules or no arm needs them."""

import pytest

from common.errors import StudyError
from study import source_files

NAMED = ["snakemake", "--allowed-rules", "build_report"]


def config(folder, model="checkpoint"):
    arms = {"own": {"framework": "huggingface", "model": model, "init": "pretrained"}}
    return {"checkpoint": {"folder": str(folder)}, "finetuning": {"arms": arms}}


def taken(settings, words=("snakemake",)):
    said = []
    return source_files.checkpoint_of_folder(settings, said.append, list(words)), said


def test_a_missing_checkpoint_is_refused_where_an_arm_starts_from_it(tmp_path):
    with pytest.raises(StudyError, match="checkpoint.folder: there is no .*model.pt; name a folder"):
        taken(config(tmp_path))
    assert taken(config(tmp_path, "mine"))[1] == []
    # The study's own copy serves a command that names its rules, unless it copies.
    assert "the study's own copy is used instead" in taken(config(tmp_path), NAMED)[1][0]
    with pytest.raises(StudyError, match="there is no"):
        taken(config(tmp_path), [*NAMED, "copy_checkpoint"])


def test_a_missing_table_is_refused_by_the_main_process(tmp_path):
    table = {"train": str(tmp_path / "train.csv"), "valid": None, "test": "https://example.org/test.csv"}
    data = {"source": "table", "table": table}

    def files(watched, words=("snakemake",)):
        return source_files.source_files(data, lambda url: [f"resources/{url[8:]}"], watched, list(words))

    with pytest.raises(StudyError, match="data.table.train: "):
        files(True)
    assert [str(file) for file in files(False)][1] == "resources/example.org/test.csv"
    assert len(files(True, NAMED)) == 2
    assert (
        source_files.local_tables(data) == [table["train"]] and source_files.local_tables({"source": "embedded"}) == []
    )
