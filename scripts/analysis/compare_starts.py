"""Compare every two starts of a study, each with its own recipe, as validation chose it."""

from analysis.arm_pairs import OPTIONS, bootstrap, compare_all
from analysis.scored import read_runs
from common.entry import run
from common.files import read_json, read_tsv
from common.frames import read_frame
from data.reviews import noun_of
from study.tables import columns_of, write_table


def main(runs, predictions, table, learned, manifest, run_keys, pairs, options=OPTIONS):
    """Write the pairs of starts. Holm's correction is over them alone: test had no part in the choice of recipes.

    Args:
        runs: runs.tsv.
        predictions: every run's predictions on test.
        table: recipes.tsv, with what validation chose.
        learned: learned.tsv.
        manifest: data/manifest.json, for what the texts are called.
        run_keys: (arm, seed) of each of the predictions.
        pairs: TSV file to write: recipes/starts.tsv.
        options: dict with the keys of `analysis.arm_pairs.OPTIONS`.
    """
    left_out = {row["arm"] for row in read_tsv(table) if row["best"] != "true"}
    arms = read_runs(read_frame(runs), predictions, run_keys)
    own = {arm: of for arm, of in arms.items() if arm.arm not in left_out}
    learnt = [row["arm"] for row in read_tsv(learned) if row["learned"] == "true"]
    n_learned = {arm: learnt.count(arm.arm) for arm in own}
    texts = noun_of(read_json(manifest))["many"]
    rows, _ = compare_all(own, bootstrap(own, options), n_learned, options, texts)
    columns = columns_of("recipe_starts")
    write_table(pairs, "recipe_starts", [{name: row[name] for name in columns} for row in rows])


if __name__ == "__main__":
    run(main, snakemake)
