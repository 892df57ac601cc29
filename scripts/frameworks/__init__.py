"""The frameworks that fine-tune: each has a folder, which is found by its place; no list names them.

The facts of a framework are in its `__init__.py`, which imports nothing heavy: Snakemake, the checks of settings and
the page read them. A folder without facts there is no framework that an arm may name.

Required:
    LABEL (str): its name for readers.
    ENVIRONMENT (str): the file of `envs/` in which it trains and scores, without `.yaml`.
    INITS (tuple): what its runs may start from, of pretrained and random; (NONE,) for a framework that starts from no
    model.

Optional, with the defaults of `DEFAULTS`: see there.

A framework without a file in `rules/frameworks/` has two modules: `train`, with
`train(texts, labels, valid, classes, seed, settings, folder)`, and `score`, with `score(folder, texts, n_classes)`.
`train` may return a dict: `scores`, {split: probabilities, or None where the split is not scored}, which `score` is
then not asked for; and `record`, more entries of run.json.
"""

import functools
import importlib
import os

FOLDER = os.path.dirname(os.path.abspath(__file__))
# The start and the model of arms that start from no model.
NONE = "none"
DEFAULTS = {
    # JSON Schema of the keys of an arm that only this framework reads.
    "SETTINGS": {},
    # True where its arms may start from `finetuning.models`, and where they read pairs of texts.
    "OTHERS_MODELS": False,
    "PAIRS": False,
    # The kinds of labels that it learns (`tasks`).
    "TASKS": ("classification",),
    # True where its runs have checkpoints, which are then verified, compared, exported, and scored epoch by epoch.
    "CHECKPOINTS": False,
    # The settings of `frameworks.matched.OPTIONAL` that its runs can have.
    "OPTIONS": (),
    # True where its runs have a seed for each source of chance (`finetuning.vary`), or none of them is random.
    "HOLDS_SOURCES": False,
    # True where its defaults have no weight decay.
    "UNDECAYED": False,
    # Packages whose versions a run records.
    "PACKAGES": (),
    # Terms of `study.rule_parameters` of its classifier beside the encoder's.
    "TERMS": (),
    # Settings that only its runs record.
    "ONLY": (),
    # The rules that lead from texts to the test predictions of a run, in order: {rule: script below scripts/}.
    "STEPS": {},
    # The defaults of its commands, {flag: value as typed}: such flags are not counted as arguments.
    "FLAG_DEFAULTS": {},
    # True where the table of the frameworks in use shows it only together with the others.
    "BESIDE": False,
    # The source of its default settings.
    "RECIPE": "",
    # The words of an exported model's card for the trainer.
    "TRAINER": "",
    # Keys of SETTINGS that say where a job runs, on which no result depends: conda, threads, mem_mb, gpu, hours.
    "PLACED": (),
    # True where its runs are trained here; and a function of the arm: True where its runs have a validation result.
    "TRAINS": True,
    "VALIDATED": lambda arm: True,
    # The words of the methods for its runs where they are not trained by epochs, after `The runs of ARMS`.
    "METHOD": "were trained once each, without a choice of epochs",
    # Files that a run reads beside the texts: None, or a function of the arm and the seed.
    "READS": None,
    # The settings of its runs besides the arm's: a function of `finetuning` and the arm.
    "arm_settings": lambda finetuning, arm: {},
    # Requests of an arm that it cannot meet and these facts do not cover: messages, from `finetuning` and a name.
    "faults": lambda finetuning, name: (),
}


@functools.cache
def names():
    """Return the names of the frameworks, sorted."""
    found = []
    for name in sorted(os.listdir(FOLDER)):
        facts = os.path.join(FOLDER, name, "__init__.py")
        if os.path.isfile(facts) and os.path.getsize(facts):
            found.append(name)
    return found


@functools.cache
def load(name):
    """Return the module of a framework's facts; missing ones have the value of `DEFAULTS`."""
    facts = importlib.import_module(f"{__name__}.{name}")
    for key, value in DEFAULTS.items():
        if not hasattr(facts, key):
            setattr(facts, key, value)
    return facts


def label(name):
    """Return a framework's name for readers; an unknown framework keeps the given name."""
    return load(name).LABEL if name in names() else name


def having(fact):
    """Return the names of the frameworks that have a fact, sorted."""
    return [name for name in names() if getattr(load(name), fact)]
