"""The study's lock: held while its process lives, gone with it; what killed jobs leave is removed."""

import json
import os
import signal
import socket
import subprocess
import sys

import pytest

from common.errors import StudyError
from common.lock import hold, hold_shared, holder, remove_leftovers

SCRIPTS = os.path.dirname(os.path.dirname(os.path.abspath(sys.modules["common.lock"].__file__)))


@pytest.fixture
def process():
    """Start Python code in a process of its own, wait until it says `ready`; killed at the end."""
    started = []

    def start(code):
        code = f"import sys, time; sys.path.insert(0, {SCRIPTS!r})\nfrom common.lock import *\n{code}"
        child = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
        started.append(child)
        assert child.stdout.readline() == "ready\n"
        return child

    yield start
    for child in started:
        child.kill()
        child.wait()
        child.stdout.close()


def waiting(call):
    return f"{call}\nprint('ready', flush=True)\ntime.sleep(120)"


def test_the_second_is_told_who_holds_the_folder(tmp_path, process):
    first = process(waiting(f"hold({str(tmp_path)!r})"))
    with pytest.raises(
        StudyError, match=rf"another workflow .* \(process {first.pid} on {socket.gethostname()}, since "
    ):
        hold(tmp_path)
    # The refused one has changed nothing of what the holder wrote.
    assert holder(tmp_path)["pid"] == first.pid


def test_studies_do_not_lock_each_other(tmp_path, process):
    process(waiting(f"hold({str(tmp_path / 'one')!r})"))
    other = process(waiting(f"hold({str(tmp_path / 'two')!r})"))
    assert holder(tmp_path / "two")["pid"] == other.pid


def test_studies_do_not_retrieve_one_file_at_the_same_time(tmp_path, process):
    files = ["resources/host/a.txt", "resources/host/b.txt"]
    first = process(waiting(f"hold({str(tmp_path / 'one')!r}, making={files!r})"))
    with pytest.raises(StudyError, match=r"is about to retrieve resources/host/b.txt and 0 more files"):
        hold(tmp_path / "two", making=["resources/host/b.txt", "resources/host/c.txt"])
    # Other files, or none: both work. The refused one holds nothing.
    process(waiting(f"hold({str(tmp_path / 'two')!r}, making=['resources/host/c.txt'])"))
    first.kill()
    first.wait()
    process(waiting(f"hold({str(tmp_path / 'three')!r}, making={files!r})"))


def test_a_killed_holder_leaves_no_lock(tmp_path, process):
    first = process(waiting(f"hold({str(tmp_path)!r})"))
    first.send_signal(signal.SIGKILL)
    first.wait()
    second = process(waiting(f"hold({str(tmp_path)!r})"))
    # The longer or shorter old text is gone whole.
    assert json.loads((tmp_path / ".lock").read_text())["pid"] == second.pid


def test_jobs_that_outlive_their_workflow_are_waited_for(tmp_path, process):
    # A workflow of another machine: this one cannot tell whether it lives, so the job goes on.
    (tmp_path / ".lock").write_text(json.dumps({"pid": 1, "host": "elsewhere.invalid", "since": "then"}))
    job = process(waiting(f"join({str(tmp_path)!r})"))
    with pytest.raises(StudyError, match="jobs of a killed workflow are still using"):
        hold(tmp_path, patience=0)
    job.kill()
    process(waiting(f"hold({str(tmp_path)!r}, patience=0)"))


def test_a_job_ends_with_the_workflow_of_its_machine(tmp_path, process):
    workflow = process(waiting(f"hold({str(tmp_path)!r})"))
    job = process(waiting(f"join({str(tmp_path)!r})"))
    workflow.kill()
    workflow.wait()
    assert job.wait(timeout=60) == -signal.SIGKILL


def test_a_job_without_a_locked_folder_goes_on(tmp_path, process):
    job = process(waiting(f"join({str(tmp_path)!r})"))
    assert job.poll() is None and not list(tmp_path.iterdir())


def test_leftovers_are_removed_and_nothing_else(tmp_path):
    for name in (".part-12-runs.tsv", "runs.tsv", "sentiment/.run-abc/checkpoints/checkpoint1.pt", "sentiment/.hidden"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x")
    remove_leftovers(tmp_path)
    left = {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*")}
    assert left == {"runs.tsv", "sentiment", "sentiment/.hidden"}


def test_shared_folders_are_cleaned_by_whoever_is_alone(tmp_path, process):
    (tmp_path / ".part-1-file").write_text("x")
    first = process(waiting(f"hold_shared({str(tmp_path)!r})"))
    assert not (tmp_path / ".part-1-file").exists()
    # The first is writing this now.
    (tmp_path / ".part-2-file").write_text("x")
    process(waiting(f"hold_shared({str(tmp_path)!r})"))
    assert (tmp_path / ".part-2-file").exists()
    first.kill()
    first.wait()


def test_a_file_system_without_locks_refuses_nobody(tmp_path, monkeypatch, capsys):
    def no_locks(handle, kind):
        raise OSError(38, "Function not implemented")

    monkeypatch.setattr("common.lock.fcntl.flock", no_locks)
    (tmp_path / ".part-1-file").write_text("x")
    hold(tmp_path)
    assert holder(tmp_path)["pid"] == os.getpid()
    # Somebody may be writing it.
    assert (tmp_path / ".part-1-file").exists()
    assert "cannot be locked (Function not implemented)" in capsys.readouterr().err
    hold_shared(tmp_path / "resources")
