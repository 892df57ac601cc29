"""Where every parameter count comes from, and what every LoRA setting does."""

CHAPTER, PLACE = "Parameters", 20


def facts(study):
    """Where every parameter count comes from, and what every LoRA setting does."""
    found = {name: study.table(name) if study.has(name) else None for name in ("parameter_ledger", "lora_ledger")}
    return found if any(found.values()) else None
