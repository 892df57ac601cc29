"""Put the runs of the question-answering study together: one table of runs, one of losses, one of means."""

import json
import statistics

from common.errors import StudyError
from common.files import read_json, read_lines, read_tsv, write_lines, write_tsv
from common.rule import running

METRICS = (
    "heldout_perplexity_before",
    "heldout_perplexity_after",
    "train_perplexity_before",
    "train_perplexity_after",
    "heldout_loss_before",
    "heldout_loss_after",
    "end_of_text_before",
    "end_of_text_after",
    "n_stopped_before",
    "n_stopped_after",
    "n_repeating_before",
    "n_repeating_after",
)
RUN_COLUMNS = ["study", "synthetic", "rank", "seed", "trainable_params", "total_params", "n_train", "n_heldout"]
RUN_COLUMNS += [*METRICS, "n_generated", "optimizer", "precision", "quantization", "seconds"]
LOSS_COLUMNS = ["rank", "seed", "step", "split", "loss", "objective", "n_tokens", "lr"]
SUMMARY_COLUMNS = ["rank", "metric", "n", "mean", "sd_ddof1", "min", "max"]


def run_row(run, evaluation):
    """Return one run's row from its run.json and evaluation.json.

    Raises:
        StudyError: the two are of different runs.
    """
    if (run["rank"], run["seed"]) != (evaluation["rank"], evaluation["seed"]):
        raise StudyError(
            f"run.json is of rank {run['rank']} seed {run['seed']}, evaluation.json of rank {evaluation['rank']} "
            f"seed {evaluation['seed']}: evaluate the run again"
        )
    row = {"n_generated": evaluation["n_generated"]}
    for column in RUN_COLUMNS:
        row.setdefault(column, run.get(column))
    for moment in ("before", "after"):
        for split in ("train", "heldout"):
            row[f"{split}_perplexity_{moment}"] = evaluation[split][moment]["perplexity"]
        row[f"heldout_loss_{moment}"] = evaluation["heldout"][moment]["loss"]
        row[f"end_of_text_{moment}"] = evaluation["heldout"][moment]["end_of_text"]
        row[f"n_stopped_{moment}"] = evaluation["n_stopped"][moment]
        row[f"n_repeating_{moment}"] = evaluation["n_repeating"][moment]
    return row


def summarise(rows):
    """Return mean and standard deviation (ddof 1; None for one run) over seeds, by rank and metric."""
    summary = []
    for rank in dict.fromkeys(row["rank"] for row in rows):
        for metric in METRICS:
            values = [row[metric] for row in rows if row["rank"] == rank and row[metric] is not None]
            if values:
                spread = statistics.stdev(values) if len(values) > 1 else None
                entry = {"rank": rank, "metric": metric, "n": len(values), "mean": statistics.fmean(values)}
                summary.append({**entry, "sd_ddof1": spread, "min": min(values), "max": max(values)})
    return summary


def main(run_files, evaluation_files, loss_files, generation_files, manifest, runs, loss, summary, generations, study):
    """Write the study's tables.

    Args:
        run_files: every run's run.json; the order of the other three lists.
        evaluation_files: every run's evaluation.json.
        loss_files: every run's loss.tsv.
        generation_files: every run's generations.jsonl.
        manifest: qa/data/manifest.json, which says whether the pairs are synthetic.
        runs: TSV to write, a row per run. Perplexities are exp of nats per answer token; end_of_text is nats.
        loss: TSV to write: all curves, nats.
        summary: TSV to write: means over seeds, by rank.
        generations: JSON Lines to write: all answers, with rank and seed.
        study: the study's name.

    Raises:
        StudyError: files of different runs, or runs on different data.
    """
    synthetic = bool(read_json(manifest)["synthetic"])
    rows, curves, answers = [], [], []
    for files in zip(run_files, evaluation_files, loss_files, generation_files, strict=True):
        row = run_row(read_json(files[0]), read_json(files[1]))
        identity = {"rank": row["rank"], "seed": row["seed"]}
        rows.append({**row, "study": study, "synthetic": synthetic})
        curves += [{**identity, **point} for point in read_tsv(files[2])]
        answers += [json.dumps({**identity, **json.loads(line)}, ensure_ascii=False) for line in read_lines(files[3])]
        for key in ("n_train", "n_heldout"):
            if row[key] != rows[0][key]:
                raise StudyError(
                    f"{files[0]}: {key} is {row[key]}, in {run_files[0]} {rows[0][key]}: train the older again"
                )
    write_tsv(runs, rows, RUN_COLUMNS)
    write_tsv(loss, curves, LOSS_COLUMNS)
    write_tsv(summary, summarise(rows), SUMMARY_COLUMNS)
    write_lines(generations, answers)
    print(f"{len(rows)} runs")


if __name__ == "__main__":
    with running(snakemake):  # noqa: F821
        main(
            list(snakemake.input.runs),  # noqa: F821
            list(snakemake.input.evaluations),  # noqa: F821
            list(snakemake.input.losses),  # noqa: F821
            list(snakemake.input.generations),  # noqa: F821
            snakemake.input.manifest,  # noqa: F821
            snakemake.output.runs,  # noqa: F821
            snakemake.output.loss,  # noqa: F821
            snakemake.output.summary,  # noqa: F821
            snakemake.output.generations,  # noqa: F821
            snakemake.params.study,  # noqa: F821
        )
