"""A study of the sources of chance, made of answers that are right by chance, through the workflow's own tables."""

import numpy as np

from analysis import aggregate_runs, measure_spread, plot_spread
from study import spread
from study.variation import varied
from support.result_sets import write_runs, write_tables
from support.settings import defaults

# Each source moves a run by this SD (in shares); each arm has this share right.
MOVED = {"initialisation": 0.008, "order": 0.004, "split": 0.03}
CHANCE = {"fairseq-pretrained": 0.8, "fairseq-random": 0.68}
SEEDS = (1, 2, 3)


def settings_of(sources, vary=None, arms=tuple(CHANCE)):
    """Return the settings of such a study of fairseq's arms."""
    config = defaults() | {"study": "simulated", "sources": list(sources)}
    of = {"framework": "fairseq", "model": "checkpoint"}
    config["finetuning"]["arms"] = {name: of | {"init": name.partition("-")[2]} for name in arms}
    config["finetuning"]["seeds"] = list(SEEDS)
    if vary:
        config["finetuning"]["vary"] = vary
    return config


def answers(generator, labels, ease, chance, sources, scale=1.0):
    """Return a run's answers: right with a chance that the text and the sources move."""
    moved = sum(scale * MOVED[source] * generator.normal() for source in sources)
    right = generator.random(len(labels)) < chance + ease + moved
    return [label if one else 1 - label for label, one in zip(labels, right, strict=True)]


def make_spread(folder, config, n_test=600, number=1, n_right=15):
    """Write such a study's tables; return build_report's inputs.

    Args:
        folder: results folder.
        config: what `settings_of` returns.
        n_test: test texts.
        number: number of the draw.
        n_right: right answers of every run to 20 validation texts.
    """
    generator = np.random.default_rng(number)
    labels, ease = generator.integers(2, size=n_test).tolist(), generator.uniform(-0.15, 0.15, n_test)
    both, ways = ["initialisation", "order"], spread.source_arms(config)

    def run(name, sources):
        return answers(generator, labels, ease, CHANCE[name.partition(spread.MARK)[0]], sources), n_right

    own = {
        ("fairseq", arm["init"], name): {seed: run(name, both) for seed in SEEDS}
        for name, arm in config["finetuning"]["arms"].items()
    }
    files = write_tables(folder, labels, own)
    more = {}
    for name, seed in spread.source_runs(config):
        arm = ways[name]
        more.setdefault(("fairseq", arm["init"], name), {})[seed] = run(name, arm["vary"])
    paths = write_runs(folder, labels, more)
    made = {
        key: str(folder / "spread" / f"{name}.tsv")
        for key, name in (("spread_runs", "runs"), ("spread_sources", "sources"))
    }
    (folder / "spread").mkdir()
    records, selected, histories, predictions = (paths[k] for k in ("records", "selected", "histories", "predictions"))
    history = str(folder / "spread" / "history.tsv")
    aggregate_runs.main(
        records, selected, histories, predictions, [], files["manifest"], made["spread_runs"], history, "simulated"
    )
    study = {"n_seeds": len(SEEDS), "varied": varied(config["finetuning"])}
    measure_spread.main(
        made["spread_runs"],
        predictions,
        files["manifest"],
        made["spread_sources"],
        paths["keys"],
        config["sources"],
        study,
    )
    figure = [str(folder / "figures" / f"spread.{ending}") for ending in ("svg", "png")]
    plot_spread.main(made["spread_sources"], files["manifest"], *figure)
    return files | made | {"spread_figure": figure[0]}
