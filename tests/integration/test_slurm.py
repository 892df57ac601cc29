"""The tiny study on a real Slurm: what each job got there, a cancelled job, a lost node, and the same predictions."""

import os
import re
import subprocess
import time
from types import SimpleNamespace

import pytest

from common.files import sha256
from support import slurm_cluster, studies

ARMS = ["fairseq-pretrained", "fairseq-random", "huggingface-pretrained"]
CANCELLED, NODE_LOST = (f"rule_finetune_fairseq_wildcards_fairseq-{init}_1" for init in ("random", "pretrained"))

# The study counts as set-up of the first test; the cluster takes a second.
pytestmark = [
    pytest.mark.integration,
    pytest.mark.slow,
    pytest.mark.timeout(1800),
    pytest.mark.skipif(
        bool(slurm_cluster.missing()),
        reason=f"no {', '.join(slurm_cluster.missing())} (Debian: slurmctld, slurmd, slurm-client, munge)",
    ),
]


def start(cluster, folder, study, log, *arguments):
    """Start the workflow under profiles/slurm."""
    # This cluster has no accounting, and nobody else to be polite to.
    options = ["--slurm-status-command", "squeue", "--slurm-init-seconds-before-status-checks", "1"]
    command = studies.warm_command(folder, *options, *arguments, study=study, profile="slurm")
    with open(log, "w") as handle:
        return subprocess.Popen(command, env=cluster.environment, stdout=handle, stderr=subprocess.STDOUT)


def finish(process, log, seconds=900):
    process.wait(seconds)
    return SimpleNamespace(status=process.returncode, log=log.read_text(encoding="utf-8"))


def running(cluster, process, log, comment):
    """Wait until the job of that comment runs; return its record."""
    while process.poll() is None:
        for job in cluster.jobs():
            if job["Comment"] == comment and job["JobState"] == "RUNNING":
                return job
        time.sleep(0.3)
    raise AssertionError(f"{comment} never ran:\n{log.read_text(encoding='utf-8')[-5000:]}")


def asked(log):
    """Return the needs of each ungrouped job by Snakemake: {Slurm's number: (CPUs, memory in MB, minutes, GPUs)}."""
    needs, found = {}, {}
    for block in re.split(r"^(?=rule )", log, flags=re.MULTILINE)[1:]:
        number = re.search(r"^    jobid: (\d+)$", block, re.MULTILINE)[1]
        threads = re.search(r"^    threads: (\d+)$", block, re.MULTILINE)
        resources = dict(re.findall(r"(\w+)=(\w+)", re.search(r"^    resources: (.*)$", block, re.MULTILINE)[1]))
        needs[number] = (
            int(threads[1]) if threads else 1,
            int(resources["mem_mb"]),
            int(resources["runtime"]),
            int(resources.get("gpu", 0)),
        )
    for number, slurm_number in re.findall(r"^Job (\S+) has been submitted with SLURM jobid (\d+)", log, re.MULTILINE):
        if number in needs:
            found[slurm_number] = needs[number]
    return found


def given(job):
    """The same of a job in Slurm's record of it."""
    days, clock = job["TimeLimit"].rpartition("-")[::2]
    hours, minutes, _ = map(int, clock.split(":"))
    gpu = re.fullmatch(r"gres:gpu:(\d+)", job.get("TresPerJob", ""))
    memory = re.search(r"mem=(\d+)M", job["TRES"])[1]
    return int(job["NumCPUs"]), int(memory), (int(days or 0) * 24 + hours) * 60 + minutes, int(gpu[1]) if gpu else 0


@pytest.fixture(scope="module")
def slurm(tmp_path_factory):
    """Return two runs of one study: in the first a training job is cancelled and another loses its node."""
    folder = tmp_path_factory.mktemp("slurm")
    # Curves on the test reviews change nothing that is trained or predicted.
    study = studies.write_study(folder / "study.yaml", {"finetuning": {"evaluation": {"test_curves": False}}})
    with slurm_cluster.cluster() as cluster:
        log = folder / "first.log"
        # Without the profile's second attempts, which would hide both losses.
        process = start(cluster, folder, study, log, "--retries", "0")
        try:
            cluster("scancel", running(cluster, process, log, CANCELLED)["JobId"])
            node = running(cluster, process, log, NODE_LOST)["NodeList"]
            cluster("scontrol", "update", f"NodeName={node}", "State=DOWN", "Reason=test")
            first = finish(process, log)
            first.jobs = cluster.jobs()
            cluster("scontrol", "update", f"NodeName={node}", "State=RESUME")

            log = folder / "second.log"
            process = start(cluster, folder, study, log)
            second = finish(process, log)
            second.jobs = [job for job in cluster.jobs() if job["JobId"] not in {old["JobId"] for old in first.jobs}]
        finally:
            if process.poll() is None:
                process.terminate()
                process.wait(60)
    return SimpleNamespace(folder=folder, first=first, second=second, lost_node=node)


def test_a_plain_rerun_completes_what_was_lost(slurm):
    assert slurm.first.status == 1 and slurm.second.status == 0, slurm.second.log[-5000:]
    states = {job["Comment"]: job["JobState"] for job in slurm.first.jobs}
    assert (states[CANCELLED], states[NODE_LOST]) == ("CANCELLED", "NODE_FAIL")
    assert (slurm.folder / "results" / "tiny" / "report_numbers.tsv").exists()
    # Nothing that had ended well is done again, and nothing fails this time.
    again = [job["Comment"] for job in slurm.second.jobs]
    assert {CANCELLED, NODE_LOST} <= set(again)
    assert not [comment for comment in again if states.get(comment) == "COMPLETED"]
    assert {job["JobState"] for job in slurm.second.jobs} == {"COMPLETED"}


def test_jobs_get_what_their_rules_declare(slurm, capsys):
    jobs = slurm.first.jobs + slurm.second.jobs
    lines = ["", f"{'job':>4} {'state':<10} {'node':<5} {'CPUs':>4} {'MB':>6} {'minutes':>7} {'GPUs':>4}  what"]
    for job in jobs:
        cpus, memory, minutes, gpus = given(job)
        row = (
            f"{job['JobId']:>4} {job['JobState']:<10} {job['NodeList']:<5} {cpus:>4} {memory:>6} {minutes:>7} {gpus:>4}"
        )
        lines.append(f"{row}  {job['Comment'][:60]}")
    with capsys.disabled():
        print("\n".join(lines))

    declared = asked(slurm.first.log) | asked(slurm.second.log)
    assert declared and declared == {job["JobId"]: given(job) for job in jobs if job["JobId"] in declared}
    training = [job for job in jobs if re.match("rule_(pretrain|finetune_)", job["Comment"])]
    # Six: the checkpoint, three runs, and the two that were lost.
    assert len(training) == 6 and {job["JobId"] for job in training} <= declared.keys()
    assert all(given(job)[3] == 1 for job in training)
    assert not [job["Comment"] for job in jobs if job not in training and given(job)[3]]
    # A node has one GPU: the two fairseq runs of the second time cannot have shared one.
    assert len({job["NodeList"] for job in jobs}) > 1


def test_small_jobs_share_one(slurm):
    groups = [job for job in slurm.first.jobs + slurm.second.jobs if job["Comment"].startswith("rule_data_")]
    assert len(groups) == 1 and groups[0]["JobState"] == "COMPLETED"
    # As wide as the profile lets a group be.
    assert given(groups[0])[0] == 4
    # Tables and figures never entered the queue.
    ran = slurm.first.log + slurm.second.log
    assert "localrule aggregate_runs:" in ran and "localrule build_report:" in ran


@pytest.mark.parametrize("arm", ARMS)
def test_predictions_are_the_workstations(slurm, tiny_study, arm):
    name = os.path.join("results", "tiny", "predictions", arm, "seed1.tsv")
    assert sha256(slurm.folder / name) == sha256(tiny_study / name)
