"""The curves of a training, as TensorBoard reads them."""

import shutil

from support.curves import curves
from training.loss_curves import Curves


def test_what_is_flushed_is_in_the_file(tmp_path):
    """A saved state notes the file's length: what comes to the file later is cut off and never made again."""
    writer = Curves(str(tmp_path / "run"))
    for update in range(1, 1001):
        writer.update(update, 1 / update, 0.5)
    writer.measure("valid", 1000, 0.25, 0.75)
    writer.flush()
    shutil.copytree(tmp_path / "run", tmp_path / "copy")
    found = curves(tmp_path / "copy")
    assert sorted(found) == ["train/learning_rate", "train/loss", "valid/accuracy", "valid/loss"]
    assert list(found["train/loss"]) == list(range(1, 1001))
    assert found["valid/accuracy"] == {1000: 0.75}
    writer.close()
