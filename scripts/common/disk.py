"""How much disk a run will fill, told before it starts."""

import os
import shutil

from common.errors import StudyError
from common.parameters import PUBLISHED_SIZE, count

FLOAT = 4
# Adam keeps two moments of every weight: a saved state is three times the weights.
STATE = 3 * FLOAT
# The new state is written beside the old one; pretraining keeps a last one and one by update, too.
STATES = {"pretrain": 3, "finetune_fairseq": 2, "finetune_huggingface": 2, "finetune_lora": 2}
# Binarized text, as a share of its UTF-8 bytes: four to five bytes a piece, two bytes a number.
BINARIZED = 0.5
# Tables, figures, logs, the page, the SentencePiece model's copies: small whatever the study.
REST = 5_000_000


def bloom_parameters(vocab_size, width, layers):
    """Return the parameters of a BLOOM with tied embeddings.

    V·D embeddings, two vectors of the embeddings' LayerNorm, and a layer: 4·D² + 4·D attention, 8·D² + 5·D
    feed-forward, 4·D LayerNorms; two vectors of the last LayerNorm.
    """
    return vocab_size * width + layers * (12 * width * width + 13 * width) + 4 * width


def disk_need(jobs, config, downloads, corpus, at_once):
    """Return what a run will write, by kind; nearly all of it are weights, so little is guessed.

    Args:
        jobs: {rule: planned jobs}.
        config: the study's settings.
        downloads: bytes to be downloaded, where they are known.
        corpus: bytes of the text files to pretrain on, where they are known.
        at_once: jobs that run at the same time; each training one keeps a state.

    Returns:
        dict[str, int]: bytes, the largest first.
    """
    checkpoint, sentiment, qa = config["checkpoint"], config["sentiment"], config["qa"]
    # A fetched checkpoint brings its dictionary: the course's, as far as is known before.
    made = checkpoint["source"] == "pretrain"
    size = {
        "vocab_size": checkpoint["sentencepiece"]["vocab_size"] if made else PUBLISHED_SIZE["vocab_size"],
        **{key: checkpoint["architecture"][key] for key in ("width", "ffn_width", "layers", "max_positions")},
    }
    # fairseq's whole model has the language model's head, too.
    weights = {"fairseq": count(size, "classifier_fairseq"), "huggingface": count(size, "classifier_huggingface")}
    need = dict.fromkeys(("downloads", "corpus", "checkpoint", "fine-tuned checkpoints", "saved states", "models"), 0)
    need["downloads"] = downloads
    if "build_corpus" in jobs:
        need["corpus"] = int(corpus * checkpoint["corpus"]["files_repeat"] * (1 + BINARIZED))
    for rule in ("pretrain", "extract_checkpoint", "copy_checkpoint", "convert_checkpoint"):
        if rule in jobs:
            need["checkpoint"] += FLOAT * weights["fairseq"]
    if "pretrain" in jobs:
        need["saved states"] = STATES["pretrain"] * STATE * weights["fairseq"]
    for framework, parameters in weights.items():
        n_runs = jobs.get(f"finetune_{framework}", 0)
        epochs = sentiment["finetuning"]["epochs"]
        # Else every epoch's only until one is selected, which Snakemake does first.
        kept = sentiment["keep_checkpoints"] or sentiment["evaluation"]["test_curves"]
        n_checkpoints = n_runs * (epochs + 1) if kept else n_runs + min(n_runs, at_once) * epochs
        need["fine-tuned checkpoints"] += n_checkpoints * FLOAT * parameters
        # Pretraining is over by then, and its state gone.
        states = STATES[f"finetune_{framework}"] * STATE * parameters * min(n_runs, at_once)
        need["saved states"] = max(need["saved states"], states)
    need["models"] = jobs.get("export_model", 0) * FLOAT * weights["huggingface"]
    base = qa["base"]["embedded"]
    if "build_qa_base_model" in jobs and qa["base"]["source"] == "embedded":
        need["checkpoint"] += FLOAT * bloom_parameters(
            base["vocab_size"], base["architecture"]["width"], base["architecture"]["layers"]
        )
    need["tables, figures and logs"] = REST
    return {name: n for name, n in sorted(need.items(), key=lambda item: -item[1]) if n}


def in_words(n):
    """Return a number of bytes for people: 4.3 GB, 17 MB."""
    return f"{n / 1e9:.1f} GB" if n >= 1e9 else f"{max(1, round(n / 1e6))} MB"


def check_disk(need, folder):
    """Return one sentence on what a run will write and what is free.

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
