"""The finished studies of a suite: their records, checked, and the contrasts of the suite's questions on each."""

import os
from dataclasses import dataclass

import numpy as np

import measures
from analysis.arm_pairs import OPTIONS
from analysis.judging import scored, summed, valid_worths, with_best
from analysis.measured import read_answered
from analysis.scored import prediction_files
from common.errors import StudyError
from common.files import read_tsv
from common.frames import read_frame
from study.baselines import CONSTANT, linear_arms
from study.best_of import is_best_of
from study.questions import asked_by, measure_of, sides
from study.seed_plans import plan_of
from tools.checked import check_results
from tools.suite_settings import recorded_settings
from tools.suite_statistics import contrast_of, resample


@dataclass
class DataSet:
    """A finished study, as a suite reads it.

    Attributes:
        name, folder, settings: the study's name, results folder and recorded settings.
        frame: runs.tsv, as text.
        rows: questions.tsv.
        answered: {run or simple model: its answers}.
        valid: {name: worth of each run on validation}.
        scored: {measure: {arm: (scores, (S, N) values of texts, whether no seed changes it)}}, as far as asked for.
    """

    name: str
    folder: str
    settings: dict
    frame: object
    rows: list
    answered: dict
    valid: dict
    scored: dict

    @property
    def simple(self):
        """The simple models."""
        return list(linear_arms(self.settings["finetuning"]))

    @property
    def arms(self):
        """The arms and the simple models but the constant ones, in the study's order."""
        names = [*self.settings["finetuning"]["arms"], *self.simple]
        return [name for name in names if name not in CONSTANT]

    @property
    def leading(self):
        """The measure that leads the study."""
        return measures.leading(self.settings)

    def by(self, measure):
        """Return what every arm scores by a measure."""
        if measure not in self.scored:
            self.scored[measure] = scored(measure, self.frame, self.answered, self.simple)
        return self.scored[measure]


def read_set(folder):
    """Read a finished study; its records are checked against their hashes.

    Raises:
        StudyError: no finished study, a changed record, or seeds that were chosen while the study ran.
    """
    settings = recorded_settings(folder)
    check_results(folder, ("runs.tsv", "questions.tsv"))
    plan = plan_of(settings["finetuning"])
    if kept := sorted({"looks", "confirm"} & set(plan)):
        raise StudyError(
            f"{folder}: its seeds have {kept[0]}, so not every run answers its questions; a suite takes studies of "
            "which every seed does"
        )
    frame = read_frame(os.path.join(folder, "runs.tsv"))
    models = list(linear_arms(settings["finetuning"]))
    keys = zip(frame["arm"], frame["seed"], strict=True)
    files = {key: os.path.join(folder, "predictions", key[0], f"seed{key[1]}.tsv") for key in keys}
    files = prediction_files(frame, files)
    files |= {name: os.path.join(folder, "predictions", name, "seed0.tsv") for name in models}
    selected = [os.path.join(folder, "finetuning", name, "seed0", "selected.json") for name in models]
    rows, valid = read_tsv(os.path.join(folder, "questions.tsv")), valid_worths(frame, models, selected)
    return DataSet(settings["study"], folder, settings, frame, rows, read_answered(files), valid, {})


def check_together(sets):
    """Refuse studies whose numbers have no common mean.

    Raises:
        StudyError: another measure leads one of them.
    """
    first = sets[0]
    for one in sets[1:]:
        if one.leading != first.leading:
            raise StudyError(
                f"{first.folder} is led by {first.leading}, and {one.folder} by {one.leading}: a mean over both has no "
                "unit; take studies led by one measure"
            )


def asked_in(one, question):
    """Return a suite's question as a study asked it, and the study's row of it.

    Raises:
        StudyError: the study has not the arm, has not asked this, or asked by a guest's measure.
    """
    measure = measure_of(question, one.leading)
    if measure in measures.of_guests():
        raise StudyError(f"{question['ask']!r} is asked by {measure}, which no suite compares; ask by another measure")
    names = [*one.settings["finetuning"]["arms"], *one.simple]
    for _, arm in sides(question):
        if not is_best_of(arm) and arm not in names:
            raise StudyError(
                f"{one.folder} has no arm {arm}, which {question['ask']!r} compares; its arms are {', '.join(names)}"
            )
    wanted = question["compare"], measure, question.get("equal_within")
    for asked, row in zip(asked_by(one.settings), one.rows, strict=True):
        if (asked["compare"], measure_of(asked, one.leading), asked.get("equal_within")) == wanted:
            return asked, row
    raise StudyError(
        f"{one.folder} does not ask {question['ask']!r} (compare: {question['compare']}, measure: {measure}, "
        f"equal_within: {question.get('equal_within')}); add it to its study file before it trains, or leave it out"
    )


def contrasts_of(sets, question, drawn):
    """Return the `Contrast` of a suite's question on each set, and each study's row of it.

    Args:
        sets: `DataSet`s.
        question: the suite's.
        drawn: what `draws` returns.

    Raises:
        StudyError: see `asked_in`; or the sets compare different candidates; or a study's own table says another
            difference than its predictions.
    """
    every, rows, among = [], [], []
    for one in sets:
        asked, row = asked_in(one, question)
        among.append(asked.get("among"))
        if among[-1] != among[0]:
            raise StudyError(
                f"{question['ask']!r} chooses among {among[0]} in {sets[0].folder}, and among {among[-1]} in "
                f"{one.folder}; give both studies the same candidates"
            )
        measure = measure_of(asked, one.leading)
        arms, _, _ = with_best(asked, one.by(measure), one.valid, {})
        values = drawn[one.name, measure]
        if asked.get("among"):
            # The chosen runs are resampled with the others, over the same texts.
            values = resample(arms, len(next(iter(values.values()))), generator_of(one.name))
        difference = summed(asked, {name: scores for name, (scores, _, _) in arms.items()})
        if abs(difference - float(row["score_difference"])) > 1e-9:
            raise StudyError(
                f"{one.folder}/questions.tsv says {row['score_difference']} to {asked['ask']!r}, and the predictions "
                f"{difference!r}; run the study again"
            )
        every.append(contrast_of(sides(asked), arms, values, difference))
        rows.append(row)
    return every, rows


def generator_of(name):
    """Return a set's generator: what is drawn of one set depends on no other."""
    return np.random.default_rng([OPTIONS["seed"], *name.encode()])


def draws(sets, asked_by_measures):
    """Return {(set, measure): what `resample` returns of all its arms}."""
    return {
        (one.name, measure): resample(one.by(measure), OPTIONS["bootstrap"], generator_of(one.name))
        for one in sets
        for measure in asked_by_measures
    }
