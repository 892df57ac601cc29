"""Record a study's settings for comparison by `make regenerate`, which trains nothing."""

from common.entry import run
from common.files import write_json
from common.machine import result_settings


def main(settings, record):
    """Write the settings that decide results. The rule waits for the records of all runs: these were made with them.

    Args:
        settings: the resolved config.
        record: JSON file to write.
    """
    write_json(record, result_settings(settings))


if __name__ == "__main__":
    run(main, snakemake)
