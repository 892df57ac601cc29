"""Simulate how often 95 % intervals of a difference cover the true one, where draws of texts and checkpoints move arms.

`python -m tools.simulate_sources` prints three tables. Studies are drawn from a fixed seed. The true difference is the
mean over all draws, pretrainings, seeds and texts, here 0. A fourth is of intervals of standard deviations (`sources`).
"""

import numpy as np

from analysis.contrasts import Term, interval, paired, per_item
from tools.simulated_spread import table_of_components

STUDIES, TEXTS, SEEDS = 2000, 1000, (3, 5, 10)
# For the tables of checkpoints, whose shares are closer to each other.
MORE_STUDIES = 10_000
# Standard deviations in shares: what a draw does to both arms alike and to each arm alone, and a seed beside it.
BOTH, ALONE, SEED = 0.01, 0.01, 0.005
# The same of a checkpoint, which moves the arm that starts from it; the other starts at random.
CHECKPOINT = 0.01
# Mean accuracy, and the spread of texts' ease around it.
ACCURACY, EASE = 0.8, 0.2


def answers(generator, n_seeds, varied, alone=ALONE, both=BOTH, n_texts=TEXTS, checkpoints=0, checkpoint=CHECKPOINT):
    """Return two arms' answers, each (S, N) of 0 and 1; no arm is better than the other over all draws.

    Args:
        generator: numpy.random.Generator.
        n_seeds: runs of each arm.
        varied: True: each seed has its own draw; False: one draw serves all.
        alone, both: standard deviations of a draw's effects on one arm and on both.
        n_texts: test texts.
        checkpoints: pretrainings that the seeds of the first arm start from in turn; 0: checkpoints do nothing.
        checkpoint: standard deviation of a checkpoint's effect.
    """
    n_draws = n_seeds if varied else 1
    ease, common = generator.normal(0, EASE, n_texts), both * generator.normal(size=(n_draws, 1))
    arms = []
    for arm in range(2):
        moved = common + alone * generator.normal(size=(n_draws, 1)) + SEED * generator.normal(size=(n_seeds, 1))
        if checkpoints and not arm:
            effects = checkpoint * generator.normal(size=(checkpoints, 1))
            moved = moved + effects[np.arange(n_seeds) % checkpoints]
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


def table(ways, n_studies=STUDIES):
    """Return a table as Markdown: a row for each number of seeds, a column for each way to draw and to compare.

    Args:
        ways: {name of the way: function of the number of seeds that gives `covered`'s arguments}.
        n_studies: studies to draw.
    """
    lines = [f"| seeds | {' | '.join(ways)} |", f"|--:|{'--:|' * len(ways)}"]
    for n_seeds in SEEDS:
        cells = []
        for way in ways.values():
            share, half = covered(np.random.default_rng(47), n_seeds, n_studies=n_studies, **way(n_seeds))
            cells.append(f"{100 * share:.1f} % (± {half:.2f})")
        lines.append(f"| {n_seeds} | {' | '.join(cells)} |")
    return "\n".join(lines)


DRAWS = {
    "one draw for all seeds": lambda n_seeds: {"varied": False, "pairs": False},
    "own draws, as if independent": lambda n_seeds: {"varied": True, "pairs": False},
    "own draws, paired": lambda n_seeds: {"varied": True, "pairs": True},
}
PRETRAININGS = {
    "one checkpoint": lambda n_seeds: {"varied": True, "pairs": True, "checkpoints": 1},
    "two checkpoints in turn": lambda n_seeds: {"varied": True, "pairs": True, "checkpoints": 2},
    "own checkpoints": lambda n_seeds: {"varied": True, "pairs": True, "checkpoints": n_seeds},
}
# As the last, where splits do nothing; seeds that share one checkpoint then share nothing that is drawn.
ALONE_VARIED = {
    name: lambda n_seeds, way=way: {**way(n_seeds), "alone": 0.0, "both": 0.0, "pairs": way(n_seeds)["checkpoints"] > 1}
    for name, way in PRETRAININGS.items()
}


if __name__ == "__main__":
    for ways, n_studies in ((DRAWS, STUDIES), (PRETRAININGS, MORE_STUDIES), (ALONE_VARIED, MORE_STUDIES)):
        print(table(ways, n_studies), end="\n\n", flush=True)
    print(table_of_components())
