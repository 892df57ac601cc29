"""`make new`: what it says of someone's texts, and the study that it writes."""

import subprocess
import sys

import pytest
import yaml

from common.arms import uses_checkpoint
from common.errors import StudyError
from study.configuration import load_study
from support import studies
from tools.new_study import USAGE, asked, classes_of, main, read_frame, sizes

COLUMNS = {"text": "text", "label": "label", "second": None}


def rows(n, labels=("good", "bad", "fair"), start=0):
    return [(f"text number {k} of many words", labels[k % len(labels)]) for k in range(start, start + n)]


def write(path, content, header="text,label\n"):
    path.write_text(header + "".join(f"{text},{label}\n" for text, label in content), encoding="utf-8")
    return str(path)


@pytest.fixture
def files(tmp_path):
    return {
        "train": write(tmp_path / "train.csv", [*rows(30), ("text number 0 of many words", "good")]),
        "test": write(tmp_path / "test.csv", rows(12, start=28)),
    }


def written(files, folder, **options):
    path, found = main("mine", files, "text", "label", folder=str(folder), **options)
    config, _ = load_study(studies.ROOT, path)
    return path, found, config


def test_what_was_found_is_said(files, tmp_path):
    _, found, _ = written(files, tmp_path / "studies")
    assert "train: " in found and "31 rows" in found and "test.csv, 12 rows" in found
    # 31 rows: 11 good, 10 bad, 10 fair.
    assert "classes: bad 10 (32%), fair 10 (32%), good 11 (35%)" in found
    assert "words in a text: median 6, longest 6" in found
    assert "texts that occur before in this file: 1" in found
    # Numbers 28 and 29.
    assert "texts of test that train has, too: 2 (a leak: remove them)" in found


def test_the_study_is_accepted_and_runs_on_these_files(files, tmp_path):
    path, _, config = written(files, tmp_path / "studies")
    data, arms = config["data"], config["finetuning"]["arms"]
    assert data["labels"] == ["bad", "fair", "good"] and data["source"] == "table"
    assert [data["table"][key] for key in ("train", "test", "text", "label")] == [*files.values(), "text", "label"]
    # A fifth of 31 rows; all others are trained on.
    assert (data["n_train"], data["n_valid"], data["n_test"]) == (None, 6, None)
    assert list(arms) == ["pretrained", "random"] and not config["qa"]["enabled"]
    pretraining, architecture = config["checkpoint"]["pretraining"], config["checkpoint"]["architecture"]
    assert pretraining["tokens_per_sample"] == architecture["max_positions"]
    assert yaml.safe_load((tmp_path / "studies" / "mine.yaml").read_text())["study"] == "mine" and "mine.yaml" in path


def test_a_model_of_ones_own_takes_the_checkpoint_s_place(files, tmp_path):
    model = tmp_path / "model"
    with pytest.raises(StudyError, match="MODEL=.*: there is no .*config.json"):
        written(files, tmp_path / "studies", model=str(model))
    model.mkdir()
    (model / "config.json").write_text("{}")
    _, _, config = written(files, tmp_path / "studies", model=str(model))
    finetuning = config["finetuning"]
    # No arm starts from the checkpoint: the file says nothing of it, and nothing of it is made.
    own = yaml.safe_load((tmp_path / "studies" / "mine.yaml").read_text())
    assert "checkpoint" not in own and not uses_checkpoint(config)
    assert finetuning["models"] == {"mine": {"folder": str(model)}}
    assert {arm["model"] for arm in finetuning["arms"].values()} == {"mine"} and finetuning["training"]["lr"] == 2e-5


def test_a_valid_of_its_own_is_named(files, tmp_path):
    files = {"train": files["train"], "valid": write(tmp_path / "v.csv", rows(6, start=50)), "test": files["test"]}
    _, found, config = written(files, tmp_path / "studies")
    assert config["data"]["table"]["valid"] == files["valid"] and config["data"]["n_valid"] is None
    assert "texts of valid that train has, too: 0" in found


def test_pairs_of_texts_name_both_columns(tmp_path):
    header = "premise,hypothesis,label\n"
    pairs = [(f"a premise {k},its hypothesis {k}", ("yes", "no")[k % 2]) for k in range(24)]
    parts = {"train": pairs[:12], "test": pairs[12:]}
    files = {split: write(tmp_path / f"{split}.csv", part, header) for split, part in parts.items()}
    path, found = main("mine", files, "premise", "label", "hypothesis", folder=str(tmp_path / "studies"))
    config, _ = load_study(studies.ROOT, path)
    assert (config["data"]["table"]["text"], config["data"]["table"]["second"]) == ("premise", "hypothesis")
    # Three words and three.
    assert "words in a text: median 6" in found
    for second, one in (("premise", "TEXT and SECOND"), ("label", "SECOND and LABEL")):
        with pytest.raises(StudyError, match=f"{one} are both {second}; name two columns"):
            main("other", files, "premise", "label", second, folder=str(tmp_path / "studies"))


def test_numbers_for_columns_and_labels_that_yaml_would_change(tmp_path):
    paths = {
        split: write(tmp_path / f"{split}: a.csv", rows(20, ("10", "9", "-1", "2.0"), start), header="")
        for split, start in (("train", 0), ("test", 20))
    }
    path, _ = main("mine", paths, "1", "2", folder=str(tmp_path))
    config, _ = load_study(studies.ROOT, path)
    assert config["data"]["labels"] == ["-1", "2", "9", "10"]
    assert (config["data"]["table"]["text"], config["data"]["table"]["label"]) == (1, 2)
    assert config["data"]["table"]["train"] == paths["train"]


def test_columns_whose_names_are_numbers_are_found_by_name(tmp_path):
    for label in ("02", "2"):
        paths = {
            split: write(tmp_path / f"{split}{label}.csv", rows(20, start=start), header=f"2024,{label}\n")
            for split, start in (("train", 0), ("test", 20))
        }
        path, _ = main(f"mine{label}", paths, "2024", label, folder=str(tmp_path))
        config, _ = load_study(studies.ROOT, path)
        assert (config["data"]["table"]["text"], config["data"]["table"]["label"]) == ("2024", label)
        assert config["data"]["labels"] == ["bad", "fair", "good"]


def test_no_file_is_overwritten(files, tmp_path):
    (tmp_path / "mine.yaml").write_text("of value")
    with pytest.raises(StudyError, match="mine.yaml exists and is not overwritten"):
        written(files, tmp_path)
    assert (tmp_path / "mine.yaml").read_text() == "of value"


def test_the_embedded_studys_name_is_taken(files, tmp_path):
    with pytest.raises(StudyError, match="NAME=embedded is the study of config.yaml.*; choose another NAME"):
        main("embedded", files, "text", "label", folder=str(tmp_path / "studies"))
    assert not (tmp_path / "studies").exists()


@pytest.mark.parametrize(
    "change, message",
    [
        ({"name": "my study"}, "NAME=my study: use letters"),
        ({"name": "../mine"}, "use letters"),
        ({"label": "text"}, "TEXT and LABEL are both text; name two columns"),
        ({"label": "class"}, "has no column 'class'; its columns are 'text', 'label'"),
        ({"test": "https://a.org/b.csv"}, "TEST=https://a.org/b.csv: make new reads files of this machine"),
        ({"test": "nowhere.csv"}, "nowhere.csv is missing"),
    ],
)
def test_a_fault_leaves_no_file(files, tmp_path, change, message):
    words = {"name": "mine", "label": "label"} | {key: change[key] for key in change if key != "test"}
    files |= {key: change[key] for key in change if key == "test"}
    with pytest.raises(StudyError, match=message):
        main(words["name"], files, "text", words["label"], folder=str(tmp_path / "studies"))
    assert not list((tmp_path / "studies").glob("*")) if (tmp_path / "studies").exists() else True


def test_a_test_file_without_a_class_is_told(files, tmp_path):
    files["test"] = write(tmp_path / "t.csv", rows(8, labels=("good", "bad")))
    with pytest.raises(StudyError, match=r"train.csv: row 3 .* label 'fair', which no row of .*t.csv has"):
        written(files, tmp_path / "studies")


def test_labels_that_are_no_classes(tmp_path):
    path = write(tmp_path / "a.csv", [(f"text {k}", k) for k in range(201)])
    with pytest.raises(StudyError, match="the column of labels has 201 different values, and a study 2 to 200"):
        classes_of(read_frame({"train": path}, COLUMNS))


def test_sizes_follow_the_texts(tmp_path):
    short = read_frame({"train": write(tmp_path / "a.csv", rows(40))}, COLUMNS)
    # 40 rows: 60 passes in batches of 32 are 75 updates, and the fewest are 200.
    assert (sizes(short)["updates"], sizes(short)["warmup"], sizes(short)["positions"]) == (200, 20, 32)
    assert sizes(short)["vocab_size"] == 100
    many = [(" ".join(f"word{(k * 7 + i) % 9000}" for i in range(100)), "x") for k in range(2000)]
    long = sizes(read_frame({"train": write(tmp_path / "b.csv", many)}, COLUMNS))
    # 100 words of 1.6 tokens, <s> and </s>, rounded up to a multiple of 32.
    assert (long["updates"], long["positions"], long["vocab_size"]) == (1800, 192, 2400)


def test_texts_without_blanks_are_measured_in_characters(tmp_path):
    # 40 characters each, of 50 different ones.
    texts = ["".join(chr(0x4E00 + (k * 7 + i) % 50) for i in range(40)) for k in range(60)]
    rows_of = [(text, ("good", "bad")[k % 2]) for k, text in enumerate(texts)]
    paths = {
        split: write(tmp_path / f"{split}.csv", rows_of[start : start + 30])
        for split, start in (("train", 0), ("test", 30))
    }
    found = sizes(read_frame({"train": paths["train"]}, COLUMNS))
    # A token a character at most, <s> and </s>, rounded up to a multiple of 32.
    assert (found["unit"], found["long"], found["positions"], found["n_different"]) == ("characters", 40, 64, 50)
    path, said = main("mine", paths, "text", "label", folder=str(tmp_path / "studies"))
    assert "characters in a text: median 40, longest 40" in said
    with open(path, encoding="utf-8") as handle:
        text = handle.read()
    assert "of 50 different characters in train" in text and "have at most 40 characters" in text


def test_the_command_line(files, tmp_path):
    with pytest.raises(StudyError) as caught:
        asked(["mine", "--train=a.csv", "--test=", "--text=text", "--label=label"])
    assert str(caught.value) == f"TEST is missing: {USAGE}"
    done = subprocess.run(
        [sys.executable, "-m", "tools.new_study", "mine", "--train=a.csv", "--test=b.csv", "--text=text", "--label=x"],
        cwd=studies.ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1 and done.stderr == "make new: a.csv is missing\n"
