"""Settings of `qa` that contradict each other, or what its base takes from `checkpoint`."""

from qa.qa_arms import check_arms, check_prompt
from study.checkpoint_checks import check_model
from study.hub import lacking


def check_qa(qa, checkpoint):
    """Yield what contradicts itself in `qa`, or in what its base takes from `checkpoint`."""
    data, base = qa["data"], qa["base"]
    if data["source"] != "embedded" and data[data["source"]] is None:
        yield f"qa.data.source is {data['source']}, so qa.data.{data['source']} must name the pairs and not be null"
    if qa["generation"]["n_questions"] > data["n_heldout"]:
        yield (
            f"qa.generation.n_questions is {qa['generation']['n_questions']}, more than the held-out pairs that there "
            f"are to ask (qa.data.n_heldout = {data['n_heldout']}); lower it or raise that"
        )
    missing = lacking(base["hub"]["files"], ["model.safetensors"]) if base["source"] == "hub" else ""
    if missing:
        yield f"qa.base.hub.files lacks {missing}; add it"
    if base["source"] == "folder" and base["folder"] is None:
        yield "qa.base.source is folder, so qa.base.folder must be a path and not null"
    embedded = base["embedded"]
    yield from check_model(
        "qa.base.embedded", embedded["architecture"], "qa.base.embedded.training", embedded["training"]
    )
    if base["source"] == "embedded" and not (embedded["n_texts"] or embedded["files"] or embedded["corpus_tables"]):
        yield "qa.base.embedded holds no text to train on: let n_texts be at least 1, or give files or corpus_tables"
    tables = checkpoint["source"] == "pretrain" and checkpoint["corpus"]["tables"]
    if base["source"] == "embedded" and embedded["corpus_tables"] and not tables:
        yield (
            "qa.base.embedded.corpus_tables is true, but this study's checkpoint is not pretrained on tables: "
            "name some in checkpoint.corpus.tables, or set it to false"
        )
    yield from check_arms(qa)
    yield from check_prompt(qa["prompt"])
