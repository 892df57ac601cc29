"""Every number of the report is computed again from the file that its record names."""

import base64
import random
import re
from fractions import Fraction
from pathlib import Path

import pytest

pytest.importorskip("jinja2")
pytest.importorskip("matplotlib")

from common.errors import StudyError
from common.files import read_tsv, study_path, write_text
from report import check_report, formats
from report.numbers import Derived, Value, derive, in_attribute
from report.reading import Reader
from report.recompute import FORMS, Sources, Unsound, check, parse, sources_of
from study.tables import columns_of
from support import planting
from support.report_study import make_study
from support.result_sets import COMMIT, TEMPLATES, check_page, make_page, make_whole

PLANTS = 1200


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    """A simulated study with every section: (folder, inputs, settings, page)."""
    folder = tmp_path_factory.mktemp("numbers") / "results" / "simulated"
    files, settings = make_whole(folder)
    return folder, files, settings, make_page(folder, files, settings)


@pytest.fixture
def sources(study):
    folder, files, settings, _ = study
    return sources_for(folder, files, settings)


def sources_for(folder, files, settings):
    paths = [path for given in files.values() for path in ([given] if isinstance(given, str) else given)]
    return Sources(paths, str(folder), settings, COMMIT)


def test_a_sound_page_passes_and_every_number_is_listed(study):
    folder, files, settings, html = study
    check_page(folder, files, settings)
    rows = read_tsv(folder / "numbers.tsv")
    assert set(rows[0]) == set(columns_of("report_numbers")) and len(rows) > 800
    assert all(row["file"] or row["formula"] for row in rows)
    mean = read_tsv(files["test_accuracy"])[0]["mean"]
    (row,) = [row for row in rows if row["where"] == "test-accuracy, table 1, row 1, Mean"]
    assert row == {
        "number": f"{100 * float(mean):.2f}",
        "where": "test-accuracy, table 1, row 1, Mean",
        "file": "results/simulated/test_accuracy.tsv",
        "row": "2",
        "column": "mean",
        "formula": "percent",
    }
    # Every section of the page has numbers in the list.
    sections = set(re.findall(r'<section id="([^"]*)"', html)) - {"sources", "glossary"}
    assert sections <= {row["where"].split(",")[0] for row in rows}


def test_the_published_runs_pass(tmp_path):
    """With the sections that need more than the tables of a simulated study: curves of training, parameters."""
    files = make_study(tmp_path)
    html = make_page(tmp_path, files, {"study": "published"})
    assert {'id="overfitting"', 'id="all-curves"', 'id="parameters"'} <= set(re.findall(r'id="[^"]*"', html))
    check_page(tmp_path, files, {"study": "published"})


def pages_of(html):
    """Return the page's sections, each as a page of its own: a wrong number touches one, and reading takes a while."""
    parts = re.split(r"(?=<section )|(?<=</section>)", html)
    sections = [part for part in parts if part.startswith("<section ")]
    return ["".join([parts[0], section, parts[-1]]) for section in sections]


@pytest.mark.slow
def test_planted_errors_are_caught(study, sources, capsys):
    pages, generator = pages_of(study[3]), random.Random(20)
    assert not any(check_report.faults(Reader(page), sources) for page in pages)
    weights = [len(planting.places(page)) for page in pages]
    caught = dict.fromkeys(planting.KINDS, 0)
    planted = dict.fromkeys(planting.KINDS, 0)
    missed = []
    while sum(planted.values()) < PLANTS:
        kind = planting.KINDS[sum(planted.values()) % len(planting.KINDS)]
        changed = planting.plant(generator.choices(pages, weights)[0], kind, generator)
        if changed is None:
            continue
        planted[kind] += 1
        if check_report.faults(Reader(changed), sources):
            caught[kind] += 1
        else:
            missed.append(kind)
    with capsys.disabled():
        told = ", ".join(f"{kind} {caught[kind]}/{planted[kind]}" for kind in planting.KINDS)
        print(f"\nplanted errors caught: {sum(caught.values())} of {PLANTS} ({told})")
    assert sum(caught.values()) >= 0.99 * PLANTS, missed
    assert min(planted.values()) == PLANTS // len(planting.KINDS)


def test_cells_that_changed_places_with_their_records_are_caught(study, sources, capsys):
    pages, generator, n, caught = pages_of(study[3]), random.Random(21), 0, 0
    pages = [page for page in pages if "<tbody>" in page]
    while n < 100:
        changed = planting.swapped_cells(generator.choice(pages), generator)
        if changed is not None:
            n, caught = n + 1, caught + bool(check_report.faults(Reader(changed), sources))
    with capsys.disabled():
        print(f"\ncells swapped together with their records, caught: {caught} of {n}")
    assert caught == n


def reprinted(record, value):
    """Return how the page would print another value under a record of one cell."""
    found = re.fullmatch(r"([a-z_]+)((?:,\d+)*)\([^()]*\)", record)
    return formats.FILTERS[found[1]](value, *map(int, found[2].split(",")[1:])) if found else value


def test_a_source_that_changed_after_the_page_is_caught(study, capsys):
    folder, files, settings, html = study
    generator, n, caught = random.Random(22), 0, 0
    page = Reader(html)
    numbers = [one for one in page.numbers if sources_of(one.record)[0]]
    sources = sources_for(folder, files, settings)
    while n < 100:
        one = generator.choice(numbers)
        file, line, column = sources_of(one.record)[0][0]
        if not line or file.endswith(".jsonl") or "ratio" in one.record:
            continue
        row = sources.row(file, int(line))
        kept, changed = row[column], None
        if re.fullmatch(planting.NUMBER, kept):
            changed = planting.nearby(kept, generator)
        if changed is None:
            continue
        row[column] = changed
        # A change below the last digit that is printed leaves the page right.
        if reprinted(one.record, Value(changed, file, int(line), column)) != one.text:
            n, caught = n + 1, caught + bool(check_report.faults(page, sources))
        row[column] = kept
    with capsys.disabled():
        print(f"\nsources changed behind the page, caught: {caught} of {n}")
    assert caught == n


def test_a_file_that_changed_is_read_again(study):
    folder, files, settings, html = study
    kept = (folder / "runs.tsv").read_text(encoding="utf-8")
    try:
        accuracy = read_tsv(files["runs"])[0]["test_accuracy"]
        write_text(folder / "runs.tsv", kept.replace(accuracy, "0.5", 1))
        with pytest.raises(StudyError, match=r"is not what its record .*runs.tsv\|2\|test_accuracy.* it should be 50"):
            check_page(folder, files, settings)
    finally:
        write_text(folder / "runs.tsv", kept)


@pytest.mark.parametrize(
    "typed",
    ["<p>it is 79.51 %.</p>", "<p>p = 0.04.</p>", '<img alt="41 of them">', "<h3>ddof 2</h3>", "<p>SHA-512</p>",
     '<p><a href="#answer">page 7</a></p>', "<ul><li>٣</li></ul>"],
)  # fmt: skip
def test_a_typed_number_is_an_error_that_names_it_and_its_place(study, sources, typed):
    html = study[3].replace("</section>", f"{typed}</section>", 1)
    # An image is a drawing without a file, too.
    fault, *others = check_report.faults(Reader(html), sources)
    assert len(others) == typed.startswith("<img")
    assert fault.endswith("has a number without a record") and "(answer, " in fault


def test_constants_count_only_whole():
    for text, bare in {"of SHA-256": 0, "SHA-2567": 1, "with ddof 1.5": 1, "ddof 1, n - 1.": 0, "xddof 1": 1}.items():
        assert len(Reader(f"<body><p>{text}</p></body>").bare) == bare, text


def test_the_title_is_the_heading(study, sources):
    html = re.sub("<title>Study simulated", "<title>Study 2", study[3])
    assert "is not the heading" in check_report.faults(Reader(html), sources)[0]


# (filter, options, value in the file, as printed, other texts that are refused)
PRINTED = [
    ("percent", (), "0.795", "79.50", ["79.5", "79.51", "-79.50", "0.80"]),
    ("percent", (0,), "0.95", "95", ["94", "95.0"]),
    ("percent", (), "-0.00001", "-0.00", ["0.00", "0.01"]),
    ("decimals", (3,), "2.71828", "2.718", ["2.72", "2.719", "27.18"]),
    ("significant", (2,), "6.3e-05", "6.3e-05", ["6.3", "6.3e-06", "6e-05", "6.30e-05"]),
    ("significant", (5,), "135.25", "135.25", ["135.3", "135.24"]),
    ("significant", (2,), "0.0999", "0.1", ["0.10", "0.09"]),
    ("significant", (2,), "0.0", "0", ["1", "0.1"]),
    ("p_text", (), "1e-300", "p = 1e-300", ["p = 1e-30", "p = 1", "1e-300"]),
    ("p_text", (), "0.2857", "p = 0.29", ["p = 0.28", "p = 0.3"]),
    ("p_value", (), "6.3e-05", "< 0.0001", ["6.3e-05", "< 0.001", "0"]),
    ("p_value", (), "0.0123", "0.012", ["0.013", "< 0.0001"]),
    ("points", (), "-0.0044", "\u22120.44", ["0.44", "+0.44", "-0.44"]),
    ("points", (), "0.0539", "+5.39", ["5.39", "\u22125.39"]),
    ("integer", (), "16384000", "16\u202f384\u202f000", ["16384000", "16\u202f384\u202f001", "163\u202f84\u202f000"]),
    ("integer", (), "1789.25", "1\u202f789", ["1\u202f790"]),
    ("prefix", (4,), "9c9c9c", "9c9c", ["9c9d", "9c9c9c"]),
    ("word", (1,), "a/1.pt b/2.pt", "b/2.pt", ["a/1.pt", "b/3.pt"]),
    ("part", (1,), "un\tles 2 autres", "les 2 autres", ["un", "les 3 autres", "les 2"]),
    ("moment", (), "2026-01-02T10:00:00+00:00", "2026-01-02 10:00:00", ["2026-01-02 10:00:01"]),
    ("gibibytes", (), "24055", "23", ["24", "24055"]),
    ("rate", (), "1e-05", "1e-5", ["1e-4", "1e-05"]),
    ("best_of_k", (), "1=0.5 2=0.71239", "1: 50.00, 2: 71.24", ["1: 50.00, 2: 71.23", "1: 50.00", "2: 50.00"]),
]


@pytest.mark.parametrize(("name", "options", "value", "text", "others"), PRINTED)
def test_what_a_filter_prints_is_accepted_and_nothing_near_it(sources, name, options, value, text, others):
    cell = Value(value, "x.tsv", 2, "a b|c;d")
    printed = formats.FILTERS[name](cell, *options)
    assert printed == text
    sources._read["x.tsv"] = [{"a b|c;d": value}]
    check(str(printed), printed.record, sources)
    for other in others:
        with pytest.raises(Unsound):
            check(other, printed.record, sources)


def test_every_filter_that_prints_has_its_reading():
    assert formats.PRINTERS.keys() == FORMS.keys() - {"text"} == {row[0] for row in PRINTED}


def test_formulas_are_computed_again(sources):
    sources._read["x.tsv"] = [{"n": "3", "m": "4", "kind": "a"}, {"n": "5", "m": "8", "kind": "b"}]
    n, m = Value("3", "x.tsv", 2, "n"), Value("8", "x.tsv", 3, "m")
    assert derive("ratio", n, "") == ""
    for formula, value in {"ratio": "0.375", "difference": "-5", "sum": "11", "mean": "5.5", "minimum": "3"}.items():
        derived = derive(formula, n, m)
        assert derived == value
        check(str(derived), derived.record, sources)
        with pytest.raises(Unsound):
            check("2", derived.record, sources)
    share = formats.FILTERS["percent"](derive("ratio", n, m))
    assert share == "37.50" and share.record == "percent(ratio(x.tsv|2|n;x.tsv|3|m))"
    assert sources_of(share.record) == ([("x.tsv", "2", "n"), ("x.tsv", "3", "m")], "percent of ratio")
    check("37.50", share.record, sources)
    assert Derived(1, "count", "x.tsv", "kind=a").record == "count(x.tsv;kind=a)"
    check("1", "count(x.tsv;kind=a)", sources)
    check("2", "distinct(x.tsv;n)", sources)
    with pytest.raises(Unsound):
        check("2", "count(x.tsv;kind=a)", sources)


@pytest.mark.parametrize(
    "record", ["", "x", "nothing(runs.tsv|2|seed)", "runs.tsv|99|seed", "runs.tsv|2|sed", "other.tsv|2|seed",
               "percent(", "config||study.x", "percent,a(runs.tsv|2|seed)", "percent(runs.tsv|2|init)", "ratio(1;0)",
               "count()"],
)  # fmt: skip
def test_a_record_that_leads_nowhere_is_refused(sources, record):
    with pytest.raises(Unsound):
        check("1", record, sources)


def test_settings_and_trees_are_found_by_their_place(sources):
    check("/here/1.txt".rpartition("/")[2], "config||checkpoint.corpus.files[0].url", sources)
    check("[1, 2]", "config||checkpoint.corpus.files[0].parts", sources)
    check("checkpoint.corpus.files[1].parts", "key(config||checkpoint.corpus.files[0].parts)", sources)
    check("a.b/c1.txt", "key(data/manifest.json||files.a.b/c1.txt)", sources)
    assert parse("a%7Cb||c%20d") == ("cell", "a|b", "", "c d")


def test_an_attribute_keeps_the_places_of_its_numbers(sources):
    sources._read["x.tsv"] = [{"n": "0.5"}]
    text = formats.joined("A < {} % & {}", formats.FILTERS["percent"](Value("0.5", "x.tsv", 2, "n")), "x")
    page = Reader(f"<body><img {in_attribute('alt', text)}></body>")
    (number,) = page.numbers
    assert (number.text, number.record, page.bare) == ("50.00", "percent(x.tsv|2|n)", [])
    assert Fraction(number.text) == 50


@pytest.mark.parametrize(
    "path, stated",
    [
        ("results/tiny/runs.tsv", "results/tiny/runs.tsv"),
        (".snakemake/storage/s3/bucket/folder/results/tiny/runs.tsv", "results/tiny/runs.tsv"),
        ("/scratch/job-1/s3/bucket/resources/host/results/a.txt", "resources/host/results/a.txt"),
        ("./novel.txt", "novel.txt"),
        ("my-results/novel.txt", "my-results/novel.txt"),
    ],
)
def test_records_name_files_as_the_rules_do(path, stated):
    assert study_path(path) == stated


def marks_moved(html, generator):
    """Yield (what was done, page) for charts that no longer show their files."""
    circles = [
        found for found in re.finditer(r'<circle [^>]*data-row="\d+"[^>]*>.*?</circle>', html) if "cx=" in found[0]
    ]
    for kind in ("place", "title", "row", "missing"):
        for _ in range(15):
            found = generator.choice(circles)
            mark = found[0]
            if kind == "place":
                changed = re.sub(
                    r'cx="([\d.]+)"', lambda at: f'cx="{float(at[1]) + generator.uniform(0.5, 9):.2f}"', mark
                )
            elif kind == "title":
                changed = re.sub(r"(\d+)\.(\d)", lambda at: f"{int(at[1]) + 1}.{at[2]}", mark)
            elif kind == "row":
                changed = re.sub(r'data-row="(\d+)"', lambda at: f'data-row="{int(at[1]) + 1}"', mark)
            else:
                changed = ""
            assert changed != mark
            yield kind, html[: found.start()] + changed + html[found.end() :]


def test_a_chart_that_is_not_its_file_is_caught(tmp_path):
    """The strip of seeds and the lines of training: marks that moved, have other words, another row, or are gone."""
    files = make_study(tmp_path)
    html = make_page(tmp_path, files, {"study": "published"})
    sources = sources_for(tmp_path, files, {"study": "published"})
    assert check_report.faults(Reader(html), sources) == []
    groups = Reader(html).pictures.groups
    # 9 seeds, 3 intervals, 3 means; 9 runs of 5 epochs in three charts.
    assert sum(len(group["marks"]) for group in groups) == 9 + 3 + 3 + 3 * 45
    for kind, changed in marks_moved(html, random.Random(23)):
        assert check_report.faults(Reader(changed), sources), kind
    for before, after in (
        ('data-unit="100"', 'data-unit="10"'),
        ('<text class="axis"', '<circle cx="3" cy="4" r="2"/><text class="axis"'),
        (">test accuracy (%)</text>", ">test accuracy 81 %</text>"),
        ('d="M', 'd="M1 1L'),
    ):
        assert before in html
        assert check_report.faults(Reader(html.replace(before, after, 1)), sources), before


def drawings_changed(html):
    """Yield (what was done, page) for drawings that are not their files any more."""
    for found in re.finditer(r'<img src="([^"]*)" data-drawing="([^"]*)"', html):
        address, name = found.groups()
        content = base64.b64decode(address.partition(",")[2]).decode("utf-8")
        other = re.sub(r"(\d)\.(\d)", lambda at: f"{(int(at[1]) + 1) % 10}.{at[2]}", content, count=1)
        assert other != content, name
        encoded = base64.b64encode(other.encode("utf-8")).decode("ascii")
        yield f"image of {name}", html.replace(address, f"data:image/svg+xml;base64,{encoded}", 1)
        yield f"name of {name}", html.replace(f'data-drawing="{name}"', 'data-drawing="figures/none.svg"', 1)


def bars_changed(html):
    """Yield (what was done, page) for bars with another length, words or row."""
    for found in re.finditer(r'<rect [^>]*data-row="\d+"[^>]*>.*?</rect><text class="says"[^>]*>([^<]*)</text>', html):
        bar = found[0]
        for kind, changed in (
            ("length", re.sub(r'width="([\d.]+)"', lambda at: f'width="{float(at[1]) + 1:.2f}"', bar)),
            ("title", re.sub(r"<title>\d", "<title>9", bar.replace("<title>9", "<title>8"))),
            ("text beside", bar.replace(f">{found[1]}</text>", f">1{found[1]}</text>")),
            ("row", re.sub(r'data-row="(\d+)"', lambda at: f'data-row="{int(at[1]) + 1}"', bar)),
        ):
            assert changed != bar, kind
            yield f"{kind} of a bar", html[: found.start()] + changed + html[found.end() :]


def test_errors_planted_in_every_kind_of_picture_and_in_the_first_screen_are_caught(study, tmp_path, capsys):
    """The drawings of real figures, the bars of cost, the tables behind drawings, and the numbers of the answer."""
    planted, missed, generator = 0, [], random.Random(27)
    files = make_study(tmp_path)
    html, settings = make_page(tmp_path, files, {"study": "published"}), {"study": "published"}
    plain = sources_for(tmp_path, files, settings)
    whole = sources_for(*study[:3])
    attempts = [(kind, changed, plain) for kind, changed in drawings_changed(html)]
    assert len({kind.partition("figures/")[2].split("/")[0] for kind, *_ in attempts}) >= 4
    attempts += [(kind, changed, whole) for kind, changed in bars_changed(study[3])]
    (first,) = [page for page in pages_of(study[3]) if '<section id="answer"' in page]
    while len(attempts) < 150:
        kind = generator.choice(planting.KINDS)
        changed = planting.plant(first, kind, generator)
        if changed is not None:
            attempts.append((f"{kind} in the answer", changed, whole))
    for kind, changed, sources in attempts:
        planted += 1
        missed += [] if check_report.faults(Reader(changed), sources) else [kind]
    for name in ("curves_data", "all_curves_data", "training_curves_data", "derivation"):
        path = Path(files[name] if isinstance(files[name], str) else files[name][0])
        kept = path.read_text(encoding="utf-8")
        # A digit beyond what any page prints: only the drawing's own record of its table tells.
        path.write_text(kept.rstrip("\n") + "\n\n", encoding="utf-8")
        drawings = Reader(html).drawings
        planted += 1
        missed += [] if list(check_report.drawing_faults(drawings, sources_for(tmp_path, files, settings))) else [name]
        path.write_text(kept, encoding="utf-8")
    with capsys.disabled():
        print(f"\nerrors planted in pictures and the first screen, caught: {planted - len(missed)} of {planted}")
    assert not missed
    assert list(check_report.drawing_faults(Reader(html).drawings, plain)) == []


# (what is edited, the text that the page has, what it is made into, the section that the message names)
EDITS = [
    ("an answer", 'verdict">Not settled</span>', 'verdict">Difference shown</span>', "answer"),
    ("the arm that is ahead", "Hugging Face, pretrained has the highest", "fairseq, random has the highest", "answer"),
    ("a claim that no number is in", "Every value of the interval remains possible", "It is certain", "answer"),
    ("a unit", "</span>&nbsp;%</strong>", "</span> points</strong>", "answer"),
    ("the order of a table", 'data-sort="0.79"', 'data-sort="0.97"', "answer"),
    ("a rule of the style", "<style>", "<style>td{display:none}", "outside its sections"),
    ("a number that CSS writes", "</style>", 'td::after{content:"99"}</style>', "outside its sections"),
    ("a script that writes numbers", "</body>", "<script>document.title = 95</script></body>", "outside its sections"),
    ("a comment", "</section>", "<!-- 95 --></section>", "answer"),
    ("a line end at the end", "</html>\n", "</html>\n\n", "outside its sections"),
]


@pytest.mark.parametrize(("kind", "before", "after", "where"), EDITS, ids=[edit[0] for edit in EDITS])
def test_an_edit_that_touches_no_number_is_refused_and_its_place_named(study, sources, kind, before, after, where):
    folder, files, settings, html = study
    assert before in html, kind
    edited = html.replace(before, after, 1)
    # The records of numbers say nothing of it: only the second build does.
    assert check_report.faults(Reader(edited), sources) == []
    try:
        write_text(folder / "report.html", edited)
        with pytest.raises(StudyError, match=rf"changed after it was built: line \d+ \({where}\) has "):
            check_page(folder, files, settings)
    finally:
        write_text(folder / "report.html", html)


def test_arms_that_changed_their_names_all_over_the_page_are_refused(study):
    folder, files, settings, html = study
    names = {"fairseq, pretrained": "fairseq, random", "fairseq, random": "fairseq, pretrained"}
    swapped = re.sub("|".join(names), lambda found: names[found[0]], html)
    assert swapped != html
    try:
        write_text(folder / "report.html", swapped)
        with pytest.raises(StudyError):
            check_page(folder, files, settings)
    finally:
        write_text(folder / "report.html", html)


def test_a_template_that_changed_after_the_build_is_an_edit_of_the_page(study, tmp_path):
    folder, files, settings, _ = study
    frame, changed = next(path for path in TEMPLATES if path.endswith("frame.html.j2")), tmp_path / "frame.html.j2"
    write_text(changed, Path(frame).read_text(encoding="utf-8").replace("</main>", "<p>More.</p></main>", 1))
    templates = [str(changed) if path == frame else path for path in TEMPLATES]
    with pytest.raises(StudyError, match="changed after it was built"):
        check_report.main(
            templates, str(folder / "report.html"), str(tmp_path / "numbers.tsv"), settings, COMMIT, **files
        )
