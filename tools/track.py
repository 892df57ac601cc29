"""Write the finished runs of a study as runs of MLflow or W&B, offline.

Run by hand: `python -m tools.track RESULTS mlflow FOLDER`, or `wandb` in its place. The library is none of this
project's: install it beside it. Nothing is sent anywhere: FOLDER can be opened with `mlflow ui`, or sent with
`wandb sync`.
"""

import importlib
import os
import sys

from common.errors import StudyError
from common.files import read_json, read_tsv
from tools.checked import check_results

READ = ("runs.tsv", "history.tsv")


def runs_of(folder):
    """Yield a finished study's runs.

    Args:
        folder: results folder.

    Yields:
        tuple: name (`arm/seedN`), {parameter: value}, [(update, {metric: value})] by epoch, {result: value}.

    Raises:
        StudyError: see `tools.checked.check_results`.
    """
    check_results(folder, READ)
    curves = {}
    for row in read_tsv(os.path.join(folder, "history.tsv")):
        steps = curves.setdefault((row["arm"], row["seed"]), {})
        steps.setdefault(int(row["update"]), {})[f"{row['split']}/{row['metric']}"] = float(row["value"])
    for row in read_tsv(os.path.join(folder, "runs.tsv")):
        place = os.path.join(folder, "finetuning", row["arm"], f"seed{row['seed']}", "run.json")
        record = read_json(place)
        facts = {key: row[key] for key in ("study", "arm", "framework", "model", "init", "seed", "n_train")}
        facts |= {f"settings.{key}": value for key, value in (record.get("settings") or {}).items()}
        facts |= {key: record[key] for key in ("commit", "settings_sha256") if record.get(key)}
        facts |= {f"version.{name}": version for name, version in (record.get("versions") or {}).items()}
        results = {key: float(row[key]) for key in ("test_accuracy", "valid_accuracy", "train_seconds") if row[key]}
        yield (
            f"{row['arm']}/seed{row['seed']}",
            facts,
            sorted(curves.get((row["arm"], row["seed"]), {}).items()),
            results,
        )


def to_mlflow(folder, runs, mlflow):
    """Write runs into a database below a folder; return the address to open."""
    address = f"sqlite:///{os.path.abspath(os.path.join(folder, 'mlflow.db'))}"
    mlflow.set_tracking_uri(address)
    for name, facts, steps, results in runs:
        mlflow.set_experiment(facts["study"])
        with mlflow.start_run(run_name=name):
            mlflow.log_params({key: str(value)[:500] for key, value in facts.items()})
            for update, metrics in steps:
                mlflow.log_metrics(metrics, step=update)
            mlflow.log_metrics(results)
    return f"mlflow ui --backend-store-uri {address}"


def to_wandb(folder, runs, wandb):
    """Write runs into a folder without a network; return the command that sends them."""
    for name, facts, steps, results in runs:
        made = wandb.init(
            project=facts["study"], name=name, config=facts, dir=folder, mode="offline", reinit="finish_previous"
        )
        for update, metrics in steps:
            made.log(metrics, step=update)
        made.summary.update(results)
        made.finish()
    return f"wandb sync {os.path.abspath(os.path.join(folder, 'wandb'))}/offline-run-*"


WRITERS = {"mlflow": to_mlflow, "wandb": to_wandb}


def main(results, library, folder):
    """Write a study's runs.

    Args:
        results: results folder of a finished study.
        library: `mlflow` or `wandb`.
        folder: to write; it must be new or empty, so that no run is written twice.

    Raises:
        StudyError: an unknown library, one that is not installed, a folder with content, or records that were edited.
    """
    if library not in WRITERS:
        raise StudyError(f"{library} is none of {', '.join(WRITERS)}")
    if os.path.isdir(folder) and os.listdir(folder):
        raise StudyError(f"{folder} is not empty; name a new folder")
    runs = list(runs_of(results))
    try:
        module = importlib.import_module(library)
    except ImportError as error:
        raise StudyError(
            f"{library} is not installed ({error}); install it beside this project: pip install {library}"
        ) from error
    os.makedirs(folder, exist_ok=True)
    print(f"{len(runs)} runs; next: {WRITERS[library](folder, runs, module)}")


if __name__ == "__main__":
    try:
        main(*sys.argv[1:4])
    except (TypeError, StudyError) as error:
        sys.exit(f"track: {error if isinstance(error, StudyError) else 'name RESULTS, mlflow or wandb, and FOLDER'}")
