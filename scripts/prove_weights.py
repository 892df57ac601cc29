"""Prove what every run started from: a pretrained one from the checkpoint, a random one from nothing that is in it."""

from pathlib import Path

from common.errors import StudyError
from common.files import read_json, write_tsv
from common.rule import running

COLUMNS = ("framework", "init", "seed", "n_tensors", "n_equal", "n_new", "n_constant")


def judge(proof, known, place):
    """Return a run's counts of tensors, the classification head apart.

    Args:
        proof: the run's `weights.json`: what `common.weights.prove_weights` found before the first update.
        known: set of the content hashes of the checkpoint's tensors.
        place: the file, for messages.

    Returns:
        dict: n_tensors, n_equal (to a tensor of the checkpoint, under any name), n_constant (all values equal, as in
        zero biases and unit LayerNorms: alike in every model, so they prove nothing and are not counted as equal),
        n_new (the rest).

    Raises:
        StudyError: a pretrained run with a tensor that is not the checkpoint's, or a random one with a tensor that is.
    """
    constant = set(proof["constant"])
    telling = proof["tensors"].keys() - constant
    equal = {name for name in telling if proof["tensors"][name]["sha256"] in known}
    new = telling - equal
    if proof["init"] == "pretrained" and new:
        raise StudyError(f"{place}: tensor {min(new)} is not the checkpoint's: train the run again")
    if proof["init"] == "random" and equal:
        raise StudyError(f"{place}: the random run holds the checkpoint's tensor {min(equal)}: it is not random")
    counts = (proof["tensors"], equal, new, constant)
    return dict(zip(COLUMNS[3:], map(len, counts), strict=True))


def main(proofs, converted, table):
    """Write the table of all runs.

    Args:
        proofs: paths of the runs' `weights.json`, at sentiment/<framework>/<init>/seed<seed>/.
        converted: folder of the converted checkpoint; its `conversion.json` has the hash of every tensor.
        table: TSV to write: `COLUMNS`.

    Raises:
        StudyError: see `judge`.
    """
    known = set(read_json(Path(converted) / "conversion.json")["tensors"].values())
    rows = []
    for path in proofs:
        framework, init, seed = Path(path).parts[-4:-1]
        run = {"framework": framework, "init": init, "seed": seed.removeprefix("seed")}
        rows.append(run | judge(read_json(path), known, path))
    write_tsv(table, rows, COLUMNS)


if __name__ == "__main__":
    with running(snakemake):  # noqa: F821
        main(snakemake.input.proofs, snakemake.input.converted, snakemake.output.table)  # noqa: F821
