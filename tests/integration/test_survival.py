"""The workflow killed, started twice, and on a disk that fills up."""

import pytest

import fault_injection
import studies

pytestmark = [pytest.mark.integration, pytest.mark.timeout(1800)]


def test_a_killed_workflow_ends_as_if_never_killed(tmp_path):
    study = studies.write_study(tmp_path / "study.yaml")
    assert fault_injection.survive(study, kills=4, seed=1, cores=2, folder=str(tmp_path)) == 4
