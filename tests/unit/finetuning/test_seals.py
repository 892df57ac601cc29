"""Seals: predictions, records and histories that were swapped, copied or rewritten are refused by name."""

import os
import shutil

import pytest

from common.errors import StudyError
from common.files import read_json, write_json, write_text
from finetuning.seals import check_folder, check_seal, run_of, sealed_files, write_seal

RUNS = [(arm, seed) for arm in ("pre", "rnd") for seed in (1, 2)]


@pytest.fixture
def results(tmp_path):
    """Two arms of two seeds, trained, then evaluated."""
    folder = tmp_path / "results" / "tiny"
    for arm, seed in RUNS:
        home = folder / "finetuning" / arm / f"seed{seed}"
        write_json(home / "run.json", {"arm": arm, "seed": seed})
        write_text(home / "history.tsv", f"history {arm} {seed}\n")
        write_json(home / "selected.json", {"epoch": seed, "of": arm})
        write_text(folder / "predictions" / arm / f"seed{seed}.tsv", f"predictions {arm} {seed}\n")
        seal = str(folder / "predictions" / arm / f"seed{seed}.json")
        for file in sealed_files(seal).values():
            os.utime(file, (1_000_000, 1_000_000))
        write_seal(seal, **sealed_files(seal))
    return folder


def swap(first, second):
    aside = first.with_name("aside")
    first.rename(aside)
    second.rename(first)
    aside.rename(second)


def refusals(results):
    """Return what is refused where Snakemake plans next, and where it does not."""
    found = []
    for planned in (True, False):
        with pytest.raises(StudyError) as caught:
            check_folder(str(results), planned=planned)
        found.append(str(caught.value))
    return found


def test_what_the_evaluation_wrote_is_accepted(results):
    check_folder(str(results))
    check_folder(str(results), planned=True)
    seal = read_json(results / "predictions" / "pre" / "seed2.json")
    assert (seal["arm"], seal["seed"]) == ("pre", 2)
    assert set(seal["sha256"]) == {"predictions", "record", "history", "selected"}


def test_predictions_of_two_arms_that_were_swapped_are_refused(results):
    swap(results / "predictions" / "pre", results / "predictions" / "rnd")
    assert all("pre/seed1.json is of run rnd/seed1" in words or "rnd, seed 1" in words for words in refusals(results))


def test_predictions_swapped_without_their_seals_are_refused(results):
    swap(results / "predictions" / "pre" / "seed1.tsv", results / "predictions" / "rnd" / "seed1.tsv")
    assert all("predictions/pre/seed1.tsv is not the file" in words for words in refusals(results))


def test_one_seed_copied_over_another_is_refused(results):
    home = results / "predictions" / "pre"
    shutil.copy2(home / "seed1.tsv", home / "seed2.tsv")
    assert all("predictions/pre/seed2.tsv is not the file" in words for words in refusals(results))
    shutil.copy2(home / "seed1.json", home / "seed2.json")
    assert all("seed2.json is of run" in words and "copied" in words for words in refusals(results))


@pytest.mark.parametrize("name", ["run.json", "history.tsv", "selected.json"])
def test_records_with_the_time_stamps_of_others_are_refused(results, name):
    swap(results / "finetuning" / "pre" / "seed1" / name, results / "finetuning" / "rnd" / "seed1" / name)
    assert all(f"finetuning/pre/seed1/{name} is not the file" in words for words in refusals(results))


@pytest.mark.parametrize("name", ["run.json", "history.tsv", "selected.json"])
def test_records_newer_than_the_seal_are_left_to_snakemake_until_it_has_run(results, name):
    path = results / "finetuning" / "pre" / "seed1" / name
    write_text(path, "of a training after which nothing was evaluated yet\n")
    os.utime(path, (4_000_000_000, 4_000_000_000))
    check_folder(str(results), planned=True)
    with pytest.raises(StudyError, match=f"pre/seed1/{name} is not the file"):
        check_folder(str(results))


def test_what_is_missing_is_left_to_snakemake_and_else_named(results):
    (results / "predictions" / "rnd" / "seed2.tsv").unlink()
    check_folder(str(results), planned=True)
    with pytest.raises(StudyError, match="rnd/seed2.tsv is missing"):
        check_folder(str(results))


def test_a_seal_without_a_file_refuses_it(results):
    seal = results / "predictions" / "rnd" / "seed1.json"
    write_json(seal, {"arm": "rnd", "seed": 1, "sha256": {}})
    with pytest.raises(StudyError, match="rnd/seed1.tsv is not the file"):
        check_seal(str(seal), sealed_files(str(seal)))
    assert all("rnd/seed1.tsv is not the file" in words for words in refusals(results))


def test_a_path_says_its_run():
    assert run_of("a/predictions/my-arm/seed12.json") == run_of("a/my-arm/seed12/run.json") == ("my-arm", 12)
    with pytest.raises(StudyError, match="is not a run"):
        run_of("a/predictions/my-arm/table.tsv")


@pytest.mark.parametrize("content", [[1], {"sha256": 3, "arm": "rnd", "seed": 1}, {"sha256": {}}, "x"])
def test_what_is_no_seal_is_named(results, content):
    write_json(results / "predictions" / "rnd" / "seed1.json", content)
    assert all("rnd/seed1.json is no seal" in words for words in refusals(results))


def test_an_edited_record_is_not_to_be_evaluated_again_but_trained(results):
    path = results / "finetuning" / "rnd" / "seed1" / "history.tsv"
    write_text(path, "better\n")
    with pytest.raises(StudyError, match="remove .*finetuning/rnd/seed1 and run again to train"):
        check_folder(str(results))
