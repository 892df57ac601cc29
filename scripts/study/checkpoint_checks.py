"""Settings of `checkpoint` that contradict each other, and of the arms that start from it."""

from common.arms import CHECKPOINT, uses_checkpoint
from common.files import TABLES
from study.data_checks import ENDINGS
from study.pretrainings import SOURCE, starts_there, varies_checkpoint
from study.seed_plans import every_seed


def check_checkpoint(checkpoint):
    """Yield contradictions in `checkpoint`."""
    if checkpoint["source"] == "fetch":
        fetched = checkpoint["fetch"]
        if fetched["fairseq"]["url"] is None:
            yield "checkpoint.source is fetch, so checkpoint.fetch.fairseq.url must be an address and not null"
        if fetched["huggingface"] is not None and fetched["huggingface"]["url"] is None:
            yield "checkpoint.fetch.huggingface.url must be an address; or set checkpoint.fetch.huggingface to null"
    if checkpoint["source"] == "folder" and checkpoint["folder"] is None:
        yield "checkpoint.source is folder, so checkpoint.folder must be a path and not null"
    architecture, pretraining, corpus = (checkpoint[key] for key in ("architecture", "pretraining", "corpus"))
    yield from check_model("checkpoint", architecture, "checkpoint.pretraining", pretraining)
    made = checkpoint["source"] == "pretrain"
    if made and pretraining["tokens_per_sample"] > architecture["max_positions"]:
        yield (
            f"checkpoint.pretraining.tokens_per_sample is {pretraining['tokens_per_sample']}, more than "
            f"checkpoint.architecture.max_positions = {architecture['max_positions']}; a block must fit the model"
        )
    if made and not (
        (corpus["files"] and corpus["files_repeat"])
        or any(entry["repeat"] for entry in corpus["tables"])
        or corpus["unlabelled_repeat"]
        or corpus["train_repeat"]
    ):
        yield (
            "checkpoint.corpus holds no text to pretrain on: give checkpoint.corpus.files or tables, "
            "or let unlabelled_repeat or train_repeat be at least 1"
        )
    for number, entry in enumerate(corpus["tables"] if made else [], start=1):
        for url in entry["urls"]:
            if not url.lower().endswith((*TABLES, "*")):
                yield f"checkpoint.corpus.tables, entry {number}: {url} is no table; its name must end in {ENDINGS}"


def check_short_blocks(config):
    """Yield faults of short blocks: no state is saved at their end, or they are not shorter than the others."""
    pretraining = config["checkpoint"]["pretraining"]
    short = pretraining["short_blocks"] if config["checkpoint"]["source"] == "pretrain" else None
    if short and (short["updates"] >= pretraining["updates"] or short["updates"] % pretraining["validate_every"]):
        yield (
            f"checkpoint.pretraining.short_blocks.updates is {short['updates']}; it must be a multiple of "
            f"checkpoint.pretraining.validate_every = {pretraining['validate_every']}, below "
            f"checkpoint.pretraining.updates = {pretraining['updates']}"
        )
    if short and short["tokens_per_sample"] >= pretraining["tokens_per_sample"]:
        yield (
            f"checkpoint.pretraining.short_blocks.tokens_per_sample is {short['tokens_per_sample']}, not shorter than "
            f"checkpoint.pretraining.tokens_per_sample = {pretraining['tokens_per_sample']}; lower it"
        )
    if short and pretraining["sample_break_mode"] == "eos":
        yield (
            "checkpoint.pretraining.short_blocks needs checkpoint.pretraining.sample_break_mode: none; with eos a "
            "block is a text, and texts longer than a short block would be left out"
        )


def check_kept(config):
    """Yield the updates of the pretraining that cannot be kept, and the arms that start from one that is not."""
    checkpoint = config["checkpoint"]
    source, pretraining = checkpoint["source"], checkpoint["pretraining"]
    for update in (pretraining["keep"] or []) if source == "pretrain" else []:
        if update > pretraining["updates"] or update % pretraining["validate_every"]:
            yield (
                f"checkpoint.pretraining.keep holds {update}; it must be a multiple of "
                f"checkpoint.pretraining.validate_every = {pretraining['validate_every']}, at most "
                f"checkpoint.pretraining.updates = {pretraining['updates']}"
            )
    for name, arm in config["finetuning"]["arms"].items():
        update, place = arm.get("at_update"), f"finetuning.arms.{name}.at_update"
        if update is None:
            continue
        if arm["model"] != CHECKPOINT or arm["init"] != "pretrained":
            yield f"{place} is for arms with model: {CHECKPOINT} and init: pretrained; take it out"
        elif source == "fetch":
            yield f"{place} is {update}, and a fetched checkpoint has its last weights only; take it out"
        elif source == "pretrain" and update not in (pretraining["keep"] or []):
            yield f"{place} is {update}, which is not kept; add it to checkpoint.pretraining.keep"


def check_depths(config):
    """Yield the arms of the study's checkpoint that freeze more layers than it has."""
    layers = config["checkpoint"]["architecture"]["layers"]
    for name, arm in config["finetuning"]["arms"].items():
        depth = arm.get("freeze")
        if arm["model"] == CHECKPOINT and isinstance(depth, int) and depth > layers:
            yield (
                f"finetuning.arms.{name}.freeze is {depth}, more than checkpoint.architecture.layers = {layers}; lower "
                "it, or write encoder"
            )


def check_model(place, architecture, training_place, training):
    """Yield contradictions in an architecture (width, heads) and its training (warm-up)."""
    if architecture["width"] % architecture["heads"]:
        yield (
            f"{place}.architecture.width is {architecture['width']}, which cannot be divided by "
            f"{place}.architecture.heads = {architecture['heads']}; give each head the same width"
        )
    if training["warmup_updates"] >= training["updates"]:
        yield (
            f"{training_place}.warmup_updates is {training['warmup_updates']}, which must be less than "
            f"{training_place}.updates = {training['updates']}"
        )


def check_pretrainings(config):
    """Yield contradictions between the pretrainings, the seeds of the runs and the arms.

    Args:
        config: settings that agree with the schema.
    """
    finetuning, source = config["finetuning"], config["checkpoint"]["source"]
    place, runs = "finetuning.vary has checkpoint", len(every_seed(finetuning["seeds"]))
    pretrainings = config["checkpoint"]["pretraining"].get("seeds")
    entries = [one for one in config.get("sources") or () if SOURCE in one["vary"]]
    if entries:
        yield from _pretrainings_of_sources(entries, config)
    if not varies_checkpoint(finetuning):
        if not entries and pretrainings and source == "pretrain" and uses_checkpoint(config):
            yield (
                f"checkpoint.pretraining.seeds lists {len(pretrainings)} pretrainings, and finetuning.vary lacks "
                "checkpoint, so all runs would start from the first; add checkpoint there, or set the seeds to null"
            )
    elif not any(map(starts_there, finetuning["arms"].values())):
        yield (
            f"{place}, and no arm starts from the study's checkpoint (model: checkpoint, init: pretrained); add one, "
            "or take checkpoint out"
        )
    elif source != "pretrain":
        yield (
            f"{place}, and checkpoint.source is {source}, which gives one checkpoint made elsewhere; set it to "
            "pretrain, or take checkpoint out"
        )
    elif not pretrainings:
        yield (
            f"{place}, and checkpoint.pretraining.seeds is null, which is one pretraining; list two or more, one for "
            f"each of the {runs} seeds in finetuning.seeds"
        )
    elif len(pretrainings) != runs:
        yield (
            f"{place}, so each seed starts from a pretraining of its own: checkpoint.pretraining.seeds lists "
            f"{len(pretrainings)} and finetuning.seeds {runs}; list as many"
        )


def _pretrainings_of_sources(entries, config):
    """Yield contradictions between the pretrainings and the entries of `sources` that vary them."""
    source, most = config["checkpoint"]["source"], max(one["runs"] for one in entries)
    pretrainings = config["checkpoint"]["pretraining"].get("seeds") or []
    if source != "pretrain":
        yield (
            f"sources has {SOURCE}, and checkpoint.source is {source}, which gives one checkpoint made elsewhere; set "
            f"it to pretrain, or take {SOURCE} out"
        )
    elif len(pretrainings) < most or (len(pretrainings) > most and not varies_checkpoint(config["finetuning"])):
        yield (
            f"sources has {SOURCE} and {most} runs, and each run of it starts from a pretraining of its own: "
            f"checkpoint.pretraining.seeds lists {len(pretrainings)}; list {most}"
        )
