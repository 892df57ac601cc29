"""Write the lock files from requirements.in and the versions installed beside this interpreter (`make lock`)."""

import importlib.metadata
import os
import re

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
# conda itself brings these. Everything else comes by pip, so that its version is the workstation's.
CONDA = ["python =3.11", "pip =25.3"]
CONDA_MORE = {"fairseq": ["cxx-compiler =1.11"]}  # fairseq.post-deploy.sh compiles


def read_table(lines):
    """Return {environment: set of canonical package names} of requirements.in.

    Args:
        lines: its lines, `package # environment environment`.
    """
    table = {}
    for line in lines:
        package, _, environments = line.partition("#")
        if package.strip():
            for environment in environments.split():
                table.setdefault(environment, set()).add(str(canonicalize_name(package.strip())))
    return table


def closure(names, needs):
    """Return `names` with all that they need in turn.

    Args:
        names: canonical package names.
        needs: function from a canonical name to the names that it requires.
    """
    found, waiting = set(), list(names)
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting += needs(name)
    return found


def installed_needs(name):
    """Return what an installed package requires here and now, extras left out."""
    requirements = [Requirement(text) for text in importlib.metadata.requires(name) or []]
    return [
        str(canonicalize_name(requirement.name))
        for requirement in requirements
        if requirement.marker is None or requirement.marker.evaluate({"extra": ""})
    ]


def pin(name):
    """Return `Name==version`; a local part such as +cpu names a build, not a version, and is left out."""
    metadata = importlib.metadata.metadata(name)
    return f"{metadata['Name']}=={metadata['Version'].partition('+')[0]}"


def pins(names):
    """Return the pins of packages, sorted without regard to case."""
    return sorted((pin(name) for name in names), key=str.lower)


def locks(table):
    """Return {path: text} of every lock file."""
    environments = sorted(set(table) - {"test", "workstation"})
    run = closure(set().union(*(table[name] for name in table if name != "test")), installed_needs)
    test = closure(table["test"], installed_needs) - run
    header = "# Written by `make lock` from requirements.in: do not edit."
    files = {
        "requirements.txt": "\n".join([header, *pins(run)]) + "\n",
        "requirements-test.txt": "\n".join([header, "-c requirements.txt", *pins(test)]) + "\n",
    }
    for name in environments:
        direct = table[name]
        indirect = closure(direct, installed_needs) - direct
        lines = [header, "channels:", "  - conda-forge", "dependencies:"]
        lines += [f"  - {package}" for package in [*CONDA, *CONDA_MORE.get(name, [])]]
        lines += ["  - pip:", *(f"      - {text}" for text in pins(direct))]
        lines += ["      # needed by those", *(f"      - {text}" for text in pins(indirect))]
        files[f"envs/{name}.yaml"] = "\n".join(lines) + "\n"
    with open(os.path.join(ROOT, "requirements-fairseq.txt"), encoding="utf-8") as handle:
        fairseq = re.search(r"^fairseq-fixed==\S+$", handle.read(), re.MULTILINE).group()
    files["envs/fairseq.post-deploy.sh"] = (
        "#!/usr/bin/env bash\n"
        f"{header}\n"
        "# Not in the pip section: fairseq's build must see this environment's PyTorch; its list of needs is old.\n"
        "set -euo pipefail\n"
        "# pip refuses it for builds without an environment of their own (scripts/study/isolation.py sets it).\n"
        "unset PIP_BUILD_CONSTRAINT\n"
        f"python -m pip install --no-build-isolation --no-deps {fairseq}\n"
    )
    return files


def main(root):
    """Write the lock files under the folder `root`."""
    with open(os.path.join(root, "requirements.in"), encoding="utf-8") as handle:
        table = read_table(handle)
    for path, text in locks(table).items():
        with open(os.path.join(root, path), "w", encoding="utf-8", newline="\n") as handle:
            handle.write(text)


if __name__ == "__main__":
    main(ROOT)
