"""Values of single answers for scores that are no mean over answers."""


def leave_one_out(value, rows):
    """Return jackknife pseudo-values: N times the score of all rows less N - 1 times that without each.

    Args:
        value: function of a list of rows.
        rows: N of them, at least 2.

    Source: Efron and Tibshirani 1993, An Introduction to the Bootstrap, section 11.5.
    """
    n, whole = len(rows), value(rows)
    return [n * whole - (n - 1) * value(rows[:i] + rows[i + 1 :]) for i in range(n)]
