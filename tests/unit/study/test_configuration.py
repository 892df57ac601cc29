"""Settings files that Snakemake reads otherwise than their author means, or not at all."""

import copy

import pytest

from common.errors import StudyError
from common.files import write_json
from common.machine import result_settings
from finetuning.protocol import arm_settings
from study.configuration import check_file, check_recorded, load_study, read_settings, with_defaults
from support import studies
from support.settings import changed
from tools import check_settings

REFUSED = {
    "a key twice": ("study: a\ndata:\n  n_train: 10\n  n_train: 20\n", "lines 3 and 4 both give data.n_train"),
    "a block twice": ("data: {n_train: 1}\nstudy: a\ndata: {n_valid: 1}\n", "lines 1 and 3 both give data"),
    "twice in a list": ("a:\n- b: 1\n  b: 2\n", "lines 2 and 3 both give a.b"),
    "twice behind a merge": ("a: &x {b: 1}\nc:\n  <<: *x\n  d: 1\n  d: 2\n", "lines 4 and 5 both give c.d"),
    "twice in JSON": ('{"study": "a",\n\t"study": "b"}', "the key study occurs twice"),
    "a block in itself": ("finetuning: &f\n  training: *f\n", "line 1: the block finetuning.training contains itself"),
    "Latin-1": ("study: a\n# été\n".encode("latin-1"), "line 2: this is not UTF-8 text"),
    "UTF-16": ("study: a\n".encode("utf-16"), "line 1: this is not UTF-8 text"),
    "no YAML": ("study: [a\nb: 1\n", "line 2: this is not YAML"),
    "a control character": ("study: a\x07b\n", "this is not YAML"),
    "too deep": ("[" * 100_000, "nested too deeply"),
}
ACCEPTED = {
    "byte-order mark": "\ufeffstudy: a\n",
    "JSON with tabs": '{\n\t"study": "a"\n}\n',
    "an anchor used twice": "a: &x {b: 1}\nc: *x\nd: *x\n",
    "one name in two blocks": "a: {b: 1}\nc: {b: 1}\n",
    "empty": "",
    # 2^40 nodes if each alias were followed anew
    "many aliases": "a0: &a0 [1]\n" + "".join(f"a{i}: &a{i} [*a{i - 1}, *a{i - 1}]\n" for i in range(1, 40)),
}


def written(folder, content):
    path = folder / "study.yaml"
    path.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8"))
    return path


@pytest.mark.parametrize("name", REFUSED)
def test_a_file_that_means_something_else_is_refused(tmp_path, name):
    content, words = REFUSED[name]
    path = written(tmp_path, content)
    for read in (check_file, read_settings):
        with pytest.raises(StudyError) as caught:
            read(path)
        message = str(caught.value)
        assert message.startswith(str(path)) and words in message and "\n" not in message


def test_make_study_says_so_in_one_line(tmp_path, capsys):
    assert check_settings.main([str(written(tmp_path, "study: é\n".encode("latin-1")))]) == 1
    assert capsys.readouterr().err.count("\n") == 1
    assert check_settings.main([str(written(tmp_path, "study: a\n"))]) == 0


@pytest.mark.parametrize("name", ACCEPTED)
def test_a_sound_file_is_accepted(tmp_path, name):
    check_file(written(tmp_path, ACCEPTED[name]))


# --- settings of results, and settings shown beside them --------------------------------------------------------------


@pytest.mark.parametrize(
    "changes, words",
    [
        ({"finetuning.training.lr": 1.0}, ["finetuning.training.lr", "made with 0.0003", "now say 1.0"]),
        ({"finetuning.seeds": [1, 2]}, ["finetuning.seeds", "[1, 2, 3]"]),
        ({"qa.lora.rank_pattern": {"query_key_value": 4}}, ["qa.lora.rank_pattern"]),
        ({"data.n_test": 5}, ["data.n_test: the results were made with None, and the settings now say 5"]),
    ],
    ids=str,
)
def test_results_are_not_shown_beside_other_settings(tmp_path, changes, words):
    record = tmp_path / "settings.json"
    write_json(record, result_settings(changed({})))
    assert check_recorded(changed({}), record, reruns=False) == ""
    with pytest.raises(StudyError) as caught:
        check_recorded(changed(changes), record, reruns=False)
    assert all(word in str(caught.value) for word in words)


def test_results_that_another_study_of_this_name_replaces_are_announced(tmp_path):
    record = tmp_path / "settings.json"
    write_json(record, result_settings(changed({})))
    assert check_recorded(changed({}), record, reruns=True) == ""
    notice = check_recorded(
        changed({"finetuning.training.lr": 1.0, "data.n_test": 5, "qa.enabled": False}), record, True
    )
    assert notice.startswith(
        "data.n_test: the results were made with None, and the settings now say 5. 2 more settings"
    )
    assert "give the study another name to keep both" in notice


def test_a_setting_of_an_earlier_release_is_a_difference(tmp_path):
    former = copy.deepcopy(changed({}))
    former["data"]["gone"] = 1
    write_json(tmp_path / "settings.json", result_settings(former))
    with pytest.raises(StudyError, match="data.gone"):
        check_recorded(changed({}), tmp_path / "settings.json", reruns=False)


def test_looks_and_places_decide_no_result(tmp_path):
    write_json(tmp_path / "settings.json", result_settings(changed({})))
    shown = changed({"report.colours.fairseq-random": "#000000", "mirror": str(tmp_path)})
    assert check_recorded(shown, tmp_path / "settings.json", reruns=False) == ""


@pytest.mark.parametrize(
    "own, sizes",
    [
        ({}, (80, 100)),
        ({"data": {"source": "table"}}, (None, None)),
        ({"data": {"source": "table", "n_valid": 50}}, (None, 50)),
    ],
)
def test_a_table_is_used_whole_unless_the_study_says_otherwise(own, sizes):
    data = with_defaults(own, studies.ROOT)["data"]
    assert (data["n_train"], data["n_valid"]) == sizes


@pytest.mark.parametrize(
    ("own", "chooses", "recorded"),
    [
        ({}, "accuracy", None),
        ({"finetuning": {"select_by": "loss"}}, "loss", None),
        ({"measure": "macro_f1"}, "macro_f1", "macro_f1"),
        ({"measure": "macro_f1", "finetuning": {"select_by": "loss"}}, "loss", "macro_f1"),
        ({"measure": "macro_f1", "finetuning": {"select_by": "mcc"}}, "mcc", ["mcc", "macro_f1"]),
    ],
)
def test_the_leading_measure_chooses_epochs_and_is_recorded(own, chooses, recorded):
    config, _ = load_study(studies.ROOT, **own)
    assert config["finetuning"]["select_by"] == chooses
    settings = arm_settings(config["finetuning"] | {"measure": config["measure"]}, "fairseq-pretrained")
    assert settings.get("measure") == recorded


def test_results_from_before_the_leading_measure_are_of_accuracy(tmp_path):
    config, _ = load_study(studies.ROOT)
    record = tmp_path / "settings.json"
    write_json(record, {key: value for key, value in result_settings(config).items() if key != "measure"})
    assert check_recorded(config, record, reruns=False) == ""
    with pytest.raises(StudyError, match="measure: the results were made with 'accuracy'"):
        check_recorded(config | {"measure": "mcc"}, record, reruns=False)
