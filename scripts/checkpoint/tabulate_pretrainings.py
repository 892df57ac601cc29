"""Tabulate a study's pretrainings: the last loss on held-out text of each, and the hash of its weights."""

from common.entry import run
from common.errors import StudyError
from common.files import read_tsv, sha256
from study.tables import write_table


def main(histories, models, table, seeds, folders):
    """Write the table, a row for each pretraining.

    Args:
        histories: `pretraining.tsv` of each.
        models: `model.pt` of each.
        table: TSV to write.
        seeds: seed of each.
        folders: folder of its files below results/<study>.

    Raises:
        StudyError: a history without held-out loss, or two pretrainings of the same weights.
    """
    rows, seen = [], {}
    for history, model, seed, folder in zip(histories, models, seeds, folders, strict=True):
        points = [row for row in read_tsv(history) if row["split"] == "valid"]
        if not points:
            raise StudyError(f"{history} has no held-out loss: run this pretraining again")
        digest = sha256(model)
        if digest in seen:
            raise StudyError(f"{model} has the weights of {seen[digest]}: run the pretraining of seed {seed} again")
        seen[digest] = model
        last = {name: points[-1][name] for name in ("update", "loss", "n_tokens")}
        rows.append({"checkpoint_seed": seed, "folder": folder, **last, "model_sha256": digest})
    write_table(table, "pretrainings", rows)


if __name__ == "__main__":
    run(main, snakemake)
