"""The parameter count derived: symbols, numbers in their place, per layer and in all, published counts."""

from report.inputs import Table

CHAPTER, PLACE = "Parameters", 10
# Parts of the sentence that sums up, by the names of the derivation's steps.
STEPS = {
    "tokens": "token embeddings",
    "layer": "matrices of one layer",
    "matrices": "matrices of all layers",
    "stored": "two further rows of the position table",
    "encoder": "biases and LayerNorms of all layers, LayerNorm of the embeddings",
    "classifier": "classification head: dense layer, projection to the classes",
}


def is_slip(row):
    """Return whether a row of the derivation has a published count of a layer that is not the row's own."""
    return row["scope"] == "layer" and row["published"] not in ("", row["count"])


def facts(study):
    """The parameter count derived: symbols, numbers in their place, per layer and in all, published counts."""
    if not study.has("derivation", "symbols", "parameters_figure"):
        return None
    derivation, symbols = study.table("derivation"), study.table("symbols")
    models = [
        (model, Table([row for row in derivation.rows if row["model"] == model], derivation.href))
        for model in dict.fromkeys(row["model"] for row in derivation.rows)
    ]
    by_part = {row["part"]: row for row in models[0][1].rows}
    return {
        "symbols": symbols,
        "models": models,
        # The published count that goes wrong within a layer although subtotals are right; None where there is none.
        "slip": next((row for row in models[-1][1].rows if is_slip(row)), None),
        "steps": {name: by_part[part] for name, part in STEPS.items()},
        "layers": next(row["study_value"] for row in symbols.rows if row["symbol"] == "L"),
        "drawing": study.drawing(study.path("parameters_figure")),
    }
