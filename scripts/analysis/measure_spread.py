"""Measure what each source of chance adds to the spread of an arm's runs, or of the differences of two arms."""

import math

import numpy as np

import tasks
from analysis.arm_pairs import OPTIONS
from analysis.failures import judge_learning
from analysis.scored import items_of, lead_of, read_runs, scores_of
from analysis.spread_components import joint, of_runs, of_texts, total
from common.entry import run
from common.errors import StudyError
from common.files import read_json
from common.frames import read_frame
from study.figures import majority_shares
from study.spread import JOINT, NEW, TEXTS, TOGETHER, compared, name_of, ways
from study.tables import columns_of, write_table

SHARE = ("variance_share", "variance_share_low", "variance_share_high")


def of_way(section, arms, way):
    """Return (scores (n,), items (n, N)) of the runs of a way to vary: one arm's, or A - B seed by seed.

    Args:
        section: an entry of `sources`.
        arms: {name: runs}, as `analysis.scored.load_runs` returns them.
        way: of `study.spread.ways`.

    Raises:
        StudyError: the two arms have other seeds.
    """
    runs = [arms[name_of(arm, way)] for arm in compared(section)]
    seeds = [[run["seed"] for run in its] for its in runs]
    if seeds[0] != seeds[-1]:
        raise StudyError(
            f"sources: the runs of {' and '.join(compared(section))} have other seeds; run the study again"
        )
    scores, items = ([np.asarray(values(its), dtype=float) for its in runs] for values in (scores_of, items_of))
    return (scores[0], items[0]) if len(runs) == 1 else (scores[0] - scores[1], items[0] - items[1])


def failed(section, learned, way):
    """Return how many runs of a way did not learn; None where no test says so.

    Args:
        section: an entry of `sources`.
        learned: frame of `judge_learning`, or None.
        way: of `study.spread.ways`.
    """
    if learned is None:
        return None
    names = [name_of(arm, way) for arm in compared(section)]
    return int((~learned["learned"][learned["arm"].isin(names)].astype(bool)).sum())


def row_of(varied, component, level, **more):
    """Return a component's row; standard deviations are the roots of variances."""
    variances = (component.variance, *component.interval(level))
    deviations = [None if value is None else math.sqrt(value) for value in variances]
    return {
        "varied": varied,
        **dict(zip(("variance", "variance_low", "variance_high"), variances, strict=True)),
        **dict(zip(("spread_sd", "spread_sd_low", "spread_sd_high"), deviations, strict=True)),
        **more,
    }


def added_by(variance, covered):
    """Return the columns of what a source adds to the variance of the study's mean or difference."""
    return {"covered": covered, "added_variance": variance, "added_sd": math.sqrt(variance)}


def measured(section, arms, study, level, learned=None):
    """Return the rows of spread/sources.tsv.

    Args:
        section: an entry of `sources`.
        arms: {name: runs}, as `analysis.scored.load_runs` returns them.
        study: {n_seeds: seeds that answer the study's questions, varied: the sources that differ between them}.
        level: confidence.
        learned: frame of `judge_learning`; None where labels are numbers.
    """
    groups = {way: of_way(section, arms, way) for way in ways(section)}
    parts = {way: of_runs(scores) for way, (scores, _) in groups.items()}
    whole, texts = parts.pop(TOGETHER), of_texts(groups[TOGETHER][1])
    n_seeds, n_items = study["n_seeds"], groups[TOGETHER][1].shape[1]
    rows = []
    for source, part in parts.items():
        covered = source in study["varied"]
        share = dict(zip(SHARE, part.share_of(whole, level), strict=True))
        added = added_by(part.variance / (n_seeds if covered else 1), covered)
        rows.append(row_of(source, part, level, n_not_learned=failed(section, learned, source), **added, **share))
    rows.append(row_of(TOGETHER, whole, level, n_not_learned=failed(section, learned, TOGETHER)))
    for row in rows:
        row["n_runs"] = section["runs"]
    rows.append(row_of(TEXTS, texts, level, **added_by(texts.variance, True)))
    rows.append(row_of(NEW, total(whole, texts), level))
    ends = joint(whole, list(parts.values()), level)
    rows.append({"varied": JOINT, **dict(zip(("variance", "variance_low", "variance_high"), ends, strict=True))})
    lead = lead_of(next(iter(arms.values())))
    shared = {"contrast": " - ".join(compared(section)), "measure": lead.name, "level": level}
    shared |= {"n_test": n_items, "n_seeds": n_seeds}
    return [dict.fromkeys(columns_of("spread_sources")) | shared | row for row in rows]


def main(runs, predictions, manifest, table, run_keys, sections, study, options=OPTIONS):
    """Write the table.

    Args:
        runs: spread/runs.tsv.
        predictions: their predictions on test.
        manifest: data/manifest.json.
        table: spread/sources.tsv to write.
        run_keys: (arm, seed) of each of the predictions.
        sections: `sources` of the settings.
        study: see `measured`.
        options: dict with the keys of `analysis.arm_pairs.OPTIONS`.
    """
    arms, facts, learned = read_runs(read_frame(runs), predictions, run_keys), read_json(manifest), None
    if tasks.load(facts.get("task", tasks.DEFAULT)).COUNTED:
        learned = judge_learning(arms, majority_shares(facts, ["valid"])["valid"], options["alpha"])
    by_name = {arm.arm: its for arm, its in arms.items()}
    rows = [row for section in sections for row in measured(section, by_name, study, options["level"], learned)]
    write_table(table, "spread_sources", rows)
    print(f"{len(arms)} ways to vary, {sum(map(len, arms.values()))} runs")


if __name__ == "__main__":
    run(main, snakemake)
