"""Simulate studies whose labels are numbers or sets, and count how often the page's interval covers the truth.

python -m tools.coverage [--studies N]: a table of the share of 95 % intervals that cover, in Markdown, as in
docs/method/statistics.md. Texts differ in how hard they are, seeds in how good they are.
"""

import argparse

import numpy as np

import measures
from analysis.contrasts import Term, interval_of

N_TEXTS, N_LARGE, LEVEL = 400, 200_000, 0.95
SHARES = (0.05, 0.2, 0.5)
NUMBERS, SETS = ("pearson", "spearman", "rmse"), ("macro_f1", "micro_f1", "subset_accuracy")
SEEDS = (3, 5, 10)


def numbers(generator, n, quality):
    """Return n true numbers and (seeds, n) answers, of seeds of these qualities."""
    labels, hard = generator.normal(size=n), generator.normal(scale=0.5, size=n)
    return labels, quality[:, None] * labels + hard + generator.normal(scale=0.5, size=(len(quality), n))


def sets(generator, n, quality):
    """Return n sets of labels and (seeds, n, labels) answers; a hard text is taken wrongly by all seeds more often."""
    labels = (generator.random((n, len(SHARES))) < SHARES).astype(int)
    hard = generator.normal(scale=0.8, size=(n, 1))
    right = generator.random((len(quality), *labels.shape)) < 1 / (1 + np.exp(-2 * quality[:, None, None] + hard))
    return labels, np.where(right, labels, (generator.random(right.shape) < 0.3).astype(int))


def qualities(generator, n):
    """Return the qualities of n seeds."""
    return generator.normal(1.0, 0.1, n)


def truth(name, draw, generator):
    """Return the expected value of a measure over seeds and texts, by seeds scored on many texts."""
    labels, answers = draw(generator, N_LARGE, qualities(generator, 24))
    return float(np.mean([measures.load(name).value(labels, row, labels) for row in answers]))


def covered(name, draw, n_seeds, target, studies):
    """Return the share of studies whose interval holds the target."""
    measure, found = measures.load(name), 0
    for study in range(studies):
        generator = np.random.default_rng([n_seeds, study])
        labels, answers = draw(generator, N_TEXTS, qualities(generator, n_seeds))
        scores = [measure.value(labels, row, labels) for row in answers]
        items = np.stack([measure.items(labels, row, labels) for row in answers])
        low, high = interval_of([Term(1, items)], float(np.mean(scores)), LEVEL)
        found += low <= target <= high
    return found / studies


def main(studies):
    """Return the table."""
    lines = [f"| measure | {' | '.join(f'{n} seeds' for n in SEEDS)} |", "|---|" + "--:|" * len(SEEDS)]
    for draw, chosen in ((numbers, NUMBERS), (sets, SETS)):
        for name in chosen:
            target = truth(name, draw, np.random.default_rng(1))
            shares = [covered(name, draw, n, target, studies) for n in SEEDS]
            lines.append(f"| `{name}` | {' | '.join(f'{100 * share:.1f}' for share in shares)} |")
            print(lines[-1], flush=True)
    return "\n".join(lines)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m tools.coverage")
    parser.add_argument("--studies", type=int, default=400)
    main(parser.parse_args().studies)
