"""The tree shows the study: rooms, their order, one script for a rule; each check is shown to notice a plant.

A check takes the root of a tree and returns what is wrong with it, in words.
"""

import ast
import re
import textwrap

import pytest
import yaml

from support.environments import ROOT, parse_rules

# What the rules import, without rules of its own; the rooms follow in the order in which the Snakefile includes them.
LIBRARIES = ["common", "study", "training"]
LARGEST_COMMON, LONGEST = 1000, 60


def rooms(root):
    """The rooms with rules, in their order."""
    included = re.findall(r'^include: "rules/(\w+)\.smk"', (root / "Snakefile").read_text(encoding="utf-8"), re.M)
    return [name for name in included if name != "common"]


def rules_of(root, room):
    return parse_rules((root / "rules" / f"{room}.smk").read_text(encoding="utf-8"))


def scripts_of(root):
    """The scripts of all rules, as paths below scripts/."""
    return {script for room in rooms(root) for script, _ in rules_of(root, room).values()}


def imported(path):
    """The modules and names that a file imports anywhere, with dots."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module or ""
            yield from (f"{node.module or ''}.{alias.name}" for alias in node.names)


def files(folder):
    return sorted(path for path in folder.rglob("*.py"))


def one_rule_one_script_one_name(root):
    for room in rooms(root):
        rules = rules_of(root, room)
        for rule, (script, _) in rules.items():
            if script != f"{room}/{rule}.py":
                yield f"rule {rule} of rules/{room}.smk has scripts/{script}"
        text = (root / "rules" / f"{room}.smk").read_text(encoding="utf-8")
        if statements := len(re.findall(r"^\s*script:", text, re.MULTILINE)) - len(rules):
            yield f"rules/{room}.smk names {statements} scripts twice"
        for path in sorted((root / "scripts" / room).glob("*.py")):
            if path.stem != "__init__" and path.stem not in rules:
                yield f"scripts/{room}/{path.name} is no rule's: helpers lie in scripts/{room}/lib"
        for path in sorted((root / "scripts" / room).iterdir()):
            if path.is_dir() and path.name not in ("lib", "__pycache__"):
                yield f"scripts/{room}/{path.name} is a folder beside lib"


def rooms_import_earlier_rooms_only(root):
    order = LIBRARIES + rooms(root)
    for path in files(root / "scripts"):
        room = path.relative_to(root / "scripts").parts[0]
        for name in imported(path):
            other = name.split(".")[0]
            if other in order and order.index(other) > order.index(room):
                yield f"{path.relative_to(root)} imports {name}, of a later room"
            if other in ("tools", "benchmarks", "tests", "support") or other in {
                p.stem for p in files(root / "benchmarks")
            }:
                yield f"{path.relative_to(root)} imports {name}, no part of the workflow"


def scripts_import_no_scripts(root):
    scripts = {script.removesuffix(".py").replace("/", ".") for script in scripts_of(root)}
    for path in files(root / "scripts"):
        yield from (f"{path.relative_to(root)} imports the script {name}" for name in scripts & set(imported(path)))


def common_is_small(root):
    lines = sum(len(path.read_text(encoding="utf-8").splitlines()) for path in files(root / "scripts" / "common"))
    if lines > LARGEST_COMMON:
        yield f"scripts/common has {lines} lines: what one room uses lives there"


def one_word_is_a_chapter_everywhere(root):
    with open(root / "config.yaml", encoding="utf-8") as handle:
        sections = [key for key, value in yaml.safe_load(handle).items() if isinstance(value, dict)]
    yield from (f"config.yaml has a section {name}, no room" for name in sections if name not in rooms(root))
    smk = {path.stem for path in (root / "rules").glob("*.smk")} - {"common"}
    yield from (f"rules/{name}.smk is not included" for name in smk - set(rooms(root)))
    folders = {path.name for path in (root / "scripts").iterdir() if path.is_dir() and path.name != "__pycache__"}
    yield from (f"scripts/{name} is no room" for name in folders ^ {*LIBRARIES, *rooms(root)})
    tested = {path.name for path in (root / "tests" / "unit").iterdir() if path.name != "__pycache__"}
    yield from (f"tests/unit/{name} is no room" for name in tested - folders - {"house", "tools"})
    yield from (f"there is no tests/unit/{name}" for name in folders - tested)


def no_test_imports_another(root):
    tests = {path.stem for path in files(root / "tests") if path.stem.startswith("test_")} | {"conftest"}
    scripts = {script.removesuffix(".py").replace("/", ".") for script in scripts_of(root)}
    for path in files(root / "tests"):
        for name in imported(path):
            if tests & set(name.split(".")) and name not in scripts:
                yield f"{path.relative_to(root)} imports {name}: what tests share lies in tests/support"


def long_functions_say_why(root):
    for folder in ("scripts", "tools", "benchmarks", "tests", ".ci"):
        for path in files(root / folder):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                    lines = node.end_lineno - node.lineno + 1
                    if lines > LONGEST and "Long:" not in (ast.get_docstring(node) or ""):
                        yield f"{path.relative_to(root)}: {node.name} has {lines} lines; split it, or say `Long: why`"


CHECKS = [
    one_rule_one_script_one_name,
    rooms_import_earlier_rooms_only,
    scripts_import_no_scripts,
    common_is_small,
    one_word_is_a_chapter_everywhere,
    no_test_imports_another,
    long_functions_say_why,
]


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_the_tree(check):
    assert "\n".join(check(ROOT)) == ""


SOUND = {
    "Snakefile": 'include: "rules/common.smk"\ninclude: "rules/data.smk"\ninclude: "rules/qa.smk"\n',
    "config.yaml": "study: x\ndata: {}\nqa: {}\n",
    "rules/common.smk": "",
    "rules/data.smk": """
        for name in FILES:
            rule:
                name: f"fetch_{name}"
                script: "../scripts/data/fetch.py"
        """,
    "rules/qa.smk": 'rule ask:\n    script: "../scripts/qa/ask.py"\nrule asked:\n    input: "answers"\n',
    "scripts/data/fetch.py": "from data.lib import archives\nfrom common import files\n",
    "scripts/data/lib/archives.py": "",
    "scripts/qa/ask.py": "def main():\n    import data.lib.archives\n",
    "scripts/common/files.py": "",
    "scripts/study/addresses.py": "",
    "scripts/training/state.py": "",
    "tools/doctor.py": "from qa import ask\n",
    "benchmarks/speed.py": "",
    **{f"tests/unit/{room}/test_{room}.py": "" for room in ("common", "study", "training", "data", "house", "tools")},
    "tests/unit/qa/test_ask.py": "from qa import ask\nfrom support import studies\n",
}
LONG = "def f():\n{}" + "    pass\n" * LONGEST
PLANTS = [
    (one_rule_one_script_one_name, {"rules/qa.smk": 'rule other:\n    script: "../scripts/qa/ask.py"\n'}),
    (one_rule_one_script_one_name, {"rules/qa.smk": 'rule fetch:\n    script: "../scripts/data/fetch.py"\n'}),
    (one_rule_one_script_one_name, {"rules/qa.smk": SOUND["rules/qa.smk"] + SOUND["rules/qa.smk"]}),
    (one_rule_one_script_one_name, {"scripts/qa/helper.py": ""}),
    (one_rule_one_script_one_name, {"scripts/qa/helpers/pairs.py": ""}),
    (rooms_import_earlier_rooms_only, {"scripts/data/fetch.py": "import qa.lib.pairs\n"}),
    (rooms_import_earlier_rooms_only, {"scripts/common/files.py": "def f():\n    from study import addresses\n"}),
    (rooms_import_earlier_rooms_only, {"scripts/qa/ask.py": "from tools import doctor\n"}),
    (rooms_import_earlier_rooms_only, {"scripts/qa/ask.py": "import speed\n"}),
    (scripts_import_no_scripts, {"scripts/qa/ask.py": "from data.fetch import main\n"}),
    (scripts_import_no_scripts, {"scripts/qa/ask.py": "from data import fetch\n"}),
    (common_is_small, {"scripts/common/files.py": "x = 1\n" * (LARGEST_COMMON + 1)}),
    (one_word_is_a_chapter_everywhere, {"config.yaml": "sentiment: {}\n"}),
    (one_word_is_a_chapter_everywhere, {"rules/other.smk": ""}),
    (one_word_is_a_chapter_everywhere, {"scripts/other/x.py": ""}),
    (one_word_is_a_chapter_everywhere, {"tests/unit/other/test_x.py": ""}),
    (one_word_is_a_chapter_everywhere, {"Snakefile": SOUND["Snakefile"] + 'include: "rules/new.smk"\n'}),
    (no_test_imports_another, {"tests/unit/data/test_data.py": "from test_ask import helper\n"}),
    (no_test_imports_another, {"tests/unit/data/test_data.py": "from unit.qa import test_ask\n"}),
    (long_functions_say_why, {"tools/doctor.py": LONG.format("")}),
    (long_functions_say_why, {"scripts/data/lib/archives.py": LONG.format('    """Do it."""\n')}),
]


def planted(root, change=()):
    """A small tree with the files of `SOUND`, some of them changed or added."""
    for name, text in (SOUND | dict(change)).items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(textwrap.dedent(text), encoding="utf-8")
    return root


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_a_sound_tree_passes(tmp_path, check):
    assert list(check(planted(tmp_path))) == []


@pytest.mark.parametrize(("check", "change"), PLANTS)
def test_a_plant_is_noticed(tmp_path, check, change):
    root = planted(tmp_path, change)
    if "include" in str(change):
        (root / "rules" / "new.smk").touch()
    assert list(check(root))


def test_a_long_function_may_say_why(tmp_path):
    reason = '    """Do it.\n\n    Long: one table.\n    """\n'
    assert list(long_functions_say_why(planted(tmp_path, {"tools/doctor.py": LONG.format(reason)}))) == []
