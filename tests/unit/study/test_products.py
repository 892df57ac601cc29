"""The rows of products: written once, complete, and what is made anew from records follows from them."""

import re
from pathlib import Path

from study.products import generated_rules, page_files, page_rules, products
from support.environments import ROOT, rules

# Rule files that write a path beside its row; none may join them. Records of runs have wildcards or one arm there.
RECORDS = {row.file() for row in products().values() if not row.derived and row.wildcards}
EXCEPTIONS = {
    "rules/lab.smk": RECORDS,
    "rules/qa.smk": RECORDS,
    "rules/finetuning.smk": RECORDS,
}


def written(path, text):
    """Return whether a rule file writes a product's path."""
    return re.search(rf"""["']<results>/{re.escape(path)}["']""", text) is not None


def test_rules_write_no_path_of_a_product():
    for file in sorted((ROOT / "rules").rglob("*.smk")):
        text = file.read_text(encoding="utf-8")
        found = {row.file() for row in products().values() if written(row.file(), text)}
        place = file.relative_to(ROOT).as_posix()
        allowed = RECORDS if place.startswith("rules/frameworks/") else EXCEPTIONS.get(place, set())
        assert found <= allowed, file.name


def test_a_path_in_a_rule_is_noticed():
    assert written("runs.tsv", 'input:\n    runs="<results>/runs.tsv",\n') and not written("runs.tsv", '"<results>/x"')


def test_the_makefile_lists_no_product():
    lines = Path(ROOT, "Makefile").read_text(encoding="utf-8").splitlines()
    text = "\n".join(line for line in lines if not line.startswith("#"))
    assert not [row.file() for row in products().values() if f" {row.file()} " in text and row.file() != "report.html"]


def test_every_row_names_a_rule_and_a_caption_that_there_are():
    for row in products().values():
        assert "{framework}" in row.rule or row.rule in rules(), row
        assert not row.caption or (ROOT / "report" / f"{row.caption}.rst").exists(), row
    for _, rule in generated_rules():
        keys = [key for named in rule.inputs.values() for key in (named if isinstance(named, list) else [named])]
        assert set(keys) <= products().keys() and rule.name in {row.rule for row in products().values()}, rule


def test_what_is_made_anew_leaves_every_record():
    kept = [row.file() for row in products().values() if not row.derived]
    for path in page_files():
        assert not [record for record in kept if record == path or record.startswith(f"{path}/")]
    assert {"figures", "report.html", "qa/runs.tsv"} <= set(page_files()) and "pretrain" not in page_rules()
