"""Plan a study before it trains: the seeds and test texts that its questions need, its hours and its disk.

Run by hand: `make plan STUDY=studies/open.yaml FROM=results/embedded`, or
`python -m tools.plan STUDY [--from RESULTS] [--sd POINTS] [--difference POINTS] [--texts N] [--power SHARE]`.
The spread is that of a pilot (`--from`, a finished study), or assumed (`--sd`). Prints the plan and writes a page;
`--against RESULTS` compares the plan with what the study then gave.
"""

import argparse
import collections
import dataclasses
import glob
import math
import os
import statistics
import sys

import numpy as np
from scipy import stats

from analysis import contrasts
from analysis.arm_pairs import OPTIONS
from analysis.contrasts import ASSURANCE, POWER, Term
from analysis.prediction_tables import read_predictions
from common.arms import arms_in
from common.errors import StudyError
from common.files import read_json, read_tsv, write_text
from finetuning.protocol import arm_settings
from study.baselines import linear_arms
from study.configuration import load_study
from study.disk import corpus_bytes, disk_need, in_words, model_bytes
from study.freshness import flat
from study.pins import expected
from study.questions import asked_by, measure_of, sides
from study.seed_plans import arms_of, plan_of
from study.variation import draw_of
from tools import planning
from tools.plan_in_words import against, page, printed

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
# Numbers of seeds whose power is shown; differences whose seeds are named, in points.
CURVE = (2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 25, 30, 40)
DIFFERENCES = (0.5, 1, 2, 3, 5)
# Updates of a training that its start, validation and files are spread over: a shorter run says little of a longer one.
LEAST_UPDATES = 50


@dataclasses.dataclass(frozen=True)
class Spread:
    """The variances of a question's contrast, as shares.

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
        folder: its results, or a published copy.
        rows: its runs.tsv.
        settings: {arm: settings that its first run recorded}.
    """

    def __init__(self, folder):
        """Read the study's records.

        Raises:
            StudyError: the folder has no runs.
        """
        self.folder = folder
        table = os.path.join(folder, "runs.tsv")
        if not os.path.isfile(table):
            raise StudyError(f"{table} is missing: name the results of a finished study, such as results/embedded")
        self.rows, self.settings, self.items = read_tsv(table), {}, {}
        for row in self.rows:
            path = os.path.join(folder, "finetuning", row["arm"], f"seed{row['seed']}", "run.json")
            record = read_json(path) if row["arm"] not in self.settings and os.path.isfile(path) else None
            if record:
                protocol = record.get("settings") or record.get("protocol") or {}
                self.settings[row["arm"]] = flat(protocol) | {key: record[key] for key in ("init", "framework")}

    def nearest(self, name, config):
        """Return the pilot's arm that is most like an arm of the study: by name, else by start, rate and epochs."""
        if name in {row["arm"] for row in self.rows}:
            return name
        arm, wanted = config["finetuning"]["arms"][name], arm_settings(config["finetuning"], name)
        rows = {row["arm"]: row for row in reversed(self.rows)}
        n_train = arm.get("n_train") or config["data"]["n_train"]
        updates = math.ceil(n_train / wanted["batch_size"]) * wanted["epochs"] if n_train else None

        def unlike(other):
            row, settings = rows[other], self.settings.get(other, {})
            rate = settings.get("lr", settings.get("peak_lr"))
            return (
                row["init"] != arm["init"],
                rate is None or not math.isclose(float(rate), wanted["lr"]),
                updates is None or int(row["total_updates"]) != updates,
                row["framework"] != arm["framework"],
            )

        return min(rows, key=unlike)

    def values(self, arm):
        """Return (S, N) of 0 and 1: which test texts each run of an arm, or a simple model, got right."""
        if arm not in self.items:
            paths = sorted(glob.glob(os.path.join(glob.escape(self.folder), "predictions", arm, "seed*.tsv")))
            if not paths:
                raise StudyError(f"{self.folder} has no predictions of {arm}: name a pilot that has")
            frames = [read_predictions(path) for path in paths]
            self.items[arm] = np.stack([(frame["label"] == frame["prediction"]).to_numpy(float) for frame in frames])
        return self.items[arm]

    def spread(self, question, config):
        """Return a question's `Spread` and, in words, which arms of the pilot stand for its own.

        Raises:
            StudyError: an arm has no like in the pilot, or one run only.
        """
        simple, terms, like = linear_arms(config["finetuning"]), [], {}
        for sign, operand in sides(question):
            name = question.get("among", {}).get(operand, [operand])[0]
            like[operand] = name if name in simple else self.nearest(name, config)
            terms.append(Term(sign, self.values(like[operand]), name in simple))
        if not contrasts.decidable(terms):
            raise StudyError(f"{self.folder}: an arm like those of {question['ask']!r} has one run; train two or more")
        shared = "split_seed" in self.rows[0]
        of_items, arms = contrasts.components(contrasts.paired(terms) if shared else terms)
        difference = float(contrasts.per_item(terms).mean())
        names = ", ".join(f"{arm} by {other}" for arm, other in like.items() if arm != other)
        source = f"seen in {self.folder}" + (f" ({names})" if names else "")
        if draw_of(config["finetuning"]) and not shared:
            source += ", whose seeds share one split: the spread of splits is not in this plan"
        return Spread(of_items, arms, terms[0].items.shape[1], difference, source)

    def seconds(self, config):
        """Return {arm: seconds of one run}, from the pilot's time per update; None where its runs do not tell."""
        found = {}
        for name in config["finetuning"]["arms"]:
            rows = [row for row in self.rows if row["arm"] == self.nearest(name, config)]
            rows = [row for row in rows if row["train_seconds"] and int(row["total_updates"]) >= LEAST_UPDATES]
            n_updates = updates_of(config, name)
            each = [float(row["train_seconds"]) / int(row["total_updates"]) for row in rows]
            found[name] = n_updates * statistics.median(each) if each and n_updates else None
        return found


def updates_of(config, name):
    """Return an arm's updates: epochs times batches; None where the number of texts is not in the settings."""
    settings = arm_settings(config["finetuning"], name)
    n_train = config["finetuning"]["arms"][name].get("n_train") or config["data"]["n_train"]
    return math.ceil(n_train / settings["batch_size"]) * settings["epochs"] if n_train else None


def texts_of(config):
    """Return the number of the study's test texts; None where it is not known before the data are split."""
    manifest = os.path.join(ROOT, "results", config["study"], "data", "manifest.json")
    if os.path.isfile(manifest):
        return read_json(manifest)["splits"]["test"]["n"]
    given = config["data"]["n_test"]
    return given or (config["data"]["embedded"]["n_test"] if config["data"]["source"] == "embedded" else None)


def assumed(question, config, points, accuracy, n_items):
    """Return a question's `Spread` where its standard deviation over seeds is assumed.

    The texts' part is the largest that this accuracy allows: arms whose errors are independent.
    """
    simple = linear_arms(config["finetuning"])
    fixed = [operand in simple for _, operand in sides(question)]
    of_items = len(fixed) * accuracy * (1 - accuracy)
    arms = [((points / 100) ** 2, 0.0, math.inf) for never in fixed if not never]
    words = f"assumed: SD {points:g} points, accuracy {100 * accuracy:g} %, independent errors"
    return Spread(of_items, arms, n_items, None, words)


def planned(question, spread, family, n_looks, options):
    """Return a question's plan.

    Args:
        question: its settings.
        spread: its `Spread`.
        family: questions that share alpha.
        n_looks: looks that share it.
        options: of the command: difference (points, or None), power.
    """
    margin = question["equal_within"] / 100 if question.get("equal_within") is not None else None
    alpha = OPTIONS["alpha"] / family / n_looks
    tail = alpha if margin is not None else alpha / 2
    alone = float(stats.norm.ppf(1 - alpha / 2)) * math.sqrt(spread.of_items / spread.n_items)
    # Equality is planned for arms that are equal, unless a difference is given.
    seen = abs(spread.difference) if spread.difference is not None and margin is None else 0.0
    difference = options.difference / 100 if options.difference is not None else seen
    wanted = contrasts.to_tell_apart(difference, margin)
    given = (spread.of_items, spread.bound(), spread.n_items)
    bound = (spread.of_items, spread.bound(ASSURANCE), spread.n_items)

    def seeds(wanted, given):
        return planning.fewest_seeds(wanted, tail, options.power, *given) if given[1] else None

    asked = [wanted] if wanted > 0 else []
    rows = [
        {
            "points": 100 * one,
            "seeds": seeds(one, given),
            "assured": seeds(one, bound),
            # Without a part of the texts the pilot says nothing of their number.
            "texts": planning.fewest_texts(one, tail, options.power, spread.of_items) or None,
        }
        for one in [*asked, *(points / 100 for points in DIFFERENCES)]
    ]
    curve = [
        (n, *(planning.power(n, wanted, tail, *some) if wanted > 0 else tail for some in (given, bound))) for n in CURVE
    ]
    return {
        "ask": question["ask"],
        "margin": question.get("equal_within"),
        "source": spread.source,
        "sd": [100 * math.sqrt(of_seed + noise / spread.n_items) for of_seed, noise in spread.bound()],
        "n_texts": spread.n_items,
        "alpha": alpha,
        "texts_alone": 100 * alone,
        "least": 100 * planning.least_contrast(tail, options.power, spread.of_items, spread.n_items),
        "wanted": 100 * wanted,
        "rows": rows,
        "curve": curve,
        "half_widths": [
            (
                n,
                100 * planning.half_width(n, OPTIONS["level"], *given),
                100 * planning.half_width(n, OPTIONS["level"], *bound),
            )
            for n in (3, 5, 10)
        ],
    }


def costs(config, pins, pilot, n_seeds):
    """Return {seconds, by_arm, disk} of a study with so many seeds; seconds are None where no finished run tells.

    Args:
        config, pins: of `load_study`.
        pilot: `Pilot`, or None.
        n_seeds: of each arm.
    """
    by_arm = pilot.seconds(config) if pilot else dict.fromkeys(config["finetuning"]["arms"])
    known = all(by_arm.values())
    jobs = collections.Counter()
    for arm in arms_in(config).values():
        jobs[f"finetune_{arm.framework}"] += n_seeds

    def size_of(url):
        return expected(pins, url)[1]

    need = disk_need(
        jobs, config, 0, corpus_bytes(config["checkpoint"]["corpus"], size_of), 1, model_bytes(config, size_of)
    )
    return {"seconds": n_seeds * sum(by_arm.values()) if known else None, "disk": in_words(sum(need.values()))}


def plan(config, pins, options):
    """Return the whole plan of a study.

    Args:
        config, pins: of `load_study`.
        options: of the command.

    Raises:
        StudyError: there is no spread to plan with, or a question is by another measure than accuracy.
    """
    pilot, questions = Pilot(options.pilot) if options.pilot else None, asked_by(config)
    finetuning = config["finetuning"]
    if not questions:
        raise StudyError(f"{options.study}: the study asks nothing; write `questions` into it and plan again")
    looks = plan_of(finetuning).get("looks", [])
    found, left_out = [], []
    n_items = options.texts or texts_of(config)
    for question in questions:
        if measure_of(question) != "accuracy" or not arms_of(question, finetuning):
            left_out.append(question["ask"])
        elif pilot:
            spread = pilot.spread(question, config)
            spread = dataclasses.replace(spread, n_items=options.texts or spread.n_items)
            found.append(planned(question, spread, len(questions), len(looks) or 1, options))
        else:
            if not n_items:
                raise StudyError(f"{options.study}: the number of test texts is not known yet; give it (--texts N)")
            spread = assumed(question, config, options.sd, options.accuracy / 100, n_items)
            found.append(planned(question, spread, len(questions), len(looks) or 1, options))
    n_seeds = len(finetuning["seeds"])
    return {
        "study": config["study"],
        "power": options.power,
        "assurance": ASSURANCE,
        "n_seeds": n_seeds,
        "looks": looks,
        "n_arms": len(finetuning["arms"]),
        "questions": found,
        "left_out": left_out,
        "costs": [(n, costs(config, pins, pilot, n)) for n in dict.fromkeys((n_seeds, 3, 5, 10))],
        "pilot": options.pilot,
    }


def main(arguments):
    """Print a study's plan and write its page."""
    parser = argparse.ArgumentParser(prog="python -m tools.plan", description=__doc__.partition("\n")[0])
    parser.add_argument("study", help="settings file")
    parser.add_argument("--from", dest="pilot", metavar="RESULTS", help="finished study whose spread is taken")
    parser.add_argument("--sd", type=float, default=1.0, help="assumed SD over seeds, in points (default 1)")
    parser.add_argument("--accuracy", type=float, default=80.0, help="assumed accuracy, in per cent (default 80)")
    parser.add_argument(
        "--difference", type=float, help="true difference to plan for, in points (default: the pilot's)"
    )
    parser.add_argument("--texts", type=int, help="test texts (default: the study's, or the pilot's)")
    parser.add_argument("--power", type=float, default=POWER, help=f"share of studies (default {POWER:g})")
    parser.add_argument("--against", metavar="RESULTS", help="finished study to compare its own plan with")
    parser.add_argument("--page", help="page to write (default results/STUDY/plan.html)")
    options = parser.parse_args(arguments)
    if not (0.5 <= options.power < 1 and options.sd > 0 and 0 < options.accuracy < 100 and (options.texts or 2) > 1):
        raise StudyError("--power is from 0.5 to below 1, --sd above 0, --accuracy within 0 to 100, --texts 2 or more")
    found = plan(*load_study(ROOT, options.study), options)
    print("\n".join(against(found, options.against) if options.against else printed(found)))
    path = options.page or os.path.join("results", found["study"], "plan.html")
    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    write_text(path, page(found))
    print(f"The page: {path}")


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except StudyError as error:
        sys.exit(f"plan: {error}")
