"""Comments are sentences with a subject, and names say what they hold: each check is shown to notice a plant.

Both laws hold for the code of the project; in its tests names may still say little.
"""

import ast
import io
import re
import tokenize

import pytest

from support.environments import ROOT

FOLDERS = ("scripts", "rules", "tools", "benchmarks", ".ci")
# A question may open with such a word; a comment's subject may not be left out by it.
NO_SUBJECT = re.compile(r"(Of|By what|To which|To what|Whom|What|Whether|Else|Not)\b(?![^.:]*\?)")
SAYS_NOTHING = {"of", "told", "own", "those"}


def code(root, folders=FOLDERS):
    """The files of the project's code, as paths from its root."""
    found = [path for folder in folders for path in (root / folder).rglob("*") if path.suffix in (".py", ".smk")]
    return sorted([*found, *(path for path in (root / "Makefile", root / "Snakefile") if path.exists())])


def comments(path):
    """Yield (line, text) of each block of whole-line comments and each docstring of a file."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".py":
        tokens = tokenize.generate_tokens(io.StringIO(text).readline)
        lines = {token.start[0]: token.string for token in tokens if token.type == tokenize.COMMENT}
        kinds = (ast.Module, ast.ClassDef, ast.FunctionDef)
        documented = (node for node in ast.walk(ast.parse(text)) if isinstance(node, kinds) and ast.get_docstring(node))
        yield from ((node.body[0].lineno, ast.get_docstring(node)) for node in documented)
    else:
        lines = {n: line.strip() for n, line in enumerate(text.splitlines(), 1) if line.strip().startswith("#")}
        yield from ((0, found) for found in re.findall(r'"""(.*)', text))
    yield from ((n, line.lstrip("# ")) for n, line in lines.items() if n - 1 not in lines)


def without_subject(root):
    """The places of comments that open without a subject."""
    found = ((path, n, text) for path in code(root, (*FOLDERS, "tests")) for n, text in comments(path))
    return [f"{path.relative_to(root)}:{n}: {text.split()[0]}" for path, n, text in found if NO_SUBJECT.match(text)]


def empty_names(root):
    """The places of functions, parameters and variables whose name says nothing."""
    found = []
    for path in code(root):
        if path.suffix == ".py":
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                stored = node.id if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) else None
                name = stored or getattr(node, "arg", None) if not isinstance(node, ast.keyword) else None
                name = node.name if isinstance(node, ast.FunctionDef | ast.ClassDef) else name
                if name in SAYS_NOTHING:
                    found.append(f"{path.relative_to(root)}:{node.lineno}: {name}")
    return found


@pytest.mark.parametrize("check", [without_subject, empty_names])
def test_the_code_keeps_the_law(check):
    assert check(ROOT) == []


@pytest.mark.parametrize(
    ("check", "name", "text", "expected"),
    [
        (without_subject, "scripts/x.py", "x = 1\n# Of each run.\ny = 2\n", "scripts/x.py:2: Of"),
        (without_subject, "scripts/x.py", 'def f():\n    """What it does."""\n', "scripts/x.py:2: What"),
        (without_subject, "rules/x.smk", "rule x:\n    # Else it reruns.\n    shell: 'x'\n", "rules/x.smk:2: Else"),
        (without_subject, "tests/x.py", "# What follows.\n", "tests/x.py:1: What"),
        (without_subject, "Makefile", "all:\n\t# Not here.\n", "Makefile:2: Not"),
        (empty_names, "tools/x.py", "for of in ():\n    pass\n", "tools/x.py:1: of"),
        (empty_names, "tools/x.py", "def f(own=1):\n    pass\n", "tools/x.py:1: own"),
        (empty_names, "tools/x.py", "def told():\n    pass\n", "tools/x.py:1: told"),
    ],
)
def test_a_plant_is_noticed(tmp_path, check, name, text, expected):
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    assert check(tmp_path) == [expected]


def test_a_question_and_a_second_line_are_no_fault(tmp_path):
    (tmp_path / "tools").mkdir()
    (tmp_path / "tools" / "x.py").write_text('"""What does it save?"""\n# The number\n# Of each run.\nf(own=1)\n')
    assert without_subject(tmp_path) == [] and empty_names(tmp_path) == []
