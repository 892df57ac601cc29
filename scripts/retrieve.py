"""Download the files of one or more addresses (or take them from the mirror) and record what came."""

from common.download import retrieve
from common.files import write_json
from common.rule import running


def main(urls, destinations, manifest, hashes, sizes, mirror=None, key=None):
    """Retrieve every address, then write the record.

    Args:
        urls: addresses.
        destinations: the file for each.
        manifest: JSON file to write: `files`, one record per address (what `common.download.retrieve` returns).
        hashes: expected SHA-256 of each, None where unknown.
        sizes: expected bytes of each, None where unknown.
        mirror: folder laid out HOST/PATH that replaces the network, or None.
        key: the config key that holds the addresses, for messages.

    Raises:
        StudyError: an address cannot be had as expected.
    """
    records = []
    for number, (url, destination, digest, size) in enumerate(
        zip(urls, destinations, hashes, sizes, strict=True), start=1
    ):
        print(f"{number}/{len(urls)} {url}")
        records.append(retrieve(url, destination, digest, size, mirror, key))
    write_json(manifest, {"files": records})


if __name__ == "__main__":
    with running(snakemake):  # noqa: F821
        main(
            snakemake.params.urls,  # noqa: F821
            list(snakemake.output.files),  # noqa: F821
            snakemake.output.manifest,  # noqa: F821
            snakemake.params.hashes,  # noqa: F821
            snakemake.params.sizes,  # noqa: F821
            # Not a parameter: where a file comes from does not change it, so it must rerun nothing.
            snakemake.config["mirror"],  # noqa: F821
            snakemake.params.key,  # noqa: F821
        )
