"""Exported models of others, of eight families: what a user loads with Transformers alone answers as the run did."""

import json
import os

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from transformers import AutoModelForSequenceClassification, AutoTokenizer, pipeline

from common.arms import Arm
from common.errors import StudyError
from common.files import read_json, read_lines, read_tsv, write_json, write_lines, write_tsv
from finetuning import blanks, export_model, take_model, tokenize_texts
from finetuning.encoders import load_tokenizer
from frameworks.huggingface import score as evaluate_huggingface
from support.encoders import FAMILIES, TEXTS, write_encoder
from support.killed_runs import run_forked
from support.studies import FINETUNING, ROOT

SETTINGS = FINETUNING | {"epochs": 1, "batch_size": 4, "lr": 5e-3}
OUTPUTS = ("checkpoints", "history", "run", "weights", "tensorboard")
POSITIONS = 24
# By arm: the classes, whether texts come in pairs, what the arm trains.
ARMS = {
    "frozen": (["d'accord", 'so "so"', "été | <b>"], False, {"freeze": 1}),
    "lora": (["same", "other"], True, {"lora": {"r": 2, "lora_alpha": 8}}),
}
SIZES = {"train": 24, "valid": 9, "test": 9}
HUB = {"source": "model", "hub": {"repo": "someone/tiny", "revision": "a" * 40, "files": ["config.json"]}}
FOLDER = {"source": "model", "folder": "models/theirs"}


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """Texts and pairs of three splits; the last of each is longer than any model takes."""
    folder = tmp_path_factory.mktemp("data")
    for arm, (classes, pairs, _) in ARMS.items():
        (folder / arm).mkdir()
        for split, n in SIZES.items():
            texts = [*TEXTS[: n - 1], " ".join(TEXTS[:9])]
            if pairs:
                texts = [f"{text}\t{other}" for text, other in zip(texts, reversed(TEXTS), strict=False)]
            write_lines(folder / arm / f"{split}.review", texts)
            write_lines(folder / arm / f"{split}.label", [str(i % len(classes)) for i in range(n)])
    return folder


def facts(arm):
    return Arm(arm, "huggingface", "theirs", "pretrained")._asdict()


def prepare(family, folder, data):
    """Take a family's model, cut the texts, and return its runs, one an arm."""
    write_encoder(folder / "theirs", family, spread=0.5)
    take_model.main([str(folder / "theirs")], family, str(folder / "taken"))
    for arm, (classes, _, part) in ARMS.items():
        (folder / arm).mkdir()
        for split in SIZES:
            files = (str(data / arm / f"{split}.review"), str(data / arm / f"{split}.label"))
            tokenize_texts.main(*files, str(folder / "taken"), str(folder / arm / f"{split}.npz"), None, classes)
        given = {output: f"{arm}/{output}" for output in OUTPUTS} | {"states": f"{arm}/states", "threads": 1}
        given |= {"train": f"{arm}/train.npz", "valid": f"{arm}/valid.npz", "checkpoint": "taken"}
        given |= {"facts": facts(arm), "seed": 3, "settings": SETTINGS | part, "save_every": 0, "classes": classes}
        yield {
            "name": f"{family}/{arm}-run",
            "folder": family,
            "script": "frameworks.huggingface.train",
            "arguments": given,
        }


def write_records(folder, data, arm):
    """Write what a study knows of a run beside the run itself."""
    classes, pairs, _ = ARMS[arm]
    write_json(folder / "selected.json", {"epoch": 1})
    evaluate_huggingface.main(
        *(str(folder / name) for name in ("selected.json", "checkpoints", "test.npz", "predictions.tsv")),
        batch_size=3,
        threads=1,
    )
    rows = read_tsv(folder / "predictions.tsv")
    n_correct = sum(row["label"] == row["prediction"] for row in rows)
    known = facts(arm)
    counts = {"best_epoch": 1, "best_update": 6, "valid_accuracy": 0.5, "test_accuracy": n_correct / len(rows)}
    counts |= {"n_correct_test": n_correct, "n_test": len(rows), "n_valid": SIZES["valid"], "total_updates": 6}
    write_tsv(folder / "runs.tsv", [known | {"seed": 3} | counts], [*known, "seed", *counts])
    test = {"n_seeds": 1, "mean": 0.5, "sd_ddof1": None}
    write_tsv(folder / "test_accuracy.tsv", [known | test], [*known, *test])
    arms = test | {"t_low": None, "t_high": None, "n_learned": 1, "note": None}
    write_tsv(folder / "arms.tsv", [known | arms], [*known, *arms])
    split = {"n": 9, "n_positive": 4, "n_by_class": [3] * len(classes), "sha256_review": "5" * 64}
    manifest = {"source": "table", "synthetic": False, "files": {}, "pairs": pairs, "language": "fr"}
    manifest |= {"licence": "CC0 of the archive", "splits": dict.fromkeys(SIZES, split)}
    manifest |= {"labels": classes}
    manifest |= {"identical_reviews": {"train_test": 1, "train_valid": 1, "valid_test": 1}}
    write_json(folder / "manifest.json", manifest)


def export(folder, data, arm, start, name="model"):
    names = {
        "checkpoints": "checkpoints",
        "selected": "selected.json",
        "run": "run",
        "runs": "runs.tsv",
        "test_accuracy": "test_accuracy.tsv",
        "arms": "arms.tsv",
        "manifest": "manifest.json",
        "predictions": "predictions.tsv",
    }
    files = {key: str(folder / file) for key, file in names.items()}
    files |= {"converted": str(folder.parent / "taken"), "reviews": str(data / arm / "test.review")}
    files |= {"template": os.path.join(ROOT, "report", "model_card.md.j2")}
    run = {"arm": arm, "facts": facts(arm), "seed": 3, "study": "mine", "start": start, "classes": ARMS[arm][0]}
    export_model.main(**files, **run, folder=str(folder / name), batch_size=2, threads=1)
    return folder / name


@pytest.fixture(scope="module")
def trained(data, tmp_path_factory):
    folder = tmp_path_factory.mktemp("made")
    for family in FAMILIES:
        (folder / family).mkdir()
    run_forked(folder, [run for family in FAMILIES for run in prepare(family, folder / family, data)])
    return folder


@pytest.fixture(scope="module", params=[f"{family}/{arm}" for family in FAMILIES for arm in ARMS])
def exported(request, trained, data):
    """(family, arm, folder of the run): exported as `model`, its weights of the hub."""
    family, arm = request.param.split("/")
    folder = trained / family / arm
    write_records(folder, data, arm)
    export(folder, data, arm, HUB)
    return family, arm, folder


def test_plain_transformers_gives_the_runs_probabilities(exported, data):
    """With the folder's own tokenizer, and without `pipeline`; every class has its name."""
    _, arm, folder = exported
    classes, pairs, _ = ARMS[arm]
    model = AutoModelForSequenceClassification.from_pretrained(str(folder / "model")).eval()
    tokenizer = AutoTokenizer.from_pretrained(str(folder / "model"))
    assert tokenizer.model_max_length == POSITIONS
    lines = read_lines(data / arm / "test.review")
    texts = list(zip(*(line.split("\t") for line in lines), strict=True)) if pairs else [lines]
    columns = ["probability"] if len(classes) == 2 else [f"probability_{k}" for k in range(len(classes))]
    rows = read_tsv(folder / "predictions.tsv")
    # The comparison means something.
    assert np.std([float(row[columns[0]]) for row in rows]) > 0.01
    for row, *parts in zip(rows, *texts, strict=True):
        with torch.no_grad():
            logits = model(**tokenizer(*parts, truncation=True, return_tensors="pt")).logits
        found = logits.softmax(1)[0, -len(columns) :]
        assert np.allclose(found, [float(row[column]) for column in columns], atol=1e-5)
        assert logits.argmax() == int(row["prediction"])
    config = read_json(folder / "model" / "config.json")
    assert config["id2label"] == {str(k): name for k, name in enumerate(classes)}
    assert config["label2id"] == {name: k for k, name in enumerate(classes)}
    # Only the weights of LoRA are left, under the names that the model has for them.
    assert not [name for name in load_file(folder / "model" / "model.safetensors") if "lora" in name]


def test_the_arms_trained_what_they_say(exported):
    """Every tensor of a frozen layer is still the model's; LoRA changed each of the encoder's layers."""
    family, arm, folder = exported
    before = load_file(folder.parent / "taken" / "model.safetensors")
    after = load_file(folder / "model" / "model.safetensors")
    prefix = AutoModelForSequenceClassification.from_pretrained(str(folder / "model")).base_model_prefix
    layers = [name for name in after if ".0." in name and name.startswith(prefix) and name.endswith("weight")]
    assert layers and set(layers) <= before.keys()
    same = {name for name in layers if torch.equal(before[name], after[name])}
    matrices = {name for name in layers if after[name].ndim == 2}
    assert same == set(layers) if arm == "frozen" else matrices and not same & matrices
    # A pooler that no file has is trained by every arm: frozen at random it would hide the encoder.
    poolers = {name for name in after if ".pooler." in name}
    assert bool(poolers) == (family == "bert")
    drawn = read_json(folder / "weights")["head"]
    assert poolers <= set(drawn)


def test_the_cards_code_runs_and_its_licence_and_language_are_the_records(exported):
    from huggingface_hub import ModelCard

    family, arm, folder = exported
    card = ModelCard.load(folder / "model" / "README.md")
    data = card.data
    assert (data.language, data.license, data.base_model) == ("fr", "unknown", "someone/tiny")
    assert family in data.tags and "roberta" not in set(data.tags) - {family}
    code = card.content.partition("```python\n")[2].partition("```")[0]
    known = read_json(folder.parent / "taken" / "conversion.json")["source_sha256"]
    *lines, call, comment = code.strip().split("\n")
    names = {}
    exec("\n".join(lines).replace('"model"', repr(str(folder / "model"))), names)
    answer, shown = eval(call, names), eval(comment.removeprefix("# "), {})
    assert [each["label"] for each in answer] == [each["label"] for each in shown]
    assert [each["score"] for each in answer] == pytest.approx([each["score"] for each in shown], abs=1e-4)
    for said in (
        "`someone/tiny` of the Hugging Face hub at revision `" + "a" * 40 + "`",
        "CC0 of the archive",
        f"the run's own prediction for 9 of 9 test {'pairs' if ARMS[arm][1] else 'texts'}",
        f"the first {POSITIONS} tokens",
        "the tokenizer's\nspecial ones",
        f"- `model.safetensors` `{known['model.safetensors']}`",
        "may bind this model, too",
    ):
        assert said in card.content, said
    assert ("are merged into the weights" in card.content) == (arm == "lora")
    assert ("longer pair" in card.content) == ARMS[arm][1]


def spoilt(text):
    """The text as a table may have it: line ends, tabs and more blanks than one, within it and around it."""
    return "\r\n\t " + text.replace(" ", "\n\n    ", 2).replace(" ", "\u00a0 ", 1) + " \u3000\n"


def test_raw_rows_get_the_studys_answers(exported, data):
    """The study made one space of blanks before it read, and so does the exported tokenizer."""
    family, arm, folder = exported
    classes, pairs, _ = ARMS[arm]
    lines = read_lines(data / arm / "test.review")
    texts = [list(map(spoilt, line.split("\t"))) for line in lines]
    texts = [{"text": one, "text_pair": two} for one, two in texts] if pairs else [text for (text,) in texts]
    classify = pipeline("text-classification", model=str(folder / "model"), truncation=True)
    column = "probability" if len(classes) == 2 else f"probability_{len(classes) - 1}"
    for text, row in zip(texts, read_tsv(folder / "predictions.tsv"), strict=True):
        (answer,) = [each for each in classify([text], top_k=None)[0] if each["label"] == classes[-1]]
        assert answer["score"] == pytest.approx(float(row[column]), abs=1e-5), (family, text)
    card = (folder / "model" / "README.md").read_text(encoding="utf-8")
    assert "Line breaks, tabs and repeated spaces count as one space" in card


@pytest.fixture
def run(trained, data):
    """A finished run of BERT, of texts in three classes."""
    folder = trained / "bert" / "frozen"
    write_records(folder, data, "frozen")
    return folder


def test_the_card_of_a_model_in_a_folder_names_no_base_on_the_hub(run, data):
    text = (export(run, data, "frozen", FOLDER, "of-folder") / "README.md").read_text(encoding="utf-8")
    assert "the folder `models/theirs` of the machine where it was trained" in text and "\nbase_model:" not in text
    assert "needs the package" not in text


def test_classes_in_another_order_than_the_data_are_refused(run, data, monkeypatch):
    """The settings were changed after the training: every answer would be another class."""
    classes, *rest = ARMS["frozen"]
    turned = classes[::-1]
    monkeypatch.setitem(ARMS, "frozen", (turned, *rest))
    with pytest.raises(
        StudyError, match=r"^data\.labels is .*manifest\.json says that the runs learnt .*put data\.labels"
    ):
        export(run, data, "frozen", FOLDER, "turned")
    # The data made again with that order, and not the run: its model knows how it learnt.
    write_json(run / "manifest.json", read_json(run / "manifest.json") | {"labels": turned})
    with pytest.raises(
        StudyError, match=r"checkpoints: the run learnt the classes d'accord, .*and data\.labels is été"
    ):
        export(run, data, "frozen", FOLDER, "turned")
    assert not (run / "turned").exists()


def test_a_tokenizer_that_cannot_replace_blanks_leaves_it_to_the_reader_of_the_card(run, data, tmp_path, monkeypatch):
    from transformers import CanineTokenizer

    CanineTokenizer(model_max_length=24).save_pretrained(tmp_path)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert not blanks.collapse_blanks(str(tmp_path), (TEXTS[:4], None), load_tokenizer)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before
    monkeypatch.setattr(export_model, "collapse_blanks", lambda *_: False)
    card = (export(run, data, "frozen", FOLDER, "as-it-is") / "README.md").read_text(encoding="utf-8")
    assert '`text = " ".join(text.split())`' in card and "count as one space" not in card


@pytest.mark.parametrize(
    ("side", "read", "unread"), [("right", "first", "behind the first"), ("left", "last", "before the last")]
)
def test_the_card_says_which_tokens_were_read(run, data, side, read, unread):
    record = run.parent / "taken" / "conversion.json"
    kept = read_json(record)
    try:
        write_json(record, kept | {"truncation_side": side})
        card = (export(run, data, "frozen", FOLDER, f"cut-{side}") / "README.md").read_text(encoding="utf-8")
    finally:
        write_json(record, kept)
    assert f"The study read the {read} {POSITIONS} tokens of a text" in card
    assert f"What stands {unread} {POSITIONS} tokens is not read." in card


def test_another_tokenizer_is_noticed(run, data):
    """The check asks the folder's own tokenizer, not the run's token ids."""
    vocabulary = run.parent / "taken" / "tokenizer.json"
    kept = vocabulary.read_bytes()
    try:
        content = json.loads(kept)
        # The first text's two first pieces change their ids.
        first, second = AutoTokenizer.from_pretrained(str(run.parent / "taken")).tokenize(TEXTS[0])[:2]
        ids = content["model"]["vocab"]
        ids[first], ids[second] = ids[second], ids[first]
        vocabulary.write_text(json.dumps(content))
        with pytest.raises(StudyError, match="test review 1: the exported model gives"):
            export(run, data, "frozen", FOLDER, "spoilt")
    finally:
        vocabulary.write_bytes(kept)
    assert not (run / "spoilt").exists()


def test_what_others_trainer_left_in_the_folder_is_not_passed_on(run, data):
    taken = run.parent / "taken"
    for name in ("all_results.json", "trainer_state.json", "generation_config.json"):
        (taken / name).write_text("{}")
    names = set(os.listdir(export(run, data, "frozen", FOLDER, "clean")))
    assert names == {"README.md", "config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json"}


def test_a_tokenizer_without_padding_is_asked_one_text_at_a_time(run, data):
    taken = run.parent / "taken" / "tokenizer_config.json"
    kept = read_json(taken)
    try:
        write_json(taken, {key: value for key, value in kept.items() if key != "pad_token"})
        out = export(run, data, "frozen", FOLDER, "unpadded")
    finally:
        write_json(taken, kept)
    classify = pipeline("text-classification", model=str(out), truncation=True)
    assert classify.tokenizer.pad_token is None and classify("bon livre")
