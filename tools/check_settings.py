"""Check a study before Snakemake plans it: its settings, and the tables of texts that it names on this machine.

python -m tools.check_settings studies/open.yaml [MIRROR]: Snakemake shows a traceback for a file that is no UTF-8
text, and a faulty table only stops a job.
"""

import importlib.util
import os
import sys

from common.arms import arms_in, uses_checkpoint
from common.errors import StudyError
from study.addresses import is_address
from study.configuration import in_file, load_study
from study.source_files import table_settings

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
# Tables of more bytes than this are left to the study's first job: reading them takes longer than a person waits.
MOST_BYTES = 100_000_000


def check_tables(data):
    """Read the tables of a study as its first job will; return in words what was found, '' without tables.

    Args:
        data: config section `data`.

    Raises:
        StudyError: a fault of a file, with its row and line, or labels and sizes that do not fit.
    """
    table = table_settings(data)
    if table is None:
        return ""
    missing = [file for file in table["files"] if not is_address(file) and not os.path.isfile(file)]
    if missing:
        key = f"data.table.{table['splits'][table['files'].index(missing[0])]}"
        raise StudyError(f"{key}: there is no file {missing[0]}; correct the path (from the folder where you run make)")
    if any(map(is_address, table["files"])):
        return "the tables are downloaded first and read then"
    size = sum(os.path.getsize(file) for file in table["files"])
    if size > MOST_BYTES:
        return f"the tables have {size / 1e6:.0f} MB: the study's first job reads them"
    # Here, because doctor runs without NumPy as well.
    from data.build_splits import split_table
    from data.text_tables import read_table

    source = read_table(table["files"], table["splits"], table, data["labels"], data["task"])
    sizes = (data[f"n_{split}"] for split in ("train", "valid", "test"))
    splits = split_table(source, *sizes, data["split_seed"], data["labels"], data["task"])
    return "tables: " + ", ".join(f"{len(rows)} texts for {split}" for split, rows in splits.items())


def check_fairseq(config):
    """Refuse a study that has fairseq arms or pretrains, where fairseq was left out (WITHOUT=fairseq).

    Raises:
        StudyError: it needs fairseq, which this environment lacks.
    """
    if importlib.util.find_spec("fairseq"):
        return
    arms = [name for name, arm in arms_in(config).items() if arm.framework == "fairseq"]
    if arms or uses_checkpoint(config):
        why = f"arm {arms[0]} trains with fairseq" if arms else "arms start from the study's own checkpoint"
        raise StudyError(
            f"finetuning.arms: {why}, and this environment was made without fairseq; install a C++ compiler and "
            "Python's headers, and run make env WITHOUT="
        )


def check(path, **changes):
    """Return (the study's name, what `check_tables` found).

    Args:
        path: the study's file; None: the embedded study.
        changes: settings over the file's, such as `mirror`.

    Raises:
        StudyError: settings or tables that the workflow refuses.
    """
    config, _ = load_study(ROOT, *filter(None, [path]), **changes)
    return config["study"], check_tables(config["data"])


def main(arguments):
    """Check the study whose file is named, with a mirror's folder or ''; return the exit status."""
    path, mirror = (*arguments, "")[:2]
    try:
        check(path, **({"mirror": mirror} if mirror else {}))
        check_fairseq(load_study(ROOT, *filter(None, [path]))[0])
    except StudyError as error:
        print(in_file(path, error), file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
