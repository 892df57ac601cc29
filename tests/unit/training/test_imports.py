"""Imports without what no training uses."""

import subprocess
import sys

import pytest

from support.studies import ROOT
from training.imports import postponed, without

# Modules that each job would load, by the script that trains and what it imports before its first update.
TRAINING = {
    "frameworks.huggingface.train": ("", ("bitsandbytes", "boto3", "scipy.optimize")),
    "frameworks.fairseq.train": (
        "from training.fairseq_commands import import_fairseq; import_fairseq(); import fairseq_cli.train",
        ("boto3", "tensorboard", "sklearn", "scipy.stats"),
    ),
}


def test_a_module_that_is_left_out_counts_as_missing_only_meanwhile():
    sys.modules.pop("colorsys", None)
    with without("colorsys", "json"):
        with pytest.raises(ImportError):
            import colorsys
        import json  # loaded already: it stays
    import colorsys

    assert colorsys.rgb_to_hsv(0, 0, 0) == (0, 0, 0) and json.loads("1") == 1


def test_a_postponed_module_is_loaded_by_the_first_call_of_what_was_taken_from_it():
    sys.modules.pop("colorsys", None)
    with postponed("colorsys"):
        from colorsys import rgb_to_hsv
    assert "colorsys" not in sys.modules
    assert rgb_to_hsv(0, 0, 0) == (0, 0, 0) and "colorsys" in sys.modules


@pytest.mark.parametrize("script", TRAINING)
def test_a_training_loads_nothing_that_it_does_not_use(script):
    more, unused = TRAINING[script]
    code = f"import sys, {script}; {more or 'pass'}; print(*sorted({set(unused)} & set(sys.modules)))"
    told = subprocess.run(
        [sys.executable, "-c", code],
        env={"PYTHONPATH": f"{ROOT}/scripts", "PATH": "", "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert told.stdout.splitlines()[-1].strip() == ""
