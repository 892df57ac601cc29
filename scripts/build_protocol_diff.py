"""Lay what the frameworks really ran with side by side, and in matched mode refuse any difference that could matter."""

import json
import math

from common.errors import StudyError
from common.files import read_json, write_tsv
from common.rule import running

MODES = ("matched", "published")
# The settings that every run must record; what a run records beyond them is compared, too.
SETTINGS = (
    "optimizer betas eps weight_decay decayed_parameters clip_norm schedule lr_first lr_last peak_lr warmup_updates "
    "total_updates batch_size batching padding truncation dropout attention_dropout classifier_dropout head "
    "initialisation precision evaluation_precision loss_unit tie_rule"
).split()
# Differences that matched mode lets pass, each with the reason why it cannot decide a comparison.
EXCUSED = {
    "padding": "the attention mask hides padding: no effect on the result",
}
# Of this setting, only runs that start in the same way are compared: fresh weights are drawn only by the random arms.
PER_INIT = ("initialisation",)
# A part that one framework's model alone has: the other has none of it and so records nothing.
ONLY_OF = {"token_types": "huggingface"}


def same(first, second):
    """Tell whether two recorded values are equal: numbers within rounding, lists and tuples item by item."""
    if isinstance(first, bool) or isinstance(second, bool):
        return first is second
    if isinstance(first, int | float) and isinstance(second, int | float):
        return math.isclose(first, second, rel_tol=1e-6, abs_tol=1e-15)
    if isinstance(first, list | tuple) and isinstance(second, list | tuple):
        return len(first) == len(second) and all(same(a, b) for a, b in zip(first, second, strict=True))
    if isinstance(first, dict) and isinstance(second, dict):
        return first.keys() == second.keys() and all(same(first[key], second[key]) for key in first)
    return first == second


def text(value):
    """Return a recorded value as a cell: strings bare, the rest as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, sort_keys=True)


def flatten(protocol, prefix=""):
    """Return a protocol with its nested dictionaries as dotted settings."""
    flat = {}
    for key, value in protocol.items():
        if isinstance(value, dict):
            flat |= flatten(value, f"{prefix}{key}.")
        else:
            flat[f"{prefix}{key}"] = value
    return flat


def distinct(values):
    """Return the values without repeats (by `same`), in order."""
    kept = []
    for value in values:
        if not any(same(value, other) for other in kept):
            kept.append(value)
    return kept


def compare(runs, excused=None):
    """Return the rows of protocol_diff.tsv.

    Args:
        runs: list of run.json contents: framework, init, seed, protocol.
        excused: {setting: reason}; default `EXCUSED`.

    Returns:
        tuple[list[dict], list[str]]: rows (setting, one entry per framework, equal, note), frameworks in order.

    Raises:
        StudyError: a run without a protocol.
    """
    excused = EXCUSED if excused is None else excused
    frameworks = list(dict.fromkeys(run["framework"] for run in runs))
    protocols = []
    for run in runs:
        if not run.get("protocol"):
            name = f"{run['framework']}/{run['init']}/seed{run['seed']}"
            raise StudyError(f"run {name} recorded no protocol: delete its run.json and run it again")
        protocols.append((run["framework"], run["init"], flatten(run["protocol"])))
    settings = list(dict.fromkeys([*SETTINGS, *(key for _, _, protocol in protocols for key in protocol)]))
    # A recorded group, such as initialisation.embeddings, stands for the setting that it spells out.
    settings = [s for s in settings if not (s in SETTINGS and any(other.startswith(f"{s}.") for other in settings))]
    rows = []
    for setting in settings:
        per_init = setting.split(".")[0] in PER_INIT
        # What no run of an init records, such as the embeddings' rule in pretrained runs, was not drawn there.
        drawn = {init for _, init, protocol in protocols if setting in protocol or not ("." in setting and per_init)}
        compared = [protocol for protocol in protocols if protocol[1] in drawn]
        missing, cells, equal, notes = [], {}, True, []
        for framework in frameworks:
            own = [(init, protocol) for name, init, protocol in compared if name == framework]
            if not own:
                cells[framework] = "not drawn"
                continue
            # A part of another framework's model is recorded by none of these runs, and rightly.
            absent = "none" if ONLY_OF.get(setting, framework) != framework else None
            if absent is None and any(setting not in protocol for _, protocol in own):
                missing.append(framework)
            values = {}
            for init, protocol in own:
                values.setdefault(init, []).append(protocol.get(setting, absent))
            per = {init: distinct(of) for init, of in values.items()}
            everything = distinct([value for of in per.values() for value in of])
            if len(everything) == 1:
                cells[framework] = "not recorded" if framework in missing else text(everything[0])
            else:
                cells[framework] = "; ".join(f"{init}: {' or '.join(map(text, of))}" for init, of in per.items())
                if not per_init or any(len(of) > 1 for of in per.values()):
                    equal = False
                    notes.append(f"differs between runs of {framework}")
        groups = list(dict.fromkeys(init for _, init, _ in compared)) if per_init else [None]
        for group in groups:
            values = [protocol.get(setting) for _, init, protocol in compared if group in (None, init)]
            if len(distinct(values)) > 1:
                equal = False
        if missing:
            equal = False
            notes.append(f"not recorded by {', '.join(missing)}")
        elif per_init and "random" not in [init for _, init, _ in protocols]:
            notes.append("no random arm: of the fresh weights only the head is in use")
        reason = excused.get(setting, excused.get(setting.split(".")[0]))
        if not equal and reason and not missing:
            notes.append(f"excused: {reason}")
        rows.append({"setting": setting, **cells, "equal": equal, "note": "; ".join(notes)})
    return rows, frameworks


def refuse(rows, frameworks):
    """Raise when a row differs and is not excused.

    Raises:
        StudyError: naming every such setting with each framework's value.
    """
    faults = [row for row in rows if not row["equal"] and "excused: " not in row["note"]]
    if faults:
        lines = [
            f"  {row['setting']}: " + ", ".join(f"{name} {row[name]}" for name in frameworks)
            + (f" ({row['note']})" if row["note"] else "")
            for row in faults
        ]  # fmt: skip
        raise StudyError(
            "the arms were not trained alike, so they cannot be compared in matched mode:\n"
            + "\n".join(lines)
            + "\nmake these settings equal and train again, or set sentiment.protocol to published"
        )


def main(runs, table, mode, excused=None):
    """Write the protocol diff.

    Args:
        runs: paths of every run's run.json.
        table: TSV to write: setting, one column a framework, equal, note.
        mode: "matched" (a difference that is not excused is an error) or "published" (differences are shown).
        excused: {setting: reason} instead of `EXCUSED`, or None.

    Raises:
        StudyError: unknown mode, a run without protocol, or a difference in matched mode.
    """
    if mode not in MODES:
        raise StudyError(f"sentiment.protocol is {mode!r}: use one of {', '.join(MODES)}")
    rows, frameworks = compare([read_json(path) for path in runs], excused)
    if mode == "matched":
        refuse(rows, frameworks)
    write_tsv(table, rows, ("setting", *frameworks, "equal", "note"))


if __name__ == "__main__":
    with running(snakemake):  # noqa: F821
        main(
            list(snakemake.input.runs),  # noqa: F821
            snakemake.output.table,  # noqa: F821
            snakemake.params.mode,  # noqa: F821
        )
