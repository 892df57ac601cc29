"""Draw what LoRA adds to an adapted matrix: frozen W beside the trained A and B, with this study's sizes."""

import re

from analysis.looks import PALETTE
from common.entry import run
from common.errors import StudyError
from common.files import read_tsv
from study.figures import FAINT, save, set_style

# build_lora_ledger writes the adapted matrices in this form: 24 × query_key_value (3072 × 1024).
MATRICES = re.compile(r"(\d+) × (\w+) \((\d+) × (\d+)\)")
FROZEN = "#d0d7de"


def sizes(ledger):
    """Return what the drawing names: the first model's first adapted matrix.

    Args:
        ledger: path of qa/lora_ledger.tsv.

    Returns:
        dict: n (matrices of the kind), module, out, in, rank, alpha; all texts.

    Raises:
        StudyError: the ledger lacks them.
    """
    rows = read_tsv(ledger)
    found = {row["setting"]: row for row in rows if (row["model"], row["arm"]) == (rows[0]["model"], rows[0]["arm"])}
    match = MATRICES.search(found.get("target_modules", {}).get("formula", ""))
    if not match or "lora_alpha" not in found:
        raise StudyError(f"{ledger} names no adapted matrix: make the ledger again")
    facts = dict(zip(("n", "module", "out", "in"), match.groups(), strict=True))
    return facts | {"rank": rows[0]["rank"], "alpha": found["lora_alpha"]["value"]}


def draw(facts):
    """Return the figure.

    Args:
        facts: from `sizes`.
    """
    from matplotlib import pyplot

    set_style()
    figure, axes = pyplot.subplots(figsize=(7.2, 4.2), layout="constrained")
    axes.set_xlim(0, 100)
    axes.set_ylim(0, 60)
    axes.axis("off")
    fused = facts["module"] == "query_key_value"
    box(axes, (2, 24, 12, 12), f"input x\n{facts['in']}", "white")
    if fused:
        for low, part in ((48, "values"), (42, "keys"), (36, "queries")):
            box(axes, (30, low, 30, 6), part, FROZEN)
        axes.text(45, 55.5, f"W ({facts['out']} × {facts['in']}), frozen, fused", ha="center")
    else:
        box(axes, (30, 36, 30, 18), f"W ({facts['out']} × {facts['in']})\nfrozen", FROZEN)
    box(axes, (26, 9, 14, 8), f"A\n{facts['rank']} × {facts['in']}", PALETTE[0], "white")
    box(axes, (50, 4, 14, 18), f"B\n{facts['out']} × {facts['rank']}", PALETTE[1], "white")
    axes.text(33, 1, "starts random", ha="center", fontsize=9, color=FAINT)
    axes.text(57, 1, "starts at 0", ha="center", fontsize=9, color=FAINT)
    axes.text(66, 8, f"× α/r = {facts['alpha']}/{facts['rank']}", fontsize=9)
    box(axes, (76, 27, 6, 6), "+", "white")
    box(axes, (88, 24, 11, 12), f"output\n{facts['out']}", "white")
    for start, end in (
        ((14, 31), (30, 42)),
        ((14, 29), (26, 14)),
        ((40, 13), (50, 13)),
        ((64, 13), (77, 27)),
        ((60, 44), (77, 33)),
        ((82, 30), (88, 30)),
    ):
        axes.annotate("", end, start, arrowprops={"arrowstyle": "-|>", "color": FAINT, "linewidth": 1.3})
    axes.text(84, 55.5, f"{facts['n']} such matrices", ha="center", fontsize=9, color=FAINT)
    return figure


def box(axes, place, text, colour, ink="black"):
    """Draw a box with a text in its middle; place: left, bottom, width, height."""
    from matplotlib.patches import Rectangle

    left, bottom, width, height = place
    axes.add_patch(Rectangle((left, bottom), width, height, facecolor=colour, edgecolor=FAINT, linewidth=1))
    axes.text(left + width / 2, bottom + height / 2, text, ha="center", va="center", color=ink)


def main(ledger, svg, png):
    """Write the figure as SVG and PNG.

    Args:
        ledger: qa/lora_ledger.tsv.
        svg: figure to write.
        png: figure to write.

    Raises:
        StudyError: the ledger names no adapted matrix.
    """
    save(
        draw(sizes(ledger)), svg, png, "LoRA: a frozen matrix and the two small ones that are trained beside it", ledger
    )


if __name__ == "__main__":
    run(main, snakemake)
