"""A real Slurm on this machine for the tests: one controller and several virtual nodes, each with a pretended GPU."""

import contextlib
import os
import re
import shutil
import socket
import subprocess
import tempfile
import time
from pathlib import Path

DAEMONS = ("munged", "slurmctld", "slurmd")
COMMANDS = ("sacct", "sacctmgr", "sbatch", "scancel", "scontrol", "sinfo", "squeue", "srun", "sshare")
# Debian keeps the daemons where an ordinary user's PATH does not look.
SEARCH = os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin", "/sbin"])

# No accounting database, no control groups: Slurm counts CPUs, memory and GPUs and does not enforce them.
CONFIGURATION = """\
ClusterName=tests
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={ports[0]}
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
AuthInfo=socket={root}/munge.socket
CredType=cred/munge
StateSaveLocation={root}/state
SlurmctldPidFile={root}/slurmctld.pid
SlurmdPidFile={root}/%n.pid
SlurmdSpoolDir={root}/spool-%n
SlurmdParameters=config_overrides
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
MailProg=/bin/true
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
JobCompType=jobcomp/filetxt
JobCompLoc={root}/jobcomp.txt
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
SchedulerType=sched/backfill
SchedulerParameters=batch_sched_delay=1,sched_interval=2,bf_interval=5
GresTypes=gpu
# Ended jobs are asked about until the test ends; a node whose machine is busy is not given up.
MinJobAge=7200
SlurmctldTimeout=120
SlurmdTimeout=300
KillWait=2
ReturnToService=1
{nodes}
PartitionName={partition} Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""

# The plug-in asks ever more rarely, by ten seconds a time, while no job ends. Its question is therefore answered when
# the number of ended jobs has changed since its last one, or after half a minute.
SQUEUE = """\
case " $* " in *" --states=all "*" --name "*) ;; *) exec {program} "$@" ;; esac
for name; do :; done
seen={root}/ended-$name
before=$(cat "$seen" 2> /dev/null || echo 0)
for _ in $(seq 100); do
    answer=$({program} "$@") || exit $?
    ended=$(printf '%s\\n' "$answer" | grep -cvE '[|](PENDING|CONFIGURING|RUNNING|COMPLETING|SUSPENDED)$|^$')
    [ "$ended" = "$before" ] || break
    sleep 0.3
done
echo "$ended" > "$seen"
printf '%s\\n' "$answer"
"""


def missing():
    """Return the names of what Slurm needs and this machine lacks."""
    return [name for name in (*DAEMONS, "sbatch", "srun") if not shutil.which(name, path=SEARCH)]


def _free_ports(n):
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(n)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]


class Cluster:
    """A running cluster.

    Attributes:
        root: folder of its configuration, logs and state.
        nodes: names of its nodes.
        environment: variables under which Slurm's commands reach it.
    """

    def __init__(self, root, nodes):
        self.root, self.nodes = root, nodes
        # The plug-in drops SLURM_CONF before its inner srun: wrappers set it.
        self.environment = os.environ | {"PATH": f"{root}/bin{os.pathsep}{os.environ['PATH']}"}

    def __call__(self, *command):
        """Run one of Slurm's commands; return what it prints."""
        return subprocess.run(
            command, env=self.environment, check=True, capture_output=True, text=True, timeout=60
        ).stdout

    def jobs(self):
        """Return what the controller knows of every job, ended ones too: a dictionary of fields each, by number."""
        records = [
            dict(re.findall(r"(\w[\w/:]*)=(\S*)", line))
            for line in self("scontrol", "--oneliner", "--details", "show", "job").splitlines()
            if line.startswith("JobId=")
        ]
        return sorted(records, key=lambda record: int(record["JobId"]))


@contextlib.contextmanager
def cluster(n_nodes=3, cpus=4, memory_mb=16000, partition="cpu"):
    """Start a cluster, give it to the block, end it and everything that it still runs.

    Args:
        n_nodes: virtual nodes, n1, n2 and so on, all of them this machine.
        cpus: CPUs that each pretends to have.
        memory_mb: memory that each pretends to have, in MB.
        partition: name of the one partition.

    Yields:
        Cluster: all its nodes idle.

    Raises:
        RuntimeError: it did not come up; the message ends with the controller's log.
    """
    # Short, for its sockets' names may have 107 bytes.
    root = Path(tempfile.mkdtemp(prefix="slurm-"))
    running = Cluster(root, [f"n{number}" for number in range(1, n_nodes + 1)])
    daemons = []
    try:
        configure(running, cpus, memory_mb, partition)
        start_daemons(running, daemons)
        yield running
    finally:
        with contextlib.suppress(subprocess.SubprocessError, FileNotFoundError):
            running("scancel", "--user", str(os.getuid()))
            for _ in range(80):
                if not running("squeue", "-h").strip():
                    break
                time.sleep(0.25)
        for daemon in reversed(daemons):
            daemon.terminate()
        for daemon in daemons:
            try:
                daemon.wait(20)
            except subprocess.TimeoutExpired:
                daemon.kill()
                daemon.wait()
        shutil.rmtree(root, ignore_errors=True)


def configure(running, cpus, memory_mb, partition):
    """Write the cluster's files: its configuration, the wrapped commands, munge's key."""
    root = running.root
    host, ports = socket.gethostname().split(".")[0], _free_ports(len(running.nodes) + 1)
    nodes = "\n".join(
        f"NodeName={name} NodeHostname={host} NodeAddr=127.0.0.1 Port={port} CPUs={cpus} RealMemory={memory_mb}"
        " Gres=gpu:1 State=UNKNOWN"
        for name, port in zip(running.nodes, ports[1:], strict=True)
    )
    user = subprocess.run(["id", "-un"], check=True, capture_output=True, text=True).stdout.strip()
    (root / "slurm.conf").write_text(
        CONFIGURATION.format(root=root, host=host, ports=ports, user=user, nodes=nodes, partition=partition)
    )
    gpus = [f"NodeName={name} Name=gpu File=/dev/null" for name in running.nodes]
    (root / "gres.conf").write_text("\n".join(["AutoDetect=off", *gpus, ""]))
    (root / "cgroup.conf").write_text("CgroupAutomount=no\n")
    for folder in ("bin", "state", *(f"spool-{name}" for name in running.nodes)):
        (root / folder).mkdir()
    for name in filter(lambda name: shutil.which(name), COMMANDS):
        program = shutil.which(name)
        body = SQUEUE.format(program=program, root=root) if name == "squeue" else f'exec {program} "$@"\n'
        (root / "bin" / name).write_text(f"#!/bin/sh\nexport SLURM_CONF={root}/slurm.conf\n{body}")
        (root / "bin" / name).chmod(0o755)
    (root / "munge.key").touch(mode=0o600)
    (root / "munge.key").write_bytes(os.urandom(128))
    root.chmod(0o755)  # others must be able to reach munge's socket


def start_daemons(running, daemons):
    """Start munge, the controller and the nodes; append each process to `daemons`, so that it can be ended.

    Raises:
        RuntimeError: it did not come up; the message ends with the controller's log.
    """
    root = running.root

    def start(*command):
        program = shutil.which(command[0], path=SEARCH)
        with open(root / f"{len(daemons)}-{command[0]}.log", "w") as log:
            variables = os.environ | {"SLURM_CONF": f"{root}/slurm.conf"}
            daemons.append(subprocess.Popen([program, *command[1:]], stdout=log, stderr=log, env=variables))

    files = {"key-file": "munge.key", "socket": "munge.socket", "pid-file": "munged.pid", "seed-file": "munge.seed"}
    log = f"--log-file={root}/munged.log"
    start("munged", "--foreground", *(f"--{option}={root}/{name}" for option, name in files.items()), log)
    start("slurmctld", "-D")
    for name in running.nodes:
        start("slurmd", "-D", "-N", name)
    for _ in range(240):
        time.sleep(0.25)
        with contextlib.suppress(subprocess.SubprocessError):
            if len(running("sinfo", "-h", "-N", "-t", "idle", "-o", "%N").split()) == len(running.nodes):
                break
    else:
        raise RuntimeError("Slurm did not come up:\n" + (root / "1-slurmctld.log").read_text()[-3000:])
