"""Compute the study's statistics: per arm, per pair of arms, and which runs learnt at all."""

import pandas

from analysis import inference, permutations
from analysis.arm_pairs import OPTIONS, bootstrap, compare_all
from analysis.failures import judge_learning
from analysis.intervals import t_interval
from analysis.scored import SHARED, items_of, lead_of, mean_interval, read_runs, scores_of, shared, sharing
from common.arms import ARM, summarise
from common.entry import run
from common.files import read_json, write_json
from common.frames import read_frame
from data.reviews import noun_of
from study.figures import majority_shares
from study.tables import columns_of, frame_rows, write_table

# These are options of the tables in statistics/.
TABLES = ("arm_statistics", "pairs", "mcnemar")


# Things that runs of one seed share, by the columns of runs.tsv, and the words of methods where they share something.
SHARE = dict(zip(SHARED, ("their draw of training and validation reviews", "their checkpoint"), strict=True))
PAIRED = {
    "difference_interval": "that of the arms' difference seed by seed, since runs of one seed share {}; where arms "
    "have other numbers of seeds, as if their draws were independent",
    "welch": "paired instead: scipy.stats.ttest_1samp of the differences of one seed, two-sided; Welch's where arms "
    "have other numbers of seeds",
    "permutation_over_seeds": "paired instead: random signs of the differences of one seed, two-sided, exact while "
    f"enumerable, else {permutations.SEED_PERMUTATIONS} draws",
}


def describe_arm(arm, runs, n_learned, values, level, judged=True):
    """Return the row of arms.tsv of one arm; intervals over seeds stay empty for one seed.

    Args:
        arm: `Arm`.
        runs: its runs.
        n_learned: number of them that learnt; None: nobody knows.
        values: (resamples,) bootstrap accuracies; None where another measure leads.
        level: confidence.
        judged: False where labels are numbers, of which no test says which runs learnt.
    """
    lead, scores, items = lead_of(runs), scores_of(runs), items_of(runs)
    none = (None, None)
    several = len(runs) > 1
    facts = summarise(scores)
    low, high = mean_interval(runs, level)
    t_low, t_high = t_interval(scores, level, lead.bounds) or none
    b_low, b_high = inference.percentile_interval(values, level) if several and values is not None else none
    notes = [] if several else ["one seed: no interval, no spread over seeds"]
    if n_learned is None and judged:
        notes.append("no validation result: whether the runs learnt is not known")
    elif judged and n_learned < len(runs):
        notes.append(f"{len(runs) - n_learned} of {len(runs)} runs did not learn; counted")
    best = enumerate(map(lead.worth, inference.expected_best(list(map(lead.worth, scores)))), 1)
    return {
        **dict(zip(ARM, arm, strict=True)),
        **facts,
        "sd_ddof0": facts["sd_ddof0"] if several else None,
        "n_test": items.shape[1],
        "low": low,
        "high": high,
        "t_low": t_low,
        "t_high": t_high,
        "bootstrap_low": b_low,
        "bootstrap_high": b_high,
        "sampling_margin": inference.sampling_margin(facts["mean"], items.shape[1], level)
        if lead.exact
        else inference.margin_of_items(items, level),
        "best_of_k": " ".join(f"{k}={value!r}" for k, value in best),
        "n_learned": n_learned,
        "note": "; ".join(notes),
    }


def compute(arms, majority_share, options):
    """Return the frames of learned.tsv, arms.tsv, pairs.tsv and mcnemar.tsv of a study.

    Args:
        arms: what `load_runs` returns.
        majority_share: share of the largest class in the validation split; None of numbers, whose runs are not judged.
        options: dict with the keys of `OPTIONS`.
    """
    if majority_share is None:
        learned, n_learned = None, {}
    else:
        learned = judge_learning(arms, majority_share, options["alpha"])
        n_learned = learned.groupby(ARM)["learned"].sum().to_dict()
    values = bootstrap(arms, options)
    described = [
        describe_arm(arm, runs, n_learned.get(arm), values[arm], options["level"], learned is not None)
        for arm, runs in arms.items()
    ]
    pairs, mcnemar = compare_all(arms, values, options)
    tables = zip(TABLES, (described, pairs, mcnemar), strict=True)
    # As objects, an empty cell is None and a whole number stays one.
    return learned, *(pandas.DataFrame(rows, columns=columns_of(name), dtype=object) for name, rows in tables)


def describe_method(options, noun, common=()):
    """Return the content of method.json: every option, and each figure's method in words.

    Args:
        options: dict with the keys of `OPTIONS`.
        noun: see `data.reviews.noun_of`.
        common: columns of `SHARED` that the runs have.
    """
    words = {
        "mean": "over seeds, of the accuracy on test at each run's selected epoch",
        "interval": inference.INTERVAL_METHOD,
        "t_interval": "Student's t over the n seeds alone, standard deviation with ddof 1, n - 1 degrees of freedom, "
        "cut off at 0 and 1: this test set taken as fixed",
        "bootstrap_interval": "percentiles; seeds and, jointly for all arms, test reviews drawn with replacement; "
        "too narrow with few seeds, shown for comparison",
        "welch": "scipy.stats.ttest_ind, equal_var=False, over seeds, two-sided; taken as normal",
        "permutation_over_seeds": "scipy.stats.permutation_test, independent, two-sided, exact while enumerable, "
        f"else {permutations.SEED_PERMUTATIONS} draws",
        "permutation_over_items": "scipy.stats.permutation_test, paired by review, two-sided; of these models",
        "mcnemar": "statsmodels, exact, the runs of one seed in both arms",
        "correction": "Holm (statsmodels multipletests) over the pairs of arms for which the test is defined; McNemar "
        "over pairs and seeds",
        "best_of_k": "mean maximum over all subsets of k runs",
        "learned": "one-sided exact binomial test of validation accuracy at the chosen epoch against the majority "
        "class's share",
    }
    if options.get("paired"):
        what = " and ".join(SHARE[name] for name in common)
        words |= {name: text.format(what) for name, text in PAIRED.items()}
    return options | {name: text.replace("review", noun["one"]) for name, text in words.items()}


def main(runs, predictions, run_keys, manifest, arms, pairs, mcnemar, method, learned=None, options=OPTIONS):
    """Write the statistics of a study.

    Args:
        runs: runs.tsv.
        predictions: every run's predictions on test.
        run_keys: (arm, seed) of each of them.
        manifest: data/manifest.json, for the class balance of the validation split.
        arms, pairs, mcnemar, learned: TSV files to write; where labels are numbers, learned is None.
        method: JSON file to write.
        options: dict with the keys of `OPTIONS`.
    """
    manifest = read_json(manifest)
    majority_share = majority_shares(manifest, ["valid"])["valid"]
    noun = noun_of(manifest)
    frame = read_frame(runs)
    options = options | sharing(frame)
    tables = compute(read_runs(frame, predictions, run_keys), majority_share, options)
    paths, names = (learned, arms, pairs, mcnemar), ("learned", *TABLES)
    for path, name, table in zip(paths, names, tables, strict=True):
        if path:
            write_table(path, name, frame_rows(table))
    write_json(method, describe_method(options, noun, shared(frame)))


if __name__ == "__main__":
    run(main, snakemake)
