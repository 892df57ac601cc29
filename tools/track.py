"""Copy a finished study's runs to MLflow or to offline files of Weights & Biases; each run once.

Run by hand: `make track [STUDY=FILE] TRACKER=mlflow|wandb`, or `python -m tools.track RESULTS TRACKER`. The library is
not among Reseed's: install it first. MLflow's database is RESULTS/tracking/mlflow.db, unless MLFLOW_TRACKING_URI names
another place; W&B's files are in RESULTS/tracking/wandb, from where `wandb sync` uploads them.
"""

import collections
import datetime
import glob
import hashlib
import os
import sys

from common.errors import StudyError
from common.files import read_json, read_tsv
from tools import packs
from tools.checked import CRATE, check_results

# A run's entry is found by this tag when the study is copied again.
KEY = "reseed.run"
# Entries of run.json that are parameters; versions are tags.
PARAMETERS = ("settings", "framework", "model", "init", "seed", "n_train", "n_valid", "precision", "threads")
TAGS = ("commit", "started", "ended", "settings_sha256")


def flat(value, name=""):
    """Return {dotted name: value} of nested dictionaries."""
    if not isinstance(value, dict):
        return {name: value}
    return {key: one for part, inner in value.items() for key, one in flat(inner, f"{name}.{part}".strip(".")).items()}


def finished_runs(results):
    """Return the runs of a finished study, in the order of runs.tsv.

    Args:
        results: results folder, or a published study.

    Returns:
        list[dict]: study, arm, seed, key (a digest of the run's record and results), parameters, tags, epochs
        ({epoch: {metric: value}}), scores ({metric: value}), started and ended (seconds since 1970).

    Raises:
        StudyError: the study is not finished, or its files are not the recorded ones.
    """
    results = packs.opened(results)
    if not os.path.exists(os.path.join(results, CRATE)):
        raise StudyError(f"{results} has no {CRATE}: finish the study first (make study)")
    check_results(results)
    epochs = collections.defaultdict(lambda: collections.defaultdict(dict))
    for row in read_tsv(os.path.join(results, "history.tsv")):
        metric = f"{row['split']}/{row['metric']}"
        epochs[row["arm"], row["seed"]][int(row["epoch"])][metric] = float(row["value"])
    found = []
    for row in read_tsv(os.path.join(results, "runs.tsv")):
        record = read_json(os.path.join(results, "finetuning", row["arm"], f"seed{row['seed']}", "run.json"))
        # The curves have other names: their last epoch need not be the selected one.
        scores = {"test_accuracy": row["test_accuracy"], "train_seconds": row["train_seconds"]}
        scores |= {f"test_{row['measure']}": row["test_score"]} if row.get("measure") else {}
        tags = {name: record[name] for name in TAGS if record.get(name)}
        tags |= {"synthetic": row["synthetic"], **flat(record.get("versions", {}), "version")}
        whole = repr((sorted(flat(record).items()), sorted(row.items())))
        found.append(
            {
                **{name: row[name] for name in ("study", "arm", "seed")},
                "key": hashlib.sha256(whole.encode()).hexdigest()[:16],
                "parameters": flat({name: record[name] for name in PARAMETERS if name in record}) | {"arm": row["arm"]},
                "tags": tags,
                "epochs": epochs[row["arm"], row["seed"]],
                "scores": {name: float(value) for name, value in scores.items() if value != ""},
                **{name: datetime.datetime.fromisoformat(record[name]).timestamp() for name in ("started", "ended")},
            }
        )
    return found


def to_mlflow(runs, place):
    """Write runs to MLflow, one experiment a study; return how many were new.

    Args:
        runs: what `finished_runs` returns.
        place: folder of the database, unless MLFLOW_TRACKING_URI is set.
    """
    import mlflow
    from mlflow.entities import Metric, Param, RunTag

    uri = os.environ.get("MLFLOW_TRACKING_URI")
    if not uri:
        os.makedirs(place, exist_ok=True)
        uri = f"sqlite:///{os.path.abspath(place)}/mlflow.db"
    client, new = mlflow.MlflowClient(tracking_uri=uri), 0
    for run in runs:
        experiment = client.get_experiment_by_name(run["study"])
        experiment = experiment.experiment_id if experiment else client.create_experiment(run["study"])
        if client.search_runs([experiment], f"tags.`{KEY}` = '{run['key']}'", max_results=1):
            continue
        began, end = (int(1000 * run[name]) for name in ("started", "ended"))
        made = client.create_run(experiment, began, {KEY: run["key"]}, f"{run['arm']}/seed{run['seed']}").info.run_id
        steps = [*run["epochs"].items(), (max(run["epochs"], default=0), run["scores"])]
        client.log_batch(
            made,
            metrics=[Metric(name, value, end, step) for step, its in steps for name, value in its.items()],
            params=[Param(name, str(value)) for name, value in run["parameters"].items()],
            tags=[RunTag(name, str(value)) for name, value in run["tags"].items()],
        )
        client.set_terminated(made, "FINISHED", end)
        new += 1
    return new


def to_wandb(runs, place):
    """Write runs as offline files of Weights & Biases, one project a study; return how many were new.

    Args:
        runs: what `finished_runs` returns.
        place: folder of the files.
    """
    import wandb

    os.makedirs(place, exist_ok=True)
    new = 0
    for run in runs:
        if glob.glob(os.path.join(glob.escape(place), "wandb", f"offline-run-*-{run['key']}", "*.wandb")):
            continue
        facts = {"project": run["study"], "group": run["arm"], "name": f"{run['arm']}/seed{run['seed']}"}
        # Nothing of this machine or process: the run was made elsewhere and earlier.
        quiet = wandb.Settings(silent=True, disable_git=True, console="off", x_disable_stats=True, x_disable_meta=True)
        config = run["parameters"] | {KEY: run["key"]} | run["tags"]
        entry = wandb.init(mode="offline", dir=place, id=run["key"], config=config, settings=quiet, **facts)
        for epoch, values in run["epochs"].items():
            entry.log(values, step=epoch)
        entry.summary.update(run["scores"])
        entry.finish()
        new += 1
    return new


TRACKERS = {"mlflow": to_mlflow, "wandb": to_wandb}


def main(results, to):
    """Copy a study's runs.

    Args:
        results: results folder.
        to: of `TRACKERS`.

    Returns:
        str: a sentence for the terminal.

    Raises:
        StudyError: an unknown tracker, a library that is not installed, or see `finished_runs`.
    """
    if to not in TRACKERS:
        raise StudyError(f"TRACKER is {to!r}; set it to {' or '.join(TRACKERS)}")
    runs = finished_runs(results)
    place = os.path.join(results, "tracking", *(["wandb"] if to == "wandb" else []))
    try:
        new = TRACKERS[to](runs, place)
    except ImportError as error:
        raise StudyError(f"{error}; install the library beside Reseed (docs/guides/tracking.md)") from error
    return f"{new} of {len(runs)} runs copied to {to}, {len(runs) - new} were there already"


if __name__ == "__main__":
    try:
        print(main(*sys.argv[1:3]))
    except (TypeError, StudyError) as error:
        sys.exit(f"track: {error if isinstance(error, StudyError) else 'name a results folder, and mlflow or wandb'}")
