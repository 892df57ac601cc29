"""The record of a benchmark as Markdown."""

import statistics

from plain_commands import FRAMEWORKS

# The targets: the largest ratio workflow / plain, the smallest share of the peak in per cent, the largest process in
# MB; for pretraining 1.5 times the tokens a second of the first published one (on an AMD EPYC with bfloat16).
AIMS = {"table": 0.18, "share_of_peak": 65, "peak_mb": 1500, "tokens_per_second": 6680}


def summary(plain, workflow):
    """Return medians and the ratio workflow / plain, with the smallest and largest ratio of the rounds."""
    found = {}
    for key in ("seconds", "cpu_seconds", "update_seconds", "startup_seconds", "peak_mb"):
        ours, theirs = [cost[key] for cost in workflow], [cost[key] for cost in plain]
        ratios = [a / b for a, b in zip(ours, theirs, strict=True)]
        found[key] = {
            "workflow": statistics.median(ours),
            "plain": statistics.median(theirs),
            "ratio": statistics.median(ours) / statistics.median(theirs),
            "ratio_range": [min(ratios), max(ratios)],
        }
    return found


def number(value):
    """Return a number with three digits that count, and no exponent."""
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}"


def pretraining_lines(record):
    """Return the table's lines of a record's part on pretraining."""
    update, rate = record["runs"]["update_seconds"], record["rates"]
    low, high = update["ratio_range"]
    lines = [
        f"| pretraining: an update of {record['tokens_per_update']} tokens | s | {number(update['plain'])} "
        f"| {number(update['workflow'])} | {update['ratio']:.2f} | {low:.2f} to {high:.2f} |"
    ]
    for name, unit, key, scale in (
        (f"tokens a second (aim: {AIMS['tokens_per_second']} with bfloat16)", "1/s", "tokens_per_second", 1),
        (f"share of the matrix peak used (aim: {AIMS['share_of_peak']})", "%", "share_of_peak", 100),
    ):
        sides = (f"{scale * rate[side][key]:.0f}" for side in ("plain", "workflow"))
        lines.append(f"| pretraining: {name} | {unit} | {' | '.join(sides)} | | |")
    return lines


def markdown(record):
    """Return a benchmark's record as tables."""
    lines = [
        f"Mode `{record['mode']}`: {record['n_train']} training reviews, {record['epochs']} epoch(s), "
        f"{record['rounds']} round(s), {record['machine']['cores']} cores of {record['machine']['cpu']}, "
        f"precision {record['precision']}; commit `{record['commit'][:12]}`, {record['ended'][:10]}.",
        "",
        "| what | unit | plain | workflow | workflow / plain | rounds |",
        "|---|---|---|---|---|---|",
    ]
    names = {
        "update_seconds": ("an update of 8 reviews", "s"),
        "seconds": ("one run alone, start to test predictions", "s"),
        "cpu_seconds": ("its processor time", "s"),
        "startup_seconds": ("until its first update", "s"),
        "peak_mb": (f"largest process (aim: {AIMS['peak_mb']})", "MB"),
    }
    # Earlier records have no tuned side.
    sides = {"": record["runs"], "; plain is tuned": record.get("tuned", {})}
    for framework in FRAMEWORKS:
        for key, (name, unit) in names.items():
            for note, runs in sides.items():
                if framework in runs:
                    row = runs[framework][key]
                    low, high = row["ratio_range"]
                    lines.append(
                        f"| {framework}: {name}{note} | {unit} | {number(row['plain'])} | {number(row['workflow'])} "
                        f"| {row['ratio']:.2f} | {low:.2f} to {high:.2f} |"
                    )
    for framework in FRAMEWORKS:
        rate = record["rates"][framework]
        lines.append(
            f"| {framework}: real tokens a second | 1/s | {rate['plain']['tokens_per_second']:.0f} "
            f"| {rate['workflow']['tokens_per_second']:.0f} | | |"
        )
        lines.append(
            f"| {framework}: share of the matrix peak used (aim: {AIMS['share_of_peak']}) | % "
            f"| {100 * rate['plain']['share_of_peak']:.0f} | {100 * rate['workflow']['share_of_peak']:.0f} | | |"
        )
    for framework, pair in record["packed"].items():
        lines.append(
            f"| {framework}: {pair['runs']} runs at once on one core each, per run | s "
            f"| {record['runs'][framework]['seconds']['plain']:.3g} | {pair['seconds_per_run']:.3g} "
            f"| {pair['ratio']:.2f} | |"
        )
    table = record["table"]
    kind = "workflow measured" if table["measured"] else "from the runs at once"
    lines.append(
        f"| the table of nine runs, {kind} (aim: {AIMS['table']}) | s | {table['plain']:.0f} "
        f"| {table['workflow']:.0f} | {table['ratio']:.2f} | |"
    )
    lines += pretraining_lines(record["pretraining"]) if "pretraining" in record else []
    peaks = ", ".join(f"{name} {value:.0f}" for name, value in record["matrix_peak_gflops"].items())
    return "\n".join([*lines, "", f"Matrix-product peak, GFLOP/s: {peaks}.", ""])
