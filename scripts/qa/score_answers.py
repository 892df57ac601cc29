"""Score every run's answers by every measure of answers, question by question, before tuning and after."""

import json

import measures
from common.entry import run
from common.errors import StudyError
from common.files import read_json, read_lines
from qa.compared_arms import BASE, own_base
from study.tables import write_table

MOMENTS = ("before", "after")


def rows_of(evaluation, generations, moment):
    """Return what a run answered, as {what it holds: rows}.

    Args:
        evaluation: content of evaluation.json; `pairs` has nats and tokens of every held-out answer.
        generations: rows of generations.jsonl.
        moment: "before" or "after" tuning.

    Returns:
        list[list[dict]]: rows of id, answer, reference; rows of id, nats, n_tokens (empty: evaluated without them).
    """
    texts = [{"id": row["id"], "answer": row[moment], "reference": row["reference"]} for row in generations]
    costs = [
        {"id": pair["id"], "nats": nats, "n_tokens": n_tokens}
        for pair in evaluation.get("pairs", [])
        for nats, n_tokens in [pair[moment]]
    ]
    return [texts, costs]


def score(rows, names):
    """Return {measure: (score, [(id, value)])} of what a run answered.

    Args:
        rows: what `rows_of` returns.
        names: measures.
    """
    found = {}
    for name in names:
        measure = measures.load(name)
        for part in rows:
            if len(part) > 1 and set(measure.NEEDS) <= part[0].keys():
                values = measure.items(part)
                found[name] = measure.value(part), [(row["id"], one) for row, one in zip(part, values, strict=True)]
    return found


def main(evaluations, generations, scores, by_question, names):
    """Write both tables.

    Args:
        evaluations: every run's evaluation.json.
        generations: the answers of all runs: JSON Lines with arm and seed.
        scores: TSV to write: a row for each arm, seed and measure. The base before tuning is the arm `BASE` where all
            runs found it alike, else each arm has its own (`qa.compared_arms.own_base`).
        by_question: TSV to write: the values of single questions.
        names: measures of answers.

    Raises:
        StudyError: two runs were asked other questions.
    """
    asked, scored = {}, {}
    for row in map(json.loads, read_lines(generations)):
        asked.setdefault((row["arm"], row["seed"]), []).append(row)
    first = [row["id"] for row in next(iter(asked.values()))]
    for place in evaluations:
        record = read_json(place)
        run = record["arm"], record["seed"]
        rows = asked.get(run, [])
        if [row["id"] for row in rows] != first:
            raise StudyError(f"{generations} has other questions of the run in {place}: evaluate the run again")
        scored[run] = {m: score(rows_of(record, rows, m), names) for m in MOMENTS}
    before = [one["before"] for one in scored.values()]
    if all(one == before[0] for one in before):
        found = {(BASE, 0): before[0]}
    else:
        found = {(own_base(arm), 0): one["before"] for (arm, _), one in reversed(scored.items())}
    found |= {run: one["after"] for run, one in scored.items()}
    every = [(arm, seed, name, *one) for (arm, seed), by in found.items() for name, one in by.items()]
    write_table(
        scores,
        "qa_scores",
        [
            {"arm": arm, "seed": seed, "measure": name, "n_questions": len(values), "score": value}
            for arm, seed, name, value, values in every
        ],
    )
    write_table(
        by_question,
        "qa_items",
        [
            {"arm": arm, "seed": seed, "measure": name, "id": question, "item_score": one}
            for arm, seed, name, _, values in every
            for question, one in values
        ],
    )
    print(f"{len(found)} runs and bases by {len(names)} measures")


if __name__ == "__main__":
    run(main, snakemake)
