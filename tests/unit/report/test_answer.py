"""The questions of the first screen: which pairs of arms answer which."""

from itertools import combinations

from report.sections.answer.facts import TOLD, compared_with_baseline, findings, in_short, pairs_asked, planned

PLAIN = {"framework": "huggingface", "model": "checkpoint", "init": "pretrained"}


def pairs_of(arms, claim="none"):
    """Rows of pairs.tsv for every two arms, the wider apart the later."""
    rows = []
    for number, (a, b) in enumerate(combinations(arms, 2)):
        sides = [{"arm": name, **{key: arms[name][key] for key in PLAIN}} for name in (a, b)]
        row = {f"{key}_{letter}": side[key] for side, letter in zip(sides, "ab", strict=True) for key in side}
        row |= {"difference": str(-0.01 * (number + 1)), "low": "-0.5", "high": "0.4", "claim": claim, "n_test": "10"}
        row |= {"n_seeds_a": "3", "n_seeds_b": "3", "minimum_detectable": "", "seeds_needed": ""}
        row |= {"items_margin": "", "margin": "", "margin_seeds": ""}
        rows.append(row | {"seeds_p_floor": "0.1", "seeds_p": "0.1", "seeds_p_holm": "1", "welch_p_holm": "1"})
    return rows


def asked(arms, left_out=()):
    pairs = [pair for pair in pairs_of(arms) if not {pair["arm_a"], pair["arm_b"]} & set(left_out)]
    found = pairs_asked(pairs, arms, left_out)
    return {name: [(p["arm_a"], p["arm_b"]) for p in those] for name, those in found.items()}


def test_an_arm_that_must_match_another_is_compared_with_it():
    arms = {
        "fairseq": PLAIN | {"framework": "fairseq"},
        "random": PLAIN | {"framework": "fairseq", "init": "random", "match": "fairseq"},
        "huggingface": PLAIN | {"match": "fairseq"},
    }
    assert asked(arms) == {"pretraining": [("fairseq", "random")], "frameworks": [("fairseq", "huggingface")]}


def test_arms_that_differ_in_their_settings_or_in_the_model_alone_are_asked_about():
    arms = {"plain": PLAIN, "fast": PLAIN | {"training": {"lr": 1e-3}}, "other": PLAIN | {"model": "mine"}}
    assert asked(arms) == {"recipes": [("plain", "fast")], "models": [("plain", "other")]}
    assert asked({"plain": PLAIN, "steady": PLAIN | {"training": {"dropout": 0}}}) == {
        "settings": [("plain", "steady")]
    }


def test_two_starts_with_a_recipe_each_are_asked_about():
    """As where validation chose another learning rate for each start."""
    fast = {"lr": 1e-4, "epochs": 10}
    arms = {"pretrained": PLAIN | {"training": {"lr": 3e-5}}, "random": PLAIN | {"init": "random", "training": fast}}
    assert asked(arms) == {"own_pretraining": [("pretrained", "random")]}
    assert short("own_pretraining", ("difference", "random")) == ("No, it harms", "against")
    (finding,) = findings(pairs_of(arms), arms)
    assert finding["name"] == "own_pretraining"
    # Not where a start has several recipes, but of those the one that validation chose.
    slow = arms | {"slow": PLAIN | {"training": {"lr": 1e-6}}}
    assert asked(slow) == {"recipes": [("pretrained", "slow")]}
    assert asked(slow, {"slow"})["own_pretraining"] == [("pretrained", "random")]
    assert asked(slow, {"pretrained"})["own_pretraining"] == [("random", "slow")]
    # Nor where something else differs.
    for other in (
        {"training": fast | {"weight_decay": 0.1}},
        {"freeze": "encoder"},
        {"framework": "fairseq"},
        {"n_train": 9},
    ):
        assert not asked({"pretrained": arms["pretrained"], "random": arms["random"] | other})


def test_models_and_frameworks_with_a_recipe_each_are_asked_about():
    fast = {"training": {"lr": 1e-4}}
    arms = {
        "plain": PLAIN,
        "other": PLAIN | {"model": "mine"} | fast,
        "fairseq": PLAIN | {"framework": "fairseq"} | fast,
    }
    assert asked(arms) == {"own_models": [("plain", "other")], "own_frameworks": [("plain", "fairseq")]}
    for name, key in (("own_models", "model"), ("own_frameworks", "framework")):
        ways = ("difference", "a"), ("difference", "b")
        assert short(name, *ways, key=key, first="a", second="b") == ("It depends", "partly")


def test_of_many_pairs_the_widest_gaps_are_told():
    arms = {f"lr{n}": PLAIN | {"training": {"lr": n}} for n in range(4)}
    (finding,) = findings(pairs_of(arms), arms)
    assert finding["name"] == "recipes" and finding["more"] and len(finding["pairs"]) == TOLD
    assert [pair["gap"] for pair in finding["pairs"]] == ["0.03", "0.04", "0.05", "0.06"]


def short(name, *claims, key="init", first="pretrained", second="random"):
    """The short answer from pairs of (claim, which start, framework or model is ahead)."""
    told = []
    for claim, ahead in claims:
        better, other = (first, second) if ahead == first else (second, first)
        told.append({"claim": claim, "better": {key: better}, "other": {key: other}})
    return in_short(name, told)


def test_it_depends_on_opposite_directions_alone():
    up, down, none, one = (
        ("difference", "pretrained"),
        ("difference", "random"),
        ("none", "random"),
        ("one_seed", "random"),
    )
    assert short("pretraining", up, up) == ("Yes", "shown")
    assert short("pretraining", up, down) == ("It depends", "partly")
    assert short("pretraining", ("if_normal", "pretrained"), down) == ("It depends", "partly")
    assert short("pretraining", up, none) == short("pretraining", up, one) == ("Shown for some pairs", "partly")
    assert short("pretraining", none, one) == ("Not shown", "open")
    assert short("pretraining", one) == ("Cannot be decided", "open")
    assert short("pretraining", down) == ("No, it harms", "against")
    assert short("pretraining", down, none) == ("Harm shown for some pairs", "partly")


def test_what_one_pair_takes_as_normal_the_answer_does_too():
    sure, normal, none = (("difference", "pretrained"), ("if_normal", "pretrained"), ("none", "pretrained"))
    assert short("pretraining", sure, normal) == ("Yes, assuming normality", "partly")
    assert short("pretraining", normal, none) == ("Shown for some pairs, assuming normality", "partly")
    assert short("pretraining", ("if_normal", "random")) == ("No, it harms, assuming normality", "partly")


def test_frameworks_and_models_have_directions_and_settings_have_none():
    ways = (("difference", "fairseq"), ("difference", "huggingface"))
    sides = {"first": "fairseq", "second": "huggingface"}
    assert short("frameworks", *ways, key="framework", **sides) == ("It depends", "partly")
    assert short("models", *ways, key="model", **sides) == ("It depends", "partly")
    # Of three models in one order the middle one is ahead in one pair and behind in another.
    rows = [("c", "b"), ("b", "a"), ("c", "a")]
    told = [{"claim": "difference", "better": {"model": x}, "other": {"model": y}} for x, y in rows]
    assert in_short("models", told) == ("Yes", "shown")
    told = [{"claim": "difference", "better": {"arm": x}, "other": {"arm": y}} for x, y in (("a", "b"), ("b", "a"))]
    assert in_short("settings", told) == ("Yes", "shown")


def test_arms_against_a_simple_model():
    assert compared_with_baseline(["above", "undecided"]) == ("Shown for some arms", "partly")
    assert compared_with_baseline(["above", "one_seed"]) == ("Shown for some arms", "partly")
    assert compared_with_baseline(["below", "undecided"]) == ("No, some fall below", "against")
    assert compared_with_baseline(["above", "above"]) == ("Yes", "shown")
    assert compared_with_baseline(["above", "below", "undecided"]) == ("It depends", "partly")
    assert compared_with_baseline(["undecided", "one_seed"]) == ("Not shown", "open")
    assert compared_with_baseline(["one_seed"]) == ("Cannot be decided", "open")


def test_only_plans_that_say_something_are_told():
    facts = {"n_seeds_a": "3", "n_seeds_b": "5", "difference": "0.02", "seeds_p_floor": "0.1", "seeds_p": "0.1"}

    def told(**changed):
        return planned(facts | {"minimum_detectable": "0.03", "seeds_needed": "4"} | changed)

    assert told() == {"floored": True, "detectable": True, "more": True}
    assert not told(seeds_needed="3")["more"] and not told(seeds_needed="")["more"]
    assert not told(minimum_detectable="0.0")["detectable"] and not told(minimum_detectable="")["detectable"]
    assert not told(seeds_p="0.2")["floored"] and not told(seeds_p="")["floored"]
