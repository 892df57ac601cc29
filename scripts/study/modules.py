"""Which of the project's own modules a script imports, and one digest of their text."""

import functools
import hashlib
import os
import re

SCRIPTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
# A line that imports, in a function too. Not by `ast`: every job's Snakemake reads the rules anew.
IMPORT = re.compile(r"^[ \t]*(?:from ([\w.]+) import ([\w, ]*)|import ([\w., ]+))", re.MULTILINE)


@functools.cache
def own_imports(path):
    """Return the paths of the project's own modules that a Python file itself imports."""
    with open(path, encoding="utf-8") as handle:
        found = IMPORT.findall(handle.read())
    names = set()
    for package, parts, modules in found:
        names |= {package, *(f"{package}.{part.split()[0]}" for part in parts.split(",") if part.strip())}
        names |= {module.split()[0] for module in modules.split(",") if module.strip()}
    paths = set()
    for name in names - {""}:
        place = os.path.join(SCRIPTS, *name.split("."))
        if os.path.isfile(f"{place}.py"):
            paths.add(f"{place}.py")
        elif os.path.isfile(os.path.join(place, "__init__.py")) and os.path.getsize(os.path.join(place, "__init__.py")):
            # A package with content, the plug-in, is loaded whole.
            paths |= {os.path.join(place, file) for file in os.listdir(place) if file.endswith(".py")}
    return paths


def helper_modules(path):
    """Return the sorted paths of the own modules that a file needs, through each other as well; not itself."""
    found, waiting = set(), [path]
    while waiting:
        new = own_imports(waiting.pop()) - found
        found |= new
        waiting += new
    return sorted(found - {path})


@functools.cache
def _part(path):
    with open(path, "rb") as handle:
        return f"{os.path.relpath(path, SCRIPTS)} {hashlib.sha256(handle.read()).hexdigest()}\n".encode()


def helpers_digest(path):
    """Return a SHA-256 of the names and the text of a file's helper modules."""
    return hashlib.sha256(b"".join(map(_part, helper_modules(path)))).hexdigest()
