"""Zips and tars as the tests need them, sound or harmful."""

import io
import os
import tarfile
import zipfile


def make_zip(path, files):
    """Write a zip of {name: content}, or of pairs where a name occurs twice; return its path."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items() if isinstance(files, dict) else files:
            archive.writestr(name, content)
    return os.fspath(path)


def make_tar(path, files, mode="w:gz", kind=tarfile.REGTYPE):
    """Write a tar of {name: content}, or of pairs, its members all of one kind; return its path."""
    with tarfile.open(path, mode) as archive:
        for name, content in files.items() if isinstance(files, dict) else files:
            record = tarfile.TarInfo(name)
            record.type = kind
            if kind == tarfile.REGTYPE:
                record.size = len(content)
            else:
                record.linkname = "/etc/hosts"
            archive.addfile(record, io.BytesIO(content))
    return os.fspath(path)
