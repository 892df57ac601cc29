"""What may be claimed of two arms, in words: never more than their tests carry."""

import re


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
        pair: dict with n_seeds_a, n_seeds_b, low, high, welch_p_holm, seeds_p_holm.
        alpha: significance.
    """
    if min(pair["n_seeds_a"], pair["n_seeds_b"]) < 2:
        return "one_seed"
    if pair["welch_p_holm"] is None or pair["welch_p_holm"] > alpha or pair["low"] <= 0 <= pair["high"]:
        return "none"
    return "difference" if pair["seeds_p_holm"] <= alpha else "if_normal"


def judge_fixed(row, alpha=0.05):
    """Return how much of a difference between an arm and a model without seeds can be claimed.

    `one_seed` nothing over seeds; `none` no difference; `difference` one, when seeds' accuracies are taken as normal.

    Args:
        row: dict with n_seeds, difference, low, high, p_holm (None where no answer varies).
        alpha: significance.
    """
    if row["n_seeds"] < 2:
        return "one_seed"
    shown = row["p_holm"] is None or row["p_holm"] <= alpha
    return "difference" if shown and not row["low"] <= 0 <= row["high"] else "none"


def verdict(pair, alpha=0.05, level=0.95):
    """Return one to three sentences that say what can be claimed of a pair of arms, and never more.

    Args:
        pair: a row of pairs.tsv: name_a, name_b, n_seeds_a, n_seeds_b, n_test, difference, low, high, welch_p,
            welch_p_holm, seeds_p, seeds_p_holm, seeds_p_floor, items_p, minimum_detectable; and n_welch and n_permuted
            (tests that Holm's correction is over: of pairs for which they are defined), mcnemar (list of p),
            not_learned_a, not_learned_b, texts (what the study's texts are called, as in "reviews").
        alpha: significance.
        level: of the pair's interval.
    """
    names = [pair["name_a"], pair["name_b"]]
    better, worse = names if pair["difference"] >= 0 else names[::-1]
    say = {"one_seed": _one_seed, "none": _none, "if_normal": _if_normal, "difference": _difference}
    text = say[judge(pair, alpha)](pair, better, worse, alpha, level)
    for side in "ab":
        if pair[f"not_learned_{side}"]:
            text += (
                f" {pair[f'not_learned_{side}']} of {pair[f'n_seeds_{side}']} runs of {pair[f'name_{side}']} did not "
                "learn; they are counted."
            )
    return text


def _seeds(pair):
    return f"{pair['n_seeds_a']} against {pair['n_seeds_b']} seeds"


def _gap(pair):
    gap = points(abs(pair["difference"]), sign=False)
    return f"by {gap} points" if gap != "0.00" else "by less than a hundredth of a point"


def _ahead(pair, better):
    return f"{better} is ahead {_gap(pair)}" if pair["difference"] else "their means are equal"


def _evidence(pair, level):
    """Return the interval in favour of the better arm, the numbers of seeds and reviews, and Welch's test."""
    bounds = (pair["low"], pair["high"]) if pair["difference"] >= 0 else (-pair["high"], -pair["low"])
    interval = f"{100 * level:g} % interval {points(bounds[0])} to {points(bounds[1])}, over seeds and {pair['texts']}"
    welch = "Welch's test is not defined: the seeds do not vary"
    if pair["welch_p"] is not None:
        pairs = f"{pair['n_welch']} {'pair' if pair['n_welch'] == 1 else 'pairs'}"
        welch = f"Welch's t-test {p_text(pair['welch_p'])}, {pair['welch_p_holm']:.2g} after Holm for {pairs}"
    return f"{interval}; {_seeds(pair)}, {pair['n_test']} test {pair['texts']}; {welch}"


def _one_seed(pair, better, worse, alpha, level):
    means = "The means of these trained models are equal"
    if pair["difference"]:
        means = f"Of these trained models, {_ahead(pair, better)}"
    text = (
        f"Nothing can be claimed about {pair['name_a']} against {pair['name_b']} as ways of training: {_seeds(pair)} "
        f"give no interval. {means} on {pair['n_test']} test {pair['texts']}"
    )
    if pair["mcnemar"]:
        text += f" (exact McNemar test of one run against one: {', '.join(p_text(p) for p in pair['mcnemar'])})"
    return text + "."


def _none(pair, better, worse, alpha, level):
    text = (
        f"No difference can be claimed between {pair['name_a']} and {pair['name_b']}: {_ahead(pair, better)} "
        f"({_evidence(pair, level)})."
    )
    if pair["welch_p"] is not None and not pair["low"] <= 0 <= pair["high"]:
        text += " The interval leaves 0 out, but it is not corrected for the number of pairs; the test is."
    missed = points(pair["minimum_detectable"], sign=False)
    if missed != "0.00":
        text += f" An uncorrected t-test would miss a true difference below {missed} points more than one time in five."
    return text


def _if_normal(pair, better, worse, alpha, level):
    reason = "so it does not confirm the difference"
    if pair["seeds_p_floor"] * pair["n_permuted"] > alpha:
        reason = f"and {_seeds(pair)} cannot give a permutation p below {pair['seeds_p_floor']:.2g}"
    return (
        f"{better} is better than {worse} {_gap(pair)} ({_evidence(pair, level)}), if the accuracies of seeds are "
        f"taken as normal. The permutation test over seeds, which assumes only that runs are exchangeable, gives "
        f"{p_text(pair['seeds_p'])} ({pair['seeds_p_holm']:.2g} after Holm), {reason}."
    )


def _difference(pair, better, worse, alpha, level):
    return (
        f"{better} is better than {worse} {_gap(pair)} ({_evidence(pair, level)}; permutation test over seeds "
        f"{p_text(pair['seeds_p'])}, {pair['seeds_p_holm']:.2g} after Holm)."
    )


def without_names(text, names):
    """Return a text without these names, each where it is a whole word: an arm 1 leaves 1.5 and 1e-05 alone."""
    words = "|".join(map(re.escape, sorted(names, key=len, reverse=True)))
    return re.sub(rf"(?<![\w.+\-\u2212])(?:{words})(?!\w|\.\d)", "", text) if words else text
