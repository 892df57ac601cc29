"""A study whose arms start from other models only: two families, five classes, frozen, with LoRA; to exported ones."""

import pytest
import torch
from safetensors.torch import load_file
from transformers import AutoConfig, AutoModelForSequenceClassification, pipeline

from common.files import read_json, read_tsv
from support import studies
from support.encoders import write_encoder

pytestmark = [pytest.mark.integration, pytest.mark.slow, pytest.mark.timeout(1800)]

LABELS = ["très mauvais", "mauvais", "moyen", "bon", "l'excellent"]
BERT = {"framework": "huggingface", "model": "bert", "init": "pretrained"}
ARMS = {
    "plain": BERT,
    "same-again": BERT | {"match": "plain"},
    # One of two inits: its weights are fresh, its sizes and tokenizer the model's.
    "fresh": BERT | {"init": "random"},
    "lower-frozen": BERT | {"freeze": 1, "training": {"lr": 5.0e-3, "epochs": 1}},
    "head-only": BERT | {"model": "modernbert", "freeze": "encoder"},
    # Its head came with it, for the same classes in another order.
    "head-of-its-own": BERT | {"model": "named"},
    "low-rank": BERT | {"model": "modernbert", "lora": {"r": 2, "lora_alpha": 4}},
}


def rows(first, n):
    """n texts in five classes, every ninth longer than the 22 tokens that a model reads."""
    lines = []
    for k in range(first, first + n):
        more = " encore un livre à lire" * 6 * (k % 9 == 0)
        lines.append(f'{LABELS[k % 5]};"{LABELS[k % 5]} livre numéro {k} , facile à lire .{more}"\n')
    return "label;text\n" + "".join(lines)


def settings(folder):
    table = {"train": "train.csv", "test": "test.csv", "language": "fr", "licence": "CC BY 4.0"}
    data = {"source": "table", "labels": LABELS, "table": table, "n_train": None, "n_valid": 15}
    models = {name: {"folder": str(folder / name)} for name in ("bert", "modernbert", "named")}
    models["named"]["max_tokens"] = 20
    return studies.merged(
        {key: value for key, value in studies.TINY.items() if key != "checkpoint"},
        {"data": data, "finetuning": {"models": models, "arms": ARMS, "evaluation": {"test_curves": False}}},
    )


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    folder = tmp_path_factory.mktemp("foreign")
    for split, first, n in (("train", 0, 60), ("test", 200, 30)):
        (folder / f"{split}.csv").write_text(rows(first, n), encoding="utf-8")
    for family in ("bert", "modernbert"):
        write_encoder(folder / family, family, spread=0.3)
    names = LABELS[::-1]
    named = {"id2label": dict(enumerate(names)), "label2id": {name: k for k, name in enumerate(names)}}
    AutoModelForSequenceClassification.from_pretrained(folder / "bert", **named).save_pretrained(folder / "named")
    for path in (folder / "bert").glob("token*"):
        (folder / "named" / path.name).write_bytes(path.read_bytes())
    studies.write_study(folder / "study.yaml", base=settings(folder))
    return folder


@pytest.fixture(scope="module")
def results(study):
    done = studies.snakemake(study, "all", "export_models", study=study / "study.yaml")
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
    # Texts 207, 216 and 225 of 30 are long.
    for name in ("bert", "modernbert"):
        assert float(rows[f"{name}: share truncated", "test"]["value"]) >= 0.1
        assert float(rows[f"{name}: longest, tokens", "test"]["value"]) > 22
        assert "reads the first 22 tokens" in rows[f"{name}: share truncated", "test"]["note"]
    # The one cuts words in pieces that it learnt, the other in bytes' pairs: two tokenizers, two counts.
    means = {name: rows[f"{name}: mean tokens", "train"]["value"] for name in ("bert", "modernbert")}
    assert means["bert"] != means["modernbert"]
    corpus = rows["test reviews in the pretraining corpus", "test"]
    assert corpus["status"] == "not checked" and "others trained the models" in corpus["note"]
    assert "mean pieces" not in {check for check, _ in rows}
    assert "max_pieces" not in read_json(results / "audit.json")["settings"]


def test_the_ledger_counts_every_tensor_of_each_model(study, results):
    rows = read_tsv(results / "parameter_ledger.tsv")
    assert {row["section"] for row in rows} == {"counted: bert", "counted: modernbert", "counted: named"}
    for name in ("bert", "modernbert"):
        tensors = load_file(study / name / "model.safetensors")
        assert len({tensor.data_ptr() for tensor in tensors.values()}) == len(tensors)
        of = {row["item"]: int(row["count"]) for row in rows if row["section"] == f"counted: {name}"}
        assert of["total"] == sum(torch.numel(tensor) for tensor in tensors.values())
        assert sum(of.values()) == 2 * of["total"] and len(of) > 2
    assert not any(row["agrees"] or row["expected"] for row in rows)


def test_a_head_that_came_with_the_model_is_told_as_such(study, results):
    heads = {row["arm"]: row["head"] for row in read_tsv(results / "weights.tsv")}
    assert heads == dict.fromkeys(ARMS, "new") | {"head-of-its-own": "kept"}
    page = (results / "report.html").read_text(encoding="utf-8")
    assert "a kept one came with the model" in page and "new in every run" not in page
    theirs, ours = (
        load_file(folder / "named" / "model.safetensors")["classifier.weight"]
        for folder in (study, results / "finetuning" / "models")
    )
    assert torch.equal(ours, theirs.flip(0))
    run = read_json(results / "finetuning" / "head-of-its-own" / "seed1" / "run.json")
    assert run["protocol"]["head"].endswith("; kept, with its rows in the study's order, as it came with the model")
    assert run["protocol"]["truncation"] == "first 20 tokens, as the model's own tokenizer cuts"
    card = (results / "models" / "head-of-its-own-seed1" / "README.md").read_text(encoding="utf-8")
    assert "Its classification head was kept, with its rows in the study's order." in card


def test_the_page_is_checked_and_says_nothing_of_a_checkpoint(results):
    page = (results / "report.html").read_text(encoding="utf-8")
    assert 'id="checkpoint"' not in page and 'id="parameters"' not in page and 'id="ledgers"' in page
    assert len(read_tsv(results / "report_numbers.tsv")) > 100
    assert not (results / "checkpoint").exists() and not (results / "parameters").exists()


def test_every_table_and_the_page_have_all_arms_and_classes(results):
    assert [row["arm"] for row in read_tsv(results / "statistics" / "arms.tsv")] == sorted(ARMS)
    # 6 · 5 / 2 pairs of arms.
    assert len(read_tsv(results / "statistics" / "pairs.tsv")) >= 15
    page = (results / "report.html").read_text(encoding="utf-8")
    assert all(name in page for name in ARMS) and all(name.replace("'", "&#39;") in page for name in LABELS)
    assert len(read_tsv(results / "report_numbers.tsv")) > 100


def test_each_arm_trained_as_it_says(results):
    protocols = {name: read_json(results / "finetuning" / name / "seed1" / "run.json")["protocol"] for name in ARMS}
    assert protocols["lower-frozen"]["peak_lr"] == 5.0e-3 and protocols["plain"]["peak_lr"] != 5.0e-3
    assert protocols["lower-frozen"]["freeze"] == 1 and protocols["low-rank"]["lora"]["r"] == 2
    # Alike in all, they give the same answers.
    same = [(results / "predictions" / name / "seed1.tsv").read_bytes() for name in ("plain", "same-again")]
    assert same[0] == same[1]


@pytest.mark.parametrize("arm", ARMS)
def test_each_arm_is_exported_for_plain_transformers(results, arm):
    folder = results / "models" / f"{arm}-seed1"
    assert AutoConfig.from_pretrained(str(folder)).id2label == dict(enumerate(LABELS))
    classify = pipeline("text-classification", model=str(folder), truncation=True)
    texts = (results / "data" / "test.review").read_text(encoding="utf-8").splitlines()
    for text, row in zip(texts, read_tsv(results / "predictions" / arm / "seed1.tsv"), strict=True):
        (answer,) = [each for each in classify(text, top_k=None) if each["label"] == LABELS[int(row["prediction"])]]
        assert answer["score"] == pytest.approx(float(row[f"probability_{row['prediction']}"]), abs=1e-4)
    card = (folder / "README.md").read_text(encoding="utf-8")
    assert 'language: "fr"' in card and "CC BY 4.0" in card and "probabilities\ndiffered by at most" in card


def test_mixed_arms_still_make_the_checkpoint(study, tmp_path):
    for file in ("train.csv", "test.csv"):
        (tmp_path / file).write_bytes((study / file).read_bytes())
    arms = ARMS | {"own": {"framework": "fairseq", "model": "checkpoint", "init": "pretrained"}}
    changed = studies.merged(settings(study), {"checkpoint": studies.TINY["checkpoint"], "finetuning": {"arms": arms}})
    jobs = studies.plan(tmp_path, study=studies.write_study(tmp_path / "study.yaml", base=changed))
    assert jobs["pretrain"] == 1 and jobs["measure_tokens"] == 3 and jobs["derive_parameters"] == 1
