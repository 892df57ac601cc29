"""The data according to the manifest."""

from report.formats import FILTERS
from report.inputs import Table
from report.numbers import Key, derive
from report.sections.errors.facts import POLARITY

CHAPTER, PLACE = "Can it be trusted?", 20


def facts(study):
    """The data according to the manifest."""
    manifest, href = study.json("manifest"), study.href("manifest")
    # Numbers have no names.
    numbers = manifest.get("task") == "regression"
    splits, names = [], study.labels or ([] if numbers else list(POLARITY.values()))
    polar = names == list(POLARITY.values())
    for split in ("train", "valid", "test"):
        counts = manifest["splits"][split]
        digests = {kind: FILTERS["prefix"](counts[f"sha256_{kind}"] or "", 16) for kind in ("review", "label")}
        share = derive("ratio", counts["n_positive"], counts["n"]) if polar and int(counts["n"]) else ""
        spread = {key: counts[key] for key in ("mean", "standard_deviation", "least", "largest") if numbers}
        splits.append({"split": split, "n": counts["n"], "positive_share": share, **spread, **digests})
    files = [{"file": Key(digest), "sha256": digest} for name, digest in sorted(manifest["files"].items())]
    return {
        "manifest": manifest,
        "splits": Table(splits, href),
        "polar": polar,
        "numbers": numbers,
        "sets": manifest.get("task") == "multilabel",
        "classes": None if polar or numbers else Table(count_classes(manifest, names), href),
        "files": Table(files, href),
        "n_unlabelled": (manifest.get("unlabelled") or {}).get("n") or "0",
    }


def count_classes(manifest, names):
    """Return a row for each class: its name and its reviews in each split."""
    key = "n_by_label" if "n_by_label" in manifest["splits"]["train"] else "n_by_class"
    return [
        {"class": name} | {split: manifest["splits"][split][key][k] for split in ("train", "valid", "test")}
        for k, name in enumerate(names)
    ]
