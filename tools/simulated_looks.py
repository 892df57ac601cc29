"""Simulate studies with looks: how often a claim is wrong, and how many seeds a true difference takes.

Every pattern of looks judges the same drawn studies, and a look sees the first seeds of those that a later one sees.
A question is judged by the functions that fill questions.tsv, at the look's share of alpha.
"""

import dataclasses
import math
import zlib

import numpy as np
from scipy.special import ndtr, ndtri

from analysis import contrasts
from analysis.arm_pairs import OPTIONS
from analysis.contrasts import Term
from analysis.judging import judged, tested
from analysis.spending import SPENT, share_of_look
from tools import planning
from tools.simulated import ALPHA, GAP, N_TEXTS, OF_ARM, OF_TEXT, draw_right

# Another seed than that of the simulations which showed that looks must share less than all of alpha.
SEED, BLOCK, STUDIES = 53, 1000, 2000
# Chosen before any was simulated: two to five looks, early and late ones.
PATTERNS = (
    (2, 3),
    (2, 4),
    (3, 5),
    (3, 6),
    (5, 10),
    (2, 5, 10),
    (3, 5, 10),
    (4, 7, 10),
    (3, 5, 7, 10),
    (2, 4, 6, 8, 10),
)
CLAIMS = ("difference", "equal", "beyond")
ACCURACY, MARGIN, POWERS = 0.8, GAP, (0.8, 0.95)
# The fixed design and that with looks, from the planned number of seeds alone.
RULE = (0.5, 1.0, 1.5)
COLUMNS = (
    "kind spread looks studies difference_wrong equal_wrong beyond_wrong planned_power fixed_seeds fixed_found "
    "looks_found looks_seeds same_power_seeds"
).split()


@dataclasses.dataclass(frozen=True)
class Spread:
    """How accuracy varies over the seeds of two arms: standard deviations, and whether the tails are heavy.

    Where claims err most, more studies are drawn: `studies`.
    """

    name: str
    sd: tuple
    heavy: bool = False
    studies: int = 4000

    def draw(self, gap, n_seeds, generator):
        """Return the accuracies of both arms' runs; the first arm is ahead by `gap` on average."""
        arms = []
        for ahead, sd in zip((gap, 0.0), self.sd, strict=True):
            # Student's t of 3 degrees of freedom has a variance of 3.
            drawn = (
                generator.standard_t(3, n_seeds) / math.sqrt(3) if self.heavy else generator.standard_normal(n_seeds)
            )
            arms.append(np.clip(ACCURACY + ahead + sd * drawn, 0.001, 0.999))
        return arms


SPREADS = (
    Spread("SD 1", (0.01, 0.01)),
    Spread("SD 3 and 0.5", (0.03, 0.005), studies=10_000),
    Spread("SD 2, heavy tails", (0.02, 0.02), heavy=True),
)


def variances(spread, gap):
    """Return what a plan starts from, (variance of a text's contrast, [(variance of seeds, noise)]), of the model."""
    generator, n = np.random.default_rng(SEED), 200_000
    of_text, shares = generator.standard_normal(n), []
    for ahead in (gap, 0.0):
        hard = math.sqrt(OF_TEXT) * of_text + math.sqrt(OF_ARM) * generator.standard_normal(n)
        shares.append(ndtr((ndtri(ACCURACY + ahead) - hard) / math.sqrt(1 - OF_TEXT - OF_ARM)))
    arms = [(sd**2, float((one * (1 - one)).mean())) for sd, one in zip(spread.sd, shares, strict=True)]
    return float((shares[0] - shares[1]).var()), arms


def designs():
    """Return [(spread, planned power, seeds of the fixed design, looks)], by the plan and `RULE`."""
    found = []
    for spread in SPREADS:
        of_items, arms = variances(spread, 2 * MARGIN)
        for power in POWERS:
            # Beyond the margin, the rest of the difference is tested against 0, on one side.
            fixed = planning.fewest_seeds(MARGIN, ALPHA, power, of_items, arms, N_TEXTS)
            found.append((spread, power, fixed, tuple(math.ceil(part * fixed) for part in RULE)))
    return found


def claims(arms, numbers, margin):
    """Return {number of seeds: {alpha: claim}} as a function: the claim at a level, or `open`.

    Args:
        arms: (S, N) arrays of both arms.
        numbers: of seeds.
        margin: of equality, or None.
    """
    rows = {}
    for n in numbers:
        terms = [Term(1, arms[0][:n]), Term(-1, arms[1][:n])]
        row = {"score_difference": contrasts.per_item(terms).mean(), "equal_within": margin}
        rows[n] = row | tested(row, terms)
    return lambda n, alpha: judged(rows[n] | {"p_holm": rows[n]["p"], "alpha": alpha})


def looked(said, looks):
    """Return (claim, seeds used) of a study with looks; all have an equal share of alpha."""
    alpha = share_of_look(OPTIONS, len(looks))["alpha"]
    for n in looks:
        if (claim := said(n, alpha)) != "open":
            return claim, n
    return "open", looks[-1]


def studies_of(spread, gap, n_seeds, studies, block=0):
    """Yield both arms' answers of each study of a block, from the spread's, the difference's and the block's seed."""
    generator = np.random.default_rng([SEED, zlib.crc32(spread.name.encode()), round(1000 * gap), block])
    for _ in range(studies):
        yield draw_right(spread.draw(gap, n_seeds, generator), generator)


def wrong_claims(spread, studies, block=0):
    """Return the rows of a block of a spread's studies, one for each of `PATTERNS`."""
    numbers, most = sorted({n for looks in PATTERNS for n in looks}), max(map(max, PATTERNS))
    counts = {looks: dict.fromkeys((f"{name}_wrong" for name in CLAIMS), 0) for looks in PATTERNS}
    for gap, margin in ((0.0, None), (MARGIN, MARGIN)):
        for arms in studies_of(spread, gap, most, studies, block):
            said = claims(arms, numbers, margin)
            for looks, row in counts.items():
                if (claim := looked(said, looks)[0]) != "open":
                    row[f"{claim}_wrong"] += 1
    return [
        {"kind": "wrong", "spread": spread.name, "looks": " ".join(map(str, looks)), "studies": studies, **row}
        for looks, row in counts.items()
    ]


def seeds_taken(design, studies):
    """Return the row of a design at a true difference of twice the margin."""
    spread, power, fixed, looks = design
    # Enough for a fixed design as powerful as the looks.
    numbers = range(2, looks[-1] + 1)
    found, taken, alone = 0, 0, dict.fromkeys(numbers, 0)
    for arms in studies_of(spread, 2 * MARGIN, looks[-1], studies):
        said = claims(arms, numbers, MARGIN)
        claim, n = looked(said, looks)
        found, taken = found + (claim == "beyond"), taken + n
        for one in numbers:
            alone[one] += said(one, ALPHA) == "beyond"
    same = next((n for n in numbers if alone[n] >= found), looks[-1])
    return {
        **{"kind": "seeds", "spread": spread.name, "looks": " ".join(map(str, looks)), "studies": studies},
        **{"planned_power": power, "fixed_seeds": fixed, "fixed_found": alone[fixed], "looks_found": found},
        **{"looks_seeds": taken / studies, "same_power_seeds": same},
    }


def job(task):
    """Return the rows of one task of `tasks`."""
    kind, what, studies, block = task
    return wrong_claims(what, studies, block) if kind == "wrong" else [seeds_taken(what, studies)]


def tasks(studies=None):
    """Return what `job` is called with: blocks of studies where a claim is wrong, and the designs.

    Args:
        studies: of each row; None: as many as `Spread.studies`, and `STUDIES` of a design.
    """
    found = []
    for spread in SPREADS:
        n = studies or spread.studies
        found += [("wrong", spread, min(BLOCK, n - start), block) for block, start in enumerate(range(0, n, BLOCK))]
    return found + [("seeds", one, studies or STUDIES, 0) for one in designs()]


def summed(rows):
    """Return the rows with the blocks of a spread's looks added up, in their order."""
    found = []
    for row in rows:
        known = [one for one in found if all(one[key] == row[key] for key in ("kind", "spread", "looks"))]
        if row["kind"] == "wrong" and known:
            known[0] |= {key: known[0][key] + n for key, n in row.items() if isinstance(n, int)}
        else:
            found.append(dict(row))
    return found


def share(row, name):
    """Return the share of a row's studies that make a wrong claim, in per cent."""
    return 100 * int(row[f"{name}_wrong"]) / int(row["studies"])


def error(studies):
    """Return the standard error of a share of 5 % in so many studies, in points."""
    return 100 * math.sqrt(0.05 * 0.95 / studies)


def page_of(rows):
    """Return docs/method/looks-simulated.md from the rows of its record."""
    wrong, seeds = ([row for row in rows if row["kind"] == kind] for kind in ("wrong", "seeds"))
    of_seeds = int(seeds[0]["studies"])
    most = max(share(row, name) for row in wrong for name in CLAIMS)
    lines = [
        "# Simulated looks",
        "",
        "How often a study with looks makes a wrong claim, and how many seeds it takes. Written by",
        "`python -m tools.simulate --only looks` from `docs/method/looks-simulated.tsv`; the tests draw a part again.",
        "",
        f"Each study has {N_TEXTS:,} test texts, two arms and one question, and is drawn from seeds fixed",
        "beforehand. Accuracy is 80 %. SD is the standard deviation over seeds, in points; heavy tails are those of",
        f"Student's t with 3 degrees of freedom. Looks share {100 * SPENT * ALPHA:g} % equally",
        "([why not 5 %](statistics.md#looks)).",
        "",
        "## Claims that are wrong",
        "",
        "Shares in per cent. *Difference*: the arms are equal, and some look shows a difference. The arms differ by",
        f"{100 * MARGIN:g} points. *Equal*: some look shows equality within {100 * MARGIN:g}. *Beyond*: some",
        f"look shows a difference of more. The largest share is {most:.1f} %. The Monte-Carlo standard error of a",
        f"share of 5 % is {error(4000):.2f} points with 4,000 studies, {error(10_000):.2f} with 10,000.",
        "",
        "| looks, seeds | spread | studies | difference | equal | beyond |",
        "|---|---|---:|---:|---:|---:|",
    ]
    for row in wrong:
        cells = [f"{int(row['studies']):,}", *(f"{share(row, name):.1f}" for name in CLAIMS)]
        lines.append(f"| {row['looks'].replace(' ', ', ')} | {row['spread']} | {' | '.join(cells)} |")
    lines += [
        "",
        "## Seeds that a true difference takes",
        "",
        f"The arms differ by {200 * MARGIN:g} points, twice the margin, and the question asks for equality within",
        f"{100 * MARGIN:g}. Both designs were chosen by rule before any study was drawn: the fixed one has the fewest",
        "seeds whose planned power is the one given; the looks are half of these seeds, as many, and half as many",
        "again. *Found*: a difference beyond the margin is shown. The last column has the fewest seeds with which a",
        f"fixed design finds as many in the same studies. Each row has {of_seeds:,} studies.",
        "",
        "| spread | planned power | fixed seeds | found, % | looks | found, % | mean seeds | fixed seeds for as many |",
        "|---|---:|---:|---:|---|---:|---:|---:|",
    ]
    for row in seeds:
        found = [f"{100 * int(row[f'{name}_found']) / of_seeds:.1f}" for name in ("fixed", "looks")]
        lines.append(
            f"| {row['spread']} | {100 * float(row['planned_power']):g} % | {row['fixed_seeds']} | {found[0]} | "
            f"{row['looks'].replace(' ', ', ')} | {found[1]} | {float(row['looks_seeds']):.2f} | "
            f"{row['same_power_seeds']} |"
        )
    return "\n".join(lines) + "\n"
