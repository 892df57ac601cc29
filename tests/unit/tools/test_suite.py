"""Suites: tables and page of a few finished studies, whatever is refused, and what the suite's workflow plans."""

import os
import re
import shutil
import subprocess
import sys

import pytest
import yaml

from common.errors import StudyError
from common.files import read_tsv, write_tsv
from support import studies, suites
from support.suites import QUESTIONS, write_crate, write_finished, write_suite
from tools import suite
from tools.suite_settings import note_finished, read_suite, settle

NAMES = ("set1", "set2", "set3")


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """A folder with three finished studies, written once."""
    folder = tmp_path_factory.mktemp("suite")
    for name in NAMES:
        write_finished(folder, name)
    return folder


@pytest.fixture(autouse=True)
def few_draws(monkeypatch):
    """Draw what suffices here."""
    monkeypatch.setitem(suite.OPTIONS, "bootstrap", 400)


@pytest.fixture
def root(written, tmp_path, monkeypatch):
    """A copy of the folder, in which commands run."""
    shutil.copytree(written, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def tables(root):
    return {name: read_tsv(root / "results" / "suites" / "tiny" / f"{name}.tsv") for name in suite.COLUMNS}


def test_the_page_has_every_study_and_the_numbers_of_its_tables(root):
    suite.main(write_suite(root, NAMES))
    found, folder = tables(root), root / "results" / "suites" / "tiny"
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert all(f'href="../../{name}/report.html"' in page for name in NAMES)
    assert len(found["sets"]) == 9 and page.count('class="gap"') == 3 * (3 + 1)
    for row in found["questions"]:
        of_sets = [one for one in found["sets"] if one["question"] == row["question"]]
        # Every set counts alike.
        mean = sum(float(one["score_difference"]) for one in of_sets) / 3
        assert float(row["score_difference"]) == pytest.approx(mean)
        assert f"{100 * mean:+.2f}".replace("-", "\u2212") in page
        ahead = sum(float(one["score_difference"]) > 0 for one in of_sets)
        shown = sum(one["answer"] == "difference" and float(one["score_difference"]) > 0 for one in of_sets)
        assert (int(row["n_ahead"]), int(row["n_shown_ahead"])) == (ahead, shown)
        assert float(row["low"]) <= float(row["bootstrap_low"]) and float(row["high"]) >= float(row["bootstrap_high"])
        assert row["others_low"] == row["others_answer"] == ""
    assert "too few to say what other data sets would show" in " ".join(page.split())
    assert "The reviews of some of these sets were written by a program" in page
    # The same studies give the same bytes.
    suite.main(write_suite(root, NAMES))
    assert (folder / "report.html").read_text(encoding="utf-8") == page


@pytest.mark.parametrize("n_sets", [5, 6])
def test_other_sets_are_spoken_of_from_six_on(tmp_path, monkeypatch, n_sets):
    names = [f"set{number}" for number in range(n_sets)]
    for name in names:
        write_finished(tmp_path, name, n=60, seeds=(1, 2))
    monkeypatch.chdir(tmp_path)
    suite.main(write_suite(tmp_path, names))
    row = tables(tmp_path)["questions"][0]
    assert bool(row["others_low"]) == (n_sets == 6)
    if n_sets == 6:
        assert float(row["others_low"]) <= float(row["low"]) and float(row["others_high"]) >= float(row["high"])
        assert float(row["others_p"]) >= float(row["p"])


def test_arms_that_nothing_separates_are_one_group(root):
    suite.main(write_suite(root, NAMES))
    rows = {row["arm"]: row for row in tables(root)["groups"]}
    # `a` and `c` have one skill, `b` and the simple models have less.
    assert {name for name, row in rows.items() if row["group"] == "1"} == {"a", "c"}
    assert sum(float(row["best_share"]) for row in rows.values()) == pytest.approx(1)
    assert sum(int(row["n_best"]) for row in rows.values()) >= 3


def test_one_seed_is_given_no_interval(tmp_path, monkeypatch):
    for name in NAMES:
        write_finished(tmp_path, name, n=60, seeds=(1,))
    monkeypatch.chdir(tmp_path)
    suite.main(write_suite(tmp_path, NAMES))
    assert {(row["answer"], row["low"], row["p"]) for row in tables(tmp_path)["questions"]} == {("one_seed", "", "")}


def rewritten(path, column, value, row=0):
    rows = read_tsv(path)
    rows[row][column] = value
    write_tsv(path, rows, list(rows[0]))


def changed_record(root):
    path = next((root / "results" / "set2" / "predictions" / "a").glob("*.tsv"))
    path.write_text(path.read_text().replace("0.8", "0.9"))


def changed_table(root):
    rewritten(root / "results" / "set2" / "questions.tsv", "score_difference", "0.5")


def table_against_predictions(root):
    changed_table(root)
    write_crate(root / "results" / "set2")


def unfinished(root):
    (root / "results" / "set2" / "settings.json").unlink()


def again(**facts):
    return lambda root: write_finished(root, "set2", **facts)


OTHER = [QUESTIONS[0] | {"ask": "Other?"}, QUESTIONS[1] | {"equal_within": 2}, QUESTIONS[2]]
REFUSED = [
    (changed_record, "seed1.tsv is not the file that the evaluation of run a/seed1 had"),
    (changed_table, "set2/questions.tsv is not the file that the study made"),
    (table_against_predictions, "questions.tsv says 0.5 to 'Does A beat B.', and the predictions"),
    (unfinished, "results/set2 holds no finished study"),
    (again(arms=("a", "b"), questions=QUESTIONS[:1]), "results/set2 has no arm c, which 'Is A as good as C.' compares"),
    (again(questions=QUESTIONS[:2]), "results/set2 does not ask 'Does A beat a linear model.'"),
    (again(questions=OTHER), "results/set2 does not ask 'Is A as good as C.' .*equal_within: 3"),
]


@pytest.mark.parametrize(("plant", "said"), REFUSED, ids=range(len(REFUSED)))
def test_a_study_that_does_not_fit_is_refused(root, plant, said):
    plant(root)
    with pytest.raises(StudyError, match=said):
        suite.main(write_suite(root, NAMES))
    assert not (root / "results" / "suites").exists()


def test_studies_led_by_two_measures_are_refused(root):
    sets = [suite.read_set(f"results/{name}") for name in ("set1", "set3")]
    sets[1].settings["measure"] = "macro_f1"
    with pytest.raises(StudyError, match="led by accuracy, and .*set3 by macro_f1: a mean over both has no unit"):
        suite.tables_of(sets, QUESTIONS)


def test_candidates_that_differ_are_refused(root):
    sets = [suite.read_set(f"results/{name}") for name in NAMES]
    sets[2].settings["finetuning"]["baselines"] = ["tfidf_words"]
    with pytest.raises(StudyError, match="chooses among .*tfidf_characters.* in .*set1, and among .* in .*set3"):
        suite.tables_of(sets, QUESTIONS[2:])


def test_studies_whose_seeds_were_chosen_on_the_way_are_refused(root):
    place = root / "results" / "set2" / "settings.json"
    place.write_text(place.read_text().replace('"seeds":', '"looks": [2, 3],\n "seeds":'))
    with pytest.raises(StudyError, match="set2: its seeds have looks"):
        suite.main(write_suite(root, NAMES))


FILES = [
    ({"studies": ["set1.yaml"]}, "studies names 1; a suite is over two or more"),
    ({"studies": ["set1.yaml", "set1.yaml"]}, "are both the study set1; a set counts once"),
    ({"studies": ["set1.yaml", "set9.yaml"]}, "there is no .*set9.yaml"),
    ({"stuides": []}, "unknown key stuides"),
    ({"suite": "a b"}, "suite is 'a b'"),
    ({"questions": []}, "questions is empty"),
    ({"questions": [QUESTIONS[0], QUESTIONS[0]]}, "asked twice"),
    ({"questions": [{"ask": "?", "compare": ["a"]}]}, "entry 1: compare takes two arms"),
    ({"questions": [{"ask": "?", "compare": ["a", "b"], "margin": 1}]}, "entry 1 has other keys"),
]


@pytest.mark.parametrize(("facts", "said"), FILES, ids=range(len(FILES)))
def test_a_faulty_file_is_refused(root, facts, said):
    facts = {key: [str(root / one) for one in value] if key == "studies" else value for key, value in facts.items()}
    with pytest.raises(StudyError, match=said):
        read_suite(write_suite(root, NAMES, **facts))


def test_files_over_the_studies_give_them_other_names(root):
    found = read_suite(write_suite(root, NAMES, over=str(root / "set1.yaml"), suffix="-quick"))
    assert [entry.study for entry in found.entries] == [f"{name}-quick" for name in NAMES]
    assert [len(entry.files) for entry in found.entries] == [2, 2, 2]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (r'(<circle [^>]*cx=")[\d.]+', r"\g<1>17.31"),
        (r'(<line [^>]*x2=")[\d.]+(?="[^>]*data-row)', r"\g<1>17.31"),
        (r'(data-of="\d+ points\([^>]*>)[+\u2212][\d.]+', r"\g<1>+12.34"),
        (r"(Every set counts alike)", r"\g<1>, all 7 of them"),
    ],
)
def test_a_page_that_is_not_its_tables_is_refused(root, before, after):
    suite.main(write_suite(root, NAMES))
    folder = str(root / "results" / "suites" / "tiny")
    with open(f"{folder}/report.html", encoding="utf-8") as handle:
        html = handle.read()
    assert suite.check_numbers(html, folder)
    changed = re.sub(before, after, html, count=1)
    assert changed != html
    with pytest.raises(StudyError, match="are not those of its tables"):
        suite.check_numbers(changed, folder)


# --- the workflow -----------------------------------------------------------------------------------------------------


def planned(root, path):
    words = [sys.executable, "-m", "snakemake", "--snakefile", os.path.join(studies.ROOT, "suites", "Snakefile")]
    words += ["--configfile", path, "--cores", "1", "--workflow-profile", "none", "--dry-run"]
    done = subprocess.run(words, cwd=root, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=120)
    return done.returncode, studies.planned(done.stdout), done.stdout


@pytest.mark.workflow
def test_only_studies_that_are_not_finished_are_run(root):
    path = write_suite(root, NAMES[:2])
    assert planned(root, path)[1] == {"all": 1, "run_study": 2, "build_suite": 1}
    for entry in read_suite(path).entries:
        note_finished(entry.study, read_suite(path).stamp(entry))
    # A third set is added: the other two stay as they are.
    code, jobs, said = planned(root, write_suite(root, NAMES))
    assert (code, jobs) == (0, {"all": 1, "run_study": 1, "build_suite": 1}), said
    assert "wildcards: study=set3" in said
    changed_record(root)
    code, _, said = planned(root, path)
    assert code == 1 and "is not the file that the evaluation of run a/seed1 had" in said


def test_a_study_that_lost_a_file_is_run_again(root):
    found = read_suite(write_suite(root, NAMES))
    for entry in found.entries:
        note_finished(entry.study, found.stamp(entry))
    settle(found)
    assert all(os.path.exists(found.stamp(entry)) for entry in found.entries)
    (root / "results" / "set2" / "runs.tsv").unlink()
    settle(found)
    assert [os.path.exists(found.stamp(entry)) for entry in found.entries] == [True, False, True]
    with pytest.raises(StudyError, match="holds no finished study"):
        note_finished("set2", "stamp")


def test_the_english_suites_ask_what_their_studies_ask():
    for name in ("english", "english-quick"):
        found = read_suite(os.path.join(studies.ROOT, "suites", f"{name}.yaml"), studies.ROOT)
        for entry in found.entries:
            with open(entry.files[0], encoding="utf-8") as handle:
                settings = yaml.safe_load(handle)
            assert settings["questions"] == found.questions
            assert all(set(arms) <= {*settings["finetuning"]["arms"], "best of baselines"} for arms in compared(found))


def compared(found):
    return [question["compare"] for question in found.questions]


def test_the_stand_in_studies_are_answered_by_their_rule(root):
    rows = read_tsv(root / "results" / "set1" / "questions.tsv")
    assert [row["contrast"] for row in rows] == ["a - b", "a - c", "a - best_of(baselines)"]
    assert suites.SIMPLE == ("tfidf_words", "tfidf_characters")
