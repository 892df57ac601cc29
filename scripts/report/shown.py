"""What a claim on two arms looks like on the page, and why nothing is claimed."""

# What the files' claims are called where nothing is claimed.
WORDS = {"one_seed": "one seed only", "none": "not shown"}


def conditioned(text, sure):
    """Return a claim with its condition, where it has one."""
    return text if sure else f"{text}, assuming normality"


def shade(claim):
    """Return the CSS class of a claim: is it shown, shown on a condition, or not."""
    return {"difference": "shown", "if_normal": "partly"}.get(claim, "open")


def unshown(row):
    """Return why a pair or a row of recipes/differences.tsv shows nothing: `interval`, `undefined` or `correction`.

    An interval that leaves 0 out, which is never narrower than Welch's, has an uncorrected p below alpha.
    """
    if not row["low"] or float(row["low"]) <= 0 <= float(row["high"]):
        return "interval"
    return "correction" if row["welch_p_holm"] else "undefined"
