"""Finished studies for tests of suites: runs with predictions, answers by the rule's script, and a crate."""

import os

import numpy as np
import yaml

from analysis import answer_questions
from common.files import sha256, write_json, write_text, write_tsv
from finetuning.prediction_files import write_rows
from finetuning.seals import write_seal
from study.questions import register

QUESTIONS = [
    {"ask": "Does A beat B?", "compare": ["a", "b"]},
    {"ask": "Is A as good as C?", "compare": ["a", "c"], "equal_within": 3},
    {"ask": "Does A beat a linear model?", "compare": ["a", "best of baselines"]},
]
SKILL = {"a": 1.6, "b": 0.9, "c": 1.6, "tfidf_words": 0.7, "tfidf_characters": 0.8}
SIMPLE = ("tfidf_words", "tfidf_characters")
RUN = ("arm", "framework", "model", "init", "seed", "test_accuracy", "valid_accuracy", "n_valid", "n_train", "n_test")


def settings_of(name, questions, arms=("a", "b", "c"), measure="accuracy", seeds=(1, 2, 3)):
    """Return what settings.json of such a study says."""
    arms = {arm: {"framework": "huggingface", "model": "checkpoint", "init": "random"} for arm in arms}
    finetuning = {"arms": arms, "seeds": list(seeds), "baselines": list(SIMPLE), "grids": {}, "training": {}}
    settings = {"study": name, "data": {"labels": ["no", "yes"]}, "finetuning": finetuning, "questions": questions}
    return settings | ({} if measure == "accuracy" else {"measure": measure})


def write_finished(root, name, shift=0.0, n=160, questions=QUESTIONS, seed=0, **facts):
    """Write a finished study to root/results/NAME and its study file to root/NAME.yaml; return the folder.

    Args:
        root: the working folder.
        name: the study's.
        shift: by how much arm `a` is more skilful here than in `SKILL`.
        n: test texts.
        questions: the study's.
        seed: of the draws.
        facts: of `settings_of`.
    """
    folder, generator = root / "results" / name, np.random.default_rng([seed, *name.encode()])
    settings = settings_of(name, questions, **facts)
    labels, seeds = generator.integers(2, size=n), settings["finetuning"]["seeds"]
    hard, rows, paths, keys = generator.normal(size=n), [], [], []
    runs = [(arm, seed) for arm in settings["finetuning"]["arms"] for seed in seeds] + [(arm, 0) for arm in SIMPLE]
    for arm, number in runs:
        place = folder / "predictions" / arm / f"seed{number}.tsv"
        place.parent.mkdir(parents=True, exist_ok=True)
        skill = SKILL[arm] + (shift if arm == "a" else 0.0) + 0.1 * generator.normal()
        right = hard + 0.8 * generator.normal(size=n) < skill
        answers = np.where(right, labels, 1 - labels)
        # Probabilities of the classes, the answer's the greater.
        probabilities = np.where(answers[:, None] == np.arange(2), 0.8, 0.2)
        write_rows(place, labels, answers.tolist(), probabilities)
        write_seal(place.with_suffix(".json"), predictions=place)
        values = (arm, "huggingface", "checkpoint", "random", number, repr(float(right.mean())), "0.5", 20, 40, n)
        selected = {"valid_accuracy": 0.5 + 0.1 * SIMPLE.index(arm)} if arm in SIMPLE else {}
        write_json(folder / "finetuning" / arm / f"seed{number}" / "selected.json", selected)
        if arm not in SIMPLE:
            rows.append(dict(zip(RUN, values, strict=True)) | {"train_seconds": "2.5", "synthetic": "true"})
            paths.append(str(place))
            keys.append((arm, str(number)))
    write_tsv(folder / "runs.tsv", rows, [*RUN, "train_seconds", "synthetic"])
    write_json(folder / "settings.json", settings)
    answer(folder, settings, paths, keys)
    write_text(folder / "report.html", "<html></html>\n")
    write_crate(folder)
    write_text(root / f"{name}.yaml", yaml.safe_dump({"study": name}))
    return folder


def answer(folder, settings, paths, keys):
    """Register a study's questions and answer them, as its rule does."""
    from study.questions import asked_by

    questions = asked_by(settings)
    register(str(folder), questions, lambda measure: [])
    answers = [str(folder / "predictions" / name / "seed0.tsv") for name in SIMPLE]
    selected = [str(folder / "finetuning" / name / "seed0" / "selected.json") for name in SIMPLE]
    answer_questions.main(
        str(folder / "runs.tsv"),
        paths,
        answers,
        None,
        str(folder / "questions.tsv"),
        keys,
        list(SIMPLE),
        questions,
        str(folder / "questions.json"),
        selected,
    )


def write_crate(folder):
    """Write a crate that holds the hashes of a study's tables and predictions."""
    names = ["runs.tsv", "questions.tsv"]
    names += [os.path.relpath(path, folder) for path in sorted(folder.glob("predictions/*/*.tsv"))]
    graph = [{"@id": name, "@type": "File", "sha256": sha256(folder / name)} for name in names]
    write_json(folder / "ro-crate-metadata.json", {"@graph": graph})


def write_suite(root, names, **facts):
    """Write a suite's file over studies by name; return its path."""
    suite = {"suite": "tiny", "studies": [str(root / f"{name}.yaml") for name in names], "questions": QUESTIONS}
    path = root / "suite.yaml"
    path.write_text(yaml.safe_dump(suite | facts))
    return str(path)
