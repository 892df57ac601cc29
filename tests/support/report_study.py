"""The published runs as a finished study, up to what its report reads."""

import functools
import json
import shutil
import tempfile
from pathlib import Path

import measures
from analysis import (
    aggregate_runs,
    build_parameter_ledger,
    measure_overfitting,
    plot_accuracy_by_epoch,
    plot_arms,
    plot_arms_by_epoch,
    plot_train_and_valid,
    tabulate_test_accuracy,
)
from common.arms import arms_of
from common.files import read_json, read_tsv, write_json, write_lines, write_tsv
from finetuning import select_checkpoint
from lab import derive_parameters, plot_parameters
from qa import compare_answers
from report.sections import templates
from study.rule_parameters import PUBLISHED_SIZE
from support.published import write_published

REPORT = Path(__file__).resolve().parents[2] / "report"
TEMPLATES = templates()


def make_study(folder, n_seeds=3, n_arms=3, synthetic=False, measure="accuracy"):
    """Run the published runs (or fewer of them) up to the page's inputs; return build_report's inputs.

    Its figures take seconds, so one that was made before in this process is copied.
    """
    first, files = _make_study(n_seeds, n_arms, synthetic, measure)
    shutil.copytree(first.name, folder, dirs_exist_ok=True)

    def moved(value):
        return [moved(one) for one in value] if isinstance(value, list) else value.replace(first.name, str(folder), 1)

    return {name: moved(value) for name, value in files.items()}


@functools.cache
def _make_study(n_seeds, n_arms, synthetic, measure):
    first = tempfile.TemporaryDirectory()
    folder = Path(first.name)
    paths = write_published(folder)
    keep = [place for place in range(9) if place % 3 < n_seeds and place // 3 < n_arms]
    runs, histories, predictions = ([paths[kind][k] for k in keep] for kind in ("records", "histories", "predictions"))
    manifest = folder / "data" / "manifest.json"
    if synthetic:
        write_json(manifest, read_json(manifest) | {"synthetic": True, "source": "embedded"})
    selected = [path.replace("history.tsv", "selected.json") for path in histories]
    for history, target in zip(histories, selected, strict=True):
        if measure not in measures.RECORDED:
            # Nobody published it: as if it were the accuracy.
            rows = read_tsv(history)
            led = [row | {"metric": measure} for row in rows if (row["split"], row["metric"]) == ("valid", "accuracy")]
            write_tsv(history, rows + led, tuple(rows[0]))
        write_json(target, select_checkpoint.choose(history, measure, measure))
    tables = folder / "runs.tsv", folder / "history.tsv"
    aggregate_runs.main(runs, selected, histories, predictions, [], manifest, *tables, "published")
    accuracy = [folder / f"test_{measure}.{ending}" for ending in ("tsv", "md", "tex")]
    tabulate_test_accuracy.main(tables[0], *accuracy)
    figures = [folder / "figures" / f"arms.{ending}" for ending in ("svg", "png", "tsv")]
    plot_arms.main(tables[0], manifest, *figures, None)
    curves = []
    for arm in arms_of(read_tsv(tables[0])):
        made = [folder / "figures" / f"{measure}_by_epoch" / f"{arm.arm}.{e}" for e in ("svg", "png", "tsv")]
        plot_accuracy_by_epoch.main(*tables, manifest, *([path] for path in made), [arm.arm], None)
        curves.append(made)
    return first, (
        training(folder, tables, manifest, measure)
        | counted(folder)
        | {
            "runs": str(tables[0]),
            "history": str(tables[1]),
            "test_accuracy": str(accuracy[0]),
            "test_accuracy_markdown": str(accuracy[1]),
            "test_accuracy_latex": str(accuracy[2]),
            "curves": [str(made[0]) for made in curves],
            "curves_data": [str(made[2]) for made in curves],
            "arms_figure": str(figures[0]),
            "arms_data": str(figures[2]),
            "manifest": str(manifest),
            "run_records": runs,
        }
    )


def training(folder, tables, manifest, measure="accuracy"):
    """Draw all arms by epoch, and training beside validation; return build_report's inputs for them."""
    all_curves, training_curves = [], []
    for each in (measure, "highest_so_far"):
        all_curves.append([str(folder / "figures" / "arms_by_epoch" / f"{each}.{e}") for e in ("svg", "png", "tsv")])
        plot_arms_by_epoch.main(*tables, manifest, *([path] for path in all_curves[-1]), [each], None)
    for arm in arms_of(read_tsv(tables[0])):
        place = folder / "figures" / "train_and_valid" / arm.arm
        training_curves.append([f"{place}.{ending}" for ending in ("svg", "png", "tsv")])
        plot_train_and_valid.main(*tables, manifest, *([path] for path in training_curves[-1]), [arm.arm], None)
    gaps = [str(folder / "overfitting" / f"{name}.tsv") for name in ("runs", "arms")]
    measure_overfitting.main(*tables, *gaps)
    return {
        "all_curves": [made[0] for made in all_curves],
        "all_curves_data": [made[2] for made in all_curves],
        "training_curves": [made[0] for made in training_curves],
        "training_curves_data": [made[2] for made in training_curves],
        "overfitting_runs": gaps[0],
        "overfitting_arms": gaps[1],
    }


def counted(folder, size=PUBLISHED_SIZE, claims=REPORT.parent / "claims" / "published.yaml"):
    """Derive the parameter count of a model; return build_report's inputs for it."""
    names = {"derivation": "parameters/derivation.tsv", "symbols": "parameters/symbols.tsv"}
    made = {name: str(folder / path) for name, path in names.items()}
    ledger, figure = folder / "parameter_ledger.tsv", [str(folder / f"figures/parameters.{e}") for e in ("svg", "png")]
    rows = build_parameter_ledger.analytic_rows(size) + build_parameter_ledger.published_rows()
    write_tsv(ledger, rows, tuple(rows[0]))
    derive_parameters.main(ledger, claims, *made.values())
    plot_parameters.main(made["derivation"], *figure)
    return made | {"parameters_figure": figure[0]}


def write_compared(folder):
    """Write the comparison of an arm of two seeds with the base, on three held-out pairs."""
    runs = {("base", 0): [3.0, 2.5, 2.0], ("rank8", 1): [2.0, 1.9, 1.2], ("rank8", 2): [2.1, 1.7, 1.3]}
    scores = [
        {"arm": arm, "seed": seed, "measure": "answer_loss", "n_questions": 3, "score": sum(values) / 3}
        for (arm, seed), values in runs.items()
    ]
    items = [
        {"arm": arm, "seed": seed, "measure": "answer_loss", "id": place, "item_score": value}
        for (arm, seed), values in runs.items()
        for place, value in enumerate(values)
    ]
    paths = [folder / f"{name}.tsv" for name in ("scores", "items")]
    for path, rows in zip(paths, (scores, items), strict=True):
        write_tsv(path, rows, tuple(rows[0]))
    compare_answers.main(*map(str, paths), str(folder / "pairs.tsv"), ["answer_loss", "chrf"])


def make_answers(folder, files, question="q"):
    """Write what the page says of one question-answering run; return build_report's inputs for it."""
    folder = folder / "qa"
    folder.mkdir(parents=True)
    answer = {"arm": "rank8", "rank": 8, "seed": 1, "question": question, "reference": "r", "before": "b", "after": "a"}
    write_lines(folder / "generations.jsonl", [json.dumps(answer)])
    write_json(folder / "manifest.json", {"source": "url", "splits": {"train": {"n": 63}, "valid": {}}})
    moments = {"heldout_perplexity_before": 4.0, "heldout_perplexity_after": 2.0}
    shared = {"arm": "rank8", "rank": 8, "n_seeds": 1, "sd_ddof1": None}
    rows = [shared | {"metric": name, "mean": mean, "min": mean, "max": mean} for name, mean in moments.items()]
    write_tsv(folder / "summary.tsv", rows, ("arm", "rank", "metric", "n_seeds", "mean", "sd_ddof1", "min", "max"))
    loss = {"arm": "rank8", "rank": 8, "seed": 1, "update": 0, "split": "train", "loss": 2.5, "objective": 2.4}
    write_tsv(folder / "loss.tsv", [loss], tuple(loss))
    swept = {
        "lora_alpha": 16,
        "seed": 1,
        "update": 9,
        "train_loss": 0.4,
        "heldout_loss": 0.6,
        "heldout_perplexity": 1.8,
    }
    swept |= {"trainable_params": 512, "total_params": 9512, "trainable_share": 512 / 9512}
    swept |= {"update_seconds": 2.5, "training_bytes": 8192}
    rows = [{"rank": rank, **swept} for rank in (2, 64)]
    write_tsv(folder / "rank_sweep.tsv", rows, tuple(rows[0]))
    write_compared(folder)
    names = ("generations.jsonl", "pairs.tsv", "manifest.json", "summary.tsv", "loss.tsv", "rank_sweep.tsv")
    made = {f"qa_{name.split('.')[0]}": str(folder / name) for name in names}
    figures = ("qa_loss_figure", "qa_rank_sweep_figure", "lora_schematic")
    return made | dict.fromkeys(figures, files["arms_figure"])
