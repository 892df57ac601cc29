"""The part of a study's crate that holds the SHA-256 of its files."""

from common.files import sha256, write_json


def write_crate(folder, without=None):
    """Write a crate of every file that a folder holds, one left out; `folder` is a pathlib.Path."""
    crate = folder / "ro-crate-metadata.json"
    names = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())
    files = [
        {"@id": name, "@type": "File", "sha256": sha256(folder / name)}
        for name in names
        if name not in (without, crate.name) and not name.startswith(("handin", "report"))
    ]
    write_json(crate, {"@graph": files})
