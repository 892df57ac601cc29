"""Exported models: `pipeline` answers as the run did, the card says what the files say, broken input is refused."""

import os
import shutil

import pytest
import sentencepiece
import torch
from statsmodels.stats.proportion import proportion_confint
from transformers import AutoTokenizer, RobertaConfig, RobertaForSequenceClassification, pipeline

from common.errors import StudyError
from common.files import read_json, read_lines, read_tsv, write_json, write_lines, write_tsv
from finetuning import export_model
from finetuning.predictions import write_predictions
from finetuning.scoring import score
from support import studies
from support.arms import facts
from support.roberta import ARCHITECTURE, ROWS, convert, fairseq_model, write_checkpoint

TEMPLATE = os.path.join(studies.ROOT, "report", "model_card.md.j2")
REVIEWS = [
    "un livre superbe et touchant",
    "un roman <s> ennuyeux </s> et <mask> plat",  # special symbols as text
    "漢字 zzz le style",  # unknown pieces
    "le style est vraiment superbe et le roman est vraiment ennuyeux",  # longer than the model has positions
    "plat",
    "une lecture superbe",
]
LABELS = [1, 0, 1, 1, 0, 1]
EPOCH = 3
MAX_POSITIONS = ARCHITECTURE["max_positions"]
START = {"source": "pretrain", "fetch": {"fairseq": {"url": "https://example.org/start.zip"}}}
# Numbers of no run: the card has to take them from the files.
TEST_ACCURACY = {"n_seeds": 3, "mean": 0.6125, "sd_ddof1": 0.03125}
ARMS = {"n_seeds": 3, "mean": 0.6125, "sd_ddof1": 0.03125, "t_low": 0.5348, "t_high": 0.6903, "n_learned": 2}
ARMS |= {"note": "1 of 3 runs did not learn; counted"}


@pytest.fixture(scope="module")
def converted(tmp_path_factory):
    """The starting checkpoint of a study as a Hugging Face folder, tokenizer in it."""
    torch.set_num_threads(1)
    path = write_checkpoint(tmp_path_factory.mktemp("checkpoint"))
    return convert(path, path / "huggingface")


def fairseq_run(folder, converted):
    """Save a fairseq classifier and return its logits, computed by fairseq from fairseq's own ids."""
    from fairseq.data import Dictionary

    model = fairseq_model(ROWS, classification=True, seed=5)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter *= 3  # else all reviews look alike to it
    dictionary = Dictionary.load(os.path.join(converted, "dict.txt"))
    dictionary.add_symbol("<mask>")
    processor = sentencepiece.SentencePieceProcessor(model_file=os.path.join(converted, "sentencepiece.bpe.model"))
    batches = []
    for text in REVIEWS:
        line = " ".join(processor.encode(text, out_type=str)[: MAX_POSITIONS - 2])
        batches.append(torch.tensor([[0, *dictionary.encode_line(line, add_if_not_exist=False).tolist()]]))
    head = "sentence_classification_head"

    def logits():
        with torch.no_grad():
            return torch.cat([model(ids, classification_head_name=head)[0] for ids in batches])

    model.classification_heads[head].out_proj.bias.data -= logits().mean(dim=0)  # both classes are met
    torch.save({"args": model.args, "cfg": None, "model": model.state_dict()}, folder / f"checkpoint{EPOCH}.pt")
    return logits()


def huggingface_run(folder, converted):
    """Save a Hugging Face classifier and return its logits, computed from token ids without `pipeline`."""
    config = RobertaConfig.from_pretrained(converted, num_labels=2, initializer_range=0.5)
    torch.manual_seed(6)
    model = RobertaForSequenceClassification(config).eval()
    tokenizer = AutoTokenizer.from_pretrained(converted, local_files_only=True)
    sequences = tokenizer(REVIEWS, truncation=True, max_length=MAX_POSITIONS)["input_ids"]
    model.classifier.out_proj.bias.data -= score(model, sequences, 4).mean(dim=0)  # both classes are met
    model.save_pretrained(folder / f"epoch{EPOCH}")
    return score(model, sequences, 4)


@pytest.fixture(scope="module", params=["fairseq", "huggingface"])
def finished(request, converted, tmp_path_factory):
    """(framework, folder of a finished run's files), not to be changed."""
    framework, folder = request.param, tmp_path_factory.mktemp("study")
    os.makedirs(folder / "checkpoints")
    shutil.copytree(converted, folder / "converted")
    logits = {"fairseq": fairseq_run, "huggingface": huggingface_run}[framework](folder / "checkpoints", converted)
    # The comparisons mean something: the probabilities are neither all alike nor on one side.
    assert torch.softmax(logits, dim=1)[:, 1].std() > 0.01 and set(logits.argmax(dim=1).tolist()) == {0, 1}
    write_predictions(folder / "predictions.tsv", logits, LABELS)
    write_lines(folder / "test.review", REVIEWS)
    n_correct = sum(row["label"] == row["prediction"] for row in read_tsv(folder / "predictions.tsv"))
    write_json(folder / "selected.json", {"epoch": EPOCH})
    dropouts = {"dropout": [0.125], "attention_dropout": 0.25, "classifier_dropout": 0.375}
    protocol = dropouts | {
        "batch_size": 8,
        "betas": [0.9, 0.98],
        "initialisation": {"head": "uniform"},
        "head": "<s> | b",
    }
    run = {"protocol": protocol, "versions": {"torch": "2"}, "n_train": 40, "n_valid": 20, "total_updates": 50}
    write_json(folder / "run.json", run | {"precision": "float32"})
    arm = facts(framework, "pretrained")
    row = arm | {"seed": 2}
    counts = {"best_epoch": EPOCH, "best_update": 15, "valid_accuracy": 0.85, "test_accuracy": n_correct / len(LABELS)}
    counts |= {"n_correct_test": n_correct, "n_test": len(LABELS), "n_valid": 20, "total_updates": 50}
    # Another seed's row: the right one has to be found.
    other = dict.fromkeys(counts, 0)
    write_tsv(folder / "runs.tsv", [row | {"seed": 1} | other, row | counts], [*row, *counts])
    write_tsv(folder / "test_accuracy.tsv", [arm | TEST_ACCURACY], [*arm, *TEST_ACCURACY])
    write_tsv(folder / "arms.tsv", [arm | ARMS], [*arm, *ARMS])
    split = {"n": 20, "n_positive": 11, "sha256_review": "5" * 64}
    manifest = {"labels": ["negative", "positive"]}
    manifest |= {"source": "cls_books_zip", "synthetic": False, "files": {"https://example.org/a.zip": "6" * 64}}
    manifest |= {"splits": dict.fromkeys(("train", "valid", "test"), split)}
    overlaps = {"train_test": 7, "train_valid": 1, "valid_test": 2}
    write_json(folder / "manifest.json", manifest | {"identical_reviews": overlaps})
    return framework, folder


@pytest.fixture
def study(finished, tmp_path):
    """The same, to be changed."""
    framework, folder = finished
    shutil.copytree(folder, tmp_path / "study")
    return framework, tmp_path / "study"


def export(framework, folder, name="model", start=START):
    names = {
        "checkpoints": "checkpoints",
        "selected": "selected.json",
        "run": "run.json",
        "converted": "converted",
        "runs": "runs.tsv",
        "test_accuracy": "test_accuracy.tsv",
        "arms": "arms.tsv",
        "manifest": "manifest.json",
        "reviews": "test.review",
        "predictions": "predictions.tsv",
    }
    files = {key: str(folder / file) for key, file in names.items()} | {"template": TEMPLATE}
    arm = facts(framework, "pretrained")
    run = {"arm": arm["arm"], "facts": arm, "seed": 2, "study": "tiny", "start": start}
    export_model.main(**files, **run, folder=str(folder / name), batch_size=2, threads=1)
    return str(folder / name)


def test_pipeline_answers_as_the_run_did(study):
    framework, folder = study
    out = export(framework, folder)
    classify = pipeline("text-classification", model=out, truncation=True)
    rows = read_tsv(folder / "predictions.tsv")
    for text, row in zip(REVIEWS, rows, strict=True):
        (answer,) = classify(text)
        probability = float(row["probability"])
        assert answer["label"] == ["negative", "positive"][int(row["prediction"])], text
        assert answer["score"] == pytest.approx(max(probability, 1 - probability), abs=1e-5), text
    config = read_json(os.path.join(out, "config.json"))
    assert config["id2label"] == {"0": "negative", "1": "positive"}
    assert config["label2id"] == {"negative": 0, "positive": 1}
    assert config["architectures"] == ["RobertaForSequenceClassification"]
    assert classify.tokenizer.model_max_length == MAX_POSITIONS
    # Nothing of the machine, of the starting checkpoint or of Snakemake's bookkeeping.
    names = {"README.md", "config.json", "model.safetensors", "tokenizer_config.json", "dict.txt"}
    assert set(os.listdir(out)) == names | {"sentencepiece.bpe.model"}
    assert str(folder) not in "".join(read_lines(os.path.join(out, "config.json")))


def test_the_configuration_has_the_dropout_of_the_training(study):
    """A model from fairseq has the pretraining's values in the starting checkpoint's configuration."""
    framework, folder = study
    config = read_json(os.path.join(export(framework, folder), "config.json"))
    found = [config[f"{name}_dropout_prob"] for name in ("hidden", "attention_probs")]
    assert [*found, config["classifier_dropout"]] == [0.125, 0.25, 0.375]


def test_the_example_is_the_models_own_answer(study):
    framework, folder = study
    out = export(framework, folder)
    code = "\n".join(read_lines(os.path.join(out, "README.md"))).partition("```python\n")[2].partition("```")[0]
    *lines, call, comment = code.strip().split("\n")
    # The card's own lines, but for the model's name, which is its folder's.
    names = {}
    exec("\n".join(lines).replace('"model"', repr(out)), names)
    answer = eval(call, names)
    assert len(answer) == 2 and sum(each["score"] for each in answer) == pytest.approx(1)
    shown = [f'{{"label": "{each["label"]}", "score": {each["score"]:.4f}}}' for each in answer]
    assert comment == f"# [{', '.join(shown)}]"


def test_others_may_read_the_weights(study):
    framework, folder = study
    before = os.umask(0o027)
    try:
        out = export(framework, folder)
    finally:
        os.umask(before)
    assert os.stat(os.path.join(out, "model.safetensors")).st_mode & 0o777 == 0o640


def test_card_says_what_the_files_say(study):
    from huggingface_hub import ModelCard

    framework, folder = study
    card = ModelCard.load(os.path.join(export(framework, folder), "README.md"))
    row = read_tsv(folder / "runs.tsv")[1]
    data = card.data
    assert (data.language, data.pipeline_tag, data.license) == ("fr", "text-classification", "unknown")
    (result,) = data.eval_results
    assert (result.metric_type, result.dataset_split) == ("accuracy", "test")
    assert result.metric_value == float(row["test_accuracy"])
    n_correct = int(row["n_correct_test"])
    low, high = proportion_confint(n_correct, 6, 0.05, method="wilson")
    for expected in (
        f"| this model | {100 * n_correct / 6:.2f} % ({n_correct} of 6 test reviews) |",
        f"(binomial, Wilson) | {100 * low:.2f} to {100 * high:.2f} % |",
        "| mean over the arm's 3 seeds | 61.25 % |",
        "(ddof 1) | 3.12 points |",  # 3.125, rounded to even
        "| 53.48 to 69.03 % |",
        "| 2 of 3 |",
        "Note of the study: 1 of 3 runs did not learn; counted.",
        "| validation accuracy at the chosen epoch | 85.00 % of 20 reviews |",
        "Seed 2; epoch 3 (update 15 of 50)",
        "Trained on 40 reviews, in float32.",
        "| betas | 0.9, 0.98 |",
        "| initialisation | head: uniform |",
        r"| head | &lt;s> \| b |",
        f"| train | 20 | 11 | `{'5' * 64}` |",
        "https://example.org/a.zip",
        "train and test 7, train and validation 1, validation and test 2",
        "The reviews carry no clear licence and are not included here",
        read_json(folder / "converted" / "conversion.json")["source_sha256"]["model.pt"],
        "the run's own prediction for 6 of 6 test reviews",
        f"the first {MAX_POSITIONS} tokens",
    ):
        assert expected in card.content, expected
    assert "synthetic" not in card.content and "start.zip" not in card.content


def test_card_of_synthetic_data_one_seed_and_a_fetched_start(study):
    framework, folder = study
    write_json(
        folder / "manifest.json",
        read_json(folder / "manifest.json") | {"synthetic": True, "source": "embedded", "files": {}},
    )
    for name in ("test_accuracy.tsv", "arms.tsv"):
        (row,) = read_tsv(folder / name)
        alone = row | {"n_seeds": 1} | {key: None for key in ("sd_ddof1", "t_low", "t_high") if key in row}
        write_tsv(folder / name, [alone], list(row))
    text = "\n".join(
        read_lines(os.path.join(export(framework, folder, start=START | {"source": "fetch"}), "README.md"))
    )
    assert "**The data are synthetic**" in text and "  - synthetic-data\n" in text
    assert "no clear licence" not in text and "Files it was made from" not in text
    assert "checkpoint of https://example.org/start.zip" in text
    assert "ddof 1" not in text and "Student" not in text and "; one seed gives none" in text


def test_card_of_a_start_from_a_folder(study):
    framework, folder = study
    start = START | {"source": "folder", "folder": "results/open/checkpoint"}
    text = "\n".join(read_lines(os.path.join(export(framework, folder, start=start), "README.md")))
    assert "the folder `results/open/checkpoint`" in text and "start.zip" not in text
    assert "licence is its publisher's to tell" in text


def rewrite_json(name, **changes):
    def change(folder):
        kept = {key: value for key, value in (read_json(folder / name) | changes).items() if value is not None}
        write_json(folder / name, kept)

    return change


def rewrite_row(name, line, **changes):
    def change(folder):
        rows = read_tsv(folder / name)
        rows[line] |= changes
        write_tsv(folder / name, rows, list(rows[line]))

    return change


def no_checkpoint(folder):
    (path,) = (folder / "checkpoints").iterdir()
    path.rename(path.with_name(path.name.replace(str(EPOCH), "9")))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (no_checkpoint, r"checkpoint3.pt is missing|epoch3 holds no model"),
        (rewrite_json("run.json", protocol=None), "run.json has no `protocol`"),
        (rewrite_json("run.json", protocol={"dropout": [0.1, 0.2]}), "must record one dropout of the states, not"),
        (rewrite_json("selected.json", epoch=2), "runs.tsv says epoch 3 and .*selected.json says 2"),
        (rewrite_json("manifest.json", splits={}), "card cannot be filled .*train"),
        (rewrite_row("runs.tsv", 1, seed="5"), "runs.tsv has 0 rows of arm .*, seed 2"),
        (rewrite_row("runs.tsv", 1, n_correct_test="6"), "says 6 of 6 correct and .*predictions.tsv says"),
        (rewrite_row("arms.tsv", 0, arm="fairseq-random"), "arms.tsv has 0 rows"),
        (rewrite_row("predictions.tsv", 2, probability="0.123"), "test review 3: .* predictions say 0.123000"),
        (lambda folder: write_lines(folder / "test.review", REVIEWS[1:]), "5 test reviews but 6 predictions"),
        (lambda folder: write_lines(folder / "test.review", REVIEWS[::-1]), "test review 1: the exported model"),
        (rewrite_json("converted/tokenizer_config.json", model_max_length=11), "cuts at 11 tokens, the model has 12"),
        (lambda folder: (folder / "converted" / "conversion.json").unlink(), "conversion.json is missing"),
    ],
)
def test_broken_input(study, change, message):
    framework, folder = study
    change(folder)
    with pytest.raises(StudyError, match=message):
        export(framework, folder)
    assert not (folder / "model").exists()


def test_fairseq_checkpoint_that_does_not_fit(converted, tmp_path):
    torch.save({"model": fairseq_model(ROWS).state_dict()}, tmp_path / "checkpoint1.pt")
    with pytest.raises(StudyError, match="checkpoint1.pt has 0 classification heads"):
        export_model.load_classifier("fairseq", str(tmp_path), 1, converted)
    torch.save({"model": fairseq_model(ROWS + 1, classification=True).state_dict()}, tmp_path / "checkpoint1.pt")
    with pytest.raises(StudyError, match="checkpoint1.pt does not fit .*huggingface"):
        export_model.load_classifier("fairseq", str(tmp_path), 1, converted)


def test_wilson_interval():
    # 8 of 10, z = 1.959964: z^2/n = 0.3841459; centre (0.8 + 0.1920729) / 1.3841459 = 0.7167401;
    # half 1.959964 / 1.3841459 * sqrt(0.016 + 0.0096036) = 1.4160097 * 0.1600114 = 0.2265777
    assert export_model.wilson_interval(8, 10) == pytest.approx((0.4901625, 0.9433178), abs=1e-6)
    for n_correct, n, level in ((0, 7, 0.95), (7, 7, 0.95), (1595, 2000, 0.95), (756, 1000, 0.9)):
        expected = proportion_confint(n_correct, n, 1 - level, method="wilson")
        assert export_model.wilson_interval(n_correct, n, level) == pytest.approx(expected, abs=1e-12)
