"""Where a study's file is, by the study's name."""

import os

from common.errors import StudyError
from tools.near_study import name_of, study_files

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def file_of(study, root=ROOT):
    """Return the path of the study's file in studies/ or a folder of it, relative to the project.

    Args:
        study: its name.
        root: the project.

    Raises:
        StudyError: there is no such file, or several.
    """
    found = [path for path in study_files(root) if name_of(path) == study]
    if len(found) != 1:
        said = f"{' and '.join(found)} both have the name" if found else "studies/ has no file of the name"
        raise StudyError(f"{said} {study}.yaml; name one study, without its folder and without .yaml")
    return found[0]
