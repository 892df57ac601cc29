"""What the study finds: in words, in one figure and in one table of pairs; never stronger than the files."""

from common.arms import ARM, arms_of_pair, percent
from finetuning.recipes import RECIPE
from report.arm_colours import anchor_of, coloured
from report.asked import asked
from report.formats import run_name
from report.inputs import located
from report.numbers import derive
from report.sections.learning_curves.facts import facts as learning_curves
from report.sections.recipes.facts import facts as recipes
from report.shown import WORDS, conditioned, shade, unshown
from report.strips import Strip, strip_chart

CHAPTER, PLACE = "The answer", 10
# Columns of pairs.tsv that sentences on a pair take as they are.
KEPT = (
    "n_test", "claim", "minimum_detectable", "seeds_needed", "seeds_p_floor", "welch_p_holm", "seeds_p", "seeds_p_holm",
    "items_margin", "margin", "margin_seeds",
)  # fmt: skip
# Pairs of a question that are told in sentences.
TOLD = 4
# A question's answer where its pairs, or arms, show nothing.
OPEN = {"none": "Not shown", "one_seed": "Cannot be decided"}
# By what the arm ahead is told from the other. Settings of the arms' own have no direction.
DIRECTIONS = {"pretraining": "init", "frameworks": "framework", "models": "model"}
# Before a question's name: the two arms have recipes of their own, too.
OWN = "own_"
# Whether the arms beat a simple model, by where those lie for which it is shown, and whether it is for all: the short
# answer and its class.
AGAINST_BASELINE = {
    ("above", True): ("Yes", "shown"),
    ("above", False): ("Shown for some arms", "partly"),
    ("below", True): ("No, they fall below", "against"),
    ("below", False): ("No, some fall below", "against"),
}


def arms_with_intervals(study):
    """Return test_accuracy.tsv with the intervals of figures/arms.tsv beside it."""
    intervals = study.frame("arms_data").drop(columns=["n_seeds", "mean"])
    return study.frame("test_accuracy").merge(intervals, on=ARM)


def missing_runs(study):
    """Return the names of configured runs that runs.tsv does not hold."""
    there = set(study.frame("runs")[["arm", "seed"]].itertuples(index=False, name=None))
    finetuning = located(study.settings.get("finetuning") or {}, "config", "finetuning")
    return [
        run_name(arm, seed)
        for arm in finetuning.get("arms", {})
        for seed in finetuning.get("seeds", [])
        if (arm, seed) not in there
    ]


def disagreements(study):
    """Return the rows of the parameter ledger, the one table that says `agrees`, that do not agree."""
    rows = study.table("parameter_ledger").rows if study.has("parameter_ledger") else []
    return [row for row in rows if row["agrees"] == "false"]


def side(pair, letter):
    """Return one arm of a pair as a row of its own."""
    return {name: pair[f"{name}_{letter}"] for name in ARM if f"{name}_{letter}" in pair}


def towards_the_better(pair):
    """Return a pair of pairs.tsv as the arm ahead, the other, and the difference and its interval in favour of it."""
    ahead, other = ("a", "b") if not pair["difference"].startswith("-") else ("b", "a")
    low, high, gap = pair["low"], pair["high"], pair["difference"]
    if ahead == "b":
        low, high, gap = derive("difference", "0", high), derive("difference", "0", low), derive("difference", "0", gap)
    told = {"better": side(pair, ahead), "other": side(pair, other), "gap": gap, "low": low, "high": high}
    told |= {"n_better": pair[f"n_seeds_{ahead}"], "n_other": pair[f"n_seeds_{other}"], "equal": float(gap) == 0}
    # The interval, which is not corrected for the number of pairs, leaves 0 out.
    told["corrected"] = pair["claim"] == "none" and unshown(pair) == "correction"
    return told | {name: pair[name] for name in KEPT} | planned(pair) | {"class": shade(pair["claim"])}


def planned(pair):
    """Return what may be said of a pair's tests over seeds.

    Returns:
        dict: floored, whether the permutation's p is the least that so many seeds can give; detectable, whether the
        least detectable difference is one that prints; more, whether it takes more seeds to show the difference seen.
    """
    there = min(int(pair["n_seeds_a"]), int(pair["n_seeds_b"]))
    least, p, seen = pair["seeds_p_floor"], pair["seeds_p"], percent(abs(float(pair["difference"])))
    return {
        "floored": bool(p) and float(p) <= float(least) * (1 + 1e-9),
        "detectable": percent(pair["minimum_detectable"]) not in ("", "0.00"),
        "more": bool(pair["seeds_needed"]) and float(pair["seeds_needed"]) > there and seen != "0.00",
    }


def pairs_asked(pairs, arms, left_out=()):
    """Return {question: pairs of pairs.tsv that answer it}: arms that differ in one thing and nothing else.

    Two starts with one recipe each, the study's only or validation's choice, may differ in the recipe too: the
    question's name then begins with `OWN`.

    Args:
        pairs: rows of pairs.tsv.
        arms: `finetuning.arms`, with what each arm sets for itself.
        left_out: names of the arms that validation did not choose.
    """
    names = [prefix + name for name in DIRECTIONS for prefix in ("", OWN)]
    found = {name: [] for name in (*names, "settings", "recipes")}
    starts = [without_recipe(arm) for name, arm in arms.items() if name not in left_out]
    for pair in pairs:
        a, b = side(pair, "a"), side(pair, "b")
        settings = [arms.get(arm["arm"]) or {} for arm in (a, b)]
        # `match` is a demand on the settings, and none itself.
        own = [{k: v for k, v in one.items() if k not in ("framework", "init", "model", "match")} for one in settings]
        differ = {
            "pretraining": a["init"] != b["init"],
            "frameworks": a["framework"] != b["framework"],
            "models": a.get("model") != b.get("model"),
            "settings": own[0] != own[1],
        }
        asked, bare = [name for name in differ if differ[name]], [without_recipe(one) for one in settings]
        if asked == ["settings"] and bare[0] == bare[1]:
            found["recipes"].append(pair)
        elif len(asked) == 1:
            found[asked[0]].append(pair)
        elif len(asked) == 2 and differ["settings"]:
            key = DIRECTIONS[asked[0]]
            same = bare[0] | {key: None} == bare[1] | {key: None}
            if same and all(starts.count(one) == 1 for one in bare):
                found[OWN + asked[0]].append(pair)
    return {name: those for name, those in found.items() if those}


def without_recipe(arm):
    """Return an arm's settings without learning rate, epochs and `match`."""
    training = {key: value for key, value in (arm.get("training") or {}).items() if key not in RECIPE}
    return {key: value for key, value in arm.items() if key != "match"} | {"training": training}


def in_short(name, told):
    """Return (answer, CSS class) of a question from what its pairs show.

    It depends only where two pairs show opposite directions: a pair without a difference shown contradicts none.
    """
    shown = [pair for pair in told if pair["claim"] not in OPEN]
    if not shown:
        return OPEN["none" if any(pair["claim"] == "none" for pair in told) else "one_seed"], "open"
    key = DIRECTIONS.get(name.removeprefix(OWN))
    ways = {(pair["better"].get(key), pair["other"].get(key)) for pair in shown} if key else set()
    if any(way[::-1] in ways for way in ways):
        return "It depends", "partly"
    harms, every = ways == {("random", "pretrained")}, len(shown) == len(told)
    sure = all(pair["claim"] == "difference" for pair in shown)
    whole, part = ("No, it harms", "Harm shown for some pairs") if harms else ("Yes", "Shown for some pairs")
    short = whole if every else part
    kind = ("against" if harms else "shown") if every and sure else "partly"
    return conditioned(short, sure), kind


def findings(pairs, arms, left_out=()):
    """Return the questions on pairs of arms: name, short answer, its class, and the pairs as they are told.

    Args:
        pairs, arms, left_out: as of `pairs_asked`.
    """
    told = []
    for name, those in pairs_asked(pairs, arms, left_out).items():
        rows = [towards_the_better(pair) for pair in those]
        short, kind = in_short(name, rows)
        # The matrix has every pair; sentences are for the widest gaps.
        widest = sorted(rows, key=lambda row: -float(row["gap"]))[:TOLD]
        shown = [row for row in rows if row in widest]
        told.append({"name": name, "short": short, "class": kind, "pairs": shown, "more": len(rows) > len(shown)})
    return told


def against_baseline(study, without):
    """Return the best simple model on validation, and every arm's difference from it; None: there is none.

    Args:
        study: the study's files.
        without: names of arms that are left out: those of a grid that validation did not choose, and those that learnt
            from fewer texts than the model.
    """
    if not study.has("baselines", "against_baselines"):
        return None
    # The largest class, which the page names anyway, is left out. The best on validation, not on test.
    simple = study.frame("baselines").query("baseline != 'majority'")
    if simple.empty:
        return None
    best = simple.loc[simple["valid_accuracy"].astype(float).idxmax()].to_dict()
    compared = study.frame("against_baselines").query("baseline == @best['baseline'] and arm not in @without")
    rows = [towards(row) for row in compared.to_dict("records")]
    if not rows:
        return None
    short, kind = compared_with_baseline([row["place"] for row in rows])
    return {"rows": rows, "model": best, "short": short, "class": kind}


def towards(row):
    """Return a row of statistics/baselines.tsv with its place and its difference in favour of whichever is ahead.

    `place` is above or below where a difference from the model is shown, else undecided or one_seed.
    """
    behind = row["difference"].startswith("-")
    gap, low, high = row["difference"], row["low"], row["high"]
    if behind:
        low, high, gap = (derive("difference", "0", value) for value in (high, low, gap))
    place = {"none": "undecided", "one_seed": "one_seed"}.get(row["claim"], "below" if behind else "above")
    # The interval is not corrected for the number of arms; the claim is.
    corrected = place == "undecided" and not float(low) <= 0 <= float(high)
    return row | {"place": place, "behind": behind, "gap": gap, "low": low, "high": high, "corrected": corrected}


def compared_with_baseline(places):
    """Return (answer, CSS class) of whether the arms beat a simple model.

    Args:
        places: of the arms: `above`, `below`, `undecided` or `one_seed`.
    """
    decided = {place for place in places if place in ("above", "below")}
    if len(decided) > 1:
        return "It depends", "partly"
    if decided:
        (place,) = decided
        return AGAINST_BASELINE[place, len(set(places)) == 1]
    return OPEN["none" if "undecided" in places else "one_seed"], "open"


def matrix(pairs):
    """Return the upper triangle of pairs: (arms across, [(arm, [a pair or None for each arm across])])."""
    arms = {pair[f"arm_{letter}"]: side(pair, letter) for pair in pairs for letter in "ab"}
    of = {(pair["arm_a"], pair["arm_b"]): pair for pair in pairs}
    rows = []
    for key, arm in list(arms.items())[:-1]:
        found = [of.get((key, other)) for other in list(arms)[1:]]
        cells = [pair and pair | {"class": shade(pair["claim"]), "word": word(pair)} for pair in found]
        rows.append((arm, cells))
    return list(arms.values())[1:], rows


def word(pair):
    """Return a pair's verdict in a word or three, of its first arm."""
    if pair["claim"] in WORDS:
        return WORDS[pair["claim"]]
    return claimed(pair["claim"], pair["difference"].startswith("-"))


def claimed(claim, lower):
    """Return the word for a difference that is claimed: `difference`, or `if_normal`."""
    return conditioned("lower" if lower else "higher", claim == "difference")


def strips(study, colours):
    """Return the arms for the chart: every seed, which links to its run, the mean and its interval."""
    runs = study.frame("runs").to_dict("records")
    looks = coloured(runs, colours)
    return [
        Strip(
            looks[arm["arm"]][1],
            looks[arm["arm"]][0],
            looks[arm["arm"]][2],
            [run for run in runs if run["arm"] == arm["arm"]],
            {"arm": arm["arm"]},
            arm if arm["t_low"] else None,
            {"arm": arm["arm"]},
            lambda run: f"#{anchor_of(run)}",
        )
        for arm in study.table("arms_data").rows
    ]


def in_short_facts(study):
    """Return what else a reader asks first: {leaks, seconds of all training, runs, parameters}; None where unknown."""
    seconds = [run["train_seconds"] for run in study.frame("runs").to_dict("records")]
    steps = study.table("derivation").rows if study.has("derivation") else []
    # What comes after the head is one framework's only.
    heads = [row["total"] for row in steps if row["part"].startswith("classification head")]
    checks = study.table("audit").rows if study.has("audit") else []
    return {
        # Test texts that training or validation has, too.
        "shared": next((row for row in checks if row["check"] == "test reviews in training or validation"), None),
        "leaks": study.count(study.path("audit"), status="leak") if study.has("audit") else None,
        "seconds": derive("sum", *seconds) if all(seconds) else None,
        "runs": study.count(study.path("runs")),
        "parameters": heads[0] if heads else None,
    }


def on_a_curve(pair, settings):
    """Tell whether two arms differ in what they learn from, which the learning curves show."""
    a, b = (settings.get(pair[f"arm_{letter}"]) or {} for letter in "ab")
    return any(a.get(key) != b.get(key) for key in ("n_train", "at_update"))


def with_recipes(study):
    """Return what `sections_recipes.recipes` does, with the short answer on two starts' own recipes."""
    found = recipes(study)
    for one in found["pairs"] if found else ():
        own = one["own"]
        ahead = ("random", "pretrained") if own["difference"].startswith("-") else ("pretrained", "random")
        sides = dict(zip(("better", "other"), ({"init": init} for init in ahead), strict=True))
        own["short"], own["class"] = in_short("pretraining", [sides | {"claim": own["claim"]}])
    return found


def behind_the_first(leading, pairs):
    """Return the pair of the two arms with the highest means, in favour of the first; None without their pair.

    Args:
        leading: frame of arms, the highest mean first.
        pairs: rows of pairs.tsv.
    """
    named = set(leading["arm"].iloc[:2])
    found = [pair for pair in pairs if set(arms_of_pair(pair)) == named]
    return towards_the_better(found[0]) if found else None


def facts(study):
    """What the study finds: in words, in one figure and in one table of pairs; never stronger than the files."""
    arms = arms_with_intervals(study).sort_values("mean", key=lambda column: -column.astype(float), kind="stable")
    grids = with_recipes(study)
    # Recipes of two starts are told together, not by pairs of their arms.
    told_together = grids["pairs"] if grids else []
    tried = {row["arm"] for one in told_together for row in one["arms"].rows}
    chosen = {row["arm"] for one in told_together for row in one["best"].values()}
    alone = grids["alone"] if grids else []
    # A test mean that was one of several to choose from leads nothing.
    left_out = (tried - chosen).union(*(one["arms"] - {one["best"]["arm"]} for one in alone))
    leading = arms.query("arm not in @left_out")
    # Means that print alike are not told apart.
    first = leading[leading["mean"].map(percent) == percent(leading["mean"].iloc[0])].sort_index()
    pairs = study.table("pairs").rows if study.has("pairs") else None
    # Starts by their own recipes: tests are corrected for these pairs alone, however many recipes were tried.
    across = grids["starts"].rows if grids and grids["starts"] else pairs or []
    level = study.json("method")["level"] if study.has("method") else arms["level"].iloc[0]
    told = [towards_the_better(pair) for pair in pairs or []]
    settings = (study.settings.get("finetuning") or {}).get("arms") or {}
    fewer = {name for name, arm in settings.items() if arm.get("n_train")}
    grown = learning_curves(study)
    own = [pair for pair in across if not (set(arms_of_pair(pair)) <= tried or set(arms_of_pair(pair)) & left_out)]
    within = [pair for pair in pairs or [] if any(set(arms_of_pair(pair)) <= one["arms"] for one in alone)]
    guessed = [pair for pair in own + within if not (grown and on_a_curve(pair, settings))]
    colours = (study.settings.get("report") or {}).get("colours")
    questions = asked(study)
    # A study that asked its questions itself is not asked others.
    guesses = {
        "runner_up": behind_the_first(leading, across) if len(first) == 1 else None,
        "findings": findings(guessed, settings, left_out),
        "undecided": [pair for pair in told if pair["claim"] in ("none", "one_seed")],
        "baseline": against_baseline(study, left_out | fewer),
    }
    return (dict.fromkeys(guesses) if questions else guesses) | {
        "arms": arms.to_dict("records"),
        "first": first.to_dict("records"),
        "n_leading": len(leading),
        "pairs": pairs,
        "pairs_href": study.href("pairs") if pairs else None,
        "level": level,
        "asked": questions,
        "matrix": matrix(pairs) if pairs else None,
        "n_test": sorted(study.frame("runs")["n_test"].unique(), key=int),
        "grids": grids,
        "grown": grown,
        "missing": missing_runs(study),
        "disagreeing": disagreements(study),
        "fewer": fewer,
        "failed": study.count(study.path("learned"), learned="false") if study.has("learned") else None,
        "in_short": in_short_facts(study),
        "chart_of_arms": strip_chart(
            strips(study, colours), "Test accuracy of every seed, by arm", arms["majority_share"].iloc[0]
        ),
        "drawing": study.drawing(study.path("arms_figure")),
        "values": study.table("arms_data"),
    }
