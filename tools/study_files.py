"""Where a study's file is, by the study's name."""

import glob
import os

from common.errors import StudyError

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def file_of(study, root=ROOT):
    """Return the path of the file NAME.yaml in studies/ or a folder of it, relative to the project.

    Args:
        study: its name.
        root: the project.

    Raises:
        StudyError: there is no such file, or several.
    """
    files = glob.glob(os.path.join("studies", "**", "*.yaml"), root_dir=root, recursive=True)
    found = sorted(path for path in files if os.path.basename(path) == f"{study}.yaml")
    if len(found) != 1:
        said = f"{' and '.join(found)} both have the name" if found else "studies/ has no file of the name"
        raise StudyError(f"{said} {study}.yaml; name one study, without its folder and without .yaml")
    return found[0]
