"""fairseq inside this process: a failed save ends the run."""

import errno

import pytest
import torch

from training.fairseq_train import fail_at_once


def test_a_save_that_fails_is_not_tried_again_behind_its_own_half(tmp_path, monkeypatch):
    from fairseq import checkpoint_utils

    save, calls = torch.save, []

    def full_once(content, handle):
        calls.append(1)
        if len(calls) == 1:
            handle.write(b"half a checkpoint")
            raise OSError(errno.ENOSPC, "No space left on device")
        save(content, handle)

    monkeypatch.setattr(torch, "save", full_once)
    # As before the test, afterwards.
    monkeypatch.setattr(checkpoint_utils, "_torch_persistent_save", checkpoint_utils._torch_persistent_save)
    fail_at_once()
    with pytest.raises(OSError, match="No space left"):
        checkpoint_utils.torch_persistent_save({"model": {}}, str(tmp_path / "checkpoint1.pt"))
    assert len(calls) == 1 and not (tmp_path / "checkpoint1.pt").exists()
