"""A plan for people: on the terminal, as a page, and beside what the study then gave."""

import os

import jinja2

from analysis.contrasts import MOST_SEEDS
from common.errors import StudyError
from common.files import read_tsv

TEMPLATE = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "report", "plan", "page.html.j2")


def hours(seconds):
    """Return a time for people; where none is known, that."""
    if seconds is None:
        return "not known"
    return f"{seconds / 3600:.2f} h" if seconds >= 360 else f"{seconds / 60:.1f} min"


def number(seeds, reachable=True):
    """Return a number of seeds for people.

    Args:
        seeds: the number; None: more than are named.
        reachable: False where seeds without end would not do.
    """
    if not reachable:
        return "never"
    return f"over {MOST_SEEDS:,}" if seeds is None else str(seeds)


def texts(n):
    """Return a number of test texts for people; None where one arm of the pilot represents both sides."""
    return "not known" if n is None else f"{n:,}"


def figure(value, unit):
    """Return a contrast for people: two decimals of points, three significant digits of another measure."""
    return f"{value:.2f}" if unit == "points" else f"{value:.3g}"


def limit(question):
    """Return what a question's test texts leave however many seeds there are, as a sentence without its full stop.

    Args:
        question: its plan, as `tools.plan.planned` returns it.
    """
    n, unit = f"{question['n_texts']:,} test texts", question["unit"] or "units"
    if question["texts_alone"] == 0:
        return (
            f"one arm of the pilot stands for both sides, so what {n} leave is not known: the seeds below "
            "are the fewest that would do"
        )
    alone, least = figure(question["texts_alone"], unit), figure(question["least"], unit)
    return (
        f"{n} leave ± {alone} {unit} however many seeds there are; with this power none show a difference below "
        f"{least} {unit}"
    )


def printed(found):
    """Return the lines that the terminal shows of a plan."""
    looks = f", looks after {', '.join(map(str, found['looks']))}" if found["looks"] else ""
    which = " that confirm" if found["confirm"] else ""
    lines = [f"{found['study']}: {found['n_arms']} arms, {found['n_seeds']} seeds{which}{looks}"]
    for one in found["questions"]:
        unit = one["unit"] or "units"
        sd = ", ".join(figure(value, unit) for value in one["sd"])
        lines += ["", f"{one['ask']} ({one['measure']}, {unit})"]
        lines.append(f"  spread {one['source']}; SD over seeds {sd}")
        lines.append(f"  {limit(one)}")
        lines.append(f"  {unit:>8} {'seeds':>12} {'by the upper bound':>20} {'test texts at least':>20}")
        lines += [
            f"  {figure(row['points'], unit):>8} {number(row['seeds'], row['reachable']):>12} "
            f"{number(row['assured'], row['reachable']):>20} {texts(row['texts']):>20}"
            for row in one["rows"]
        ]
        # Without a difference there is no power, only the test's level.
        if one["wanted"] > 0:
            power = "  ".join(f"{n}: {100 * seen:.0f} %" for n, seen, _ in one["curve"] if n <= 20)
            lines.append(f"  power at {figure(one['wanted'], unit)} by seeds: {power}")
    part = " (without those of unknown time)" if any(seconds is None for _, seconds, _ in found["sources"]) else ""
    lines += ["", f"seeds      time, one run after the other{part}        disk"]
    lines += [f"{n:5d}      {hours(cost['seconds']):<27} {cost['disk']:>12}" for n, cost in found["costs"]]
    lines += [f"{', '.join(names)}: {hours(seconds)} a run; {words}" for names, seconds, words in found["sources"]]
    lines += [f"not planned: {ask} {reason}" for ask, reason in found["left_out"].items()]
    return lines


def against(found, folder):
    """Return lines of a Markdown table: the plan of each question beside what the study gave.

    Args:
        found: what `plan` returns.
        folder: results of the study that was planned, or a published copy.

    Raises:
        StudyError: a question has no answer there.
    """
    given = {row["ask"]: row for row in read_tsv(os.path.join(folder, "questions.tsv"))}
    lines = [
        "| question | planned difference | power | half width planned | half width given | difference given | answer |",
        "|---|---:|---:|---:|---:|---:|---|",
    ]
    for one in found["questions"]:
        if one["ask"] not in given:
            raise StudyError(f"{folder}/questions.tsv has no answer to {one['ask']!r}: name the study that was planned")
        row, n, scale = given[one["ask"]], found["n_seeds"], 100 if one["unit"] == "points" else 1
        seen = scale * float(row["score_difference"])
        half = 0.5 * scale * (float(row["score_difference_high"]) - float(row["score_difference_low"]))
        (power,) = [f"{100 * seen:.0f} % ({100 * bound:.0f} %)" for at, seen, bound in one["curve"] if at == n]
        (width,) = [f"{seen:.2f} ({bound:.2f})" for at, seen, bound in one["half_widths"] if at == n]
        what = f"{one['wanted']:.2f}" + (f" left of {one['margin']:g}" if one["margin"] else "")
        lines.append(f"| {one['ask']} | {what} | {power} | {width} | {half:.2f} | {seen:.2f} | {row['answer']} |")
    return lines


def page(found):
    """Return a plan as a page that needs no other file."""
    environment = jinja2.Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True)
    words = {"hours": hours, "number": number, "texts": texts, "figure": figure, "limit": limit}
    with open(TEMPLATE, encoding="utf-8") as template:
        return environment.from_string(template.read()).render(found, **words)
