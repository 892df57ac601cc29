"""The published files: no words of others' reviews, and in the pages no more than the tables say."""

import pytest

from common.errors import StudyError
from common.files import read_tsv, write_json, write_lines, write_text, write_tsv
from support.learning_study import finetuning, make_curves
from tools import publish, published_conclusions
from tools.published_answers import answer, in_short, when
from tools.published_curves import by_amount
from tools.published_recipes import by_recipe


def test_a_page_with_the_words_of_reviews_is_not_published(tmp_path):
    write_json(tmp_path / "data" / "manifest.json", {"synthetic": False})
    (tmp_path / "errors").mkdir()
    publish.check_texts(str(tmp_path))
    write_lines(tmp_path / "errors" / "hardest.jsonl", ['{"id": 3}', '{"id": 4, "text": "Un livre."}'])
    with pytest.raises(StudyError, match="set report.show_texts to false and build the report again"):
        publish.check_texts(str(tmp_path))
    write_lines(tmp_path / "errors" / "hardest.jsonl", ['{"id": 3}', '{"id": 4}'])
    publish.check_texts(str(tmp_path))
    # The project's own reviews may be read by anybody.
    write_json(tmp_path / "data" / "manifest.json", {"synthetic": True})
    write_lines(tmp_path / "errors" / "hardest.jsonl", ['{"id": 4, "text": "Un livre."}'])
    publish.check_texts(str(tmp_path))


def test_the_largest_class_is_no_linear_model(tmp_path):
    # Where a linear model always answers the largest class, too, both are as good on validation.
    rows = [
        {"baseline": "majority", "features": "always class 1", "valid_accuracy": 0.8, "test_accuracy": 0.81},
        {"baseline": "tfidf_words", "features": "TF-IDF of words", "valid_accuracy": 0.8, "test_accuracy": 0.82},
    ]
    write_tsv(tmp_path / "baselines.tsv", rows, tuple(rows[0]))
    row = {"arm": "fairseq-random", "framework": "fairseq", "init": "random", "n_seeds": 1, "mean": 0.7, "sd_ddof1": ""}
    write_tsv(tmp_path / "test_accuracy.tsv", [row], tuple(row))
    write_tsv(tmp_path / "questions.tsv", [ANSWERED], tuple(ANSWERED))
    arm = {"framework": "fairseq", "model": "checkpoint"}
    compared = [
        arm
        | {"arm": f"fairseq-{init}", "init": init, "baseline": name, "difference": d, "low": d - 0.01, "high": d + 0.01}
        for init, d in (("pretrained", -0.02), ("random", -0.1))
        for name in ("tfidf_words", "tfidf_characters")
    ]
    write_tsv(tmp_path / "statistics" / "baselines.tsv", compared, tuple(compared[0]))
    text = publish.summary(str(tmp_path), "x")
    assert (
        "- A linear model chosen on validation (TF-IDF of words) reaches 82.00 %, 2.00 points more than fairseq "
        "pretrained (95 % interval +1.00 to +3.00)." in text
    )
    (ahead,) = publish.beside(str(tmp_path), "tfidf_words", lambda row: row["init"] == "random")
    assert ahead == "10.00 points more than fairseq random (95 % interval +9.00 to +11.00)"
    write_tsv(
        tmp_path / "statistics" / "baselines.tsv",
        [compared[0] | {"difference": 0.004}],
        tuple(compared[0]),
    )
    (behind,) = publish.beside(str(tmp_path), "tfidf_words")
    assert behind == "0.40 points less than fairseq pretrained (95 % interval −3.00 to −1.00)"


def test_a_page_that_lacks_a_mark_is_refused_before_anything_is_written(tmp_path):
    start, end = publish.marks("own")
    write_text(tmp_path / "results" / "report.html", "<html></html>")
    write_text(tmp_path / "results" / "ro-crate-metadata.json", '{"@graph": []}')
    write_text(tmp_path / "whole.md", f"{start}\n{end}\n")
    config = {"study": "own", "finetuning": {"arms": {}, "seeds": []}, "qa": {"enabled": False}}
    for page, told in (("<!-- own-summary -->", "own-summary"), (f"{publish.CONCLUSIONS[0]}", "conclusions")):
        pages = [str(tmp_path / name) for name in ("whole.md", "short.md")]
        write_text(pages[0], f"{start}\n{end}\n" + (page if told == "conclusions" else ""))
        write_text(pages[1], page if told != "conclusions" else "")
        with pytest.raises(StudyError, match=f"the page needs the marks <!-- {told} -->"):
            publish.main(str(tmp_path / "results"), config, "own.yaml", str(tmp_path / "published" / "own"), pages)
        assert not (tmp_path / "published").exists()


def test_a_study_led_by_another_measure_is_refused(tmp_path):
    config = {"study": "own", "measure": "macro_f1"}
    with pytest.raises(StudyError, match="the published pages are tables of accuracy, and own is led by macro_f1"):
        publish.main(str(tmp_path), config, "own.yaml", str(tmp_path / "published"), [])
    assert not (tmp_path / "published").exists()


def test_every_name_of_a_study_is_found_on_the_page(tmp_path):
    names = ["open", "open-published", "stars2", "My_study.v1"]
    page = "\n".join("\n".join(publish.marks(name)) for name in names)
    assert publish.studies_on(page) == names
    # Two of them have their place on the page, and no folder yet.
    for name in names[1:3]:
        (tmp_path / name).mkdir()
    assert publish.published_on(page, str(tmp_path)) == [str(tmp_path / name) for name in names[1:3]]


BEST = {"pretrained": "3e-05", "random": "0.0003"}


def write_recipes(folder, **bounds):
    """Write the two tables of a study of two starts at three rates."""
    arms = [
        {"pair": "Hugging Face", "arm": f"{init}-{rate}", "init": init, "peak_lr": rate, "epochs": "5", "n_seeds": "3"}
        | {"n_valid": "200", "valid_mean": mean + 0.01, "mean": mean, "sd_ddof1": 0.004, "best": BEST[init] == rate}
        for init, rates in (
            ("pretrained", {"1e-05": 0.805, "3e-05": 0.835, "0.0003": 0.78}),
            ("random", {"1e-05": 0.67, "3e-05": 0.75, "0.0003": 0.795}),
        )
        for rate, mean in rates.items()
    ]
    rows = [
        {"pair": "Hugging Face", "peak_lr": rate, "epochs": "5", "difference": difference, "level": "0.95"}
        | {"arm_a": f"pretrained-{rate}", "arm_b": f"random-{rate}"}
        | {"joint_low": difference - 0.02, "joint_high": difference + 0.02}
        | bounds
        for rate, difference in (("1e-05", 0.135), ("3e-05", 0.085), ("0.0003", -0.015))
    ]
    write_tsv(folder / "recipes.tsv", arms, tuple(arms[0]))
    write_tsv(folder / "recipes" / "differences.tsv", rows, tuple(rows[0]))


def test_a_study_of_recipes_is_told_by_recipe(tmp_path):
    write_recipes(tmp_path)
    text = by_recipe(str(tmp_path))
    rows = [line for line in text.splitlines() if line.startswith("| ") and "---" not in line and "--:" not in line]
    assert rows[1] == "| 5 | 1e-5 | 80.50 ± 0.40 | 67.00 ± 0.40 | +13.50 (+11.50 to +15.50) |"
    assert rows[3].endswith("| \N{MINUS SIGN}1.50 (\N{MINUS SIGN}3.50 to +0.50) |") and len(rows) == 4
    # The chosen arm is the best on validation, with its rate.
    assert (
        "- Pretrained: validation chose peak rate 3e-5 and 5 epochs (84.50 % of 200; 83.50 ± 0.40 % on test)." in text
    )
    assert text.endswith(
        "- Random: validation chose peak rate 3e-4 and 5 epochs (80.50 % of 200; 79.50 ± 0.40 % on test)."
    )
    # One seed has no interval.
    write_recipes(tmp_path, joint_low="", joint_high="")
    assert "| +13.50 |" in by_recipe(str(tmp_path))


def test_a_study_of_learning_curves_is_told_by_amount(tmp_path):
    make_curves(tmp_path, finetuning())
    rows, simple = (read_tsv(tmp_path / "learning_curves" / f"{name}.tsv") for name in ("means", "baselines"))
    reviews = {(row["start"], row["amount"]): row for row in rows if row["curve"] == "labelled reviews"}
    simple = {(row["features"], row["n_train"]): row for row in simple}

    def cell(init, amount):
        row = reviews[f"Hugging Face, {init}", amount]
        return f"{100 * float(row['mean']):.2f} ± {100 * float(row['sd_ddof1']):.2f}"

    first, *tables = by_amount(str(tmp_path)).split("\n\n")
    assert first == "Test accuracy in percent: mean ± SD (ddof 1) of 3 seeds; the simple models have one value."
    by_reviews, by_updates = (text.splitlines() for text in tables)
    models = [f"words of tfidf_{name}" for name in ("words", "characters")]
    head = f"| Labelled reviews | Hugging Face, pretrained | Hugging Face, random | {' | '.join(models)} |"
    assert by_reviews[0] == head and [row.split(" | ")[0] for row in by_reviews[2:]] == ["| 100", "| 300", "| 1800"]
    for row in by_reviews[2:]:
        amount, pretrained, random, *words = row.strip("| ").split(" | ")
        assert (pretrained, random) == (cell("pretrained", amount), cell("random", amount))
        assert words == [f"{100 * float(simple[name, amount]['test_accuracy']):.2f}" for name in models]
    # Simple models know nothing of pretraining, and all reviews from random weights are no updates of it.
    assert by_updates[0] == "| Pretraining updates | Hugging Face |" and len(by_updates) == 6
    assert by_updates[2] == f"| 0 | {cell('random', '1800')} |"
    assert by_updates[-1] == f"| 9000 | {cell('pretrained', '1800')} |"


def test_of_several_recipes_the_chosen_ones_are_told(tmp_path):
    """Two starts that share no recipe; the pairs of arms are left to their table."""
    write_recipes(tmp_path)
    (tmp_path / "recipes" / "differences.tsv").unlink()
    rows = [row | {"start": f"one {row['init']}"} for row in read_tsv(tmp_path / "recipes.tsv")]
    write_tsv(tmp_path / "recipes.tsv", rows, tuple(rows[0]))
    (tmp_path / "test_accuracy.md").write_text("the table\n")
    lines = publish.by_arm(str(tmp_path), "x").splitlines()
    assert lines[2:] == [
        "- one pretrained: validation chose peak rate 3e-5 and 5 epochs (84.50 % of 200; 83.50 ± 0.40 % on test).",
        "- one random: validation chose peak rate 3e-4 and 5 epochs (80.50 % of 200; 79.50 ± 0.40 % on test).",
        "",
        "Every pair of arms, exploratory: [pairs.tsv](x/statistics/pairs.tsv).",
    ]


def test_a_studys_rates_are_told_by_start_where_they_differ(tmp_path):
    runs = [{"arm": f"{letter}-{init}", "init": init} for letter in "fh" for init in ("pretrained", "random")]
    write_tsv(tmp_path / "runs.tsv", runs, ("arm", "init"))

    def told(*cells):
        rows = [
            dict(zip(("setting", "fairseq", "huggingface"), (name, *of), strict=True)) | {"equal": "", "note": ""}
            for name, of in (("peak_lr", cells), ("total_updates", ("1125", "1125")))
        ]
        write_tsv(tmp_path / "protocol_diff.tsv", rows, tuple(rows[0]))
        return published_conclusions.recipe(str(tmp_path))

    assert told("1e-05", "1e-05") == "peak rate 1e-05, 1125 updates"
    assert told("1e-05", "2e-05") == "peak rate 1e-05 and 2e-05, 1125 updates"
    own = [f"{letter}-pretrained: 3e-05; {letter}-random: 0.0001" for letter in "fh"]
    by_start = ["pretrained: 3e-05; random: 0.0001"] * 2
    for cells in (own, by_start):
        assert told(*cells) == "peak rate 3e-05 (pretrained) and 0.0001 (random), 1125 updates"


def test_a_study_of_many_arms_of_a_kind_is_not_asked_the_conclusions(tmp_path):
    rows = [{"arm": name, "framework": "huggingface", "init": "pretrained"} for name in ("low", "low", "high")]
    write_tsv(tmp_path / "runs.tsv", rows, tuple(rows[0]))
    assert not published_conclusions.is_asked(str(tmp_path))
    write_tsv(tmp_path / "runs.tsv", rows[:2], tuple(rows[0]))
    assert published_conclusions.is_asked(str(tmp_path))


ANSWERED = {"ask": "So?", "contrast": "a - b", "measure": "accuracy", "unit": "share", "n_seeds_each": "2 2"}
ANSWERED |= {
    "score_difference": "0.02",
    "score_difference_low": "0.01",
    "score_difference_high": "0.03",
    "level": "0.95",
}
ANSWERED |= {
    "equal_within": "",
    "p_holm": "0.01",
    "validation_chose": "",
    "n_family": "4",
    "answer": "difference",
    "n_runs_then": "0",
}


def test_a_study_that_asked_is_told_in_short_by_its_answers(tmp_path):
    rows = [
        ANSWERED,
        ANSWERED | {"answer": "equal", "score_difference": "-0.002", "equal_within": "0.015"},
        ANSWERED | {"answer": "open", "contrast": "a - b - c + d"},
        # A simple model, and another measure, are left to the report.
        ANSWERED | {"n_seeds_each": "2 -", "contrast": "a - tfidf_words"},
    ]
    write_tsv(tmp_path / "questions.tsv", rows, tuple(ANSWERED))
    assert in_short(tmp_path) == [
        "Difference shown, points (95 % interval): a − b +2.00 (+1.00 to +3.00).",
        "Equal within 1.50: a − b −0.20 (+1.00 to +3.00). Not settled: (a − b) − (c − d) +2.00 (+1.00 to +3.00). "
        "Corrected for 4 [questions](docs/guides/questions.md#what-the-answers-mean).",
    ]
    later = ANSWERED | {"n_runs_then": "3"}
    assert when([ANSWERED]) == "before any run was finished"
    assert when([later, later]) == "afterwards, when 3 runs were finished: take the answers as hints"
    assert when([ANSWERED, later]).startswith("afterwards; 1 of 2, when 3 runs")
    chosen = ANSWERED | {"contrast": "best_of(a,b) - c", "validation_chose": "best of a, b: a (2 of 2 seeds)"}
    assert "So?** Difference shown: best of a, b − c is +2.00 points" in answer(chosen)
    simple = ANSWERED | {"contrast": "fairseq-random - best_of(baselines)"}
    assert "Difference shown: fairseq random − best simple model is" in answer(simple)
    assert answer(chosen).endswith(
        "Validation chose, for each seed by the other seeds, best of a, b: a (2 of 2 seeds)."
    )


def test_an_answer_says_which_side_is_better_where_it_is_not_plain():
    row = ANSWERED | {"measure": "answer_loss", "unit": "nats", "score_difference": "-0.5"}
    assert "is -0.500".replace("-", "−") in answer(row) and "of which lower is better" in answer(row)
    assert "is better" not in answer(ANSWERED)
