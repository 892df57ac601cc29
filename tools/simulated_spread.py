"""Studies of the sources of chance drawn from known components, for `tools.simulate_sources` and the tests."""

import numpy as np

from analysis.spread_components import joint, of_runs, of_texts

STUDIES, TEXTS, RUNS = 2000, 1000, (3, 5, 10)
# Standard deviations in shares by which each source alone moves a run. Runs disagree on texts beside that.
MOVED = {"initialisation": 0.006, "order": 0.004, "split": 0.01}
# Chances of a right answer to a text of that study, uniform between these: no move leads out of 0 to 1.
LEAST, MOST = 0.6, 0.95


def truths(n_texts=TEXTS):
    """Return {source: true variance of a run's accuracy on the same texts}, with `all`, `texts` and `jointly`.

    Answers are drawn anew in every run, so whatever varies, runs disagree on texts: each source alone has that part,
    and so have all together, once.
    """
    of_texts_alone, mean = (MOST - LEAST) ** 2 / 12, (LEAST + MOST) / 2
    # E[p (1 - p)] = mean (1 - mean) - Var(p); a move of SD s takes s² more from it, a thousandth at most.
    disagreed = (mean * (1 - mean) - of_texts_alone) / n_texts
    found = {source: moved**2 + disagreed for source, moved in MOVED.items()}
    whole = sum(moved**2 for moved in MOVED.values()) + disagreed
    more = {"all": whole, "texts": of_texts_alone / n_texts, "jointly": whole - sum(found.values())}
    return found | more


def draw_groups(generator, n_runs, n_texts=TEXTS):
    """Return {source: (n_runs, n_texts) answers of 0 and 1} of runs on the same texts, with those of `all`."""
    ease = generator.uniform(LEAST, MOST, n_texts)
    sizes = {source: [moved] for source, moved in MOVED.items()} | {"all": list(MOVED.values())}
    groups = {}
    for source, moves in sizes.items():
        moved = sum(size * generator.normal(size=(n_runs, 1)) for size in moves)
        chance = ease + moved
        groups[source] = (generator.random((n_runs, n_texts)) < chance).astype(float)
    return groups


def components(generator, n_runs):
    """Return {source: (variance, (low, high))} of one study of the sources, as `analysis.measure_spread` has them."""
    groups = draw_groups(generator, n_runs)
    parts = {source: of_runs(answered.mean(axis=1)) for source, answered in groups.items()}
    difference, *ends = joint(parts["all"], [parts[source] for source in MOVED], 0.95)
    parts["texts"] = of_texts(groups["all"])
    return {name: (part.variance, part.interval(0.95)) for name, part in parts.items()} | {
        "jointly": (difference, ends)
    }


def simulated(n_runs, n_studies):
    """Return {source: (mean variance, its standard error, the true one, share of intervals that cover it)}."""
    generator, true, found = np.random.default_rng(47), truths(), {}
    for _ in range(n_studies):
        for name, (variance, (low, high)) in components(generator, n_runs).items():
            within = low is not None and low <= true[name] <= high
            found.setdefault(name, []).append((variance, within))
    return {
        name: (*_mean_and_error([one for one, _ in rows]), true[name], float(np.mean([within for _, within in rows])))
        for name, rows in found.items()
    }


def _mean_and_error(values):
    return float(np.mean(values)), float(np.std(values, ddof=1)) / len(values) ** 0.5


def table_of_components(n_studies=STUDIES):
    """Return the coverage of intervals as Markdown: a row for each number of runs, a column for each component."""
    names, lines = [*MOVED, "all", "texts", "jointly"], []
    for n_runs in RUNS:
        found = simulated(n_runs, n_studies)
        cells = [f"{100 * found[name][3]:.1f} %" for name in names]
        lines.append(f"| {n_runs} | {' | '.join(cells)} |")
    return "\n".join([f"| runs of each | {' | '.join(names)} |", f"|--:|{'--:|' * len(names)}", *lines])
