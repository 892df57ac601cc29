"""Encoders of others, of eight families: taken whole, trained, killed and resumed, evaluated; what is refused."""

import json
import os
import shutil

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from transformers import (
    AutoModelForSequenceClassification,
    AutoTokenizer,
    BertConfig,
    BertForSequenceClassification,
    GPT2Config,
    GPT2LMHeadModel,
)

from common.errors import StudyError
from common.files import read_json, read_tsv, write_lines
from finetuning import measure_tokens, take_model, tokenize_texts
from finetuning.encoders import build_encoder, prove_encoder
from finetuning.scoring import has_segments, pad_batch, score
from finetuning.token_ids import apart, read_token_ids
from frameworks.huggingface import score as evaluate_huggingface
from frameworks.huggingface.classifier import load_epoch
from support.encoders import FAMILIES, TEXTS, write_encoder
from support.killed_runs import run_forked
from support.studies import FINETUNING

SETTINGS = FINETUNING | {"epochs": 1, "batch_size": 4, "lr": 5e-3, "classifier_dropout": 0.25}
OUTPUTS = ("checkpoints", "history", "run", "weights", "tensorboard")
POSITIONS = 24


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """Reviews of three splits; the last of each is longer than any model takes."""
    folder = tmp_path_factory.mktemp("data")
    for split, n in (("train", 24), ("valid", 8), ("test", 8)):
        write_lines(folder / f"{split}.review", [*TEXTS[: n - 1], " ".join(TEXTS)])
        write_lines(folder / f"{split}.label", [str(i % 2) for i in range(n)])
    return folder


def facts(family, init="pretrained"):
    return {"arm": "mine", "framework": "huggingface", "model": family, "init": init}


def prepare(family, folder, data):
    """Take a family's model, cut the texts, and return its runs: whole, killed and resumed, from random weights."""
    write_encoder(folder / "theirs", family)
    take_model.main([str(folder / "theirs")], family, str(folder / "taken"))
    for split in ("train", "valid", "test"):
        files = (str(data / f"{split}.review"), str(data / f"{split}.label"))
        tokenize_texts.main(*files, str(folder / "taken"), str(folder / f"{split}.npz"), None)

    def run(name, kill=None, init="pretrained", save_every=2):
        given = {output: f"{name}/{output}" for output in OUTPUTS} | {"states": f"{name}/states", "threads": 1}
        given |= {"train": "train.npz", "valid": "valid.npz", "checkpoint": "taken", "facts": facts(family, init)}
        given |= {"seed": 3, "settings": SETTINGS, "save_every": save_every}
        place = {"name": f"{family}/{name}", "folder": family}
        return place | {"script": "frameworks.huggingface.train", "arguments": given, "kill": kill}

    return [run("whole", save_every=0), run("killed", {"before_step": 4}), run("killed"), run("random", init="random")]


@pytest.fixture(scope="module")
def trained(data, tmp_path_factory):
    """A folder per family; one process for all of them, because imports are what takes long."""
    folder = tmp_path_factory.mktemp("made")
    run_forked(folder, [run for family in FAMILIES for run in prepare(family, folder / family, data)])
    return folder


@pytest.fixture(scope="module", params=FAMILIES)
def made(request, trained):
    """(family, folder): the model taken, its token ids, an undisturbed run and one that was killed."""
    return request.param, trained / request.param


def test_token_ids_are_what_the_models_own_tokenizer_gives(made, data):
    _, folder = made
    own = AutoTokenizer.from_pretrained(str(folder / "theirs"))
    texts = (data / "test.review").read_text(encoding="utf-8").splitlines()
    sequences, labels = read_token_ids(str(folder / "test.npz"))
    assert [list(ids) for ids in sequences] == own(texts, truncation=True, max_length=POSITIONS)["input_ids"]
    assert max(map(len, sequences)) == POSITIONS and len(labels) == 8


def test_lengths_are_those_of_whole_texts_by_the_models_own_tokenizer(made, data, tmp_path):
    _, folder = made
    files = [str(data / f"{split}.review") for split in ("train", "valid", "test")]
    (tmp_path / "unlabelled.review").write_text("")
    measure_tokens.main(
        files, str(tmp_path / "unlabelled.review"), str(folder / "taken"), str(tmp_path / "lengths.json")
    )
    found = read_json(tmp_path / "lengths.json")
    # Two special tokens stand around a text.
    assert (found["model"], found["limit"], set(found["splits"])) == (
        "taken",
        POSITIONS - 2,
        {"train", "valid", "test"},
    )
    own = AutoTokenizer.from_pretrained(str(folder / "theirs"))
    texts = (data / "test.review").read_text(encoding="utf-8").splitlines()
    lengths = [len(own.tokenize(text)) for text in texts]
    told = found["splits"]["test"]
    assert told["mean"] == sum(lengths) / len(lengths) and told["quantiles"]["1.0"] == max(lengths) > POSITIONS
    assert told["n_truncated"] == sum(length > POSITIONS - 2 for length in lengths) >= 1


def test_pairs_reach_the_model_as_its_own_tokenizer_gives_them(made):
    """Segments among them, where the model has such; of a long pair both texts are left."""
    family, folder = made
    own = AutoTokenizer.from_pretrained(str(folder / "taken"))
    first, second = ["bon livre", "bon" + " facile" * 30], ["un mauvais livre , pénible à lire", "un" + " lire" * 30]
    packed = tokenize_texts.tokenize(own, [f"{a}\t{b}" for a, b in zip(first, second, strict=True)], POSITIONS)
    told = own(first, second, truncation="longest_first", max_length=POSITIONS)
    sequences = [np.asarray(sequence, dtype=np.int32) for sequence in packed]
    assert [apart(sequence)[0].tolist() for sequence in sequences] == told["input_ids"]
    model = AutoModelForSequenceClassification.from_pretrained(str(folder / "whole" / "checkpoints" / "epoch1")).eval()
    assert has_segments(model) == (family in ("bert", "electra", "roberta", "camembert", "xlm-roberta"))
    assert ("token_type_ids" in pad_batch(sequences, segments=has_segments(model))) == (family in ("bert", "electra"))
    # DistilBERT has no place for what its tokenizer here tells.
    given = {name: values for name, values in told.items() if family != "distilbert" or name != "token_type_ids"}
    with torch.no_grad():
        theirs = [model(**{name: torch.tensor([rows[i]]) for name, rows in given.items()}).logits for i in range(2)]
    torch.testing.assert_close(score(model, sequences, 2), torch.cat(theirs), rtol=0, atol=1e-5)


def test_the_weights_are_the_models_and_the_head_is_fresh(made):
    _, folder = made
    proof = read_json(folder / "whole" / "weights")
    assert proof["n_equal"] > 15 and proof["n_different"] == proof["n_absent"] == 0
    assert proof["head"] and all(name.split(".")[0] in ("classifier", "pre_classifier", "pooler") or ".pooler." in name
                                 for name in proof["head"])  # fmt: skip
    known = set(read_json(folder / "taken" / "conversion.json")["tensors"].values())
    assert {entry["sha256"] for entry in proof["tensors"].values()} <= known
    random = read_json(folder / "random" / "weights")
    telling = random["tensors"].keys() - set(random["constant"])
    assert telling and not {random["tensors"][name]["sha256"] for name in telling} & known


def test_a_killed_run_ends_like_one_never_stopped(made):
    _, folder = made
    assert "going on after update" in (folder / "killed.log").read_text()
    assert (folder / "whole" / "history").read_bytes() == (folder / "killed" / "history").read_bytes()
    one, two = (
        load_file(folder / name / "checkpoints" / "epoch1" / "model.safetensors") for name in ("whole", "killed")
    )
    assert one.keys() == two.keys() and all(torch.equal(tensor, two[name]) for name, tensor in one.items())


def test_it_is_evaluated_and_recorded(made):
    family, folder = made
    (folder / "selected.json").write_text(json.dumps({"epoch": 1}))
    files = (str(folder / name) for name in ("selected.json", "whole/checkpoints", "test.npz", "predictions.tsv"))
    evaluate_huggingface.main(*files, batch_size=3, threads=1)
    rows = read_tsv(folder / "predictions.tsv")
    assert len(rows) == 8 and all(0 < float(row["probability"]) < 1 for row in rows)
    record = read_json(folder / "whole" / "run")
    assert (record["model"], record["protocol"]["dropout"]) == (family, [SETTINGS["dropout"]])
    assert record["protocol"]["classifier_dropout"] == SETTINGS["classifier_dropout"]
    assert record["protocol"]["truncation"].startswith(f"first {POSITIONS} tokens")
    # One review at a time needs no padding: it hides nothing.
    model, (sequences, _) = (
        load_epoch(str(folder / "whole" / "checkpoints"), 1).eval(),
        read_token_ids(folder / "test.npz"),
    )
    with torch.no_grad():
        alone = [float(model(torch.tensor([ids.tolist()])).logits.softmax(1)[0, 1]) for ids in sequences]
    assert np.allclose([float(row["probability"]) for row in rows], alone, atol=1e-5)


@pytest.fixture
def bert(tmp_path):
    write_encoder(tmp_path / "bert", "bert")
    return tmp_path / "bert"


def refuse(folder, match):
    out = folder.parent / "out"
    with pytest.raises(StudyError, match=match):
        take_model.main([str(folder)], "mine", str(out))
    assert not out.exists()


def test_a_folder_without_weights(bert):
    os.remove(bert / "model.safetensors")
    refuse(bert, r"finetuning.models.mine: .*bert has no weights \(model.safetensors")


def test_a_broken_file_of_weights(bert):
    (bert / "model.safetensors").write_bytes(b"no weights")
    refuse(bert, "model.safetensors cannot be read")


def test_a_model_without_a_tokenizer(bert):
    for path in bert.glob("token*"):
        path.unlink()
    refuse(bert, "finetuning.models.mine: .*bert has no tokenizer that can be read")


def test_no_model_at_all(bert):
    os.remove(bert / "config.json")
    refuse(bert, "has no config.json")


def test_a_model_that_generates_text(bert):
    GPT2LMHeadModel(GPT2Config(vocab_size=80, n_embd=8, n_layer=1, n_head=1)).save_pretrained(bert)
    refuse(bert, r"generates text \(GPT2LMHeadModel\); name an encoder")
    (bert / "config.json").write_text(json.dumps({"model_type": "t5", "architectures": ["T5ForConditionalGeneration"]}))
    refuse(bert, r"generates text \(T5ForConditionalGeneration\)")
    (bert / "config.json").write_text(json.dumps({"model_type": "mine"}))
    refuse(bert, "names no model that Transformers knows")


def test_weights_of_another_model_are_no_start(bert):
    shutil.copyfile(bert / "model.safetensors", bert.parent / "kept")
    take_model.main([str(bert)], "mine", str(bert.parent / "taken"))
    config = json.loads((bert.parent / "taken" / "config.json").read_text())
    (bert.parent / "taken" / "config.json").write_text(json.dumps(config | {"num_hidden_layers": 3}))
    with pytest.raises(StudyError, match="has no tensor bert.encoder.layer.2.*would stay random"):
        build_encoder(str(bert.parent / "taken"), "pretrained", 1, SETTINGS)


def test_a_pickled_file_of_weights_and_a_bare_encoder_are_taken_too(bert):
    tensors = load_file(bert / "model.safetensors")
    bare = {name.removeprefix("bert."): tensor for name, tensor in tensors.items() if name.startswith("bert.")}
    os.remove(bert / "model.safetensors")
    torch.save(bare, bert / "pytorch_model.bin")
    take_model.main([str(bert)], "mine", str(bert.parent / "taken"))
    model, fresh = build_encoder(str(bert.parent / "taken"), "pretrained", 1, SETTINGS)
    proof = prove_encoder(model, fresh, load_file(bert.parent / "taken" / "model.safetensors"), "pretrained")
    assert isinstance(model, BertForSequenceClassification) and isinstance(model.config, BertConfig)
    assert proof["n_equal"] == len(bare)
