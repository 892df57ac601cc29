"""Check a study's settings before Snakemake reads them: of a file that is no UTF-8 text it shows a traceback.

python -m tools.check_settings studies/open.yaml
"""

import sys

from common.errors import StudyError
from study.configuration import check_file


def main(arguments):
    """Check the files named; return the exit status."""
    try:
        for path in arguments:
            check_file(path)
    except StudyError as error:
        print(f"configuration: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
