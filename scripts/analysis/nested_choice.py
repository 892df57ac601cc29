"""The best of several arms on validation, chosen for each seed by the other seeds."""

import statistics

import numpy as np

from common.errors import StudyError


def choose(valid):
    """Return the name chosen for each seed: the best mean on validation of the other seeds.

    A seed that is lucky on validation is often lucky on test, since both come from the same run. Arms chosen by all
    seeds together would therefore score too high; chosen without the scored seed, they do not.

    Args:
        valid: {name: worth of each seed on validation, the more the better}, every name with the same seeds. One seed
            chooses by itself; ties go to the first name.

    Returns:
        list[str]: a name for each seed.

    Raises:
        StudyError: names with different numbers of seeds.
    """
    counts = {len(values) for values in valid.values()}
    if len(counts) > 1:
        raise StudyError(f"{', '.join(valid)} have different numbers of seeds, so none is chosen among them")
    (n_seeds,) = counts

    def mean(name, seed):
        others = [value for place, value in enumerate(valid[name]) if place != seed or n_seeds == 1]
        # Means of the same counts in another order differ by rounding.
        return round(statistics.fmean(others), 12)

    return [max(valid, key=lambda name: mean(name, seed)) for seed in range(n_seeds)]


def best_of(names, arms, valid):
    """Return the best of several as an arm of `analysis.answer_questions.scored`, and the names chosen.

    Args:
        names: candidates.
        arms: {name: (scores of its runs, (S, N) values of texts, whether no seed changes it)}.
        valid: as in `choose`.

    Raises:
        StudyError: see `choose`; or a name has no run.
    """
    if lacking := [name for name in names if name not in arms]:
        raise StudyError(f"{lacking[0]}, which a question chooses among, has no run in runs.tsv")
    chosen = choose({name: valid[name] for name in names})
    scores = [arms[name][0][seed] for seed, name in enumerate(chosen)]
    items = np.stack([arms[name][1][seed] for seed, name in enumerate(chosen)])
    return (scores, items, all(arms[name][2] for name in names)), chosen


def in_words(operand, chosen):
    """Return the choice in words, such as `best of a, b: a (2 of 3 seeds), b (1 of 3 seeds)`."""
    counts = {name: chosen.count(name) for name in dict.fromkeys(chosen)}
    if len(chosen) == 1:
        return f"{operand}: {chosen[0]}"
    parts = [f"{name} ({count} of {len(chosen)} seeds)" for name, count in counts.items()]
    return f"{operand}: {', '.join(parts)}"
