"""Write docs/development/licences.md: the licence of every locked package (`make lock`, after `.ci/lock.py`)."""

import importlib.metadata
import os
import re

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PAGE = "docs/development/licences.md"
LOCKS = ("requirements.txt", "requirements-fairseq.txt", "requirements-test.txt")
HEADER = """# Licences

The licence that each locked package states. `make lock` writes this page from the metadata of the installed packages.
It is a list, not legal advice.

- **Stated in**: the metadata field `License-Expression`, else `License` with the classifiers in brackets, else the
  classifiers, else the first line of the licence file. A `License` field that holds a whole text is passed over.
- A wheel may contain libraries under further licences; its licence files list them.
- PyPI's build of PyTorch also installs the packages of `envs/hashes/cuda.txt`, which are not listed here. Most of them
  are under NVIDIA's proprietary licence.
"""


def read_pins(root):
    """Return {lock file: {name: version}} of the lock files under the folder `root`."""
    found = {}
    for path in LOCKS:
        with open(os.path.join(root, path), encoding="utf-8") as handle:
            found[path] = dict(re.findall(r"^([\w.-]+)==(\S+)", handle.read(), re.MULTILINE))
    return found


def licence(distribution):
    """Return a package's licence and where it is stated.

    Args:
        distribution: importlib.metadata.Distribution.

    Raises:
        SystemExit: neither its metadata nor a licence file says anything.
    """
    metadata = distribution.metadata
    expression = metadata.get("License-Expression")
    if expression:
        return expression, "License-Expression"
    classifiers = [text for text in metadata.get_all("Classifier") or [] if text.startswith("License ::")]
    names = ", ".join(text.rpartition(" :: ")[2] for text in classifiers)
    field = (metadata.get("License") or "").strip()
    if field and "\n" not in field:
        return (f"{field} ({names})", "License, classifiers") if names else (field, "License")
    if names:
        return names, "classifiers"
    for path in distribution.files or []:
        if re.match(r"(?i)(licen[cs]e|copying)", path.name):
            with open(distribution.locate_file(path), encoding="utf-8") as handle:
                first = next((line.strip() for line in handle if line.strip()), None)
            if first:
                return first, f"licence file `{path.name}`"
    raise SystemExit(f".ci/licences.py: {metadata['Name']} states no licence: find out under which it may be used")


def page(pins, find=importlib.metadata.distribution):
    """Return the page's text.

    Args:
        pins: {lock file: {name: version}}.
        find: function from a package's name to its importlib.metadata.Distribution.
    """
    parts = [HEADER]
    for path, packages in pins.items():
        parts += [f"## `{path}`\n", "| package | version | licence | stated in |\n|---|---|---|---|"]
        for name, version in packages.items():
            text, place = licence(find(name))
            parts.append(f"| {name} | {version} | {text.replace('|', ' or ')} | {place} |")
        parts[-1] += "\n"
    return "\n".join(parts)


if __name__ == "__main__":
    with open(os.path.join(ROOT, PAGE), "w", encoding="utf-8", newline="\n") as page_file:
        page_file.write(page(read_pins(ROOT)))
