"""How long do the comparisons of a study with many arms take, and how much memory do they need?

    PYTHONPATH=scripts python benchmarks/many_arms.py
    PYTHONPATH=scripts python benchmarks/many_arms.py compute_statistics --arms 10 --seeds 3 --texts 500

The records of such a study are generated in a temporary folder: runs, predictions on test, two simple models, and a
question for every two neighbouring arms. The `main` of each script reads them in a process of its own, on one thread as
its rule does. Times include imports; the memory is the process's peak.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time

import numpy as np

SCRIPTS = ("compute_statistics", "compare_measures", "compare_baselines", "answer_questions")
MEASURES = ["accuracy", "macro_f1", "mcc", "loss"]
SIMPLE = ["tfidf_words", "tfidf_characters"]
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
N_TRAIN, N_VALID = 1800, 200


def write_predictions(folder, arm, seed, labels, skill, generator):
    """Write a run's predictions and return their accuracy.

    Args:
        folder: folder of the study.
        arm, seed: arm and seed of the run.
        labels: (N,) classes, 0 or 1.
        skill: (N,) log odds of the right answer to each text; the run's own vary about them.
        generator: numpy.random.Generator.
    """
    from finetuning.prediction_files import write_rows

    right = 1 / (1 + np.exp(-skill - 0.6 * generator.normal(size=len(labels))))
    of_one = np.where(labels == 1, right, 1 - right)
    answers = (of_one > 0.5).astype(int)
    path = predictions_of(folder, [(arm, seed)])[0]
    os.makedirs(os.path.dirname(path), exist_ok=True)
    write_rows(path, labels, answers.tolist(), np.stack([1 - of_one, of_one], axis=1))
    return float((answers == labels).mean())


def predictions_of(folder, keys):
    """Return the paths of the predictions of runs, given as (arm, seed)."""
    return [os.path.join(folder, "predictions", arm, f"seed{seed}.tsv") for arm, seed in keys]


def questions_of(arms):
    """Return a question for every two neighbouring arms, by each measure in turn; half of them are of equality."""
    return [
        {"ask": f"Question {number}?", "compare": list(pair), "measure": MEASURES[number % len(MEASURES)]}
        | ({"equal_within": 0.5} if number % 2 else {})
        for number, pair in enumerate(zip(arms[:-1], arms[1:], strict=True))
    ]


def write_study(folder, n_arms, n_seeds, n_texts):
    """Write the records that the scripts read; the same numbers give the same records."""
    from common.files import write_json, write_tsv
    from study.questions import register

    generator = np.random.default_rng(1)
    labels, easiness = generator.integers(2, size=n_texts), generator.normal(size=n_texts)
    arms, rows = [f"arm{number:02d}" for number in range(1, n_arms + 1)], []
    for arm, skill in zip(arms, np.linspace(0.9, 1.1, n_arms), strict=True):
        for seed in range(1, n_seeds + 1):
            chances = easiness + skill + 0.03 * generator.normal()
            row = {"arm": arm, "framework": "huggingface", "model": "checkpoint", "init": "pretrained", "seed": seed}
            accuracy = write_predictions(folder, arm, seed, labels, chances, generator)
            row |= {"test_accuracy": accuracy, "valid_accuracy": round(accuracy * N_VALID) / N_VALID}
            rows.append(row | {"n_train": N_TRAIN, "n_valid": N_VALID, "learned": "true"})
    for name in ("runs", "learned"):
        write_tsv(os.path.join(folder, f"{name}.tsv"), rows, list(rows[0]))
    for name in SIMPLE:
        accuracy = write_predictions(folder, name, 1, labels, easiness + 0.5, generator)
        record = {"arm": name, "model": name, "features": 1000, "n_train": N_TRAIN, "n_valid": N_VALID}
        write_json(os.path.join(folder, f"{name}.run.json"), record)
        write_json(os.path.join(folder, f"{name}.selected.json"), {"C": 1.0, "valid_accuracy": accuracy})
    valid = {"n": N_VALID, "n_by_class": [N_VALID // 2] * 2}
    write_json(os.path.join(folder, "manifest.json"), {"source": "table", "splits": {"valid": valid}})
    register(folder, questions_of(arms), lambda measure: [])


def call(script, folder):
    """Run a script's `main` on the records in a folder, and write its tables to <folder>/<script>."""
    from analysis import answer_questions, compare_baselines, compare_measures, compute_statistics
    from common.frames import read_frame

    def made(*names):
        os.makedirs(os.path.join(folder, script), exist_ok=True)
        return [os.path.join(folder, script, name) for name in names]

    def given(*names):
        return [os.path.join(folder, name) for name in names]

    (runs,) = given("runs.tsv")
    frame = read_frame(runs)
    keys = list(zip(frame["arm"], frame["seed"], strict=True))
    predictions, simple = predictions_of(folder, keys), predictions_of(folder, [(name, 1) for name in SIMPLE])
    if script == "compute_statistics":
        tables = made("arms.tsv", "pairs.tsv", "mcnemar.tsv", "method.json", "learned.tsv")
        compute_statistics.main(runs, predictions, keys, *given("manifest.json"), *tables)
    elif script == "compare_measures":
        tables = made("runs.tsv", "arms.tsv", "pairs.tsv")
        compare_measures.main(runs, predictions, *tables, keys, MEASURES)
    elif script == "compare_baselines":
        records = [given(*(f"{name}.{kind}.json" for name in SIMPLE)) for kind in ("run", "selected")]
        compare_baselines.main(runs, predictions, keys, *records, simple, SIMPLE, *made("baselines.tsv", "against.tsv"))
    else:
        asked = questions_of(list(dict.fromkeys(frame["arm"])))
        learned, register = given("learned.tsv", "questions.json")
        tables = made("questions.tsv")
        answer_questions.main(runs, predictions, simple, learned, *tables, keys, SIMPLE, asked, register)


def measure(script, folder):
    """Print {seconds, processor seconds, megabytes at most} of a script."""
    start, processor = time.perf_counter(), time.process_time()
    call(script, folder)
    found = {"seconds": time.perf_counter() - start, "processor": time.process_time() - processor}
    print(json.dumps(found | {"megabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}))


def main(arguments=None):
    """Print what each script takes."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("script", nargs="?", choices=SCRIPTS, help="all four by default")
    parser.add_argument("--arms", type=int, default=30)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--texts", type=int, default=2000)
    parser.add_argument("--alone", metavar="FOLDER", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.alone:
        return measure(options.script, options.alone)
    with tempfile.TemporaryDirectory() as folder:
        write_study(folder, options.arms, options.seeds, options.texts)
        print(f"{options.arms} arms, {options.seeds} seeds each, {options.texts} texts")
        for script in [options.script] if options.script else SCRIPTS:
            command = [sys.executable, __file__, script, "--alone", folder]
            done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=os.environ | ONE_THREAD)
            found = json.loads(done.stdout)
            times = f"{found['seconds']:.1f} s, {found['processor']:.1f} s of processor time"
            print(f"{script}: {times}, {found['megabytes']:.0f} MB", flush=True)
    return None


if __name__ == "__main__":
    main()
