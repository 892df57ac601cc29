"""The questions of the first screen: which pairs of arms answer which."""

from itertools import combinations

from report.lib.sections_answer import TOLD, findings, pairs_asked

PLAIN = {"framework": "huggingface", "model": "checkpoint", "init": "pretrained"}


def pairs_of(arms, claim="none"):
    """Rows of pairs.tsv for every two arms, the wider apart the later."""
    rows = []
    for number, (a, b) in enumerate(combinations(arms, 2)):
        sides = [{"arm": name, **{key: arms[name][key] for key in PLAIN}} for name in (a, b)]
        row = {f"{key}_{letter}": side[key] for side, letter in zip(sides, "ab", strict=True) for key in side}
        row |= {"difference": str(-0.01 * (number + 1)), "low": "-0.5", "high": "0.4", "claim": claim, "n_test": "10"}
        row |= {"n_seeds_a": "3", "n_seeds_b": "3", "minimum_detectable": "", "seeds_needed": ""}
        rows.append(row | {"seeds_p_floor": "0.1", "welch_p_holm": "1"})
    return rows


def asked(arms):
    return {
        name: [(p["arm_a"], p["arm_b"]) for p in those] for name, those in pairs_asked(pairs_of(arms), arms).items()
    }


def test_an_arm_that_must_match_another_is_compared_with_it():
    arms = {
        "fairseq": PLAIN | {"framework": "fairseq"},
        "random": PLAIN | {"framework": "fairseq", "init": "random", "match": "fairseq"},
        "huggingface": PLAIN | {"match": "fairseq"},
    }
    assert asked(arms) == {"pretraining": [("fairseq", "random")], "frameworks": [("fairseq", "huggingface")]}


def test_arms_that_differ_in_their_settings_or_in_the_model_alone_are_asked_about():
    arms = {"plain": PLAIN, "fast": PLAIN | {"training": {"lr": 1e-3}}, "other": PLAIN | {"model": "mine"}}
    assert asked(arms) == {"settings": [("plain", "fast")], "models": [("plain", "other")]}


def test_of_many_pairs_the_widest_gaps_are_told():
    arms = {f"lr{n}": PLAIN | {"training": {"lr": n}} for n in range(4)}
    (finding,) = findings(pairs_of(arms), arms)
    assert finding["name"] == "settings" and finding["more"] and len(finding["pairs"]) == TOLD
    assert [pair["gap"] for pair in finding["pairs"]] == ["0.03", "0.04", "0.05", "0.06"]
