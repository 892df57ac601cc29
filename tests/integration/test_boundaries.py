"""Resumable jobs killed where it matters: around their last save, and while their outputs move into place."""

import pytest

from support import resumable_jobs

pytestmark = [pytest.mark.integration, pytest.mark.slow]
# Shared by the kills of all jobs, which one process makes: the tests read its table.
JOBS = list(resumable_jobs.jobs("", ""))


@pytest.fixture(scope="module")
def kills(tmp_path_factory):
    return resumable_jobs.kill_at_boundaries(tmp_path_factory.mktemp("kills"), JOBS, resumable_jobs.telling)


@pytest.mark.parametrize("job", JOBS)
def test_a_job_killed_at_a_boundary_ends_as_if_never_killed(kills, job):
    found = [row for row in kills if row["job"] == job]
    assert len(found) >= 2
    wrong = [row for row in found if row["outcome"] != "same"]
    assert not wrong, resumable_jobs.table(wrong)


def test_kills_fall_where_a_state_of_the_last_update_is_all_there_is(kills):
    """fairseq would train on: it makes one more update before it looks at --max-update."""
    places = [(row["updates"], row["verb"], row["path"]) for row in kills if row["job"] == "pretrain"]
    assert (20, "open", ".part-history.tsv") in places
