"""Time one update and one scored text of an arm on this machine, before anything is trained.

The arm is trained by the framework's own script for a few updates, with its settings, from random weights of the same
architecture, on random tokens: what weights and texts hold does not change what an update costs. Called by
`tools.plan_times` as a process of its own, `python -m tools.update_benchmark REQUEST.json`.
"""

import importlib
import os
import shutil
import sys
import tempfile
import time
import types

import numpy as np

from common.files import read_json, write_json, write_lines
from finetuning.token_ids import write_token_ids
from training.batching import count_updates

# Updates of the shorter run; those by which the longer one has more: first few, then enough for the request's seconds.
SHORT, FIRST, MOST = 2, 6, 120
N_VALID, MORE_VALID = 32, 256
SEED, SPECIAL = 48, 4
# Epochs are chosen by accuracy here, which changes no update.
NO_PART = ("measure", "select_by", "patience", "class_weights")


def lengths_of(request, n):
    """Return the tokens of n texts: drawn from the study's where these are known, else all of the longest."""
    generator = np.random.default_rng(SEED)
    if request["lengths"]:
        return generator.choice(request["lengths"], n)
    return np.full(n, request["longest"])


def texts(request, n, n_ids):
    """Return n sequences of token ids, between <s> (0) and </s> (2), and their labels, 0 and 1."""
    generator = np.random.default_rng([SEED, n])
    sequences = [[0, *generator.integers(SPECIAL, n_ids, max(1, k - 2)), 2] for k in lengths_of(request, n)]
    return sequences, [i % 2 for i in range(n)]


def prepare_huggingface(request, sizes, folder):
    """Write the inputs of a run by Hugging Face's Trainer into a folder; return the arguments of its `main`."""
    import torch
    from safetensors.torch import save_file
    from transformers import AutoConfig, RobertaConfig

    start = os.path.join(folder, "start")
    if not os.path.isdir(start):
        os.mkdir(start)
        if request["config"]:
            shutil.copyfile(request["config"], os.path.join(start, "config.json"))
        else:
            shape = request["architecture"]
            RobertaConfig(
                vocab_size=request["n_ids"],
                hidden_size=shape["width"],
                num_hidden_layers=shape["layers"],
                num_attention_heads=shape["heads"],
                intermediate_size=shape["ffn_width"],
                max_position_embeddings=shape["max_positions"] + 2,
                type_vocab_size=1,
                layer_norm_eps=1e-5,
            ).save_pretrained(start)
        # A run with random weights reads the file only to prove that it does not hold them.
        save_file({"none": torch.zeros(1)}, os.path.join(start, "model.safetensors"))
        head = {"status": "new", "tensors": []}
        write_json(
            os.path.join(start, "conversion.json"),
            {"max_positions": request["longest"], "head": head, "heads_verified": True},
        )
    n_ids = AutoConfig.from_pretrained(start, local_files_only=True, trust_remote_code=False).vocab_size
    paths = {}
    for split, n in sizes.items():
        paths[split] = os.path.join(folder, f"{split}-{n}.npz")
        write_token_ids(paths[split], *texts(request, n, n_ids))
    return {**paths, "checkpoint": start}


def prepare_fairseq(request, sizes, folder):
    """Write the inputs of a run by `fairseq-train` into a folder; return the arguments of its `main`."""
    from training.fairseq_commands import binarize

    data = os.path.join(folder, f"data-{'-'.join(map(str, sizes.values()))}")
    os.makedirs(os.path.join(data, "label"))
    dictionary, labels = os.path.join(folder, "dict.txt"), os.path.join(folder, "label-dict.txt")
    write_lines(dictionary, [f"p{i} 1" for i in range(SPECIAL, request["n_ids"])])
    write_lines(labels, ["0 1", "1 1"])
    pieces, classes = {}, {}
    for split, n in sizes.items():
        sequences, of_texts = texts(request, n, request["n_ids"])
        pieces[split], classes[split] = (os.path.join(folder, f"{split}.{kind}") for kind in ("pieces", "label"))
        write_lines(pieces[split], [" ".join(f"p{i}" for i in one[1:-1]) for one in sequences])
        write_lines(classes[split], map(str, of_texts))
    binarize(pieces, dictionary, os.path.join(data, "input0"))
    binarize(classes, labels, os.path.join(data, "label"))
    return {"data": data, "architecture": request["architecture"]}


# The frameworks whose training is timed here, and how its inputs are written.
PREPARED = {"fairseq": prepare_fairseq, "huggingface": prepare_huggingface}


def trainer(request):
    """Return the framework's script whose `main` trains a run."""
    return importlib.import_module(f"frameworks.{request['framework']}.train")


def seconds(request, folder, updates, n_valid):
    """Return the seconds of a training of so many updates that scores so many validation texts once."""
    settings = {key: value for key, value in request["settings"].items() if key not in NO_PART} | {"epochs": 1}
    sizes = {"train": updates * settings["batch_size"], "valid": n_valid}
    assert count_updates(sizes["train"], settings["batch_size"], 1) == updates
    inputs, out = PREPARED[request["framework"]](request, sizes, folder), os.path.join(folder, "out")
    facts = {"arm": "benchmark", "framework": request["framework"], "model": request["model"], "init": "random"}
    outputs = {name: os.path.join(out, name) for name in ("checkpoints", "history", "run", "weights", "tensorboard")}
    os.mkdir(out)
    trainer(request).main(
        **inputs,
        **outputs,
        facts=facts,
        seed=1,
        settings=settings,
        threads=request["threads"],
        states=os.path.join(folder, "state"),
        save_every=0,
    )
    found = read_json(outputs["run"])
    for path in (out, os.path.join(folder, "state"), inputs.get("data", "")):
        shutil.rmtree(path, ignore_errors=True)
    return found["train_seconds"]


def one_update(short, longer, more):
    """Return the seconds of an update, from two trainings of which the longer has so many updates more.

    On a busy machine the longer one may take less time; its whole time then counts: an update is too slow, never free.
    """
    return (longer - short) / more if longer > short else longer / (SHORT + more)


def measure(request, began):
    """Return what an arm's updates and texts cost.

    Args:
        request: dict: framework, model, settings, threads, longest (tokens of an input), lengths (of the study's texts;
            None: all are taken as the longest), budget (seconds that the timed updates take at least, where they are
            quick), and architecture and n_ids, or config (the file of an external model).
        began: seconds since the epoch when the process was asked for.

    Returns:
        dict: update_seconds, text_seconds (of a scored text), start_seconds (libraries, and a training of no update),
            updates, tokens (of an update, on average).
    """
    with tempfile.TemporaryDirectory() as folder:
        trainer(request)
        start = time.time() - began
        # The first training also makes what later ones find made, such as oneDNN's code for a shape.
        seconds(request, folder, SHORT + FIRST, N_VALID)
        short = seconds(request, folder, SHORT, N_VALID)
        more, longer = FIRST, seconds(request, folder, SHORT + FIRST, N_VALID)
        if longer - short < request["budget"]:
            more = int(min(MOST, max(FIRST, FIRST * request["budget"] / max(longer - short, 1e-4))))
            longer = seconds(request, folder, SHORT + more, N_VALID)
        text = max(0.0, (seconds(request, folder, SHORT, N_VALID + MORE_VALID) - short) / MORE_VALID)
    update = one_update(short, longer, more)
    batch = request["settings"]["batch_size"]
    return {
        "update_seconds": update,
        "text_seconds": text,
        "start_seconds": max(0.0, start + short - SHORT * update - N_VALID * text),
        "updates": more,
        "tokens": float(lengths_of(request, 1000).mean() * batch),
    }


def longest_of(config_path, max_tokens=None):
    """Return the tokens that an input of an external model has at most, by its configuration.

    Raises:
        StudyError: it does not say, or it is no encoder.
    """
    from finetuning.encoders import check_config, longest_input

    folder = os.path.dirname(config_path)
    unlimited = types.SimpleNamespace(model_max_length=10**30, num_special_tokens_to_add=lambda: 2)
    return longest_input(check_config(folder, folder), unlimited, folder, max_tokens)


def main(arguments):
    """Read a request, measure, and write the result beside it."""
    (path,) = arguments
    request = read_json(path)
    if request["config"]:
        request["longest"] = request["longest"] or longest_of(request["config"], request["max_tokens"])
    write_json(f"{path}.found", measure(request, request["began"]) | {"longest": request["longest"]})


if __name__ == "__main__":
    main(sys.argv[1:])
