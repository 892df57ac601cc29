"""studies/run_glue.yaml, tiny: the stock recipe from texts to the page, and its model exported."""

import pathlib
import re

import pytest
import yaml

from common.files import read_json, read_lines, read_table, read_tsv
from study.tables import faults, name_of
from support import studies

pytestmark = [pytest.mark.integration, pytest.mark.timeout(1200)]

ARM = "run_glue-pretrained"
FILE = pathlib.Path(studies.ROOT, "studies", "run_glue.yaml")


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    folder = tmp_path_factory.mktemp("study")
    given = yaml.safe_load(FILE.read_text(encoding="utf-8"))
    file = studies.write_study(folder / "study.yaml", studies.merged(studies.TINY, given))
    done = studies.snakemake(folder, study=file)
    assert done.returncode == 0, done.output
    return folder, file


@pytest.fixture(scope="module")
def results(study):
    return study[0] / "results" / "run_glue"


def test_the_run_is_a_run_like_all_others(results):
    (row,) = [row for row in read_tsv(results / "runs.tsv") if row["arm"] == ARM]
    predictions = read_tsv(results / "predictions" / ARM / "seed1.tsv")
    assert [cell["label"] for cell in predictions] == read_lines(results / "data" / "test.label")
    right = sum(cell["label"] == cell["prediction"] for cell in predictions)
    assert (row["n_correct_test"], row["n_test"]) == (str(right), str(len(predictions)))
    curve = [row for row in read_tsv(results / "history.tsv") if (row["arm"], row["split"]) == (ARM, "test")]
    assert [row["epoch"] for row in curve] == ["1", "2"]
    (proof,) = [row for row in read_tsv(results / "weights.tsv") if row["arm"] == ARM]
    assert proof["n_new"] == "0" and int(proof["n_equal"]) > 10 and proof["head"] == "new"
    counted = [row for row in read_tsv(results / "parameter_ledger.tsv") if "run_glue, fine-tuned" in row["section"]]
    assert len(counted) == 7 and {row["agrees"] for row in counted} == {"true"}


def test_what_it_really_trained_with_stands_beside_the_others(results):
    of = {row["setting"]: row for row in read_tsv(results / "protocol_diff.tsv")}
    # 64 positions: fewer than the 256 that are asked for.
    assert of["padding"]["run_glue"] == "every text to 64 tokens" != of["padding"]["huggingface"]
    assert of["betas"]["run_glue"] == "[0.9, 0.999]" and of["betas"]["huggingface"] == of["betas"]["fairseq"]
    assert of["truncation"]["run_glue"] == of["truncation"]["fairseq"]


def test_its_command_files_and_time_are_in_the_table_of_frameworks_in_use(results):
    steps = {
        row["rule"]: row for row in read_tsv(results / "frameworks" / "steps.tsv") if row["framework"] == "run_glue"
    }
    names = ["write_json_texts", "convert_tokenizer", "convert_checkpoint", "finetune_run_glue", "select_checkpoint"]
    assert list(steps) == [*names, "evaluate_run_glue"]
    command = read_json(results / "finetuning" / ARM / "seed1" / "run.json")["recipe"]["command"]
    # The table leaves out no flag.
    flags = re.findall(r"--\w+", command)
    trained = steps["finetune_run_glue"]
    assert re.findall(r"--\w+", trained["command"]) == flags and int(trained["n_arguments"]) == len(flags) >= 14
    assert steps["write_json_texts"]["files"].split()[0] == "results/run_glue/finetuning/json/train.json"
    assert float(trained["seconds"]) > 0 and "--do_predict" not in trained["command"]
    summary = [row["framework"] for row in read_tsv(results / "frameworks" / "summary.tsv")]
    assert summary == ["fairseq", "huggingface", "run_glue"]
    page = (results / "report.html").read_text(encoding="utf-8")
    section = page.split('<section id="frameworks"')[1].split("</section>")[0]
    assert "--max_seq_length 256" in section and "The stock recipe always keeps its own." in section


def test_the_question_is_answered(results):
    (row,) = read_tsv(results / "questions.tsv")
    assert row["contrast"] == f"{ARM} - huggingface-pretrained" and row["answer"]
    assert float(row["equal_within"]) == 0.02
    assert row["ask"] in (results / "report.html").read_text(encoding="utf-8")


def test_its_tables_are_declared(results):
    names = [path.relative_to(results).as_posix() for path in results.rglob("*.tsv")]
    names = [name for name in names if not name.startswith("benchmarks/")]
    assert [name for name in names if name_of(name) is None] == []
    assert [f"{name}: {fault}" for name in names for fault in faults(name_of(name), *read_table(results / name))] == []


def test_its_model_is_exported_and_nothing_is_planned_again(study):
    folder, file = study
    target = f"results/run_glue/models/{ARM}-seed1"
    done = studies.snakemake(folder, "--", target, study=file)
    assert done.returncode == 0, done.output
    card = (folder / target / "README.md").read_text(encoding="utf-8")
    assert "the recipe of Hugging Face's run_glue" in card
    assert read_json(folder / target / "config.json")["id2label"] == {"0": "negative", "1": "positive"}
    done = studies.snakemake(folder, "--dry-run", study=file)
    assert "Nothing to be done" in done.output
