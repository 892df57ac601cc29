"""Faults of the machine, told with their remedy: each library's own exception, raised for real where it can be."""

import errno
import os
import subprocess
import sys

import pytest
import torch

from common.errors import StudyError
from common.faults import explain, memory_remedy
from common.files import atomic_path

SCRIPTS = os.path.dirname(os.path.dirname(os.path.abspath(sys.modules["common.faults"].__file__)))
# A rule's ending block in a process of its own, as Snakemake starts it.
JOB = """
import sys
sys.path.insert(0, {scripts!r})
from types import SimpleNamespace
from common.entry import running
snakemake = SimpleNamespace(threads=1, log=["results/tiny/logs/job.log"], rule={rule!r})
import numpy, torch
{set_up}
with running(snakemake):
{body}
"""


def run_job(folder, rule, body, set_up=""):
    """Return the exit status of a job and what the user's terminal shows."""
    code = JOB.format(scripts=SCRIPTS, rule=rule, set_up=set_up, body="\n".join(f"    {line}" for line in body))
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, env=environment, check=False
    )
    return done.returncode, done.stderr


# Set once all is imported: 64 MB more than there is, and each body asks for some GB.
LIMIT = """
import resource
pages = int(open("/proc/self/statm").read().split()[0])
resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + 64 * 2**20,) * 2)
"""
GREEDY = {
    "PyTorch on a CPU": ["torch.zeros(2**30)"],
    "NumPy": ["numpy.zeros(2**30)"],
    "Python": ["bytearray(2**32)"],
}


@pytest.mark.parametrize("name", GREEDY)
@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="needs Linux's /proc")
def test_too_little_memory_names_the_batch_size(tmp_path, name):
    status, told = run_job(tmp_path, "finetune_fairseq", GREEDY[name], LIMIT)
    assert status == 1
    assert told.startswith("error in rule finetune_fairseq: out of memory: make finetuning.training.batch_size smaller")
    assert "finetuning.training.precision to bfloat16" in told and told.count("\n") == 1
    assert "Traceback" in (tmp_path / "results" / "tiny" / "logs" / "job.log").read_text()


def test_memory_remedies_name_keys_of_the_configuration():
    import yaml

    from common.faults import _SECTIONS

    with open(os.path.join(os.path.dirname(SCRIPTS), "config.yaml"), encoding="utf-8") as handle:
        config = yaml.safe_load(handle)
    for rule, section in _SECTIONS.items():
        values = config
        for key in section.split("."):
            values = values[key]
        assert "batch_size" in values
        told = explain(MemoryError(), rule, "results/x")
        assert f"{section}.batch_size" in told
        assert (f"{section}.precision" in told) == ("precision" in values)
    assert "finetuning.evaluation.batch_size" in explain(MemoryError(), "evaluate_huggingface", "results/x")
    assert "--cores 1" in explain(MemoryError(), "finetune_linear", "results/x")


@pytest.mark.parametrize("rule", ["pretrain", "finetune_lora", "test_curve_fairseq", "build_report"])
def test_a_module_may_put_words_before_a_rules_name(rule):
    assert memory_remedy(f"study_{rule}") == memory_remedy(rule)


def test_a_gpu_out_of_memory_is_told_alike():
    fault = torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB.")
    assert "qa.training.batch_size" in explain(fault, "finetune_lora", "results/x")


def test_fairseq_does_not_skip_a_batch_that_does_not_fit():
    from training.fairseq_train import _refuse_to_skip

    with pytest.raises(MemoryError) as raised:
        try:
            raise torch.OutOfMemoryError("CUDA out of memory.")
        except RuntimeError as error:
            # fairseq's trainer does this next.
            _refuse_to_skip(None, error)
    # fairseq goes on after a RuntimeError that speaks of memory; this is none.
    assert not isinstance(raised.value, RuntimeError)
    assert "finetuning.training.batch_size" in explain(raised.value, "finetune_fairseq", "results/x")


@pytest.mark.parametrize("error", [ValueError("a shape"), RuntimeError("mat1 and mat2"), OSError(2, "No such file")])
def test_other_exceptions_are_left_alone(error):
    assert explain(error, "pretrain", "results/x") is None


def test_a_quota_is_a_full_disk_and_leaves_nothing(tmp_path):
    with pytest.raises(StudyError, match="the disk is full"), atomic_path(tmp_path / "file") as temporary:
        with open(temporary, "w") as handle:
            handle.write("half")
        raise OSError(errno.EDQUOT, "Disk quota exceeded")
    assert not list(tmp_path.iterdir())


@pytest.fixture(scope="module")
def small_disk():
    """Return a command that mounts a tmpfs of 128 kB at the folder given to it, and runs what follows."""
    command = ["unshare", "--map-root-user", "--mount", "sh", "-c"]
    script = 'mount -t tmpfs -o size=128k tmpfs "$1" && cd "$1" && shift && exec "$@"'
    try:
        probe = subprocess.run([*command, "mount -t tmpfs tmpfs /mnt"], capture_output=True, text=True, check=False)
    except FileNotFoundError:
        pytest.skip("no command unshare")
    if probe.returncode:
        pytest.skip(f"no mounts here: {probe.stderr.strip()}")
    return lambda folder, *words: [*command, script, "sh", str(folder), *words]


WRITERS = {
    "PyTorch": [
        "from common.files import atomic_path",
        "with atomic_path('w.pt') as t: torch.save(torch.zeros(2**20), t)",
    ],
    "PyTorch, not atomic": ["torch.save({'a': torch.zeros(2**20)}, 'w.pt')"],
    "safetensors": [
        "from safetensors.torch import save_file",
        "save_file({'a': torch.zeros(2**20)}, 'w.safetensors')",
    ],
    "NumPy": ["numpy.savez('w.npz', a=numpy.zeros(2**20))"],
    "SQLite": [
        "import sqlite3",
        "c = sqlite3.connect('w.db')",
        "c.execute('create table t (x)')",
        "c.execute('insert into t values (zeroblob(1000000))')",
        "c.commit()",
    ],
    # Says nothing itself, and leaves half a model.
    "SentencePiece": [
        "import sentencepiece",
        "from common.files import atomic_path",
        "text = (f'le livre {i} est bon {i * 7919 % 1000}' for i in range(2000))",
        "with atomic_path('w.model') as t:",
        "    sentencepiece.SentencePieceTrainer.train(sentence_iterator=text, model_prefix=t, vocab_size=300)",
        "    import os; os.replace(t + '.model', t); os.remove(t + '.vocab')",
    ],
    "the log": ["print('x' * 10**6)"],
}


@pytest.mark.parametrize("name", WRITERS)
def test_a_full_disk_is_told_as_such(tmp_path, small_disk, name):
    body = [*WRITERS[name], "print('written whole')"]
    code = JOB.format(scripts=SCRIPTS, rule="a_rule", set_up="", body="\n".join(f"    {line}" for line in body))
    script = '"$0" -c "$1"; status=$?; ls -A | grep -e "^[.]part" -e "w[.]model"; exit $status'
    done = subprocess.run(
        small_disk(tmp_path, "sh", "-c", script, sys.executable, code),
        capture_output=True,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        check=False,
    )
    assert done.returncode == 1, done.stderr
    assert done.stderr.startswith("error in rule a_rule: the disk ") and "full" in done.stderr
    assert "free some space and run again" in done.stderr and done.stderr.count("error in rule") == 1
    assert not done.stdout, f"left: {done.stdout}"
