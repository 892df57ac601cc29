"""The report page: right for every study, self-contained, accessible by structure, the same bytes at every build."""

import re
import shutil
from html.parser import HTMLParser
from pathlib import Path

import pytest

pytest.importorskip("jinja2")
pytest.importorskip("matplotlib")

import aggregate_runs
import build_report
import plot_accuracy_by_epoch
import plot_arms
import plot_pretraining
import select_checkpoint
import tabulate_test_accuracy
from common import page
from common.arms import arms_of
from common.errors import StudyError
from common.files import read_json, read_tsv, write_json, write_tsv
from common.report_sections import qa_base
from common.study import load_study
from published import write_published

ROOT = Path(__file__).resolve().parents[2]
TEMPLATE = ROOT / "report" / "report.html.j2"
SETTINGS = {
    "study": "published",
    "mirror": "/somewhere/on/this/machine",
    "checksums": "studies/checksums.tsv",
    "sentiment": {
        "arms": [
            {"framework": "fairseq", "init": "pretrained"},
            {"framework": "fairseq", "init": "random"},
            {"framework": "huggingface", "init": "pretrained"},
        ],
        "seeds": [1, 2, 3],
    },
    "report": {"colours": {"fairseq-random": "#D55E00"}},
}


def make_study(folder, n_seeds=3, n_arms=3, synthetic=False):
    """Run the published runs (or fewer of them) up to the page's inputs; return build_report's dictionary."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = write_published(folder)
    keep = [place for place in range(9) if place % 3 < n_seeds and place // 3 < n_arms]
    runs, histories, predictions = ([paths[kind][k] for k in keep] for kind in ("runs", "histories", "predictions"))
    manifest = folder / "data" / "manifest.json"
    if synthetic:
        write_json(manifest, read_json(manifest) | {"synthetic": True, "source": "embedded"})
    selected = [path.replace("history.tsv", "selected.json") for path in histories]
    for history, target in zip(histories, selected, strict=True):
        select_checkpoint.main(history, target)
    tables = folder / "runs.tsv", folder / "history.tsv"
    aggregate_runs.main(runs, selected, histories, predictions, [], manifest, *tables, "published")
    accuracy = [folder / f"test_accuracy.{ending}" for ending in ("tsv", "md", "tex")]
    tabulate_test_accuracy.main(tables[0], *accuracy)
    figures = [folder / "figures" / f"arms.{ending}" for ending in ("svg", "png", "tsv")]
    plot_arms.main(tables[0], manifest, *figures, None)
    curves = []
    for arm in arms_of(read_tsv(tables[0])):
        made = [folder / "figures" / "accuracy_by_epoch" / f"{'-'.join(arm)}.{e}" for e in ("svg", "png", "tsv")]
        plot_accuracy_by_epoch.main(*tables, manifest, *made, *arm, None)
        curves.append(made)
    return {
        "runs": str(tables[0]),
        "history": str(tables[1]),
        "test_accuracy": str(accuracy[0]),
        "test_accuracy_markdown": str(accuracy[1]),
        "test_accuracy_latex": str(accuracy[2]),
        "curves": [str(made[0]) for made in curves],
        "curves_data": [str(made[2]) for made in curves],
        "arms_figure": str(figures[0]),
        "arms_data": str(figures[2]),
        "manifest": str(manifest),
        "run_records": runs,
    }


def build(folder, files, settings=SETTINGS, commit="0123abc"):
    build_report.main(files, str(TEMPLATE), str(folder / "report.html"), settings, commit)
    return (folder / "report.html").read_text(encoding="utf-8")


class Structure(HTMLParser):
    """Collects what the tests ask of the page, and that every element is closed in order."""

    VOID = {"meta", "link", "img", "br"}

    def __init__(self, html):
        super().__init__()
        self.stack, self.ids, self.links, self.headings, self.images, self.elements = [], [], [], [], [], []
        self.feed(html)
        assert not self.stack, self.stack

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        self.elements.append((tag, attributes))
        if tag not in self.VOID:
            self.stack.append(tag)
        if "id" in attributes:
            self.ids.append(attributes["id"])
        if tag == "a":
            self.links.append(attributes["href"])
        if re.fullmatch("h[1-6]", tag):
            self.headings.append(int(tag[1]))
        if tag == "img":
            self.images.append(attributes)

    def handle_endtag(self, tag):
        assert self.stack.pop() == tag


def text_of(html):
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", html.split("<body>")[1].split("<script>")[0])).replace(
        "\u00a0", " "
    )


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    folder = tmp_path_factory.mktemp("report") / "published"
    files = make_study(folder)
    return folder, files, build(folder, files)


def test_the_answer_and_the_table_show_the_published_figures(study):
    text = text_of(study[2])
    assert "The highest mean test accuracy is that of Hugging Face, pretrained: 80.22 % (mean of 3 seeds" in text
    assert "claims nothing about the arms" in text
    for figure in ("79.50", "0.87", "66.50", "1.01", "80.22", "0.14", "79.90", "78.50", "80.10", "65.40", "80.05"):
        assert figure in text
    assert "synthetic" not in text.lower()


def test_the_sections_stand_in_order_and_name_their_files_and_rules(study):
    folder, _, html = study
    page_of = Structure(html)
    order = [identifier for identifier in page_of.ids if f'<section id="{identifier}"' in html]
    assert order == ["answer", "test-accuracy", "curves", "arms", "data", "settings", "sources", "provenance"]
    rules = set(re.findall(r"rule <code>(\w+)</code>", html))
    text = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "rules").glob("*.smk"))
    for rule in rules:
        assert re.search(rf"^ *rule {rule}:", text, re.MULTILINE), rule
    assert {"tabulate_test_accuracy", "aggregate_runs", "plot_accuracy_by_epoch", "plot_arms"} <= rules
    for link in page_of.links:
        if link.startswith("#"):
            assert link[1:] in page_of.ids
        else:
            assert not re.match(r"[a-z]+:|/", link), link
            assert (folder / link).is_file(), link


def test_the_page_is_self_contained_and_structured(study):
    html = study[2]
    page_of = Structure(html)
    assert html.startswith('<!DOCTYPE html>\n<html lang="en">')
    for tag, attributes in page_of.elements:
        for name in ("src", "srcset", "data", "action", "background"):
            assert (attributes.get(name) or "data:").startswith("data:"), (tag, attributes)
        if tag == "link":
            assert attributes["href"] == "data:,"
    assert "@import" not in html and "url(" not in html
    assert len(page_of.ids) == len(set(page_of.ids))
    assert page_of.headings[0] == 1 and page_of.headings.count(1) == 1
    assert all(b - a <= 1 for a, b in zip(page_of.headings, page_of.headings[1:], strict=False))
    assert len(page_of.images) == 4 and all(len(image["alt"]) > 40 for image in page_of.images)
    tables = [attributes for tag, attributes in page_of.elements if tag == "table"]
    assert len(tables) == sum(tag == "caption" for tag, _ in page_of.elements)
    assert all(attributes["scope"] in ("col", "row") for tag, attributes in page_of.elements if tag == "th")


def test_the_same_bytes_from_another_folder_and_another_mirror(study, tmp_path):
    folder, files, html = study
    moved = tmp_path / "elsewhere" / "published"
    shutil.copytree(folder, moved)
    (moved / "report.html").unlink()

    def move(path):
        return str(moved / Path(path).relative_to(folder))

    files = {name: move(p) if isinstance(p, str) else [move(q) for q in p] for name, p in files.items()}
    assert build(moved, files, SETTINGS | {"mirror": None}) == html
    assert str(folder) not in html and "somewhere" not in html


def test_synthetic_data_are_announced_everywhere(tmp_path):
    html = build(tmp_path, make_study(tmp_path, synthetic=True))
    body = html.split("<body>")[1]
    assert body.index("Synthetic data.") < body.index("<h1>")
    assert 'class="running"' in body and "position: fixed" in html
    assert '@top-center { content: "SYNTHETIC DATA"' in html
    page_of = Structure(html)
    tags = sum(attributes.get("class") == "tag" for _, attributes in page_of.elements)
    assert tags == len(page_of.images) + sum(tag == "table" for tag, _ in page_of.elements)
    assert "Synthetic data, written by a program" in (tmp_path / "test_accuracy.md").read_text(encoding="utf-8")


def test_one_seed_says_that_there_is_no_interval(tmp_path):
    text = text_of(build(tmp_path, make_study(tmp_path, n_seeds=1), SETTINGS | {"sentiment": {}}))
    assert "80.05 % (one seed, so no interval)" in text
    assert "one seed has neither spread nor interval" in text
    assert not re.search(r"\bnan\b|None|t-interval (?!$)\d", text)


def test_one_arm_claims_no_order(tmp_path):
    text = text_of(build(tmp_path, make_study(tmp_path, n_arms=1), SETTINGS | {"sentiment": {}}))
    assert "The study has one arm. Test accuracy of fairseq, pretrained: 79.50 %" in text
    assert "highest" not in text


def test_runs_that_failed_are_named(tmp_path):
    text = text_of(build(tmp_path, make_study(tmp_path, n_seeds=2)))
    assert (
        "Runs of the settings that have no result here: "
        "fairseq/pretrained/seed3, fairseq/random/seed3, huggingface/pretrained/seed3." in text
    )


def test_one_run_more_is_on_the_page_and_touches_no_other_row(tmp_path):
    """From two seeds to three: one run more for each arm."""
    fewer, more = (build(tmp_path / str(n), make_study(tmp_path / str(n), n_seeds=n)) for n in (2, 3))

    def rows(html):
        part = html.split("Every run: the epoch chosen on validation")[1].split("</table>")[0]
        return [text_of(f"<body>{row}<script>") for row in part.split("<tr>")[2:]]

    assert (len(rows(fewer)), len(rows(more))) == (6, 9)
    assert set(rows(fewer)) < set(rows(more))
    assert "Runs of the settings that have no result here" not in more


def test_a_study_without_question_answering_does_not_mention_it(study, tmp_path):
    folder, files, html = study
    settings = SETTINGS | {"qa": {"enabled": False}}
    text = text_of(build(tmp_path, files, settings))
    assert 'id="question-answering"' not in html
    assert not re.search(r"BLOOM|LoRA", text)


def test_the_base_model_is_named_for_what_it_is():
    config, _ = load_study(str(ROOT), str(ROOT / "studies" / "open.yaml"))
    base = config["qa"]["base"]
    assert qa_base(base).startswith("Base model: a BLOOM of 6 layers of width 512, trained by this study from random")
    assert qa_base(base | {"source": "hub"}) == "Base model: bigscience/bloom-560m, as published."
    assert "folder in the settings" in qa_base(base | {"source": "folder"})
    assert qa_base({}) == "Base model: unknown."


def test_provenance_shows_each_run_by_its_record_and_the_file_for_programs(study, tmp_path):
    folder, files, html = study
    old = text_of(html)
    assert "A dash: the run was made before this was recorded." in old
    crate = folder / "ro-crate-metadata.json"
    write_json(crate, {})
    records = []
    for place, path in enumerate(files["run_records"]):
        records.append(str(tmp_path / f"run{place}.json"))
        facts = {"cpu": "A processor", "cores": 1, "memory_mb": 2048, "gpu": None, "os": "Linux"}
        recorded = {"started": "2026-01-02T10:00:00+00:00", "commit": "feedbee", "settings_sha256": "5" * 64}
        write_json(records[-1], read_json(path) | recorded | {"machine": facts, "threads": 4})
    new = build(folder, files | {"run_records": records, "provenance": str(crate)})
    assert '<a href="ro-crate-metadata.json">' in new
    row = "fairseq/random/seed2 2026-01-02 10:00:00 feedbee 5555555555555555 A processor, 1 core, 2 GiB, Linux 4"
    assert row in text_of(new)
    assert "A dash: the run was made" not in text_of(new)


def test_equal_means_are_not_ranked(tmp_path):
    files = make_study(tmp_path)
    rows = read_tsv(files["test_accuracy"])
    for row in rows[::2]:
        row["mean"] = "0.8"
    write_tsv(files["test_accuracy"], rows, tuple(rows[0]))
    text = text_of(build(tmp_path, files))
    assert "fairseq, pretrained and Hugging Face, pretrained share the highest mean test accuracy, 80.00 %" in text


def test_verdicts_replace_the_disclaimer(study, tmp_path):
    folder, files, _ = study
    pairs = tmp_path / "pairs.tsv"
    write_tsv(pairs, [{"verdict": "The data do not tell the two frameworks apart."}], ("verdict",))
    build_report.main(files | {"pairs": str(pairs)}, str(TEMPLATE), str(tmp_path / "report.html"), SETTINGS)
    text = text_of((tmp_path / "report.html").read_text(encoding="utf-8"))
    assert "The data do not tell the two frameworks apart." in text
    assert "claims nothing about the arms" not in text


def test_the_answer_names_the_simple_model_that_validation_prefers():
    rows = [
        {"framework": "fairseq", "init": "pretrained", "mean": "0.8"},
        {"framework": "huggingface", "init": "random", "mean": "0.7"},
    ]

    def sentence(words, characters):
        found = {"majority": ("1", "1"), "tfidf_words": words, "tfidf_characters": characters}
        columns = ("valid_accuracy", "test_accuracy")
        return build_report.against_baselines(
            rows, [{"baseline": n, "features": n} | dict(zip(columns, v, strict=True)) for n, v in found.items()]
        ).replace("\u00a0", " ")

    # Not the one that does best on test.
    assert sentence(("0.9", "0.81"), ("0.8", "0.99")) == (
        "A linear model on tfidf_words, of the simple models on the same splits the best on validation, gets 81.00 % "
        "on test, above the mean of every arm."
    )
    assert sentence(("0.9", "0.75"), ("0.8", "0.99")).endswith(
        "75.00 % on test, above the mean of Hugging Face, random."
    )
    assert sentence(("0.9", "0.7"), ("0.8", "0.99")).endswith("70.00 % on test, not above the mean of any arm.")


def test_the_curve_of_a_checkpoint_made_here_is_shown(study, tmp_path):
    folder, files, html = study
    assert 'id="checkpoint"' not in html
    history = folder / "checkpoint" / "pretraining.tsv"
    history.parent.mkdir(exist_ok=True)
    points = [(500, "train", 7.2), (500, "valid", 6.4871), (9000, "train", 3.7), (9000, "valid", 3.8381)]
    rows = [{"update": u, "split": split, "loss": loss, "tokens": 9} for u, split, loss in points]
    write_tsv(history, rows, tuple(rows[0]))
    figures = [str(folder / "figures" / f"pretraining.{ending}") for ending in ("svg", "png")]
    plot_pretraining.main(history, files["manifest"], *figures)
    more = {"pretraining": str(history), "pretraining_figure": figures[0]}
    settings = SETTINGS | {"checkpoint": {"source": "pretrain"}}
    new = build(folder, files | more, settings)
    assert "6.49 nats a masked piece after 500 updates, 3.84 nats a masked piece after 9000 updates" in text_of(new)
    assert len(Structure(new).images) == len(Structure(html).images) + 1
    assert 'href="figures/pretraining.png"' in new and 'href="checkpoint/pretraining.tsv"' in new
    for source, words in {
        "fetch": "the published checkpoint, fetched",
        "folder": "in the folder of the settings",
    }.items():
        assert words in text_of(build(tmp_path, files, SETTINGS | {"checkpoint": {"source": source}}))
    (folder / "report.html").write_text(html, encoding="utf-8")


def test_text_from_files_is_escaped(study, tmp_path):
    folder, files, _ = study
    settings = SETTINGS | {"study": "<script>alert(1)</script>"}
    build_report.main(files, str(TEMPLATE), str(tmp_path / "report.html"), settings)
    html = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "<script>alert" not in html and "&lt;script&gt;alert" in html


def test_a_missing_input_is_named(study, tmp_path):
    _, files, _ = study
    for name in ("runs", "manifest"):
        with pytest.raises(StudyError, match=f"needs {name}"):
            build_report.main(files | {name: []}, str(TEMPLATE), str(tmp_path / "report.html"), SETTINGS)
    assert not (tmp_path / "report.html").exists()


def test_sections_without_files_are_left_out(study, tmp_path):
    _, files, _ = study
    build_report.main(files | {"curves": []}, str(TEMPLATE), str(tmp_path / "report.html"), SETTINGS)
    assert 'id="curves"' not in (tmp_path / "report.html").read_text(encoding="utf-8")


def test_a_tsv_becomes_a_table_in_one_call(tmp_path):
    path = tmp_path / "x.tsv"
    write_tsv(path, [{"name": "a", "n": 12345, "share": 0.5, "p": 0.00001}], ("name", "n", "share", "p"))
    study = page.Study({}, str(tmp_path), {})
    made = page.tsv_table(
        study,
        str(path),
        "some_rule",
        "A table",
        {
            "name": ("Name", page.as_text),
            "n": ("Count", page.as_integer),
            "share": ("Share (%)", page.as_percent),
            "p": ("p", page.as_p_value),
        },
    )
    assert [cell["text"] for cell in made["rows"][0]] == ["a", "12\u202f345", "50.00", "< 0.0001"]
    assert [column["number"] for column in made["columns"]] == [False, True, True, True]
    assert made["source"] == {"href": "x.tsv", "rule": "some_rule"}
    with pytest.raises(StudyError, match="x.tsv has no column other"):
        page.tsv_table(study, str(path), "some_rule", "A table", {"other": ("Other", page.as_text)})


def test_settings_are_flattened_and_machine_paths_cut():
    flat = build_report.flatten({"a": {"b": [1, 2], "c": [{"d": None}, {"d": "/home/me/x.txt"}]}, "e": {}})
    assert flat == [("a.b", "[1, 2]"), ("a.c[1].d", "null"), ("a.c[2].d", "x.txt"), ("e", "{}")]
