"""The plan of a study of the sources: its runs and tables beside the study's, each run's own texts."""

import re

import pytest

from support import studies

pytestmark = [pytest.mark.workflow, pytest.mark.timeout(600)]

START = {"model": "checkpoint", "init": "pretrained"}
STUDY = {
    "questions": [{"ask": "Do they differ?", "compare": ["a", "b"]}],
    "finetuning": {
        "arms": {"a": START | {"framework": "fairseq"}, "b": START | {"framework": "huggingface", "n_train": 10}},
        "evaluation": {"test_curves": False},
    },
}
SOURCES = {"sources": [{"compare": ["a", "b"], "vary": ["order", "split"], "runs": 3}]}
OF_A_RUN = re.compile(r"/(?:finetuning|predictions)/([\w-]+?)/seed(\d+)")
# Splits by their names in files and folders of data.
OF_A_SPLIT = re.compile(r"(?:data-bin|token-ids/checkpoint)/((?:train|valid)[\w-]*)")


def planned(folder, changes):
    folder.mkdir()
    return studies.planned_jobs(
        folder, study=studies.write_study(folder / "study.yaml", studies.merged(STUDY, changes))
    )


def test_sources_add_their_runs_and_change_no_job_of_the_study(tmp_path):
    plain, asking = planned(tmp_path / "plain", {}), planned(tmp_path / "asking", SOURCES)
    more = [job for job in asking if job not in plain]
    trained = [job for job in more if job.rule.startswith("finetune_") and job.rule != "finetune_linear"]
    runs = {OF_A_RUN.search(job.output[0]).groups() for job in trained}
    alone = {(f"{arm}--{way}", seed) for arm in "ab" for way in ("order", "split") for seed in "234"}
    assert runs == alone | {(f"{arm}--all", seed) for arm in "ab" for seed in "567"} and len(trained) == 18
    for job in trained:
        arm, seed = OF_A_RUN.search(job.output[0]).groups()
        read = [found[1] for file in job.input if (found := OF_A_SPLIT.search(file))]
        drawn = arm.endswith(("--split", "--all"))
        assert read and all(split.endswith(f"-seed{seed}") == drawn for split in read), (arm, seed, read)
    # The study's own comparisons read what they read before; of their files none is another rule's.
    compared = ("compute_statistics", "answer_questions", "tabulate_test_accuracy", "plot_arms", "measure_errors")
    assert {job for job in plain if job.rule in compared} == {job for job in asking if job.rule in compared}
    made = {file for job in more for file in job.output}
    assert {f"results/tiny/spread/{name}.tsv" for name in ("runs", "history", "sources")} < made


def test_a_study_that_does_not_ask_plans_nothing_of_it(tmp_path):
    jobs = planned(tmp_path / "plain", {})
    assert not [job for job in jobs if "spread" in job.rule or any("--" in file for file in job.output)]
    assert not [job for job in jobs if job.rule == "draw_split"]
