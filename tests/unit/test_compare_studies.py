"""Two studies on one page: what each concludes, and where they agree."""

import os

import pytest
from scipy import stats

import compare_studies
from common.errors import StudyError
from common.files import write_tsv

COLUMNS = ("study", "framework", "init", "seed", "test_accuracy", "n_test")
PUBLISHED = os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(__file__))), "claims", "published_runs.tsv")
LAB = f"{PUBLISHED}:published"


def study(folder, name, accuracies):
    folder.mkdir()
    rows = [
        dict(zip(COLUMNS, (name, framework, init, seed, value, 500), strict=True))
        for (framework, init), values in accuracies.items()
        for seed, value in enumerate(values, start=1)
    ]
    write_tsv(folder / "runs.tsv", rows, COLUMNS)
    return str(folder)


ARMS = {
    ("fairseq", "pretrained"): [0.70, 0.71, 0.72],
    ("fairseq", "random"): [0.69, 0.71, 0.73],
    ("huggingface", "random"): [0.5],
}


def test_conclusions_and_where_they_agree(tmp_path):
    sides = [compare_studies.Side(study(tmp_path / "own", "own", ARMS)), compare_studies.Side(LAB)]
    # The Hugging Face arms are not the same ones: one pair is in both.
    (pair,) = compare_studies.pairs_of(sides)
    assert (pair["first"], pair["second"]) == (("fairseq", "pretrained"), ("fairseq", "random"))
    own, lab = pair["told"]
    assert own["difference"] == pytest.approx(0.0) and own["conclusion"] == "no difference can be claimed"
    assert lab["conclusion"] == "the first is ahead" and not pair["agree"]
    # The lab's figures, and SciPy's own test of them.
    expected = stats.ttest_ind([0.799, 0.785, 0.801], [0.654, 0.667, 0.674], equal_var=False).pvalue
    assert lab["p"] == pytest.approx(expected) and lab["difference"] == pytest.approx(0.13)


def test_holm_counts_the_shared_pairs(tmp_path):
    arms = ARMS | {("huggingface", "pretrained"): [0.8, 0.81, 0.82]}
    sides = [compare_studies.Side(study(tmp_path / "own", "own", arms)), compare_studies.Side(LAB)]
    pairs = compare_studies.pairs_of(sides)
    assert len(pairs) == 3 and sum(pair["agree"] for pair in pairs) == 1
    smallest = min(pair["told"][1]["p"] for pair in pairs)
    values = [sides[1].accuracies["fairseq", init] for init in ("pretrained", "random")]
    assert smallest == pytest.approx(3 * stats.ttest_ind(*values, equal_var=False).pvalue)


def test_the_conclusions_of_the_reports_are_asked_of_both(tmp_path):
    own = study(tmp_path / "own", "own", ARMS)
    learned = [{"framework": "fairseq", "learned": "false"}] * 2
    write_tsv(os.path.join(own, "learned.tsv"), learned, ("framework", "learned"))
    sides = [compare_studies.Side(own), compare_studies.Side(LAB)]
    table = compare_studies.conclusions_table(sides)
    rows = {row[0]["text"]: [cell["text"] for cell in row[2:]] for row in table["rows"]}
    own, lab = rows["Pretraining yields a clear gap in performance."]
    assert own.startswith("fails: +0.00 points") and lab.startswith("holds: +13.00 points")
    assert rows["The seeds of the fairseq framework do not really learn."] == [
        "holds: learned is false in 2 of 2 runs",
        "cannot be decided: it gives no learned.tsv",
    ]
    assert len(rows) == len(table["rows"]) > 5


def test_the_page_says_what_one_seed_cannot(tmp_path):
    one = study(tmp_path / "own", "own", {arm: values[:1] for arm, values in ARMS.items()})
    compare_studies.main(one, LAB, str(tmp_path / "page.html"))
    html = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "cannot be told from one seed" in html and "one seed: none" in html
    assert "own against published" in html and "79.50" in html
    compare_studies.main(one, LAB, str(tmp_path / "again.html"))
    assert (tmp_path / "again.html").read_text(encoding="utf-8") == html


def test_faults_name_the_table(tmp_path):
    with pytest.raises(StudyError, match="published_runs.tsv has runs of published, .*: name one, as in .*:published"):
        compare_studies.Side(PUBLISHED)
    with pytest.raises(StudyError, match="name one"):
        compare_studies.Side(f"{PUBLISHED}:nobody")
    write_tsv(tmp_path / "runs.tsv", [], COLUMNS)
    with pytest.raises(StudyError, match="runs.tsv holds no run"):
        compare_studies.Side(str(tmp_path))
    other = study(tmp_path / "other", "other", {("huggingface", "random"): [0.5]})
    with pytest.raises(StudyError, match="no arm in common"):
        compare_studies.main(other, LAB, str(tmp_path / "page.html"))
    assert not (tmp_path / "page.html").exists()
