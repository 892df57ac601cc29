"""What accuracies of a few seeds on a few thousand reviews can carry: intervals, tests, power, verdicts.

Pure functions. A *run* is one seed of one arm; `correct` is a (seeds, items) array of 0 and 1: the runs of an
arm, all scored on the same test reviews. Accuracies are fractions. scipy and statsmodels do the tests; ours are
the bootstrap over seeds and items at once, and the interval whose coverage holds with three seeds.
"""

import math

import numpy as np
from scipy import stats
from statsmodels.stats.contingency_tables import mcnemar
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.power import TTestIndPower
from statsmodels.stats.proportion import proportion_confint

INTERVAL_METHOD = (
    "the wider of (a) a t interval with the variance of seeds and of test reviews together "
    "(two-way random effects, Satterthwaite degrees of freedom) and (b) Student's t over seeds "
    "(Welch's for a difference)"
)
# Enough for every pair of up to 9 against 9 seeds to be enumerated; beyond, the test draws at random.
SEED_PERMUTATIONS = 50_000


def standard_deviation(accuracies, ddof):
    """Return the standard deviation of n accuracies, or None when n <= ddof."""
    return float(np.std(accuracies, ddof=ddof)) if len(accuracies) > ddof else None


def seed_interval(accuracies, level=0.95):
    """Return Student's t interval (low, high) of the mean over seeds, this test set taken as fixed; None for one seed.

    mean ± t(1 - (1 - level) / 2, n - 1) · sd(ddof 1) / √n
    """
    n = len(accuracies)
    if n < 2:
        return None
    half = stats.t.ppf(0.5 + level / 2, n - 1) * np.std(accuracies, ddof=1) / math.sqrt(n)
    return float(np.mean(accuracies) - half), float(np.mean(accuracies) + half)


def mean_squares(correct):
    """Return the mean squares (seeds, items, residual) of a two-way table without replication.

    Args:
        correct: (S, N) array, S >= 2, N >= 2.

    Source: Scheffé, The Analysis of Variance, chapter 7: E[MS_seed] = N·σ²_seed + σ²_e,
        E[MS_item] = S·σ²_item + σ²_e, E[MS_e] = σ²_e.
    """
    correct = np.asarray(correct, dtype=float)
    n_seeds, n_items = correct.shape
    of_seeds, of_items, mean = correct.mean(axis=1), correct.mean(axis=0), correct.mean()
    seeds = n_items * float(((of_seeds - mean) ** 2).sum())
    items = n_seeds * float(((of_items - mean) ** 2).sum())
    residual = max(float(((correct - mean) ** 2).sum()) - seeds - items, 0.0)
    return seeds / (n_seeds - 1), items / (n_items - 1), residual / ((n_seeds - 1) * (n_items - 1))


def satterthwaite(terms):
    """Return (variance, degrees of freedom) of a sum of independent variance estimates.

    variance = Σ c, df = variance² / Σ (c² / d) for terms (c, d); a negative c is a subtracted estimate.

    Source: Satterthwaite 1946, Biometrics Bulletin 2(6).
    """
    variance = sum(value for value, _ in terms)
    spread = sum(value**2 / df for value, df in terms)
    return variance, (variance**2 / spread if spread > 0 else math.inf)


def mean_interval(correct, level=0.95):
    """Return the interval (low, high) of an arm's accuracy over seeds and reviews like these; None for one seed.

    Var(mean) = (MS_seed + MS_item - MS_e) / (S·N), a t interval with Satterthwaite's degrees of freedom (at least
    S - 1); where the seeds rule, those are too many with three seeds, so the wider of it and the t interval over seeds
    is taken. Simulated coverage: tests/unit/test_statistics.py.

    Args:
        correct: (S, N) array of 0 and 1.
        level: confidence.
    """
    correct = np.asarray(correct, dtype=float)
    n_seeds, n_items = correct.shape
    if n_seeds < 2:
        return None
    seeds, items, residual = (value / (n_seeds * n_items) for value in mean_squares(correct))
    terms = [(seeds, n_seeds - 1), (items, n_items - 1), (-residual, (n_seeds - 1) * (n_items - 1))]
    variance, df = satterthwaite(terms)
    mean = float(correct.mean())
    if mean in (0.0, 1.0):
        # No variance to estimate from: what N right (or wrong) answers say by themselves.
        low, high = proportion_confint(round(mean * n_items), n_items, 1 - level, method="beta")
        return float(low), float(high)
    half = stats.t.ppf(0.5 + level / 2, max(df, n_seeds - 1)) * math.sqrt(max(variance, 0.0))
    low, high = seed_interval(correct.mean(axis=1), level)
    return max(min(mean - half, low), 0.0), min(max(mean + half, high), 1.0)


def difference_interval(first, second, level=0.95):
    """Return the interval (low, high) of accuracy(first) - accuracy(second); None when either has one seed.

    Both arms answer the same reviews, so the reviews' part is the variance of the difference per review:
    Var = Σ_arms (MS_seed - MS_e) / (S·N) + Var(d_i) / N, with d_i the difference of the two arms' means on review i.
    As in `mean_interval`, the wider of this and Welch's interval over seeds.

    Args:
        first, second: (S1, N) and (S2, N) arrays of 0 and 1, the same N reviews.
    """
    first, second = np.asarray(first, dtype=float), np.asarray(second, dtype=float)
    if len(first) < 2 or len(second) < 2:
        return None
    n_items = first.shape[1]
    terms = []
    for correct in (first, second):
        n_seeds = len(correct)
        seeds, _, residual = mean_squares(correct)
        terms.append((seeds / (n_seeds * n_items), n_seeds - 1))
        terms.append((-residual / (n_seeds * n_items), (n_seeds - 1) * (n_items - 1)))
    per_item = first.mean(axis=0) - second.mean(axis=0)
    terms.append((float(per_item.var(ddof=1)) / n_items, n_items - 1))
    variance, df = satterthwaite(terms)
    difference = float(per_item.mean())
    df = max(df, min(len(first), len(second)) - 1)
    half = stats.t.ppf(0.5 + level / 2, df) * math.sqrt(max(variance, 0.0))
    variance, df = satterthwaite(
        [(rows.mean(axis=1).var(ddof=1) / len(rows), len(rows) - 1) for rows in (first, second)]
    )
    half = max(half, stats.t.ppf(0.5 + level / 2, df) * math.sqrt(variance) if variance > 0 else 0.0)
    return difference - half, difference + half


def item_draws(n_items, resamples, generator):
    """Return (resamples, n_items) float32: how often each review is in each bootstrap sample of n_items reviews.

    One set of draws serves every arm: the arms answered the same reviews, so they are resampled together.
    """
    draws = generator.integers(0, n_items, size=(resamples, n_items))
    flat = (draws + np.arange(resamples)[:, None] * n_items).ravel()
    return np.bincount(flat, minlength=resamples * n_items).reshape(resamples, n_items).astype(np.float32)


def nested_bootstrap(correct, draws, generator):
    """Return (resamples,) accuracies: S seeds drawn with replacement, then N reviews, the same for all seeds drawn.

    Drawing the reviews anew for each seed would treat S·N answers as independent and lose most of the reviews'
    variance, since all seeds answered the same ones.

    Args:
        correct: (S, N) array of 0 and 1.
        draws: (resamples, N) counts of `item_draws`.
        generator: numpy.random.Generator for the seeds.

    Source: Owen 2007, The pigeonhole bootstrap, Annals of Applied Statistics 1(2).
    """
    correct = np.asarray(correct, dtype=np.float32)
    n_seeds, n_items = correct.shape
    accuracy = (draws @ correct.T) / n_items  # (resamples, S)
    seeds = generator.integers(0, n_seeds, size=(len(draws), n_seeds))
    return np.take_along_axis(accuracy, seeds, axis=1).mean(axis=1, dtype=float)


def percentile_interval(values, level=0.95):
    """Return the central (low, high) of bootstrap values."""
    low, high = np.quantile(values, [0.5 - level / 2, 0.5 + level / 2])
    return float(low), float(high)


def expected_best(accuracies):
    """Return [E(best of 1), ..., E(best of n)]: what reporting the best of k seeds would print.

    E(best of k) = Σ_i v_(i) · C(i - 1, k - 1) / C(n, k) over the sorted values: the mean maximum of all subsets.

    Source: Tang et al. 2020, Showing Your Work Doesn't Always Work, ACL, equation for the unbiased estimator.
    """
    values = sorted(accuracies)
    n = len(values)
    return [
        float(sum(value * math.comb(i, k - 1) for i, value in enumerate(values)) / math.comb(n, k))
        for k in range(1, n + 1)
    ]


def welch_p(first, second):
    """Return Welch's two-sided p of two samples of accuracies; None when it is not defined (n < 2, no variance)."""
    if min(len(first), len(second)) < 2 or np.var(first) + np.var(second) == 0:
        return None
    return float(stats.ttest_ind(first, second, equal_var=False).pvalue)


def permute_seeds(first, second, seed=0):
    """Return the two-sided permutation p of the difference of means over seeds, exact up to `SEED_PERMUTATIONS`.

    Assumes nothing but that the runs of both arms are exchangeable; needs no test items.
    """
    result = stats.permutation_test(
        (np.asarray(first, dtype=float), np.asarray(second, dtype=float)),
        lambda a, b, axis: a.mean(axis=axis) - b.mean(axis=axis),
        vectorized=True,
        n_resamples=SEED_PERMUTATIONS,
        permutation_type="independent",
        rng=np.random.default_rng(seed),
    )
    return float(result.pvalue)


def seed_floor(n_first, n_second):
    """Return the smallest two-sided p that a permutation of seeds can reach: min(1, 2 / C(n1 + n2, n1))."""
    return min(1.0, 2 / math.comb(n_first + n_second, n_first))


def permute_items(first, second, resamples=9999, seed=0):
    """Return the two-sided paired permutation p over test reviews of two arms' mean correctness.

    It judges these trained models on reviews like these; it says nothing about other seeds.

    Args:
        first, second: (S1, N), (S2, N) arrays of 0 and 1.
        resamples: random swaps of the two arms' results per review (exact when 2^n is not more).
    """
    first, second = np.mean(first, axis=0), np.mean(second, axis=0)
    differs = first != second  # a review on which the arms agree adds 0 whichever way it is swapped
    if not differs.any():
        return 1.0
    result = stats.permutation_test(
        (first[differs], second[differs]),
        lambda a, b, axis: (a - b).sum(axis=axis),
        vectorized=True,
        n_resamples=resamples,
        batch=1000,
        permutation_type="samples",
        rng=np.random.default_rng(seed),
    )
    return float(result.pvalue)


def mcnemar_p(first, second):
    """Return (only first right, only second right, exact McNemar p) of two runs on the same reviews.

    Args:
        first, second: (N,) arrays of 0 and 1.
    """
    first, second = np.asarray(first, dtype=bool), np.asarray(second, dtype=bool)
    table = [
        [int((first & second).sum()), int((first & ~second).sum())],
        [int((~first & second).sum()), int((~first & ~second).sum())],
    ]
    return table[0][1], table[1][0], min(1.0, float(mcnemar(table, exact=True).pvalue))


def holm(p_values):
    """Return Holm-adjusted p values in the same order; a None (no test) stays None and is not counted."""
    kept = [i for i, p in enumerate(p_values) if p is not None]
    adjusted = [None] * len(p_values)
    if kept:
        for i, p in zip(kept, multipletests([p_values[i] for i in kept], method="holm")[1], strict=True):
            adjusted[i] = float(p)
    return adjusted


def minimum_detectable(first, second, alpha=0.05, power=0.8):
    """Return the true difference that a t-test over these seeds would find with the given power; None for one seed.

    Cohen's d by statsmodels' `TTestIndPower`, times the pooled standard deviation.
    """
    n1, n2 = len(first), len(second)
    if min(n1, n2) < 2:
        return None
    pooled = math.sqrt(((n1 - 1) * np.var(first, ddof=1) + (n2 - 1) * np.var(second, ddof=1)) / (n1 + n2 - 2))
    effect = TTestIndPower().solve_power(nobs1=n1, ratio=n2 / n1, alpha=alpha, power=power)
    return float(np.squeeze(effect) * pooled)


def probability_better(first, second):
    """Return the share of pairs (a run of first, a run of second) in which first is better; a tie counts half."""
    first, second = np.asarray(first, dtype=float)[:, None], np.asarray(second, dtype=float)[None, :]
    return float(((first > second) + 0.5 * (first == second)).mean())


def sampling_margin(accuracy, n_items, level=0.95):
    """Return the half width that n reviews alone give an accuracy: z · √(p (1 - p) / n)."""
    return float(stats.norm.ppf(0.5 + level / 2) * math.sqrt(accuracy * (1 - accuracy) / n_items))


def exact_interval(n_correct, n_items, level=0.95):
    """Return the Clopper-Pearson interval of one model's accuracy (statsmodels, method `beta`)."""
    low, high = proportion_confint(n_correct, n_items, 1 - level, method="beta")
    return float(low), float(high)


def chance_p(n_correct, n_items, majority_share):
    """Return the one-sided exact binomial p of at least n_correct of n_items against the majority class's share."""
    return float(stats.binomtest(n_correct, n_items, majority_share, alternative="greater").pvalue)


def points(value, sign=True):
    """Return a fraction as percentage points, two decimals, with a true minus sign."""
    return f"{value * 100:{'+' if sign else ''}.2f}".replace("-", "\N{MINUS SIGN}")


def p_text(p):
    """Return a p value with two significant digits, as in 'p = 0.29' and 'p = 8.5e-05'."""
    return f"p = {p:.2g}"


def judge(pair, alpha=0.05):
    """Return how much of a difference between two arms can be claimed.

    `one_seed` nothing over seeds; `none` no difference; `if_normal` a difference when seeds' accuracies are taken
    as normal (Welch and interval), which the permutation over seeds does not, or with so few seeds cannot, confirm;
    `difference` all of them agree.

    Args:
        pair: dict with n_a, n_b, low, high, welch_p_holm, seeds_p_holm.
    """
    if min(pair["n_a"], pair["n_b"]) < 2:
        return "one_seed"
    if pair["welch_p_holm"] is None or pair["welch_p_holm"] > alpha or pair["low"] <= 0 <= pair["high"]:
        return "none"
    return "difference" if pair["seeds_p_holm"] <= alpha else "if_normal"


def verdict(pair, alpha=0.05, level=0.95):
    """Return one to three sentences that say what can be claimed of a pair of arms, and never more.

    Args:
        pair: a row of pairs.tsv: name_a, name_b, n_a, n_b, n_test, n_pairs, difference, low, high, welch_p,
            welch_p_holm, seeds_p, seeds_p_holm, seeds_p_floor, items_p, minimum_detectable, mcnemar (list of p),
            not_learned_a, not_learned_b.
    """
    claim = judge(pair, alpha)
    ahead = pair["difference"] >= 0
    better, worse = (pair["name_a"], pair["name_b"]) if ahead else (pair["name_b"], pair["name_a"])
    gap = points(abs(pair["difference"]), sign=False)
    seeds = f"{pair['n_a']} against {pair['n_b']} seeds"
    if claim == "one_seed":
        text = (
            f"Nothing can be claimed about {pair['name_a']} against {pair['name_b']} as ways of training: {seeds} give "
            f"no interval. Of these trained models, {better} is ahead by {gap} points on {pair['n_test']} test reviews"
        )
        if pair["mcnemar"]:
            text += f" (exact McNemar test of one run against one: {', '.join(p_text(p) for p in pair['mcnemar'])})"
        text += "."
    else:
        sign = 1 if ahead else -1
        low, high = sorted((sign * pair["low"], sign * pair["high"]))
        evidence = (
            f"{level:.0%} interval {points(low)} to {points(high)}, over seeds and reviews; "
            f"{seeds}, {pair['n_test']} test reviews"
        )
        if pair["welch_p"] is None:
            welch = "Welch's test is not defined: the seeds do not vary"
        else:
            welch = (
                f"Welch's t-test {p_text(pair['welch_p'])}, {pair['welch_p_holm']:.2g} after Holm for {pair['n_pairs']}"
            )
            welch += " pair" if pair["n_pairs"] == 1 else " pairs"
        floor = f"{seeds} cannot give a permutation p below {pair['seeds_p_floor']:.2g}"
        if claim == "none":
            text = (
                f"No difference can be claimed between {pair['name_a']} and {pair['name_b']}: {better} is ahead by "
                f"{gap} points ({evidence}; {welch})."
            )
            if pair["welch_p"] is not None and not pair["low"] <= 0 <= pair["high"]:
                text += " The interval leaves 0 out, but it is not corrected for the number of pairs; the test is."
            if pair["minimum_detectable"]:
                text += (
                    f" A true difference below {points(pair['minimum_detectable'], sign=False)} points would be missed "
                    "more than one time in five."
                )
        elif claim == "if_normal":
            reason = (
                f"and {floor}"
                if pair["seeds_p_floor"] * pair["n_pairs"] > alpha
                else "so it does not confirm the difference"
            )
            text = (
                f"{better} is better than {worse} by {gap} points ({evidence}; {welch}), if the accuracies of seeds "
                f"are taken as normal. The permutation test over seeds, which assumes nothing, gives "
                f"{p_text(pair['seeds_p'])} "
                f"({pair['seeds_p_holm']:.2g} after Holm), {reason}."
            )
        else:
            text = (
                f"{better} is better than {worse} by {gap} points ({evidence}; {welch}; permutation test over seeds "
                f"{p_text(pair['seeds_p'])}, {pair['seeds_p_holm']:.2g} after Holm)."
            )
    for name, n_failed, n in (
        (pair["name_a"], pair["not_learned_a"], pair["n_a"]),
        (pair["name_b"], pair["not_learned_b"], pair["n_b"]),
    ):
        if n_failed:
            text += f" {n_failed} of {n} runs of {name} did not learn; they are counted."
    return text
