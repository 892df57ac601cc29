"""The disk space that a run will need, computed from the study's models before it starts."""

import glob
import os
import re
import shutil

import frameworks
from common.errors import StudyError
from study.addresses import hub_addresses
from study.guests import guests
from study.rule_parameters import ENCODER, PUBLISHED_SIZE, count

FLOAT = 4
# Adam keeps two moments of every weight: a saved state is three times the weights.
STATE = 3 * FLOAT
# The new state is written beside the old one.
STATES = 2
# Binarized text, as a share of its UTF-8 bytes: four to five bytes a piece, two bytes a number.
BINARIZED = 0.5
# Tables, figures, logs, the page, the SentencePiece model's copies: small whatever the study.
REST = 5_000_000


def corpus_bytes(corpus, size_of):
    """Return the bytes of the text to pretrain on, repeats counted, as far as they are known.

    Args:
        corpus: config section `checkpoint.corpus`, its addresses expanded.
        size_of: function from an address to its bytes, or None.
    """
    repeats = [(url, corpus["files_repeat"]) for url in corpus["files"]]
    repeats += [(url, entry["repeat"]) for entry in corpus["tables"] for url in entry["urls"]]
    return sum((size_of(url) or 0) * times for url, times in repeats)


def model_bytes(config, size_of):
    """Return {name: bytes} of the weights of external models that arms start from; 0 where unknown.

    Args:
        config: the study's settings.
        size_of: function from an address to its bytes, or None.
    """
    used = {arm["model"] for arm in config["finetuning"]["arms"].values()}
    found = {}
    for name, model in config["finetuning"]["models"].items():
        if model.get("folder"):
            files = glob.glob(os.path.join(glob.escape(model["folder"]), "*"))
            sizes = {os.path.basename(path): os.path.getsize(path) for path in files}
        else:
            sizes = {os.path.basename(url): size_of(url) or 0 for url in hub_addresses(model)}
        if name in used:
            # The choice is that of `finetuning.take_model`.
            weights = [file for file in sizes if re.fullmatch(r"model.*\.safetensors", file)]
            weights = weights or [file for file in sizes if re.fullmatch(r"pytorch_model.*\.bin", file)]
            found[name] = sum(sizes[file] for file in weights)
    return found


def mean_parameters(config, framework, n_checkpoint, models):
    """Return the parameters of a framework's classifier, the mean over the study's arms.

    Args:
        config: the study's settings.
        framework: its name.
        n_checkpoint: parameters of the classifier that starts from the checkpoint.
        models: what `model_bytes` returns.
    """
    arms = [arm for arm in config["finetuning"]["arms"].values() if arm["framework"] == framework]
    counts = [models[arm["model"]] // FLOAT if arm["model"] in models else n_checkpoint for arm in arms]
    return sum(counts) // len(counts) if counts else n_checkpoint


def disk_need(jobs, config, downloads, corpus, at_once, models=None):
    """Return the bytes that a run will write, by kind; nearly all are weights, so little is guessed.

    Args:
        jobs: {rule: planned jobs}.
        config: the study's settings.
        downloads: bytes to be downloaded, where they are known.
        corpus: bytes of the corpus (`corpus_bytes`).
        at_once: jobs that run at the same time; each training one keeps a state.
        models: bytes of others' models (`model_bytes`).

    Returns:
        dict[str, int]: bytes, the largest first.
    """
    checkpoint, finetuning = config["checkpoint"], config["finetuning"]
    # A fetched checkpoint brings its dictionary, which is assumed to be the course's until then.
    made = checkpoint["source"] == "pretrain"
    size = {
        "vocab_size": checkpoint["sentencepiece"]["vocab_size"] if made else PUBLISHED_SIZE["vocab_size"],
        **{key: checkpoint["architecture"][key] for key in ("width", "ffn_width", "layers", "max_positions")},
    }
    weights = {name: count(size, (*ENCODER, *frameworks.load(name).TERMS)) for name in frameworks.having("TERMS")}
    # The pretraining's checkpoint has the language-model head; an exported model is in the form of others' models.
    trained = count(size, (*ENCODER, "head", "lm_head"))
    weights = {name: mean_parameters(config, name, counted, models or {}) for name, counted in weights.items()}
    exported = max(weights[name] for name in frameworks.having("OTHERS_MODELS") if name in weights)
    need = dict.fromkeys(("downloads", "corpus", "checkpoint", "fine-tuned checkpoints", "saved states", "models"), 0)
    need["downloads"] = downloads
    if "build_corpus" in jobs:
        need["corpus"] = int(corpus * (1 + BINARIZED))
    for rule in ("pretrain", "extract_checkpoint", "copy_checkpoint", "convert_checkpoint"):
        if rule in jobs:
            need["checkpoint"] += jobs[rule] * FLOAT * trained
    if made and "pretrain" in jobs:
        need["checkpoint"] += jobs["pretrain"] * len(checkpoint["pretraining"]["keep"] or []) * FLOAT * trained
    if "take_model" in jobs:
        need["others' models"] = sum((models or {}).values())
    if "pretrain" in jobs:
        need["saved states"] = STATES * STATE * trained * min(jobs["pretrain"], at_once)
    most = finetuning["training"]["epochs"]
    for framework, parameters in weights.items():
        n_runs = jobs.get(f"finetune_{framework}", 0)
        epochs = max((arm.get("training") or {}).get("epochs") or most for arm in finetuning["arms"].values())
        # Otherwise every epoch's checkpoint exists only until one is selected, which Snakemake does first.
        kept = finetuning["keep_checkpoints"] or finetuning["evaluation"]["test_curves"]
        n_checkpoints = n_runs * (epochs + 1) if kept else n_runs + min(n_runs, at_once) * epochs
        need["fine-tuned checkpoints"] += n_checkpoints * FLOAT * parameters
        # Pretraining is over by then, and its saved state removed.
        states = STATES * STATE * parameters * min(n_runs, at_once)
        need["saved states"] = max(need["saved states"], states)
    need["models"] = jobs.get("export_model", 0) * FLOAT * exported
    for guest in guests().values():
        for kind, size in guest.disk(jobs, config).items():
            need[kind] = need.get(kind, 0) + size
    need["tables, figures and logs"] = REST
    return {name: n for name, n in sorted(need.items(), key=lambda item: -item[1]) if n}


def in_words(n):
    """Return a number of bytes for people: 4.3 GB, 17 MB."""
    return f"{n / 1e9:.1f} GB" if n >= 1e9 else f"{max(1, round(n / 1e6))} MB"


def check_disk(need, folder):
    """Return one sentence on the space that a run needs and the free space.

    Args:
        need: what `disk_need` returns.
        folder: the study's folder, which exists.

    Raises:
        StudyError: less is free.
    """
    free, total = shutil.disk_usage(folder).free, sum(need.values())
    parts = ", ".join(f"{name} {in_words(n)}" for name, n in need.items())
    if total > free:
        raise StudyError(
            f"this run will write about {in_words(total)} ({parts}), and the disk that holds {os.path.abspath(folder)} "
            f"has {in_words(free)} free: free some space, or use another disk (--directory), and run again"
        )
    return f"This run will write about {in_words(total)} ({parts}); {in_words(free)} are free."
