"""The studies' files, and the one that someone may have meant: `mystudy`, `opem`, `studies/opem.yaml`.

python -m tools.near_study NAME prints what to type. Any Python from 3.8 on runs it.
"""

import difflib
import glob
import os
import re
import sys


def study_files(root="."):
    """Return the paths of the studies' files, relative to the workflow's folder; a file over another is no study.

    Args:
        root: folder of the workflow.
    """
    found = []
    for path in sorted(glob.glob(os.path.join(glob.escape(str(root)), "studies", "**", "*.yaml"), recursive=True)):
        with open(path, encoding="utf-8") as handle:
            if re.search("^study:", handle.read(), re.MULTILINE):
                found.append(os.path.relpath(path, root))
    return found


def name_of(path):
    """Return the name by which a study's file is known: that of the file, without its ending."""
    return os.path.splitext(os.path.basename(path))[0]


def near_study(name, root="."):
    """Return the path of the study file that a name means, or None.

    Args:
        name: what was given for STUDY.
        root: folder of the workflow.
    """
    files = {name_of(path): path for path in study_files(root)}
    near = difflib.get_close_matches(name_of(name), sorted(files), n=1, cutoff=0.6)
    return files[near[0]] if near else None


def remedy(name, root="."):
    """Return what to type in place of a name that is no file."""
    if found := near_study(name, root):
        return f"did you mean STUDY={found}?"
    return "name a study's file, such as STUDY=studies/open.yaml; `make new` writes one for your texts"


if __name__ == "__main__":
    print(remedy(sys.argv[1]))
