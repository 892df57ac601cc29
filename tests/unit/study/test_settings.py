"""Settings: what is accepted, and what a user reads when they are not."""

import pathlib
import re

import pytest
import yaml
from snakemake.utils import update_config

import frameworks
from common.errors import StudyError
from qa.guest import GUEST
from study.configuration import check_study, load_study, read_settings, with_defaults
from study.grids import AXES
from study.guests import merged
from study.schema import read_schema
from study.schema_faults import key_paths
from study.settings import ALTERNATIVES, cross_checks, unused_keys, validate_study
from support.settings import DELETE, ROOT, SCHEMA, changed, defaults, message

HASH = "0123456789abcdef" * 4
ARM = {"framework": "fairseq", "model": "checkpoint", "init": "random"}
HUB = {"repo": "a/b", "revision": HASH[:40]}
FAULTS = {
    # name: (what is changed, what the message must hold)
    "typo in a key": (
        {"finetuning.training.batch_szie": 8},
        ["unknown key finetuning.training.batch_szie", "Did you mean finetuning.training.batch_size?"],
    ),
    "renamed key": (
        {"finetuning.training.batch_size": DELETE, "finetuning.training.batch_sise": 8},
        ["unknown key finetuning.training.batch_sise", "Did you mean finetuning.training.batch_size?"],
    ),
    "typo in an outermost key": ({"finetunig": {}}, ["unknown key finetunig", "Did you mean finetuning?"]),
    "key at the wrong place": (
        {"warmup_ratio": 0.1},
        ["unknown key warmup_ratio", "There is a key finetuning.training.warmup_ratio"],
    ),
    "key like no other": (
        {"data.embedded.zzz": 1},
        ["unknown key data.embedded.zzz", "the keys of data.embedded are seed, n_labelled, n_test, n_unlabelled"],
    ),
    "one class": ({"data.labels": ["good"]}, ["data.labels is a list of 1; it must be a list of 2 to 200 entries"]),
    "no class": ({"data.labels": []}, ["data.labels is an empty list", "a list of 2 to 200 entries"]),
    "a thousand classes": ({"data.labels": [f"class {k}" for k in range(1000)]}, ["data.labels is a list of 1000"]),
    "a class twice": ({"data.labels": ["good", "bad", "good"]}, ["data.labels holds good twice", "different"]),
    "a class without a name": ({"data.labels": ["good", ""]}, ["data.labels, entry 2 is ''", "name of a class"]),
    "a class that YAML reads as true": ({"data.labels": ["good", True]}, ["data.labels, entry 2", "in quotes"]),
    "a class that is a number": ({"data.labels": [1, 2, 3]}, ["data.labels, entry 1 is 1", "in quotes"]),
    "a table without a file": (
        {"data.source": "table", "data.table.train": "a.csv"},
        ["data.source is table, so data.table.test must name a file (or several) and not be null"],
    ),
    "a table of another kind": (
        {"data.source": "table", "data.table.train": "a.xlsx", "data.table.test": "b.csv"},
        ["data.table.train: a.xlsx is no table; its name must end in .csv, .tsv"],
    ),
    "a table that comes unprotected": (
        {"data.source": "table", "data.table.train": "a.csv", "data.table.test": ["b.csv", "http://a.org/c.csv"]},
        ["data.table.test: http://a.org/c.csv comes unprotected; give the address with https://"],
    ),
    "a column by name and one by number": (
        {"data.source": "table", "data.table.train": "a.csv", "data.table.test": "b.csv", "data.table.text": 2},
        ["data.table.text is 2 and data.table.label 'label'", "both by number"],
    ),
    "one column for text and label": (
        {"data.source": "table", "data.table.train": "a.csv", "data.table.test": "b.csv", "data.table.text": "label"},
        ["data.table.text and data.table.label are both 'label'"],
    ),
    "a language by its name": ({"data.table.language": "French"}, ["data.table.language is 'French'", "such as en"]),
    "files of a table as a block": (
        {"data.table.train": {"a": 1}},
        ["data.table.train is a block", "a path or"],
    ),
    "a packed table": (
        {"data.source": "table", "data.table.train": "a.csv.gz", "data.table.test": "b.csv"},
        ["data.table.train: a.csv.gz is no table; its name must end in .csv, .tsv,", ".parquet, .txt (unpack"],
    ),
    "a table in a path with braces": (
        {"data.table.train": "{a}.csv"},
        ["data.table.train is '{a}.csv'; it must be null; or a path or an https address, without braces or line ends"],
    ),
    "a column on two lines": ({"data.table.second": "a\nb"}, ["data.table.second", "on one line (else rename it in"]),
    "a corpus table of another kind": (
        {"checkpoint.corpus.tables": [{"urls": ["https://a.org/b.xlsx"], "column": 1, "repeat": 1, "licence": "MIT"}]},
        ["checkpoint.corpus.tables, entry 1: https://a.org/b.xlsx is no table; its name must end in .csv"],
    ),
    "a class with a control character": (
        {"data.labels": ["good", "b\x07"]},
        ["data.labels, entry 2", "text on one line"],
    ),
    "classes on two lines": ({"data.labels": ["good", "b\nad"]}, ["data.labels, entry 2", "text on one line"]),
    "more classes than the source has": (
        {"data.labels": ["good", "fair", "bad"]},
        ["data.labels names 3 classes", "data.source embedded have two"],
    ),
    "unknown key of an arm": (
        {"finetuning.arms.fairseq-random.frameworks": "fairseq"},
        [
            "unknown key finetuning.arms.fairseq-random.frameworks",
            "Did you mean finetuning.arms.fairseq-random.framework?",
        ],
    ),
    "key that is a number": ({"data.7": 1}, ["unknown key data.7"]),
    "key removed": ({"finetuning.seeds": DELETE}, ["finetuning.seeds is missing", "a list", "at least 1 entry"]),
    "block removed": ({"checkpoint": DELETE}, ["checkpoint is missing", "a block of keys"]),
    "empty block": ({"finetuning": None}, ["finetuning is null (empty)", "a block of keys"]),
    "arm without an init": (
        {"finetuning.arms.fairseq-random.init": DELETE},
        ["finetuning.arms.fairseq-random.init is missing", "one of none, pretrained, random"],
    ),
    "arms as text": ({"finetuning.arms": "fairseq"}, ["finetuning.arms is 'fairseq'", "a block of keys"]),
    "no arm": ({"finetuning.arms": {}}, ["finetuning.arms is empty", "at least one entry"]),
    "arms as a list": (
        {"finetuning.arms": [{"framework": "fairseq", "init": "random"}]},
        ["finetuning.arms is a list; give each arm a name"],
    ),
    "name of an arm that is a path": (
        {"finetuning.arms": {"../mine": ARM}},
        ["finetuning.arms has the name '../mine'", "letters, digits"],
    ),
    "name of an arm that an adapter's folder may have": (
        {"finetuning.arms": {"qa-rank16": ARM}},
        ["finetuning.arms.qa-rank16"],
    ),
    "name of an arm that is a folder's": ({"finetuning.arms": {"token-ids": ARM}}, ["finetuning.arms.token-ids"]),
    "override of nothing": (
        {"finetuning.arms.fairseq-random.training": {"learning_rate": 0.1}},
        [
            "unknown key finetuning.arms.fairseq-random.training.learning_rate",
            "Did you mean finetuning.arms.fairseq-random.training.lr?",
        ],
    ),
    "override with a typing slip": (
        {"finetuning.arms.fairseq-random.training": {"warmup_ration": 0.1}},
        ["Did you mean finetuning.arms.fairseq-random.training.warmup_ratio?"],
    ),
    "override out of bounds": (
        {"finetuning.arms.fairseq-random.training": {"epochs": 0}},
        ["finetuning.arms.fairseq-random.training.epochs is 0", "at least 1"],
    ),
    "match of no arm": (
        {"finetuning.arms.fairseq-random.match": "fairseq-pretraind"},
        ["finetuning.arms.fairseq-random.match is fairseq-pretraind", "Did you mean fairseq-pretrained?"],
    ),
    "LoRA in fairseq": (
        {"finetuning.arms.fairseq-random.lora": {"r": 4, "lora_alpha": 8}},
        ["finetuning.arms.fairseq-random.lora is for arms of huggingface; take it out"],
    ),
    "LoRA and frozen layers": (
        {
            "finetuning.arms.huggingface-pretrained.lora": {"r": 4, "lora_alpha": 8},
            "finetuning.arms.huggingface-pretrained.freeze": 1,
        },
        ["finetuning.arms.huggingface-pretrained: lora freezes the encoder already"],
    ),
    "layers to freeze in words": (
        {"finetuning.arms.fairseq-random.freeze": "lower"},
        ["finetuning.arms.fairseq-random.freeze is 'lower'", "encoder"],
    ),
    "model of an arm that there is not": (
        {"finetuning.arms.huggingface-pretrained.model": "camembert"},
        ["finetuning.arms.huggingface-pretrained.model is camembert", "Give it under finetuning.models"],
    ),
    "model of an arm with a typing slip": (
        {"finetuning.arms.huggingface-pretrained.model": "chekpoint"},
        ["finetuning.arms.huggingface-pretrained.model is chekpoint", "Did you mean checkpoint?"],
    ),
    "model of Hugging Face's in fairseq": (
        {"finetuning.models": {"mine": {"folder": "."}}, "finetuning.arms.fairseq-random.model": "mine"},
        ["finetuning.arms.fairseq-random: fairseq cannot start from the model mine; set framework to huggingface"],
    ),
    "match of the arm itself": (
        {"finetuning.arms.fairseq-random.match": "fairseq-random"},
        ["finetuning.arms.fairseq-random.match is fairseq-random, no other arm", "Did you mean fairseq-pretrained?"],
    ),
    "match in a circle": (
        {"finetuning.arms.fairseq-pretrained.match": "fairseq-random"},
        ["match goes in a circle, fairseq-pretrained -> fairseq-random -> fairseq-pretrained; take match out"],
    ),
    "arms that differ in case": (
        {"finetuning.arms": {"Slow": ARM, "slow": ARM}},
        ["finetuning.arms.Slow and finetuning.arms.slow differ only in case", "rename one"],
    ),
    "models that differ in case": (
        {"finetuning.models": {"Mine": {"folder": "."}, "mine": {"folder": "."}}},
        ["finetuning.models.Mine and finetuning.models.mine differ only in case"],
    ),
    "tunings that differ in case": (
        {"qa.arms": {"Wide": {"r": 64}, "wide": {"r": 32}}},
        ["qa.arms.Wide and qa.arms.wide differ only in case"],
    ),
    "more frozen layers than the checkpoint has": (
        {"finetuning.arms.fairseq-random.freeze": 2},
        ["finetuning.arms.fairseq-random.freeze is 2, more than checkpoint.architecture.layers = 1", "lower it"],
    ),
    "a rank of an arm that is no LoRA's": (
        {"finetuning.arms.huggingface-pretrained.lora": {"r": 4, "lora_alpha": 8, "rank": 2}},
        ["unknown key finetuning.arms.huggingface-pretrained.lora.rank", "the keys of", "lora_alpha"],
    ),
    "files of a hub's model without a tokenizer": (
        {"finetuning.models": {"mine": {"hub": HUB | {"files": ["config.json", "model.safetensors", "README.md"]}}}},
        [
            "finetuning.models.mine.hub.files lacks the tokenizer: tokenizer.json, or another of tokenizer.model",
            "add it",
        ],
    ),
    "files of a hub's base in pickled form": (
        {"qa.base.source": "hub", "qa.base.hub.files": ["config.json", "pytorch_model.bin", "tokenizer.json"]},
        ["qa.base.hub.files lacks the weights: model.safetensors, or all shards and their index; add it"],
    ),
    "model without a place": ({"finetuning.models": {"mine": {}}}, ["finetuning.models.mine must have either folder"]),
    "model's folder that there is not": (
        {"finetuning.models": {"mine": {"folder": "no/such"}}},
        ["finetuning.models.mine.folder: there is no folder no/such"],
    ),
    "model of the hub without a commit": (
        {"finetuning.models": {"mine": {"hub": {"repo": "a/b", "revision": "main", "files": ["x", "y", "z"]}}}},
        ["finetuning.models.mine.hub.revision is 'main'", "40 hexadecimal digits"],
    ),
    "model of the hub without a revision": (
        {"finetuning.models": {"mine": {"hub": {"repo": "a/b", "files": ["x", "y", "z"]}}}},
        ["finetuning.models.mine.hub.revision is missing"],
    ),
    "model with the checkpoint's name": (
        {"finetuning.models": {"checkpoint": {"folder": "."}}},
        ["finetuning.models.checkpoint: that name is the section checkpoint's"],
    ),
    "name of another arm": (
        {"finetuning.arms": {"huggingface-random": ARM}},
        ["finetuning.arms.huggingface-random", "it is fairseq-random; call it so"],
    ),
    "unknown framework": (
        {"finetuning.arms.fairseq-random.framework": "hugingface"},
        [
            "finetuning.arms.fairseq-random.framework is 'hugingface'",
            "one of command, fairseq, huggingface, linear, predictions, run_glue",
            "Did you mean huggingface?",
        ],
    ),
    "framework like no other": (
        {"finetuning.arms.fairseq-random.framework": "jax"},
        ["finetuning.arms.fairseq-random.framework is 'jax'", "one of command, fairseq, huggingface"],
    ),
    "unknown init": ({"finetuning.arms.fairseq-random.init": "pretained"}, ["Did you mean pretrained?"]),
    "unknown source": ({"data.source": "cls_books_zipp"}, ["data.source", "Did you mean cls_books_zip?"]),
    "unknown protocol": ({"finetuning.protocol": "publish"}, ["matched, published", "Did you mean published?"]),
    "unknown precision": ({"finetuning.training.precision": "bf16"}, ["auto, float32, bfloat16"]),
    "a seed twice": ({"finetuning.seeds": [1, 2, 2]}, ["finetuning.seeds holds 2 twice"]),
    "no seed": ({"finetuning.seeds": []}, ["finetuning.seeds is an empty list", "at least 1 entry"]),
    "negative seed": ({"finetuning.seeds": [-1]}, ["finetuning.seeds, entry 1 is -1", "at least 0"]),
    # fairseq adds the epoch's number to it, and NumPy takes 32 bits.
    "seed beyond 31 bits": ({"finetuning.seeds": [2**32 - 1]}, ["entry 1 is 4294967295", "at most 2147483647"]),
    "negative seed of the order": (
        {"finetuning.data_seed": -1},
        ["finetuning.data_seed is -1", "at least 0", "or null"],
    ),
    "text as a seed of the weights": ({"finetuning.init_seed": "1"}, ["a whole number", "Write it without quotes"]),
    "negative interval": ({"finetuning.training.save_every": -1}, ["save_every is -1", "at least 0"]),
    "true as a seed": ({"finetuning.seeds": [True]}, ["finetuning.seeds, entry 1 is true", "a whole number"]),
    "epochs 0": ({"finetuning.training.epochs": 0}, ["finetuning.training.epochs is 0", "at least 1"]),
    "epochs 5.0": ({"finetuning.training.epochs": 5.0}, ["is 5.0", "a whole number", "Write 5"]),
    "epochs as text": ({"finetuning.training.epochs": "5"}, ["is '5'", "a whole number", "Write it without quotes"]),
    "rate that YAML reads as text": ({"finetuning.training.lr": "1e-5"}, ["finetuning.training.lr", "write 1.0e-5"]),
    "exponent without a sign": ({"finetuning.training.eps": "1.5e8"}, ["finetuning.training.eps", "write 1.5e+8"]),
    "rate given inside braces of --config": (
        {"finetuning.training.lr": "1.0e-5"},
        ["finetuning.training.lr is '1.0e-5'", "Write it without quotes", "--config makes everything text"],
    ),
    "switch as text": ({"finetuning.evaluation.test_curves": "false"}, ["true or false", "Write it without quotes"]),
    "rate 0": ({"finetuning.training.lr": 0}, ["finetuning.training.lr is 0", "greater than 0"]),
    "rate not a number": ({"finetuning.training.lr": float("nan")}, ["finetuning.training.lr is nan", "a number"]),
    "three betas": ({"finetuning.training.betas": [0.9, 0.9, 0.9]}, ["betas is a list of 3", "2 entries"]),
    "beta 1": ({"finetuning.training.betas": [0.9, 1]}, ["betas, entry 2 is 1", "less than 1"]),
    "warm-up of everything": ({"finetuning.training.warmup_ratio": 1.0}, ["warmup_ratio is 1.0", "less than 1"]),
    "dropout above 1": ({"finetuning.training.dropout": 1.5}, ["dropout is 1.5", "less than 1"]),
    "curves as text": ({"finetuning.evaluation.test_curves": "yes please"}, ["test_curves", "true or false"]),
    "study with a slash": ({"study": "../other"}, ["study is '../other'", "letters, digits"]),
    "study with a line end": ({"study": "name\n"}, ["study is 'name\\n'", "letters, digits"]),
    "study that YAML reads as a number": ({"study": 7}, ["study is 7", "Write it in quotes"]),
    "mirror that is absent": ({"mirror": "/no/such/folder"}, ["mirror", "/no/such/folder", "existing folder"]),
    "mirror that is a file": ({"mirror": str(SCHEMA)}, ["mirror", "no folder"]),
    "ftp address": ({"data.cls_archive.url": "ftp://host/a.gz"}, ["data.cls_archive.url", "http://"]),
    "address that climbs": ({"checkpoint.corpus.files": ["https://host/../../etc"]}, ["files, entry 1", "'..'"]),
    "address with a space": ({"data.cls_books_zip.url": "https://host/a b"}, ["data.cls_books_zip.url", "spaces"]),
    "short hash": (
        {"data.cls_books_zip.sha256": "abc"},
        ["cls_books_zip.sha256 is 'abc'", "64 hexadecimal digits"],
    ),
    "hash in capitals": ({"data.cls_books_zip.sha256": HASH.upper()}, ["data.cls_books_zip.sha256", "lower case"]),
    "hash that YAML reads as a number": (
        {"data.cls_books_zip.sha256": 12345},
        ["is 12345", "Write it in quotes"],
    ),
    "colour by name": ({"report.colours.fairseq-random": "red"}, ["report.colours.fairseq-random is 'red'", "#1f77b4"]),
    "colour that white hides": (
        {"report.colours.fairseq-random": "#FFFFFF"},
        ["report.colours.fairseq-random is '#FFFFFF'", "1.0 to 1", "choose a darker colour"],
    ),
    "colour that another arm has": (
        {"report.colours.fairseq-random": "#0072b2"},
        ["report.colours.fairseq-pretrained and report.colours.fairseq-random are both '#0072b2'"],
    ),
    "colour of no arm": (
        {"report.colours.fairseq-pretraind": "#000000"},
        ["report.colours.fairseq-pretraind: the study has no such arm", "Did you mean fairseq-pretrained?"],
    ),
    "more to learn from than there is": (
        {"data.n_train": 350, "data.n_valid": 100, "data.embedded.n_labelled": 400},
        ["data.embedded.n_labelled is 400", "data.n_train + data.n_valid = 450"],
    ),
    "more test reviews than there are": (
        {"data.n_test": 1001, "data.embedded.n_test": 1000},
        ["data.n_test is 1001", "data.embedded.n_test = 1000"],
    ),
    "half a split": ({"data.n_train": None}, ["data.n_train and data.n_valid", "null for both"]),
    "source without an address": (
        {"data.source": "cls_archive", "data.cls_archive.url": None},
        ["data.source is cls_archive", "data.cls_archive.url must be an address"],
    ),
    "fetch without an address": (
        {"checkpoint.source": "fetch", "checkpoint.fetch.fairseq.url": None},
        ["checkpoint.fetch.fairseq.url must be an address"],
    ),
    "fetch, Hugging Face folder without an address": (
        {"checkpoint.source": "fetch", "checkpoint.fetch.huggingface": {"url": None, "sha256": None}},
        ["checkpoint.fetch.huggingface.url must be an address"],
    ),
    "a checkpoint's folder not given": (
        {"checkpoint.source": "folder"},
        ["checkpoint.source is folder", "checkpoint.folder must be a path"],
    ),
    "width that the heads cannot share": (
        {"checkpoint.architecture.width": 130, "checkpoint.architecture.heads": 4},
        ["checkpoint.architecture.width is 130", "checkpoint.architecture.heads = 4"],
    ),
    "block longer than the positions": (
        {"checkpoint.pretraining.tokens_per_sample": 129, "checkpoint.architecture.max_positions": 128},
        ["checkpoint.pretraining.tokens_per_sample is 129", "checkpoint.architecture.max_positions = 128"],
    ),
    "warm-up that never ends": (
        {"checkpoint.pretraining.warmup_updates": 1500, "checkpoint.pretraining.updates": 1500},
        ["checkpoint.pretraining.warmup_updates is 1500", "less than checkpoint.pretraining.updates = 1500"],
    ),
    "nothing to pretrain on": (
        {"checkpoint.corpus.unlabelled_repeat": 0, "checkpoint.corpus.train_repeat": 0},
        ["checkpoint.corpus holds no text"],
    ),
    "rank 0 of a pattern": (
        {"qa.lora.rank_pattern": {"h.0": 0}},
        ["qa.lora.rank_pattern.h.0 is 0", "at least 1 (rank of a module)"],
    ),
    "ranks in a list": (
        {"qa.lora.r": [8, 32]},
        ["qa.lora.r is a list of 2"],
    ),
    "arm that overrides what there is not": (
        {"qa.arms": {"wide": {"r": 64, "learning_rate": 1.0}}},
        ["unknown key qa.arms.wide.learning_rate"],
    ),
    "arm with a near key": ({"qa.arms": {"wide": {"lora_alpa": 3}}}, ["Did you mean qa.arms.wide.lora_alpha?"]),
    "arm with a bad value": ({"qa.arms": {"wide": {"r": 0}}}, ["qa.arms.wide.r is 0", "at least 1 (rank of"]),
    "arm with a rank in a list": ({"qa.arms": {"wide": {"r": [8]}}}, ["qa.arms.wide.r is a list of 1"]),
    "arm that is nothing": ({"qa.arms": {"wide": None}}, ["qa.arms.wide is null", "a block of keys"]),
    "variation that is the study's": (
        {"qa.variations.runs": [{"name": "same", "lora_alpha": 16}]},
        ["qa.variations.runs, entry 1 (same) has the settings of unchanged"],
    ),
    "variation of LoRA without LoRA": (
        {"qa.variations.runs": [{"name": "full", "tune": "all", "r": 2}]},
        ["qa.variations.runs, entry 1 (full) has r beside `tune: all`"],
    ),
    "two variations of a name": (
        {"qa.variations.runs": [{"name": "a", "r": 2}, {"name": "A", "r": 4}]},
        ["qa.variations.runs has a twice"],
    ),
    "variation called unchanged": (
        {"qa.variations.runs": [{"name": "unchanged", "r": 2}]},
        ["unchanged is the run that changes nothing"],
    ),
    "arm named as a folder": (
        {"qa.arms": {"sweep": {"r": 4}}},
        ["qa.arms.sweep: base, data, figures, sweep, variations"],
    ),
    "arm that climbs": ({"qa.arms": {"../a": {"r": 4}}}, ["qa.arms", "../a", "letters, digits"]),
    "arms alike": (
        {"qa.arms": {"a": {"r": 16}, "b": {"bias": "none"}}},
        ["qa.arms.a and qa.arms.b have the same settings"],
    ),
    "layers of no list, in an arm": (
        {"qa.arms": {"a": {"layers_pattern": "h"}}},
        ["qa.arms.a.layers_pattern has no effect"],
    ),
    "prompt without the answer": ({"qa.prompt": "Q: {question}"}, ["qa.prompt is 'Q: {question}'", "no {answer}"]),
    "prompt with two questions": ({"qa.prompt": "{question} {question} {answer}"}, ["holds 2 {question}"]),
    "prompt that goes on": ({"qa.prompt": "{question} {answer} !"}, ["must end in {answer}, after {question}"]),
    "prompt with another name": ({"qa.prompt": "{system} {question} {answer}"}, ["qa.prompt holds {system}; only"]),
    "branch of a model": ({"qa.base.hub.revision": "main"}, ["qa.base.hub.revision is 'main'", "40 hexadecimal"]),
    "column with braces": ({"qa.data.question": "a{b}"}, ["qa.data.question is 'a{b}'", "without braces"]),
    "modules as a number": ({"qa.lora.target_modules": 3}, ["a list or text", "all-linear"]),
    "no module": ({"qa.lora.target_modules": []}, ["qa.lora.target_modules is an empty list", "at least 1 entry"]),
    "unknown quantization": ({"qa.training.quantization": "nf8"}, ["one of none, nf4", "Did you mean nf4?"]),
    "pairs without an address": ({"qa.data.source": "url"}, ["qa.data.source is url", "qa.data.url must name"]),
    "pairs without a file": ({"qa.data.source": "file"}, ["qa.data.source is file", "qa.data.file must name"]),
    "base without a folder": ({"qa.base.source": "folder"}, ["qa.base.folder must be a path"]),
    "base file that climbs": ({"qa.base.hub.files": ["a/../b", "c", "d"]}, ["qa.base.hub.files, entry 1"]),
    "base width that the heads cannot share": (
        {"qa.base.embedded.architecture.heads": 5, "qa.base.embedded.architecture.width": 96},
        ["qa.base.embedded.architecture.width is 96", "qa.base.embedded.architecture.heads = 5"],
    ),
    "base warm-up that never ends": (
        {"qa.base.embedded.training.warmup_updates": 150, "qa.base.embedded.training.updates": 150},
        ["qa.base.embedded.training.warmup_updates is 150", "qa.base.embedded.training.updates = 150"],
    ),
    "base without text": ({"qa.base.embedded.n_texts": 0}, ["qa.base.embedded holds no text"]),
    "base of tables that there are not": (
        {"qa.base.embedded.corpus_tables": True},
        ["qa.base.embedded.corpus_tables is true", "checkpoint.corpus.tables"],
    ),
    "layers of no list": ({"qa.lora.layers_pattern": "h"}, ["qa.lora.layers_pattern has no effect"]),
    "more questions than held-out pairs": (
        {"qa.generation.n_questions": 17},
        ["qa.generation.n_questions is 17", "qa.data.n_heldout = 16"],
    ),
    "nothing to measure pretraining by": ({"checkpoint.corpus.valid_fraction": 0}, ["is 0", "greater than 0"]),
    "number that no library takes": (
        {"qa.training.updates": 10**30},
        ["qa.training.updates is 1000000000000000000000000000000, more than the 4294967295"],
    ),
    "number that no float holds": (
        {"finetuning.training.clip_norm": 10**309},
        ["finetuning.training.clip_norm is 1000", "it must be a number, at least 0"],
    ),
    "number in a list that no library takes": (
        {"qa.rank_sweep.ranks": [8, 2**32]},
        ["qa.rank_sweep.ranks, entry 2 is 4294967296"],
    ),
    "seed of the answers beyond 31 bits": ({"qa.generation.seed": 2**31}, ["at most 2147483647"]),
    "warm-up of all of the tuning": ({"qa.training.warmup_ratio": 1.0}, ["warmup_ratio is 1.0", "less than 1"]),
    "model that climbs": ({"qa.base.hub.repo": "../.."}, ["qa.base.hub.repo is '../..'", "two names"]),
    "revision that climbs": ({"qa.base.hub.revision": ".."}, ["qa.base.hub.revision is '..'", "40 hexadecimal"]),
    "model with a line end": ({"qa.base.hub.repo": "a/b\n"}, ["qa.base.hub.repo is 'a/b\\n'"]),
    "address of pairs that is none": ({"qa.data.url": "https://a b"}, ["qa.data.url is 'https://a b'"]),
    "path with braces": ({"qa.data.file": "a{x}.json"}, ["qa.data.file is 'a{x}.json'", "a path without braces"]),
    "path with a line end": ({"checksums": "a\nb"}, ["checksums is 'a\\nb'", "a path without braces or line ends"]),
    "claims that are no list": ({"claims": "claims/open.yaml"}, ["claims is 'claims/open.yaml'", "a list"]),
    "claims twice": ({"claims": ["a.yaml", "a.yaml"]}, ["claims holds a.yaml twice"]),
    "empty path": ({"qa.base.folder": ""}, ["qa.base.folder is ''", "a path"]),
    "address with a password": (
        {"data.cls_books_zip.url": "https://me:secret@host/a"},
        ["data.cls_books_zip.url", "an address that begins with"],
    ),
    "small vocabulary": ({"checkpoint.sentencepiece.vocab_size": 99}, ["vocab_size is 99", "at least 100"]),
}


@pytest.mark.parametrize("changes, wanted", FAULTS.values(), ids=FAULTS)
def test_fault_is_named(changes, wanted):
    text = message(changes)
    for part in wanted:
        assert part in text


@pytest.mark.parametrize(
    "changes",
    [
        {"finetuning.seeds": [0, 2147483647]},
        {"finetuning.init_seed": 0, "finetuning.data_seed": 2147483647, "finetuning.training.save_every": 0},
        {"finetuning.training.lr": 1},  # a whole number is a number
        {"mirror": str(ROOT)},
        {"data.n_train": 300, "data.n_valid": 100, "data.embedded.n_labelled": 400},  # 300 + 100 = 400: just enough
        {"data.n_train": None, "data.n_valid": None},
        {"data.cls_books_zip.sha256": HASH},
        {"data.cls_books_zip.url": "http://127.0.0.1:8000/a.zip"},
        {"data.cls_archive.url": None},  # not the source of this study
        {"checkpoint.fetch.huggingface": {"url": "https://host/a.zip", "sha256": None}},
        {"checkpoint.architecture.max_positions": 128, "checkpoint.pretraining.tokens_per_sample": 128},
        {"checkpoint.source": "fetch", "checkpoint.architecture.max_positions": 8},  # nothing is pretrained here
        {"study": "a.b-c_1"},
        {"checkpoint.corpus.files": ["https://host/folder/*"]},
        {"qa.lora.target_modules": "all-linear", "qa.variations.runs": []},
        {"qa.lora.rank_pattern": {"h.0.mlp": 4}},
        {"qa.enabled": False, "qa.data.source": "url"},  # what is switched off may be unfinished
    ],
    ids=str,
)
def test_allowed_at_the_edge(changes):
    validate_study(changed(changes), SCHEMA)


def where_its_models_are(config, folder, monkeypatch):
    """Work where the folders of a study's models are, which another study makes."""
    folders = [model["folder"] for model in config["finetuning"].get("models", {}).values() if "folder" in model]
    for name in folders:
        (folder / name).mkdir(parents=True, exist_ok=True)
    monkeypatch.chdir(folder if folders else ROOT)


@pytest.mark.parametrize(
    "path", ["config.yaml", *sorted(f"studies/{p.name}" for p in (ROOT / "studies").glob("*.yaml"))]
)
def test_studies_are_valid(path, monkeypatch, tmp_path):
    # As a run merges them: a study's arms replace the default ones.
    config = with_defaults(yaml.safe_load((ROOT / path).read_text(encoding="utf-8")), str(ROOT))
    where_its_models_are(config, tmp_path, monkeypatch)
    validate_study(config, SCHEMA)
    if path != "config.yaml":
        assert config["study"] == pathlib.Path(path).stem  # the study's results lie under its file's name


def test_schema_and_defaults_do_not_drift():
    schema = read_schema(SCHEMA)
    # Null or empty by default, so the keys below are in the schema alone.
    empty = ("checkpoint.fetch.huggingface.", "checkpoint.corpus.tables.", "qa.arms.", "finetuning.models.")
    empty += ("finetuning.grids.", "questions.", "sources.", "finetuning.seeds.", "qa.variations.runs.")
    # Settings in which an arm may differ from the study.
    empty += tuple(
        f"finetuning.arms.{key}"
        for key in (
            *("protocol", "freeze", "lora", "training", "n_train", "at_update"),
            *(key for name in frameworks.names() for key in getattr(frameworks.load(name), "SETTINGS", {})),
        )
    )
    alone = set(key_paths(schema)) - paths_of(defaults())
    assert {key for key in alone if not key.startswith(empty)} == set()
    assert all(any(key.startswith(block) for key in alone) for block in empty)
    assert paths_of(defaults()) - set(key_paths(schema)) == set()


# Their keys are names of the study's own.
FREE = ("finetuning.arms", "finetuning.models", "report.colours")


def paths_of(value, path=()):
    found = {".".join(path)} if path else set()
    if ".".join(path) in FREE:
        return found | {".".join((*path, key)) for part in value.values() if isinstance(part, dict) for key in part}
    if isinstance(value, dict):
        for key, part in value.items():
            found |= paths_of(part, (*path, key))
    if isinstance(value, list):
        for part in value:
            found |= paths_of(part, path)
    return found


def test_schema_is_strict_at_every_level():
    schema = yaml.safe_load(SCHEMA.read_text(encoding="utf-8"))
    seen = []

    def walk(node, path):
        if "properties" in node:
            seen.append(path)
            assert node["additionalProperties"] is False, path
            # A grid varies what it names.
            optional = {("finetuning", "grids", "[]"): set(AXES), ("questions", "[]"): {"equal_within", "measure"}}
            # Seeds may be a list, too.
            optional |= {("finetuning", "seeds"): {"looks", "seen", "confirm"}, ("sources", "[]"): {"arm", "compare"}}
            # A run has a name, and what it changes.
            optional |= {("qa", "variations", "runs", "[]"): set(node["properties"]) - {"name"}}
            optional = optional.get(path, set())
            assert set(node["required"]) == set(node["properties"]) - optional, path
            for key, part in node["properties"].items():
                walk(part, (*path, key))
        if isinstance(node.get("items"), dict):
            walk(node["items"], (*path, "[]"))

    walk(schema, ())
    assert len(seen) > 15


def test_schema_is_a_schema():
    import jsonschema

    jsonschema.Draft202012Validator.check_schema(yaml.safe_load(SCHEMA.read_text(encoding="utf-8")))


def test_every_default_has_a_comment():
    # A comment on the line, or on the line that opens the block.
    bare, blocks = [], {}
    for line in (ROOT / "config.yaml").read_text(encoding="utf-8").splitlines():
        match = re.match(r"( *)([\w-]+):(.*)", line)
        if match:
            indent, key, rest = len(match[1]), match[2], match[3]
            told = " #" in rest
            blocks[indent] = told
            opens = not rest.split(" #")[0].strip()
            if not (told or opens or blocks.get(indent - 2)):
                bare.append(key)
    assert bare == []


def test_yaml_text_numbers_are_what_yaml_says():
    # The hint rests on PyYAML's YAML 1.1: 1e-5 and 1.5e8 are text, the form that the hint proposes is a number.
    assert yaml.safe_load("[1e-5, 1.5e8, 1.0e-5, 1.5e+8]") == ["1e-5", "1.5e8", 1.0e-5, 1.5e8]


@pytest.mark.parametrize(
    ("short", "words"),
    [
        ({"updates": 450, "tokens_per_sample": 48}, None),
        ({"updates": 400, "tokens_per_sample": 48}, "short_blocks.updates is 400; it must be a multiple of"),
        ({"updates": 1800, "tokens_per_sample": 48}, "below checkpoint.pretraining.updates = 1800"),
        ({"updates": 450, "tokens_per_sample": 96}, "short_blocks.tokens_per_sample is 96, not shorter than"),
    ],
)
def test_short_blocks_end_where_a_state_is_saved_and_are_shorter(short, words):
    blocks = {"checkpoint.pretraining.sample_break_mode": "none", "checkpoint.pretraining.short_blocks": short}
    found = list(cross_checks(changed(blocks)))
    assert (len(found) == 1 and words in found[0]) if words else found == []


def test_short_blocks_are_blocks_and_no_texts():
    short = {"updates": 450, "tokens_per_sample": 48}
    (found,) = cross_checks(changed({"checkpoint.pretraining.short_blocks": short}))
    assert "short_blocks needs checkpoint.pretraining.sample_break_mode: none; with eos" in found


def test_cross_checks_are_silent_on_the_defaults():
    assert list(cross_checks(defaults())) == []


def test_the_open_study_takes_all_novels_for_both_its_models():
    config, pins = load_study(str(ROOT), str(ROOT / "studies" / "open.yaml"))
    novels = config["checkpoint"]["corpus"]["files"]
    assert len(novels) == 100 and set(novels) < set(pins)
    assert config["qa"]["base"]["embedded"]["files"] == novels


@pytest.mark.parametrize("table", ["studies/none.tsv", "studies"])
def test_a_missing_table_of_checksums_is_named(table):
    with pytest.raises(StudyError, match=rf"configuration: checksums: there is no file .*/{table}; name a table like"):
        check_study(changed({"checksums": table}), str(ROOT))


def test_claims_need_tables_of_accuracy():
    with pytest.raises(StudyError, match="claims are checked against tables of accuracy, and measure is mcc"):
        check_study(changed({"claims": ["claims/open.yaml"], "measure": "mcc"}), str(ROOT))


def test_a_missing_file_of_claims_is_named():
    with pytest.raises(StudyError, match=r"claims, entry 2: there is no file .*/claims/none\.yaml; name a file like"):
        check_study(changed({"claims": ["claims/open.yaml", "claims/none.yaml"]}), str(ROOT))


@pytest.mark.parametrize("key", ["checkpoint.corpus.files", "qa.base.embedded.files"])
def test_a_pattern_that_matches_nothing_is_told_by_its_key(key):
    with pytest.raises(StudyError, match=rf"{key}: no address of the table `checksums` matches https://host/\*"):
        check_study(changed({key: ["https://host/*"]}), str(ROOT))


@pytest.mark.parametrize("file", sorted((pathlib.Path(ROOT) / "studies").glob("*.yaml")), ids=lambda path: path.stem)
def test_no_study_file_gives_settings_that_nothing_reads(file, monkeypatch, tmp_path):
    own = read_settings(str(file))
    where_its_models_are({"finetuning": {}} | own, tmp_path, monkeypatch)
    assert unused_keys(own, load_study(ROOT, str(file))[0]) == {}


def test_settings_that_nothing_reads_are_told_with_the_reason():
    own = {
        "checkpoint": {"source": "folder", "folder": "x", "sentencepiece": {"vocab_size": 32000}, "fetch": None},
        "finetuning": {"protocol": "published", "training": {"batching": "random", "lr": 0.1}},
        "qa": {"enabled": False, "lora": {"r": 16}},
    }
    config = defaults()
    update_config(config, own)
    assert unused_keys(own, config) == {
        "checkpoint.sentencepiece": "checkpoint.source is folder",
        "finetuning.training.batching": "finetuning.protocol is published",
        "qa.lora": "qa.enabled is false",
    }
    assert unused_keys({"qa": {"lora": {"r": 16}}}, defaults()) == {}
    arms = {"a": {"framework": "huggingface", "model": "theirs", "init": "random"}}
    foreign = config | {"finetuning": config["finetuning"] | {"arms": arms}}
    assert unused_keys(own, foreign)["checkpoint"] == "no arm starts from it"


def test_a_branch_that_is_off_reads_none_of_its_keys():
    assert set(GUEST.alternatives["qa.enabled"][True]) == {f"qa.{key}" for key in defaults()["qa"] if key != "enabled"}


def test_every_key_that_alternatives_name_exists():
    known = set(key_paths(yaml.safe_load(pathlib.Path(SCHEMA).read_text(encoding="utf-8"))))
    alternatives = ALTERNATIVES | merged("alternatives")
    named = {key for of in alternatives.values() for keys in of.values() for key in keys} | set(alternatives)
    assert {key for key in named if not any(path == key or path.startswith(f"{key}.") for path in known)} == set()


def test_all_faults_are_listed_the_most_telling_first():
    """Faults of the schema together, then contradictions together; a value is faulted once."""
    faults = {"finetuning.seds": [1], "finetuning.select_by": "acuracy", "data.n_test": "many", "qa.enabld": True}
    text = message(faults)
    lines = text.split("\n")
    assert "finetuning.seds. Did you mean finetuning.seeds?" in lines[0] and "qa.enabld" in lines[1]
    assert {line.split()[1] for line in lines[2:]} == {"data.n_test", "finetuning.select_by"}
    text = message({"checkpoint.architecture.heads": 3, "finetuning.arms.fairseq-random.model": "elsewhere"})
    assert [line.split()[1] for line in text.split("\n")] == [
        "checkpoint.architecture.width",
        "finetuning.arms.fairseq-random.model",
    ]


def test_every_unknown_and_every_missing_key_of_a_block_is_named():
    arm = {"framework": "fairseq", "model": "checkpoint", "init": "random"}
    text = message({"finetuning.arms.other": {"framework": "fairseq"}})
    assert [line.split()[1].rpartition(".")[2] for line in text.split("\n")] == ["model", "init"]
    text = message({"finetuning.arms.other": arm | {"sed": 1, "lrr": 2}})
    assert text.count("unknown key") == 2 and "other.sed" in text and "other.lrr" in text
    # The key that a typo was meant to be is not also missing.
    assert "is missing" not in message({"finetuning.arms.other": {"framewrok": "fairseq", **arm, "init": "random"}})
    typo = {"framewrok" if key == "framework" else key: value for key, value in arm.items()}
    assert "Did you mean finetuning.arms.other.framework?" in message({"finetuning.arms.other": typo})
    assert "is missing" not in message({"finetuning.arms.other": typo})


def test_a_name_of_an_arm_that_is_too_long_is_refused_for_its_length():
    arm = {"framework": "fairseq", "model": "checkpoint", "init": "random"}
    assert "at most 40 characters" in message({f"finetuning.arms.{'a' * 60}": arm})


def test_a_long_list_of_faults_is_cut():
    arm = {"framework": "fairseq", "model": "checkpoint", "init": "random"}
    text = message({f"finetuning.arms.arm{number}": arm | {"lrr": 1} for number in range(30)})
    assert len(text.split("\n")) == 21 and text.endswith("10 more faults are not listed")
