"""Download the files of one or more addresses (or take them from the mirror) and record what came."""

from common.entry import run
from common.files import write_json
from study.download import retrieve


def main(urls, files, manifest, hashes, sizes, mirror, key):
    """Retrieve every address, then write the record.

    Args:
        urls: addresses.
        files: the file to write for each.
        manifest: JSON file to write: `files`, one record per address (what `study.download.retrieve` returns).
        hashes: expected SHA-256 of each, None where unknown.
        sizes: expected bytes of each, None where unknown.
        mirror: folder laid out HOST/PATH that replaces the network, or None.
        key: the config key that holds the addresses, for messages.

    Raises:
        StudyError: an address cannot be had as expected.
    """
    records = []
    for number, wanted in enumerate(zip(urls, files, hashes, sizes, strict=True), start=1):
        print(f"{number}/{len(urls)} {wanted[0]}")
        records.append(retrieve(*wanted, mirror, key))
    write_json(manifest, {"files": records})


if __name__ == "__main__":
    run(main, snakemake)
