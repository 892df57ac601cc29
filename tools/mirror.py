"""Fill a mirror folder with every file that a study downloads; not a rule, see `make mirror`."""

import os
import re
import sys

from common.errors import StudyError
from common.files import read_lines, sha256, write_lines
from study.addresses import needed_retrievals
from study.configuration import load_study
from study.download import retrieve
from study.pins import mirror_path

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
# The list of a mirror's files, in the form that `sha256sum --check` reads; all studies share it.
SUMS = "SHA256SUMS"


def read_study(path, root=ROOT):
    """Return a study's settings as the Snakefile sees them, and its pinned files.

    Args:
        path: the study's file.
        root: the folder of config.yaml.

    Returns:
        tuple[dict, dict]: see `study.configuration.load_study`.

    Raises:
        StudyError: no such file, or settings that the workflow would refuse.
    """
    if not os.path.isfile(path):
        raise StudyError(f"there is no study file {path}; name one: STUDY=studies/open.yaml")
    # A mirror that the study names may be the one to fill.
    return load_study(root, path, mirror=None)


def read_sums(path):
    """Return {path in the mirror: sha256} of a mirror's list; empty where there is none.

    Raises:
        StudyError: a line that is not a hash, two blanks and a path.
    """
    if not os.path.exists(path):
        return {}
    sums = {}
    for number, line in enumerate(read_lines(path), start=1):
        match = re.fullmatch(r"([0-9a-f]{64})  (.+)", line)
        if not match:
            raise StudyError(f"{path}, line {number}: not a hash and a path; remove the file and run again")
        sums[match[2]] = match[1]
    return sums


def main(study, mirror, root=ROOT, **options):
    """Fetch what the mirror lacks. A file that is there with the expected hash (or the hash it came with) stays.

    A file without either, put there by hand, is taken as it is and its hash listed.

    Args:
        study: the study's file.
        mirror: the folder to fill, laid out HOST/PATH; made where it does not exist.
        root: the folder of config.yaml.
        options: for `study.download.retrieve`.

    Returns:
        tuple[int, int]: how many files the study needs, and how many of them were fetched now.

    Raises:
        StudyError: the folder cannot be made, or an address cannot be had as expected; what came before it stays.
    """
    try:
        os.makedirs(mirror, exist_ok=True)
    except OSError as error:
        raise StudyError(f"{mirror} cannot be made a folder ({error.strerror}); name another: MIRROR=FOLDER") from error
    groups = needed_retrievals(*read_study(study, root))
    wanted = [
        (url, digest, size, group["key"])
        for group in groups
        for url, digest, size in zip(group["urls"], group["hashes"], group["sizes"], strict=True)
    ]
    listed = read_sums(os.path.join(mirror, SUMS))
    sums, fetched = dict(listed), 0
    try:
        for number, (url, digest, size, key) in enumerate(wanted, start=1):
            place = mirror_path(url)
            path = os.path.join(mirror, place)
            found = sha256(path) if os.path.isfile(path) and os.path.getsize(path) else None
            if found is None or found != (digest or listed.get(place, found)):
                print(f"{number}/{len(wanted)} {url}{' (what lies there is another file)' if found else ''}")
                try:
                    found = retrieve(url, path, digest, size, key=key, **options)["sha256"]
                except StudyError as error:
                    raise StudyError(
                        f"{error}. Of the {len(wanted)} files {number - 1} are in {mirror} and stay: run again to go "
                        f"on; a copy from elsewhere can be put in its place by hand: {path}"
                    ) from error
                fetched += 1
            sums[place] = found
    finally:
        if sums != listed:
            write_lines(os.path.join(mirror, SUMS), [f"{digest}  {place}" for place, digest in sorted(sums.items())])
    return len(wanted), fetched


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit("tools.mirror: name the study's file and the folder to fill")
    try:
        n_files, n_fetched = main(*sys.argv[1:])
    except StudyError as error:
        sys.exit(f"make mirror: {error}")
    print(f"{sys.argv[2]}: all {n_files} files of {sys.argv[1]}; {n_fetched} fetched now, the others were there")
