"""The documentation: its links lead somewhere, what it names exists; each check is shown to notice a plant.

A check takes the root of the tree and a page's text and path, and returns what is wrong with it, in words.
"""

import pathlib
import re
import shlex

import pytest
import yaml

from common.errors import StudyError
from report.sections import CHAPTERS
from study.configuration import load_study
from study.schema import read_schema
from support.environments import ROOT
from tools import config_reference

PAGES = [ROOT / name / "README.md" for name in ("", "published", "studies")] + [ROOT / "CONTRIBUTING.md"]
PAGES += sorted((ROOT / "docs").rglob("*.md")) + sorted((ROOT / ".github").rglob("*.md"))
SCHEMA = read_schema(ROOT / "schemas" / "config.schema.yaml")
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
TARGETS = set(re.findall(r"^([a-z-]+):.*## ", MAKEFILE, re.MULTILINE))
VARIABLES = set(re.findall(r"\$\(?([A-Z_]{3,})\b", MAKEFILE)) | set(re.findall(r"\b([A-Z_]{3,})[=)]", MAKEFILE))
# Folders of the project; the others are made by its commands.
MADE = ("results", "resources", "mirror", "site")
TOP = [path.name for path in ROOT.iterdir() if path.is_dir() and path.name not in MADE and path.name[0] != "."]
TOP += [".ci", ".github"]
# The user's own files, which a page tells to write.
OWN = {"studies/mystudy.yaml", "studies/STUDY.yaml", "published/STUDY"}
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def prose(text):
    """A page without its fenced blocks."""
    return FENCE.sub("", text)


def spans(text):
    """Code spans, and the lines of fenced commands without their comments."""
    found = re.findall(r"(?<!`)`([^`\n]+)`(?!`)", prose(text))
    for language, block in FENCE.findall(text):
        if language == "bash":
            found += [line.partition(" #")[0].strip() for line in block.splitlines()]
    return found


def anchors(text):
    """The anchors of a page's headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.+)$", prose(text), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def links_lead_somewhere(page, text):
    for target in re.findall(r"\]\(([^)\s]+)\)", prose(text)):
        if re.match(r"https?://", target):
            continue
        name, _, anchor = target.partition("#")
        path = (page.parent / name).resolve() if name else page
        if not path.exists():
            yield f"links to {target}, which does not exist"
        elif anchor and anchor not in anchors(text if path == page else path.read_text(encoding="utf-8")):
            yield f"links to {target}, where there is no such heading"


def make_knows_its_targets(page, text):
    for span in spans(text):
        for command in re.split(r"&&|;|\|\|", span):
            command = re.match(r"(?:[A-Z_]+=\S+ )*make((?: \S+)*)$", command.strip())
            words = shlex.split(command[1]) if command else []
            for word in words:
                name, assigned, _ = word.strip("[]").partition("=")
                if assigned and name not in VARIABLES:
                    yield f"`{span}`: make has no variable {name}"
                if not assigned and name not in TARGETS and not name.startswith("-"):
                    yield f"`{span}`: make has no target {name}"


def commands_are_there(page, text):
    for span in spans(text):
        for module in re.findall(r"python -m (tools\.\w+)", span):
            if not (ROOT / (module.replace(".", "/") + ".py")).exists():
                yield f"`{span}`: there is no {module}"


def files_are_there(page, text):
    for span in spans(text):
        for word in span.split():
            word = word.rpartition("=")[2].rstrip(".,:;")
            top = re.match(rf"({'|'.join(map(re.escape, TOP))})/[\w./*-]*$", word)
            named = re.match(r"(requirements[\w-]*\.\w+|[A-Z]{4,}\.(md|cff)|config\.yaml|Snakefile|Makefile)$", word)
            if (top or named) and word not in OWN and not list(ROOT.glob(word.rstrip("/"))):
                # In a study's results folder there are folders of these names, too.
                if top and top[1] in ("benchmarks", "report"):
                    continue
                yield f"`{span}`: there is no {word}"


def functions_are_there(page, text):
    for span in spans(text):
        for path, name in re.findall(r"(?<!\S)((?:scripts|tools|tests)/[\w/]+\.py):(\w+)", span):
            code = (ROOT / path).read_text(encoding="utf-8") if (ROOT / path).exists() else ""
            if not re.search(rf"^def {name}\(", code, re.MULTILINE):
                yield f"`{span}`: there is no such function"


def part_of(schema, key):
    """The schema of a key in a block, or None."""
    schema = config_reference.resolved(schema, SCHEMA["$defs"])
    items = config_reference.resolved(schema.get("items", {}), SCHEMA["$defs"])
    inner = schema.get("properties", {}).get(key) or items.get("properties", {}).get(key)
    return inner or (schema.get("additionalProperties") or None)


def settings_are_there(page, text):
    sections = [key for key, block in SCHEMA["properties"].items() if "properties" in block or "additional" in block]
    for span in spans(text):
        found = re.match(rf"((?:{'|'.join(sections)})(?:\.[a-z_]+)+)(: \S+)?$", span)
        if not found or re.search(r"\.(html|md|pdf|tsv|json|smk|yaml|py|svg|lib)$", found[1]):
            continue
        schema = SCHEMA
        for key in found[1].split("."):
            schema = part_of(schema, key) if schema is not None else None
        if schema is None:
            yield f"`{span}`: no such setting"
            continue
        choices = config_reference.resolved(schema, SCHEMA["$defs"]).get("enum")
        if found[2] and choices and yaml.safe_load(found[2][2:]) not in choices:
            yield f"`{span}`: not one of {choices}"


def examples_are_studies(page, text, folder=None):
    for language, block in FENCE.findall(text):
        if language != "yaml":
            continue
        settings = yaml.safe_load(block)
        # A module's settings stand below a key of the other workflow's choice.
        settings = next(iter(settings.values())) if len(settings) == 1 else settings
        path = folder / "study.yaml"
        path.write_text(yaml.safe_dump(settings, sort_keys=False), encoding="utf-8")
        try:
            load_study(str(ROOT), str(path))
        except StudyError as error:
            yield f"an example is refused: {error}"


# Found in this project's own pages: shared/STYLE.md lists them with their remedies.
UNIDIOMATIC = re.compile(
    r"\bmend(s|ed|ing)?\b|says? nothing of|says nothing\b|\bgo(es)? on (from|with)\b|\bwas told\b|\bhas not\b$"
    r"|\bknows no\b|\bat work\b|\bmade anew\b|which (says|has) not|\bso done\b"
)
AMERICAN = re.compile(r"\b(color|behavior|optimize[ds]?|normalize[ds]?|tokenize[ds]?|summarize[ds]?|center|labeled)\b")


def english_is_idiomatic(page, text):
    # The table of the reports' conclusions quotes them.
    quoted = re.sub(r"(?s)<!-- conclusions -->.*?<!-- /conclusions -->", "", text)
    words = re.sub(r"`[^`\n]+`", "", prose(quoted))
    for line in words.splitlines():
        yield from (f"writes “{found[0]}”: {line.strip()}" for found in UNIDIOMATIC.finditer(line))
        yield from (f"spells “{found[0]}”: {line.strip()}" for found in AMERICAN.finditer(line))


CHECKS = [
    links_lead_somewhere,
    make_knows_its_targets,
    commands_are_there,
    files_are_there,
    functions_are_there,
    settings_are_there,
    english_is_idiomatic,
]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_the_pages(check, page):
    assert "\n".join(check(page, page.read_text(encoding="utf-8"))) == ""


# The studies of these pages are run by tests/integration/test_planted_*.py, with what the pages add.
PLANTED = [
    ROOT / "docs" / "development" / f"add_a_{what}.md" for what in ("framework", "measure", "data_source", "task")
]


@pytest.mark.parametrize(
    "page", [page for page in PAGES if page not in PLANTED], ids=lambda page: str(page.relative_to(ROOT))
)
def test_the_examples_of_settings_are_accepted(page, tmp_path):
    assert "\n".join(examples_are_studies(page, page.read_text(encoding="utf-8"), tmp_path)) == ""


PLANTS = [
    (links_lead_somewhere, "[a](nowhere.md)"),
    (links_lead_somewhere, "![a](docs/nowhere.svg)"),
    (links_lead_somewhere, "# One\n[a](#two)"),
    (links_lead_somewhere, "[a](docs/guides/cluster.md#nowhere)"),
    (make_knows_its_targets, "`make breakfast`"),
    (make_knows_its_targets, "```bash\nmake report && make breakfast   # good\n```"),
    (make_knows_its_targets, "`make study STUDI=x`"),
    (commands_are_there, "`.venv/bin/python -m tools.breakfast`"),
    (files_are_there, "`scripts/data/breakfast.py`"),
    (files_are_there, "```bash\nmake study STUDY=studies/breakfast.yaml\n```"),
    (files_are_there, "`requirements-breakfast.txt`"),
    (functions_are_there, "`scripts/data/build_splits.py:breakfast`"),
    (functions_are_there, "`scripts/data/breakfast.py:main`"),
    (settings_are_there, "`finetuning.breakfast`"),
    (settings_are_there, "`checkpoint.source: breakfast`"),
    (english_is_idiomatic, "An interrupted one is mended by running it again."),
    (english_is_idiomatic, "A new color."),
]


@pytest.mark.parametrize(("check", "text"), PLANTS)
def test_a_plant_is_noticed(check, text):
    assert len(list(check(ROOT / "README.md", text))) == 1


@pytest.mark.parametrize("block", ["study: x\nfinetuning: {seds: [1]}", "guest: {study: x, data: {n_train: no}}"])
def test_a_faulty_example_is_noticed(block, tmp_path):
    assert len(list(examples_are_studies(ROOT / "README.md", f"```yaml\n{block}\n```\n", tmp_path))) == 1


def test_what_is_right_is_left_alone():
    text = """
    # A heading: with signs
    [a](#a-heading-with-signs) [b](https://example.org/x) [c](docs/guides/cluster.md#4-watch) `make study STUDY=FILE`
    `finetuning.training.lr` `checkpoint.source: folder` `scripts/data/build_splits.py` `report.html` `results/x/y`
    """
    text = text.replace("\n    ", "\n")
    assert [fault for check in CHECKS for fault in check(ROOT / "README.md", text)] == []


def test_every_page_is_reached_from_the_index():
    index = (ROOT / "docs" / "README.md").read_text(encoding="utf-8")
    linked = {(ROOT / "docs" / name).resolve() for name in re.findall(r"\]\(([^)#\s]+\.md)\)", index)}
    assert set((ROOT / "docs").rglob("*.md")) - linked == {ROOT / "docs" / "README.md"}


# --- the configuration reference --------------------------------------------------------------------------------------


def test_the_configuration_reference_is_the_generated_one():
    assert pathlib.Path(config_reference.PAGE).read_text(encoding="utf-8") == config_reference.page()


def test_every_setting_has_a_row_with_a_meaning():
    found = re.findall(r"^\| `([\w.\[\]-]+)` \|.*\| (.*) \|$", config_reference.page(), re.MULTILINE)
    said = dict(found)

    def leaves(value, path=()):
        if isinstance(value, dict) and value and ".".join(path) not in said:
            return [leaf for key, inner in value.items() for leaf in leaves(inner, (*path, key))]
        return [".".join(path)]

    settings = yaml.safe_load((ROOT / "config.yaml").read_text(encoding="utf-8"))
    assert len(found) == len(said) > 100
    assert [leaf for leaf in leaves(settings) if leaf not in said] == []
    assert [name for name, meaning in said.items() if not meaning and not name.startswith("report.colours.")] == []


def test_comments_are_read_from_behind_and_above():
    text = 'a: # one\n  b: "#ff" # two\n  # three\n  # and four\n  c: [1]\n  d: 2\n'
    assert config_reference.comments(text) == {"a": "one", "a.b": "two", "a.c": "three and four"}


def test_bounds_and_choices_are_put_into_words():
    definitions = {"share": {"type": "number", "minimum": 0, "exclusiveMaximum": 1}, "seed": {"type": "integer"}}

    def words(schema):
        return config_reference.allowed(config_reference.resolved(schema, definitions), definitions)

    assert words({"$ref": "#/$defs/share", "description": "of it"}) == "number ≥ 0, < 1"
    assert words({"type": ["integer", "null"], "minimum": 2}) == "whole number ≥ 2 or `null`"
    assert words({"enum": ["auto", None, True]}) == "`auto`, `null`, `true`"
    freeze = {"anyOf": [{"type": "integer", "minimum": 0}, {"const": "encoder"}, {"type": "null"}]}
    assert words(freeze) == "whole number ≥ 0 or `encoder` or `null`"
    assert words({"type": "array", "minItems": 2, "items": {"$ref": "#/$defs/share"}}) == (
        "list of: number ≥ 0, < 1, at least 2"
    )
    assert words({"$ref": "#/$defs/seed"}) == "whole number ≥ 0"


def test_the_first_report_is_described_by_its_chapters():
    text = (ROOT / "docs" / "getting-started" / "first-report.md").read_text(encoding="utf-8")
    table = text.partition("| chapter of the page |")[2].partition("\n\n")[0]
    assert re.findall(r"^\| (\w[^|]*?) \|", table, re.MULTILINE) == list(CHAPTERS)


# --- the habits -------------------------------------------------------------------------------------------------------


def test_pre_commit_runs_the_tools_of_make_lint():
    hooks = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8"))["repos"][0]["hooks"]
    entries = [re.sub(r"^env PATH=\S+ |\.venv/bin/", "", hook["entry"].replace("=.venv/bin", "=")) for hook in hooks]
    recipe = re.search(r"^lint:.*\n((?:\t.*\n)+)", MAKEFILE, re.MULTILINE)[1]
    assert [re.sub(r"^env \S+ ", "", entry) for entry in entries] == re.findall(r"^\t@?(.*)$", recipe, re.MULTILINE)


def test_the_workflow_calls_what_continuous_integration_runs():
    workflow = yaml.safe_load((ROOT / ".github" / "workflows" / "tests.yml").read_text(encoding="utf-8"))
    steps = [step.get("run") for step in workflow["jobs"]["tests"]["steps"]]
    assert ".ci/run" in steps and "make docs" in steps
    assert (ROOT / ".ci" / "run").stat().st_mode & 0o111


def test_the_site_has_every_page():
    nav = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").partition("\nnav:\n")[2]
    listed = {ROOT / name for name in re.findall(r": (\S+\.md)$", nav, re.MULTILINE)}
    pages = [page for page in PAGES if ".github" not in page.parts]
    assert set(pages) <= listed and all(path.exists() for path in listed)
    parts = re.search(r"^SITE_PARTS := (.*)$", MAKEFILE, re.MULTILINE)[1].split()
    assert {path.relative_to(ROOT).parts[0] for path in listed} <= set(parts)
