"""Question answering on what a user brings: a table of pairs, a causal model's folder, a prompt and arms."""

import csv
import json

import pytest

from common.files import read_json, read_lines, read_tsv
from support import studies
from support.causal_models import make_model
from support.qa_support import PAIRS

pytestmark = [pytest.mark.integration, pytest.mark.slow, pytest.mark.timeout(1800)]

OWN = {
    "enabled": True,
    "seeds": [2],
    "arms": {"narrow": {"r": 2}, "wide.all": {"r": 8, "target_modules": "all-linear", "lr": 1.0e-3}},
    "data": {"source": "file", "question": "Frage", "answer": "Antwort", "n_heldout": 4},
    "prompt": "Q: {question}\nA: {answer}",
    "base": {"source": "folder"},
    "rank_sweep": {"ranks": [2]},
    "variations": {"runs": [{"name": "whole", "tune": "all", "lr": 1.0e-3}]},
    "training": {"updates": 4, "evaluate_every": 2, "save_every": 2, "max_tokens": 96},
    "generation": {"n_questions": 2, "max_new_tokens": 4},
}
TARGETS = ["qa/summary.tsv", "qa/lora_ledger.tsv", "qa/rank_sweep.tsv", "qa/variations.tsv"]
TARGETS += [f"qa/figures/{name}.svg" for name in ("loss", "rank_sweep", "lora")]
TARGETS += ["models/qa-wide.all-seed2"]


def test_a_table_a_gpt2_a_prompt_and_two_arms(tmp_path):
    make_model("gpt2", str(tmp_path / "gpt2"))
    with open(tmp_path / "fragen.csv", "w", encoding="utf-8", newline="") as handle:
        csv.writer(handle, delimiter=";").writerows(
            [("Nr", "Frage", "Antwort"), *((i, *pair.values()) for i, pair in enumerate(PAIRS))]
        )
    places = {"data": {"file": str(tmp_path / "fragen.csv")}, "base": {"folder": str(tmp_path / "gpt2")}}
    own, targets = studies.merged(OWN, places), [f"results/tiny/{name}" for name in TARGETS]
    study = studies.write_study(tmp_path / "study.yaml", {"qa": own})
    done = studies.snakemake(tmp_path, *targets, study=study)
    assert done.returncode == 0, done.output
    results = tmp_path / "results" / "tiny"
    runs = read_tsv(results / "qa" / "runs.tsv")
    assert [(row["arm"], row["rank"], row["seed"]) for row in runs] == [
        (arm, rank, "2") for arm, rank in (("narrow", "2"), ("wide.all", "8"))
    ]
    # Both layers: c_attn 32 × 96; with all linear ones c_proj 32 × 32, c_fc 32 × 128 and back, too.
    assert [int(row["trainable_params"]) for row in runs] == [2 * 2 * 128, 2 * 8 * (128 + 64 + 160 + 160)]
    wide = read_json(results / "qa" / "wide.all" / "seed2" / "run.json")
    assert (wide["protocol"]["lr"], wide["prompt"]) == (1.0e-3, OWN["prompt"])
    answers = [json.loads(line) for line in read_lines(results / "qa" / "generations.jsonl")]
    assert {row["question"] for row in answers} <= {pair["question"] for pair in PAIRS}
    card = (results / "models" / "qa-wide.all-seed2" / "README.md").read_text(encoding="utf-8")
    assert "prompt = 'Q: Quel" in card and "\\nA:'" in card
    assert {row["arm"] for row in read_tsv(results / "qa" / "lora_ledger.tsv")} == set(OWN["arms"])
    # How often a state is saved decides nothing, so that nothing is made again.
    changed = studies.write_study(
        tmp_path / "changed.yaml", {"qa": studies.merged(own, {"training": {"save_every": 1}})}
    )
    assert studies.plan(tmp_path, *targets, study=changed) == {}
