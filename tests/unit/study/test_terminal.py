"""The terminal during a run, through real Snakemake on a workflow of a few shell commands, in a pseudo-terminal."""

import fcntl
import os
import pty
import re
import signal
import struct
import subprocess
import sys
import termios
import time

import pytest

from study.terminal import clock
from support.studies import ROOT

WORKFLOW = """
import sys
sys.path.insert(0, "{root}/scripts")
from study.terminal import install
TERMINAL = install(workflow)
if TERMINAL:
    TERMINAL.results, TERMINAL.config = "results/x", {{"study": "x"}}
rule all:
    input: expand("results/x/{{n}}", n=range(3))
rule step:
    output: "results/x/{{n}}"
    log: "results/x/logs/{{n}}.log"
    shell: "{command}"
"""
FAULT = "error in rule step: a.csv: row 3 has no text; fill it in"
WORK = "echo noise >&2; touch {output}"
FAIL = f"if [ {{wildcards.n}} = 1 ]; then echo '{FAULT}' > {{log}}; exit 1; fi; touch {{output}}"


def start(folder, command, *arguments, terminal=True, columns=80, **environment):
    """Start Snakemake on a workflow of one command; return its process and what its output is read from."""
    (folder / "Snakefile").write_text(WORKFLOW.format(root=ROOT, command=command))
    words = [sys.executable, "-m", "snakemake", "--cores", "1", "--workflow-profile", "none", *arguments]
    ours = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "VERBOSE", "LC_ALL")}
    ours |= {"TERM": "xterm", "PWD": str(folder)} | environment
    reader, writer = pty.openpty() if terminal else os.pipe()
    if terminal:
        fcntl.ioctl(writer, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    process = subprocess.Popen(words, cwd=folder, env=ours, stdout=writer, stderr=writer, start_new_session=True)
    os.close(writer)
    return process, reader


def read(reader):
    """Return all that is written until the writer is closed."""
    found = b""
    while True:
        try:
            block = os.read(reader, 65536)
        except OSError:
            block = b""
        if not block:
            os.close(reader)
            return found.decode()
        found += block


def run(folder, command, *arguments, **options):
    process, reader = start(folder, command, *arguments, **options)
    text = read(reader)
    return process.wait(), text


def lasting(text):
    """Return the lines that stay on a terminal: what is overwritten or has a colour is taken away."""
    lines = [""]
    for part in re.findall(r"\x1b\[\d+A|\x1b\[2K|\x1b\[\d*m|\r|\n|[^\x1b\r\n]+", text):
        if part == "\n":
            lines.append("")
        elif part.endswith("A"):
            lines.pop()
        elif part == "\x1b[2K":
            lines[-1] = ""
        elif part[0] not in "\x1b\r":
            lines[-1] += part
    return [line for line in lines if line]


def test_a_run_shows_its_stages_and_the_log_has_the_rest(tmp_path):
    status, text = run(tmp_path, WORK)
    lines = lasting(text)
    assert status == 0 and lines[0].startswith("Study x (config.yaml): 3 jobs, about ")
    log = lines[1].removeprefix("Log: ")
    assert re.match(r"  Report +3 jobs +\d:\d\d", lines[2]) and lines[3].startswith("Finished in ")
    assert len(lines) == 4 and "█" in text and "% , about" not in text
    kept = (tmp_path / log).read_text()
    assert "noise" in kept and "rule step:" in kept and "3 of 4 steps" in kept
    status, text = run(tmp_path, WORK)
    assert status == 0 and lasting(text) == ["Nothing to be done: all files are there"]


def test_a_pipe_gets_plain_lines(tmp_path):
    status, text = run(tmp_path, WORK, terminal=False)
    assert status == 0 and not set("\x1b\r█") & set(text)
    told = [line for line in text.splitlines() if " %, about " in line]
    shares = [int(re.fullmatch(r"  ([1-9]0) %, about \d+ seconds left(: step \(\d\))?", line)[1]) for line in told]
    # A line each tenth at most, and never back.
    assert shares and shares == sorted(set(shares)), text


@pytest.mark.parametrize("environment", [{"NO_COLOR": "1"}, {}], ids=["NO_COLOR", "colour"])
def test_a_fault_is_its_sentence_with_the_study_file_and_the_log(tmp_path, environment):
    status, text = run(tmp_path, FAIL, **environment)
    lines = lasting(text)
    assert status == 1 and lines.count(f"config.yaml: {FAULT}") == 1
    assert lines[lines.index(f"config.yaml: {FAULT}") + 1] == "  Log of the job: results/x/logs/1.log"
    assert "Not finished. Correct what is said above" in " ".join(lines)
    assert "Error" not in text and "Traceback" not in text and ("\x1b[31m" in text) == (not environment)


def test_a_stopped_run_says_how_to_go_on_and_leaves_no_job(tmp_path):
    process, reader = start(tmp_path, "touch begun; sleep 61")
    while not (tmp_path / "begun").exists():
        time.sleep(0.1)
    os.killpg(process.pid, signal.SIGINT)
    lines = lasting(read(reader))
    assert process.wait() != 0
    assert "run the same command again to go on" in " ".join(lines) and "error" not in " ".join(lines), lines
    with pytest.raises(ProcessLookupError):
        os.killpg(process.pid, 0)


def test_a_narrow_terminal_without_utf8_has_no_line_too_long(tmp_path):
    status, text = run(tmp_path, WORK, columns=40, LC_ALL="C", PYTHONIOENCODING="ascii")
    assert status == 0 and text.isascii()
    live = [line for line in re.split(r"\x1b\[\w+|\r|\n", text) if "left" in line]
    assert live and max(map(len, live)) < 40 and any("#" in line or "." in line for line in live)


@pytest.mark.parametrize(
    ("arguments", "environment"),
    [(["--dry-run"], {}), ([], {"VERBOSE": "1"}), (["--verbose"], {}), (["--summary"], {})],
    ids=["dry run", "VERBOSE", "verbose", "summary"],
)
def test_snakemakes_own_text_where_it_is_asked_for(tmp_path, arguments, environment):
    status, text = run(tmp_path, WORK, *arguments, terminal=False, **environment)
    assert status == 0 and "Building DAG of jobs..." in text and "Study x" not in text
    assert "rule step:" in text or arguments == ["--summary"]


def test_a_duration_has_hours_where_it_needs_them():
    # 3600 + 2 * 60 + 3 = 3723
    assert (clock(7.4), clock(67), clock(3723)) == ("0:07", "1:07", "1:02:03")
