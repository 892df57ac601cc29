"""The study's settings: checked against the schema and against each other, faults reported in plain words."""

import difflib
import os
import re
import sys

import jsonschema
import yaml

from common.arms import CHECKPOINT, KNOWN
from common.errors import StudyError
from common.files import TABLES
from study.addresses import table_files, uses_checkpoint
from study.grids import check_grids
from study.hub import lacking
from study.qa_arms import check_arms, check_prompt, ranks_as_arms

# 32 bits; the bounds of most settings are far below, in the schema.
LARGEST = 2**32 - 1
# Of an arm's colour with white, as a ratio of luminances; Okabe and Ito's orange has 2.25, their yellow 1.3.
LEAST_CONTRAST = 2
# What lies beside the arms' folders in results/<study>/finetuning.
FOLDERS = ("data-bin", "pieces", "token-ids", "logits", "models")
# Sources whose labels are 0 and 1.
TWO_CLASSES = ("embedded", "cls_books_zip", "cls_books_pieces", "cls_archive")
# Forms of a model's weights that are read.
WEIGHTS = ("model.safetensors", "pytorch_model.bin")
ENDINGS = f"{', '.join(TABLES)} (unpack a packed file, save a workbook as CSV)"
# Forms of a model's weights that are read.
WEIGHTS = ("model.safetensors", "pytorch_model.bin")
# Keys of earlier releases.
RENAMED = {
    "sentiment": "the section is now `finetuning`, and its block `sentiment.finetuning` is `finetuning.training`",
    "finetuning.finetuning": "the block is now `finetuning.training`",
}
NAMES = {
    "array": "a list",
    "boolean": "true or false",
    "integer": "a whole number",
    "null": "null",
    "number": "a number",
    "object": "a block of keys",
    "string": "text",
}


# A setting that chooses, and what is read under each choice alone.
ALTERNATIVES = {
    "data.source": {
        name: [f"data.{name}"] for name in ("embedded", "table", "cls_books_zip", "cls_books_pieces", "cls_archive")
    },
    "checkpoint.source": {
        "pretrain": [f"checkpoint.{name}" for name in ("sentencepiece", "corpus", "pretraining")],
        "fetch": ["checkpoint.fetch"],
        "folder": ["checkpoint.folder"],
    },
    "qa.enabled": {
        True: [
            f"qa.{name}"
            for name in ("seeds", "arms", "data", "prompt", "base", "lora", "rank_sweep", "training", "generation")
        ]
    },
    "qa.data.source": {"file": ["qa.data.file"], "url": ["qa.data.url"]},
    "qa.base.source": {name: [f"qa.base.{name}"] for name in ("embedded", "hub", "folder")},
    "qa.training.quantization": {"nf4": ["qa.training.double_quantization"]},
}


def validate_study(config, schema_path):
    """Check a study's settings.

    Args:
        config: dictionary, the merger of config.yaml, the study's file and the command line.
        schema_path: YAML file holding the JSON Schema (draft 2020-12).

    Raises:
        StudyError: the most telling fault: which key, what it holds, what is allowed.
    """
    with open(schema_path, encoding="utf-8") as handle:
        schema = yaml.safe_load(handle)
    fault = next(iter(sorted(_validator(schema).iter_errors(config), key=_order)), None)
    if fault is not None:
        raise StudyError(f"configuration: {_words(fault, schema)}")
    for message in cross_checks(config):
        raise StudyError(f"configuration: {message}")


def cross_checks(config):
    """Yield a message for each setting that contradicts another one.

    Args:
        config: settings that agree with the schema.

    Yields:
        str: the keys, their values and the remedy.
    """
    mirror = config["mirror"]
    if mirror is not None and not os.path.isdir(mirror):
        yield f"mirror: there is no folder {mirror!r}; give an existing folder laid out HOST/PATH, or null"
    yield from _check_data(config["data"])
    yield from _check_pairs(config)
    yield from _check_checkpoint(config["checkpoint"])
    if config["qa"]["enabled"]:
        yield from _check_qa(config["qa"], config["checkpoint"])
    yield from check_grids(config["finetuning"])
    yield from _check_subsets(config)
    yield from _check_short_blocks(config)
    yield from _check_kept(config)
    yield from _check_models(config["finetuning"])
    yield from _check_arms(config["finetuning"]["arms"], config["report"]["colours"])
    yield from _check_depths(config)
    for place, names in (
        ("finetuning.arms", config["finetuning"]["arms"]),
        ("finetuning.models", config["finetuning"]["models"]),
        ("qa.arms", config["qa"]["arms"]),
    ):
        yield from _check_case(place, names)
    yield from _check_colours(config["finetuning"]["arms"], config["report"]["colours"])
    yield from _check_sizes(config)


def unused_keys(own, config):
    """Return {dotted key: reason} of a study's own settings that nothing reads, because of other settings.

    Args:
        own: the settings of the study's file alone.
        config: all settings, the defaults among them.
    """

    def value(path):
        node = config
        for key in path.split("."):
            node = node.get(key) if isinstance(node, dict) else None
        return node

    unused = {}
    for switch, of in ALTERNATIVES.items():
        for choice, keys in of.items():
            if value(switch) != choice:
                unused |= dict.fromkeys(keys, f"{switch} is {str(value(switch)).lower()}")
    if not uses_checkpoint(config):
        unused["checkpoint"] = "no arm starts from it"
    if value("finetuning.protocol") == "published":
        unused["finetuning.training.batching"] = "finetuning.protocol is published"
    return {key: reason for key, reason in unused.items() if _has(own, key.split("."))}


def _has(settings, keys):
    """Tell whether nested settings hold a key with a value."""
    for key in keys:
        if not isinstance(settings, dict) or settings.get(key) is None:
            return False
        settings = settings[key]
    return True


def _check_data(data):
    """Yield what contradicts itself in `data`."""
    embedded = data["embedded"]
    if data["source"] in TWO_CLASSES and len(data["labels"]) != 2:
        yield (
            f"data.labels names {len(data['labels'])} classes, but the reviews of data.source {data['source']} have "
            "two; name these two"
        )
    if data["source"] == "table":
        yield from _check_table(data)
        return
    if (data["n_train"] is None) != (data["n_valid"] is None):
        yield "data.n_train and data.n_valid: give a number for both, or null for both (the source's own split)"
    if data["source"] == "embedded":
        wanted = (data["n_train"] or 0) + (data["n_valid"] or 0)
        if wanted > embedded["n_labelled"]:
            yield (
                f"data.embedded.n_labelled is {embedded['n_labelled']}, fewer than "
                f"data.n_train + data.n_valid = {wanted}; raise it or lower those"
            )
        if (data["n_test"] or 0) > embedded["n_test"]:
            yield f"data.n_test is {data['n_test']}, more than data.embedded.n_test = {embedded['n_test']}"
    elif data[data["source"]]["url"] is None:
        yield f"data.source is {data['source']}, so data.{data['source']}.url must be an address and not null"


def _check_table(data):
    """Yield what contradicts itself in `data.table`."""
    table = data["table"]
    for split in ("train", "test"):
        if table[split] is None:
            yield f"data.source is table, so data.table.{split} must name a file (or several) and not be null"
    for split, file in table_files(table):
        if not file.lower().endswith(TABLES):
            yield f"data.table.{split}: {file} is no table; its name must end in {ENDINGS}"
        if file.startswith("http://"):
            yield f"data.table.{split}: {file} comes unprotected; give the address with https://"
    if isinstance(table["text"], int) != isinstance(table["label"], int):
        yield (
            f"data.table.text is {table['text']!r} and data.table.label {table['label']!r}; give both by name, or both "
            "by number (files without a header)"
        )
    elif table["text"] == table["label"]:
        yield f"data.table.text and data.table.label are both {table['text']!r}; name two columns"
    elif table["second"] is not None and isinstance(table["second"], int) != isinstance(table["text"], int):
        yield f"data.table: second is {table['second']!r} and text {table['text']!r}; give two names or two numbers"
    elif table["second"] in (table["text"], table["label"]):
        yield f"data.table.second is {table['second']!r}, like another column of data.table; name the second text's"


def _check_pairs(config):
    """Yield the arms that cannot read pairs of texts."""
    data, arms = config["data"], config["finetuning"]["arms"]
    of_fairseq = [name for name, arm in arms.items() if arm["framework"] == "fairseq"]
    if data["source"] == "table" and data["table"]["second"] is not None and of_fairseq:
        yield (
            f"data.table.second makes pairs of texts, and the arms {', '.join(of_fairseq)} of fairseq read one text; "
            "take these arms out, or set their framework to huggingface"
        )


def _check_checkpoint(checkpoint):
    """Yield what contradicts itself in `checkpoint`."""
    if checkpoint["source"] == "fetch":
        fetched = checkpoint["fetch"]
        if fetched["fairseq"]["url"] is None:
            yield "checkpoint.source is fetch, so checkpoint.fetch.fairseq.url must be an address and not null"
        if fetched["huggingface"] is not None and fetched["huggingface"]["url"] is None:
            yield "checkpoint.fetch.huggingface.url must be an address; or set checkpoint.fetch.huggingface to null"
    if checkpoint["source"] == "folder" and checkpoint["folder"] is None:
        yield "checkpoint.source is folder, so checkpoint.folder must be a path and not null"
    architecture, pretraining, corpus = (checkpoint[key] for key in ("architecture", "pretraining", "corpus"))
    yield from _check_model("checkpoint", architecture, "checkpoint.pretraining", pretraining)
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


def _check_qa(qa, checkpoint):
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
    yield from _check_model(
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


def _check_subsets(config):
    """Yield the arms that learn from more reviews than there are, as far as the settings tell."""
    n_train = config["data"]["n_train"]
    for name, arm in config["finetuning"]["arms"].items():
        wanted = arm.get("n_train")
        if wanted is not None and n_train is not None and wanted > n_train:
            key = f"finetuning.arms.{name}.n_train"
            yield f"{key} is {wanted}, more than data.n_train = {n_train}; lower it or raise that"


def _check_short_blocks(config):
    """Yield short blocks that end where no state is saved, are not short, or are no blocks."""
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


def _check_kept(config):
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


def _check_models(finetuning):
    """Yield the models that say where they are not or twice, and the arms that start from none of them."""
    models = finetuning["models"]
    for name, model in models.items():
        place = f"finetuning.models.{name}"
        if name == CHECKPOINT:
            yield f"{place}: that name is the section checkpoint's; choose another"
        if bool(model.get("folder")) == bool(model.get("hub")):
            yield f"{place} must have either folder (a path) or hub (repo, revision, files)"
        elif model.get("folder") and not os.path.isdir(model["folder"]):
            yield f"{place}.folder: there is no folder {model['folder']}; name one that `save_pretrained` wrote"
        elif missing := lacking(model["hub"]["files"], WEIGHTS) if model.get("hub") else "":
            yield f"{place}.hub.files lacks {missing}; add it"
    for name, arm in finetuning["arms"].items():
        if arm["model"] != CHECKPOINT and arm["model"] not in models:
            near = difflib.get_close_matches(arm["model"], [CHECKPOINT, *models], n=1, cutoff=0.5)
            known = ", ".join([CHECKPOINT, *models])
            hint = f"Did you mean {near[0]}?" if near else f"Give it under finetuning.models; so far there are {known}"
            yield f"finetuning.arms.{name}.model is {arm['model']}, no model of the study. {hint}"
        elif arm["model"] != CHECKPOINT and arm["framework"] != "huggingface":
            yield (
                f"finetuning.arms.{name}: the model {arm['model']} is Hugging Face's; set framework to huggingface, or "
                f"model to {CHECKPOINT}"
            )


def _check_arms(arms, colours):
    """Yield the names of arms that mislead, and colours of no arm."""
    for name, arm in arms.items():
        match = arm.get("match")
        if match == name or (match is not None and match not in arms):
            near = difflib.get_close_matches(match, [other for other in arms if other != name], n=1, cutoff=0.5)
            hint = f"Did you mean {near[0]}?" if near else "Name another arm of the study, or leave match out"
            yield f"finetuning.arms.{name}.match is {match}, no other arm of the study. {hint}"
        elif name == min(circle := _circle(arms, name), default=None):
            yield (
                f"finetuning.arms: match goes in a circle, {' -> '.join([*circle, name])}; take match out of one arm"
            )
        if arm.get("lora") is not None and arm["framework"] != "huggingface":
            yield f"finetuning.arms.{name}.lora: LoRA is for arms of huggingface; take it out, or change framework"
        if arm.get("lora") is not None and arm.get("freeze") is not None:
            yield f"finetuning.arms.{name}: lora freezes the encoder already; take freeze out"
        if name in FOLDERS:
            yield f"finetuning.arms.{name}: results/<study>/finetuning has a folder of that name; choose another"
        if name.startswith("qa-"):
            yield f"finetuning.arms.{name}: models/qa-… are the exported adapters; let the name start otherwise"
        known = f"{arm['framework']}-{arm['init']}"
        if name in KNOWN and name != known:
            yield (
                f"finetuning.arms.{name}: by its framework and init it is {known}; call it so, or give it a name of "
                "your own"
            )
    for name in colours:
        if name not in arms and name not in KNOWN:
            near = difflib.get_close_matches(name, arms, n=1, cutoff=0.5)
            hint = f"Did you mean {near[0]}?" if near else f"The arms are {', '.join(arms)}"
            yield f"report.colours.{name}: the study has no such arm. {hint}"


def _circle(arms, name):
    """Return the arms that `match` leads through from an arm back to itself; empty where it does not."""
    way, other = [name], arms[name].get("match")
    while other in arms and other not in way:
        way.append(other)
        other = arms[other].get("match")
    return way if other == name else []


def _check_depths(config):
    """Yield the arms of the study's checkpoint that freeze more layers than it has."""
    layers = config["checkpoint"]["architecture"]["layers"]
    for name, arm in config["finetuning"]["arms"].items():
        depth = arm.get("freeze")
        if arm["model"] == CHECKPOINT and isinstance(depth, int) and depth > layers:
            yield (
                f"finetuning.arms.{name}.freeze is {depth}, more than checkpoint.architecture.layers = {layers}; lower "
                "it, or write encoder"
            )


def _check_case(place, names):
    """Yield the names that some disks take for one: they become folders."""
    seen = {}
    for name in names:
        other = seen.setdefault(name.lower(), name)
        if other != name:
            yield f"{place}.{other} and {place}.{name} differ only in case, which some disks ignore; rename one"


def _check_colours(names, colours):
    """Yield the colours that nobody sees on the white of a figure, or that two arms of the study share."""
    arms = {}
    for arm, colour in colours.items():
        ratio = 1.05 / (_luminance(colour) + 0.05)
        if ratio < LEAST_CONTRAST:
            yield (
                f"report.colours.{arm} is {colour!r}, whose contrast with the figures' white is {ratio:.1f} to 1; "
                f"choose a darker colour (at least {LEAST_CONTRAST} to 1)"
            )
        other = arms.setdefault(colour.upper(), arm) if arm in names else arm
        if other != arm:
            yield f"report.colours.{other} and report.colours.{arm} are both {colour!r}; give each arm its own colour"


def _luminance(colour):
    """Return the relative luminance of `#RRGGBB`, 0 (black) to 1 (white).

    Source: Web Content Accessibility Guidelines 2.2, definition of relative luminance.
    """
    shares = (int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5))
    red, green, blue = (share / 12.92 if share <= 0.04045 else ((share + 0.055) / 1.055) ** 2.4 for share in shares)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _check_sizes(value, path=()):
    """Yield the whole numbers that no library takes, wherever they stand in the settings."""
    if isinstance(value, dict | list):
        for key, part in value.items() if isinstance(value, dict) else enumerate(value):
            yield from _check_sizes(part, (*path, key))
    elif isinstance(value, int) and value > LARGEST:
        yield f"{_name(path)} is {_show(value)}, more than the {LARGEST} that a setting can hold; lower it"


def _check_model(place, architecture, training_place, training):
    """Yield what contradicts itself in an architecture (width, heads) and its training (warm-up)."""
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


def _is_whole(_, value):
    """Tell whether a value is an int: unlike JSON Schema's integer, 5.0 is none, since range(5.0) fails."""
    return isinstance(value, int) and not isinstance(value, bool)


def _is_number(_, value):
    """Tell whether a value is a number that a float holds: .nan passes every bound."""
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= sys.float_info.max


def _validator(schema):
    """Return a validator with the two stricter types."""
    base = jsonschema.Draft202012Validator
    types = base.TYPE_CHECKER.redefine("integer", _is_whole).redefine("number", _is_number)
    return jsonschema.validators.extend(base, type_checker=types)(schema)


def _order(fault):
    """Sort key of faults: an unknown key before the missing one that it was meant to be, then wrong types."""
    ranks = {"additionalProperties": 0, "type": 1}
    return ranks.get(fault.validator, 2), [str(part) for part in fault.absolute_path]


def _words(fault, schema):
    """Return the message for one of jsonschema's errors."""
    path, rule, value = list(fault.absolute_path), fault.validator, fault.instance
    name, node = _name(path) or "the whole", _node(path, schema)
    if "propertyNames" in fault.schema_path:
        return f"{name} has the name {_show(value)}; a name must be {_allowed(schema['$defs']['name'])}"
    if rule == "additionalProperties":
        known = list(node.get("properties", {}))
        key = next(key for key in value if key not in known)
        return _unknown_key(path, str(key), known, schema)
    if rule == "required":
        missing = next(key for key in fault.validator_value if key not in value)
        return f"{_name([*path, missing])} is missing; it must be {_allowed(_node([*path, missing], schema))}"
    if rule == "uniqueItems":
        twice = next(item for i, item in enumerate(value) if item in value[:i])
        shown = ", ".join(f"{k}: {v}" for k, v in twice.items()) if isinstance(twice, dict) else twice
        return f"{name} holds {shown} twice; every entry must be different"
    if "propertyNames" in fault.absolute_schema_path:
        return f"{name} has the name {_show(value)}; it must be {_allowed(_resolve(node['propertyNames'], schema))}"
    if rule == "minProperties":
        return f"{name} is empty; give at least one entry"
    if list(path) == ["finetuning", "arms"] and isinstance(value, list):
        return f"finetuning.arms is a list; give each arm a name, as in {_arms_map(value)}"
    message = f"{name} is {_show(value)}; it must be {_allowed(node)}"
    if rule == "enum" and isinstance(value, str):
        near = difflib.get_close_matches(value, [str(v) for v in fault.validator_value], n=1, cutoff=0.5)
        return message + (f". Did you mean {near[0]}?" if near else "")
    if rule == "type" and name == "qa.lora.r" and isinstance(value, list):
        return message + ranks_as_arms(value)
    if rule == "type":
        return message + _type_hint(value, node)
    return message


def _arms_map(entries):
    """Return the list of arms of earlier releases as the map to write; what is no arm is left out."""
    names = [
        (entry["framework"], entry["init"])
        for entry in entries
        if isinstance(entry, dict) and {"framework", "init"} <= entry.keys()
    ] or [("huggingface", "pretrained")]
    arms = [f"{of}-{init}: {{framework: {of}, model: {CHECKPOINT}, init: {init}}}" for of, init in names]
    return f"`arms: {{{', '.join(arms)}}}`"


def _unknown_key(path, key, known, schema):
    """Return the message for a key that the schema does not have at this place."""
    name = _name([*path, key])
    if name in RENAMED:
        return f"{name}: {RENAMED[name]}; rename it in the study's file (CHANGELOG.md lists all new names)"
    near = difflib.get_close_matches(key, known, n=1, cutoff=0.6)
    if near:
        return f"unknown key {name}. Did you mean {_name([*path, near[0]])}?"
    free = ("finetuning.arms.", "finetuning.grids.", "qa.arms.")
    places = [place for place in key_paths(schema) if not place.startswith(free)]
    elsewhere = [place for place in places if place.split(".")[-1] == key]
    where = f"the keys of {_name(path)}" if path else "the outermost keys"
    hint = f". There is a key {' and a key '.join(elsewhere)}" if elsewhere else ""
    return f"unknown key {name}; {where} are {', '.join(known)}{hint}"


def key_paths(schema, node=None, path=()):
    """Return the dotted paths of every key of a schema, entries of lists and free names left out.

    One of them is `finetuning.arms.framework`.

    Args:
        schema: the whole schema, for its `$defs`.
        node: the part to walk; the whole by default.
        path: keys on the way to it.
    """
    node = _resolve(schema if node is None else node, schema)
    found = [".".join(path)] if path else []
    for key, part in node.get("properties", {}).items():
        found += key_paths(schema, part, (*path, key))
    for entries in (node.get("items"), node.get("additionalProperties")):
        if entries:
            found += key_paths(schema, entries, path)[1 if path else 0 :]
    return found


def _resolve(node, schema):
    """Return a schema node with its local `$ref` merged in."""
    reference = node.get("$ref", "")
    if not reference.startswith("#/$defs/"):
        return node
    return {**schema["$defs"][reference.removeprefix("#/$defs/")], **node}


def _node(path, schema):
    """Return the schema node of a place in the settings."""
    node = schema
    for part in path:
        if isinstance(part, int):
            child = node.get("items", {})
        else:
            # A block with free keys describes their values in additionalProperties.
            child = node.get("properties", {}).get(part, node.get("additionalProperties", {}))
        node = _resolve(child if isinstance(child, dict) else {}, schema)
    return node


def _name(path):
    """Return a path in words: `finetuning.arms, entry 2, framework` (entries count from 1)."""
    text = ""
    for part in path:
        if isinstance(part, int):
            text += f", entry {part + 1},"
        else:
            text += (" " if text.endswith(",") else "." if text else "") + str(part)
    return text.removesuffix(",")


def _show(value):
    """Return a short form of a value as YAML writes it."""
    if isinstance(value, dict):
        return "a block of keys"
    if isinstance(value, list):
        return f"a list of {len(value)}" if value else "an empty list"
    if value is None or isinstance(value, bool):
        return {None: "null (empty)", True: "true", False: "false"}[value]
    text = repr(value) if isinstance(value, str) else str(value)
    return text if len(text) <= 80 else text[:77] + "..."


def _allowed(node):
    """Return what a schema node allows, in words, and what it means."""
    types = node.get("type", [])
    types = [types] if isinstance(types, str) else list(types)
    if "enum" in node:
        text = ("one of " if len(node["enum"]) > 1 else "") + ", ".join(str(value) for value in node["enum"])
    elif "const" in node:
        text = str(node["const"])
    elif "$comment" in node:
        text = node["$comment"]
    elif "anyOf" in node or "oneOf" in node:
        text = "; or ".join(_allowed(option) for option in node.get("anyOf", node.get("oneOf")))
    else:
        text = " or ".join(NAMES[kind] for kind in types if kind != "null") or "null"
    bounds = [
        f"{word} {node[keyword]}"
        for keyword, word in (
            ("minimum", "at least"),
            ("exclusiveMinimum", "greater than"),
            ("maximum", "at most"),
            ("exclusiveMaximum", "less than"),
        )
        if keyword in node
    ]
    if bounds:
        text += ", " + " and ".join(bounds)
    low, high = node.get("minItems"), node.get("maxItems")
    if low is not None and high not in (None, low):
        text += f" of {low} to {high} entries"
    elif low is not None:
        text += f" of {low} entries" if low == high else f" of at least {low} entr{'y' if low == 1 else 'ies'}"
    if "maxLength" in node:
        text += f", at most {node['maxLength']} characters"
    if "null" in types and len(types) > 1:
        text += ", or null"
    return text + (f" ({node['description']})" if "description" in node else "")


def _type_hint(value, node):
    """Return what to change when a value has the wrong type because of how YAML reads it, or ''."""
    types = node.get("type", [])
    types = [types] if isinstance(types, str) else types
    if isinstance(value, str) and {"number", "integer", "boolean", "null"} & set(types):
        # YAML 1.1 reads 1e-5 and 1.0e5 as text: it wants the point and the exponent's sign.
        match = re.fullmatch(r"([+-]?\d+)(\.\d*)?[eE]([+-]?)(\d+)", value.strip())
        if match and "number" in types:
            whole, decimals, sign, exponent = match.groups()
            mended = f"{whole}{decimals if decimals and decimals != '.' else '.0'}e{sign or '+'}{exponent}"
            if mended != value.strip():
                return f". YAML takes {value} for text: write {mended}"
        if match or re.fullmatch(r"[+-]?\d+(\.\d*)?|true|false|null", value.strip(), re.IGNORECASE):
            return ". Write it without quotes, in a study file: inside braces, --config makes everything text"
    if isinstance(value, float) and "integer" in types and value.is_integer():
        return f". Write {int(value)}"
    if "string" in types and not isinstance(value, dict | list) and value is not None:
        return ". Write it in quotes"
    return ""
