"""A study of a grid of recipes, made of answers that are right by chance, through the workflow's own tables."""

import random

from analysis import choose_recipes, compare_recipes
from finetuning.recipes import compared_recipes, tried_recipes
from support.result_sets import make_errors, make_rest, simulated, write_tables
from support.settings import defaults

RATES, EPOCHS, SEEDS = (1.0e-5, 3.0e-4), (5, 10), (1, 2, 3)
# Chance of a right answer by start and rate: as in the trials, random catches up at the higher rate.
CHANCES = {("pretrained", 1.0e-5): 0.8, ("random", 1.0e-5): 0.6, ("pretrained", 3.0e-4): 0.81, ("random", 3.0e-4): 0.8}


def recipes(**of):
    """Recipes of one start each: name -> (start, rate, epochs)."""
    return {
        name: {"pair": "p", "start": f"p, {init}", "init": init, "lr": lr, "epochs": epochs}
        for name, (init, lr, epochs) in of.items()
    }


def finetuning(rates=RATES, epochs=EPOCHS, framework="huggingface"):
    """Return the section `finetuning` of such a study, its grid written out."""
    section = defaults()["finetuning"] | {"seeds": list(SEEDS)}
    section["arms"] = {
        f"{init}-lr{rate:g}-epochs{n}": {
            "framework": framework,
            "model": "checkpoint",
            "init": init,
            "training": {"lr": rate, "epochs": n},
        }
        for init in ("pretrained", "random")
        for rate in rates
        for n in epochs
    }
    return section


def parts(rates=RATES):
    """Return such a section: two starts that share no pair, as in studies/parts.yaml, and one that has one recipe."""
    section, whole = finetuning(), {"framework": "huggingface", "model": "checkpoint", "init": "pretrained"}
    section["arms"] = {"all": whole | {"training": {"lr": RATES[0]}}}
    for name, own in (("frozen", {"freeze": "encoder"}), ("low-rank", {"lora": {"r": 8, "lora_alpha": 16}})):
        section["arms"] |= {f"{name}-lr{rate:g}": whole | own | {"training": {"lr": rate}} for rate in rates}
    return section


def make_recipes(folder, section, n_test=400, number=1, chances=CHANCES, seeds=SEEDS, flip=False):
    """Write such a study's tables; return build_report's inputs.

    Args:
        folder: results folder.
        section: what `finetuning` returns.
        n_test: reviews.
        number: number of the draw.
        chances: {(init, rate): chance of a right answer}.
        seeds: seeds of every arm.
        flip: whether every test answer is the other class's, validation staying as it is.
    """
    generator = random.Random(number)
    arms = [(arm["framework"], arm["init"], name) for name, arm in section["arms"].items()]
    accuracies = [chances[arm["init"], arm["training"]["lr"]] for arm in section["arms"].values()]
    labels, runs = simulated(generator, n_test, arms, list(seeds), accuracies)
    if flip:
        runs = {
            arm: {seed: ([1 - answer for answer in answers], n) for seed, (answers, n) in of.items()}
            for arm, of in runs.items()
        }
    files = write_tables(folder, labels, runs)
    return files | compare(folder, files, section)


def compare(folder, files, section):
    """Choose and compare the recipes of such a study; return build_report's inputs for them."""
    keys = [tuple(path.removesuffix(".tsv").split("/")[-2:]) for path in files["predictions"]]
    keys = [(arm, seed.removeprefix("seed")) for arm, seed in keys]
    tried = tried_recipes(section)
    if not tried:
        return {}
    (folder / "recipes").mkdir(exist_ok=True)
    made = {"recipes": str(folder / "recipes.tsv"), "recipe_runs": str(folder / "recipes/runs.tsv")}
    choose_recipes.main(files["runs"], tried, made["recipes"], made["recipe_runs"])
    compared = compared_recipes(tried)
    if compared:
        differing = [str(folder / "recipes" / f"{name}.tsv") for name in ("differences", "interactions")]
        compare_recipes.main(files["runs"], files["predictions"], keys, compared, *differing)
        made |= dict(zip(("recipe_differences", "recipe_interactions"), differing, strict=True))
    return made


def make_whole_study(folder, section, **options):
    """Return (inputs, settings) of such a study with every section of the page."""
    files = make_recipes(folder, section, **options)
    files |= make_errors(folder, files) | make_rest(folder, random.Random(1), list(section["arms"]))
    return files, defaults() | {"study": "simulated", "finetuning": section}
