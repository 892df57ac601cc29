"""A plan for people: on the terminal, as a page, and beside what the study then gave."""

import os

import jinja2

from analysis.contrasts import MOST_SEEDS
from common.files import read_tsv

TEMPLATE = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "report", "plan", "page.html.j2")


def hours(seconds):
    """Return a time for people; where none is known, that."""
    return "not known: name finished runs (FROM=results/NAME)" if seconds is None else f"{seconds / 3600:.2f} h"


def number(seeds):
    """Return a number of seeds for people."""
    return f"over {MOST_SEEDS:,}" if seeds is None else str(seeds)


def texts(n):
    """Return a number of test texts for people; an arm that stands for both sides says nothing of it."""
    return "not known" if n is None else f"{n:,}"


def printed(found):
    """Return the lines that the terminal shows of a plan."""
    looks = f", looks after {', '.join(map(str, found['looks']))}" if found["looks"] else ""
    lines = [f"{found['study']}: {found['n_arms']} arms, {found['n_seeds']} seeds{looks}"]
    for one in found["questions"]:
        sd = ", ".join(f"{value:.2f}" for value in one["sd"])
        lines += ["", one["ask"], f"  spread {one['source']}; SD over seeds {sd} points; {one['n_texts']} test texts"]
        lines.append(f"  these texts leave ± {one['texts_alone']:.2f} points however many seeds there are:")
        lines.append(f"  no number of seeds shows less than {one['least']:.2f} points with the power wanted")
        lines.append(f"  {'points':>8} {'seeds':>12} {'by the upper bound':>20} {'test texts at least':>20}")
        lines += [
            f"  {row['points']:8.2f} {number(row['seeds']):>12} {number(row['assured']):>20} {texts(row['texts']):>20}"
            for row in one["rows"]
        ]
        power = "  ".join(f"{n}: {100 * seen:.0f} %" for n, seen, _ in one["curve"] if n <= 20)
        lines.append(f"  power at {one['wanted']:.2f} points by seeds: {power}")
    lines += ["", "seeds      training        disk"]
    lines += [f"{n:5d}      {hours(cost['seconds'])}      {cost['disk']}" for n, cost in found["costs"]]
    lines += [f"not planned (no arm that seeds change, or not by accuracy): {ask}" for ask in found["left_out"]]
    return lines


def against(found, folder):
    """Return lines of a Markdown table: the plan of each question beside what the study gave.

    Args:
        found: what `plan` returns.
        folder: results of the study that was planned, or a published copy.
    """
    given = {row["ask"]: row for row in read_tsv(os.path.join(folder, "questions.tsv"))}
    lines = [
        "| question | planned difference | power | half width planned | half width given | difference given | answer |",
        "|---|---:|---:|---:|---:|---:|---|",
    ]
    for one in found["questions"]:
        row, n = given[one["ask"]], found["n_seeds"]
        half = 50 * (float(row["score_difference_high"]) - float(row["score_difference_low"]))
        (power,) = [f"{100 * seen:.0f} % ({100 * bound:.0f} %)" for at, seen, bound in one["curve"] if at == n]
        (width,) = [f"{seen:.2f} ({bound:.2f})" for at, seen, bound in one["half_widths"] if at == n]
        what = f"{one['wanted']:.2f}" + (f" left of {one['margin']:g}" if one["margin"] else "")
        lines.append(
            f"| {one['ask']} | {what} | {power} | {width} | {half:.2f} | {100 * float(row['score_difference']):.2f} | "
            f"{row['answer']} |"
        )
    return lines


def page(found):
    """Return a plan as a page that needs no other file."""
    environment = jinja2.Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True)
    with open(TEMPLATE, encoding="utf-8") as template:
        return environment.from_string(template.read()).render(found, hours=hours, number=number, texts=texts)
