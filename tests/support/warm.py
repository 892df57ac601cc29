"""A Python that has imported the libraries already: Snakemake and its jobs fork from it in the tests.

Importing Transformers takes seconds of a core, and a tiny study has dozens of jobs. `python()` returns the path of a
program that stands in for this interpreter: it sends its words, environment, folder and descriptors to a server, which
forks, and it ends as the fork ends. It becomes the real interpreter for anything but Snakemake and its jobs, and where
a variable differs that libraries read while they are imported. Only libraries are imported early, never this project.
"""

import atexit
import contextlib
import ctypes
import functools
import gc
import importlib
import io
import json
import logging
import os
import re
import runpy
import selectors
import signal
import socket
import subprocess
import sys
import tempfile
import types

# In the order in which jobs import them; those that are not installed are left out.
LIBRARIES = """
    snakemake.cli snakemake.api snakemake.script snakemake.executors.local snakemake.report.html_reporter yaml
    jsonschema jinja2 pandas scipy.stats scipy.sparse.csgraph statsmodels.api statsmodels.stats.multitest
    statsmodels.stats.contingency_tables matplotlib.pyplot matplotlib.backends.backend_svg seaborn sklearn.metrics
    sklearn.feature_extraction.text sklearn.linear_model sklearn.multiclass sklearn.pipeline sklearn.utils.extmath
    sentencepiece torch fairseq safetensors.torch transformers transformers.trainer peft
    transformers.models.roberta.modeling_roberta transformers.models.camembert.modeling_camembert
    transformers.models.bloom.modeling_bloom
""".split()
# Libraries read these while they are imported, or Python at its start.
AT_IMPORT = re.compile(
    r"(HF|HUGGING|TRANSFORMERS|TORCH|PYTORCH|CUDA|CUBLAS|LD_|LC_|LANG|MPL|PYTHON(?!PATH$|NOUSERSITE$)|XDG_|ACCELERATE|SNAKEMAKE)"
    r"|(HOME|TZ)$"
)
JOB = re.compile(r".*/\.snakemake/scripts/tmp\w+\.\w+\.py")
PREAMBLE = "######## snakemake preamble end #########"

CLIENT = """#!{python} -SEs
import json, os, signal, socket, sys
words, server = sys.argv[1:], socket.socket(socket.AF_UNIX)
try:
    server.connect({address!r})
    mask = os.umask(0)
    os.umask(mask)
    asked = json.dumps([words, dict(os.environ), os.getcwd(), mask, os.getpid()]).encode()
    socket.send_fds(server, [len(asked).to_bytes(8, "big")], [0, 1, 2])
    server.sendall(asked)
    answer = json.loads(server.recv(100))
except OSError:
    answer = None
if not answer:
    os.execv({python!r}, [{python!r}, *words])
def forward(number, frame):
    os.kill(answer, number)
for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
    signal.signal(number, forward)
status = json.loads(server.recv(100) or b"-9")
if status < 0:
    signal.signal(-status, signal.SIG_DFL)
    os.kill(os.getpid(), -status)
os._exit(status)
"""


@functools.cache
def python():
    """Start the server of this process; return the program that stands in for its interpreter."""
    folder = tempfile.mkdtemp(prefix="warm")
    address, program = os.path.join(folder, "socket"), os.path.join(folder, "python")
    with open(program, "w", encoding="utf-8") as handle:
        handle.write(CLIENT.format(python=sys.executable, address=address))
    os.chmod(program, 0o755)
    environment = os.environ | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MPLBACKEND": "agg"}
    environment.pop("PYTHONPATH", None)
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(address)
    listener.listen(64)
    # It ends with this process: then its standard input does.
    server = subprocess.Popen(
        [sys.executable, "-P", os.path.abspath(__file__), str(listener.fileno()), program],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=environment,
        pass_fds=[listener.fileno()],
    )
    listener.close()
    atexit.register(server.kill)
    return program


def serve(listener):
    """Answer requests until standard input ends; return in each fork, with its request."""
    chosen = selectors.DefaultSelector()
    chosen.register(0, selectors.EVENT_READ)
    chosen.register(listener, selectors.EVENT_READ)
    while True:
        for key, _ in chosen.select():
            if key.fd == 0:
                os._exit(0)
            if key.fileobj is listener:
                client, _ = listener.accept()
                if request := _asked(client):
                    child = os.fork()
                    if not child:
                        chosen.close()
                        return request
                    # A group of its own: whoever kills the program kills all that was started for it.
                    os.setpgid(child, child)
                    for descriptor in request[-1]:
                        os.close(descriptor)
                    _send(client, child)
                    watch = os.pidfd_open(child)
                    for place in (client, watch):
                        chosen.register(place, selectors.EVENT_READ, (child, client, watch))
                continue
            child, client, watch = key.data
            if key.fileobj is client:
                # The program was killed, and so is what it stands for.
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(child, signal.SIGKILL)
                chosen.unregister(client)
                continue
            _, status = os.waitpid(child, 0)
            _send(client, os.waitstatus_to_exitcode(status))
            for place in (client, watch):
                with contextlib.suppress(KeyError):
                    chosen.unregister(place)
            client.close()
            os.close(watch)


def _send(client, number):
    with contextlib.suppress(OSError):
        client.sendall(json.dumps(number).encode())


def _asked(client):
    """Return a client's (words, environment, folder, mask, process, descriptors); None: it is to run by itself."""
    head, descriptors, *_ = socket.recv_fds(client, 8, 3)
    text = b""
    while head and len(text) < int.from_bytes(head, "big"):
        text += client.recv(65536)
    words, environment, *rest = json.loads(text) if text else ([], {})
    mine, asked = ({k: v for k, v in e.items() if AT_IMPORT.match(k)} for e in (STARTED, environment))
    ours = words[:2] == ["-m", "snakemake"] or len(words) == 1 and JOB.fullmatch(words[0])
    if ours and {**mine, "MPLBACKEND": ""} == {**asked, "MPLBACKEND": ""}:
        return words, environment, *rest, descriptors
    _send(client, 0)
    client.close()
    for descriptor in descriptors:
        os.close(descriptor)
    return None


def become(words, environment, folder, mask, process, descriptors):
    """Be, in a fork, what a fresh interpreter would be with these words, up to running them."""
    for target, descriptor in enumerate(descriptors):
        os.dup2(descriptor, target)
        os.close(descriptor)
    for kind in ("user", "net", "mnt"):
        with open(f"/proc/{process}/ns/{kind}") as theirs, open(f"/proc/self/ns/{kind}") as ours:
            if not os.path.sameopenfile(theirs.fileno(), ours.fileno()):
                if ctypes.CDLL(None, use_errno=True).setns(theirs.fileno(), 0):
                    raise OSError(ctypes.get_errno(), f"cannot enter the {kind} namespace of {process}")
    os.chdir(folder)
    os.umask(mask)
    os.environ.clear()
    os.environ.update(environment)
    sys.argv, sys.orig_argv = words, [sys.executable, *words]
    sys.stdin = sys.__stdin__ = open(0, closefd=False)
    for name, number in (("stdout", 1), ("stderr", 2)):
        raw, now = io.FileIO(number, "w", closefd=False), number == 2 or os.isatty(number)
        errors = "backslashreplace" if number == 2 else "strict"
        stream = io.TextIOWrapper(io.BufferedWriter(raw), encoding="utf-8", errors=errors, line_buffering=now)
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)
    tempfile.tempdir = None
    sys.modules["numpy"].random.seed()
    added = [place for place in environment.get("PYTHONPATH", "").split(os.pathsep) if place]
    sys.path[:0] = [os.path.dirname(words[0]) if words[0] != "-m" else folder, *added]
    if any(os.path.exists(os.path.join(place, "sitecustomize.py")) for place in added):
        sys.modules.pop("sitecustomize", None)
        importlib.import_module("sitecustomize")


def run(words, program):
    """Run what the words name: Snakemake, whose jobs fork likewise, or a job with its number of threads."""
    if words[0] == "-m":
        sys.executable = program
        sys.argv = words[1:]
        runpy.run_module(words[1], run_name="__main__", alter_sys=True)
        return
    with open(words[0], encoding="utf-8") as handle:
        text = handle.read()
    main = sys.modules["__main__"] = types.ModuleType("__main__")
    main.__file__ = words[0]
    known = {"__file__": words[0]}
    places = list(sys.path)
    exec(text.partition(PREAMBLE)[0], known)
    sys.path[:] = places
    import threadpoolctl

    threadpoolctl.threadpool_limits(known["snakemake"].threads)
    if "torch" in sys.modules:
        sys.modules["torch"].set_num_threads(known["snakemake"].threads)
    exec(compile(text, words[0], "exec"), main.__dict__)


if __name__ == "__main__":
    STARTED = dict(os.environ)
    for library in LIBRARIES:
        with contextlib.suppress(ImportError):
            importlib.import_module(library)
    # Some library logs to a stream of this process as soon as it is imported.
    logging.root.handlers.clear()
    logging.root.setLevel(logging.WARNING)
    gc.collect()
    gc.freeze()
    request = serve(socket.socket(fileno=int(sys.argv[1])))
    program = sys.argv[2]
    become(*request)
    run(request[0], program)
