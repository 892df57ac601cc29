"""The project's modules that a script imports, and one digest of their text."""

import functools
import glob
import hashlib
import os
import re

SCRIPTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
# These packages find their modules by folder. Every room may have sections and products; only the facts of frameworks
# are read, and only those measures that a study names (`named`).
DISCOVERED = {
    "measures": [],
    "report.sections": ["*/sections/**/*.py"],
    "study.products": ["*/products/*.py", "frameworks/*/products.py"],
    "frameworks": ["frameworks/*.py", "frameworks/*/__init__.py"],
}
# A line that imports, also in a function. `ast` would be slower: every job's Snakemake reads the rules anew.
IMPORT = re.compile(r"^[ \t]*(?:from ([\w.]+) import (?:\(([^)]*)\)|([\w, ]*))|import ([\w., ]+))", re.MULTILINE)


@functools.cache
def own_imports(path):
    """Return the paths of the project's modules that a Python file imports directly."""
    with open(path, encoding="utf-8") as handle:
        found = IMPORT.findall(handle.read())
    names = set()
    for package, in_brackets, parts, modules in found:
        parts = in_brackets or parts
        names |= {package, *(f"{package}.{part.split()[0]}" for part in parts.split(",") if part.strip())}
        names |= {module.split()[0] for module in modules.split(",") if module.strip()}
    paths = set()
    for name in names - {""}:
        place = os.path.join(SCRIPTS, *name.split("."))
        if os.path.isfile(f"{place}.py"):
            paths.add(f"{place}.py")
            for pattern in DISCOVERED.get(name, []):
                paths |= set(glob.glob(f"{glob.escape(SCRIPTS)}/{pattern}", recursive=True))
        elif name.startswith("frameworks."):
            # A framework's scripts load its facts beside their modules and read no others.
            continue
        elif os.path.isfile(os.path.join(place, "__init__.py")) and os.path.getsize(os.path.join(place, "__init__.py")):
            # Another package with content, such as fairseq's plug-in, loads all of its modules.
            patterns = DISCOVERED.get(name, [f"{name.replace('.', '/')}/**/*.py"])
            paths.add(os.path.join(place, "__init__.py"))
            for pattern in patterns:
                paths |= set(glob.glob(f"{glob.escape(SCRIPTS)}/{pattern}", recursive=True))
    return paths


def helper_modules(path):
    """Return the sorted paths of the project's modules that a file needs, directly or indirectly, without itself."""
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


def file_digest(path):
    """Return a SHA-256 of the names and the text of a file and its helper modules."""
    return hashlib.sha256(b"".join(map(_part, [path, *helper_modules(path)]))).hexdigest()


def helpers_digest(path, named=()):
    """Return a SHA-256 of the names and the text of a file's helper modules.

    Args:
        path: the file.
        named: paths of modules that it loads by name where it imports the package of their folder.
    """
    helpers = helper_modules(path)
    folders = {os.path.dirname(helper) for helper in helpers if os.path.basename(helper) == "__init__.py"}
    loaded = {one for file in named if os.path.dirname(file) in folders for one in (file, *helper_modules(file))}
    return hashlib.sha256(b"".join(map(_part, sorted({*helpers, *loaded})))).hexdigest()
