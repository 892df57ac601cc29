"""The frameworks that fine-tune, each in a folder of its own, found where it is: none is listed anywhere.

The facts of a framework are in its `__init__.py`, which imports nothing heavy: Snakemake, the checks of settings and
the page read them. A folder without facts there is no framework that an arm may name.

Required:
    LABEL (str): its name for readers.
    ENVIRONMENT (str): the file of `envs/` in which it trains and scores, without `.yaml`.
    INITS (tuple): what its runs may start from, of pretrained and random; (NONE,) for one that starts from no model.

Optional, with the defaults of `DEFAULTS`: see there.

A framework without a file of its own in `rules/frameworks/` has two modules: `train`, with
`train(texts, labels, valid, classes, seed, settings, folder)`, and `score`, with `score(folder, texts, n_classes)`.
"""

import functools
import importlib
import os

FOLDER = os.path.dirname(os.path.abspath(__file__))
# The start and the model of arms that start from no model.
NONE = "none"
DEFAULTS = {
    # JSON Schema of the keys of an arm that this framework reads, beside those that all arms have.
    "SETTINGS": {},
    # Whether its arms may start from `finetuning.models`, and whether they read pairs of texts.
    "OTHERS_MODELS": False,
    "PAIRS": False,
    # Whether its runs have checkpoints: then they are proved, compared, exported, and scored epoch by epoch.
    "CHECKPOINTS": False,
    # Whether its own defaults have no weight decay.
    "UNDECAYED": False,
    # Packages whose versions a run records.
    "PACKAGES": (),
    # Terms of `study.rule_parameters` of its classifier beside the encoder's.
    "TERMS": (),
    # Settings that its runs alone record.
    "ONLY": (),
    # The rules that lead from texts to the test predictions of a run, in order: {rule: script below scripts/}.
    "STEPS": {},
    # What its commands do where nothing is said, {flag: value as typed}: such flags are not counted as arguments.
    "FLAG_DEFAULTS": {},
    # Whether the table of the frameworks in use has it only where the others are, too.
    "BESIDE": False,
    # Where the settings of its own defaults come from.
    "RECIPE": "",
    # How the card of an exported model calls what trained it.
    "TRAINER": "",
    # What of the settings its runs get, beside what the arm itself says: a function of `finetuning` and the arm.
    "arm_settings": lambda finetuning, arm: {},
    # What an arm asks of it that it cannot do, beside what these facts say: messages, of `finetuning` and a name.
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
    """Return the module of a framework's facts; what it leaves out has the value of `DEFAULTS`."""
    facts = importlib.import_module(f"{__name__}.{name}")
    for key, value in DEFAULTS.items():
        if not hasattr(facts, key):
            setattr(facts, key, value)
    return facts


def label(name):
    """Return a framework's name for readers; that of a framework which this project lacks is its own."""
    return load(name).LABEL if name in names() else name


def having(fact):
    """Return the names of the frameworks that have a fact, sorted."""
    return [name for name in names() if getattr(load(name), fact)]
