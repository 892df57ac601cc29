"""The hours that a plan names: of runs that are finished, else from a benchmark of one update on this machine."""

import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
import time

import frameworks
from common.arms import CHECKPOINT
from common.errors import StudyError
from common.files import read_json, read_tsv, write_json
from common.machine import machine
from finetuning.protocol import arm_settings
from study.addresses import hub_addresses
from study.pins import mirror_path
from study.rule_parameters import PUBLISHED_SIZE
from tools.update_benchmark import PREPARED

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
# Updates of a training that its start, validation and files are spread over: a shorter run says little of a longer one.
LEAST_UPDATES = 50
# Seconds of updates that a benchmark times at least, and after which it is given up.
BUDGET, PATIENCE = 4.0, 900


def results_of(config):
    """Return the folder of the study's results, whether it is there or not."""
    return os.path.join(ROOT, "results", config["study"])


def splits_of(config):
    """Return {split: texts}: by the manifest where data are split, else by the settings; None: not known yet."""
    path = os.path.join(results_of(config), "data", "manifest.json")
    if os.path.isfile(path):
        return {split: read_json(path)["splits"][split]["n"] for split in ("train", "valid", "test")}
    data = config["data"]
    test = data["n_test"] or (data["embedded"]["n_test"] if data["source"] == "embedded" else None)
    return {"train": data["n_train"], "valid": data["n_valid"], "test": test}


def updates_of(config, name):
    """Return an arm's updates: epochs times batches; None where it has no epochs or no number of texts is known."""
    settings = arm_settings(config["finetuning"], name)
    n_train = config["finetuning"]["arms"][name].get("n_train") or splits_of(config)["train"]
    if not n_train or not {"epochs", "batch_size"} <= settings.keys():
        return None
    return math.ceil(n_train / settings["batch_size"]) * settings["epochs"]


def same_model(pilot, arm, name, config):
    """Tell whether an arm of a pilot trains the model of an arm of the study, in batches of its size.

    A pilot that does not record the sizes of its checkpoint is taken at its word: the plan names it.
    """
    ours, record = config["finetuning"]["arms"][name], pilot.records.get(arm, {})
    theirs = {row["arm"]: row for row in pilot.rows}[arm]
    batch = (record.get("settings") or record.get("protocol") or {}).get("batch_size")
    if (theirs["framework"], theirs["model"]) != (ours["framework"], ours["model"]):
        return False
    if batch is not None and batch != arm_settings(config["finetuning"], name).get("batch_size"):
        return False
    symbols = os.path.join(pilot.place, "parameters", "symbols.tsv")
    if ours["model"] != CHECKPOINT or not os.path.isfile(symbols):
        return True
    values = {row["symbol"]: row["study_value"] for row in read_tsv(symbols)}
    shape = config["checkpoint"]["architecture"]
    sizes = {"D": shape["width"], "F": shape["ffn_width"], "L": shape["layers"], "P": shape["max_positions"]}
    return all(str(size) == values.get(symbol) for symbol, size in sizes.items())


def of_runs(pilot, name, config):
    """Return (seconds of one run of an arm, source in words) from a pilot's finished runs; None where they do not tell.

    Args:
        pilot: `plan_spread.Pilot`, or the study's own finished runs as one.
        name: the arm.
        config: the study's settings.
    """
    like, n_updates = pilot.nearest(name, config), updates_of(config, name)
    if not n_updates or not same_model(pilot, like, name, config):
        return None
    rows = [row for row in pilot.rows if row["arm"] == like and row["train_seconds"]]
    each = [float(row["train_seconds"]) / int(row["total_updates"]) for row in rows if enough(row)]
    if not each:
        return None
    update, cpu = statistics.median(each), pilot.records.get(like, {}).get("machine", {}).get("cpu", "its machine")
    words = f"{len(each)} finished runs of {like} in {pilot.folder}: {update:.3g} s an update, on {cpu}"
    return n_updates * update, words


def enough(row):
    """Tell whether a run made enough updates to show the time of one."""
    return int(row["total_updates"] or 0) >= LEAST_UPDATES


def config_file(model, name, config):
    """Return the config.json of an external model on this machine; None where it is to be downloaded yet.

    Args:
        model: entry of `finetuning.models`.
        name: its name.
        config: the study's settings.
    """
    places = [os.path.join(results_of(config), "finetuning", "models", name, "config.json")]
    if model.get("folder"):
        places.append(os.path.join(model["folder"], "config.json"))
    for url in hub_addresses(model):
        if url.endswith("/config.json"):
            kept = mirror_path(url)
            places += [os.path.join(ROOT, "resources", kept), os.path.join(config.get("mirror") or "", kept)]
    return next((path for path in places if os.path.isfile(path)), None)


def request_of(name, config):
    """Return what `tools.update_benchmark` is asked for an arm.

    Raises:
        StudyError: it cannot be timed before it is trained.
    """
    arm, shape = config["finetuning"]["arms"][name], config["checkpoint"]["architecture"]
    if arm["framework"] not in PREPARED:
        label = frameworks.label(arm["framework"])
        raise StudyError(f"{label} is timed by finished runs only: name some (FROM=results/NAME)")
    if not updates_of(config, name):
        raise StudyError("the number of training texts is not known before the data are split")
    model, path = config["finetuning"]["models"].get(arm["model"]), None
    if model and not (path := config_file(model, arm["model"], config)):
        raise StudyError(
            f"{arm['model']} is not downloaded yet, and its config.json is not on this machine: start the study, or "
            "name finished runs (FROM=results/NAME)"
        )
    made = config["checkpoint"]["source"] == "pretrain"
    vocabulary = config["checkpoint"]["sentencepiece"]["vocab_size"] if made else PUBLISHED_SIZE["vocab_size"]
    return {
        "framework": arm["framework"],
        "model": arm["model"],
        "settings": arm_settings(config["finetuning"], name),
        "threads": 1,
        "budget": BUDGET,
        "config": path and os.path.abspath(path),
        "max_tokens": (model or {}).get("max_tokens"),
        "longest": None if model else shape["max_positions"],
        "lengths": lengths_of(arm["model"], config),
        "architecture": shape,
        "n_ids": vocabulary,
    }


def lengths_of(model, config):
    """Return the tokens of the study's training texts; None before their tokens are there."""
    path = os.path.join(results_of(config), "finetuning", "token-ids", model, "train.npz")
    if not os.path.isfile(path):
        return None
    from finetuning.token_ids import read_token_ids

    return [len(sequence) for sequence in read_token_ids(path)[0]]


def measured(request):
    """Return the result of `tools.update_benchmark`, run in a separate process.

    Raises:
        StudyError: it failed.
    """
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "request.json")
        write_json(path, request | {"began": time.time()})
        paths = [os.path.join(ROOT, "scripts"), ROOT, os.environ.get("PYTHONPATH", "")]
        environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, paths))}
        words = [sys.executable, "-m", "tools.update_benchmark", path]
        try:
            done = subprocess.run(
                words, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=PATIENCE, check=False
            )
        except subprocess.TimeoutExpired as error:
            raise StudyError(f"no update was timed within {PATIENCE} s") from error
        if done.returncode:
            reason = (done.stderr.strip().splitlines() or ["no message"])[-1][:200]
            raise StudyError(f"the benchmark of one update failed ({reason})")
        return read_json(f"{path}.found")


def workload(request):
    """Return what the cost of an update depends on, as text: arms that differ only in rates or epochs share it."""
    settings = {key: value for key, value in request["settings"].items() if key not in ("lr", "epochs", "warmup_ratio")}
    return json.dumps(request | {"settings": settings}, sort_keys=True)


def by_benchmark(name, config, known, say):
    """Return (seconds of one run of an arm, source in words) from a benchmark on this machine.

    The run's updates and its scoring of validation after each epoch; the scoring of test, with its curve by epoch where
    the study has one; two starts of a process.

    Args:
        name: the arm.
        config: the study's settings.
        known: {workload: what was measured}; it is added to.
        say: function that shows a line to who waits.

    Raises:
        StudyError: see `request_of` and `measured`.
    """
    request = request_of(name, config)
    key = workload(request)
    if key not in known:
        say(f"timing one update of {name} ...")
        known[key] = measured(request)
    found, splits, epochs = known[key], splits_of(config), request["settings"]["epochs"]
    batch, curves = request["settings"]["batch_size"], config["finetuning"]["evaluation"]["test_curves"]
    scored = epochs * (splits["valid"] or 0) + (splits["test"] or 0) * (1 + epochs * curves)
    seconds = updates_of(config, name) * found["update_seconds"] + scored * found["text_seconds"]
    length = found["tokens"] / batch
    texts = f"{length:.0f} tokens on average" if request["lengths"] else f"{length:.0f} tokens, the longest there are"
    words = (
        f"benchmark on {machine()['cpu']}, one thread: {found['update_seconds']:.3g} s an update of {batch} texts of "
        f"{texts} ({found['updates']} updates), {found['text_seconds']:.2g} s a scored text, "
        f"{found['start_seconds']:.0f} s to start{busy()}"
    )
    return seconds + 2 * found["start_seconds"], words


def busy():
    """Return a remark where other processes used the machine, which makes a benchmark too slow; else nothing."""
    load, cores = os.getloadavg()[0], machine()["cores"]
    return (
        f"; the machine was busy (load {load:.1f} on {cores} cores), so the figures are too high"
        if load > cores
        else ""
    )


def times(config, pilot, finished, benchmark, say=print):
    """Return {arm: (seconds of one run or None, source of the figure or why there is none, in words)}.

    Args:
        config: the study's settings.
        pilot: `plan_spread.Pilot` that was named, or None.
        finished: the study's own finished runs as one, or None.
        benchmark: whether an update may be timed here.
        say: function that shows a line to who waits.
    """
    found, known = {}, {}
    for name, arm in config["finetuning"]["arms"].items():
        if not frameworks.load(arm["framework"]).TRAINS:
            found[name] = 0.0, "its predictions are there already"
            continue
        given = next(filter(None, (of_runs(one, name, config) for one in (finished, pilot) if one)), None)
        if given is None:
            try:
                given = (
                    by_benchmark(name, config, known, say) if benchmark else (None, "no finished runs, no benchmark")
                )
            except StudyError as error:
                given = None, str(error)
        found[name] = given
    return found
