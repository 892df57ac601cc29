"""Provenance: what a job records of itself, the crate made from it, and what `make clean-report` leaves."""

import datetime
import hashlib
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from urllib.parse import unquote

import pytest

from common import machine
from common.errors import StudyError
from common.files import read_json, sha256, write_json
from report import record_provenance
from study.products import generated_rules, page_rules
from support.studies import published, published_studies
from tools import packs
from tools.publish import crate_files

ROOT = Path(__file__).resolve().parents[3]
COMMIT = "0123456789abcdef0123456789abcdef01234567"
SETTINGS = {"study": "tiny", "mirror": "/somewhere/here", "finetuning": {"seeds": [1]}}


def make_study(folder, seeds=(1,), old=False, qa=False):
    """Write the files that the crate is made from; return the arguments of `record_provenance.main`."""
    data = folder / "data"
    write_json(
        data / "manifest.json",
        {
            "source": "embedded",
            "synthetic": True,
            "splits": {
                split: {"sha256_review": split[0] * 64, "sha256_label": None} for split in ("train", "valid", "test")
            },
        },
    )
    runs, predictions = [], []
    for seed in seeds:
        record = {
            "arm": "fairseq-random",
            "framework": "fairseq",
            "model": "checkpoint",
            "init": "random",
            "seed": seed,
            "precision": "float32",
            "threads": 1,
            "train_seconds": 4.5,
            "versions": {"torch": "2.13.0+cpu"},
        }
        if not old:
            record |= {
                "started": f"2026-01-0{seed}T10:00:00+00:00",
                "ended": f"2026-01-0{seed}T10:00:05+00:00",
                "commit": COMMIT,
                "settings_sha256": "5" * 64,
                "machine": {"cpu": "A processor", "cores": 2, "memory_mb": 2048, "gpu": None, "os": "Linux 6 x86_64"},
            }
        runs.append(folder / "finetuning" / f"seed{seed}" / "run.json")
        write_json(runs[-1], record)
        predictions.append(folder / "predictions" / f"seed{seed}.tsv")
        predictions[-1].parent.mkdir(exist_ok=True)
        predictions[-1].write_text(f"id\tprediction\n{seed}\t1\n")
    table = folder / "runs.tsv"
    table.write_text("seed\n1\n")
    asked = {}
    if qa:
        asked = {"qa_runs": [folder / "qa" / "run.json"], "qa_results": [folder / "qa" / "evaluation.json"]}
        asked["qa_manifest"] = [folder / "qa" / "manifest.json"]
        write_json(
            asked["qa_runs"][0], {"arm": "wide", "rank": 8, "seed": 1, "seconds": 9.0, "versions": {"peft": "0.21.2"}}
        )
        write_json(asked["qa_results"][0], {"perplexity": 2.0})
        write_json(asked["qa_manifest"][0], {"source": "embedded"})
    crate = folder / "ro-crate-metadata.json"
    made = {"records": runs, "predictions": predictions, "manifest": data / "manifest.json", "tables": [table]}
    return made | asked | {"crate": crate}


def crate_of(arguments, settings=SETTINGS, commit="89abcde"):
    record_provenance.main(**arguments, settings=settings, commit=commit)
    content = json.loads(Path(arguments["crate"]).read_text(encoding="utf-8"))
    entities = {entity["@id"]: entity for entity in content["@graph"]}
    assert len(entities) == len(content["@graph"])
    return entities


def references(value):
    """All identifiers that nested properties refer to."""
    if isinstance(value, list):
        return [found for item in value for found in references(item)]
    if isinstance(value, dict):
        return [value["@id"]] if set(value) == {"@id"} else [f for item in value.values() for f in references(item)]
    return []


def test_every_run_says_when_where_from_what_and_what_it_gave(tmp_path):
    entities = crate_of(make_study(tmp_path, seeds=(1, 2)))
    run = entities["#run-fairseq-random/seed2"]
    assert run["@type"] == "CreateAction"
    assert (run["startTime"], run["endTime"]) == ("2026-01-02T10:00:00+00:00", "2026-01-02T10:00:05+00:00")
    values = {entities[name].get("name"): entities[name].get("value") for name in references(run["object"])}
    assert (values["seed"], values["commit"], values["settings_sha256"]) == (2, COMMIT, "5" * 64)
    assert entities[run["resourceUsage"]["@id"]]["value"] == 4.5
    place = entities[run["location"]["@id"]]
    facts = {entities[name]["name"]: entities[name]["value"] for name in references(place["additionalProperty"])}
    assert facts == {"cpu": "A processor", "cores": 2, "memory_mb": 2048, "os": "Linux 6 x86_64"}
    assert entities[run["agent"]["@id"]]["@type"] == "Organization" and "seed 2" in run["description"]
    assert run["actionStatus"] == "http://schema.org/CompletedActionStatus"
    tool = entities[run["instrument"]["@id"]]
    assert tool["softwareVersion"] == COMMIT
    assert tool["url"].startswith(f"https://archive.softwareheritage.org/swh:1:rev:{COMMIT}#finetune_fairseq-")
    package = entities[tool["softwareRequirements"]["@id"]]
    assert (package["url"], package["softwareVersion"]) == ("https://pypi.org/project/torch/2.13.0/#cpu", "2.13.0+cpu")
    digest = hashlib.sha256(b"id\tprediction\n2\t1\n").hexdigest()
    assert entities["predictions/seed2.tsv"]["sha256"] == digest
    assert {"@id": "predictions/seed2.tsv"} in run["result"]
    assert {"@id": "#data/train.review"} in run["object"] and {"@id": "#data/test.review"} not in run["object"]
    # Two runs on one machine, by one script at one commit: one entity each.
    assert sum(entity["@type"] == "Place" for entity in entities.values()) == 1
    assert sum(entity.get("name") == "finetune_fairseq" for entity in entities.values()) == 1


def test_the_crate_is_whole(tmp_path):
    entities = crate_of(make_study(tmp_path, qa=True))
    root = entities["./"]
    assert entities["ro-crate-metadata.json"]["about"] == {"@id": "./"}
    assert root["conformsTo"]["@id"] in entities
    assert root["datePublished"] == "2026-01-01"
    assert {"name", "description", "license"} <= root.keys()
    outside = {record_provenance.CRATE}
    for entity in entities.values():
        for found in references({key: value for key, value in entity.items() if not key.startswith("@")}):
            assert found in entities or found in outside, (entity["@id"], found)
    files = {name for name, entity in entities.items() if entity["@type"] == "File"}
    assert {part["@id"] for part in root["hasPart"]} == files
    # Every file that it names lies beside it (the page is built from it); the reviews are no files of it.
    assert {name for name in files if not (tmp_path / name).is_file()} == {"report.html"}
    assert not [name for name in files if name.endswith((".review", ".label"))]
    assert entities["#data/test.review"]["sha256"] == "t" * 64
    assert all(entities[name]["encodingFormat"] and entities[name]["description"] for name in files)
    assert root["author"] == root["publisher"] and root["author"]["@id"] in entities
    actions = {name for name, entity in entities.items() if entity["@type"] == "CreateAction"}
    assert {action["@id"] for action in root["mentions"]} == actions
    assert actions == {"#run-fairseq-random/seed1", "#run-qa/wide/seed1"}
    page = entities["report.html"]
    assert page["isBasedOn"] == {"@id": "runs.tsv"}
    built = {entities[name]["name"] for name in references(page["mentions"])}
    assert built == {"build_report", "SHA-256 of the study's settings"}


def test_the_same_bytes_elsewhere_and_later(tmp_path, monkeypatch):
    first = make_study(tmp_path / "a" / "tiny")
    crate_of(first)
    again = make_study(tmp_path / "b" / "tiny")
    monkeypatch.setattr(machine, "now", lambda: pytest.fail("the clock was read"))
    crate_of(again, SETTINGS | {"mirror": None})
    made = Path(first["crate"]).read_bytes()
    assert made == Path(again["crate"]).read_bytes()
    assert str(tmp_path).encode() not in made and b"somewhere" not in made


def test_a_record_without_time_and_machine_claims_none(tmp_path):
    entities = crate_of(make_study(tmp_path, old=True), commit="")
    run = entities["#run-fairseq-random/seed1"]
    assert not {"startTime", "endTime", "location"} & run.keys()
    tool = entities[run["instrument"]["@id"]]
    assert tool["softwareVersion"] == "not recorded" and "url" not in tool
    assert "datePublished" not in entities["./"]


def test_a_file_of_no_known_kind_is_named():
    with pytest.raises(StudyError, match="a/model.bin: no media type is known for .bin"):
        record_provenance.encoding("a/model.bin")


@pytest.mark.parametrize("study", published_studies())
def test_a_published_crate_names_what_is_packed_beside_it_and_what_a_rebuild_makes(study):
    folder = published(study)
    graph = read_json(folder / "ro-crate-metadata.json")["@graph"]
    made = packs.listed(folder) if (folder / packs.SUMS).exists() else {}
    files = [entity for entity in graph if entity["@type"] == "File"]
    assert len(files) > 30
    for entity in files:
        path = folder / unquote(entity["@id"])
        assert path.is_file() or entity["@id"] in made, entity["@id"]
        if "sha256" in entity:
            there = sha256(path) if path.is_file() else made[entity["@id"]]
            assert there == entity["sha256"], entity["@id"]
    assert crate_files(folder) == [entity["name"] for entity in files]


def test_missing_predictions_are_named(tmp_path):
    arguments = make_study(tmp_path)
    arguments["predictions"][0].unlink()
    with pytest.raises(StudyError, match="predictions/seed1.tsv is missing"):
        crate_of(arguments)
    assert not arguments["crate"].exists()


def test_a_job_records_time_commit_settings_and_machine(tmp_path):
    before = datetime.datetime.now(datetime.UTC).replace(microsecond=0)
    record = machine.job_record({"b": 1, "a": [2]})
    assert before <= datetime.datetime.fromisoformat(record["started"]) <= datetime.datetime.now(datetime.UTC)
    assert record["settings_sha256"] == hashlib.sha256(b'{"a":[2],"b":1}').hexdigest()
    assert record["machine"]["cpu"] and record["machine"]["cores"] >= 1
    assert set(record["machine"]) == set(record_provenance.MACHINE)
    assert machine.commit(str(tmp_path)) == ""
    cpuinfo = tmp_path / "cpuinfo"
    cpuinfo.write_text("processor\t: 0\nmodel name\t: First Chip @ 2 GHz\nprocessor\t: 1\nmodel name\t: Other\n")
    assert machine.cpu_model(cpuinfo) == "First Chip @ 2 GHz"


@pytest.mark.skipif(not shutil.which("git"), reason="needs git")
def test_the_commit_says_when_files_differ(tmp_path):
    def git(*arguments):
        identity = ["-c", "user.name=A", "-c", "user.email=a@example.org"]
        command = ["git", "-C", str(tmp_path), *identity, *arguments]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()

    git("init", "-q")
    (tmp_path / "file").write_text("1")
    git("add", "file")
    git("commit", "-q", "-m", "first")
    head = git("rev-parse", "HEAD")
    assert machine.commit(str(tmp_path)) == head
    (tmp_path / "file").write_text("2")
    assert machine.commit(str(tmp_path)) == f"{head}-dirty"


def test_regeneration_knows_no_rule_that_trains_or_reads_a_checkpoint():
    rules = {rule.name: " ".join(map(str, rule.inputs.values())) for _, rule in generated_rules()}
    for path in sorted((ROOT / "rules").rglob("*.smk")):
        one = r"^ *(?:rule|checkpoint) (\w+):\n((?:(?! *(?:rule|checkpoint) ).*\n)*)"
        for name, body in re.findall(one, path.read_text(), re.MULTILINE):
            rules[name] = (
                re.search(r"input:\n(.*?)\n *(?:output:|$)", body, re.DOTALL).group(1) if "input:" in body else ""
            )
    assert len(page_rules()) > 30
    for name in page_rules():
        reading = r"""model\.pt|/checkpoints|checkpoint/huggingface|qa/base["']|adapter|COUNTED"""
        assert not re.search(reading, rules[name]), name
    assert not {"pretrain", "finetune_fairseq", "finetune_huggingface", "finetune_lora"} & set(page_rules())


def test_clean_report_leaves_the_records(tmp_path):
    shutil.copy(ROOT / "Makefile", tmp_path)
    for name in ("scripts", "tools"):
        (tmp_path / name).symlink_to(ROOT / name)
    for name in ("requirements.txt", "requirements-fairseq.txt", "requirements-test.txt"):
        (tmp_path / name).touch()
    (tmp_path / "config.yaml").write_text("study: tiny # its name\n")
    kept = ["weights.tsv", "parameter_ledger.tsv", "logit_parity.tsv", "qa/pretraining.tsv", "data/manifest.json"]
    kept += ["finetuning/fairseq-random/seed1/run.json", "predictions/fairseq-random/seed1.tsv"]
    gone = ["report.html", "runs.tsv", "statistics/arms.tsv", "figures/arms.svg", "qa/summary.tsv"]
    for name in kept + gone:
        path = tmp_path / "results" / "tiny" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    command = ["make", "-C", str(tmp_path), f"PYTHON={sys.executable}", "clean-report"]
    subprocess.run(command, check=True, capture_output=True)
    left = {str(p.relative_to(tmp_path / "results" / "tiny")) for p in tmp_path.rglob("results/**/*") if p.is_file()}
    assert left == set(kept)
