"""Every job on a full disk: one message, no half-written output, and the same command finishes once there is room."""

import json
import os
import shutil
import subprocess
import sys

import pytest

from support import studies
from support.environments import rules

pytestmark = [pytest.mark.integration, pytest.mark.slow, pytest.mark.long, pytest.mark.timeout(1800)]

# Rules that the tiny study leaves out.
MORE = {
    "qa": {
        "enabled": True,
        "data": {"n_heldout": 4},
        "lora": {"r": 2},
        "rank_sweep": {"ranks": [2]},
        "variations": {"runs": [{"name": "whole", "tune": "all", "lr": 1.0e-3}]},
        "seeds": [1],
        "base": {
            "embedded": {
                "n_texts": 50,
                "files": ["https://files.example.org/shop.txt"],
                "vocab_size": 300,
                "architecture": {"layers": 1, "width": 32, "heads": 2},
                "training": {"updates": 4, "batch_size": 4, "tokens_per_sample": 32, "warmup_updates": 1},
            }
        },
        "training": {"updates": 4, "evaluate_every": 2, "save_every": 2},
        "generation": {"n_questions": 1, "max_new_tokens": 4},
    },
}
TARGETS = [f"results/tiny/qa/{name}" for name in ("summary.tsv", "lora_ledger.tsv", "variations.tsv")]
TARGETS += [f"results/tiny/qa/figures/{name}.svg" for name in ("loss", "rank_sweep", "lora")]
# They need a fetched checkpoint, tables of opinions, a model or a tokenizer of another's, or a browser.
ELSEWHERE = {"extract_checkpoint", "copy_checkpoint", "compare_huggingface_weights"}
ELSEWHERE |= {"filter_corpus_tables", "take_model", "measure_tokens", "print_report"}
RULES = sorted({os.path.basename(script).removesuffix(".py") for script, _ in rules().values()} - ELSEWHERE)


@pytest.fixture(scope="module")
def tried(tiny_study, tmp_path_factory):
    """Return the findings of `support.full_disk` by rule."""
    own, reason = studies.own_mounts()
    if own is None:
        pytest.skip(reason)
    folder = tmp_path_factory.mktemp("full-disk")
    finished, jobs = shutil.copytree(tiny_study, folder / "study", symlinks=True), folder / "jobs"
    host = folder / "mirror" / "files.example.org"
    host.mkdir(parents=True)
    (host / "shop.txt").write_text("Votre commande part demain.\n" * 50, encoding="utf-8")
    changes = MORE | studies.every_table() | {"mirror": str(folder / "mirror")}
    study = studies.write_study(folder / "study.yaml", changes)
    seen = studies.watched(jobs)
    done = studies.snakemake(finished, "--", "all", *TARGETS, "export_models", study=study, env=seen)
    assert done.returncode == 0, done.output
    study = studies.write_study(folder / "words.yaml", changes | studies.FACTORIZED)
    done = studies.snakemake(finished, "--", studies.WORD_VECTORS, study=study, env=seen)
    assert done.returncode == 0, done.output
    # Where both runs had a job of a rule, the later one's is what the files are of.
    again = {script.name.partition(".")[0] for script in jobs.glob("*.py")}
    for script in (finished / ".snakemake" / "watched").glob("*.py"):
        if script.name.partition(".")[0] not in again:
            shutil.copy2(script, jobs)
    done = subprocess.run(
        [*own, sys.executable, "-m", "support.full_disk", finished, jobs, folder / "result.json"],
        env=studies.importing("tests", "scripts"),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return {each["rule"]: each for each in json.loads((folder / "result.json").read_text())}


@pytest.mark.parametrize("rule", RULES)
def test_a_full_disk_is_told_and_a_rerun_finishes(tried, rule):
    found = tried[rule]
    for full in found["full"]:
        assert full["status"] == 1, full
        assert full["shown"].count("error in rule ") == 1 and "Traceback" not in full["shown"], full
        assert "the disk " in full["shown"] and "full" in full["shown"], full
        assert "free some space and run again" in full["shown"], full
        assert full["half"] == [], full
    assert (found["status"], found["wrong"], found["left"]) == (0, [], []), found
