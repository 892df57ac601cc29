"""Six arms, five classes: encoders of two families, frozen, with LoRA, overridden; to the exported models."""

import pytest
from transformers import AutoConfig, pipeline

from common.files import read_json, read_tsv
from support import studies
from support.encoders import write_encoder

pytestmark = [pytest.mark.integration, pytest.mark.slow, pytest.mark.timeout(1800)]

LABELS = ["très mauvais", "mauvais", "moyen", "bon", "l'excellent"]
BERT = {"framework": "huggingface", "model": "bert", "init": "pretrained"}
ARMS = {
    "plain": BERT,
    "same-again": BERT | {"match": "plain"},
    "fast": BERT | {"training": {"lr": 5.0e-3, "epochs": 1}},
    "lower-frozen": BERT | {"freeze": 1},
    "head-only": BERT | {"model": "modernbert", "freeze": "encoder"},
    "low-rank": BERT | {"model": "modernbert", "lora": {"r": 2, "lora_alpha": 4}},
}


def rows(first, n):
    """n texts in five classes, every ninth longer than a model reads."""
    lines = []
    for k in range(first, first + n):
        more = " encore un livre à lire" * 6 * (k % 9 == 0)
        lines.append(f'{LABELS[k % 5]};"{LABELS[k % 5]} livre numéro {k} , facile à lire .{more}"\n')
    return "label;text\n" + "".join(lines)


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    folder = tmp_path_factory.mktemp("many")
    for split, first, n in (("train", 0, 60), ("test", 200, 30)):
        (folder / f"{split}.csv").write_text(rows(first, n), encoding="utf-8")
    for family in ("bert", "modernbert"):
        write_encoder(folder / family, family, spread=0.3)
    table = {"train": "train.csv", "test": "test.csv", "language": "fr", "licence": "CC BY 4.0"}
    data = {"source": "table", "labels": LABELS, "table": table, "n_train": None, "n_valid": 15}
    models = {name: {"folder": str(folder / name)} for name in ("bert", "modernbert")}
    base = {key: value for key, value in studies.TINY.items() if key != "checkpoint"}
    finetuning = {"models": models, "arms": ARMS, "evaluation": {"test_curves": False}}
    study = studies.write_study(folder / "study.yaml", {"data": data, "finetuning": finetuning}, base=base)
    done = studies.snakemake(folder, "all", "export_models", study=study)
    assert done.returncode == 0, done.output
    return folder / "results" / "tiny"


def test_every_table_and_the_page_have_all_arms_and_classes(results):
    assert [row["arm"] for row in read_tsv(results / "statistics" / "arms.tsv")] == sorted(ARMS)
    # 6 · 5 / 2 pairs of arms.
    assert len(read_tsv(results / "statistics" / "pairs.tsv")) >= 15
    page = (results / "report.html").read_text(encoding="utf-8")
    assert all(name in page for name in ARMS) and all(name.replace("'", "&#39;") in page for name in LABELS)
    assert len(read_tsv(results / "report_numbers.tsv")) > 100


def test_each_arm_trained_as_it_says(results):
    protocols = {name: read_json(results / "finetuning" / name / "seed1" / "run.json")["protocol"] for name in ARMS}
    assert protocols["fast"]["peak_lr"] == 5.0e-3 and protocols["plain"]["peak_lr"] != 5.0e-3
    assert protocols["lower-frozen"]["freeze"] == 1 and protocols["low-rank"]["lora"]["r"] == 2
    # Alike in all, they give the same answers.
    same = [(results / "predictions" / name / "seed1.tsv").read_bytes() for name in ("plain", "same-again")]
    assert same[0] == same[1]


@pytest.mark.parametrize("arm", ARMS)
def test_each_arm_is_exported_for_plain_transformers(results, arm):
    folder = results / "models" / f"{arm}-seed1"
    assert AutoConfig.from_pretrained(str(folder)).id2label == dict(enumerate(LABELS))
    classify = pipeline("text-classification", model=str(folder), truncation=True)
    texts = (results / "data" / "test.review").read_text(encoding="utf-8").splitlines()
    for text, row in zip(texts, read_tsv(results / "predictions" / arm / "seed1.tsv"), strict=True):
        (answer,) = [each for each in classify(text, top_k=None) if each["label"] == LABELS[int(row["prediction"])]]
        assert answer["score"] == pytest.approx(float(row[f"probability_{row['prediction']}"]), abs=1e-4)
    card = (folder / "README.md").read_text(encoding="utf-8")
    assert 'language: "fr"' in card and "CC BY 4.0" in card and "probabilities\ndiffered by at most" in card
