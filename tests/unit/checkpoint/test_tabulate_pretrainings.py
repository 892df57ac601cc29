"""The table of a study's pretrainings."""

import pytest

from checkpoint.tabulate_pretrainings import main
from common.errors import StudyError
from common.files import read_tsv, sha256, write_tsv

COLUMNS = ["update", "epoch", "split", "loss", "n_tokens", "lr"]


def histories(folder, split="valid"):
    """Write the curves and weights of two pretrainings; return their paths."""
    paths = []
    for number in (1, 2):
        rows = [[450, 1, split, 5.5, 90, 0.1], [900, 2, split, 4.0 + number / 10, 91, 0.0], [900, 2, "train", 1, 9, 0]]
        (folder / f"{number}.pt").write_text(f"weights {number}")
        write_tsv(folder / f"{number}.tsv", [dict(zip(COLUMNS, row, strict=True)) for row in rows], COLUMNS)
        paths.append(str(folder / f"{number}."))
    return [f"{path}tsv" for path in paths], [f"{path}pt" for path in paths]


PLACES = [11, 12], ["checkpoint", "checkpoint/seed12"]


def test_a_row_has_the_last_loss_on_text_kept_out_and_the_hash_of_the_weights(tmp_path):
    curves, models = histories(tmp_path)
    main(curves, models, str(tmp_path / "table.tsv"), *PLACES)
    assert [list(row.values()) for row in read_tsv(tmp_path / "table.tsv")] == [
        ["11", "checkpoint", "900", "4.1", "91", sha256(models[0])],
        ["12", "checkpoint/seed12", "900", "4.2", "91", sha256(models[1])],
    ]


def test_two_pretrainings_of_the_same_weights_are_refused(tmp_path):
    curves, models = histories(tmp_path)
    (tmp_path / "2.pt").write_text("weights 1")
    with pytest.raises(StudyError, match="2.pt has the weights of .*1.pt: run the pretraining of seed 12 again"):
        main(curves, models, str(tmp_path / "table.tsv"), *PLACES)
    assert not (tmp_path / "table.tsv").exists()


def test_a_curve_without_text_kept_out_is_refused(tmp_path):
    with pytest.raises(StudyError, match="1.tsv has no held-out loss"):
        main(*histories(tmp_path, "train"), str(tmp_path / "table.tsv"), *PLACES)
