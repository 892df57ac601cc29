"""Settings: what is accepted, and what a user reads when they are not."""

import copy
import pathlib
import re

import pytest
import yaml
from snakemake.utils import update_config

from common.config import cross_checks, key_paths, validate_study
from common.errors import StudyError
from common.study import check_study, load_study

ROOT = pathlib.Path(__file__).parents[2]
SCHEMA = ROOT / "schemas" / "config.schema.yaml"
DELETE = object()


def defaults():
    return yaml.safe_load((ROOT / "config.yaml").read_text(encoding="utf-8"))


def changed(changes):
    """The embedded study's settings with {dotted path: value} changed; numbers in a path are list entries."""
    config = copy.deepcopy(defaults())
    for path, value in changes.items():
        *parents, last = [int(part) if part.isdigit() else part for part in path.split(".")]
        node = config
        for part in parents:
            node = node[part]
        if value is DELETE:
            del node[last]
        else:
            node[last] = value
    return config


def message(changes):
    with pytest.raises(StudyError) as caught:
        validate_study(changed(changes), SCHEMA)
    text = str(caught.value)
    assert text.startswith("configuration: ") and "\n" not in text and "None" not in text
    return text


HASH = "0123456789abcdef" * 4
FAULTS = {
    # name: (what is changed, what the message must hold)
    "typo in a key": (
        {"sentiment.finetuning.batch_szie": 8},
        ["unknown key sentiment.finetuning.batch_szie", "Did you mean sentiment.finetuning.batch_size?"],
    ),
    "renamed key": (
        {"sentiment.finetuning.batch_size": DELETE, "sentiment.finetuning.batch_sise": 8},
        ["unknown key sentiment.finetuning.batch_sise", "Did you mean sentiment.finetuning.batch_size?"],
    ),
    "typo in an outermost key": ({"sentimnet": {}}, ["unknown key sentimnet", "Did you mean sentiment?"]),
    "key at the wrong place": (
        {"warmup_ratio": 0.1},
        ["unknown key warmup_ratio", "There is a key sentiment.finetuning.warmup_ratio"],
    ),
    "key like no other": (
        {"data.embedded.zzz": 1},
        ["unknown key data.embedded.zzz", "the keys of data.embedded are seed, n_labelled, n_test, n_unlabelled"],
    ),
    "unknown key of an arm": (
        {"sentiment.arms.1.frameworks": "fairseq"},
        ["unknown key sentiment.arms, entry 2, frameworks", "Did you mean sentiment.arms, entry 2, framework?"],
    ),
    "key that is a number": ({"data.7": 1}, ["unknown key data.7"]),
    "key removed": ({"sentiment.seeds": DELETE}, ["sentiment.seeds is missing", "a list", "at least 1 entry"]),
    "block removed": ({"checkpoint": DELETE}, ["checkpoint is missing", "a block of keys"]),
    "empty block": ({"sentiment": None}, ["sentiment is null (empty)", "a block of keys"]),
    "arm without an init": (
        {"sentiment.arms.0.init": DELETE},
        ["sentiment.arms, entry 1, init is missing", "one of pretrained, random"],
    ),
    "arms as text": ({"sentiment.arms": "fairseq"}, ["sentiment.arms is 'fairseq'", "a list"]),
    "no arm": ({"sentiment.arms": []}, ["sentiment.arms is an empty list", "at least 1 entry"]),
    "an arm twice": (
        {"sentiment.arms.1.init": "pretrained"},
        ["sentiment.arms holds framework: fairseq, init: pretrained twice"],
    ),
    "unknown framework": (
        {"sentiment.arms.2.framework": "hugingface"},
        [
            "sentiment.arms, entry 3, framework is 'hugingface'",
            "one of fairseq, huggingface",
            "Did you mean huggingface?",
        ],
    ),
    "framework like no other": (
        {"sentiment.arms.2.framework": "jax"},
        ["sentiment.arms, entry 3, framework is 'jax'", "one of fairseq, huggingface"],
    ),
    "unknown init": ({"sentiment.arms.0.init": "pretained"}, ["Did you mean pretrained?"]),
    "unknown source": ({"data.source": "cls_books_zipp"}, ["data.source", "Did you mean cls_books_zip?"]),
    "unknown protocol": ({"sentiment.protocol": "publish"}, ["matched, published", "Did you mean published?"]),
    "unknown precision": ({"sentiment.finetuning.precision": "bf16"}, ["auto, float32, bfloat16"]),
    "a seed twice": ({"sentiment.seeds": [1, 2, 2]}, ["sentiment.seeds holds 2 twice"]),
    "no seed": ({"sentiment.seeds": []}, ["sentiment.seeds is an empty list", "at least 1 entry"]),
    "negative seed": ({"sentiment.seeds": [-1]}, ["sentiment.seeds, entry 1 is -1", "at least 0"]),
    "seed beyond 32 bits": ({"sentiment.seeds": [2**32]}, ["4294967296", "at most 4294967295"]),
    "negative seed of the order": ({"sentiment.data_seed": -1}, ["sentiment.data_seed is -1", "at least 0", "or null"]),
    "text as a seed of the weights": ({"sentiment.init_seed": "1"}, ["a whole number", "Write it without quotes"]),
    "negative interval": ({"sentiment.finetuning.save_every": -1}, ["save_every is -1", "at least 0"]),
    "true as a seed": ({"sentiment.seeds": [True]}, ["sentiment.seeds, entry 1 is true", "a whole number"]),
    "epochs 0": ({"sentiment.finetuning.epochs": 0}, ["sentiment.finetuning.epochs is 0", "at least 1"]),
    "epochs 5.0": ({"sentiment.finetuning.epochs": 5.0}, ["is 5.0", "a whole number", "Write 5"]),
    "epochs as text": ({"sentiment.finetuning.epochs": "5"}, ["is '5'", "a whole number", "Write it without quotes"]),
    "rate that YAML reads as text": ({"sentiment.finetuning.lr": "1e-5"}, ["sentiment.finetuning.lr", "write 1.0e-5"]),
    "exponent without a sign": ({"sentiment.finetuning.eps": "1.5e8"}, ["sentiment.finetuning.eps", "write 1.5e+8"]),
    "rate given inside braces of --config": (
        {"sentiment.finetuning.lr": "1.0e-5"},
        ["sentiment.finetuning.lr is '1.0e-5'", "Write it without quotes", "--config makes everything text"],
    ),
    "switch as text": ({"sentiment.evaluation.test_curves": "false"}, ["true or false", "Write it without quotes"]),
    "rate 0": ({"sentiment.finetuning.lr": 0}, ["sentiment.finetuning.lr is 0", "greater than 0"]),
    "rate not a number": ({"sentiment.finetuning.lr": float("nan")}, ["sentiment.finetuning.lr is nan", "a number"]),
    "three betas": ({"sentiment.finetuning.betas": [0.9, 0.9, 0.9]}, ["betas is a list of 3", "2 entries"]),
    "beta 1": ({"sentiment.finetuning.betas": [0.9, 1]}, ["betas, entry 2 is 1", "less than 1"]),
    "warm-up of everything": ({"sentiment.finetuning.warmup_ratio": 1.0}, ["warmup_ratio is 1.0", "less than 1"]),
    "dropout above 1": ({"sentiment.finetuning.dropout": 1.5}, ["dropout is 1.5", "less than 1"]),
    "curves as text": ({"sentiment.evaluation.test_curves": "yes please"}, ["test_curves", "true or false"]),
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
    "colour of no arm": (
        {"report.colours.fairseq-pretraind": "#000000"},
        ["unknown key report.colours.fairseq-pretraind", "Did you mean report.colours.fairseq-pretrained?"],
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
    "rank twice": ({"qa.lora.r": [8, 8]}, ["qa.lora.r holds 8 twice"]),
    "one rank, not a list": ({"qa.lora.r": 8}, ["qa.lora.r is 8", "a list"]),
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
    "layers of no list": ({"qa.lora.layers_pattern": "h"}, ["qa.lora.layers_pattern says nothing"]),
    "more questions than held-out pairs": (
        {"qa.generation.n_questions": 17},
        ["qa.generation.n_questions is 17", "qa.data.n_heldout = 16"],
    ),
    "nothing to measure pretraining by": ({"checkpoint.corpus.valid_fraction": 0}, ["is 0", "greater than 0"]),
    "number that no library takes": (
        {"qa.training.updates": 10**30},
        ["qa.training.updates is 1000000000000000000000000000000, more than the 4294967295"],
    ),
    "number in a list that no library takes": ({"qa.lora.r": [8, 2**32]}, ["qa.lora.r, entry 2 is 4294967296"]),
    "seed of the answers beyond 32 bits": ({"qa.generation.seed": 2**32}, ["at most 4294967295"]),
    "warm-up of all of the tuning": ({"qa.training.warmup_ratio": 1.0}, ["warmup_ratio is 1.0", "less than 1"]),
    "model that climbs": ({"qa.base.hub.repo": "../.."}, ["qa.base.hub.repo is '../..'", "two names"]),
    "revision that climbs": ({"qa.base.hub.revision": ".."}, ["qa.base.hub.revision is '..'", "letters, digits"]),
    "model with a line end": ({"qa.base.hub.repo": "a/b\n"}, ["qa.base.hub.repo is 'a/b\\n'"]),
    "address of pairs that is none": ({"qa.data.url": "https://a b"}, ["qa.data.url is 'https://a b'"]),
    "path with braces": ({"qa.data.file": "a{x}.json"}, ["qa.data.file is 'a{x}.json'", "a path without braces"]),
    "path with a line end": ({"checksums": "a\nb"}, ["checksums is 'a\\nb'", "a path without braces or line ends"]),
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
        {"sentiment.seeds": [0, 4294967295]},
        {"sentiment.init_seed": 0, "sentiment.data_seed": 4294967295, "sentiment.finetuning.save_every": 0},
        {"sentiment.finetuning.lr": 1},  # a whole number is a number
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
        {"qa.lora.target_modules": "all-linear"},
        {"qa.lora.rank_pattern": {"h.0.mlp": 4}},
        {"qa.enabled": False, "qa.data.source": "url"},  # what is switched off may be unfinished
    ],
    ids=str,
)
def test_allowed_at_the_edge(changes):
    validate_study(changed(changes), SCHEMA)


@pytest.mark.parametrize(
    "path", ["config.yaml", *sorted(f"studies/{p.name}" for p in (ROOT / "studies").glob("*.yaml"))]
)
def test_studies_are_valid(path, monkeypatch):
    monkeypatch.chdir(ROOT)
    config = defaults()
    # Snakemake's own merger, so that lists and null behave as they do in a run.
    update_config(config, yaml.safe_load((ROOT / path).read_text(encoding="utf-8")))
    validate_study(config, SCHEMA)
    if path != "config.yaml":
        assert config["study"] == pathlib.Path(path).stem  # the study's results lie under its file's name


def test_schema_and_defaults_do_not_drift():
    schema = yaml.safe_load(SCHEMA.read_text(encoding="utf-8"))
    # `checkpoint.fetch.huggingface` is null by default, so the keys below it stand in the schema alone.
    inside_null = {"checkpoint.fetch.huggingface.url", "checkpoint.fetch.huggingface.sha256"}
    assert set(key_paths(schema)) - paths_of(defaults()) == inside_null
    assert paths_of(defaults()) - set(key_paths(schema)) == set()


def paths_of(value, path=()):
    found = {".".join(path)} if path else set()
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
            assert set(node["required"]) == set(node["properties"]), path
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


def test_cross_checks_are_silent_on_the_defaults():
    assert list(cross_checks(defaults())) == []


def test_the_open_study_takes_all_novels_for_both_its_models():
    config, pins = load_study(str(ROOT), str(ROOT / "studies" / "open.yaml"))
    novels = config["checkpoint"]["corpus"]["files"]
    assert len(novels) == 100 and set(novels) < set(pins)
    assert config["qa"]["base"]["embedded"]["files"] == novels


@pytest.mark.parametrize("key", ["checkpoint.corpus.files", "qa.base.embedded.files"])
def test_a_pattern_that_matches_nothing_is_told_by_its_key(key):
    with pytest.raises(StudyError, match=rf"{key}: no address of the table `checksums` matches https://host/\*"):
        check_study(changed({key: ["https://host/*"]}), str(ROOT))
