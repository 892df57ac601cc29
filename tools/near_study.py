"""The study file that someone may have meant by a name that is no file: `mystudy`, `opem`, `studies/opem.yaml`.

python -m tools.near_study NAME prints what to type. Any Python from 3.8 on runs it.
"""

import difflib
import glob
import os
import sys


def near_study(name, root="."):
    """Return the path of the study file that a name means, or None.

    Args:
        name: what was given for STUDY.
        root: folder of the workflow.
    """
    files = {os.path.splitext(os.path.basename(path))[0]: path for path in glob.glob(f"{root}/studies/*.yaml")}
    stem = os.path.splitext(os.path.basename(name))[0]
    near = difflib.get_close_matches(stem, sorted(files), n=1, cutoff=0.6)
    return os.path.relpath(files[near[0]], root) if stem and near else None


def remedy(name, root="."):
    """Return what to type in place of a name that is no file."""
    if found := near_study(name, root):
        return f"did you mean STUDY={found}?"
    return "name a study's file, such as STUDY=studies/open.yaml; `make new` writes one for your texts"


if __name__ == "__main__":
    print(remedy(sys.argv[1]))
