"""Plan a study before it trains: the seeds and test texts that its questions need, its hours and its disk.

Run by hand: `make plan STUDY=studies/open.yaml FROM=results/embedded`, or
`python -m tools.plan STUDY [--from RESULTS] [--sd POINTS | --spread MODEL/TASK] [--difference POINTS] [--texts N]
[--power SHARE] [--no-benchmark]`. The spread is that of a pilot (`--from`, a finished study), one that others measured
(`--spread`), or assumed (`--sd`). Prints the plan and writes a page; `--against RESULTS` compares the plan with what
the study then gave.
"""

import argparse
import collections
import dataclasses
import math
import os
import sys

from scipy import stats

import measures
from analysis import contrasts
from analysis.arm_pairs import OPTIONS
from analysis.contrasts import ASSURANCE, POWER
from analysis.spending import share_of_look
from common.arms import arms_in
from common.errors import StudyError
from common.files import write_text
from study.configuration import load_study
from study.disk import corpus_bytes, disk_need, in_words, model_bytes
from study.pins import expected
from study.questions import asked_by, measure_of
from study.seed_plans import arms_of, plan_of
from study.spread import runs_by_arm
from tools import plan_times, planning
from tools.plan_in_words import against, page, printed
from tools.plan_spread import Pilot, assumed
from tools.seed_spreads import spread_of

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
# Numbers of seeds whose power is shown; differences whose seeds are named, in points.
CURVE = (2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 25, 30, 40)
DIFFERENCES = (0.5, 1, 2, 3, 5)
# The same where the measure is no share: multiples of the largest standard deviation over seeds.
MULTIPLES = (0.5, 1, 2, 3, 5)


def planned(question, spread, alpha, n_seeds, options):
    """Return a question's plan, its figures in points of a share, in units of another measure.

    Args:
        question: its settings.
        spread: its `Spread`.
        alpha: the question's share.
        n_seeds: numbers of seeds whose power and half width are named besides the usual ones.
        options: of the command: difference (points or units, or None), power.
    """
    measure = measures.load(measure_of(question))
    scale = 0.01 if measure.UNIT == "share" else 1.0
    margin = question["equal_within"] * scale if question.get("equal_within") is not None else None
    tail = alpha if margin is not None else alpha / 2
    alone = float(stats.norm.ppf(1 - alpha / 2)) * math.sqrt(spread.of_items / spread.n_items)
    # Equality is planned for arms that are equal, unless a difference is given.
    seen = abs(spread.difference) if spread.difference is not None and margin is None else 0.0
    wanted = contrasts.to_tell_apart(options.difference * scale if options.difference is not None else seen, margin)
    ends = [(spread.of_items, spread.bound(assurance), spread.n_items) for assurance in (None, ASSURANCE)]
    sds = [math.sqrt(of_seed + noise / spread.n_items) for of_seed, noise in spread.bound()]
    usual = [points * scale for points in DIFFERENCES] if measure.UNIT == "share" else [m * max(sds) for m in MULTIPLES]
    shown = dict.fromkeys([wanted, *usual])
    least = planning.least_contrast(tail, options.power, spread.of_items, spread.n_items)
    widths = {
        n: [planning.half_width(n, OPTIONS["level"], *some) / scale for some in ends] for n in {3, 5, 10, *n_seeds}
    }
    return {
        "ask": question["ask"],
        "measure": measure.LABEL,
        "unit": "points" if measure.UNIT == "share" else measure.UNIT,
        "margin": question.get("equal_within"),
        "source": spread.source,
        "sd": [sd / scale for sd in sds],
        "n_texts": spread.n_items,
        "alpha": alpha,
        "texts_alone": alone / scale,
        "least": least / scale,
        "wanted": wanted / scale,
        "rows": [needed(one, tail, options.power, ends, least, scale) for one in shown if one > 0],
        "curve": [
            (n, *(planning.power(n, wanted, tail, *some) if wanted > 0 else tail for some in ends))
            for n in sorted({*CURVE, *n_seeds})
        ],
        "half_widths": [(n, *both) for n, both in sorted(widths.items())],
    }


def needed(wanted, tail, power, ends, least, scale):
    """Return the seeds and test texts that show a contrast with a power.

    Args:
        wanted: the contrast, above 0.
        tail: one-sided significance.
        ends: arguments of `planning.power`, by the spread and by its upper bound.
        least: contrast that seeds without end show.
        scale: one point, or one unit.
    """
    seeds = [planning.fewest_seeds(wanted, tail, power, *some) if some[1] else None for some in ends]
    return {
        "points": wanted / scale,
        "reachable": wanted > least,
        "seeds": seeds[0],
        "assured": seeds[1],
        # Without a part of the texts the pilot says nothing of their number.
        "texts": planning.fewest_texts(wanted, tail, power, ends[0][0]) or None,
    }


def costs(config, pins, seconds, n_seeds):
    """Return {seconds, disk} of a study with so many seeds and its runs for `sources`; seconds None: of no arm known.

    Args:
        config, pins: of `load_study`.
        seconds: {arm: seconds of one run, or None}.
        n_seeds: of each arm.
    """
    more, jobs = runs_by_arm(config), collections.Counter()
    known = [(n_seeds + more[name]) * one for name, one in seconds.items() if one is not None]
    for name, arm in arms_in(config).items():
        jobs[f"finetune_{arm.framework}"] += n_seeds + more[name]

    def size_of(url):
        return expected(pins, url)[1]

    need = disk_need(
        jobs, config, 0, corpus_bytes(config["checkpoint"]["corpus"], size_of), 1, model_bytes(config, size_of)
    )
    return {"seconds": sum(known) if known else None, "disk": in_words(sum(need.values()))}


def spread_for(question, config, pilot, options):
    """Return a question's `Spread`, from a pilot or as the command assumes it.

    Raises:
        StudyError: neither gives one, in one sentence.
    """
    if not arms_of(question, config["finetuning"]):
        raise StudyError("no arm that seeds change takes part in it")
    if pilot:
        spread = pilot.spread(question, config)
        return dataclasses.replace(spread, n_items=options.texts or spread.n_items)
    n_items = options.texts or plan_times.splits_of(config)["test"]
    if not n_items:
        raise StudyError('the number of test texts is not known yet; give it: ARGS="--texts N"')
    given = (options.sd, options.accuracy or 80.0, None, None)
    if options.spread:
        sd, n_seeds, mean, words = spread_of(options.spread)
        given = (sd, options.accuracy or mean, n_seeds, words)
    return assumed(question, config, given[0], given[1] / 100, n_items, *given[2:])


def plan(config, pins, options):
    """Return the whole plan of a study.

    Args:
        config, pins: of `load_study`.
        options: of the command.

    Raises:
        StudyError: the study asks nothing, or no question can be planned.
    """
    pilot, questions = Pilot(options.pilot) if options.pilot else None, asked_by(config)
    finetuning = config["finetuning"]
    if not questions:
        raise StudyError(f"{options.study}: the study asks nothing; write `questions` into it and plan again")
    seed_plan = plan_of(finetuning)
    looks, n_seeds = seed_plan.get("looks", []), len(seed_plan.get("confirm") or finetuning["seeds"])
    alpha = share_of_look(OPTIONS, len(looks) or 1)["alpha"] / len(questions)
    found, left_out = [], {}
    for question in questions:
        try:
            spread = spread_for(question, config, pilot, options)
            found.append(planned(question, spread, alpha, [n_seeds, *looks], options))
        except StudyError as error:
            left_out[question["ask"]] = str(error)
    if not found:
        raise StudyError(f"{options.study}: {next(iter(left_out.values()))}")
    folder = plan_times.results_of(config)
    finished = Pilot(folder) if os.path.isfile(os.path.join(folder, "runs.tsv")) else None
    times = plan_times.times(config, pilot, finished, options.benchmark)
    seconds = {name: one for name, (one, _) in times.items()}
    numbers = sorted({len(finetuning["seeds"]), *looks, 3, 5, 10})
    return {
        "study": config["study"],
        "power": options.power,
        "assurance": ASSURANCE,
        "n_seeds": n_seeds,
        "confirm": seed_plan.get("confirm", []),
        "looks": looks,
        "n_arms": len(finetuning["arms"]),
        "questions": found,
        "left_out": left_out,
        "costs": [(n, costs(config, pins, seconds, n)) for n in numbers],
        "sources": sources(times),
    }


def sources(times):
    """Return [(arms, seconds of one run or None, source in words)], arms of one source together.

    Args:
        times: what `tools.plan_times.times` returns.
    """
    found = {}
    for name, (seconds, words) in times.items():
        found.setdefault((words, seconds), []).append(name)
    return [(names, seconds, words) for (words, seconds), names in found.items()]


def main(arguments):
    """Print a study's plan and write its page."""
    parser = argparse.ArgumentParser(prog="python -m tools.plan", description=__doc__.partition("\n")[0])
    parser.add_argument("study", help="settings file")
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--from", dest="pilot", metavar="RESULTS", help="finished study whose spread is taken")
    where.add_argument("--spread", metavar="MODEL/TASK", help="spread that others measured: docs/method/plans.md")
    where.add_argument("--sd", type=float, default=1.0, help="assumed SD over seeds, in points (default 1)")
    parser.add_argument("--accuracy", type=float, help="assumed accuracy, in per cent (default 80, or the spread's)")
    parser.add_argument(
        "--difference", type=float, help="true difference to plan for, in points or units (default: the pilot's)"
    )
    parser.add_argument("--texts", type=int, help="test texts (default: the study's, or the pilot's)")
    parser.add_argument("--power", type=float, default=POWER, help=f"share of studies (default {POWER:g})")
    parser.add_argument("--no-benchmark", dest="benchmark", action="store_false", help="time no update on this machine")
    parser.add_argument("--against", metavar="RESULTS", help="finished study to compare its own plan with")
    parser.add_argument("--page", help="page to write (default results/STUDY/plan.html)")
    options = parser.parse_args(arguments)
    within = 0 < (options.accuracy or 50) < 100 and (options.texts or 2) > 1
    if not (0.5 <= options.power < 1 and options.sd > 0 and within):
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
