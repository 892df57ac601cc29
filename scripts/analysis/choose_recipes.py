"""Choose the recipe of each start that has several, on validation alone."""

from fractions import Fraction

from analysis.arm_pairs import OPTIONS
from analysis.intervals import t_interval
from analysis.scored import lead_of, scores_of
from common.arms import summarise
from common.entry import run
from common.frames import read_frame
from measures import Lead
from study.tables import write_table


def valid_mean(runs):
    """Return the mean over seeds on validation at each run's chosen epoch; of accuracy it is exact."""
    lead = lead_of(runs)
    if not lead.exact:
        return round(summarise(scores_of(runs, "valid"))["mean"], 12)
    return sum(Fraction(round(one["valid_accuracy"] * one["n_valid"]), one["n_valid"]) for one in runs) / len(runs)


def choose(arms, recipes):
    """Return {start: name of its best arm}. Test is not read.

    The best has the best mean on validation; ties go to the fewest epochs, then the lowest rate.

    Args:
        arms: {name: its runs, with valid_accuracy and n_valid}.
        recipes: {name: start, lr, epochs}.
    """
    best = {}
    for name, facts in recipes.items():
        rank = (-lead_of(arms[name]).worth(valid_mean(arms[name])), facts["epochs"], facts["lr"])
        if facts["start"] not in best or rank < best[facts["start"]][0]:
            best[facts["start"]] = rank, name
    return {start: name for start, (_, name) in best.items()}


def identity(name, facts):
    """Return the columns that name a row's arm."""
    return {
        "pair": facts["pair"],
        "start": facts["start"],
        "arm": name,
        "init": facts["init"],
        "peak_lr": facts["lr"],
        "epochs": facts["epochs"],
    }


def describe(arms, recipes):
    """Return the rows of recipes.tsv.

    Args:
        arms, recipes: as in `choose`; the runs also have test_accuracy.
    """
    best, rows = choose(arms, recipes), []
    means = {name: valid_mean(arms[name]) for name in recipes}
    for name, facts in recipes.items():
        runs = arms[name]
        tested, valid = (scores_of(runs, split) for split in ("test", "valid"))
        low, high = t_interval(tested, OPTIONS["level"], lead_of(runs).bounds) or (None, None)
        tied = [other for other in recipes if recipes[other]["start"] == facts["start"] and means[other] == means[name]]
        facts_of = summarise(tested)
        rows.append(
            {
                **identity(name, facts),
                "n_seeds": len(runs),
                "n_valid": runs[0]["n_valid"],
                "valid_mean": float(means[name]),
                "valid_sd_ddof1": summarise(valid)["sd_ddof1"],
                "best": best[facts["start"]] == name,
                "n_tied": len(tied),
                **{key: facts_of[key] for key in ("mean", "sd_ddof1", "min", "max")},
                "level": OPTIONS["level"],
                "t_low": low,
                "t_high": high,
            }
        )
    return rows


def by_run(arms, recipes):
    """Return the rows of recipes/runs.tsv: every seed of every recipe."""
    return [
        identity(name, facts)
        | {"seed": one["seed"], "valid_accuracy": one["valid_accuracy"], "test_accuracy": one["test_accuracy"]}
        | lead_of(arms[name]).columns(one)
        for name, facts in recipes.items()
        for one in arms[name]
    ]


def main(runs, recipes, table, seeds):
    """Write the tables.

    Args:
        runs: runs.tsv.
        recipes: what `finetuning.recipes.tried_recipes` returns.
        table, seeds: TSV files to write: recipes.tsv and recipes/runs.tsv.
    """
    arms = {}
    for row in read_frame(runs).to_dict("records"):
        lead = Lead(row)
        known = dict.fromkeys(("valid_accuracy", "test_accuracy", lead.valid, lead.test))
        numbers = {key: float(row[key] or "nan") for key in known} | {"lead": lead}
        arms.setdefault(row["arm"], []).append({"seed": row["seed"], "n_valid": int(row["n_valid"]), **numbers})
    write_table(table, "recipes", describe(arms, recipes))
    write_table(seeds, "recipe_runs", by_run(arms, recipes))


if __name__ == "__main__":
    run(main, snakemake)
