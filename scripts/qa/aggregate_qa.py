"""Put the runs of the question-answering study together: one table of runs, one of losses, one of means."""

import json
import statistics

import pandas

from common.entry import run
from common.errors import StudyError
from common.files import read_json, read_lines, write_lines
from common.frames import read_frame
from study.tables import columns_of, frame_rows, write_table

RUN = ["arm", "seed"]
MOMENTS = ("before", "after")
# The table's columns, by their place in evaluation.json.
MEASURED = {
    f"{where}.{moment}{key}": f"{name}_{moment}"
    for where, key, name in (
        ("heldout", ".perplexity", "heldout_perplexity"),
        ("train", ".perplexity", "train_perplexity"),
        ("heldout", ".loss", "heldout_loss"),
        ("heldout", ".objective", "heldout_objective"),
        ("heldout", ".end_of_text", "end_of_text"),
        ("chrf", "", "chrf"),
        ("rouge_l", "", "rouge_l"),
        ("n_stopped", "", "n_stopped"),
        ("n_repeating", "", "n_repeating"),
    )
    for moment in MOMENTS
}
METRICS = list(MEASURED.values())


def run_table(records, evaluations):
    """Return a frame of the columns of qa/runs.tsv, a row per run, study and synthetic still empty.

    Args:
        records: paths of every run's run.json.
        evaluations: paths of every run's evaluation.json, in the same order.

    Raises:
        StudyError: two files are of different runs, or runs are of different data.
    """
    runs = pandas.json_normalize([read_json(path) for path in records])
    measured = pandas.json_normalize([read_json(path) for path in evaluations]).rename(columns=MEASURED)
    for path, one, other in zip(records, runs[RUN].values.tolist(), measured[RUN].values.tolist(), strict=True):
        if one != other:
            raise StudyError(
                f"{path} is of arm {one[0]} seed {one[1]}, evaluation.json of arm {other[0]} seed {other[1]}: "
                "evaluate the run again"
            )
    for key in ("n_train", "n_heldout"):
        for path, number in zip(records, runs[key], strict=True):
            if number != runs[key][0]:
                raise StudyError(f"{path}: {key} is {number}, in {records[0]} {runs[key][0]}: train the older again")
    return runs.join(measured[[*METRICS, "n_generated"]]).reindex(columns=columns_of("qa_runs"))


def summarise(runs):
    """Return mean and standard deviation (ddof 1; missing for one run) over seeds, by arm and metric.

    The sums are exact (the `statistics` module, not pandas' own), so the order of the seeds cannot change a digit.

    Args:
        runs: frame with arm, rank and `METRICS`.
    """
    rows = []
    for arm, group in runs.groupby(["arm", "rank"], sort=False):
        for metric in METRICS:
            values = group[metric].dropna().tolist()
            if values:
                spread = statistics.stdev(values) if len(values) > 1 else None
                rows.append([*arm, metric, len(values), statistics.fmean(values), spread, min(values), max(values)])
    # Counts stay whole numbers beside the other metrics' floats.
    return pandas.DataFrame(rows, columns=columns_of("qa_summary"), dtype=object)


def main(records, evaluations, losses, answers, manifest, runs, loss, summary, generations, study):
    """Write the study's tables.

    Args:
        records: every run's run.json; the order of the other three lists.
        evaluations: every run's evaluation.json.
        losses: every run's loss.tsv.
        answers: every run's generations.jsonl.
        manifest: qa/data/manifest.json, which says whether the pairs are synthetic.
        runs: TSV to write, a row per run. Perplexities are exp of nats per answer token; losses, objective and
            end_of_text are nats a token; chrf is 0 to 100, rouge_l 0 to 1.
        loss: TSV to write: all curves, nats.
        summary: TSV to write: means over seeds, by arm.
        generations: JSON Lines to write: all answers, with arm, rank and seed.
        study: the study's name.

    Raises:
        StudyError: files of different runs, or runs on different data.
    """
    table = run_table(records, evaluations).assign(study=study, synthetic=bool(read_json(manifest)["synthetic"]))
    identities = table[["arm", "rank", "seed"]].to_dict("records")
    write_table(runs, "qa_runs", frame_rows(table))
    curves = [read_frame(path).assign(**identity) for path, identity in zip(losses, identities, strict=True)]
    write_table(loss, "qa_loss", frame_rows(pandas.concat(curves)[columns_of("qa_loss")]))
    write_table(summary, "qa_summary", frame_rows(summarise(table)))
    rows = [
        {**identity, **json.loads(line)}
        for path, identity in zip(answers, identities, strict=True)
        for line in read_lines(path)
    ]
    write_lines(generations, [json.dumps(row, ensure_ascii=False) for row in rows])
    print(f"{len(table)} runs")


if __name__ == "__main__":
    run(main, snakemake)
