"""The protocol diff: equal and unequal rows, and the refusal in matched mode."""

import pytest

from analysis.build_protocol_diff import SETTINGS, compare, main, same
from common.errors import StudyError
from common.files import read_tsv, write_json
from support.arms import facts

PROTOCOL = {setting: f"the {setting}" for setting in SETTINGS} | {
    "betas": [0.9, 0.98],
    "eps": 1e-8,
    "lr_last": 1e-5 / 3,
    "total_updates": 1125,
    "initialisation": "normal",
}


# Each is to be trained like the first.
ARMS = {
    name: {"match": "fairseq-pretrained"} for name in ("fairseq-random", "huggingface-pretrained", "huggingface-random")
} | {"fairseq-pretrained": {}}


def run(framework, init="pretrained", seed=1, **changes):
    return facts(framework, init) | {"seed": seed, "protocol": PROTOCOL | changes}


def rows_of(*runs, **options):
    return {row["setting"]: row for row in compare(list(runs), **options)[0]}


def test_same():
    assert same((0.9, 0.98), [0.9, 0.98]) and not same([0.9, 0.98], [0.9, 0.999])
    assert same(1e-5, 1e-5 * (1 + 1e-9)) and not same(0.0, 1e-8)
    assert not same(None, 0) and not same(True, 1) and same("nats", "nats")


def test_equal_rows():
    rows = rows_of(run("fairseq"), run("fairseq", "random", 2), run("huggingface", betas=(0.9, 0.98)))
    assert all(row["equal"] for row in rows.values()) and list(rows) == SETTINGS
    assert rows["betas"]["fairseq"] == "[0.9, 0.98]" == rows["betas"]["huggingface"]


def test_the_published_differences_are_unequal():
    rows = rows_of(run("fairseq"), run("huggingface", betas=[0.9, 0.999], weight_decay=0, loss_unit="bits"))
    assert {name for name, row in rows.items() if not row["equal"]} == {"betas", "weight_decay", "loss_unit"}


def test_a_run_that_differs_within_its_framework():
    rows = rows_of(run("fairseq"), run("fairseq", seed=2, total_updates=1200))
    assert not rows["total_updates"]["equal"]
    assert rows["total_updates"]["note"] == "differs between runs of fairseq"
    assert rows["total_updates"]["fairseq"] == "pretrained: 1125 or 1200"


def test_initialisation_matters_between_random_arms_only():
    drawn = {"initialisation": "embeddings sd 0.044"}
    rows = rows_of(run("fairseq"), run("fairseq", "random", **drawn), run("huggingface"))
    assert rows["initialisation"]["equal"]
    assert rows["initialisation"]["fairseq"] == "pretrained: normal; random: embeddings sd 0.044"
    rows = rows_of(run("fairseq", "random", **drawn), run("huggingface", "random"))
    assert not rows["initialisation"]["equal"]


def test_matched_mode_refuses_and_names_the_row(tmp_path):
    paths = []
    for number, entry in enumerate([run("fairseq"), run("huggingface", betas=[0.9, 0.999], padding="to 256")]):
        write_json(tmp_path / f"{number}.json", entry)
        paths.append(str(tmp_path / f"{number}.json"))
    table = tmp_path / "protocol_diff.tsv"
    with pytest.raises(StudyError, match=r"betas: fairseq \[0.9, 0.98\], huggingface \[0.9, 0.999\]") as error:
        main(paths, str(table), "matched", ARMS)
    assert "padding" not in str(error.value) and not table.exists()
    main(paths, str(table), "published", ARMS)
    rows = {row["setting"]: row for row in read_tsv(table)}
    assert list(rows["betas"]) == ["setting", "fairseq", "huggingface", "equal", "note"]
    assert rows["betas"]["equal"] == "false" and rows["eps"]["equal"] == "true"
    assert rows["padding"]["equal"] == "false" and "excused" in rows["padding"]["note"]
    main(paths, str(table), "matched", ARMS, {"betas": "a test", "padding": "a test"})
    with pytest.raises(StudyError, match="matched, published"):
        main(paths, str(table), "equal", ARMS)


def test_what_is_not_recorded_is_not_equal():
    lacking = run("huggingface")
    del lacking["protocol"]["head"]
    rows = rows_of(run("fairseq"), lacking)
    assert not rows["head"]["equal"] and rows["head"]["note"] == "not recorded by huggingface"
    both = [run("fairseq"), lacking]
    del both[0]["protocol"]["head"]
    assert not rows_of(*both)["head"]["equal"]
    with pytest.raises(StudyError, match="fairseq-pretrained/seed1 recorded no protocol"):
        compare([{"arm": "fairseq-pretrained", "framework": "fairseq", "init": "pretrained", "seed": 1}])


def test_what_one_framework_alone_has_is_refused(tmp_path):
    for name, entry in {"a": run("fairseq"), "b": run("huggingface", token_types="one vector")}.items():
        write_json(tmp_path / f"{name}.json", entry)
    with pytest.raises(StudyError, match=r"token_types: fairseq none, huggingface one vector\n"):
        main([str(tmp_path / "a.json"), str(tmp_path / "b.json")], str(tmp_path / "table.tsv"), "matched", ARMS)


def test_nested_settings_and_further_ones():
    a = run("fairseq", initialisation={"head": "uniform", "embeddings": "normal"}, extra=1)
    b = run("huggingface", initialisation={"head": "uniform", "embeddings": "normal 0.02"}, extra=2)
    rows = rows_of(a, b)
    assert "initialisation" not in rows and rows["initialisation.head"]["equal"]
    assert not rows["initialisation.embeddings"]["equal"] and not rows["extra"]["equal"]


def test_what_only_random_arms_draw_is_asked_of_them_only():
    head = {"head": "uniform"}
    pretrained = [run(name, initialisation=head) for name in ("fairseq", "huggingface")]
    random = run("fairseq", "random", initialisation={**head, "embeddings": "normal"})
    row = rows_of(*pretrained, random)["initialisation.embeddings"]
    assert row == {
        "setting": "initialisation.embeddings",
        "fairseq": "normal",
        "huggingface": "not applicable",
        "equal": "not applicable",
        "note": "drawn by one framework's arms only",
    }
    # A second random arm must record it, too.
    row = rows_of(*pretrained, random, run("huggingface", "random", initialisation=head))["initialisation.embeddings"]
    assert not row["equal"] and row["note"] == "not recorded by huggingface"


def test_what_cannot_be_compared_is_not_refused_and_not_called_equal(tmp_path):
    runs = [run("fairseq", "random", initialisation={"embeddings": "normal"}), run("huggingface", initialisation={})]
    for number, entry in enumerate(runs):
        write_json(tmp_path / f"{number}.json", entry)
    arms = {"fairseq-random": {}, "huggingface-pretrained": {"match": "fairseq-random"}}
    main([str(tmp_path / f"{number}.json") for number in range(2)], str(tmp_path / "table.tsv"), "matched", arms)
    found = {row["setting"]: row["equal"] for row in read_tsv(tmp_path / "table.tsv")}
    assert found.pop("initialisation.embeddings") == "not applicable" and set(found.values()) == {"true"}


def test_one_framework_alone_is_equal_to_itself():
    assert all(row["equal"] for row in rows_of(run("fairseq"), run("fairseq", seed=2)).values())


def test_only_arms_that_say_match_are_refused_and_others_show_what_differs(tmp_path):
    other = run("huggingface", lr_last=0.5, freeze="encoder") | {"arm": "frozen"}
    paths = []
    for entry in (run("fairseq"), run("huggingface"), other):
        paths.append(str(tmp_path / f"{entry['arm']}.json"))
        write_json(paths[-1], entry)
    table = tmp_path / "table.tsv"
    main(paths, str(table), "matched", ARMS | {"frozen": {"match": None}})
    rows = {row["setting"]: row for row in read_tsv(table)}
    assert rows["lr_last"]["equal"] == "false" and rows["betas"]["equal"] == "true"
    assert "frozen: 0.5" in rows["lr_last"]["huggingface"]
    with pytest.raises(StudyError, match="lr_last: .*0.5"):
        main(paths, str(table), "matched", ARMS | {"frozen": {"match": "huggingface-pretrained"}})
    # An arm that trains by its framework's own defaults cannot be matched.
    main(paths, str(table), "matched", ARMS | {"frozen": {"match": "fairseq-pretrained", "protocol": "published"}})
