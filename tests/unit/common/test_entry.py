"""How a script starts: `main` gets what its rule names, under Snakemake's own objects; faults end in one message."""

import os
import subprocess
import sys
from types import SimpleNamespace

import pytest
from snakemake.iocontainers import InputFiles, OutputFiles, Params, Wildcards

from common.entry import job_arguments, results_of

SCRIPTS = os.path.dirname(os.path.dirname(os.path.abspath(sys.modules["common.entry"].__file__)))


def named(kind, entries):
    """Snakemake's own container: files given as a list are a range of it, everything else is one item."""
    container = kind()
    for name, value in entries.items():
        ranged = kind in (InputFiles, OutputFiles) and isinstance(value, list)
        start = len(container)
        container.extend(value if ranged else [value])
        container._set_name(name, start, end=len(container) if ranged else None)
    return container


def job(threads=2, **kinds):
    """The object that Snakemake gives a script of a rule."""
    containers = {"input": InputFiles, "output": OutputFiles, "params": Params, "wildcards": Wildcards}
    given = {kind: named(container, kinds.get(kind, {})) for kind, container in containers.items()}
    return SimpleNamespace(rule="a_rule", threads=threads, log=[], **given)


def test_each_kind_gives_what_main_names():
    def main(text, made, settings, init, threads):
        pass

    made = job_arguments(
        main,
        job(
            input={"text": "a.txt", "unread": "b.txt"},
            output={"made": "c.txt"},
            params={"settings": {"lr": 0.1}, "helpers": "digest"},
            wildcards={"init": "random"},
        ),
    )
    assert made == {"text": "a.txt", "made": "c.txt", "settings": {"lr": 0.1}, "init": "random", "threads": 2}


@pytest.mark.parametrize("files", [[], ["one.txt"], ["one.txt", "two.txt"]])
def test_a_list_of_files_comes_as_one_of_any_length(files):
    found = job_arguments(lambda files, other: None, job(input={"files": files, "other": "x"}))
    assert found == {"files": files, "other": "x"} and type(found["files"]) is list


def test_parameters_keep_their_type_and_wildcards_become_numbers_where_asked():
    def main(seed: int, rank, values, nothing):
        pass

    found = job_arguments(main, job(wildcards={"seed": "3", "rank": "4"}, params={"values": (1, [2]), "nothing": None}))
    assert found == {"seed": 3, "rank": "4", "values": (1, [2]), "nothing": None}


def test_a_default_stands_in_for_a_missing_entry_only():
    def main(source, table=None):
        pass

    assert job_arguments(main, job(params={"source": "file"})) == {"source": "file"}
    assert job_arguments(main, job(params={"source": "file"}, output={"table": "t"})) == {
        "source": "file",
        "table": "t",
    }


def test_the_remaining_inputs_and_no_other_entries_come_as_keywords():
    def main(config, page, **inputs):
        pass

    found = job_arguments(
        main,
        job(
            input={"config": "c", "runs": ["a", "b"], "history": "h"},
            output={"page": "p", "log": "l"},
            params={"helpers": "digest"},
        ),
    )
    assert found == {"config": "c", "page": "p", "runs": ["a", "b"], "history": "h"}


def test_a_missing_name_is_an_error():
    with pytest.raises(TypeError, match="rule a_rule has no valid among its inputs"):
        job_arguments(lambda train, valid: None, job(input={"train": "t"}))


@pytest.mark.parametrize(
    "kinds, places",
    [
        ({"input": {"loss": "a"}, "output": {"loss": "b"}}, "input and in output"),
        ({"wildcards": {"loss": "1"}, "params": {"loss": 1}}, "wildcards and in params"),
    ],
)
def test_a_name_in_two_places_is_an_error(kinds, places):
    with pytest.raises(TypeError, match=f"rule a_rule: loss is in {places}: rename one"):
        job_arguments(lambda loss: None, job(**kinds))
    # Only where `main` would have to choose.
    assert job_arguments(lambda: None, job(**kinds)) == {}


def test_a_parameter_called_threads_is_ambiguous():
    with pytest.raises(TypeError, match="threads is in params and in the rule itself"):
        job_arguments(lambda threads: None, job(params={"threads": 1}))


# A rule's script in a process of its own: `run` redirects its output for good.
SCRIPT = """
import os, subprocess, sys
from types import SimpleNamespace
sys.path.insert(0, {scripts!r})
from common.entry import run
from common.errors import StudyError

def main(name, threads):
    print("by Python", name, threads, os.environ["OMP_NUM_THREADS"])
    subprocess.run(["echo", "by a child"], check=True)
    {body}

log = ["results/tiny/logs/a_rule.log"] if {log} else []
run(main, SimpleNamespace(rule="a_rule", threads=3, log=log, input={{}}, output={{}}, params={params}, wildcards={{}}))
print("after", flush=True)
"""


def run_script(folder, body, params=None, log=True):
    """Return the exit status, what the terminal shows, and the log."""
    params = {"name": "x"} if params is None else params
    code = SCRIPT.format(scripts=SCRIPTS, body=body, params=params, log=log)
    done = subprocess.run([sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, check=False)
    written = folder / "results" / "tiny" / "logs" / "a_rule.log"
    return done.returncode, done.stdout + done.stderr, written.read_text() if written.exists() else None


def test_all_output_lands_in_the_log(tmp_path):
    status, shown, log = run_script(tmp_path, "pass")
    assert (status, shown) == (0, "")
    lines = log.splitlines()
    assert lines[:2] == ["by Python x 3 3", "by a child"]
    assert lines[2].startswith("[a_rule] ") and lines[3] == "after"


def test_without_a_log_output_stays_where_it_was(tmp_path):
    status, shown, log = run_script(tmp_path, "pass", log=False)
    assert status == 0 and log is None
    assert "by a child" in shown and "by Python x 3 3" in shown


MESSAGE = "error in rule a_rule: data.url: it is null: name a file\n"


@pytest.mark.parametrize(
    "body, status, shown, traceback",
    [
        ("raise StudyError('data.url: it is null: name a file')", 1, MESSAGE, False),
        (
            "raise KeyError('n_train')",
            1,
            "rule a_rule failed (KeyError: 'n_train'); its log: results/tiny/logs/a_rule.log\n",
            True,
        ),
        ("sys.exit(3)", 1, "rule a_rule stopped with status 3; its log: results/tiny/logs/a_rule.log\n", False),
        ("sys.exit(0)", 0, "", False),
    ],
)
def test_a_fault_is_one_message_on_the_terminal(tmp_path, body, status, shown, traceback):
    found, told, log = run_script(tmp_path, body)
    assert (found, told) == (status, shown)
    assert shown in log and ("Traceback" in log) == traceback


def test_the_study_of_a_log_is_found_whatever_it_is_called(tmp_path):
    for study, arm in (("tiny", "random"), ("logs", "random"), ("tiny", "logs"), ("logs", "logs")):
        home = tmp_path / f"{study}-{arm}" / "results" / study
        home.mkdir(parents=True)
        log = str(home / "logs" / "finetune" / arm / "seed1.log")
        # Where no workflow has locked it, the shortest folder.
        assert results_of(log) == str(home.parent if study == "logs" else home)
        (home / ".lock").write_text('{"pid": 1}')
        assert results_of(log) == str(home)
    assert results_of("job.log") == results_of("") == ""


def test_a_main_that_does_not_fit_its_rule_fails_the_job(tmp_path):
    status, shown, _ = run_script(tmp_path, "pass", params={})
    assert status == 1
    assert shown.startswith("rule a_rule failed (TypeError: rule a_rule has no name among its inputs")
