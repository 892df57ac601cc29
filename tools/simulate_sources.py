"""Simulate how often 95 % intervals of a difference cover the true one, where draws of training texts move arms.

`python -m tools.simulate_sources` prints a table. Studies are drawn from a fixed seed. The true difference is the mean
over all draws, seeds and texts, here 0.
"""

import numpy as np

from analysis.contrasts import Term, interval, paired, per_item

STUDIES, TEXTS, SEEDS = 2000, 1000, (3, 5, 10)
# Standard deviations in shares: what a draw does to both arms alike and to each arm alone, and a seed beside it.
BOTH, ALONE, SEED = 0.01, 0.01, 0.005
# Mean accuracy, and the spread of texts' ease around it.
ACCURACY, EASE = 0.8, 0.2


def answers(generator, n_seeds, varied, alone=ALONE, both=BOTH, n_texts=TEXTS):
    """Return two arms' answers, each (S, N) of 0 and 1; no arm is better than the other over all draws.

    Args:
        generator: numpy.random.Generator.
        n_seeds: runs of each arm.
        varied: True: each seed has its own draw; False: one draw serves all.
        alone, both: standard deviations of a draw's effects on one arm and on both.
        n_texts: test texts.
    """
    n_draws = n_seeds if varied else 1
    ease, common = generator.normal(0, EASE, n_texts), both * generator.normal(size=(n_draws, 1))
    arms = []
    for _ in range(2):
        moved = common + alone * generator.normal(size=(n_draws, 1)) + SEED * generator.normal(size=(n_seeds, 1))
        chance = np.clip(ACCURACY + ease + moved, 0.0, 1.0)
        arms.append((generator.random((n_seeds, n_texts)) < chance).astype(float))
    return arms


def covered(generator, n_seeds, varied, pairs, n_studies=STUDIES, **effects):
    """Return (share of studies whose interval has 0 in it, mean half width in points).

    Args:
        generator, n_seeds, varied, **effects: see `answers`.
        pairs: whether runs of one seed are paired.
        n_studies: studies to draw.
    """
    found, widths = 0, []
    for _ in range(n_studies):
        first, second = answers(generator, n_seeds, varied, **effects)
        terms = [Term(1, first), Term(-1, second)]
        low, high = interval(paired(terms) if pairs else terms, float(per_item(terms).mean()), 0.95)
        found += low <= 0 <= high
        widths.append(50 * (high - low))
    return found / n_studies, float(np.mean(widths))


def table(n_studies=STUDIES):
    """Return the table as Markdown: a row for each number of seeds, a column for each way to draw and to compare."""
    ways = {"one draw for all seeds": (False, False), "own draws, as if independent": (True, False)}
    ways |= {"own draws, paired": (True, True)}
    lines = [f"| seeds | {' | '.join(ways)} |", f"|--:|{'--:|' * len(ways)}"]
    for n_seeds in SEEDS:
        cells = []
        for varied, pairs in ways.values():
            share, half = covered(np.random.default_rng(47), n_seeds, varied, pairs, n_studies)
            cells.append(f"{100 * share:.1f} % (± {half:.2f})")
        lines.append(f"| {n_seeds} | {' | '.join(cells)} |")
    return "\n".join(lines)


if __name__ == "__main__":
    print(table())
