"""A study of learning curves, made of answers that are right by chance, through the workflow's own tables."""

import random

from analysis import plot_learning_curves, tabulate_learning_curves
from finetuning.learning_curves import learning_points
from frameworks.linear.models import FEATURES
from study.tables import columns_of, write_table
from support.result_sets import against_baselines, make_rest, simulated, write_tables
from support.settings import defaults

SIZES, UPDATES, FINAL = (100, 300), (500, 1000), 9000
HF = {"framework": "huggingface", "model": "checkpoint"}


def finetuning():
    """Return the section `finetuning` of such a study: two curves that share the arms of everything and of nothing."""
    arms = {init: HF | {"init": init} for init in ("pretrained", "random")}
    arms |= {f"{init}-n{n}": HF | {"init": init, "n_train": n} for init in ("pretrained", "random") for n in SIZES}
    arms |= {f"pretrained-update{n}": HF | {"init": "pretrained", "at_update": n} for n in UPDATES}
    return defaults()["finetuning"] | {"seeds": [1, 2, 3], "arms": arms}


def make_curves(folder, section, n_test=200):
    """Write such a study's tables and figure; return (build_report's inputs, settings)."""
    generator = random.Random(5)
    arms = [(arm["framework"], arm["init"], name) for name, arm in section["arms"].items()]
    accuracies = [0.8 if name == "pretrained" else 0.65 for name in section["arms"]]
    labels, runs = simulated(generator, n_test, arms, section["seeds"], accuracies)
    files = write_tables(folder, labels, runs) | make_rest(folder, generator)
    (folder / "learning_curves").mkdir()
    tables = [str(folder / "learning_curves" / f"{name}.tsv") for name in ("means", "runs", "baselines")]
    keys = [(arm, str(seed)) for arm in section["arms"] for seed in section["seeds"]]
    curve = folder / "checkpoint" / "pretraining.tsv"
    losses = [(update, 1, split, 5.0, 100, 1e-3) for update in (*UPDATES, FINAL) for split in ("train", "valid")]
    columns = columns_of("pretraining")
    write_table(curve, "pretraining", [dict(zip(columns, row, strict=True)) for row in losses])
    points = learning_points(section)
    tabulate_learning_curves.main(files["runs"], files["predictions"], [curve], keys, points, *tables[:2])
    names = tuple(FEATURES)
    rows = [
        {"baseline": name, "features": f"words of {name}", "C": 1.0, "n_train": n, "n_valid": 20}
        | {"valid_accuracy": 0.7, "n_test": n_test, "n_correct_test": 120, "test_accuracy": generator.random()}
        | {"exact_low": 0.5, "exact_high": 0.7}
        for n in (*SIZES, 1800)
        for name in names
    ]
    write_table(tables[2], "learning_curve_baselines", rows)
    write_table(files["baselines"], "baselines", rows[-3:])
    compared = list(against_baselines(list(section["arms"]), generator))
    write_table(files["against_baselines"], "against_baselines", compared)
    figure = [str(folder / "figures" / f"learning_curves.{ending}") for ending in ("svg", "png")]
    plot_learning_curves.main(*tables[:2], files["baselines"], tables[2:], files["manifest"], *figure)
    made = dict(zip(("means", "runs", "baselines"), tables, strict=True)) | {"figure": figure[0]}
    files |= {f"learning_curve_{name}": path for name, path in made.items()}
    return files, defaults() | {"study": "simulated", "finetuning": section}
