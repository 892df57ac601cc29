"""Derive the parameter count by hand: each term with its symbols and its numbers, running totals, published counts."""

import yaml

from analysis.parameter_counts import CONVENTIONS, PUBLISHED, count_by, spaced
from common.entry import run
from common.errors import StudyError
from common.files import read_tsv, reading
from study.rule_parameters import PUBLISHED_SIZE, terms
from study.tables import write_table

SYMBOLS = {
    "V": ("vocab_size", "entries of the vocabulary"),
    "D": ("width", "width: numbers that stand for a token"),
    "F": ("ffn_width", "width of the feed-forward layer"),
    "L": ("layers", "encoder layers"),
    "P": ("max_positions", "positions that an input can use"),
}
# A step that adds up earlier ones of its scope is no part of the running total.
SUBTOTAL = "subtotal"
# Steps: part, scope (a layer's, or the model's), formula as a product or sum of symbols, and the convention whose count
# is reached (the terms that it lacks or has besides are in `CONVENTIONS`), or `SUBTOTAL`.
STEPS = (
    ("token embeddings", "model", "V·D", None),
    ("query matrix W_q", "layer", "D·D", None),
    ("key matrix W_k", "layer", "D·D", None),
    ("value matrix W_v", "layer", "D·D", None),
    ("query, key and value matrices together", "layer", "3·D·D", SUBTOTAL),
    ("output projection W_o", "layer", "D·D", None),
    ("first feed-forward matrix", "layer", "D·F", None),
    ("second feed-forward matrix", "layer", "F·D", None),
    ("both feed-forward matrices together", "layer", "2·D·F", SUBTOTAL),
    ("matrices of one layer", "layer", "4·D·D + 2·D·F", SUBTOTAL),
    ("matrices of all layers", "model", "L·(4·D·D + 2·D·F)", "matrices"),
    ("positions", "model", "P·D", "positions"),
    ("two further rows of the position table", "model", "2·D", "position_table"),
    ("token and position embeddings together", "model", "V·D + P·D + 2·D", SUBTOTAL),
    ("biases of one layer: attention, feed-forward", "layer", "4·D + F + D", None),
    ("two LayerNorms of one layer, scale and shift", "layer", "4·D", None),
    ("biases and LayerNorms of all layers, LayerNorm of the embeddings", "model", "L·(9·D + F) + 2·D", "encoder"),
    (
        "classification head: dense layer, projection to the classes",
        "model",
        "D·D + D + {classes}·D + {classes}",
        "classifier",
    ),
    ("in Hugging Face: token-type table of one row", "model", "D", "classifier_huggingface"),
    ("in fairseq instead: language-model head, its projection tied", "model", "D·D + 3·D + V", "classifier_fairseq"),
)
# A slip is marked where its count leaves the derivation, not where it arrives.
SLIP, DEPARTS_AT = "four_matrices", "output projection W_o"
NOTES = {
    "query matrix W_q": "all heads together: H heads of D·D/H each, so the number of heads H does not matter",
    "query, key and value matrices together": "the three rows above",
    "both feed-forward matrices together": "the two rows above",
    "matrices of one layer": "the six matrices above",
    "token and position embeddings together": "the first row and the two above",
    "two further rows of the position table": "padding index 1 shifts positions by 2",
    "in fairseq instead: language-model head, its projection tied": "without the row above",
}


def sizes(ledger):
    """Return the sizes of the model that a ledger's terms describe: V, D, F, L and P solved from its counts.

    Args:
        ledger: rows of parameter_ledger.tsv.

    Returns:
        dict: the arguments of `study.rule_parameters.terms`.

    Raises:
        StudyError: no sizes give the ledger's terms.
    """
    known = {row["item"]: int(row["count"]) for row in ledger if row["section"] == "term"}
    try:
        d = known["shift"] // 2
        n = known["attention"] // (4 * d * d)
        size = {
            "vocab_size": known["tokens"] // d,
            "width": d,
            "ffn_width": known["feed_forward"] // (2 * n * d),
            "layers": n,
            "max_positions": known["positions"] // d,
            "classes": (known["head"] - d * d - d) // (d + 1),
        }
    except (KeyError, ZeroDivisionError) as error:
        raise StudyError("parameter_ledger.tsv lacks a term: run rule build_parameter_ledger again") from error
    found = terms(**size)
    wrong = [name for name, count in known.items() if name in found and found[name][1] != count]
    if wrong:
        raise StudyError(f"no model has the terms of parameter_ledger.tsv: {', '.join(wrong)} do not fit the others")
    return size


def evaluate(formula, values):
    """Return the value of a formula such as `L·(4·D·D + 2·D·F)`.

    Args:
        formula: sums and products of whole numbers and symbols, one pair of brackets at most.
        values: {symbol: int}.
    """
    if "(" in formula:
        before, rest = formula.split("(")
        inside, after = rest.split(")")
        return evaluate(before.rstrip("·"), values) * evaluate(inside, values) + (
            evaluate(after.removeprefix(" + "), values) if after else 0
        )
    total = 0
    for product in formula.split(" + "):
        value = 1
        for factor in product.split("·"):
            value *= values[factor] if factor in values else int(factor)
        total += value
    return total


def substituted(formula, values):
    """Return the formula with numbers for its symbols."""
    for symbol, value in values.items():
        formula = formula.replace(symbol, spaced(value))
    return formula.replace("·", " · ")


def derive(model, size, published, sources):
    """Yield the steps for one model.

    Args:
        model: "study" or "reports".
        size: as `sizes` returns it.
        published: {convention: (count, its words)} of the counts to show beside the steps; empty: none.
        sources: {count: who gave it}; a subtotal is shown where somebody gave it.
    """
    values = {symbol: size[key] for symbol, (key, _) in SYMBOLS.items()}
    for number, (part, scope, formula, convention) in enumerate(STEPS, start=1):
        formula = formula.format(**size)
        here = SLIP if part == DEPARTS_AT else convention
        count = evaluate(formula, values)
        shown, words = published.get(here, (None, None))
        if published and here == SUBTOTAL and count in sources:
            shown = count
        total = convention if convention != SUBTOTAL else None
        note = NOTES.get(part, "")
        if shown and here == SLIP:
            note = words
        yield {
            "model": model,
            "step": number,
            "part": part,
            "scope": scope,
            "formula": formula,
            "substituted": substituted(formula, values),
            "count": count,
            "total": count_by(size, total) if total else count if number == 1 else None,
            "published": shown,
            "source": sources.get(shown) if shown else None,
            "note": note,
        }


def published_sources(path):
    """Return {count: where it was published} of the counts that the claims quote.

    Args:
        path: claims/published.yaml.
    """
    with reading(path), open(path, encoding="utf-8") as handle:
        claims = yaml.safe_load(handle)["claims"]
    found = {}
    for claim in claims:
        if claim["assertion"] in ("parameter_count", "parameter_subtotal"):
            found.setdefault(int(claim["count"]), []).append(claim["source"])
    return {count: "; ".join(sources) for count, sources in found.items()}


def main(ledger, claims, derivation, symbols):
    """Write the derivation and the symbols.

    Args:
        ledger: parameter_ledger.tsv, whose terms give the sizes of the study's model.
        claims: claims/published.yaml, which says who published a count; [] where that does not matter.
        derivation: TSV to write, for the study's model, then for the reports' where its size is another and matters.
        symbols: TSV to write: symbol, meaning, and the two models' values.

    Raises:
        StudyError: see `sizes`.
    """
    size = sizes(read_tsv(ledger))
    published = {name: (count, CONVENTIONS[name][1]) for count, name in PUBLISHED.items()}
    sources, same = published_sources(claims) if claims else {}, size == PUBLISHED_SIZE
    rows = list(derive("study", size, published if same and claims else {}, sources))
    if claims and not same:
        rows += derive("reports", PUBLISHED_SIZE, published, sources)
    write_table(derivation, "derivation", rows)
    rows = [
        {"symbol": symbol, "meaning": words, "study_value": size[key], "reports_value": PUBLISHED_SIZE[key]}
        for symbol, (key, words) in SYMBOLS.items()
    ]
    write_table(symbols, "symbols", rows)


if __name__ == "__main__":
    run(main, snakemake)
