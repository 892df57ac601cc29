"""The embedded study's base and its tuned model, by the settings of config.yaml: they speak in words, tuning helps."""

import json

import pytest
import yaml

from common.files import read_json, read_lines
from qa import build_qa_base_model, build_qa_pairs, evaluate_qa, finetune_lora
from qa.answers import Words
from qa.embedded_faq import corpus, pairs
from support.environments import ROOT

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def evaluated(tmp_path_factory):
    """evaluation.json and the answers of the one run, both as Python values."""
    folder = tmp_path_factory.mktemp("embedded")

    def place(name):
        return str(folder / name)

    qa = yaml.safe_load((ROOT / "config.yaml").read_text(encoding="utf-8"))["qa"]
    sides = [place(name) for name in ("train.jsonl", "heldout.jsonl")]
    data = qa["data"]
    build_qa_pairs.main("embedded", [], None, *sides, place("manifest.json"), data["n_heldout"], data["split_seed"])
    build_qa_base_model.main(
        "embedded", [], place("base"), place("pretraining.tsv"), qa["base"]["embedded"], qa["prompt"]
    )
    outputs = [place(name) for name in ("loss.tsv", "adapter", "tensorboard", "run.json")]
    settings = ("rank16", qa["seeds"][0], qa["lora"], qa["training"], qa["prompt"])
    finetune_lora.main(*sides, place("base"), *outputs, place("states"), *settings, save_every=0)
    answers = [place(name) for name in ("generations.jsonl", "evaluation.json")]
    evaluate_qa.main(
        *sides, place("base"), outputs[1], outputs[3], *answers, qa["training"], qa["generation"], qa["prompt"]
    )
    return read_json(answers[1]), [json.loads(line) for line in read_lines(answers[0])]


@pytest.mark.parametrize("moment", ["before", "after"])
def test_answers_are_made_of_words(evaluated, moment):
    """Before this was asked, the tuned model said "La garantiettioctoctttuggger en juin."."""
    _, answers = evaluated
    texts = [*corpus(1, 6000), *(pair["answer"] for pair in pairs())]
    # The base may go on with the next turn of a dialogue, in the prompt's words.
    known = {"human", "assistant"} | {word for text in texts for word in Words().tokenize(text)}
    said = [word for row in answers for word in Words().tokenize(row[moment])]
    strange = [word for word in said if word not in known]
    assert len(strange) <= 0.03 * len(said), strange


def test_tuning_helps_on_questions_kept_out(evaluated):
    measured, _ = evaluated
    assert measured["heldout"]["after"]["loss"] < 0.5 * measured["heldout"]["before"]["loss"]
    assert measured["chrf"]["after"] > measured["chrf"]["before"] + 15
    assert measured["rouge_l"]["after"] > measured["rouge_l"]["before"] + 0.15
