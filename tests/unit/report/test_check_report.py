"""Every number of the report is computed again from the file that its record names."""

import random
import re
from fractions import Fraction
from pathlib import Path

import pytest

pytest.importorskip("jinja2")
pytest.importorskip("matplotlib")

from common.errors import StudyError
from common.files import read_tsv, study_path, write_text
from report import charts, check_report, formats, numbers
from report.assembly import build
from report.numbers import Derived, Value, derive, in_attribute
from report.printed import Reader
from report.records import FORMS, Sources, Unsound, check, parse, sources_of
from study.tables import columns_of
from support import planting
from support.report_study import make_study
from support.result_sets import COMMIT, TEMPLATES, check_page, make_page, make_whole


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    """A simulated study with every section: (folder, inputs, settings, page)."""
    folder = tmp_path_factory.mktemp("numbers") / "results" / "simulated"
    files, settings = make_whole(folder)
    return folder, files, settings, make_page(folder, files, settings)


@pytest.fixture(scope="module")
def published(tmp_path_factory):
    """The published runs, with curves of training and parameters, as `study` has them."""
    folder = tmp_path_factory.mktemp("published")
    files, settings = make_study(folder), {"study": "published"}
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
    # Every section of the page has numbers in the list, but those that are drawings and a glossary.
    sections = set(re.findall(r'<section id="([^"]*)"', html)) - {"sources", "glossary", "training", "curves"}
    assert sections <= {row["where"].split(",")[0] for row in rows}


def test_the_published_runs_pass(published):
    """With the sections that need more than the tables of a simulated study: curves of training, parameters."""
    folder, files, settings, html = published
    # 9 seeds, 3 intervals, 3 means; 9 runs of 5 epochs in three charts.
    assert sum(len(marks) for _, _, marks, _ in Reader(html).charts.groups) == 9 + 3 + 3 + 3 * 45
    assert {'id="overfitting"', 'id="all-curves"', 'id="parameters"'} <= set(re.findall(r'id="[^"]*"', html))
    check_page(folder, files, settings)


def pages_of(html):
    """Return the page's sections, each as a page of its own: a wrong number touches one, and reading takes a while."""
    parts = re.split(r"(?=<section )|(?<=</section>)", html)
    sections = [part for part in parts if part.startswith("<section ")]
    return ["".join([parts[0], section, parts[-1]]) for section in sections]


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
    while n < 60:
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


# (filter, options, value in the file, as printed, other texts that are refused)
PRINTED = [
    ("percent", (), "0.795", "79.50", ["79.5", "79.51", "-79.50", "0.80"]),
    ("percent", (0,), "0.95", "95", ["94", "95.0"]),
    ("percent", (), "-0.00001", "-0.00", ["0.00", "0.01"]),
    ("decimals", (3,), "2.71828", "2.718", ["2.72", "2.719", "27.18"]),
    ("level", (), "0.95", "95", ["95.0", "95.00", "0.95"]),
    ("level", (), "0.9966666", "99.67", ["100", "99.7"]),
    ("signed", (3,), "-6.5034", "\u22126.503", ["-6.503", "6.503", "\u22126.5"]),
    ("signed", (3,), "0.25", "+0.250", ["0.250", "\u22120.250"]),
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


def altered(html, pattern, change):
    """Return a page with the first match of a pattern changed by a function of it, or replaced by a text."""
    found = re.search(pattern, html, re.DOTALL)
    changed = change(found) if callable(change) else change
    assert found and changed != found[0], pattern
    return html[: found.start()] + changed + html[found.end() :]


def moved(attribute):
    return lambda found: re.sub(
        rf'{attribute}="([\d.]+)"', lambda at: f'{attribute}="{float(at[1]) + 1:.2f}"', found[0]
    )


CIRCLE, BAR = r'<circle [^>]*data-row="\d+".*?</circle>', r'<rect [^>]*data-row="\d+".*?</rect>'
# Edits of a page that touch its numbers: the records and marks notice each without a second build.
EDITS = {
    "a cell": (r'(<td[^>]*data-of="[^"]*">)\d', lambda found: found[1] + "99"),
    "a record's line": (r"(percent\(\d+\|)(\d+)(?=\|)", lambda found: f"{found[1]}{int(found[2]) + 1}"),
    "a record's column": (r"(percent\(\d+\|\d+\|)\d+", lambda found: f"{found[1]}0"),
    "a record's file": (r"percent\(\d+\|", "percent(9999|"),
    "the list of names": (r'(record-names" content=")\S+', lambda found: found[1] + "nothing.tsv"),
    "a number without its record": (r'<span data-of="[^"]*">(\d[^<]*)</span>', lambda found: found[1]),
    "a mark's place": (CIRCLE, moved("cx")),
    "a mark's words": (CIRCLE, lambda found: re.sub(r"(\d+)\.", lambda at: f"{int(at[1]) + 1}.", found[0])),
    "a mark's row": (CIRCLE, lambda found: re.sub(r'row="(\d+)', lambda at: f'row="{int(at[1]) + 1}', found[0])),
    "no mark": (CIRCLE, ""),
    "a mark without a row": ("</svg>", '<circle cx="3" cy="4" r="2"/></svg>'),
    "a bar's length": (BAR, moved("width")),
    "a bar's words": (r'(<text class="says"[^>]*>)', lambda found: found[1] + "1"),
    "a tick's unit": ('data-unit="100"', 'data-unit="10"'),
    "a chart's words": ("</svg>", "<text>81 %</text></svg>"),
    "a line through marks": (r'd="M(?=[^"]*"[^>]*data-through)', 'd="M1 1L'),
    "a drawing": (r"(image/svg\+xml;base64,)", lambda found: found[1] + "AAAA"),
    "a drawing's name": (r'data-drawing="[^"]*', 'data-drawing="figures/none.svg'),
    "a drawing beside the page": (r'data-sha256="', 'data-sha256="0'),
    "an interval of the forest": (r'<line [^>]*class="mean"[^>]*data-row="\d+"', moved("x1")),
    "the title": ("<title>Does ", "<title>Why does "),
}
# Edits that touch no number: the second build notices each, and the message names the section.
OTHER_EDITS = {
    "an answer": (r'verdict">Not settled</span>', 'verdict">Difference shown</span>', "answer"),
    "the order of a table": ('data-sort="0.79"', 'data-sort="0.97"', "answer"),
    "a number that CSS writes": ("</style>", 'td::after{content:"99"}</style>', "outside its sections"),
    "a script that writes numbers": ("</body>", "<script>document.title = 95</script></body>", "outside its sections"),
    "a line end at the end": ("</html>\n", "</html>\n\n", "outside its sections"),
}


@pytest.mark.parametrize("kind", EDITS)
def test_a_page_whose_numbers_were_edited_is_refused(study, published, kind):
    folder, files, settings, html = study
    if not re.search(EDITS[kind][0], html, re.DOTALL):
        folder, files, settings, html = published
    edited = altered(html, *EDITS[kind])
    assert check_report.faults(Reader(edited), sources_for(folder, files, settings))


@pytest.mark.parametrize("kind", OTHER_EDITS)
def test_an_edit_that_touches_no_number_is_refused_and_its_place_named(study, sources, kind):
    folder, files, settings, html = study
    *edit, where = OTHER_EDITS[kind]
    edited = altered(html, *edit)
    # The records of numbers say nothing of it.
    assert check_report.faults(Reader(edited), sources) == []
    try:
        write_text(folder / "report.html", edited)
        with pytest.raises(StudyError, match=rf"changed after it was built: line \d+ \({where}\) has "):
            check_page(folder, files, settings)
    finally:
        write_text(folder / "report.html", html)


def truncating(value, places=2):
    return f"{int(100 * float(value) * 10**places) / 10**places:.{places}f}"


# Faults of the page's builder, (object, attribute, what replaces it): a second build has them, too.
BUILDERS = {
    "a percentage cut off": (formats.FILTERS, "percent", formats.printing("percent", truncating)),
    "a percentage of one decimal": (
        formats.FILTERS, "percent", formats.printing("percent", lambda value, places=1: f"{100 * float(value):.1f}"),
    ),
    "a difference without its sign": (
        formats.FILTERS, "points", formats.printing("points", lambda value: formats.points(abs(float(value)))),
    ),
    "integers rounded up": (formats.FILTERS, "integer", formats.printing("integer", lambda v: str(int(float(v)) + 1))),
    "another arm's number": (Value, "record", property(lambda one: f"{one.path}|{(one.row or 0) + 1}|{one.column}")),
    "another column's number": (Value, "record", property(lambda one: f"{one.path}|{one.row or ''}|seed")),
    "a sum for a mean": (numbers.ARITHMETIC, "mean", lambda *values: sum(values)),
    "a ratio upside down": (numbers.ARITHMETIC, "ratio", lambda a, b: b / a),
    "marks beside their places": (charts.Scale, "__call__", lambda self, value: self.start + 3 + float(value)),
    "marks of another format": (charts, "says", lambda words, row, rows: "81 %"),
    "charts without records": (charts, "quoted", lambda path: "none.tsv"),
}  # fmt: skip


@pytest.mark.parametrize("kind", BUILDERS)
def test_a_fault_of_the_builder_is_noticed(study, sources, monkeypatch, tmp_path, kind):
    folder, files, settings, _ = study
    thing, name, other = BUILDERS[kind]
    (monkeypatch.setitem if isinstance(thing, dict) else monkeypatch.setattr)(thing, name, other)
    _, html = build(TEMPLATES, str(folder / "report.html"), settings, COMMIT, **files)
    assert check_report.faults(Reader(html), sources)


def test_a_template_with_a_typed_number_or_another_arm_is_noticed(study, sources, tmp_path):
    folder, files, settings, _ = study
    frame, changed = next(path for path in TEMPLATES if path.endswith("frame.html.j2")), tmp_path / "frame.html.j2"
    write_text(changed, Path(frame).read_text(encoding="utf-8").replace("</main>", "<p>About 81 %.</p></main>", 1))
    templates = [str(changed) if path == frame else path for path in TEMPLATES]
    _, html = build(templates, str(folder / "report.html"), settings, COMMIT, **files)
    assert "'About 81 %.'" in str(check_report.faults(Reader(html), sources))
    # A template that changed after the build is an edit of the page.
    with pytest.raises(StudyError, match="changed after it was built|has a number without a record"):
        check_report.main(templates, str(folder / "report.html"), str(tmp_path / "n.tsv"), settings, COMMIT, **files)


def test_a_drawing_of_an_earlier_table_is_noticed(published):
    folder, files, settings, html = published
    path = Path(files["derivation"] if isinstance(files["derivation"], str) else files["derivation"][0])
    kept = path.read_text(encoding="utf-8")
    try:
        # The page prints none of it: only the drawing's own record of its table tells.
        write_text(path, kept + "\n")
        assert list(check_report.drawing_faults(Reader(html).drawings, sources_for(folder, files, settings)))
    finally:
        write_text(path, kept)


def test_random_errors_are_caught(study, sources, capsys):
    """Errors of every kind in any number, and cells that changed places with their records, in every section."""
    pages, generator = pages_of(study[3]), random.Random(20)
    assert not any(check_report.faults(Reader(page), sources) for page in pages)
    weights = [len(planting.places(page)) for page in pages]
    missed, planted = [], dict.fromkeys([*planting.KINDS, "cells"], 0)
    while sum(planted.values()) < 30 * len(planted):
        kind = min(planted, key=planted.get)
        page = generator.choices(pages, weights)[0]
        if kind != "cells":
            changed = planting.plant(page, kind, generator)
        else:
            changed = planting.swapped_cells(page, generator) if "<tbody>" in page else None
        if changed is not None:
            planted[kind] += 1
            missed += [] if check_report.faults(Reader(changed), sources) else [kind]
    with capsys.disabled():
        print(f"\nrandom errors caught: {sum(planted.values()) - len(missed)} of {sum(planted.values())}")
    assert len(missed) <= 0.01 * sum(planted.values()), missed
