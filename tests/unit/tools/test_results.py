"""`make regenerate` and `make clean-report`: nothing is lost, whatever ends them."""

import os
import signal
import subprocess
import sys
import time

import pytest

from common.errors import StudyError
from support.studies import importing
from tools import results


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A finished study in an empty working folder, and a Snakemake that does what a test says."""
    monkeypatch.chdir(tmp_path)
    for name, text in (("report.html", "page"), ("statistics/pairs.tsv", "pairs"), ("runs.tsv", "runs")):
        path = tmp_path / "results" / "own" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (tmp_path / "results" / "own" / "settings.json").write_text("{}")
    (tmp_path / "own.yaml").write_text("study: own\n")
    (tmp_path / "bin").mkdir()
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    return tmp_path


def stand_in(folder, script):
    """Put a Snakemake on the PATH."""
    (folder / "bin" / "snakemake").write_text(f"#!{sys.executable}\nimport os, sys, time\n{script}\n")
    (folder / "bin" / "snakemake").chmod(0o755)


def there(folder):
    return {path.name: path.read_text() for path in (folder / "results" / "own").rglob("*.*") if path.is_file()}


BEFORE = {"report.html": "page", "pairs.tsv": "pairs", "runs.tsv": "runs", "settings.json": "{}"}
REBUILD = """
for name, text in (("report.html", "page"), ("statistics/pairs.tsv", "pairs"), ("runs.tsv", "runs")):
    os.makedirs(os.path.dirname(f"results/own/{name}"), exist_ok=True)
    open(f"results/own/{name}", "w").write(text)
open("results/own/report_numbers.tsv", "w").write("numbers")
"""


def regenerate():
    return subprocess.Popen(
        [sys.executable, "-m", "tools.results", "regenerate", "own.yaml", "--", "--cores", "1"],
        env=importing(""),
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def test_a_page_that_is_rebuilt_is_compared(here, capsys):
    (here / "results" / "own" / "report_numbers.tsv").write_text("numbers")
    stand_in(here, REBUILD)
    assert results.main(["regenerate", "own.yaml", "--", "--cores", "1"]) == 0
    assert "Identical bytes in all 4 files" in capsys.readouterr().out
    stand_in(here, REBUILD.replace('"pairs"', '"others"'))
    assert results.main(["regenerate", "own.yaml"]) == 1
    assert "the bytes of 1 files differ, statistics/pairs.tsv first" in capsys.readouterr().err
    assert there(here)["pairs.tsv"] == "others" and not (here / "results" / "own" / results.ASIDE).exists()


@pytest.mark.parametrize("script", ["sys.exit(1)", REBUILD.replace("report_numbers", "other") + "sys.exit(0)"])
def test_a_rebuild_that_fails_or_makes_no_whole_page_leaves_the_old_one(here, script):
    stand_in(here, script)
    assert results.main(["regenerate", "own.yaml"]) == 1
    kept = there(here)
    kept.pop("other.tsv", None)
    assert kept == BEFORE


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_a_signal_leaves_the_old_page(here, number):
    stand_in(here, "open('begun', 'w').close(); time.sleep(60)")
    process = regenerate()
    while not (here / "begun").exists():
        assert process.poll() is None, process.stderr.read()
        time.sleep(0.05)
    assert "report.html" not in os.listdir(here / "results" / "own")
    process.send_signal(number)
    if number == signal.SIGINT:
        # A terminal sends it to Snakemake, too.
        subprocess.run(["pkill", "-INT", "-f", f"{here}/bin/snakemake"], check=False)
    process.wait(timeout=30)
    assert there(here) == BEFORE


def test_after_a_kill_that_no_process_survives_the_next_rebuild_begins_with_the_old_page(here):
    stand_in(here, "open('begun', 'w').close(); time.sleep(60)")
    process = regenerate()
    while not (here / "begun").exists():
        time.sleep(0.05)
    process.kill()
    process.wait()
    subprocess.run(["pkill", "-KILL", "-f", f"{here}/bin/snakemake"], check=False)
    stand_in(here, "sys.exit(1)")
    assert results.main(["regenerate", "own.yaml"]) == 1
    assert there(here) == BEFORE


HOLD = "import time; from common.lock import hold; hold('results/own', []); print(1, flush=True); time.sleep(60)"


def test_nothing_is_touched_while_a_workflow_holds_the_study(here):
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLD],
        env=importing(),
        stdout=subprocess.PIPE,
    )
    try:
        holder.stdout.readline()
        for command in (["regenerate", "own.yaml"], ["clean-report", "own.yaml"], ["check"]):
            with pytest.raises(StudyError, match="a workflow is working on results/own: wait for it to end"):
                results.main(command)
        assert {name: text for name, text in there(here).items() if name in BEFORE} == BEFORE
    finally:
        holder.kill()
        holder.wait()


@pytest.mark.parametrize("name", ["..", ".", "a/b", "../other", "", "-rf", "a b", "~", "$HOME"])
def test_a_name_that_is_no_plain_word_removes_nothing(here, name):
    (here / "figures").mkdir()
    (here / "bad.yaml").write_text(f"study: {name}\n")
    for command in ("clean-report", "regenerate"):
        with pytest.raises(StudyError, match="bad.yaml: study is .*a study's name has letters"):
            results.main([command, "bad.yaml"])
    assert (here / "figures").is_dir()


def test_names_are_read_as_yaml_has_them(here):
    for text in ('study: "own" # mine', "study: 'own'", "# x\nstudy:   own\ndata: {}"):
        (here / "a.yaml").write_text(text)
        assert results.study_folder("a.yaml") == os.path.join("results", "own")
    with pytest.raises(StudyError, match="absent.yaml: No such file"):
        results.study_folder("absent.yaml")


def test_clean_report_keeps_the_records(here):
    assert results.main(["clean-report", "own.yaml"]) == 0
    assert there(here) == {"settings.json": "{}"}
