"""Three and five classes of unequal size through both frameworks: trained, compared, selected, evaluated, exported."""

import hashlib
import os

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from sklearn.metrics import f1_score
from transformers import pipeline

from analysis import aggregate_runs, compute_statistics, tabulate_test_accuracy
from analysis.prediction_tables import read_predictions
from common.errors import StudyError
from common.files import read_json, read_lines, read_tsv, write_json, write_lines, write_tsv
from data.reviews import SPLITS
from finetuning import export_model, select_checkpoint
from finetuning.predictions import write_predictions
from finetuning.scoring import score
from finetuning.token_ids import read_token_ids, write_token_ids
from support.arms import facts
from support.encoders import write_encoder
from support.killed_runs import run_forked
from support.reviews import ARCHITECTURE, write_reviews
from support.studies import FINETUNING, PRETRAINING, ROOT
from training.fairseq_checkpoint import load_fairseq_checkpoint

WORDS = ("superbe", "ennuyeux", "plat", "touchant", "style")
CLASSES = ("delivery", "payment, late", "product", "été", "a:b")
OUTPUTS = {"checkpoints": "", "tensorboard": "", "history": ".tsv", "run": ".json", "weights": ".json"}
SETTINGS = FINETUNING | {"epochs": 15, "batch_size": 4, "lr": 5e-3, "dropout": 0.0, "measure": "macro_f1"}
FRAMEWORKS = ("fairseq", "huggingface")
FILLERS = ("un livre", "le roman", "une lecture", "vraiment")
# The classes take turns; the last ones are rare.
SIZES = {"train": (16, 8, 4, 4, 3), "valid": (6, 3, 2, 2, 2), "test": (8, 5, 3, 2, 2)}


def write_split(folder, split, n_classes):
    rows = [(f"{FILLERS[i % 4]} {WORDS[k]}", k) for k in range(n_classes) for i in range(SIZES[split][k])]
    write_lines(folder / f"{split}.review", [text for text, _ in rows])
    write_lines(folder / f"{split}.label", [str(k) for _, k in rows])


def place(framework):
    """Return the place of a run's files, by which the scripts know it."""
    return f"{framework}-pretrained/seed3"


def predictions_of(folder, framework):
    return folder / "predictions" / f"{place(framework)}.tsv"


def job(script, **arguments):
    return {"name": f"{script}-{len(str(arguments))}", "script": script, "arguments": arguments}


def pretrain():
    """The jobs of a checkpoint in both forms."""
    pieces = {"model": "spm.model", "dictionary": "dict.txt"}
    corpus = {"train": "train.txt", "valid": "valid.txt", "folder": "corpus", "limit": 30}
    yield job("checkpoint.binarize_corpus", **pieces, **corpus, threads=1)
    pretrained = {"model": "model.pt", "history": "pretraining.tsv", "tensorboard": "curves", "states": "states"}
    pretrained |= {"architecture": ARCHITECTURE, "pretraining": PRETRAINING | {"updates": 4}}
    yield job("checkpoint.pretrain", data="corpus", **pretrained, threads=1)
    tokenizer = {"dictionary": "dict.txt", "pieces": "spm.model", "folder": "tokenizer"}
    yield job("checkpoint.convert_tokenizer", **tokenizer, max_positions=ARCHITECTURE["max_positions"])
    checkpoint = {"checkpoint": "model.pt", "tokenizer": "tokenizer", "folder": "converted"}
    yield job("checkpoint.convert_checkpoint", **checkpoint, architecture=ARCHITECTURE)


def prepare(classes):
    """The jobs before training: token ids for both frameworks, compared."""
    positions = {"max_positions": ARCHITECTURE["max_positions"], "classes": classes}
    for part, splits in (("train-valid", SPLITS[:2]), ("test", SPLITS[2:])):
        files = {f"{kind}s": [f"{split}.{kind}" for split in splits] for kind in ("review", "label")}
        pieces = {"model": "spm.model", "dictionary": "dict.txt", "pieces": f"{part}-pieces"}
        yield job("frameworks.fairseq.binarize_texts", **files, **pieces, folder=part, splits=splits, **positions)
        for split in splits:
            files = {"reviews": f"{split}.review", "labels": f"{split}.label", "token_ids": f"{split}.npz"}
            yield job("finetuning.tokenize_texts", **files, tokenizer="tokenizer", **positions)
            parity = {"split": split, "parity": f"{split}.parity.json"}
            yield job("frameworks.fairseq.compare_token_ids", token_ids=f"{split}.npz", data=part, **parity)


def train(framework, classes):
    """The jobs of a run of a framework, up to its predictions."""
    run = {output: f"{place(framework)}/{output}{ending}" for output, ending in OUTPUTS.items()}
    run |= {"facts": facts(framework, "pretrained"), "seed": 3, "settings": SETTINGS, "threads": 1, "save_every": 0}
    run |= {"states": f"{place(framework)}/states"}
    selected = {"selected": f"{place(framework)}/selected.json", "checkpoints": f"{place(framework)}/selected"}
    scored = {"predictions": f"predictions/{place(framework)}.tsv", "batch_size": 7, "threads": 1}
    if framework == "fairseq":
        inputs, test = {"data": "train-valid", "checkpoint": "model.pt", "architecture": ARCHITECTURE}, {"data": "test"}
    else:
        inputs = {"train": "train.npz", "valid": "valid.npz", "checkpoint": "converted", "classes": classes}
        test = {"token_ids": "test.npz"}
    yield job(f"frameworks.{framework}.train", **run, **inputs)
    chosen = {"weights": selected["checkpoints"], "selected": selected["selected"]}
    yield job("finetuning.select_checkpoint", history=run["history"], checkpoints=run["checkpoints"], **chosen)
    yield job(f"frameworks.{framework}.score", **selected, **test, **scored)


@pytest.fixture(scope="module", params=[3, 5])
def made(request, tmp_path_factory):
    """(number of classes, folder): a run of each framework, and the same logits in both."""
    folder, classes = tmp_path_factory.mktemp("classes"), CLASSES[: request.param]
    write_reviews(folder)
    for split in SPLITS:
        write_split(folder, split, len(classes))
    tuned = {name: f"{place(name)}/selected" for name in FRAMEWORKS}
    tuned |= {f"{name}_selected": f"{place(name)}/selected.json" for name in FRAMEWORKS}
    scored = {"batch_size": 8, "threads": 1, "logits": "logits.npz"}
    compared = {"folder": "converted", "token_ids": "valid.npz", "table": "logits.tsv"}
    runs = [
        *pretrain(),
        *prepare(classes),
        *(step for framework in FRAMEWORKS for step in train(framework, classes)),
        job("frameworks.fairseq.score_logits_fairseq", **tuned, **scored, checkpoint="model.pt", data="train-valid"),
        job("frameworks.fairseq.compare_logits", **tuned, **scored, **compared),
    ]
    run_forked(folder, runs)
    return len(classes), folder


def test_class_k_is_label_k_in_both_frameworks(made):
    n_classes, folder = made
    assert read_lines(folder / "train-valid" / "label" / "dict.txt") == [f"{k} 1" for k in range(n_classes)]
    for split in SPLITS:
        found = read_json(folder / f"{split}.parity.json")
        assert found["n"] == found["n_labels_equal"] == found["n_identical"] == sum(SIZES[split][:n_classes])
        labels = [int(line) for line in read_lines(folder / f"{split}.label")]
        assert read_token_ids(folder / f"{split}.npz")[1].tolist() == labels


def test_the_heads_have_as_many_classes_and_the_configuration_their_names(made):
    n_classes, folder = made
    (path,) = (folder / place("fairseq") / "selected").iterdir()
    head = "classification_heads.sentence_classification_head.out_proj.weight"
    assert load_fairseq_checkpoint(str(path))["model"][head].shape == (n_classes, ARCHITECTURE["width"])
    (path,) = (folder / place("huggingface") / "selected").iterdir()
    weights = load_file(path / "model.safetensors")["classifier.out_proj.weight"]
    assert weights.shape == (n_classes, ARCHITECTURE["width"])
    config = read_json(path / "config.json")
    assert config["id2label"] == {str(k): name for k, name in enumerate(CLASSES[:n_classes])}
    assert config["label2id"] == {name: k for k, name in enumerate(CLASSES[:n_classes])}


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_predictions_have_a_probability_for_each_class(made, framework):
    n_classes, folder = made
    rows = read_tsv(predictions_of(folder, framework))
    assert list(rows[0]) == ["id", "label", "prediction", *(f"probability_{k}" for k in range(n_classes))]
    given = np.array([[float(row[f"probability_{k}"]) for k in range(n_classes)] for row in rows])
    assert np.allclose(given.sum(axis=1), 1, atol=1e-6)
    assert [int(row["prediction"]) for row in rows] == given.argmax(axis=1).tolist()
    assert [row["label"] for row in rows] == read_lines(folder / "test.label")
    # It means something: every class is learnt, the rare ones too.
    right = {row["label"] for row in rows if row["label"] == row["prediction"]}
    assert right == {str(k) for k in range(n_classes)}
    history = read_tsv(folder / place(framework) / "history.tsv")
    counts = [float(row["value"]) for row in history if (row["split"], row["metric"]) == ("valid", "n_correct")]
    assert (
        len(counts) == SETTINGS["epochs"]
        and max(counts) == read_json(folder / place(framework) / "selected.json")["n_correct"]
    )


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_the_history_has_the_macro_f1_of_every_epoch(made, framework):
    n_classes, folder = made
    rows = read_tsv(folder / place(framework) / "history.tsv")
    values = {row["epoch"]: float(row["value"]) for row in rows if row["metric"] == "macro_f1"}
    assert len(values) == SETTINGS["epochs"] and {r["split"] for r in rows if r["metric"] == "macro_f1"} == {"valid"}
    sequences, labels = read_token_ids(folder / "valid.npz")
    places = (str(folder / place(framework) / "checkpoints"), str(folder / "converted"))
    seen = set()
    for epoch in (1, 3, SETTINGS["epochs"]):
        model = export_model.load_classifier(framework, places[0], epoch, places[1], CLASSES[:n_classes])
        expected = f1_score(labels, score(model, sequences, 4).argmax(dim=1), average="macro", zero_division=0)
        assert values[str(epoch)] == pytest.approx(expected)
        seen.add(expected)
    assert len(seen) > 1
    chosen = select_checkpoint.choose(str(folder / place(framework) / "history.tsv"), "macro_f1")
    best = max(values.values())
    assert (chosen["select_by"], chosen["value"]) == ("macro_f1", best)
    assert chosen["epoch"] == min(int(epoch) for epoch, value in values.items() if value == best)


def test_both_frameworks_compute_the_same_logits(made):
    n_classes, folder = made
    rows = read_tsv(folder / "logits.tsv")
    n_valid = sum(SIZES["valid"][:n_classes])
    assert [int(row["n_values"]) for row in rows if row["quantity"] == "class logits"] == [n_valid * n_classes] * 2
    assert all(row["equal"] == "true" for row in rows)


@pytest.mark.parametrize(
    ("column", "text", "match"),
    [
        ("label", "5", "line 3: label '5' is not a class from 0 to "),
        ("prediction", "-1", "line 3: prediction '-1' is not a class from 0 to "),
        ("prediction", None, r"line 3: prediction '\d' is not the most probable class"),
        ("probability_1", "1.5", "line 3: probability_1 '1.5' is not between 0 and 1"),
        ("probability_1", "", "line 3: probability_1 '' is not between 0 and 1"),
        ("probability_0", "0.0", "line 3: probability_. '.*' is not what the others leave of 1"),
    ],
)
def test_an_edited_row_is_refused(made, tmp_path, column, text, match):
    _, folder = made
    rows = read_tsv(predictions_of(folder, "fairseq"))
    # Another class than the most probable one, of a review whose class is 0.
    rows[1][column] = str((int(rows[1]["prediction"]) + 1) % 3) if text is None else text
    write_tsv(tmp_path / "p.tsv", rows, list(rows[0]))
    with pytest.raises(StudyError, match=match):
        read_predictions(tmp_path / "p.tsv")


def test_a_column_of_probabilities_that_is_gone_is_named(made, tmp_path):
    _, folder = made
    rows = read_tsv(predictions_of(folder, "fairseq"))
    write_tsv(tmp_path / "p.tsv", rows, [column for column in rows[0] if column != "probability_1"])
    with pytest.raises(StudyError, match="p.tsv, line 1: the columns of probabilities are probability_0"):
        read_predictions(tmp_path / "p.tsv")


def describe(folder, n_classes):
    """Return a manifest of the splits, as build_splits writes one."""
    splits = {}
    for split in SPLITS:
        labels = read_lines(folder / f"{split}.label")
        digest = hashlib.sha256("".join(f"{label}\n" for label in labels).encode()).hexdigest()
        by_class = [labels.count(str(k)) for k in range(n_classes)]
        splits[split] = {"n": len(labels), "n_by_class": by_class, "sha256_review": "5" * 64, "sha256_label": digest}
    own = {"source": "table", "synthetic": False, "files": {}, "labels": list(CLASSES[:n_classes]), "splits": splits}
    return own | {"identical_reviews": {"train_test": 0, "train_valid": 0, "valid_test": 0}}


@pytest.fixture
def tables(made, tmp_path):
    """(number of classes, {name: path}): the study's tables of both runs."""
    n_classes, folder = made
    write_json(tmp_path / "manifest.json", describe(folder, n_classes))
    names = {"records": "run.json", "selected": "selected.json", "histories": "history.tsv"}
    of = {kind: [str(folder / place(framework) / name) for framework in FRAMEWORKS] for kind, name in names.items()}
    # The scripts know a run by the place of its files.
    out = {name: str(tmp_path / f"{name}.tsv") for name in ("runs", "history", "test_accuracy", "arms", "pairs")}
    out |= {name: str(tmp_path / f"{name}.tsv") for name in ("mcnemar", "learned")}
    out |= {"manifest": str(tmp_path / "manifest.json"), "method": str(tmp_path / "method.json")}
    predictions = [str(predictions_of(folder, framework)) for framework in FRAMEWORKS]
    aggregate_runs.main(
        of["records"], of["selected"], of["histories"], predictions, [], out["manifest"], out["runs"], out["history"],
        "tiny",
    )  # fmt: skip
    tabulate_test_accuracy.main(out["runs"], out["test_accuracy"], str(tmp_path / "a.md"), str(tmp_path / "a.tex"))
    keys = [(f"{framework}-pretrained", "3") for framework in FRAMEWORKS]
    options = compute_statistics.OPTIONS | {"resamples": 99, "bootstrap": 99}
    results = (out[name] for name in ("arms", "pairs", "mcnemar", "method", "learned"))
    compute_statistics.main(out["runs"], predictions, keys, out["manifest"], *results, options)
    return n_classes, out


def test_the_statistics_take_the_largest_class_for_the_bar(tables):
    n_classes, files = tables
    shares = {float(row["majority_share"]) for row in read_tsv(files["learned"])}
    assert shares == {SIZES["valid"][0] / sum(SIZES["valid"][:n_classes])}
    assert [row["learned"] for row in read_tsv(files["learned"])] == ["true", "true"]
    (pair,) = read_tsv(files["pairs"])
    accuracies = [float(row["test_accuracy"]) for row in read_tsv(files["runs"])]
    assert float(pair["difference"]) == pytest.approx(accuracies[0] - accuracies[1])


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_an_exported_model_answers_with_the_classes_names(made, tables, framework, tmp_path):
    (n_classes, folder), (_, files) = made, tables
    classes, arm = CLASSES[:n_classes], facts(framework, "pretrained")
    own = {
        "checkpoints": folder / place(framework) / "selected",
        "selected": folder / place(framework) / "selected.json",
        "run": folder / place(framework) / "run.json",
        "reviews": folder / "test.review",
        "predictions": predictions_of(folder, framework),
        "converted": folder / "converted",
        "template": os.path.join(ROOT, "report", "model_card.md.j2"),
    }
    paths = {name: str(path) for name, path in own.items()}
    paths |= {name: files[name] for name in ("runs", "test_accuracy", "arms", "manifest")}
    given = {"arm": arm["arm"], "facts": arm, "seed": 3, "study": "tiny", "start": {"source": "pretrain"}}
    export_model.main(**paths, **given, folder=str(tmp_path / "model"), batch_size=4, threads=1, classes=list(classes))
    classify = pipeline("text-classification", model=str(tmp_path / "model"), truncation=True)
    answers = classify(read_lines(folder / "test.review"))
    wanted = [classes[int(row["prediction"])] for row in read_tsv(predictions_of(folder, framework))]
    assert [answer["label"] for answer in answers] == wanted and set(wanted) == set(classes)
    card = "\n".join(read_lines(tmp_path / "model" / "README.md"))
    assert f"which of {n_classes} classes a text belongs to: {', '.join(classes)}." in card
    assert all(f"`{name}` (class {k})" in card for k, name in enumerate(classes))
    assert "French" not in card and "negative" not in card and "sentiment" not in card.replace("sentiment_", "")
    with pytest.raises(StudyError, match=r"data.labels is .*, x, and .* says that the runs learnt"):
        export_model.main(
            **paths, **given, folder=str(tmp_path / "other"), batch_size=4, threads=1, classes=[*classes, "x"]
        )


@pytest.mark.parametrize("family", ["bert", "distilbert", "modernbert"])
def test_an_encoder_of_others_learns_as_many_classes(family, tmp_path):
    write_encoder(tmp_path / "theirs", family)
    for split in SPLITS:
        write_split(tmp_path, split, 5)
    taken = {"folder": "taken", "name": family, "files": ["theirs"]}
    runs = [job("finetuning.take_model", **taken)]
    for split in SPLITS:
        files = {"reviews": f"{split}.review", "labels": f"{split}.label", "token_ids": f"{split}.npz"}
        own = {"tokenizer": "taken", "max_positions": None, "classes": CLASSES}
        runs.append(job("finetuning.tokenize_texts", **files, **own))
    told = {"arm": "mine", "framework": "huggingface", "model": family, "init": "pretrained"}
    given = {output: f"{output}{ending}" for output, ending in OUTPUTS.items()} | {"states": "states", "threads": 1}
    given |= {"train": "train.npz", "valid": "valid.npz", "checkpoint": "taken", "facts": told, "seed": 3}
    given |= {"settings": SETTINGS | {"epochs": 2}, "save_every": 0, "classes": CLASSES}
    write_json(tmp_path / "selected.json", {"epoch": 2})
    tested = {"selected": "selected.json", "checkpoints": "checkpoints", "token_ids": "test.npz"}
    tested |= {"predictions": "p.tsv", "batch_size": 3, "threads": 1}
    runs += [job("frameworks.huggingface.train", **given), job("frameworks.huggingface.score", **tested)]
    run_forked(tmp_path, runs)
    assert read_predictions(tmp_path / "p.tsv").columns[-1] == "probability_4"
    config = read_json(tmp_path / "checkpoints" / "epoch2" / "config.json")
    assert config["id2label"] == {str(k): name for k, name in enumerate(CLASSES)}


def test_two_classes_keep_their_columns_and_labels_their_type(tmp_path):
    write_predictions(tmp_path / "p.tsv", torch.tensor([[0.0, 1.0], [2.0, 0.0]]), [1, 1])
    assert list(read_tsv(tmp_path / "p.tsv")[0]) == ["id", "label", "prediction", "probability"]
    for top, kind in ((1, np.int8), (127, np.int8), (128, np.int16)):
        write_token_ids(str(tmp_path / "t.npz"), [[0, 2]] * 2, [0, top])
        labels = read_token_ids(tmp_path / "t.npz")[1]
        assert labels.dtype == kind and labels.tolist() == [0, top]
