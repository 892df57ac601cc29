"""The sources of parameter counts, and the effect of every LoRA setting."""

CHAPTER, PLACE = "Parameters", 20


def facts(study):
    """The sources of parameter counts, and the effect of every LoRA setting."""
    found = {name: study.table(name) if study.has(name) else None for name in ("parameter_ledger", "lora_ledger")}
    return found if any(found.values()) else None
