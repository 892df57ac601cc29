"""Compare the arms of question answering with the base and with each other, question by question."""

import itertools

import numpy as np

import measures
from analysis import contrasts, inference
from analysis.arm_pairs import OPTIONS
from analysis.contrasts import Term
from analysis.scored_tables import read_scored
from common.entry import run
from qa.compared_arms import BASE, is_base, own_base
from study.tables import write_table


def pairs_of(arms):
    """Return the pairs that are compared: each arm with its base, then each two arms.

    Args:
        arms: names, the base's among them.
    """
    tuned = [arm for arm in arms if not is_base(arm)]
    return [(arm, BASE if BASE in arms else own_base(arm)) for arm in tuned] + list(itertools.combinations(tuned, 2))


def compared(arms, first, second, options):
    """Return the columns of one comparison, before Holm's correction.

    Args:
        arms: {arm: (scores of its runs, (S, N) values of questions, whether no seed changes it)}.
        first, second: names.
        options: dict with level.
    """
    a, b = arms[first], arms[second]
    terms = [Term(1, a[1], a[2]), Term(-1, b[1], b[2])]
    difference = float(np.mean(a[0]) - np.mean(b[0]))
    low, high = contrasts.interval_of(terms, difference, options["level"])
    return {
        "arm_a": first,
        "arm_b": second,
        "n_seeds_a": len(a[0]),
        "n_seeds_b": len(b[0]) if not b[2] else None,
        "n_questions": terms[0].items.shape[1],
        "score_a": float(np.mean(a[0])),
        "score_b": float(np.mean(b[0])),
        "score_difference": difference,
        "level": options["level"],
        "score_difference_low": low,
        "score_difference_high": high,
        "p": contrasts.p_beyond(terms, difference) if contrasts.decidable(terms) else None,
    }


def main(scores, by_question, pairs, names, options=OPTIONS):
    """Write the comparisons, whose p is corrected over those of one measure.

    Args:
        scores, by_question: tables of rule score_answers.
        pairs: TSV to write.
        names: measures of answers.
        options: dict with level.
    """
    rows = []
    for name in names:
        arms, measure = read_scored(scores, by_question, name, is_base), measures.load(name)
        facts = {"measure": name, "unit": measure.UNIT, "higher_is_better": measure.HIGHER_IS_BETTER}
        family = [facts | compared(arms, *pair, options) for pair in pairs_of(arms)] if arms else []
        inference.correct(family, "p")
        rows += family
    write_table(pairs, "qa_pairs", rows)


if __name__ == "__main__":
    run(main, snakemake)
