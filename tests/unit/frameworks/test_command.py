"""Anyone's trainer: what its commands see, and what is said of a command that does everything wrong."""

import json
import os
import sys
import time

import pytest

from common.errors import StudyError
from finetuning import score_plainly
from frameworks.command import READS
from frameworks.command.commands import contents, execute, filled
from frameworks.command.score import score
from frameworks.command.train import train
from support.environments import ROOT
from support.settings import message

TEXTS, CLASSES = ["bad", 'a "good" one', "$(touch hacked); `x`"], ["negative", "positive"]
VALID = (["fine"], [1])
# Remembers its training texts, and answers with the class of the first.
HONEST = """
import json, sys
if sys.argv[1] == "train":
    rows = [json.loads(line) for line in open(sys.argv[2])]
    json.dump(rows[0]["label"], open(sys.argv[3], "w"))
else:
    label = json.load(open(sys.argv[2]))
    with open(sys.argv[4], "w") as out:
        for line in open(sys.argv[3]):
            out.write(json.dumps({"id": json.loads(line)["id"], "prediction": label}) + "\\n")
"""
TRAIN, PREDICT = "{{}} train {train} {out}", "{{}} predict {model} {texts} {predictions}"


@pytest.fixture
def arm(tmp_path, monkeypatch):
    """The settings of an arm whose trainer is trainer.py of the study's folder."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "trainer.py").write_text(HONEST)
    python = f"{sys.executable} trainer.py"
    return {"train": TRAIN.replace("{{}}", python), "predict": PREDICT.replace("{{}}", python)}


def run(arm, folder, **limits):
    folder.mkdir()
    said = train(TEXTS, [0, 1, 0], VALID, CLASSES, 7, arm, str(folder), **limits)
    return said, score(str(folder), TEXTS, 2, **limits)


def test_a_trainer_gets_texts_with_labels_and_predicts_without(arm, tmp_path):
    said, found = run(arm | {"version": f"{sys.executable} -c 'print(12)'"}, tmp_path / "model")
    assert found == [[1.0, 0.0]] * 3
    assert said["scores"] == {"train": None} and said["record"]["command"]["version_output"] == "12"
    assert said["record"]["command"]["train"] == arm["train"]


def script(arm, text):
    """The arm with a shell script that both commands run."""
    with open("wrong.sh", "w") as file:
        file.write(text)
    return {"train": "sh wrong.sh {train} {valid} {seed} {out}", "predict": "sh wrong.sh {model} {texts} {predictions}"}


def test_what_a_training_sees(arm, tmp_path):
    look = script(arm, 'mkdir "$4"; ls -a > "$4/ls"; cp "$1" "$4/train"; cp "$2" "$4/valid"; env > "$4/env"; '
                       'echo "$3 $4" > "$4/words"; echo stray > stray')  # fmt: skip
    (tmp_path / "model").mkdir()
    train(TEXTS, [0, 1, 0], VALID, CLASSES, 7, look, str(tmp_path / "model"))
    seen = tmp_path / "model" / "model"
    assert (seen / "ls").read_text().split() == [".", "..", "model", "train.jsonl", "valid.jsonl"]
    rows = [json.loads(line) for line in (seen / "train").read_text().splitlines()]
    assert rows[1] == {"id": 1, "text": 'a "good" one', "label": "positive"}
    assert (seen / "words").read_text().startswith("7 /")
    # No path of the study: neither as a word nor in the environment, and nothing stray is kept.
    assert str(tmp_path) not in (seen / "words").read_text() + (seen / "env").read_text()
    assert sorted(os.listdir(tmp_path / "model")) == ["command.json", "model"]


def test_a_prediction_sees_texts_and_model_alone(arm, tmp_path):
    look = script(arm, 'case $# in 4) echo x > "$4";; *) ls -a > "$OUT/ls"; cp "$2" "$OUT/texts"; exit 9;; esac')
    folder = tmp_path / "model"
    folder.mkdir()
    train(TEXTS, [0, 1, 0], VALID, CLASSES, 7, look, str(folder))
    os.environ["OUT"] = str(tmp_path)
    try:
        with pytest.raises(StudyError, match="the command predict ended with status 9"):
            score(str(folder), TEXTS, 2)
    finally:
        del os.environ["OUT"]
    assert (tmp_path / "ls").read_text().split() == [".", "..", "model", "texts.jsonl"]
    assert [set(json.loads(line)) for line in (tmp_path / "texts").read_text().splitlines()] == [{"id", "text"}] * 3


def test_a_model_is_the_one_that_training_left(arm, tmp_path):
    folder = tmp_path / "model"
    folder.mkdir()
    train(
        TEXTS, [0, 1, 0], VALID, CLASSES, 7, script(arm, 'mkdir -p "$4/deep"; echo x > "$4/deep/weights"'), str(folder)
    )
    (folder / "model" / "cache").write_text("y")
    with pytest.raises(StudyError, match=r"something changed \{model\} \(cache\).*remove .*model and run again"):
        score(str(folder), TEXTS, 2)


LOOK = """
import json, os, sys
if sys.argv[1] == "train":
    open(sys.argv[3], "w").write("x")
else:
    files = [f"/proc/self/fd/{n}" for n in os.listdir("/proc/self/fd")]
    seen = [os.readlink(file) for file in files if os.path.exists(file)]
    seen += [*sys.argv, os.getcwd(), *os.environ.values(), *os.listdir()]
    with open(sys.argv[4], "w") as out:
        for line in open(sys.argv[3]):
            out.write(json.dumps({"id": json.loads(line)["id"], "prediction": "negative"}) + "\\n")
    json.dump(seen + [open(sys.argv[3]).read()], open(os.environ["SEEN"], "w"))
"""


def test_no_argument_variable_folder_or_open_file_leads_to_what_test_is_scored_by(arm, tmp_path, monkeypatch):
    (tmp_path / "trainer.py").write_text(LOOK)
    data, model = tmp_path / "results" / "data", tmp_path / "results" / "run" / "model"
    data.mkdir(parents=True), model.mkdir(parents=True)
    (data / "test.review").write_text("one\ntwo\n")
    (data / "test.label").write_text("1\n0\n")
    monkeypatch.setenv("SEEN", str(tmp_path / "seen.json"))
    train(TEXTS, [0, 1, 0], VALID, CLASSES, 7, arm, str(model))
    score_plainly.main(str(model), str(data / "test.review"), "command", str(tmp_path / "test.npy"), CLASSES, hours=1)
    seen = json.loads((tmp_path / "seen.json").read_text())
    assert [one for one in seen if str(data) in one or "label" in one] == []
    # The variables that it does get are there, so others would have been seen.
    assert '"text": "one"' in seen[-1] and "texts.jsonl" in seen


WRONG = {
    "exit 3": "the command train ended with status 3; its output is in the log",
    "kill -9 $$": "the command train ended by signal 9",
    "true": "ended with status 0 and left no model at {out}",
    'mkdir "$4"': "left no model at {out}",
    ': > "$4"': "left no model at {out}",
    'ln -s /etc "$4"': "left no model at {out}",
}


@pytest.mark.parametrize("text", WRONG)
def test_a_training_that_goes_wrong(arm, tmp_path, text):
    (tmp_path / "model").mkdir()
    with pytest.raises(StudyError) as error:
        train(TEXTS, [0, 1, 0], VALID, CLASSES, 7, script(arm, text), str(tmp_path / "model"))
    assert WRONG[text] in str(error.value)


ROW = '{"id": %d, "prediction": "positive"}\\n'
WRONG_PREDICTIONS = {
    "exit 1": "the command predict ended with status 1",
    "true": "left no file at {predictions}",
    'mkdir "$3"': "left no file at {predictions}",
    'mkfifo "$3"': "left no file at {predictions}",
    ': > "$3"': "{predictions} has predictions for 0 of 3 texts",
    f"printf '{ROW}' 0 1 > \"$3\"": "{predictions} has predictions for 2 of 3 texts; the first without one has id 2",
    f"printf '{ROW}' 0 1 2 3 > \"$3\"": "{predictions}, row 4: the id '3' is no place of a text (0 to 2)",
    f"printf '{ROW}' 0 1 2 2 > \"$3\"": "{predictions}, row 4: id 2 has a second prediction",
    'printf \'{"id": 0, "prediction": "neutral"}\' > "$3"': "row 1: the prediction 'neutral' is none of the classes",
    'printf \'{"id": 0, "probability_negative": NaN, "probability_positive": 1}\' > "$3"': "are not probabilities",
    'printf "\\377" > "$3"': "{predictions} is not UTF-8 text",
    'printf \'{"id": 0, "predi\' > "$3"': "{predictions}, row 1 is not JSON",
    'echo \'{"id": 0, "probability_negative": 0.2, "probability_positive": 0.2}\' > "$3"': "0.2, 0.2 are not probab",
    'echo \'{"id": 0, "prediction": "negative", "label": "negative"}\' > "$3"': "the column label is none of id, text",
    # Whatever it makes of its copy of the texts, the study's are the ones that count.
    f'echo \'{{"id": 0, "text": "easy"}}\' > "$2"; printf \'{ROW}\' 0 > "$3"': "has predictions for 1 of 3 texts; the",
    'echo better > "$1"': "the command predict changed {model} (the file), and later predictions would be of another",
    # Ten megabytes on one line, and rows without end.
    'head -c 10000000 /dev/zero | tr "\\0" a > "$3"': "{predictions}, row 1 is not JSON",
    f"yes '{ROW % 0}' | head -c 3000000 > \"$3\"".replace(
        "\\n", ""
    ): "{predictions}, row 2: id 0 has a second prediction",
}


@pytest.mark.parametrize("text", WRONG_PREDICTIONS)
def test_a_prediction_that_goes_wrong(arm, tmp_path, text):
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "model").write_text("x")
    kept = {"predict": script(arm, text)["predict"], "classes": CLASSES, "model": contents(folder / "model")}
    (folder / "command.json").write_text(json.dumps(kept))
    with pytest.raises(StudyError) as error:
        score(str(folder), TEXTS, 2)
    assert WRONG_PREDICTIONS[text] in str(error.value) and "\n" not in str(error.value)


def test_a_command_that_hangs_is_stopped_with_all_that_it_started(arm, tmp_path):
    began = time.monotonic()
    with pytest.raises(StudyError, match="did not end within 0.0003 hours"):
        execute("train", "sh -c 'sleep 300 & echo $! > child; sleep 300'", {}, str(tmp_path), 0.0003, 1)
    assert time.monotonic() - began < 60
    child = int((tmp_path / "child").read_text())
    for _ in range(100):
        # A process that has ended and that nobody has waited for is a zombie.
        state = open(f"/proc/{child}/stat").read().split()[2] if os.path.exists(f"/proc/{child}") else "Z"
        if state == "Z":
            break
        time.sleep(0.05)
    assert state == "Z"


def test_a_command_that_there_is_not(tmp_path):
    with pytest.raises(StudyError, match="the command train cannot be started"):
        execute("train", "no-such-trainer {out}", {"out": "x"}, str(tmp_path), 1, 1)


def test_placeholders_stay_within_their_words(tmp_path):
    # No shell reads them: blanks, quotes and semicolons of a path are letters like others.
    odd = "a b'; rm -rf x"
    assert filled("cmd --out={out} '{{x}}' {seed}", {"out": odd, "seed": 3}) == ["cmd", f"--out={odd}", "{x}", "3"]


# Gives back the labels that it learnt, which the test makes those of the texts.
PARROT = HONEST.replace('rows[0]["label"]', '[row["label"] for row in rows]').replace(
    '"prediction": label}', '"prediction": label[json.loads(line)["id"]]}'
)


@pytest.mark.parametrize(
    ("task", "classes", "labels", "wanted"),
    [
        ("regression", [], [1.5, -2.0, 0.25], [[1.5], [-2.0], [0.25]]),
        ("multilabel", ["bon", "a b"], ["10", "00", "11"], [[1.0, 0.0], [0.0, 0.0], [1.0, 1.0]]),
    ],
)
def test_numbers_and_sets_of_labels_are_learnt_and_answered(arm, tmp_path, task, classes, labels, wanted):
    (tmp_path / "trainer.py").write_text(PARROT)
    (tmp_path / "model").mkdir()
    train(TEXTS, labels, (["fine"], labels[:1]), classes, 7, arm, str(tmp_path / "model"), task=task)
    assert score(str(tmp_path / "model"), TEXTS, len(classes), task=task) == wanted


def test_files_and_folders_of_the_study_become_whole_paths_and_inputs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "models" / "deep").mkdir(parents=True)
    for name in ("trainer.py", "models/a.bin", "models/.hidden", "models/deep/b.bin"):
        (tmp_path / name).write_text("x")
    (tmp_path / "train").mkdir()
    # `train` is a word of the command, though a folder has its name; `models/` is the folder.
    command = "python trainer.py train models/ {train} {out}"
    assert filled(command, {"train": "t", "out": "o"}) == [
        "python", f"{tmp_path}/trainer.py", "train", f"{tmp_path}/models", "t", "o",
    ]  # fmt: skip
    assert READS({"train": command, "predict": "python trainer.py {model}"}, 1) == ["trainer.py", "models/a.bin"]


ARM = "finetuning.arms.fairseq-random"
GOOD = {"framework": "command", "model": "none", "init": "none", "train": "t {train} {out}",
        "predict": "p {model} {texts} {predictions}"}  # fmt: skip


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"train": None}, f"{ARM} has no train; give the command, with {{train}}, {{out}}"),
        ({"train": "t {train}"}, f"{ARM}.train lacks {{out}}; put it into the command"),
        ({"train": "t {train} {out} {test}"}, f"{ARM}.train has {{test}}; known: {{train}}, {{valid}}, {{seed}}"),
        ({"predict": "p {model} {texts} {predictions} {labels}"}, f"{ARM}.predict has {{labels}}; known: {{model}}"),
        ({"predict": "p '{model} {texts} {predictions}"}, f"{ARM}.predict cannot be split into words"),
        ({"version": "v {out}"}, f"{ARM}.version has {{out}}; known: none"),
        ({"conda": "no.yaml"}, f"{ARM}.conda: there is no file no.yaml"),
        ({"hours": 0}, f"{ARM}.hours is 0"),
        ({"training": {"lr": 1e-4}}, f"{ARM}.training is for arms that train weights, and command trains none"),
    ],
)
def test_settings_that_cannot_work_are_refused(changes, said):
    assert said in message({ARM: {key: value for key, value in (GOOD | changes).items() if value is not None}})


EXAMPLES = ROOT / "docs" / "examples"


def test_the_example_of_the_docs_trains_and_predicts(tmp_path, monkeypatch):
    monkeypatch.chdir(ROOT)
    python = f"{sys.executable} docs/examples/sklearn_arm.py"
    arm = {"train": f"{python} train {{train}} {{seed}} {{out}}",
           "predict": f"{python} predict {{model}} {{texts}} {{predictions}}"}  # fmt: skip
    (tmp_path / "model").mkdir()
    texts, labels = ["a good book", "a bad book", "good, very good", "bad"], [1, 0, 1, 0]
    train(texts, labels, (texts[:2], labels[:2]), CLASSES, 1, arm, str(tmp_path / "model"))
    found = score(str(tmp_path / "model"), ["good", "bad"], 2)
    assert found[0][1] > 0.5 > found[1][1] and all(abs(sum(row) - 1) < 1e-9 for row in found)


def test_the_page_shows_the_example_as_it_is():
    page = (ROOT / "docs" / "guides" / "other-trainers.md").read_text(encoding="utf-8")
    assert (EXAMPLES / "trainers.yaml").read_text(encoding="utf-8") in page
    script = (EXAMPLES / "setfit_arm.py").read_text(encoding="utf-8")
    assert script[script.index("def train") : script.index("\n\nif __name__")] in page
