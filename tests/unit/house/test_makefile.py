"""The commands of every day: the Makefile, with empty packages of the right names or stand-ins for the tools."""

import os
import re
import shutil
import subprocess
import sys

import pytest

from study.products import page_rules
from support.environments import ROOT, rules
from support.makefile import Project, write_index, write_source, write_wheel


@pytest.fixture
def make(tmp_path):
    """A function that runs make in a project whose packages are empty, without any network."""
    project, index = Project(tmp_path / "a project"), write_index(tmp_path / "wheels")

    def run(*arguments, **variables):
        return project.make(*arguments, index=index, **variables)

    run.project, run.index = project.folder, index
    return run


@pytest.fixture
def finished(tmp_path):
    """A project with a finished environment of stand-ins, which print name and arguments."""
    project = Project(tmp_path / "a project")
    project.finish_environment()
    return project


# --- the environment --------------------------------------------------------------------------------------------------


def stamps(project):
    return sorted(path.name for path in (project / ".venv").glob("installed-*"))


@pytest.mark.workflow
def test_set_up_is_done_once_and_repaired(make):
    first = make("test-env")
    assert first.returncode == 0, first.stdout
    assert len(stamps(make.project)) == 2
    # Again, and with newer files of the same content: nothing to do.
    for path in make.project.glob("requirements*.txt"):
        path.touch()
    again = make("test-env")
    assert again.returncode == 0 and "Nothing to be done" in again.stdout

    # Half a package, as a killed pip leaves it: the environment is made anew.
    package = next(make.project.glob(".venv/lib/*/site-packages/transformers/__init__.py"))
    package.unlink()
    (make.project / ".venv" / ".unfinished").touch()
    repaired = make("env")
    assert repaired.returncode == 0 and "recreating" in repaired.stdout and package.exists()

    # A lock that cannot be had: one message, and the mark that makes the next run start anew, as above.
    with (make.project / "requirements.txt").open("a") as lock:
        lock.write("absent-package==1.0\n")
    failed = make("env")
    assert failed.returncode == 2 and "the installation stopped; the whole log is .venv/install.log" in failed.stdout
    assert (make.project / ".venv" / ".unfinished").exists()


@pytest.mark.workflow
def test_container_definition_brings_what_the_set_up_needs(make):
    # It cannot be built here (no registry of images): the files that it copies, and what it runs on them.
    text = (ROOT / "envs" / "workstation.def").read_text(encoding="utf-8")
    sections = dict(re.findall(r"^%(\w+)\n(.*?)(?=^%|\Z)", text, re.MULTILINE | re.DOTALL))
    copied = dict(line.split() for line in sections["files"].splitlines() if line.strip())
    assert all(to == f"/opt/study/{path}" and (ROOT / path).is_file() for path, to in copied.items())
    for path in make.project.iterdir():
        if path.is_file() and path.name not in copied:
            path.unlink()
    (command,) = re.findall(r"^ +make (.*)$", sections["post"], re.MULTILINE)
    done = make(*command.replace("/usr/bin/python3.11", sys.executable).split())
    assert done.returncode == 0, done.stdout
    assert "PATH=/opt/study/.venv/bin:" in sections["environment"]


@pytest.mark.workflow
@pytest.mark.parametrize("build", ["", "cpu", "cu126"])
def test_one_pin_serves_every_build_of_pytorch(tmp_path, build):
    # An index or folder named beside PyPI by PIP_EXTRA_INDEX_URL or PIP_FIND_LINKS offers torch 1.0+cpu: pip takes it.
    for version in {"1.0", f"1.0+{build}".rstrip("+")}:
        write_wheel(tmp_path, "torch", version, "torch")
    run = subprocess.run(
        [sys.executable, "-m", "pip", "install", "--dry-run", "--ignore-installed", "--no-index", "torch==1.0"],
        env=os.environ | {"PIP_FIND_LINKS": str(tmp_path), "PIP_CONFIG_FILE": os.devnull},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert run.stdout.splitlines()[-1] == f"Would install torch-1.0+{build}".rstrip("+"), run.stderr


@pytest.mark.workflow
def test_the_first_python_that_runs_and_suits_makes_the_environment(make, tmp_path):
    def stand_in(name, line):
        (tmp_path / name).write_text(f"#!/bin/sh\n{line}\n")
        (tmp_path / name).chmod(0o755)

    # A version manager's stub that runs nothing, a version that does not suit, and one that does.
    stand_in("python3.11", "echo 'python3.11: command not found' >&2; exit 127")
    stand_in("python3.12", f"""case "$2" in *version_info*) exit 1 ;; esac; exec {sys.executable} "$@\"""")
    stand_in("python3.13", f'exec {sys.executable} "$@"')
    path = f"{tmp_path}:{os.environ['PATH']}"
    assert " PYTHON=python3.13 " in make("help-all", "PYTHON=", PATH=path).stdout
    assert " PYTHON=python3.12 " in make("help-all", "PYTHON=python3.12", PATH=path).stdout
    # With none of them, uv is asked for one.
    for name in ("python3.13", "python3"):
        stand_in(name, "exit 1")
    assert " PYTHON=python3.11 " in make("help-all", "PYTHON=", PATH=path).stdout
    stand_in("uv", f"""[ "$1 $2" = "python find" ] && echo {sys.executable}""")
    done = make("env", "PYTHON=", PATH=path)
    assert done.returncode == 0 and len(stamps(make.project)) == 1, done.stdout


@pytest.mark.workflow
def test_set_up_names_what_is_missing(make):
    absent = make("env", "PYTHON=python3.99")
    assert absent.returncode == 2 and "Python 3.11, 3.12 or 3.13 is needed, and 'python3.99' is none" in absent.stdout
    assert not (make.project / ".venv").exists()
    absent = make("env", CXX="no-such-compiler")
    assert absent.returncode == 2 and "a C++ compiler is needed" in absent.stdout
    assert "WITHOUT=fairseq leaves fairseq out" in absent.stdout
    # Without fairseq it needs no compiler, which the environment remembers until it is told otherwise.
    for arguments in (["env", "WITHOUT=fairseq"], ["env"]):
        assert make(*arguments, CXX="no-such-compiler").returncode == 0
    assert not list(make.project.glob(".venv/lib/*/site-packages/fairseq"))
    assert make("env", "WITHOUT=").returncode == 0 and list(make.project.glob(".venv/lib/*/site-packages/fairseq"))
    assert "Nothing to be done" in make("env").stdout
    study = make("study", "STUDY=studies/absent.yaml")
    assert study.returncode == 2 and "studies/absent.yaml is no file" in study.stdout


def source_of_fairseq(make, before="pass"):
    """Let the index offer fairseq's source in place of its wheel."""
    (make.index / "fairseq_fixed-1.0-py3-none-any.whl").unlink()
    write_source(make.index, "fairseq_fixed", "1.0", "fairseq", before)


@pytest.mark.workflow
def test_fairseq_is_built_with_the_extensions_that_are_used(make):
    source_of_fairseq(make)
    done = make("env")
    assert done.returncode == 0, done.stdout
    built = subprocess.run(
        [make.project / ".venv/bin/python", "-c", "import fairseq; print(*fairseq.EXTENSIONS)"],
        capture_output=True,
        text=True,
    )
    assert built.stdout.split() == ["bleu", "data", "blocks"], built.stderr
    # The wheel alone is kept, for `make wheels`; not an earlier lock's.
    kept = make.project / ".venv/fairseq"
    assert os.listdir(kept) == ["fairseq_fixed-1.0-py3-none-any.whl"]
    write_wheel(kept, "fairseq_fixed", "0.9", "fairseq")
    with (make.project / "requirements.txt").open("a") as lock:
        lock.write("# another lock\n")
    again = make("env")
    assert again.returncode == 0, again.stdout
    assert os.listdir(kept) == ["fairseq_fixed-1.0-py3-none-any.whl"]


@pytest.mark.workflow
def test_a_failed_build_of_fairseq_is_told_from_its_own_log(make):
    source_of_fairseq(make, 'sys.exit("no such header")')
    failed = make("env")
    assert failed.returncode == 2, failed.stdout
    assert "no such header" in failed.stdout and "the whole log is .venv/fairseq.log" in failed.stdout
    assert (make.project / ".venv/.unfinished").exists() and not stamps(make.project)


@pytest.mark.workflow
def test_a_failed_installation_leaves_no_build_behind(make, tmp_path):
    begun, ended = str(tmp_path / "begun"), str(tmp_path / "ended")
    source_of_fairseq(make, f"open({begun!r}, 'w').close(); time.sleep(60); open({ended!r}, 'w').close()")
    # Another package's build fails as soon as fairseq's has begun.
    waiting = f"[time.sleep(0.1) for _ in iter(lambda: os.path.exists({begun!r}), True)]; sys.exit('no such header')"
    write_source(make.index, "broken", "1.0", "broken", waiting)
    with (make.project / "requirements.txt").open("a") as lock:
        lock.write("broken==1.0\n")
    failed = make("env")
    assert failed.returncode == 2 and "the whole log is .venv/install.log" in failed.stdout, failed.stdout
    # A process that still ran would hold make's output open, and `make` above would have returned after its end.
    assert os.path.exists(begun) and not os.path.exists(ended)


# --- suites -----------------------------------------------------------------------------------------------------------


def test_a_suite_is_run_with_the_words_of_each_of_its_studies(finished):
    (finished.folder / "suites").mkdir()
    (finished.folder / "suites" / "small.yaml").write_text("suite: small\n")
    words = ["SUITE=suites/small.yaml", "MIRROR=a mirror", "ARGS=--workflow-profile profiles/slurm"]
    said = finished.make("suite", "CORES=2", *words).stdout
    wanted = ["<snakemake>", "<--snakefile>", "<suites/Snakefile>", "<--cores>", "<2>", "<--quiet>", "<all>"]
    wanted += ["<--configfile>", "<suites/small.yaml>", "<--config>", "<arguments=--workflow-profile profiles/slurm>"]
    assert said.splitlines() == [*wanted, "<mirror='a mirror'>"]
    assert "--config>" not in finished.make("suite", words[0]).stdout
    absent = finished.make("suite", "SUITE=suites/absent.yaml")
    assert absent.returncode == 2 and "suites/absent.yaml is no file: name a suite's file" in absent.stdout


# --- what is made again, and what is removed --------------------------------------------------------------------------


def test_nothing_is_removed_where_the_list_of_files_is_missing(make):
    page = make.project / "results" / "embedded" / "report.html"
    page.parent.mkdir(parents=True)
    page.touch()
    (make.project / "config.yaml").write_text("study: embedded\n")
    shutil.rmtree(make.project / "scripts" / "study")
    done = make("clean-report")
    assert done.returncode != 0 and "study.products" in done.stdout
    assert page.exists()


def test_a_report_that_cannot_be_made_again_is_not_lost(make):
    page = make.project / "results" / "embedded" / "report.html"
    page.parent.mkdir(parents=True)
    page.write_text("as it was")
    (page.parent / "statistics").mkdir()
    (page.parent / "statistics" / "pairs.tsv").write_text("and what it rests on")
    (make.project / "config.yaml").write_text("study: embedded\n")
    done = make("regenerate")
    assert done.returncode != 0 and "the previous files are back" in done.stdout
    assert page.read_text() == "as it was"
    assert (page.parent / "statistics" / "pairs.tsv").read_text() == "and what it rests on"


def test_only_rules_that_train_nothing_make_the_page_again():
    assert set(page_rules()) <= rules().keys()
    reading_checkpoints = {"prove_weights", "score_logits_fairseq", "compare_logits", "build_parameter_ledger"}
    training = {rule for rule in rules() if rule.startswith(("pretrain", "finetune_", "evaluate_", "test_curve_"))}
    assert not set(page_rules()) & (training | reading_checkpoints)


def test_clean_leaves_downloads_and_environments(finished):
    kept = [".snakemake/conda/1a2b/bin/python", ".snakemake/singularity/image.simg", ".venv/bin/python"]
    kept += ["resources/host/file.zip"]
    gone = [".snakemake/metadata/record", ".snakemake/log/run.log", "results/embedded/report.html"]
    gone += [".pytest_cache/README.md", ".ruff_cache/x", ".hypothesis/x"]
    for name in {*kept, *gone} - {".venv/bin/python"}:
        (finished.folder / name).parent.mkdir(parents=True, exist_ok=True)
        (finished.folder / name).write_text("-")
    for _ in range(2):
        done = finished.make("clean")
        assert done.returncode == 0, done.stdout
        assert all((finished.folder / name).exists() for name in kept)
        assert not [name for name in gone if (finished.folder / name).parent.exists()]


# --- the tests --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "words, arguments",
    [
        (["test"], ["-m", "not slow"]),
        (["test", "TESTS=tests/unit"], ["tests/unit"]),
        (["test-slow"], ["-m", "slow and not long"]),
        (["test-slow", "TESTS=tests/unit"], ["-m", "slow and not long", "tests/unit"]),
        (["test-long"], ["-m", "long"]),
    ],
    ids=" ".join,
)
def test_the_slow_tests_have_a_target_of_their_own(finished, words, arguments):
    done = finished.make(*words)
    assert done.returncode == 0, done.stdout
    called = done.stdout.partition("<pytest>\n")[2].splitlines()
    assert called[:5] == ["<-n>", "<2>", "<--dist>", "<loadfile>", "<--no-loadscope-reorder>"]
    assert called[5:] == [f"<{word}>" for word in arguments]
    # The form of the code is judged once.
    assert ("<ruff>" in done.stdout) == (words[0] == "test")
    assert re.search(rf"^  {words[0]} +\w", finished.make("help-all").stdout, re.MULTILINE)


def test_a_page_is_named_only_where_there_is_one(finished):
    done = finished.make("report", "ARGS=--dry-run")
    assert done.returncode == 0 and "<--dry-run>" in done.stdout and "The report:" not in done.stdout
    page = finished.folder / "results" / "embedded" / "report.html"
    page.parent.mkdir(parents=True)
    page.touch()
    assert f"The report: {page}" in finished.make("report", "VERBOSE=1").stdout
    # Otherwise the run itself says so, with the answers (tests/unit/study/test_terminal.py).
    assert "The report:" not in finished.make("report", "VERBOSE=").stdout


def test_help_lists_eight_targets_and_where_the_others_are(finished):
    said = finished.make("help").stdout
    listed = re.findall(r"^  (\w+)", said, re.MULTILINE)
    assert listed == ["report", "new", "study", "doctor", "print", "compare", "handin", "mirror"]
    assert said.endswith("More: make help-all\n") and max(map(len, said.splitlines())) <= 100
    assert set(listed) < set(re.findall(r"^  ([\w-]+)", finished.make("help-all").stdout, re.MULTILINE))


def test_new_takes_names_as_they_are(finished):
    finished.write_program("new_study")
    done = finished.make("new", "NAME=mine", "TRAIN=my $data/a'b.csv", 'TEST=$(shell touch x) "b".csv', "LABEL=-l")
    assert done.returncode == 0, done.stdout
    assert done.stdout.splitlines() == [
        "<mine>",
        "<--train=my $data/a'b.csv>",
        "<--valid=>",
        '<--test=$(shell touch x) "b".csv>',
        "<--text=>",
        "<--label=-l>",
        "<--second=>",
        "<--model=>",
        "<--mirror=>",
        "<--task=>",
    ]
    assert not (finished.folder / "x").exists()
