"""A study whose arms start from other models only, from tables to the checked page: nothing of a checkpoint is made."""

import pytest
import torch
from safetensors.torch import load_file

from common.files import read_json, read_tsv
from support import studies
from support.encoders import write_encoder

pytestmark = [pytest.mark.integration, pytest.mark.slow, pytest.mark.timeout(1800)]

LABELS = ["bon", "mauvais"]
# The second is one of two inits: its weights are fresh, its sizes and tokenizer the model's.
ARMS = {
    "whole": {"framework": "huggingface", "model": "mine", "init": "pretrained"},
    "fresh": {"framework": "huggingface", "model": "mine", "init": "random"},
    "other": {"framework": "huggingface", "model": "theirs", "init": "pretrained", "freeze": "encoder"},
}


def quoted(first, n):
    """n texts of the model's own words; every tenth is longer than the 22 words that it reads."""
    rows = []
    for k in range(first, first + n):
        words = f"{LABELS[k % 2]} livre numéro {k} , facile à lire ." + (" encore un livre facile à lire" * 5) * (
            k % 10 == 0
        )
        rows.append(f'{LABELS[k % 2]};"{words}"\n')
    return "label;text\n" + "".join(rows)


def settings(folder, **changes):
    table = {"train": "train.csv", "test": "test.csv"}
    data = {"source": "table", "labels": LABELS, "table": table, "n_train": None, "n_valid": 12}
    models = {name: {"folder": str(folder / name)} for name in ("mine", "theirs")}
    return studies.merged(
        {key: value for key, value in studies.TINY.items() if key != "checkpoint"},
        {"data": data, "finetuning": {"models": models, "arms": ARMS, "evaluation": {"test_curves": False}}} | changes,
    )


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    folder = tmp_path_factory.mktemp("foreign")
    (folder / "train.csv").write_text(quoted(0, 52), encoding="utf-8")
    (folder / "test.csv").write_text(quoted(100, 20), encoding="utf-8")
    write_encoder(folder / "mine", "bert")
    write_encoder(folder / "theirs", "roberta")
    studies.write_study(folder / "study.yaml", base=settings(folder))
    return folder


@pytest.fixture(scope="module")
def results(study):
    done = studies.snakemake(study, study=study / "study.yaml")
    assert done.returncode == 0, done.output
    return study / "results" / "tiny"


def test_no_job_of_a_checkpoint_or_of_fairseq_is_planned(study, tmp_path):
    for file in ("train.csv", "test.csv"):
        (tmp_path / file).write_bytes((study / file).read_bytes())
    jobs = studies.planned_jobs(tmp_path, study=study / "study.yaml")
    with open(f"{studies.ROOT}/rules/checkpoint.smk", encoding="utf-8") as handle:
        made = {line.split()[1].rstrip(":") for line in handle if line.strip().startswith("rule ")}
    assert {"pretrain", "convert_checkpoint", "convert_tokenizer"} <= made and not made & {job.rule for job in jobs}
    assert not [job.rule for job in jobs if "fairseq" in job.rule or job.rule.startswith("binarize")]
    assert not [file for job in jobs for file in job.input + job.output if "/tiny/checkpoint/" in file]
    assert {"take_model", "measure_tokens", "audit_data", "build_parameter_ledger", "check_report"} <= {
        job.rule for job in jobs
    }


def test_a_missing_folder_of_the_checkpoint_is_not_asked_for_unless_an_arm_starts_from_it(study, tmp_path):
    for file in ("train.csv", "test.csv"):
        (tmp_path / file).write_bytes((study / file).read_bytes())
    changed = settings(study) | {"checkpoint": {"source": "folder", "folder": "nowhere"}}
    path = studies.write_study(tmp_path / "study.yaml", base=changed)
    assert "copy_checkpoint" not in studies.plan(tmp_path, study=path)
    arms = {"own": {"framework": "huggingface", "model": "checkpoint", "init": "pretrained"}}
    path = studies.write_study(tmp_path / "study.yaml", {"finetuning": {"arms": arms}}, base=changed)
    done = studies.snakemake(tmp_path, "--dry-run", study=path)
    assert done.returncode == 1 and "checkpoint.folder: there is no nowhere" in done.output


def test_the_audit_has_each_model_s_own_lengths(results):
    rows = {(row["check"], row["split"]): row for row in read_tsv(results / "audit.tsv")}
    # Texts 100 and 110 of 20 are long.
    for name in ("mine", "theirs"):
        assert float(rows[f"{name}: share truncated", "test"]["value"]) >= 0.1
        assert float(rows[f"{name}: longest, tokens", "test"]["value"]) > 22
        assert "reads the first 22 tokens" in rows[f"{name}: share truncated", "test"]["note"]
    # The one cuts words in pieces that it learnt, the other in bytes' pairs: two tokenizers, two counts.
    means = {name: rows[f"{name}: mean tokens", "train"]["value"] for name in ("mine", "theirs")}
    assert means["mine"] != means["theirs"]
    corpus = rows["test reviews in the pretraining corpus", "test"]
    assert corpus["status"] == "not checked" and "others trained the models" in corpus["note"]
    assert "mean pieces" not in {check for check, _ in rows}
    assert "max_pieces" not in read_json(results / "audit.json")["settings"]


def test_the_ledger_counts_every_tensor_of_each_model(study, results):
    rows = read_tsv(results / "parameter_ledger.tsv")
    assert {row["section"] for row in rows} == {"counted: mine", "counted: theirs"}
    for name in ("mine", "theirs"):
        tensors = load_file(study / name / "model.safetensors")
        assert len({tensor.data_ptr() for tensor in tensors.values()}) == len(tensors)
        of = {row["item"]: int(row["count"]) for row in rows if row["section"] == f"counted: {name}"}
        assert of["total"] == sum(torch.numel(tensor) for tensor in tensors.values())
        assert sum(of.values()) == 2 * of["total"] and len(of) > 2
    assert not any(row["agrees"] or row["expected"] for row in rows)


def test_the_page_is_checked_and_says_nothing_of_a_checkpoint(results):
    page = (results / "report.html").read_text(encoding="utf-8")
    assert 'id="checkpoint"' not in page and 'id="parameters"' not in page and 'id="ledgers"' in page
    assert len(read_tsv(results / "report_numbers.tsv")) > 100
    assert not (results / "checkpoint").exists() and not (results / "parameters").exists()


def test_mixed_arms_still_make_the_checkpoint(study, tmp_path):
    for file in ("train.csv", "test.csv"):
        (tmp_path / file).write_bytes((study / file).read_bytes())
    arms = ARMS | {"own": {"framework": "fairseq", "model": "checkpoint", "init": "pretrained"}}
    changed = studies.merged(settings(study), {"checkpoint": studies.TINY["checkpoint"], "finetuning": {"arms": arms}})
    jobs = studies.plan(tmp_path, study=studies.write_study(tmp_path / "study.yaml", base=changed))
    assert jobs["pretrain"] == 1 and jobs["measure_tokens"] == 2 and jobs["derive_parameters"] == 1
