"""The project's modules that a script imports: the digest that makes its rules run again after an edit."""

import os
import pathlib
import shutil

import pytest

import study.modules
from study.modules import SCRIPTS, helper_modules, helpers_digest, own_imports
from support import environments

FILES = sorted(pathlib.Path(SCRIPTS).rglob("*.py"))
JOBS = {script for script, _ in environments.rules().values()}


def names(script):
    return {os.path.relpath(path, SCRIPTS) for path in helper_modules(os.path.join(SCRIPTS, script))}


def test_modules_are_followed_through_each_other_and_into_functions():
    found = names("frameworks/fairseq/score.py")
    assert {"common/entry.py", "frameworks/fairseq/scoring.py", "training/fairseq_checkpoint.py"} <= found
    # The plug-in is imported inside a function of a helper module; with it comes what it imports.
    plugin = {f"training/fairseq_plugin/{name}.py" for name in ("tasks", "architecture")}
    assert {*plugin, "training/dropout.py"} <= found


def test_only_what_is_imported_counts():
    assert not any(name.startswith("qa/") for name in names("frameworks/fairseq/train.py"))
    assert not any("fairseq_plugin" in name for name in names("frameworks/huggingface/train.py"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SCRIPTS)))
def test_no_import_is_overlooked(path):
    """Against Python's own parser."""
    wanted = set()
    for name in environments.imports(path):
        place = pathlib.Path(SCRIPTS, *name.split("."))
        # A framework's facts load none of its modules; only the measures that a study names are loaded.
        whole = place.is_dir() and not name.startswith("frameworks.") and name != "measures"
        package = whole and (place / "__init__.py").exists() and (place / "__init__.py").stat().st_size
        modules = [place.with_suffix(".py"), *(place.glob("*.py") if package else [])]
        wanted |= {str(module) for module in modules if module.is_file()}
    assert wanted <= own_imports(str(path))


@pytest.mark.parametrize("job", sorted(JOBS))
def test_every_module_found_is_a_file_and_never_a_rule_s_script(job):
    found = names(job)
    assert all((pathlib.Path(SCRIPTS) / name).is_file() for name in found)
    assert not found & JOBS


@pytest.fixture
def copy(tmp_path, monkeypatch):
    """The scripts in another place, which the module under test takes for its own; forgotten afterwards."""

    def forget():
        own_imports.cache_clear()
        study.modules._part.cache_clear()

    shutil.copytree(SCRIPTS, tmp_path / "scripts", ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setattr(study.modules, "SCRIPTS", str(tmp_path / "scripts"))
    forget()
    yield tmp_path / "scripts", forget
    forget()


def test_a_named_module_counts_where_its_package_is_imported(copy):
    folder, forget = copy
    measure = str(folder / "measures" / "mcc.py")

    def digests(named):
        forget()
        scripts = ("frameworks/huggingface/train.py", "data/build_splits.py")
        return [helpers_digest(str(folder / script), named) for script in scripts]

    without, before = digests([]), digests([measure])
    assert before[0] != without[0] and before[1] == without[1]
    for path in (measure, folder / "measures" / "_jackknife.py"):
        with open(path, "a", encoding="utf-8") as handle:
            handle.write("\n# Changed.\n")
        after = digests([measure])
        assert after[0] != before[0] and after[1] == before[1] and digests([]) == without
        before = after


def test_an_edit_to_a_helper_changes_the_digest_of_those_who_import_it(copy):
    folder, forget = copy

    def digests():
        forget()
        scripts = ("qa/finetune_lora.py", "checkpoint/pretrain.py")
        return [helpers_digest(str(folder / script)) for script in scripts]

    before = digests()
    assert digests() == before
    with open(folder / "qa" / "question_pairs.py", "a", encoding="utf-8") as handle:
        handle.write("# edited\n")
    after = digests()
    assert after[0] != before[0]
    assert after[1] == before[1]


HERE = helpers_digest(os.path.join(SCRIPTS, "checkpoint", "pretrain.py"))


def test_the_digest_does_not_depend_on_where_the_project_lies(copy):
    assert helpers_digest(str(copy[0] / "checkpoint" / "pretrain.py")) == HERE
