"""The files in a folder of Snakemake's: never the hidden file that keeps its time."""

from common.files import numbered, visible


def test_numbered_files_come_in_the_order_of_their_numbers(tmp_path):
    for name in ("10.txt", "2.txt", "1.txt", ".snakemake_timestamp"):
        (tmp_path / name).write_text("", encoding="utf-8")
    assert numbered(str(tmp_path)) == [str(tmp_path / name) for name in ("1.txt", "2.txt", "10.txt")]
    assert visible(str(tmp_path)) == ["1.txt", "10.txt", "2.txt"]
