"""Arms of the sentiment study: names, order, colours and the summary of an arm's seeds."""

import statistics

from common.errors import StudyError

# Okabe and Ito's palette, told apart with every common colour vision; yellow is left out (illegible on white).
PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
# The fixed order decides an arm's default colour, so that the colour never depends on which arms a study has.
ORDER = ("fairseq-pretrained", "fairseq-random", "huggingface-pretrained", "huggingface-random")
FRAMEWORKS = {"fairseq": "fairseq", "huggingface": "Hugging Face"}


def arm_key(framework, init):
    """Return the arm's identifier, such as `fairseq-pretrained` (as in the config's `report.colours`)."""
    return f"{framework}-{init}"


def arm_label(framework, init):
    """Return the arm's name for readers, such as `Hugging Face, pretrained`."""
    return f"{FRAMEWORKS.get(framework, framework)}, {init}"


def run_label(framework, init, seed):
    """Return the run's name for messages, such as `fairseq/random/seed2`."""
    return f"{framework}/{init}/seed{seed}"


def arms_of(rows):
    """Return the (framework, init) pairs of `rows`, each once, in order of first appearance."""
    return list(dict.fromkeys((row["framework"], row["init"]) for row in rows))


def colour_of(framework, init, colours=None):
    """Return the colour of an arm as `#RRGGBB`.

    Args:
        framework: of the arm.
        init: of the arm.
        colours: mapping of `arm_key` to colour, or None; an arm that it lacks has its default.

    Raises:
        StudyError: the configured colour is not `#RRGGBB`.
    """
    key = arm_key(framework, init)
    colour = (colours or {}).get(key)
    if colour is None:
        # An arm outside ORDER takes a colour by its name, which other arms cannot change.
        place = ORDER.index(key) if key in ORDER else len(ORDER) + sum(key.encode()) % (len(PALETTE) - len(ORDER))
        return PALETTE[place]
    digits = colour[1:] if isinstance(colour, str) else ""
    if len(digits) != 6 or colour[0] != "#" or any(digit not in "0123456789abcdefABCDEF" for digit in digits):
        raise StudyError(f"report.colours.{key} is {colour!r}: write it as '#RRGGBB'")
    return colour


def summarise(values):
    """Return n, mean, both standard deviations, min and max of an arm's seeds.

    Args:
        values: list of n >= 1 fractions.

    Returns:
        dict: n_seeds, mean, sd_ddof1 (None when n = 1), sd_ddof0, min, max; fractions. The sums are exact
        (the `statistics` module), so the order of the seeds cannot change the last digit.
    """
    return {
        "n_seeds": len(values),
        "mean": statistics.mean(values),
        "sd_ddof1": statistics.stdev(values) if len(values) > 1 else None,
        "sd_ddof0": statistics.pstdev(values),
        "min": min(values),
        "max": max(values),
    }


def t_interval(values, level=0.95):
    """Return Student's interval of the mean over seeds: mean -/+ t(level, n-1) * sd(ddof 1) / sqrt(n).

    Args:
        values: list of n fractions.
        level: coverage, between 0 and 1.

    Returns:
        tuple[float, float] or None: None with fewer than two values, which say nothing of their spread.
    """
    if len(values) < 2:
        return None
    from scipy import stats

    mean = statistics.mean(values)
    half = float(stats.t.ppf((1 + level) / 2, len(values) - 1)) * statistics.stdev(values) / len(values) ** 0.5
    return mean - half, mean + half


def percent(fraction, decimals=2):
    """Return a fraction as a percentage with fixed decimals and no sign, such as `79.50`; `` for None or ``."""
    if fraction in (None, ""):
        return ""
    return f"{100 * float(fraction):.{decimals}f}"
