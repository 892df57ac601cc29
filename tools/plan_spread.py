"""The spread that a plan starts from: a pilot's, an assumed one, or one that others measured."""

import dataclasses
import functools
import glob
import math
import os

import numpy as np
from scipy import stats

import measures
import tasks
from analysis import contrasts
from analysis.contrasts import Term
from analysis.measured import Answered
from analysis.prediction_tables import arrays_of, read_predictions
from analysis.scored import SHARED
from common.errors import StudyError
from common.files import read_json, read_tsv
from finetuning.protocol import arm_settings
from study.baselines import linear_arms
from study.freshness import flat
from study.pretrainings import varies_checkpoint
from study.questions import measure_of, sides
from study.variation import draw_of
from tools import packs


@dataclasses.dataclass(frozen=True)
class Spread:
    """The variances of a question's contrast, in units of its measure.

    Attributes:
        of_items: variance of a text's contrast with seeds without end.
        arms: [(variance over seeds, variance of what is left, degrees of freedom)]; infinite where it is assumed.
        n_items: test texts.
        difference: contrast seen in a pilot; None: assumed.
        source: in words.
    """

    of_items: float
    arms: list
    n_items: int
    difference: float | None
    source: str

    def bound(self, assurance=None):
        """Return [(variance over seeds, variance of what is left)], or their upper bounds."""
        factors = [
            1.0 if assurance is None or math.isinf(df) else df / float(stats.chi2.ppf(1 - assurance, df))
            for _, _, df in self.arms
        ]
        return [(f * of_seed, f * noise) for f, (of_seed, noise, _) in zip(factors, self.arms, strict=True)]


class Pilot:
    """A finished study whose runs tell of another's spread.

    Attributes:
        folder: its results, or a published study.
        place: the folder that its files are read from: a packed study is unpacked.
        rows: its runs.tsv.
        settings: {arm: settings that its first run recorded}.
    """

    def __init__(self, folder):
        """Read the study's records.

        Raises:
            StudyError: the folder has no runs.
        """
        self.folder, self.place = folder, packs.opened(folder)
        table = os.path.join(folder, "runs.tsv")
        if not os.path.isfile(table):
            raise StudyError(f"{table} is missing: name the results of a finished study, such as results/embedded")
        self.rows, self.settings, self.records = read_tsv(table), {}, {}
        for row in self.rows:
            path = os.path.join(self.place, "finetuning", row["arm"], f"seed{row['seed']}", "run.json")
            record = read_json(path) if row["arm"] not in self.settings and os.path.isfile(path) else None
            if record:
                protocol = record.get("settings") or record.get("protocol") or {}
                self.settings[row["arm"]] = flat(protocol) | {key: record[key] for key in ("init", "framework")}
                self.records[row["arm"]] = record

    def nearest(self, name, config):
        """Return the pilot's arm that is most like an arm of the study: by name, else by start, rate and epochs."""
        if name in {row["arm"] for row in self.rows}:
            return name
        arm, wanted = config["finetuning"]["arms"][name], arm_settings(config["finetuning"], name)
        rows = {row["arm"]: row for row in reversed(self.rows)}
        n_train = arm.get("n_train") or config["data"]["n_train"]
        updates = (
            math.ceil(n_train / wanted["batch_size"]) * wanted["epochs"] if n_train and "epochs" in wanted else None
        )

        def unlike(other):
            row, settings = rows[other], self.settings.get(other, {})
            rate = settings.get("lr", settings.get("peak_lr"))
            return (
                row["init"] != arm["init"],
                rate is None or "lr" not in wanted or not math.isclose(float(rate), wanted["lr"]),
                updates is None or int(row["total_updates"] or 0) != updates,
                row["framework"] != arm["framework"],
            )

        return min(rows, key=unlike)

    @functools.cache  # noqa: B019 - a command has one pilot, and asks for an arm once a question
    def scored(self, arm, measure):
        """Return (mean score, (S, N) values of texts) of an arm, or of a simple model, by a measure.

        Raises:
            StudyError: the pilot has no predictions of it, or its labels are not of a kind that the measure is for.
        """
        paths = sorted(glob.glob(os.path.join(glob.escape(self.place), "predictions", arm, "seed*.tsv")))
        if not paths:
            raise StudyError(f"{self.folder} has no predictions of {arm}: name a pilot that has")
        loaded, scores, items = measures.load(measure), [], []
        for path in paths:
            frame = read_predictions(path)
            if tasks.of_columns(frame.columns) not in map(tasks.load, measures.tasks_of(measure)):
                raise StudyError(
                    f"{loaded.LABEL} is no measure of the labels of {path}: name a pilot of the study's kind of labels"
                )
            score, values = Answered(path, *arrays_of(frame, path)).score(loaded)
            scores.append(score)
            items.append(values)
        return float(np.mean(scores)), np.stack(items)

    def spread(self, question, config):
        """Return a question's `Spread`.

        Raises:
            StudyError: an arm has no like in the pilot, or one run only; or see `scored`.
        """
        simple, measure = linear_arms(config["finetuning"]), measure_of(question)
        terms, like, difference = [], {}, 0.0
        for sign, operand in sides(question):
            name = question.get("among", {}).get(operand, [operand])[0]
            like[operand] = name if name in simple else self.nearest(name, config)
            score, items = self.scored(like[operand], measure)
            difference += sign * score
            terms.append(Term(sign, items, name in simple))
        if len({term.items.shape[1] for term in terms}) > 1:
            raise StudyError(f"{self.folder}: {' and '.join(like.values())} were tested on different texts")
        if not contrasts.decidable(terms):
            raise StudyError(f"{self.folder}: an arm like those of {question['ask']!r} has one run; train two or more")
        varied = self.rows[0].keys() & set(SHARED)
        of_items, arms = contrasts.components(contrasts.paired(terms) if varied else terms)
        names = ", ".join(f"{arm} by {other}" for arm, other in like.items() if arm != other)
        source = f"seen in {self.folder}" + (f" ({names})" if names else "")
        if draw_of(config["finetuning"]) and "split_seed" not in varied:
            source += ", whose seeds share one split: the spread of splits is not in this plan"
        if varies_checkpoint(config["finetuning"]) and "checkpoint_seed" not in varied:
            source += ", whose seeds share one checkpoint: the spread of pretrainings is not in this plan"
        return Spread(of_items, arms, terms[0].items.shape[1], difference, source)


def assumed(question, config, points, accuracy, n_items, n_seeds=None, source=None):
    """Return a question's `Spread` where its standard deviation over seeds is assumed.

    The texts' part is the largest that this accuracy allows: arms whose errors are independent.

    Args:
        question: its settings.
        config: the study's settings.
        points: standard deviation over seeds, in points.
        accuracy: fraction.
        n_items: test texts.
        n_seeds: seeds that the standard deviation was estimated by; None: it is a guess, which has no upper bound.
        source: where it is from, in words; None: a guess.

    Raises:
        StudyError: the question is by another measure, whose part of the texts no accuracy gives.
    """
    if (measure := measure_of(question)) != measures.DEFAULT:
        raise StudyError(
            f"accuracy and SD do not give the texts' part of {measures.load(measure).LABEL}: name a finished "
            "study (FROM=results/NAME), whose predictions have it"
        )
    simple = linear_arms(config["finetuning"])
    fixed = [operand in simple for _, operand in sides(question)]
    of_items = len(fixed) * accuracy * (1 - accuracy)
    df = n_seeds - 1 if n_seeds else math.inf
    arms = [((points / 100) ** 2, 0.0, df) for never in fixed if not never]
    words = f"SD {points:g} points{f' {source}' if source else ''}"
    words = f"assumed: {words}, accuracy {100 * accuracy:g} %, independent errors"
    return Spread(of_items, arms, n_items, None, words)
