"""Classification heads that came with a model of others: kept by the names of their classes, never by position."""

import itertools
import shutil

import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import AutoModelForSequenceClassification, pipeline

from common.errors import StudyError
from common.files import read_json, read_tsv, write_json
from finetuning import prove_weights, take_model
from finetuning.encoders import build_encoder, prove_encoder
from finetuning.heads import class_names, order_of, rescaled
from support.arms import facts
from support.encoders import TEXTS, write_encoder
from support.studies import FINETUNING

CLASSES = ["bad", "fair", "good"]
ORDERS = list(itertools.permutations(CLASSES))
FAMILIES = ("bert", "roberta", "distilbert", "deberta-v2", "modernbert")


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    folder = tmp_path_factory.mktemp("plain")
    for family in FAMILIES:
        write_encoder(folder / family, family, spread=0.5)
    return folder


def write_head(source, folder, names, label2id=None):
    """Write a classifier of a family whose rows are the classes `names`, or numbers; return it."""
    torch.manual_seed(7)
    named = {"num_labels": len(names)} if isinstance(names, range) else {"id2label": dict(enumerate(names))}
    if not isinstance(names, range):
        named["label2id"] = label2id or {name: k for k, name in enumerate(names)}
    model = AutoModelForSequenceClassification.from_pretrained(str(source), **named).eval()
    for name, tensor in model.named_parameters():
        if len(tensor) == len(names):
            torch.nn.init.normal_(tensor)
            assert "classifier" in name
    model.save_pretrained(folder)
    for path in source.glob("*token*"):
        (folder / path.name).write_bytes(path.read_bytes())
    return folder


def take(folder, **settings):
    out = folder.parent / "taken"
    take_model.main([str(folder)], "mine", str(out), **settings)
    return out


def refuse(folder, *said, **settings):
    with pytest.raises(StudyError) as caught:
        take(folder, **settings)
    message = str(caught.value)
    assert message.startswith(f"finetuning.models.mine: {folder}") and "\n" not in message
    for words in said:
        assert words in message, message


def answers(folder, classes):
    """The class that a run's model gives each text before its first update, as `pipeline` would name it."""
    from transformers import AutoTokenizer

    model, fresh = build_encoder(str(folder), "pretrained", 1, FINETUNING, classes)
    proof = prove_encoder(model, fresh, load_file(folder / "model.safetensors"), "pretrained")
    tokenizer = AutoTokenizer.from_pretrained(str(folder))
    keys = read_json(folder / "tokenizer_config.json")["model_input_names"]
    found = []
    for text in TEXTS[:24]:
        encoded = tokenizer(text, truncation=True, return_tensors="pt")
        inputs = {key: value for key, value in encoded.items() if key in keys}
        with torch.no_grad():
            found.append(classes[int(model.eval()(**inputs).logits.argmax())])
    return found, proof


@pytest.mark.parametrize("order", ORDERS, ids="-".join)
def test_every_order_of_three_classes_gives_what_the_model_itself_says(plain, tmp_path, order):
    folder = write_head(plain / "bert", tmp_path / "theirs", order)
    classify = pipeline("text-classification", model=str(folder), truncation=True)
    # The middle of the texts' scores is made the threshold, so that more than one class is met.
    with torch.no_grad():
        encoded = [classify.tokenizer(text, truncation=True, return_tensors="pt") for text in TEXTS[:24]]
        scores = torch.cat([classify.model(**inputs).logits for inputs in encoded])
        classify.model.classifier.bias -= scores.mean(dim=0)
    classify.model.save_pretrained(folder)
    theirs = [each["label"] for each in classify(TEXTS[:24])]
    assert len(set(theirs)) > 1
    taken = take(folder, classes=CLASSES)
    assert answers(taken, CLASSES)[0] == theirs
    status = read_json(taken / "conversion.json")["head"]["status"]
    assert status == ("kept" if list(order) == CLASSES else "kept, with its rows in the study's order")
    assert read_json(taken / "config.json")["id2label"] == {str(k): name for k, name in enumerate(CLASSES)}


@pytest.mark.parametrize("family", FAMILIES)
def test_every_family_keeps_its_head_by_name(plain, tmp_path, family):
    folder = write_head(plain / family, tmp_path / "theirs", ["good", "bad", "fair"])
    theirs = load_file(folder / "model.safetensors")
    taken = take(folder, classes=CLASSES)
    ours = load_file(taken / "model.safetensors")
    rows = [name for name in theirs if not torch.equal(theirs[name], ours[name])]
    assert rows and all(torch.equal(ours[name], theirs[name][[1, 2, 0]]) for name in rows)
    assert all("classifier" in name for name in rows)
    _, proof = answers(taken, CLASSES)
    assert proof["n_absent"] == proof["n_different"] == 0 and set(rows) <= proof["tensors"].keys()


def test_composed_and_decomposed_accents_are_one_name():
    assert order_of(["gu\u0308t", "bad"], ["bad", "g\u00fct"]) == [1, 0]


def test_a_head_with_a_layer_that_the_classifier_lacks_is_not_kept(plain, tmp_path):
    folder = write_head(plain / "bert", tmp_path / "theirs", ["good", "bad", "fair"])
    tensors = load_file(folder / "model.safetensors") | {"classifier.dense.weight": torch.ones(16, 16)}
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})
    refuse(folder, "classifier.dense.weight of its classification head", "mine.new_head: true", classes=CLASSES)
    shutil.rmtree(folder.parent / "taken", ignore_errors=True)
    assert read_json(take(folder, classes=CLASSES, new_head=True) / "conversion.json")["head"]["status"] == "new"


@pytest.mark.parametrize("names", [["Good", " BAD ", "Fair"], ["GOOD", "FAIR", "BAD"]])
def test_case_and_blanks_do_not_matter(plain, tmp_path, names):
    taken = take(write_head(plain / "bert", tmp_path / "theirs", names), classes=CLASSES)
    theirs, ours = (load_file(folder / "model.safetensors") for folder in (tmp_path / "theirs", taken))
    order = [[name.strip().lower() for name in names].index(name) for name in CLASSES]
    assert torch.equal(ours["classifier.weight"], theirs["classifier.weight"][order])


def test_names_that_differ_in_case_alone_are_matched_exactly():
    assert order_of(["a", "A"], ["A", "a"]) == [1, 0]
    assert order_of(["a", "b"], ["A", "a"]) is None and order_of(["x", "x"], ["x", "y"]) is None


@pytest.mark.parametrize(
    "names", [["good", "bad", "mixed"], ["good", "good", "bad"], ["Good", "good", "bad"], ["0", "1", "fair"]]
)
def test_other_names_are_refused_and_a_new_head_is_the_way_out(plain, tmp_path, names):
    folder = write_head(plain / "bert", tmp_path / "theirs", names, {name: k for k, name in enumerate(names)})
    said = f"has a classification head for {', '.join(names)} (`id2label` of config.json), and data.labels is bad, fair"
    refuse(folder, said, "set finetuning.models.mine.new_head: true", classes=CLASSES)
    taken = take(folder, classes=CLASSES, new_head=True)
    assert read_json(taken / "conversion.json")["head"] == {"status": "new", "tensors": []}
    assert "classifier.weight" not in load_file(taken / "model.safetensors")


@pytest.mark.parametrize(
    "names", [range(3), ["LABEL_2", "LABEL_0", "LABEL_1"], ["2", "1", "0"], ["class 1", "class 2", "class 3"]]
)
def test_numbers_are_no_names_so_the_rows_are_drawn_anew(plain, tmp_path, names):
    taken = take(write_head(plain / "bert", tmp_path / "theirs", names), classes=CLASSES)
    assert read_json(taken / "conversion.json")["head"]["status"] == "new"
    model, fresh = build_encoder(str(taken), "pretrained", 1, FINETUNING, CLASSES)
    assert fresh == ["classifier.bias", "classifier.weight"]
    theirs = load_file(tmp_path / "theirs" / "model.safetensors")
    assert not torch.equal(model.classifier.weight, theirs["classifier.weight"])


def test_numbers_that_are_the_studys_names_are_names(plain, tmp_path):
    folder = write_head(plain / "bert", tmp_path / "theirs", ["2", "0", "1"])
    theirs, ours = (load_file(place / "model.safetensors") for place in (folder, take(folder, classes=["0", "1", "2"])))
    assert torch.equal(ours["classifier.weight"], theirs["classifier.weight"][[1, 2, 0]])


def test_layers_below_the_rows_stay_where_the_rows_are_new(plain, tmp_path):
    """ModernBERT's were pretrained with the encoder."""
    folder = write_head(plain / "modernbert", tmp_path / "theirs", range(3))
    taken = load_file(take(folder, classes=CLASSES) / "model.safetensors")
    assert "head.dense.weight" in taken and "classifier.weight" not in taken


def test_two_numberings_that_contradict_each_other_are_refused(plain, tmp_path):
    folder = write_head(plain / "bert", tmp_path / "theirs", CLASSES)
    config = read_json(folder / "config.json") | {"label2id": {"bad": 2, "fair": 1, "good": 0}}
    write_json(folder / "config.json", config)
    refuse(folder, "numbers the class bad 0 in `id2label` and 2 in `label2id`", classes=CLASSES)
    texts = {"bad": "0", "fair": "1", "good": "2"}
    assert class_names(config | {"label2id": texts}, "m") == CLASSES
    write_json(folder / "config.json", {key: value for key, value in config.items() if key != "id2label"})
    assert class_names(read_json(folder / "config.json"), "m") == ["good", "fair", "bad"]
    write_json(folder / "config.json", config | {"id2label": {"0": "bad", "2": "good", "3": "fair"}})
    refuse(folder, "`id2label` of config.json must give the numbers 0, 1, 2", classes=CLASSES)


def test_the_table_of_starts_says_whether_a_head_was_kept(plain, tmp_path):
    rows = {}
    for name, names in (("named", ["good", "bad", "fair"]), ("numbered", range(3))):
        (tmp_path / name).mkdir()
        taken = take(write_head(plain / "bert", tmp_path / name / "theirs", names), classes=CLASSES)
        for init in ("pretrained", "random"):
            model, fresh = build_encoder(str(taken), init, 1, FINETUNING, CLASSES)
            proof = prove_encoder(model, fresh, load_file(taken / "model.safetensors"), init)
            path = tmp_path / name / f"arm-{init}" / "seed1" / "weights.json"
            path.parent.mkdir(parents=True)
            write_json(path, proof)
            arms = {f"arm-{init}": list((facts("huggingface", init) | {"model": "mine"}).values())}
            prove_weights.main([path], [taken], ["mine"], arms, tmp_path / "weights.tsv")
            (row,) = read_tsv(tmp_path / "weights.tsv")
            rows[name, init] = row["head"]
    assert rows == {
        ("named", "pretrained"): "kept",
        ("named", "random"): "new",
        ("numbered", "pretrained"): "new",
        ("numbered", "random"): "new",
    }


def test_a_model_of_numbers_is_saved_on_the_scale_of_its_labels(tmp_path):
    write_encoder(tmp_path / "bert", "bert")
    model, _ = build_encoder(
        tmp_path / "bert", "pretrained", 1, {"dropout": 0.0, "classifier_dropout": 0.0}, [], "regression"
    )
    assert model.config.problem_type == "regression" and model.config.num_labels == 1
    ids = torch.tensor([[2, 5, 6, 3], [2, 7, 5, 3]])
    model.eval()
    with torch.no_grad():
        wanted = 400 + 25 * model(ids).logits
        assert torch.allclose(rescaled(model, 400.0, 25.0)(ids).logits, wanted, atol=1e-3)
        # The model that is trained stays as it is.
        assert torch.allclose(400 + 25 * model(ids).logits, wanted)
