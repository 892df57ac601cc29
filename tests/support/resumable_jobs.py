"""Each resumable job by itself, on inputs of seconds, killed before changes to its folder and started again.

    python -m support.resumable_jobs [JOB ...]

kills each job before every change that it makes, compares what comes out with an undisturbed run's and prints where
each kill fell. Each run has a folder of its own, where its files have the same names as every other run's.
"""

import json
import os
import re
import shutil
import signal
import sys
import tempfile
from pathlib import Path

import torch
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from checkpoint import binarize_corpus
from finetuning.token_ids import write_token_ids
from support import servers
from support.arms import facts
from support.fault_injection import CLOCKS
from support.killed_runs import fork_runs, run_forked
from support.qa_support import LORA, PROMPT, SAVE_EVERY, TRAINING, make_base, write_pairs
from support.reviews import ARCHITECTURE, binarize, write_reviews
from support.roberta import huggingface_config
from support.studies import FINETUNING, PRETRAINING, write_study
from training.fairseq_checkpoint import read_checkpoint

# Two epochs of 10 updates, states after 4, 8, 12, 16: within an epoch, and none at an epoch's end.
SETTINGS = FINETUNING | {"batch_size": 4, "epochs": 2, "classifier_dropout": 0.1}
# With 5 updates an epoch the states of 4, 8 and 12 are within one; that of 20 ends one and is the last.
OWN_PRETRAINING = PRETRAINING | {"updates": 20, "validate_every": 4, "batch_size": 20}
BASE = {
    "n_texts": 30,
    "files_repeat": 1,
    "dialogue_share": 0.5,
    "vocab_size": 320,
    "architecture": {"layers": 1, "width": 32, "heads": 4},
    "training": {
        "updates": 4,
        "batch_size": 4,
        "lr": 1e-2,
        "warmup_updates": 2,
        "label_smoothing": 0.0,
        "seed": 1,
        "tokens_per_sample": 32,
    },
}


WRITTEN = {"model.pt", "history.tsv", "tensorboard", "checkpoints", "history", "run", "weights", "loss.tsv", "adapter"}
WRITTEN |= {"base", "pretraining.tsv", "a.bin", "b.bin", "manifest.json"}


def of_three_files(address):
    """Return the settings of a study that retrieves three files."""
    data = {"source": "cls_books_zip", "n_train": None, "n_valid": None}
    data["cls_books_zip"] = {"url": f"{address}/cls.books.zip"}
    checkpoint = {"source": "fetch", "fetch": {"fairseq": {"url": f"{address}/checkpoint.zip"}}}
    qa = {"enabled": True, "data": {"source": "url", "url": f"{address}/faq.json"}}
    return {"data": data, "checkpoint": checkpoint, "qa": qa}


def prepare(folder, hosted, address):
    """Write what the jobs read.

    Args:
        folder: for their inputs.
        hosted: folder that a server offers.
        address: address of that server.
    """
    from transformers import RobertaForMaskedLM

    rows = write_reviews(folder)
    binarize(folder, "train-valid")
    for split in ("train", "valid"):
        ids = [[0, *(7 + ord(letter) % 200 for letter in text[:40]), 2] for text, _ in rows[split]]
        write_token_ids(str(folder / f"{split}.npz"), ids, [label for _, label in rows[split]])
    files = {"train": "train.txt", "valid": "valid.txt", "model": "spm.model", "dictionary": "dict.txt"}
    files = {key: str(folder / name) for key, name in files.items()}
    binarize_corpus.main(**files, folder=str(folder / "corpus"), limit=30, threads=1)
    torch.manual_seed(0)
    RobertaForMaskedLM(huggingface_config(300, ARCHITECTURE)).save_pretrained(str(folder / "huggingface"))
    make_base(str(folder / "base"))
    write_pairs(str(folder))
    for name in ("a.bin", "b.bin", "cls.books.zip", "checkpoint.zip", "faq.json"):
        (hosted / name).write_bytes(name.encode() * 50_000)
    write_study(folder / "study.yaml", of_three_files(address))


def jobs(inputs, address):
    """Return {job: (its script's module, arguments of its `main`)}; what it writes lies below the working folder."""
    run = {name: name for name in ("checkpoints", "history", "run", "weights", "tensorboard", "states")}
    run |= {"seed": 3, "settings": SETTINGS, "threads": 1, "save_every": 4}
    given = {
        "checkpoint.pretrain": {
            **{"data": f"{inputs}/corpus", "architecture": ARCHITECTURE, "pretraining": OWN_PRETRAINING, "threads": 1},
            **{"model": "model.pt", "history": "history.tsv", "tensorboard": "tensorboard", "states": "states"},
        },
        "frameworks.fairseq.train": {
            **run,
            **{
                "facts": facts("fairseq", "random"),
                "data": f"{inputs}/train-valid",
                "checkpoint": None,
                "architecture": ARCHITECTURE,
            },
        },
        "frameworks.huggingface.train": {
            **run,
            **{"train": f"{inputs}/train.npz", "valid": f"{inputs}/valid.npz", "checkpoint": f"{inputs}/huggingface"},
            **{"facts": facts("huggingface", "random")},
        },
        "qa.finetune_lora": {
            **{"train": f"{inputs}/train.jsonl", "heldout": f"{inputs}/heldout.jsonl", "base": f"{inputs}/base"},
            **{"loss": "loss.tsv", "adapter": "adapter", "tensorboard": "tensorboard"},
            **{"run": "run", "states": "states"},
            **{"arm": "rank4", "seed": 1, "lora": LORA, "training": TRAINING, "template": PROMPT},
            **{"save_every": SAVE_EVERY},
        },
        "qa.build_qa_base_model": {
            **{"source": "embedded", "files": [], "embedded": BASE},
            **{"base": "base", "pretraining": "pretraining.tsv", "template": PROMPT},
        },
        "data.retrieve": {
            **{"urls": [f"{address}/a.bin", f"{address}/b.bin"], "hashes": [None, None], "sizes": [None, None]},
            **{"files": ["a.bin", "b.bin"], "manifest": "manifest.json", "mirror": None, "key": "data"},
        },
        "tools.mirror": {"study": f"{inputs}/study.yaml", "mirror": "mirror"},
    }
    return {script.partition(".")[2]: (script, arguments) for script, arguments in given.items()}


def outputs(arguments):
    """Return the names of what a job writes and Snakemake knows of, from the arguments of its `main`."""
    flat = [name for value in arguments.values() for name in (value if isinstance(value, list) else [value])]
    return {name for name in flat if isinstance(name, str) and name in WRITTEN}


def points(folder):
    """The TensorBoard points (name, step, value) that do not tell time."""
    accumulator = EventAccumulator(folder).Reload()
    return sorted(
        (tag, event.step, event.value)
        for tag in accumulator.Tags()["scalars"]
        if not tag.endswith(("wps", "ups", "wall", "per_second", "runtime"))
        for event in accumulator.Scalars(tag)
    )


def content(path):
    """Return the parts of two runs' files that must be the same: all bytes, but for times and paths."""
    name = os.path.basename(path)
    if name == "run":
        with open(path, encoding="utf-8") as handle:
            # The clone may have had another commit since.
            record = {key: value for key, value in json.load(handle).items() if key != "commit"}
        return {key: value for key, value in record.items() if not CLOCKS.fullmatch(key)}
    if re.fullmatch(r"checkpoint\d+\.pt", name):
        return {key: tensor.tolist() for key, tensor in read_checkpoint(path)["model"].items()}
    with open(path, "rb") as handle:
        return handle.read()


def differences(one, two):
    """Return what differs between the folders of two finished runs, one line each."""
    found = [{}, {}]
    for files, folder in zip(found, (one, two), strict=True):
        for place, _, names in os.walk(folder):
            for name in names:
                inside = os.path.relpath(place if "tfevents" in name else os.path.join(place, name), folder)
                files[inside] = os.path.join(folder, inside)
    lines = [f"{name}: only in one" for name in sorted(found[0].keys() ^ found[1].keys())]
    for name in sorted(found[0].keys() & found[1].keys()):
        compare = points if os.path.isdir(found[0][name]) else content
        if compare(found[0][name]) != compare(found[1][name]):
            lines.append(f"{name}: differs")
    return lines


def changes(path):
    """Return the changes that a run made to its folder: see `killed_runs`."""
    with open(path, encoding="utf-8") as handle:
        return [json.loads(line) for line in handle]


def kill_at_boundaries(folder, wanted, choose):
    """Kill jobs before changes to their folders, start each again plainly, and compare it with an undisturbed run.

    Args:
        folder: an empty folder to work in.
        wanted: names of the jobs.
        choose: function from a job's changes (see `changes`) to the indices of those to kill at.

    Returns:
        list[dict]: job, updates (made before the kill), verb, path, outcome ("same", or what went wrong).
    """
    inputs, hosted = folder / "inputs", folder / "hosted"
    inputs.mkdir(), hosted.mkdir()
    with servers.serve(hosted) as server:
        prepare(inputs, hosted, server.address)
        made = {name: each for name, each in jobs(inputs, server.address).items() if name in wanted}

        def run(name, number, kill=None):
            place = folder / f"{name}-{number}"
            place.mkdir(exist_ok=True)
            script, arguments = made[name]
            run = {"name": f"{place.name}{'-killed' if kill else ''}", "folder": str(place), "kill": kill}
            # Snakemake removes an unfinished job's outputs before it starts the job again; a state is none.
            run["forget"] = [] if kill else sorted(outputs(arguments))
            return run | {"script": script, "arguments": arguments}

        run_forked(folder, [run(name, "whole") for name in made])
        rows, todo = [], []
        for name in made:
            found = changes(folder / f"{name}-whole.changes")
            for i in choose(found):
                rows.append({"job": name, "number": i + 1, **found[i]})
                todo += [run(name, i + 1, {"at_change": i + 1}), run(name, i + 1)]
        statuses = fork_runs(folder, todo, timeout=None)
    for row, killed, finished in zip(rows, statuses[::2], statuses[1::2], strict=True):
        one, two = (folder / f"{row['job']}-{number}" for number in ("whole", row["number"]))
        if killed != signal.SIGKILL:
            row["outcome"] = f"not killed: status {killed}"
        elif finished:
            row["outcome"] = f"failed: {(folder / f'{two.name}.log').read_text().splitlines()[-1]}"
        else:
            row["outcome"] = "; ".join(differences(one, two)) or "same"
    return rows


def telling(found):
    """Return the indices of the changes that matter most, of a job's: what the fast tests kill at.

    What follows the save of the last state, the second output's way into place, the last output's.
    """
    saves = [i for i, each in enumerate(found) if each["path"].endswith("/state.pt") and each["verb"] == "rename"]
    moves = [i for i, each in enumerate(found) if each["verb"] == "rename" and not each["path"].startswith("states")]
    return sorted({*(i + 1 for i in saves[-1:]), moves[0] + 1, moves[-1]})


def table(rows):
    """Return where each kill fell and what came of it, a line each."""
    columns = ("job", "updates", "verb", "path", "outcome")
    return "\n".join("\t".join(str(row[column]) for column in columns) for row in rows)


def main(*names):
    """Kill the named jobs, or all, before each of their changes; return the exit status."""
    folder = Path(tempfile.mkdtemp(prefix="resumable-jobs-"))
    rows = kill_at_boundaries(folder, names or list(jobs("", "")), lambda found: range(len(found)))
    wrong = [row for row in rows if row["outcome"] != "same"]
    print(table(rows))
    print(f"{len(rows)} kills, {len(wrong)} with another outcome than the undisturbed run's")
    if wrong:
        print(f"Everything lies in {folder}")
        return 1
    shutil.rmtree(folder)
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
