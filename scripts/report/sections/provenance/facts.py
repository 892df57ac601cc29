"""Versions, hashes, times and machines of these results."""

from markupsafe import Markup

from common.arms import arm_label
from common.files import read_json
from common.machine import PLACES, settings_hash, study_settings
from report.formats import FILTERS, joined
from report.inputs import Table, located
from report.numbers import Derived, Key

CHAPTER, PLACE = "Methods and sources", 40


def facts(study):
    """Versions, hashes, times and machines of these results."""
    records = [located(read_json(path), study.link(path)) for path in study.paths("run_records")]
    every, having = list(dict.fromkeys(record["arm"] for record in records)), {}
    for record in records:
        for package, version in (record.get("versions") or {}).items():
            having.setdefault((package, version), []).append(record)
    versions = []
    for (_, version), sharing in sorted(having.items()):
        names = list(dict.fromkeys(record["arm"] for record in sharing))
        arms = "" if names == every else Markup(", ").join(map(arm_label, names))
        versions.append({"package": Key(version), "version": version, "arms": arms})
    return {
        "settings_sha256": Derived(settings_hash(study_settings(study.settings)), "settings_hash"),
        "places": PLACES,
        "commit": Derived(study.commit, "commit"),
        "crate": study.href("provenance") if study.has("provenance") else None,
        "records": Table([record_row(record) for record in records]),
        "untimed": any("started" not in record for record in records),
        "versions": Table(versions),
    }


def record_row(record):
    """Return a run's record as a row; an older record that lacks a fact has an empty text there."""
    machine = record.get("machine") or {}
    memory = machine.get("memory_mb") and joined("{} GiB", FILTERS["gibibytes"](machine["memory_mb"]))
    cores = machine.get("cores") and joined("{} core{}", machine["cores"], "s" if int(machine["cores"]) > 1 else "")
    where = [machine.get("cpu"), cores, memory, machine.get("gpu"), machine.get("os")]
    return {
        **{name: record[name] for name in ("arm", "seed")},
        "started": FILTERS["moment"](record.get("started") or ""),
        "commit": record.get("commit") or "",
        "settings": FILTERS["prefix"](record.get("settings_sha256") or "", 16),
        "machine": Markup(", ").join(fact for fact in where if fact),
        "threads": record.get("threads"),
    }
