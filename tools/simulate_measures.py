"""Simulate how often 95 % intervals of measures cover the true value, where texts and seeds vary.

`python -m tools.simulate_measures` prints a table. Studies are drawn from a fixed seed.
"""

import numpy as np

import measures
from analysis.contrasts import Term, interval

STUDIES, TRUE_TEXTS, TRUE_DRAWS = 400, 200_000, 3
# Name: shares of the classes, texts, seeds.
SETTINGS = {
    "2 equal classes, 400 texts, 5 seeds": ((0.5, 0.5), 400, 5),
    "a class of 10 %, 1000 texts, 5 seeds": ((0.9, 0.1), 1000, 5),
    "4 classes, the rarest 10 %, 1000 texts, 3 seeds": ((0.4, 0.3, 0.2, 0.1), 1000, 3),
}
# How much better the first arm is, in units of the spread of texts' difficulty.
GAP = 0.15


def drawn(generator, shares, n, n_seeds):
    """Return labels (N,) and the answers of two arms' seeds, each a list of (N,).

    Both arms meet the same texts, whose difficulty is shared. Each seed has a skill and a chance of its own at each
    text, and a wrong answer is one of the other classes.
    """
    k = len(shares)
    labels, hard = generator.choice(k, size=n, p=shares), generator.normal(size=n)
    ease = np.linspace(1.2, 0.4, k)[labels]
    arms = []
    for gap in (GAP, 0.0):
        answers = []
        for _ in range(n_seeds):
            skill = gap + 0.05 * generator.normal()
            right = hard + 0.7 * generator.normal(size=n) < ease + skill
            wrong = (labels + generator.integers(1, k, size=n)) % k
            answers.append(np.where(right, labels, wrong))
        arms.append(answers)
    return labels, arms


def scored(measure, labels, arms, k, with_items=True):
    """Return for each arm (mean value of its seeds, (S, N) values of texts or None)."""
    nothing = np.zeros((len(labels), k))
    return [
        (
            float(np.mean([measure.value(labels, one, nothing) for one in answers])),
            np.stack([measure.items(labels, one, nothing) for one in answers]) if with_items else None,
        )
        for answers in arms
    ]


def coverage(names, shares, n, n_seeds):
    """Return {measure: (share of studies whose interval of an arm covers, the same of the difference)}."""
    generator, k = np.random.default_rng(1), len(shares)
    loaded = {name: measures.load(name) for name in names}
    true = {name: [] for name in names}
    for _ in range(TRUE_DRAWS):
        labels, arms = drawn(generator, shares, TRUE_TEXTS, 10)
        for name, measure in loaded.items():
            true[name].append([value for value, _ in scored(measure, labels, arms, k, with_items=False)])
    true = {name: np.mean(values, axis=0) for name, values in true.items()}
    held = {name: [0, 0] for name in names}
    for _ in range(STUDIES):
        labels, arms = drawn(generator, shares, n, n_seeds)
        for name, measure in loaded.items():
            (a, of_a), (b, of_b) = scored(measure, labels, arms, k)
            for place, (terms, seen, value) in enumerate(
                (
                    ([Term(1, of_a)], a, true[name][0]),
                    ([Term(1, of_a), Term(-1, of_b)], a - b, true[name][0] - true[name][1]),
                )
            ):
                low, high = interval(terms, seen, 0.95)
                held[name][place] += low <= value <= high
    return {name: tuple(count / STUDIES for count in counts) for name, counts in held.items()}


def table():
    """Return the table as Markdown: a row for each measure, a column for each setting, arm and difference."""
    # Those whose value depends on classes and answers alone.
    names = [name for name in measures.names() if name != "loss"]
    found = {setting: coverage(names, *facts) for setting, facts in SETTINGS.items()}
    lines = [f"| measure | {' | '.join(SETTINGS)} |", f"|---|{'--:|' * len(SETTINGS)}"]
    for name in names:
        cells = [" / ".join(f"{100 * share:.1f}" for share in found[setting][name]) for setting in SETTINGS]
        lines.append(f"| {measures.load(name).LABEL} | {' | '.join(cells)} |")
    return "\n".join(lines)


if __name__ == "__main__":
    print(table())
