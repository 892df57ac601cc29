"""Show the frameworks' actual settings side by side, and in matched mode refuse any difference that could matter."""

import json
import math

import frameworks
from common.arms import run_label
from common.entry import run
from common.errors import StudyError
from common.files import read_json
from study.tables import write_table

MODES = ("matched", "published")
# Every run must record these settings; any others that it records are also compared.
SETTINGS = (
    "optimizer betas eps weight_decay decayed_parameters clip_norm schedule lr_first lr_last peak_lr warmup_updates "
    "total_updates batch_size batching padding truncation dropout attention_dropout classifier_dropout head "
    "initialisation precision evaluation_precision loss_unit tie_rule"
).split()
# Matched mode lets these differences pass, each for a reason why it cannot decide a comparison.
EXCUSED = {
    "padding": "the attention mask hides padding: no effect on the result",
}
# Only runs with the same start are compared on this setting: only random arms draw all weights.
PER_INIT = ("initialisation",)
# Only one framework's arms draw these weights, so there is nothing to compare.
NOT_APPLICABLE = "not applicable"
# Only one framework's model has this part; the other does not record it.
ONLY_OF = {part: name for name in frameworks.names() for part in frameworks.load(name).ONLY}


def same(first, second):
    """Return whether two recorded values are equal: numbers within rounding, lists and tuples item by item."""
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


def settings_of(protocols):
    """Return the settings to compare, in order: `SETTINGS`, then further recorded ones.

    A recorded group, such as initialisation.embeddings, stands for the setting that it spells out.
    """
    settings = list(dict.fromkeys([*SETTINGS, *(key for _, _, protocol, _ in protocols for key in protocol)]))
    return [s for s in settings if not (s in SETTINGS and any(other.startswith(f"{s}.") for other in settings))]


def cell_of(setting, framework, protocols):
    """Return one framework's recorded values of a setting.

    Args:
        setting: name.
        framework: name.
        protocols: [(framework, init, flat protocol, name in cells)] of the runs to compare.

    Returns:
        tuple[str, bool, bool]: the cell (`NOT_APPLICABLE` without such runs), whether a run lacks the setting, whether
        runs that should agree differ.
    """
    recorded = [(name, protocol) for its_framework, _, protocol, name in protocols if its_framework == framework]
    if not recorded:
        return NOT_APPLICABLE, False, False
    # These runs rightly do not record a part of another framework's model.
    absent = "none" if ONLY_OF.get(setting, framework) != framework else None
    missing = absent is None and any(setting not in protocol for _, protocol in recorded)
    values = {}
    for name, protocol in recorded:
        values.setdefault(name, []).append(protocol.get(setting, absent))
    per = {name: distinct(its_framework) for name, its_framework in values.items()}
    everything = distinct([value for its_framework in per.values() for value in its_framework])
    if len(everything) == 1:
        return "not recorded" if missing else text(everything[0]), missing, False
    cell = "; ".join(f"{name}: {' or '.join(map(text, its_framework))}" for name, its_framework in per.items())
    return cell, missing, not is_per_init(setting) or any(len(its_framework) > 1 for its_framework in per.values())


def is_per_init(setting):
    """Return whether only runs that start in the same way must agree on a setting."""
    return setting.split(".")[0] in PER_INIT


def compare_setting(setting, frameworks, protocols, excused):
    """Return the row of one setting.

    Args:
        setting: name.
        frameworks: names, in the order of the columns.
        protocols: [(framework, init, flat protocol, name in cells)] of every run.
        excused: {setting: reason}.

    Returns:
        dict: setting, a cell per framework, equal (bool, or `NOT_APPLICABLE` where one framework has no such weights to
        draw), note.
    """
    per_init = is_per_init(setting)
    # A value that no run of an init records, such as the embeddings' rule in pretrained runs, was not drawn there.
    drawn = {init for _, init, protocol, _ in protocols if setting in protocol or not ("." in setting and per_init)}
    compared = [protocol for protocol in protocols if protocol[1] in drawn]
    cells = {framework: cell_of(setting, framework, compared) for framework in frameworks}
    missing = [framework for framework, (_, lacks, _) in cells.items() if lacks]
    notes = [f"differs between runs of {framework}" for framework, (_, _, differs) in cells.items() if differs]
    groups = {}
    for _, init, protocol, _ in compared:
        groups.setdefault(init if per_init else None, []).append(protocol.get(setting))
    equal = not missing and not notes and all(len(distinct(values)) < 2 for values in groups.values())
    if missing:
        notes.append(f"not recorded by {', '.join(missing)}")
    elif per_init and "random" not in [init for _, init, _, _ in protocols]:
        notes.append("no random arm: of the fresh weights only the head is in use")
    reason = excused.get(setting, excused.get(setting.split(".")[0]))
    if not equal and reason and not missing:
        notes.append(f"excused: {reason}")
    texts = {framework: cell for framework, (cell, _, _) in cells.items()}
    if equal and NOT_APPLICABLE in texts.values():
        equal = NOT_APPLICABLE
        notes.append("drawn by one framework's arms only")
    return {"setting": setting, **texts, "equal": equal, "note": "; ".join(notes)}


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
    protocols, arms = [], {}
    for record in runs:
        arms.setdefault((record["framework"], record["init"]), set()).add(record["arm"])
    for record in runs:
        if not record.get("protocol"):
            name = run_label(record["arm"], record["seed"])
            raise StudyError(f"run {name} recorded no protocol: delete its run.json and run it again")
        framework, init = record["framework"], record["init"]
        # Arms of the same framework and init are distinguished by their names.
        name = init if len(arms[framework, init]) == 1 else record["arm"]
        protocols.append((framework, init, flatten(record["protocol"]), name))
    rows = [compare_setting(setting, frameworks, protocols, excused) for setting in settings_of(protocols)]
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
            + "\nmake these settings equal and train again, or set finetuning.protocol to published"
        )


def matched_groups(records, arms, mode):
    """Return the runs that have to be trained alike, a list for each arm with `match`: its runs and the other arm's.

    Args:
        records: contents of run.json.
        arms: `finetuning.arms`.
        mode: `finetuning.protocol`, for the arms without one.
    """
    protocols = {name: arm.get("protocol") or mode for name, arm in arms.items()}
    pairs = [(name, arm.get("match")) for name, arm in arms.items()]
    pairs = [pair for pair in pairs if pair[1] and all(protocols[name] == "matched" for name in pair)]
    return [[record for record in records if record["arm"] in pair] for pair in pairs]


def main(records, table, mode, arms, excused=None):
    """Write the protocol diff.

    Args:
        records: paths of every run's run.json; those of frameworks that train no weights are left out.
        table: TSV to write: setting, one column a framework, equal, note.
        mode: "matched" (between an arm and its `match`, a difference that is not excused is an error) or "published"
            (differences are shown).
        arms: `finetuning.arms`.
        excused: {setting: reason} instead of `EXCUSED`, or None.

    Raises:
        StudyError: unknown mode, a run without protocol, or a difference in matched mode.
    """
    if mode not in MODES:
        raise StudyError(f"finetuning.protocol is {mode!r}: use one of {', '.join(MODES)}")
    records = [record for record in map(read_json, records) if frameworks.load(record["framework"]).CHECKPOINTS]
    for group in matched_groups(records, arms, mode):
        refuse(*compare(group, excused))
    rows, columns = compare(records, excused)
    write_table(table, "protocol_diff", rows, ("setting", *sorted(columns), "equal", "note"))


if __name__ == "__main__":
    run(main, snakemake)
