"""Say of every LoRA setting what it is, what it does and how many parameters it costs in this model."""

import os

from common.errors import StudyError
from common.files import read_json, write_text, write_tsv
from common.lora import BLOOM_560M, FIELDS, adapted, check_lora, counts, describe, empty_model
from common.rule import running

COLUMNS = ["model", "rank", "setting", "value", "meaning", "formula", "parameters_per_module", "parameters"]
PUBLISHED = "bloom-560m"
MEANINGS = {
    "r": "Rank of the update: an adapted W (out × in) becomes W + (alpha / r)·B·A with A (r × in) and B (out × r).",
    "lora_alpha": "Scale of the update; with Adam, tuning it does about what tuning the learning rate does.",
    "target_modules": "Which linear modules are adapted; every other weight stays as it was.",
    "lora_dropout": "Share of the adapter's inputs set to 0 in training; nothing is dropped afterwards.",
    "bias": "Which biases are trained too: none, all of the model's, or those of the adapted modules (lora_only).",
    "task_type": "Kind of model the adapter is for: CAUSAL_LM predicts the next token.",
    "modules_to_save": "Modules outside LoRA that are copied, trained whole and saved with the adapter.",
    "layers_to_transform": "Numbers of the layers to adapt; without it all of them.",
    "layers_pattern": "Name of the list of layers in which those numbers count.",
    "rank_pattern": "Modules, by name or pattern, whose rank differs from r.",
    "alpha_pattern": "Modules, by name or pattern, whose alpha differs from lora_alpha.",
}


def base_configuration(source, files, embedded):
    """Return the configuration of the study's base model, without its weights.

    Args:
        source: "embedded", "hub" or "folder".
        files: hub: paths among which is config.json; folder: the folder.
        embedded: `qa.base.embedded` of the config.

    Returns:
        dict: as in config.json.

    Raises:
        StudyError: no folder is given, or there is no such file.
    """
    if source == "embedded":
        architecture = embedded["architecture"]
        return {
            "model_type": "bloom",
            "vocab_size": embedded["vocab_size"],
            "hidden_size": architecture["width"],
            "n_layer": architecture["layers"],
            "n_head": architecture["heads"],
        }
    if source == "folder":
        if not files:
            raise StudyError("qa.base.folder: qa.base.source is folder, so it must name one and not be null")
        return read_json(os.path.join(files[0], "config.json"))
    found = [path for path in files if os.path.basename(path) == "config.json"]
    if not found:
        raise StudyError("qa.base.hub.files: config.json is missing from the list")
    return read_json(found[0])


def ledger(name, shapes, lora, rank):
    """Return one model's rows for one rank.

    The column `parameters` of the settings adds up to the trainable parameters; the last rows give those, all
    parameters, and the share.

    Args:
        name: the model's name.
        shapes: what `common.lora.describe` returns.
        lora: `qa.lora` of the config.
        rank: one of its ranks.

    Returns:
        list[dict] with `COLUMNS`.
    """
    modules, cost = adapted(lora, rank, shapes), counts(lora, rank, shapes)
    kinds = {}
    for module, facts in modules.items():
        key = (module.split(".")[-1], facts["in"], facts["out"], facts["rank"], facts["alpha"])
        kinds.setdefault(key, []).append(facts)
    scales = sorted({f"{alpha} / {r} = {alpha / r:g}" for _, _, _, r, alpha in kinds})
    matrices = [f"{k}: {r}·({n_in} + {n_out}) = {r * (n_in + n_out)}" for k, n_in, n_out, r, _ in kinds]
    sizes = {key: len(found) for key, found in kinds.items()}
    numbers = [f"{n} × {k} ({n_out} × {n_in})" for (k, n_in, n_out, _, _), n in sizes.items()]
    formulas = {
        "r": "r·(in + out) per adapted matrix; " + "; ".join(matrices),
        "lora_alpha": "scaling = alpha / r; " + "; ".join(scales),
        "target_modules": " + ".join(numbers),
        "bias": "out per adapted module with a bias" if lora["bias"] == "lora_only" else "",
        "modules_to_save": "every parameter of the module, once more" if lora["modules_to_save"] else "",
        "layers_to_transform": f"minus r·(in + out) per matrix left out; {len(modules)} matrices stay"
        if cost["layers_to_transform"]
        else "",
        "rank_pattern": "(own rank - r)·(in + out) per matrix" if cost["rank_pattern"] else "",
    }
    per_module = sorted({facts["parameters"] for facts in modules.values()})
    rows = []
    for field in FIELDS:
        value = rank if field == "r" else lora.get(field)
        rows.append(
            {
                "setting": field,
                "value": _plain(value),
                "meaning": MEANINGS[field],
                "formula": formulas.get(field, ""),
                "parameters_per_module": ", ".join(map(str, per_module)) if field == "r" else "",
                "parameters": cost.get(field, 0),
            }
        )
    share = f"trainable / total = {100 * cost['share']:.4f} %"
    for field, meaning, formula in (
        ("trainable_params", "All that training changes: the sum of the rows above.", ""),
        ("total_params", "The model's own parameters (tied ones once), the matrices A and B, and copies.", share),
    ):
        row = {"setting": field, "value": "", "meaning": meaning, "formula": formula, "parameters_per_module": ""}
        rows.append({**row, "parameters": cost[field]})
    return [{"model": name, "rank": rank, **row} for row in rows]


def _plain(value):
    """Return a setting's value as a reader wants it."""
    if value is None or value == {} or value == []:
        return "not set"
    if isinstance(value, list):
        return ", ".join(map(str, value))
    if isinstance(value, dict):
        return ", ".join(f"{key}: {item}" for key, item in value.items())
    return str(value)


def markdown(rows):
    """Return the ledger as Markdown: one table per model and rank."""
    lines = []
    for name, rank in dict.fromkeys((row["model"], row["rank"]) for row in rows):
        lines += ["" if lines else None, f"## {name}, rank {rank}", ""]
        lines += ["| setting | value | what it does | formula | parameters |", "|---|---|---|---|---:|"]
        for row in rows:
            if (row["model"], row["rank"]) == (name, rank):
                cells = [row["setting"], row["value"], row["meaning"], row["formula"], f"{row['parameters']:,}"]
                cells[-1] = cells[-1].replace(",", "\u202f")
                lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(line for line in lines if line is not None) + "\n"


def main(source, files, tsv, md, embedded, lora):
    """Write the ledger of the study's base model, and of the model that the course tunes, as TSV and Markdown.

    Args:
        source: `qa.base.source` of the config.
        files: see `base_configuration`.
        tsv: file to write.
        md: file to write.
        embedded: `qa.base.embedded` of the config.
        lora: `qa.lora` of the config.

    Raises:
        StudyError: settings that do not fit the study's base model.
    """
    base = describe(empty_model(base_configuration(source, files, embedded)))
    for rank in lora["r"]:
        check_lora(lora, rank, base)
    published = describe(empty_model(BLOOM_560M))
    models = {PUBLISHED if base == published else "this study's base": base}
    rows = [row for name, shapes in models.items() for rank in lora["r"] for row in ledger(name, shapes, lora, rank)]
    # The course's own settings on its own model: the figures that readers know.
    course = {**dict.fromkeys(FIELDS), "lora_alpha": 32, "target_modules": ["query_key_value"]}
    course |= {"lora_dropout": 0.05, "bias": "none", "task_type": "CAUSAL_LM"}
    if not (base == published and lora["r"] == [16] and counts(lora, 16, base) == counts(course, 16, base)):
        rows += ledger(f"{PUBLISHED}, the course's settings", published, course, 16)
    write_tsv(tsv, rows, COLUMNS)
    write_text(md, markdown(rows))
    for row in rows:
        if row["setting"] == "total_params":
            print(f"{row['model']}, rank {row['rank']}: {row['formula']}")


if __name__ == "__main__":
    with running(snakemake):  # noqa: F821
        main(
            snakemake.params.source,  # noqa: F821
            list(snakemake.input.get("files", [])),  # noqa: F821
            snakemake.output.tsv,  # noqa: F821
            snakemake.output.markdown,  # noqa: F821
            snakemake.params.embedded,  # noqa: F821
            snakemake.params.lora,  # noqa: F821
        )
