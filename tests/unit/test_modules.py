"""What a script imports of the project's own: the digest that makes its rules run again after an edit."""

import os
import pathlib
import re
import shutil

import pytest

import common.modules
import environments
from common.modules import SCRIPTS, helper_modules, helpers_digest, own_imports

FILES = sorted(pathlib.Path(SCRIPTS).rglob("*.py"))
JOBS = sorted(path.stem for path in pathlib.Path(SCRIPTS).glob("*.py"))


def names(script):
    return {os.path.relpath(path, SCRIPTS) for path in helper_modules(os.path.join(SCRIPTS, f"{script}.py"))}


def test_modules_are_followed_through_each_other_and_into_functions():
    found = names("evaluate_fairseq")
    assert {"common/rule.py", "common/fairseq_scoring.py", "common/fairseq_commands.py"} <= found
    # The plug-in is imported inside a function of a helper module; with it comes what it imports.
    assert {"fairseq_plugin/tasks.py", "fairseq_plugin/architecture.py", "common/dropout.py"} <= found


def test_only_what_is_imported_counts():
    assert "common/qa.py" not in names("finetune_fairseq")
    assert not any(name.startswith("fairseq_plugin") for name in names("finetune_huggingface"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_no_import_is_overlooked(path):
    """Against Python's own parser."""
    wanted = set()
    for name in environments.imports(path) - {"common"}:
        place = pathlib.Path(SCRIPTS, *name.split("."))
        modules = [place.with_suffix(".py"), *(place.glob("*.py") if place.is_dir() else [])]
        wanted |= {str(module) for module in modules if module.is_file()}
    assert wanted <= own_imports(str(path))


@pytest.mark.parametrize("job", JOBS)
def test_every_module_found_is_a_file_and_never_the_script(job):
    assert f"{job}.py" not in names(job)
    assert all((pathlib.Path(SCRIPTS) / name).is_file() for name in names(job))


@pytest.mark.parametrize("path", sorted((environments.ROOT / "rules").glob("*.smk")), ids=lambda path: path.stem)
def test_each_rule_follows_the_helpers_of_its_own_script(path):
    """A rule made from another (`use rule`) has that one's script."""
    scripts = {rule: script for rule, (script, _) in environments.rules().items()}
    text = path.read_text(encoding="utf-8")
    parts = re.split(r"^[ \t]*(?:use )?rule (\w+)(?: as \w+ with)?:", text, flags=re.MULTILINE)
    for rule, body in zip(parts[1::2], parts[2::2], strict=True):
        wanted = [scripts[rule]] if rule in scripts else []
        assert re.findall(r"helpers=helpers\(\"(\w+)\"\)", body) == wanted, rule


@pytest.fixture
def copy(tmp_path, monkeypatch):
    """The scripts in another place, which the module under test takes for its own; forgotten afterwards."""

    def forget():
        own_imports.cache_clear()
        common.modules._part.cache_clear()

    shutil.copytree(SCRIPTS, tmp_path / "scripts", ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setattr(common.modules, "SCRIPTS", str(tmp_path / "scripts"))
    forget()
    yield tmp_path / "scripts", forget
    forget()


def test_an_edit_to_a_helper_changes_the_digest_of_those_who_import_it(copy):
    folder, forget = copy

    def digests():
        forget()
        return [helpers_digest(str(folder / f"{name}.py")) for name in ("finetune_lora", "pretrain")]

    before = digests()
    assert digests() == before
    with open(folder / "common" / "qa.py", "a", encoding="utf-8") as handle:
        handle.write("# edited\n")
    after = digests()
    assert after[0] != before[0]
    assert after[1] == before[1]


HERE = helpers_digest(os.path.join(SCRIPTS, "pretrain.py"))


def test_the_digest_does_not_depend_on_where_the_project_lies(copy):
    assert helpers_digest(str(copy[0] / "pretrain.py")) == HERE
