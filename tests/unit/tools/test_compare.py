"""Two studies on one page: what each concludes, and where they agree."""

import os
import re
from collections import Counter
from pathlib import Path

import pytest
from scipy import stats

from common.errors import StudyError
from common.files import read_tsv, write_json, write_tsv
from lab import claims
from study.tables import columns_of
from support.studies import published, published_studies
from tools import compare as compare_studies

COLUMNS = ("study", "arm", "framework", "model", "init", "seed", "test_accuracy", "n_test")
PUBLISHED = str(Path(__file__).resolve().parents[3] / "claims" / "published_runs.tsv")
LAB = f"{PUBLISHED}:published"


def study(folder, name, accuracies):
    folder.mkdir()
    rows = [
        dict(zip(COLUMNS, (name, f"{framework}-{init}", framework, "checkpoint", init, seed, value, 500), strict=True))
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


def test_pairs_of_both_have_the_gap_and_the_interval_of_each(tmp_path):
    sides = [compare_studies.Side(study(tmp_path / "own", "own", ARMS)), compare_studies.Side(LAB)]
    # The Hugging Face arms are not the same ones: one pair is in both.
    (pair,) = compare_studies.pairs_of(sides)
    assert (pair["first"]["arm"], pair["second"]["arm"]) == ("fairseq-pretrained", "fairseq-random")
    own, lab = pair["cells"]
    assert float(own["gap"]) == pytest.approx(0.0) and float(lab["gap"]) == pytest.approx(0.13)
    found = stats.ttest_ind([0.799, 0.785, 0.801], [0.654, 0.667, 0.674], equal_var=False).confidence_interval()
    assert (float(lab["low"]), float(lab["high"])) == pytest.approx(tuple(found))
    turned = compare_studies.pairs_in(sides[1])["fairseq-random", "fairseq-pretrained"]
    assert (float(turned["low"]), float(turned["high"])) == pytest.approx((-found.high, -found.low))
    # One seed has no interval.
    single = compare_studies.pairs_in(sides[0])["fairseq-pretrained", "huggingface-random"]
    assert single["low"] == single["high"] == ""


def ask(folder, answer, difference, ask="Does it help?", **facts):
    row = dict.fromkeys(columns_of("questions"), "")
    row |= {"ask": ask, "contrast": "fairseq-pretrained - fairseq-random", "measure": "accuracy", "unit": "share"}
    row |= {"higher_is_better": "true", "level": "0.95", "score_difference": difference, "answer": answer}
    row |= {"n_failed": "0", "n_runs_then": "0", "n_seeds_each": "3 3", "n_test": "500"}
    write_tsv(os.path.join(folder, "questions.tsv"), [row | facts], list(row))


@pytest.mark.parametrize(
    ("first", "second", "agree"),
    [
        (("difference", "0.1"), ("difference", "0.02"), True),
        (("difference", "0.1"), ("difference", "-0.1"), False),
        (("difference", "0.1"), ("open", "0.1"), False),
        (("open", "0.1"), ("open", "-0.1"), True),
        (("equal", "0.001"), ("equal", "-0.001"), True),
    ],
)
def test_questions_asked_alike_have_both_answers(tmp_path, first, second, agree):
    folders = [study(tmp_path / name, name, ARMS) for name in ("own", "other")]
    for folder, (answer, difference), words in zip(
        folders, (first, second), ("Does it help?", "Is it so?"), strict=True
    ):
        ask(folder, answer, difference, words)
    (row,) = compare_studies.asked_by_both([compare_studies.Side(folder) for folder in folders])
    # The words are the first study's: what is compared makes a question the same.
    assert row["ask"] == "Does it help?" and row["agree"] == agree
    ask(folders[1], "open", "0.1", equal_within="0.02")
    assert compare_studies.asked_by_both([compare_studies.Side(folder) for folder in folders]) == []


@pytest.mark.parametrize("name", published_studies())
def test_a_study_has_the_interval_that_its_report_has(name):
    side = compare_studies.Side(str(published(name)))
    pairs, rows = compare_studies.pairs_in(side), read_tsv(os.path.join(side.folder, "statistics", "pairs.tsv"))
    assert rows
    for row in rows:
        pair = pairs[row["arm_a"], row["arm_b"]]
        assert (pair["gap"], pair["low"], pair["high"]) == (row["difference"], row["low"], row["high"])
    arms = {row["arm"]: row for row in compare_studies.arms_told([side])}
    for table in ("statistics/arms.tsv", "figures/arms.tsv"):
        for row in read_tsv(os.path.join(side.folder, table)):
            one = arms[row["arm"]]
            assert (float(one["t_low_0"]), float(one["t_high_0"])) == pytest.approx(
                (float(row["t_low"]), float(row["t_high"]))
            )


def test_the_conclusions_of_the_reports_are_asked_of_both(tmp_path):
    own = study(tmp_path / "own", "own", ARMS)
    learned = [{"arm": "fairseq-pretrained", "framework": "fairseq", "learned": "false"}] * 2
    write_tsv(os.path.join(own, "learned.tsv"), learned, ("arm", "framework", "learned"))
    sides = [compare_studies.Side(own), compare_studies.Side(LAB)]
    table = compare_studies.conclusions_asked(sides)
    rows = {row["sentence"]: [f"{row[f'verdict_{i}']}: {row[f'data_{i}']}" for i in (0, 1)] for row in table}
    own, lab = rows["showing distinctly the gap in performance resulting from a pretrained model"]
    assert own.startswith("not settled: +0.00 points") and lab.startswith("holds: +13.00 points")
    own, lab = rows[
        "the three seeds of each model of the Fairseq framework don't really learn as we can see on the plots"
    ]
    assert own == "holds: learned is false in 2 of 2 runs" and lab.startswith("cannot be decided: it would take")
    # Validation and test of one sentence are two claims.
    assert len(rows) + 2 == len(table) > 5


def test_a_claim_has_the_verdict_of_the_lab_that_claims_tsv_has(tmp_path):
    sides = [compare_studies.Side(study(tmp_path / "own", "own", ARMS)), compare_studies.Side(LAB)]
    folder = Path(PUBLISHED).parent
    tables = {name: read_tsv(folder / name) for name in ("published_runs.tsv", "published_points.tsv")}
    checked = claims.check_together(claims.read_claims(folder / "published.yaml"), tables)
    wanted = {(row["sentence"], row["verdict"], row["data"]) for row in checked}
    table = compare_studies.conclusions_asked(sides)
    assert table and {(row["sentence"], row["verdict_1"], row["data_1"]) for row in table} <= wanted
    of = {row["sentence"]: row["verdict_1"] for row in table}
    assert of["The variance of this model is also higher."] == "not settled"
    assert of["a final accuracy around 0.825 for each of the three seeds"] == "cannot be decided"


def test_the_page_of_one_seed_is_the_same_bytes_twice(tmp_path):
    one = study(tmp_path / "own", "own", {arm: values[:1] for arm, values in ARMS.items()})
    compare_studies.main(one, LAB, str(tmp_path / "page.html"))
    html = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "own against published" in html and "79.50" in html
    compare_studies.main(one, LAB, str(tmp_path / "again.html"))
    assert (tmp_path / "again.html").read_text(encoding="utf-8") == html


@pytest.mark.parametrize("sources", [("table", "table"), ("table", "embedded"), ("embedded", "embedded")])
def test_two_studies_of_texts_of_ones_own_are_not_asked_the_labs_conclusions(tmp_path, sources):
    folders = [study(tmp_path / name, name, ARMS) for name in ("one", "two")]
    for folder, source in zip(folders, sources, strict=True):
        os.mkdir(os.path.join(folder, "data"))
        write_json(os.path.join(folder, "data", "manifest.json"), {"source": source})
    compare_studies.main(*folders, str(tmp_path / "page.html"))
    html = (tmp_path / "page.html").read_text(encoding="utf-8")
    asked = sources != ("table", "table")
    words = re.sub("<style.*?</style>|<script.*?</script>|<[^>]+>", " ", html, flags=re.DOTALL)
    texts = "texts" if "table" in sources else "reviews"
    assert f"500 test {texts}" in " ".join(words.split()) and ("reviews" in words) == (texts == "reviews")
    assert ('id="reports"' in html) == ("conclusions of the lab" in html) == asked


def page_of(tmp_path):
    first = study(tmp_path / "own", "own", ARMS | {("huggingface", "pretrained"): [0.8, 0.81, 0.82]})
    sides = [compare_studies.Side(place, tmp_path) for place in (first, LAB)]
    compare_studies.main(first, LAB, str(tmp_path / "page.html"))
    return sides, (tmp_path / "page.html").read_text(encoding="utf-8")


def test_the_first_screen_has_both_studies_seeds_verdicts_and_counts(tmp_path):
    sides, html = page_of(tmp_path)
    first = html[html.index('<section id="compared"') : html.index("</section>")]
    # 7 seeds of one study's shared arms and the single run that the other lacks; 9 of the lab; one dot each.
    assert first.count("<circle ") == 10 + 9
    # With 4 arms on one side and 3 on the other, those of several seeds have a mean and an interval.
    assert first.count('class="mean"') == first.count('class="span"') == 3 + 3
    assert "share 3 arms and asked no question alike." in re.sub("<[^>]+>", "", " ".join(first.split()))
    assert '<span class="verdict">' not in first
    rows = compare_studies.conclusions_asked(sides)
    for i, side in enumerate(sides):
        line = re.search(
            rf'<th scope="row" class="wide">{side.name}</th>((?:<td class="\w+"><strong>\d+</strong></td>)+)', first
        )[1]
        printed = list(map(int, re.findall(r"<strong>(\d+)", line)))
        counts = Counter(row[f"verdict_{i}"] for row in rows)
        assert printed == [counts[verdict] for verdict in compare_studies.VERDICTS] and sum(printed) == len(rows)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (r'(<circle [^>]*cx=")[\d.]+', r"\g<1>17.31"),
        (r'(<line class="span"[^>]*x2=")[\d.]+|(<line [^>]*x2=")[\d.]+(?=[^>]*data-values)', r"\g<2>17.31"),
        (r"(<title>[^<]*t-interval of the mean )\d+", r"\g<1>11"),
        (r"(<title>[^<]*mean of )\d+(?= seeds)", r"\g<1>99"),
        (r'(<circle [^>]*data-row=")\d+', r"\g<1>99"),
        (r'(data-of="\d+ points\([^>]*>)[+\u2212][\d.]+', r"\g<1>+12.34"),
    ],
)
def test_a_page_that_is_not_its_files_is_refused(tmp_path, before, after):
    sides, html = page_of(tmp_path)
    compare_studies.check_numbers(html, sides, tmp_path)
    changed = re.sub(before, after, html, count=1)
    assert changed != html
    with pytest.raises(StudyError, match="are not those of its files"):
        compare_studies.check_numbers(changed, sides, tmp_path)


@pytest.mark.parametrize(
    ("value", "told"),
    [
        ("71.5", r"runs.tsv, line 4: test_accuracy is '71.5'; write a fraction from 0 to 1, as 0.7950"),
        ("0,715", "test_accuracy is '0,715'"),
        ("", "test_accuracy is ''"),
        ("nan", "test_accuracy is 'nan'"),
    ],
)
def test_an_accuracy_that_is_no_fraction_is_refused(tmp_path, value, told):
    place = study(tmp_path / "own", "own", {("fairseq", "random"): [0.7, 0.71, value]})
    with pytest.raises(StudyError, match=told):
        compare_studies.Side(place)


def test_a_run_that_stands_twice_is_refused(tmp_path):
    place = study(tmp_path / "own", "own", ARMS)
    rows = read_tsv(f"{place}/runs.tsv")
    write_tsv(f"{place}/runs.tsv", [*rows, rows[0]], COLUMNS)
    with pytest.raises(StudyError, match="runs.tsv has fairseq-pretrained/seed1 twice; keep one row of a run"):
        compare_studies.Side(place)


def test_a_study_led_by_another_measure_is_refused(tmp_path):
    place = study(tmp_path / "own", "own", ARMS)
    led = [
        row | {"measure": "macro_f1", "valid_score": 0.5, "test_score": 0.5} for row in read_tsv(f"{place}/runs.tsv")
    ]
    write_tsv(f"{place}/runs.tsv", led, tuple(led[0]))
    with pytest.raises(StudyError, match="runs.tsv is of a study that macro-F1 leads; only studies led by accuracy"):
        compare_studies.main(place, LAB, str(tmp_path / "page.html"))
    assert not (tmp_path / "page.html").exists()


def test_faults_name_the_table(tmp_path):
    with pytest.raises(StudyError, match="nowhere"):
        compare_studies.Side(str(tmp_path / "nowhere"))
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
