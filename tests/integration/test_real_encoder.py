"""A real encoder by its hub address: start proved, its own tokenizer's ids, one epoch, exported, alike on raw rows."""

import csv
import os

import pytest
from tokenizers import Tokenizer
from transformers import AutoTokenizer, pipeline

from common.files import read_json, read_tsv
from finetuning.token_ids import read_token_ids
from support import studies

MIRROR = os.path.join(studies.ROOT, "..", "shared", "mirror")
REPO, COMMIT = "sentence-transformers/all-MiniLM-L6-v2", "1110a243fdf4706b3f48f1d95db1a4f5529b4d41"
ENCODER = os.path.join(MIRROR, "huggingface.co", REPO, "resolve", COMMIT)
SST2 = "clairett/pytorch-sentiment-classification/457ffd83de90a9d6d472d8ffc31bbffe40a8b236/data/SST2"
TEXTS = os.path.join(MIRROR, "raw.githubusercontent.com", SST2)

pytestmark = [
    pytest.mark.integration,
    pytest.mark.slow,
    pytest.mark.timeout(1200),
    pytest.mark.skipif(
        not (os.path.isdir(ENCODER) and os.path.isdir(TEXTS)),
        reason="no mirror of the encoder and of SST-2 at ../shared/mirror",
    ),
]

NAMES = {"0": "negative", "1": "positive"}
FILES = ["config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json"]
N_TRAIN, N_VALID, N_TEST = 400, 60, 80
SETTINGS = {
    "study": "real",
    "mirror": MIRROR,
    "data": {
        "source": "table",
        "labels": list(NAMES.values()),
        "table": {"train": "train.csv", "valid": "valid.csv", "test": "test.csv", "text": "text", "label": "label"},
        "n_train": None,
    },
    "finetuning": {
        "seeds": [1],
        "models": {"minilm": {"hub": {"repo": REPO, "revision": COMMIT, "files": FILES}, "max_tokens": 64}},
        "arms": {"minilm": {"framework": "huggingface", "model": "minilm", "init": "pretrained"}},
        "training": {"batch_size": 8, "epochs": 1, "lr": 2.0e-4},
    },
    "qa": {"enabled": False},
}


def raw(number, text):
    """A text as a table may have it: every third with line ends and an indent, every fifth with blanks around it."""
    text = text.replace(" ", "\n\n    ", 3) if number % 3 == 0 else text
    return f"  {text}\t\n" if number % 5 == 0 else text


@pytest.fixture(scope="module")
def rows():
    """{split: [(text as the table has it, name of its class)]}, half of each class."""
    found = {}
    for split, file, n in (("train", "train", N_TRAIN), ("valid", "dev", N_VALID), ("test", "test", N_TEST)):
        with open(os.path.join(TEXTS, f"{file}.tsv"), encoding="utf-8") as handle:
            pairs = [line.rstrip("\n").split("\t") for line in handle]
        taken = [pair for label in NAMES for pair in [pair for pair in pairs if pair[1] == label][: n // 2]]
        found[split] = [(raw(number, text), NAMES[label]) for number, (text, label) in enumerate(taken)]
    return found


@pytest.fixture(scope="module")
def results(rows, tmp_path_factory):
    folder = tmp_path_factory.mktemp("real")
    for split, lines in rows.items():
        with open(folder / f"{split}.csv", "w", encoding="utf-8", newline="") as handle:
            csv.writer(handle).writerows([("text", "label"), *lines])
    path = studies.write_study(folder / "study.yaml", base=SETTINGS)
    place = folder / "results" / "real"
    done = studies.snakemake(folder, "export_models", "results/real/weights.tsv", study=path)
    assert done.returncode == 0, done.output
    return place


def test_the_start_is_proved_tensor_by_tensor(results):
    (row,) = read_tsv(results / "weights.tsv")
    assert (row["model"], row["init"], row["n_new"], row["head"]) == ("minilm", "pretrained", "0", "new")
    # 6 layers of 16 tensors, 3 tables and a norm of the embeddings, a pooler.
    assert int(row["n_tensors"]) == 6 * 16 + 5 + 2 and int(row["n_equal"]) > 90
    proof = read_json(results / "finetuning" / "minilm" / "seed1" / "weights.json")
    assert proof["head"] == ["classifier.bias", "classifier.weight"]
    assert proof["unused"] == ["bert.embeddings.position_ids"]


@pytest.mark.parametrize("split", ["train", "valid", "test"])
def test_ids_are_those_of_its_own_tokenizer_json(results, split):
    own = Tokenizer.from_file(os.path.join(ENCODER, "tokenizer.json"))
    own.no_padding()
    own.enable_truncation(64)
    texts = (results / "data" / f"{split}.review").read_text(encoding="utf-8").splitlines()
    sequences, _ = read_token_ids(str(results / "finetuning" / "token-ids" / "minilm" / f"{split}.npz"))
    assert [list(ids) for ids in sequences] == [encoding.ids for encoding in own.encode_batch(texts)]
    assert max(map(len, sequences)) <= 64


def test_it_learnt_and_its_export_answers_raw_rows_as_the_study_did(results, rows):
    predictions = read_tsv(results / "predictions" / "minilm" / "seed1.tsv")
    n_right = sum(row["label"] == row["prediction"] for row in predictions)
    # Half by chance: 400 texts and one epoch take this encoder far beyond it (binomial p < 1e-3 from 55 of 80).
    assert len(predictions) == N_TEST and n_right >= 55
    folder = str(results / "models" / "minilm-seed1")
    assert AutoTokenizer.from_pretrained(folder).model_max_length == 64
    classify = pipeline("text-classification", model=folder, truncation=True)
    names = list(NAMES.values())
    texts = (results / "data" / "test.review").read_text(encoding="utf-8").splitlines()
    of_text = {" ".join(text.split()): text for text, _ in rows["test"]}
    assert len(of_text) == N_TEST and sum("\n" in text for text in of_text.values()) > N_TEST // 4
    for text, row in zip(texts, predictions, strict=True):
        (answer,) = classify([of_text[text]])
        assert answer["label"] == names[int(row["prediction"])]
        probability = float(row["probability"])
        assert answer["score"] == pytest.approx(max(probability, 1 - probability), abs=1e-4)
