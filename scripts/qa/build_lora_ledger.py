"""Say of every LoRA setting what it is, what it does and how many parameters it costs in this model.

Without pandas: it needs the model, and the environment that has Transformers has no pandas.
"""

import itertools
import os
from collections import Counter

from common.entry import run
from common.errors import StudyError
from common.files import read_json, write_text, write_tsv
from qa.lora import (
    BLOOM_560M,
    FIELDS,
    adapted,
    check_lora,
    counts,
    describe,
    empty_model,
    resolve_targets,
)

COLUMNS = ["model", "arm", "rank", "setting", "value", "meaning", "formula", "parameters_per_module", "parameters"]
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
    "trainable_params": "All that training changes: the sum of the rows above.",
    "total_params": "The model's own parameters (tied ones once), the matrices A and B, and copies.",
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
        return _configuration(os.path.join(files[0], "config.json"))
    found = [path for path in files if os.path.basename(path) == "config.json"]
    if not found:
        raise StudyError("qa.base.hub.files: config.json is missing from the list")
    return _configuration(found[0])


def _configuration(path):
    """Return a model's config.json.

    Raises:
        StudyError: no such file, or no model's.
    """
    found = read_json(path)
    if not isinstance(found, dict):
        raise StudyError(f"{path} is no model configuration: it lacks `model_type`")
    return found


def ledger(name, arm, shapes, lora):
    """Return one model's rows for one arm.

    The column `parameters` of the settings adds up to the trainable parameters; the last rows give those, all
    parameters, and the share.

    Args:
        name: the model's name.
        arm: the arm's name, or "".
        shapes: what `qa.lora.describe` returns.
        lora: the arm's LoRA settings; `target_modules` is resolved.

    Returns:
        list[dict] with `COLUMNS`.
    """
    modules, cost = adapted(lora, shapes), counts(lora, shapes)
    found = formulas(modules, cost, lora)
    per_module = sorted({facts["parameters"] for facts in modules.values()})
    rows = []
    for field in FIELDS:
        value = _plain(lora.get(field))
        each = ", ".join(map(str, per_module)) if field == "r" else ""
        rows.append((field, value, MEANINGS[field], found.get(field, ""), each, cost.get(field, 0)))
    share = f"trainable / total = {100 * cost['share']:.4f} %"
    for field, formula in (("trainable_params", ""), ("total_params", share)):
        rows.append((field, "", MEANINGS[field], formula, "", cost[field]))
    return [dict(zip(COLUMNS, (name, arm, lora["r"], *row), strict=True)) for row in rows]


def formulas(modules, cost, lora):
    """Return how each setting's parameters, or its effect, are computed: {setting: text}.

    Args:
        modules: what `qa.lora.adapted` returns.
        cost: what `qa.lora.counts` returns.
        lora: the arm's LoRA settings.
    """
    kinds = Counter(
        (module.split(".")[-1], facts["in"], facts["out"], facts["rank"], facts["alpha"])
        for module, facts in modules.items()
    )
    scales = sorted({f"{alpha} / {r} = {alpha / r:g}" for _, _, _, r, alpha in kinds})
    matrices = [f"{k}: {r}·({n_in} + {n_out}) = {r * (n_in + n_out)}" for k, n_in, n_out, r, _ in kinds]
    found = {
        "r": "r·(in + out) per adapted matrix; " + "; ".join(matrices),
        "lora_alpha": "scaling = alpha / r; " + "; ".join(scales),
        "target_modules": " + ".join(f"{n} × {k} ({n_out} × {n_in})" for (k, n_in, n_out, _, _), n in kinds.items()),
    }
    if lora["bias"] == "lora_only":
        found["bias"] = "out per adapted module with a bias"
    if lora["modules_to_save"]:
        found["modules_to_save"] = "every parameter of the module, once more"
    if cost["layers_to_transform"]:
        found["layers_to_transform"] = f"minus r·(in + out) per matrix left out; {len(modules)} matrices stay"
    if cost["rank_pattern"]:
        found["rank_pattern"] = "(own rank - r)·(in + out) per matrix"
    return found


def _plain(value):
    """Return a setting's value as a reader wants it."""
    if value is None or value == {} or value == []:
        return "not set"
    if isinstance(value, list):
        return ", ".join(map(str, value))
    if isinstance(value, dict):
        return ", ".join(f"{key}: {item}" for key, item in value.items())
    return str(value)


def tables(rows):
    """Return the ledger as Markdown: one table per model and arm."""
    parts = []
    for (name, arm, rank), group in itertools.groupby(rows, key=lambda row: (row["model"], row["arm"], row["rank"])):
        lines = [
            f"## {name}, {f'arm {arm}, ' if arm else ''}rank {rank}",
            "",
            "| setting | value | what it does | formula | parameters |",
        ]
        lines.append("|---|---|---|---|---:|")
        for row in group:
            number = f"{row['parameters']:,}".replace(",", "\u202f")
            cells = [row["setting"], row["value"], row["meaning"], row["formula"], number]
            lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
        parts.append("\n".join(lines) + "\n")
    return "\n".join(parts)


def main(source, files, tsv, markdown, embedded, arms):
    """Write the ledger of the study's base model as TSV and Markdown; for a BLOOM also that of the course's model.

    Args:
        source: `qa.base.source` of the config.
        files: see `base_configuration`.
        tsv: file to write.
        markdown: file to write.
        embedded: `qa.base.embedded` of the config.
        arms: LoRA settings by arm.

    Raises:
        StudyError: settings that do not fit the study's base model.
    """
    model = empty_model(base_configuration(source, files, embedded))
    base, kind = describe(model), model.config.model_type
    arms = {arm: resolve_targets(lora, base, kind) for arm, lora in arms.items()}
    for arm, lora in arms.items():
        try:
            check_lora(lora, base)
        except StudyError as error:
            raise StudyError(f"arm {arm}: {error}") from error
    published = describe(empty_model(BLOOM_560M)) if kind == "bloom" else None
    name = PUBLISHED if base == published else "this study's base"
    rows = [row for arm, lora in arms.items() for row in ledger(name, arm, base, lora)]
    # The course's settings on its model: the figures that readers know.
    course = {**dict.fromkeys(FIELDS), "r": 16, "lora_alpha": 32, "target_modules": ["query_key_value"]}
    course |= {"lora_dropout": 0.05, "bias": "none", "task_type": "CAUSAL_LM"}
    costs = [counts(lora, base) for lora in arms.values()]
    if published and not (base == published and costs == [counts(course, base)]):
        rows += ledger(f"{PUBLISHED}, the course's settings", "", published, course)
    write_tsv(tsv, rows, COLUMNS)
    write_text(markdown, tables(rows))
    for row in rows:
        if row["setting"] == "total_params":
            print(f"{row['model']}, {row['arm'] or 'rank ' + str(row['rank'])}: {row['formula']}")


if __name__ == "__main__":
    run(main, snakemake)
