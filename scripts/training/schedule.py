"""The learning rate of every update, the same in both frameworks."""


def warmup_updates(total_updates, warmup_ratio):
    """Return the updates of the warm-up: floor(ratio * total)."""
    # A ratio such as 0.06 is not exact in binary: 0.06 * 1150 is 68.99999999999999 where 69 is intended.
    return int(round(total_updates * warmup_ratio, 9))


def learning_rate(update, peak, warmup, total):
    """Return the learning rate of one update: linear from 0 to `peak`, then linear to 0.

    After n updates the rate is p n / w up to n = w, then p (1 - (n - w) / (t - w)); update k is made
    with the rate of n = k - 1. So the first update of a warm-up has rate 0, and the last has p / (t - w).

    Args:
        update: k, 1-based.
        peak: p.
        warmup: w, updates of the warm-up; 0: none.
        total: t, updates of the run.

    Source: fairseq.optim.lr_scheduler.polynomial_decay_schedule with power 1 and end rate 0, and the
        calls of fairseq.trainer, which sets the rate for n = 0 before the first update; the same values
        as `transformers.get_linear_schedule_with_warmup`.
    """
    done = update - 1
    if warmup > 0 and done <= warmup:
        return done / float(warmup) * peak
    if done >= total:
        return 0.0
    return peak * (1 - (done - warmup) / (total - warmup))
