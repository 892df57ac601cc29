"""Python imports this at its start where this folder is on PYTHONPATH: see `fault_injection`, which puts it there.

In a job of Snakemake's, every change to the study's folder is noted; at a change that is to be a kill's place the job
stops itself, and waits there for the kill. A copy of the script that Snakemake wrote for the job is kept, too: with it
the very same job can be run again.
"""

import json
import os
import re
import shutil
import signal
import sys
import time

NAME = re.compile(r".*/\.snakemake/scripts/tmp\w+\.(\w+)\.py")


def follow(script, rule, folder):
    """Watch this job; `folder` has `places.json`, [[rule, verb, path], ...], and gets what is seen."""
    sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.dirname(__file__))))
    from support.disk_changes import watch

    del sys.path[0]
    shutil.copy(script, os.path.join(folder, f"{rule}.{os.getpid()}.py"))
    with open(os.path.join(folder, "places.json"), encoding="utf-8") as handle:
        places = {tuple(place) for place in json.load(handle)}
    seen = os.open(os.path.join(folder, f"{rule}.{os.getpid()}"), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)

    def act(verb, path):
        line = f"{json.dumps([time.time(), rule, verb, path])}\n".encode()
        os.write(seen, line)
        if (rule, verb, path) in places:
            with open(os.path.join(folder, "halted"), "ab") as handle:
                handle.write(line)
            os.kill(os.getpid(), signal.SIGSTOP)

    watch("results", act)


if "WATCHED_JOBS" in os.environ:
    script = next((found for word in sys.orig_argv if (found := NAME.fullmatch(word))), None)
    if script:
        follow(script[0], script[1], os.environ["WATCHED_JOBS"])
