"""The tree shows the study: rooms, their order, one script for a rule; each check is shown to notice a plant.

A check takes the root of a tree and returns what is wrong with it, in words.
"""

import ast
import re
import textwrap

import pytest
import yaml

from support.environments import ROOT, parse_rules

# Libraries that the rules import, without rules; the rooms follow in the order in which the Snakefile includes them.
LIBRARIES = ["tasks", "measures", "common", "sources", "study", "training"]
# Folders of plug-ins: each of them has files of the same names.
PLUG_INS = ("frameworks", "measures", "products", "sections", "sources", "tasks")
LARGEST_COMMON, LONGEST = 1000, 60
# The tasks of the scripts in a framework's folder, as in the names of their rules.
STEPS = {"train": "finetune", "score": "evaluate", "test_curve": "test_curve"}
LARGEST_MODULE, LARGEST_RULES, LARGEST_SHARE = 400, 300, 0.15
# A short rule file may have these many lines beside its rules.
FEW = 5


def rooms(root):
    """The rooms with rules, in their order."""
    included = re.findall(r'^include: "rules/(\w+)\.smk"', (root / "Snakefile").read_text(encoding="utf-8"), re.M)
    found, last = [name for name in included if name != "common"], ["report"] * ("report" in included)
    return [*(name for name in found if name not in last), *guests_of(root), *last]


def guests_of(root):
    """The rooms that a study can do without."""
    return sorted(path.parent.name for path in (root / "scripts").glob("*/guest.py"))


def texts_of(root, room):
    """The text of a room's rules; those of single frameworks are files of their own and belong to fine-tuning."""
    more = sorted((root / "rules" / "frameworks").glob("*.smk")) if room == "finetuning" else []
    return [path.read_text(encoding="utf-8") for path in (root / "rules" / f"{room}.smk", *more)]


def rules_of(root, room):
    """The rules of a room, {name: (script, environment)}: those of its file, and those that its products' rows give."""
    rules = {rule: found for text in texts_of(root, room) for rule, found in parse_rules(text).items()}
    rows = "".join(path.read_text(encoding="utf-8") for path in (root / "scripts" / room / "products").glob("*.py"))
    return rules | {name: (f"{room}/{name}.py", "report") for name in re.findall(r"\bRule\(\s*\"(\w+)\"", rows)}


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


def rule_of(script):
    """The name of a script's rule: its own, or a framework's step and the framework (`frameworks/x/train.py`)."""
    *folder, name = script.removesuffix(".py").split("/")
    return f"{STEPS[name]}_{folder[1]}" if folder[0] == "frameworks" and name in STEPS else name


def one_rule_one_script_one_name(root):
    for room in rooms(root):
        rules, folders = rules_of(root, room), [root / "scripts" / room]
        if room == "finetuning":
            folders += sorted((root / "scripts" / "frameworks").glob("*/"))
        homes = {folder.relative_to(root / "scripts").as_posix() for folder in folders}
        for rule, (script, _) in rules.items():
            if rule_of(script) != rule or script.rpartition("/")[0] not in homes:
                yield f"rule {rule} of the room {room} has scripts/{script}"
        text = "\n".join(texts_of(root, room))
        if statements := len(re.findall(r"^\s*script:\s*[^\s{]*\.py", text, re.M)) - len(parse_rules(text)):
            yield f"the rules of the room {room} name {statements} scripts twice"
        scripts = {script for script, _ in rules.values()}
        for path in sorted(path for folder in folders for path in folder.glob("*.py")):
            place = path.relative_to(root / "scripts").as_posix()
            if place not in scripts and "run(main, snakemake)" in path.read_text(encoding="utf-8"):
                yield f"scripts/{place} is written as a rule's script, and no rule has its name"


def no_helper_is_idle(root):
    """A helper is imported by a script or by another helper, else nothing needs it."""
    every = files(root / "scripts") + sorted((root / "rules").rglob("*.smk"))
    text = {path: path.read_text(encoding="utf-8") for path in every}
    rules = scripts_of(root)
    for path in files(root / "scripts"):
        place = path.relative_to(root / "scripts")
        if (
            path.stem in ("__init__", "guest")
            or str(place) in rules
            or "plugin" in str(place)
            or set(place.parts) & set(PLUG_INS)
        ):
            continue
        others = "\n".join(words for other, words in text.items() if other != path)
        if not re.search(rf"\bimport [^\n]*\b{path.stem}\b|\b{path.stem} import\b|\.{path.stem}\b", others):
            yield f"scripts/{place} is imported by nothing in scripts/ and rules/"


def modules_have_different_names(root):
    """A module's name says one thing: no two of the rooms' modules share it."""
    seen = {}
    for path in files(root / "scripts"):
        place = path.relative_to(root / "scripts")
        if path.stem in ("__init__", "guest") or set(place.parts) & set(PLUG_INS):
            continue
        if path.stem in seen:
            yield f"scripts/{place} has the name of scripts/{seen[path.stem]}"
        seen[path.stem] = place
    for folder in (root / "scripts").rglob("lib"):
        yield f"{folder.relative_to(root)}: a folder is called by what it holds"


def room_of(root, parts):
    """The room of a module below scripts/, whose sections are parts of the page and whose frameworks fine-tune.

    Facts of frameworks are read everywhere, so they import no other room.
    """
    room, *inside = parts
    if room == "frameworks":
        return "finetuning" if len(inside) > 1 and inside[1] != "__init__.py" else "common"
    return "report" if inside and inside[0] == "sections" else room


def rooms_import_earlier_rooms_only(root):
    order = LIBRARIES + rooms(root)
    for path in files(root / "scripts"):
        room = room_of(root, path.relative_to(root / "scripts").parts)
        for name in imported(path):
            parts = name.split(".")
            module = (root / "scripts").joinpath(*parts).with_suffix(".py").is_file() or parts[0] != "frameworks"
            other = room_of(root, parts if module else [*parts[:2], "__init__.py"])
            if other in order and order.index(other) > order.index(room):
                yield f"{path.relative_to(root)} imports {name}, of a later room"
            if other in ("tools", "benchmarks", "tests", "support") or other in {
                p.stem for p in files(root / "benchmarks")
            }:
                yield f"{path.relative_to(root)} imports {name}, no part of the workflow"


def nothing_imports_a_guest(root):
    for guest in guests_of(root):
        home = (root / "scripts" / guest, root / "rules" / f"{guest}.smk")
        for path in [*files(root / "scripts"), *sorted((root / "rules").rglob("*.smk"))]:
            words = re.findall(rf"^\s*(?:from|import)\s+{guest}\b", path.read_text(encoding="utf-8"), re.MULTILINE)
            if words and not {path, *path.parents} & set(home):
                yield f"{path.relative_to(root)} imports the guest {guest}"


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
    yield from (f"scripts/{name} is no room" for name in folders - {"frameworks"} ^ {*LIBRARIES, *rooms(root)})
    made = {path.stem for path in (root / "rules").glob("frameworks/*.smk")}
    yield from (
        f"scripts/frameworks has no {name}" for name in made if not (root / "scripts/frameworks" / name).is_dir()
    )
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


def modules_are_short(root):
    for folder in ("scripts", "tools", "benchmarks"):
        for path in files(root / folder):
            lines = len(path.read_text(encoding="utf-8").splitlines())
            if lines > LARGEST_MODULE:
                yield f"{path.relative_to(root)} has {lines} lines: divide it"


def outside_rules(text):
    """The number of lines of a rule file that are neither empty nor a comment nor part of a rule."""
    found, inside = 0, None
    for line in text.splitlines():
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        indent = len(line) - len(line.lstrip())
        inside = None if inside is not None and indent <= inside else inside
        if re.match(r"\s*(?:use )?(?:rule|checkpoint)\b[^=]*:$", line):
            inside = indent
        found += inside is None
    return found


def rule_files_hold_rules(root):
    for path in sorted((root / "rules").rglob("*.smk")):
        text = path.read_text(encoding="utf-8")
        # A file without a rule holds helpers, as Snakemake's lint asks, and has its length alone to keep.
        helpers = not re.search(r"^\s*(?:rule|checkpoint)\b.*:$", text, re.MULTILINE)
        lines, outside = len(text.splitlines()), 0 if helpers else outside_rules(text)
        if lines >= LARGEST_RULES or outside > max(FEW, LARGEST_SHARE * lines):
            yield f"rules/{path.name} has {lines} lines, {outside} of them outside rules: move helpers to their room"


CHECKS = [
    modules_are_short,
    rule_files_hold_rules,
    one_rule_one_script_one_name,
    no_helper_is_idle,
    modules_have_different_names,
    rooms_import_earlier_rooms_only,
    nothing_imports_a_guest,
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
    "scripts/data/fetch.py": "from data import archives\nfrom common import files\nfrom study import addresses\n",
    "scripts/data/archives.py": "",
    "scripts/qa/ask.py": "def main():\n    import data.archives\n    from training import state\n",
    "scripts/common/files.py": "",
    "scripts/study/addresses.py": "",
    "scripts/training/state.py": "",
    "scripts/tasks/classes.py": "",
    "scripts/measures/share.py": "",
    "scripts/sources/__init__.py": "",
    "tools/doctor.py": "from qa import ask\n",
    "benchmarks/speed.py": "",
    **{
        f"tests/unit/{room}/test_{room}.py": ""
        for room in ("tasks", "measures", "common", "sources", "study", "training", "data", "house", "tools")
    },
    "tests/unit/qa/test_ask.py": "from qa import ask\nfrom support import studies\n",
}
GUEST = {"scripts/zoo/guest.py": "", "scripts/zoo/animals.py": "import zoo.guest\n", "rules/zoo.smk": "import zoo\n"}
HELPERS = "".join(f"X{number} = {number}\n" for number in range(9)) + SOUND["rules/qa.smk"]
LONG = "def f():\n{}" + "    pass\n" * LONGEST
PLANTS = [
    (one_rule_one_script_one_name, {"rules/qa.smk": 'rule other:\n    script: "../scripts/qa/ask.py"\n'}),
    (one_rule_one_script_one_name, {"rules/qa.smk": 'rule fetch:\n    script: "../scripts/data/fetch.py"\n'}),
    (one_rule_one_script_one_name, {"rules/qa.smk": SOUND["rules/qa.smk"] + SOUND["rules/qa.smk"]}),
    (one_rule_one_script_one_name, {"scripts/qa/other.py": "run(main, snakemake)\n"}),
    (no_helper_is_idle, {"scripts/qa/helper.py": ""}),
    (modules_are_short, {"scripts/qa/ask.py": "x = 1\n" * (LARGEST_MODULE + 1)}),
    (rule_files_hold_rules, {"rules/qa.smk": HELPERS}),
    (rule_files_hold_rules, {"rules/qa.smk": SOUND["rules/qa.smk"] + "    # as it is\n" * LARGEST_RULES}),
    (modules_have_different_names, {"scripts/qa/archives.py": ""}),
    (modules_have_different_names, {"scripts/qa/lib/pairs.py": ""}),
    (rooms_import_earlier_rooms_only, {"scripts/data/fetch.py": "import qa.question_pairs\n"}),
    (rooms_import_earlier_rooms_only, {"scripts/common/files.py": "def f():\n    from study import addresses\n"}),
    (rooms_import_earlier_rooms_only, {"scripts/qa/ask.py": "from tools import doctor\n"}),
    (rooms_import_earlier_rooms_only, {"scripts/qa/ask.py": "import speed\n"}),
    (nothing_imports_a_guest, GUEST | {"scripts/data/archives.py": "def f():\n    from zoo import animals\n"}),
    (nothing_imports_a_guest, GUEST | {"rules/data.smk": SOUND["rules/data.smk"] + "        import zoo.guest\n"}),
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
    (long_functions_say_why, {"scripts/data/archives.py": LONG.format('    """Do it."""\n')}),
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
