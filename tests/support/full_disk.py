"""Run the jobs of a finished study again on a disk that is full, then with room, exactly as Snakemake started them.

    python -m support.full_disk STUDY_FOLDER JOBS_FOLDER RESULT.json

JOBS_FOLDER holds the scripts that Snakemake wrote for the jobs (see `watched_jobs`). The disk is a tmpfs of this
process's own: `unshare --map-root-user --mount` before the command. One process with everything imported, and a forked
child for each run: imports are what takes long.
"""

import ast
import glob
import importlib
import json
import os
import pickle
import re
import shutil
import subprocess
import sys
import tempfile
import traceback

from support.fault_injection import CLOCKS

# Where fairseq and the tables come from; what is not installed fails in the jobs that need it.
IMPORTS = ("snakemake.iocontainers", "torch", "torch._dynamo", "transformers", "peft", "pandas", "matplotlib.pyplot")
# Files that hold times: compared as far as they are JSON, else by their presence.
PASSING = re.compile(r".*(tfevents.*|checkpoint\d+\.pt|pretraining\.tsv)")
PAGE = os.sysconf("SC_PAGE_SIZE")


def jobs(folder):
    """Return {rule: path} of one recorded script a rule, the first that ran."""
    found = {}
    for path in sorted(glob.glob(os.path.join(folder, "*.py")), key=os.path.getmtime):
        found.setdefault(os.path.basename(path).partition(".")[0], path)
    return found


def described(script):
    """Return the object that Snakemake gives a script, read from the script's first lines."""
    with open(script, encoding="utf-8") as handle:
        tree = ast.parse(handle.read())
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and ast.unparse(node.func) == "pickle.loads"]
    return pickle.loads(calls[0].args[0].value)


def bring_back(paths):
    """Put back the project's files as Snakemake's copies, which went when it ended; return the folders made."""
    made = set()
    for path in paths:
        cache, found, original = path.partition("/file/")
        if found and not os.path.exists(path):
            for step in re.finditer(r"/\.\./", path):
                os.makedirs(path[: step.start()], exist_ok=True)
            os.makedirs(os.path.dirname(os.path.normpath(path)), exist_ok=True)
            shutil.copy(f"/{original}", path)
            made.add(cache)
    return made


def files(path):
    """Return {path inside: path} of a file or of a folder's files; none where nothing is there."""
    if os.path.isfile(path):
        return {"": path}
    places = [os.path.join(place, name) for place, _, names in os.walk(path) for name in names]
    return {os.path.relpath(place, path): place for place in places if not place.endswith("/.snakemake_timestamp")}


def content(path):
    """Return the files that must be the same when a job is run again."""
    if PASSING.fullmatch(path):
        return None
    with open(path, "rb") as handle:
        data = handle.read()
    if os.path.basename(path) == "run.json":
        # The clone may have had another commit since.
        return {key: value for key, value in json.loads(data).items() if not CLOCKS.fullmatch(key) and key != "commit"}
    return data


def same(one, other):
    """Return whether two files, or two folders, are the same but for times."""
    first, second = files(one), files(other)
    named = [sorted(re.sub(r"tfevents.*", "tfevents", name) for name in found) for found in (first, second)]
    return named[0] == named[1] and all(
        content(first[name]) == content(second[name]) for name in first.keys() & second.keys()
    )


def run(script, disk):
    """Run a job's script in a child; return its exit status and what the terminal shows."""
    with tempfile.TemporaryFile() as terminal:
        pid = os.fork()
        if not pid:
            status = 1
            try:
                os.dup2(terminal.fileno(), 1)
                os.dup2(terminal.fileno(), 2)
                os.chdir(disk)
                with open(script, encoding="utf-8") as handle:
                    code = compile(handle.read(), script, "exec")
                exec(code, {"__name__": "__main__", "__file__": script})
                status = 0
            except SystemExit as stop:
                status = stop.code or 0
            except BaseException:  # noqa: BLE001 - a fault of this program, told
                traceback.print_exc()
            finally:
                os._exit(status)
        status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        terminal.seek(0)
        return status, terminal.read().decode(errors="replace")


def fill(disk, room):
    """Leave so many bytes of the disk free."""
    free = os.statvfs(disk).f_bfree * os.statvfs(disk).f_frsize
    with open(os.path.join(disk, "ballast"), "wb") as handle:
        if free > room:
            os.posix_fallocate(handle.fileno(), 0, free - room)


def remove(paths):
    for path in paths:
        if os.path.isdir(path):
            shutil.rmtree(path)
        elif os.path.lexists(path):
            os.remove(path)


def tried(rule, script, finished, disk):
    """Run one job with no room at all, with half of what it writes, and with enough.

    Returns:
        dict: rule; need: bytes of its outputs; full: [{room, status, shown, half}], `half` the outputs that are neither
        absent nor whole; status, shown, wrong (outputs that are not as in the finished study) of the run with room;
        left: temporary files.
    """
    snakemake = described(script)
    sources = bring_back(map(str, snakemake.input))
    outputs = [str(path) for path in snakemake.output]
    places = [os.path.join(disk, path) for path in outputs]
    logs = [os.path.join(disk, str(path)) for path in snakemake.log]
    written = [path for output in outputs for path in files(os.path.join(finished, output)).values()]
    need = sum(-(-os.path.getsize(path) // PAGE) * PAGE for path in written)
    found = {"rule": rule, "need": need, "full": []}
    # Outputs of a page or two may fit where half of their pages are free.
    for room in sorted({0, need // 2 // PAGE * PAGE if need > 4 * PAGE else 0}):
        remove([*places, *logs])
        fill(disk, room)
        status, shown = run(script, disk)
        half = [
            o for o, place in zip(outputs, places, strict=True) if files(place) and not same(place, f"{finished}/{o}")
        ]
        found["full"].append({"room": room, "status": status, "shown": shown, "half": half})
        os.remove(os.path.join(disk, "ballast"))
    remove([*places, *logs])  # as Snakemake does before it starts an unfinished job again
    found["status"], found["shown"] = run(script, disk)
    remove(sources)
    found["wrong"] = [path for path in outputs if not same(f"{disk}/{path}", f"{finished}/{path}")]
    found["left"] = [path for path in files(f"{disk}/results") if re.search(r"(^|/)\.(part|run)-", path)]
    # The next job reads what the finished study has: records hold times.
    remove(places)
    for path in outputs:
        copy = shutil.copytree if os.path.isdir(f"{finished}/{path}") else shutil.copy2
        copy(f"{finished}/{path}", f"{disk}/{path}")
    return found


def main(finished, scripts, result):
    """Try every rule's job and write what happened as a list."""
    for name in IMPORTS:
        importlib.import_module(name)
    importlib.import_module("training.fairseq_commands").import_fairseq()
    importlib.import_module("fairseq_cli.train")
    importlib.import_module("training.fairseq_plugin")
    disk = tempfile.mkdtemp(prefix="full-disk-")
    # Room for the study and what a job writes beside it.
    size = 3 * sum(os.path.getsize(path) for path in files(finished).values()) + 2**25
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", disk], check=True)
    try:
        for part in ("results", "resources"):
            if os.path.isdir(os.path.join(finished, part)):
                shutil.copytree(os.path.join(finished, part), os.path.join(disk, part))
        shutil.rmtree(glob.glob(os.path.join(disk, "results", "*"))[0] + "/state", ignore_errors=True)
        found = []
        for rule, script in jobs(scripts).items():
            found.append(tried(rule, script, finished, disk))
            print(
                rule, found[-1]["need"], [each["status"] for each in found[-1]["full"]], found[-1]["status"], flush=True
            )
    finally:
        subprocess.run(["umount", "--lazy", disk], check=True)
        os.rmdir(disk)
    with open(result, "w", encoding="utf-8") as handle:
        json.dump(found, handle, indent=1)


if __name__ == "__main__":
    sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "..", "scripts"))
    main(*map(os.path.abspath, sys.argv[1:4]))
