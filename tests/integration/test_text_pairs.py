"""A study of pairs of texts, from a table to page and model card: another's model and the checkpoint read both."""

import numpy as np
import pytest
from transformers import AutoTokenizer, pipeline

from common.files import read_json, read_lines, read_tsv
from finetuning.token_ids import apart, read_token_ids
from support import studies
from support.encoders import write_encoder

pytestmark = [pytest.mark.integration, pytest.mark.slow, pytest.mark.timeout(1800)]

LABELS = ["same", "other"]
ARMS = {
    "theirs": {"framework": "huggingface", "model": "theirs", "init": "pretrained"},
    "own": {"framework": "huggingface", "model": "checkpoint", "init": "pretrained"},
}


def rows(first, n):
    """n pairs: the second text has the first one's mood, or not; every eighth is longer than an input."""
    moods, found = ("bon", "mauvais"), []
    for k in range(first, first + n):
        more = " facile à lire" * (20 if k % 8 == 0 else 0)
        texts = [
            f"{moods[k % 2]} livre numéro {k}{more}",
            f"un {moods[(k + k // 2) % 2]}\tlivre , pénible à lire{more}",
        ]
        found.append((*texts, LABELS[k // 2 % 2]))
    return found


def quoted(found):
    return "a,b,label\n" + "".join(f'"{a}","{b}",{label}\n' for a, b, label in found)


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pairs")
    (folder / "train.csv").write_text(quoted(rows(0, 52)), encoding="utf-8")
    (folder / "test.csv").write_text(quoted(rows(100, 20)), encoding="utf-8")
    write_encoder(folder / "theirs", "bert")
    table = {"train": "train.csv", "test": "test.csv", "text": "a", "second": "b"}
    changes = {
        "data": {"source": "table", "labels": LABELS, "table": table, "n_train": None, "n_valid": 12},
        "checkpoint": {"sentencepiece": {"vocab_size": 100}},
        "finetuning": {
            "models": {"theirs": {"folder": str(folder / "theirs")}},
            "arms": ARMS,
            "evaluation": {"test_curves": False},
        },
    }
    studies.write_study(folder / "study.yaml", changes)
    return folder


@pytest.fixture(scope="module")
def results(study):
    done = studies.snakemake(study, study=study / "study.yaml")
    assert done.returncode == 0, done.output
    card = studies.snakemake(study, "results/tiny/models/own-seed1", study=study / "study.yaml")
    assert card.returncode == 0, card.output
    return study / "results" / "tiny"


def test_a_line_holds_both_texts_and_one_tab(results):
    lines = read_lines(results / "data" / "test.review")
    assert lines == [f"{a}\t{b.replace(chr(9), ' ')}" for a, b, _ in rows(100, 20)]
    assert read_json(results / "data" / "manifest.json")["pairs"] is True
    assert "\t" in (results / "data" / "train.review").read_text(encoding="utf-8")
    assert "\t" not in (results / "data" / "pretraining.review").read_text(encoding="utf-8")


def test_ids_and_segments_are_those_of_the_models_own_tokenizer(study, results):
    sequences, _ = read_token_ids(str(results / "finetuning" / "token-ids" / "theirs" / "test.npz"))
    own = AutoTokenizer.from_pretrained(str(study / "theirs"))
    first, second = zip(*(line.split("\t") for line in read_lines(results / "data" / "test.review")), strict=True)
    told = own(list(first), list(second), truncation="longest_first", max_length=24)
    assert [apart(sequence)[0].tolist() for sequence in sequences] == told["input_ids"]
    assert [apart(sequence)[1].tolist() for sequence in sequences] == told["token_type_ids"]
    # A long pair keeps both texts: both segments, without their last token.
    segments = [apart(sequence)[1] for sequence in sequences]
    assert max(map(len, segments)) == 24 and all(2 < np.sum(each == 1) < len(each) - 3 for each in segments)


def test_the_exported_model_answers_pairs_as_the_run_did(results):
    """The card is written only where the pipeline of Transformers, given both texts, gives the run's probabilities."""
    card = (results / "models" / "own-seed1" / "README.md").read_text(encoding="utf-8")
    assert '"text_pair"' in card and "20 of 20 test pairs" in card
    classify = pipeline("text-classification", model=str(results / "models" / "own-seed1"))
    line, row = (
        read_lines(results / "data" / "test.review")[1],
        read_tsv(results / "predictions" / "own" / "seed1.tsv")[1],
    )
    first, second = line.split("\t")

    def probability(**texts):
        return {each["label"]: each["score"] for each in classify(texts, truncation=True, top_k=None)}["other"]

    assert probability(text=first, text_pair=second) == pytest.approx(float(row["probability"]), abs=1e-4)
    assert probability(text=first, text_pair=second) != probability(text=second, text_pair=first)


def test_the_page_speaks_of_pairs(results):
    page = (results / "report.html").read_text(encoding="utf-8")
    assert "Pairs of each class" in page and "Accuracy by length of pair" in page
    assert len(read_tsv(results / "report_numbers.tsv")) > 100
    rows = {(row["check"], row["split"]): row for row in read_tsv(results / "audit.tsv")}
    # [CLS] first [SEP] second [SEP].
    assert "reads the first 21 tokens" in rows["theirs: share truncated", "test"]["note"]


def test_an_arm_of_fairseq_is_refused_with_one_message(study, tmp_path):
    for name in ("train.csv", "test.csv", "study.yaml"):
        (tmp_path / name).write_bytes((study / name).read_bytes())
    arm = {"framework": "fairseq", "model": "checkpoint", "init": "random"}
    changed = f"finetuning={{arms: {{old: {arm}}}}}".replace("'", "")
    done = studies.snakemake(tmp_path, "--dry-run", "--config", changed, study=tmp_path / "study.yaml")
    message = "data.table.second makes pairs of texts, and the frameworks of the arms old read one text"
    assert done.returncode == 1 and done.output.count(message) == 1 and "Traceback" not in done.output
