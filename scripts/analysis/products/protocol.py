"""The settings of all runs side by side, as the frameworks' objects had them."""

import frameworks
from study.products import Product, Rule

PRODUCTS = [
    Product(
        "protocol_diff",
        "protocol_diff.tsv",
        "build_protocol_diff",
        "table",
        " ".join(["setting", *(f"{name}?" for name in frameworks.having("CHECKPOINTS")), "equal note"]),
        caption="protocol_diff",
        category="Trust",
        labels={"table": "protocol diff"},
        page=True,
        crate=True,
    ),
]
RULES = [
    Rule(
        "build_protocol_diff",
        {"records": "run_records"},
        {
            "mode": lambda config: config["finetuning"]["protocol"],
            "arms": lambda config: config["finetuning"]["arms"],
        },
    ),
]
