"""Write the locked versions with the hashes of their files (`make lock`, after `.ci/lock.py`; needs a network).

The hashes are those that PyPI lists (PEP 691). Every file is included that pip could install with CPython 3.11,
3.12 or 3.13 on Linux, x86-64 or aarch64, source distributions among them: not only what this machine would get.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
import urllib.request
import venv
from concurrent.futures import ThreadPoolExecutor

from packaging.utils import (
    InvalidSdistFilename,
    InvalidWheelFilename,
    canonicalize_name,
    parse_sdist_filename,
    parse_wheel_filename,
)
from packaging.version import Version

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
FOLDER = "envs/hashes"
LOCKS = ("requirements.txt", "requirements-test.txt", "requirements-fairseq.txt")
# It holds its own hashes: nothing else installs from it.
DOCS = "requirements-docs.txt"
INDEX = "https://pypi.org/simple/"
HEADER = "# Written by `make lock`: do not edit."
PIN = re.compile(r"^([A-Za-z0-9._-]+)==([A-Za-z0-9.!_-]+)", re.MULTILINE)
HASH = re.compile(r"--hash=sha256:([0-9a-f]{64})\b")
# The CPython 3 that the lock is for (the Makefile's SUITABLE says the same).
MINORS = (11, 12, 13)
# The CPU wheels that https://download.pytorch.org/whl/cpu/torch/ lists for CPython 3.11 on Linux, aarch64 and x86-64.
# PyPI does not have them, and with 3.12 and 3.13 PyPI's build is installed. Add a line by hand for another version.
PYTORCH_CPU = {
    "2.13.0": [
        "84453b69508ec79902f899c5ed9495acb9e2bbe9fda5f1d5d6f19e3c3842e1a7",
        "6746dbcbeb526eb61330b76b41ff1b4eb848951103a892eeb080dfa2b264667b",
    ],
}
# Resolves PyPI's build of PyTorch by metadata alone; older ones download the wheels.
PIP = "pip==25.3"


def read_pins(text):
    """Return {name: version} of a requirements file's text, in its order."""
    return dict(PIN.findall(text))


def read_hashes(text):
    """Return {name: list of SHA-256} of a requirements file's text."""
    parts = PIN.split(text)
    return {name: HASH.findall(rest) for name, rest in zip(parts[1::3], parts[3::3], strict=True)}


def is_usable(filename, version):
    """Return whether pip could install a file of that version with one of `MINORS` on Linux, x86-64 or aarch64.

    >>> is_usable("a-1.0-cp39-abi3-manylinux_2_28_x86_64.whl", "1.0"), is_usable("a-1.0.tar.gz", "1")
    (True, True)
    >>> is_usable("a-1.0-cp312-cp312-win_amd64.whl", "1.0"), is_usable("a-1.1.tar.gz", "1.0")
    (False, False)
    """
    try:
        if not filename.endswith(".whl"):
            return parse_sdist_filename(filename)[1] == Version(version)
        _, found, _, tags = parse_wheel_filename(filename)
    except (InvalidSdistFilename, InvalidWheelFilename):  # eggs and installers
        return False
    return found == Version(version) and any(_is_usable_tag(tag) for tag in tags)


def _is_usable_tag(tag):
    """Return whether a wheel's tag fits one of `MINORS` on Linux with the GNU C library."""
    stable = re.fullmatch(r"cp3(\d+)", tag.interpreter) if tag.abi == "abi3" else None
    plain = {"py3", *(f"{kind}3{minor}" for kind in ("py", "cp") for minor in MINORS)}
    # A free-threaded build (cp313t) cannot be installed by the usual one.
    python = (tag.interpreter in plain and not tag.abi.endswith("t")) or (stable and int(stable[1]) <= max(MINORS))
    linux = re.fullmatch(r"(many)?linux\w*_(x86_64|aarch64)", tag.platform)
    return bool(python and (linux or tag.platform == "any"))


def listed_files(name):
    """Return what PyPI lists of a package: [{"filename": …, "hashes": {"sha256": …}, …}, …]."""
    request = urllib.request.Request(
        f"{INDEX}{canonicalize_name(name)}/", headers={"Accept": "application/vnd.pypi.simple.v1+json"}
    )
    with urllib.request.urlopen(request, timeout=120) as answer:
        return json.load(answer)["files"]


def hashed(pins, files):
    """Return the lines of a requirements file with hashes.

    Args:
        pins: {name: version}.
        files: {name: what its index lists, as `listed_files` returns it}.

    Raises:
        SystemExit: a package has no usable file with a SHA-256, or PyTorch's CPU wheels are not known.
    """
    lines = []
    for name, version in pins.items():
        usable = [file for file in files[name] if is_usable(file["filename"], version)]
        found = sorted({file["hashes"]["sha256"] for file in usable if "sha256" in file["hashes"]})
        if name == "torch":
            if version not in PYTORCH_CPU:
                sys.exit(f".ci/hashes.py: PYTORCH_CPU lacks torch {version}: add the hashes of its CPU wheels")
            found += PYTORCH_CPU[version]
        if not found:
            sys.exit(f".ci/hashes.py: the index lists no file of {name} {version} with a SHA-256")
        lines.append(" \\\n    ".join([f"{name}=={version}", *(f"--hash=sha256:{digest}" for digest in found)]))
    return lines


def cuda_pins(version, locked):
    """Return {name: version} of what PyPI's build of PyTorch needs beside the lock: CUDA's libraries and Triton.

    Args:
        version: PyTorch's.
        locked: canonical names of the lock's packages.
    """
    with tempfile.TemporaryDirectory() as folder:
        venv.create(folder, with_pip=True)
        pip = [os.path.join(folder, "bin", "python"), "-m", "pip"]
        subprocess.run([*pip, "install", "--quiet", "--quiet", PIP], check=True)
        report = os.path.join(folder, "report.json")
        # PyPI alone, whatever else is configured: another index may offer a CPU build.
        alone = {"PIP_CONFIG_FILE": os.devnull, "PIP_EXTRA_INDEX_URL": "", "PIP_FIND_LINKS": "", "PIP_INDEX_URL": INDEX}
        options = ["--quiet", "--quiet", "--dry-run", "--ignore-installed", "--only-binary=:all:", "--report", report]
        options += ["--constraint", os.path.join(ROOT, "requirements.txt")]
        subprocess.run([*pip, "install", *options, f"torch=={version}"], env=os.environ | alone, check=True)
        with open(report, encoding="utf-8") as handle:
            found = [item["metadata"] for item in json.load(handle)["install"]]
    pins = {item["name"]: item["version"] for item in found if canonicalize_name(item["name"]) not in locked}
    return dict(sorted(pins.items(), key=lambda pair: pair[0].lower()))


def main(root):
    """Write the files with hashes under the folder `root`."""
    locks = {}
    for path in (*LOCKS, DOCS):
        with open(os.path.join(root, path), encoding="utf-8") as handle:
            locks[path] = read_pins(handle.read())
    locked = {canonicalize_name(name) for path in LOCKS for name in locks[path]}
    locks["cuda.txt"] = cuda_pins(locks["requirements.txt"]["torch"], locked)
    names = sorted(set().union(*locks.values()))
    with ThreadPoolExecutor(8) as pool:
        files = dict(zip(names, pool.map(listed_files, names), strict=True))
    notes = {
        "cuda.txt": "# What PyPI's build of PyTorch for Linux needs beside requirements.txt.",
        DOCS: "# What `make docs` installs into .venv-docs: MkDocs with the Material theme, and what they need.",
    }
    os.makedirs(os.path.join(root, FOLDER), exist_ok=True)
    for path, pins in locks.items():
        lines = [HEADER, *filter(None, [notes.get(path)]), *hashed(pins, files)]
        place = os.path.join(root, path if path == DOCS else os.path.join(FOLDER, path))
        with open(place, "w", encoding="utf-8", newline="\n") as handle:
            handle.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main(ROOT)
