"""Helpers of the question-answering tests: a rule's ending block, settings, and a tiny BLOOM."""

import json
import os
from types import SimpleNamespace

import pytest

from common.entry import run
from qa import build_qa_pairs
from qa.build_qa_base_model import blocks, new_model, save, train_model, train_tokenizer

PROMPT = "<human>: {question}  \n <assistant>: {answer}"
PAIRS = [
    {"question": f"Quel est le délai numéro {i} ?", "answer": f"Le délai numéro {i} est de {i % 7 + 1} jours ouvrés."}
    for i in range(24)
]
LORA = {
    "r": 4,
    "lora_alpha": 8,
    "target_modules": ["query_key_value"],
    "lora_dropout": 0.1,
    "bias": "none",
    "task_type": "CAUSAL_LM",
    "modules_to_save": None,
    "layers_to_transform": None,
    "layers_pattern": None,
    "rank_pattern": {},
    "alpha_pattern": {},
}
TRAINING = {
    "updates": 6,
    "batch_size": 1,
    "accumulation": 2,
    "lr": 1.0e-2,
    "warmup_ratio": 0.1,
    "optimizer": "auto",
    "betas": [0.9, 0.999],
    "eps": 1.0e-8,
    "weight_decay": 0.0,
    "clip_norm": 1.0,
    "precision": "float32",
    "quantization": "none",
    "double_quantization": True,
    "loss_on": "answer",
    "learn_end_of_text": True,
    "max_tokens": 96,
    "evaluate_every": 3,
}
SAVE_EVERY = 2
GENERATION = {"n_questions": 2, "max_new_tokens": 6, "temperature": 0.7, "top_p": 0.7, "seed": 1}


def texts():
    """Text to train the tiny base on: no pair of `PAIRS`."""
    return [f"Votre commande {i} part sous {i % 9 + 1} jours. Le délai est écrit sur la facture." for i in range(60)]


def make_base(folder, updates=12, width=32, layers=2, lr=1e-2):
    """Train and write a tiny BLOOM."""
    tokenizer = train_tokenizer(texts(), 320)
    training = {"updates": updates, "batch_size": 4, "lr": lr, "warmup_updates": 2, "label_smoothing": 0.0, "seed": 1}
    model = new_model(320, {"layers": layers, "width": width, "heads": 4}, seed=1)
    rows = train_model(model, blocks(tokenizer, texts(), 32), training)
    save(folder, model, tokenizer)
    return rows


def write_pairs(folder, pairs=PAIRS, n_heldout=6):
    """Write the split of `pairs`; return the paths of both sides and of the manifest."""
    source = os.path.join(folder, "pairs.json")
    with open(source, "w", encoding="utf-8") as handle:
        json.dump(pairs, handle)
    paths = [os.path.join(folder, name) for name in ("train.jsonl", "heldout.jsonl", "manifest.json")]
    build_qa_pairs.main("file", [source], None, *paths, n_heldout, 1)
    return paths


def status_of(main, *arguments, folder, **named):
    """Run a rule's main as its ending block does; return the exit status and what the user's terminal shows.

    `run` redirects the process's own output for good, as it may in a job; here it is put back.
    """
    shown = os.path.join(folder, "terminal.txt")
    saved = os.dup(1), os.dup(2)
    terminal = os.open(shown, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(terminal, 2)
    rule = SimpleNamespace(threads=1, log=[os.path.join(folder, "rule.log")], rule="a_rule")
    rule.input, rule.output, rule.params, rule.wildcards = {}, {}, {}, {}
    try:
        with pytest.raises(SystemExit) as stop:
            run(lambda: main(*arguments, **named), rule)
    finally:
        for copy, number in zip(saved, (1, 2), strict=True):
            os.dup2(copy, number)
            os.close(copy)
        os.close(terminal)
    with open(shown, encoding="utf-8") as handle:
        return stop.value.code, handle.read()
