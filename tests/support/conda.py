"""A stand-in for conda: it answers what Snakemake asks of one, and makes environments of the packages installed here.

It makes a Python of its own, no virtual environment, and like the pip that conda calls it leaves out what that Python
already finds, in the user's home too, and removes there what has another version.
"""

import json
import pathlib
import subprocess
import sys

import yaml
from packaging.utils import canonicalize_name

from support.environments import PIN, ROOT, link_packages, make_prefix

VERSION = "26.7.0"
FOUND = "import importlib.metadata as m; [print(d.metadata['Name'], d.version, d._path) for d in m.distributions()]"
# Commands that a post-deploy script calls there.
PIP = "import subprocess, sys\nsys.exit(subprocess.call([{conda!r}, 'pip', sys.prefix, *sys.argv[1:]]))\n"
ACTIVATE = 'export CONDA_PREFIX="$1" PATH="$1/bin:$PATH"\n'


def install(folder):
    """Make the stand-in under a folder; return the one for PATH."""
    binaries = pathlib.Path(folder) / "bin"
    binaries.mkdir(parents=True)
    conda = binaries / "conda"
    command = f"PYTHONPATH='{ROOT}/tests:{ROOT}/scripts' exec '{sys.executable}' -m support.conda '{folder}'"
    conda.write_text(f'#!/bin/sh\n{command} "$@"\n')
    conda.chmod(0o755)
    (binaries / "activate").write_text(ACTIVATE)
    return binaries


def link(prefix, wanted):
    """Link packages into an environment."""
    (site,) = pathlib.Path(prefix).glob("lib/python*/site-packages")
    link_packages(site, wanted)
    return site


def create(conda, arguments):
    """Make the environment of `--file` at `--prefix`."""
    given = dict(zip(arguments, arguments[1:], strict=False))
    with open(given["--file"], encoding="utf-8") as handle:
        content = yaml.safe_load(handle)
    if content["channels"] != ["conda-forge"]:
        sys.exit(f"UnavailableInvalidChannel: {content['channels']}")
    (section,) = [item["pip"] for item in content["dependencies"] if isinstance(item, dict)]
    wanted = {str(canonicalize_name(match[1])): match[2] for match in map(PIN.match, section)}
    python = make_prefix(given["--prefix"])
    found = subprocess.run([str(python), "-c", FOUND], capture_output=True, text=True, check=True).stdout.splitlines()
    for name, version, place in (line.split(maxsplit=2) for line in found):
        if wanted.get(str(canonicalize_name(name))) == version:
            del wanted[str(canonicalize_name(name))]
        elif str(canonicalize_name(name)) in wanted:
            subprocess.run(["rm", "-r", place], check=True)
    pip = link(given["--prefix"], wanted) / "pip"
    pip.mkdir()
    (pip / "__main__.py").write_text(PIP.format(conda=conda))


def main(folder, command, *arguments):
    """Answer one command line."""
    if command == "--version":
        print(f"conda {VERSION}")
    elif command == "info":
        print(json.dumps({"conda_prefix": folder, "platform": "linux-64", "conda_version": VERSION}))
    elif command == "config":
        print(json.dumps({"get": {"channel_priority": "strict"}}))
    elif command == "clean":
        pass
    elif (command, *arguments[:1]) == ("env", "create"):
        create(f"{folder}/bin/conda", arguments)
    elif command == "pip":
        link(arguments[0], {str(canonicalize_name(match[1])) for match in map(PIN.match, arguments[1:]) if match})
    else:
        sys.exit(f"the stand-in knows no {command}")


if __name__ == "__main__":
    main(*sys.argv[1:])
