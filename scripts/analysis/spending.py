"""How looks share alpha, and the correction within one look; Holm's where no question has a margin.

Look k of K judges the open questions at s / K, with s = `SPENT` of alpha. A study of looks errs in at most s, whatever
the distribution of the data and however looks depend on each other, as long as each p of a false claim is valid
(P(p <= x) <= x):

- A question without a margin can make one false claim, where its contrast is 0. Before the first false claim of the
  study none of these is decided, so at every look all D0 of them are among the open ones.
- A question with a margin has one false claim: equality, or a difference beyond the margin. M such questions count M
  at every look and every step, whether they are decided or not: which of their claims is nearer depends on the data.
- At its first false claim a look therefore compares a p with at most (s / K) / (D0 + M), and only D0 + M p values
  can make it. By Bonferroni's inequality the look makes it with probability s / K at most; the sum over looks is s.

The p of few seeds is not quite valid where the arms spread unequally, since Satterthwaite's degrees of freedom are
estimated: where looks shared all of 5 %, up to 5.5 % of 20,000 simulated studies with SD 3 and 0.5 points made a wrong
claim. A fifth of alpha is kept for that (docs/method/looks-simulated.md).

Source: Holm 1979, Scandinavian Journal of Statistics 6(2), for the steps; Lan and DeMets 1983, Biometrika 70(3), for
spending alpha over looks. The shares sum to less, so no joint distribution of the looks is needed.
"""

# The part of alpha that looks share.
SPENT = 0.8


def share_of_look(options, n_looks):
    """Return a study's options with the `alpha` and the `level` of one look; of one judgement they are the study's."""
    part = SPENT / n_looks if n_looks > 1 else 1.0
    # Without the last bit of a product, 0.020000000000000004.
    return options | {"alpha": round(part * options["alpha"], 15), "level": 1 - part * (1 - options["level"])}


def corrected(claims, n_decided_margins=0):
    """Return the corrected p values of one look's questions: a claim is shown where it is at most the look's share.

    Args:
        claims: list of (p, whether the question has a margin); p is None where there is no test.
        n_decided_margins: questions with a margin that earlier looks decided.

    Returns:
        list: the largest p · (questions that count) of a question and those before it, at most 1; None as given.
    """
    order = sorted((place for place, (p, _) in enumerate(claims) if p is not None), key=lambda place: claims[place][0])
    counted, highest, found = len(claims) + n_decided_margins, 0.0, [None] * len(claims)
    for place in order:
        p, has_margin = claims[place]
        highest = max(highest, min(1.0, counted * p))
        found[place] = highest
        counted -= not has_margin
    return found
