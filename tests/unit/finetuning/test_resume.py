"""Fine-tuning that is killed and run again ends bit for bit like one that was not, in both frameworks."""

import os
import signal
import zipfile
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from common.errors import StudyError
from common.files import read_json, read_tsv, write_json
from finetuning import runs as runs_of
from finetuning.protocol import framework_settings
from finetuning.seeds import run_seeds
from finetuning.token_ids import write_token_ids
from support.arms import facts
from support.killed_runs import fork_runs, run_forked
from support.reviews import ARCHITECTURE, binarize, write_reviews
from support.roberta import huggingface_config
from support.studies import FINETUNING
from training.fairseq_checkpoint import allow_fairseq_classes
from training.state import code_hash, load_state, save_state, state_folder

# 40 reviews in batches of 4: 10 updates an epoch, 30 in all; states after 4, 8, ..., 28, of which 20 ends an epoch.
SETTINGS = FINETUNING | {"batch_size": 4, "epochs": 3, "classifier_dropout": 0.1}
SAVE_EVERY = 4
QUARTERS = SETTINGS | {"accumulation": 4}
SEEDS = {"init_seed": None, "data_seed": None}
OUTPUTS = ("checkpoints", "history", "run", "weights", "tensorboard")
# One run, killed at every start but the last: (where, the update that the next start goes on after).
KILLS = [
    ({"before_step": 3}, 0),  # before the first state
    ({"in_save": 3}, 8),  # in an epoch, in the middle of writing state 12
    ({"in_checkpoint": 1}, 8),  # from 8: at the end of epoch 1, half of its weights written
    ({"before_step": 13}, 20),  # from 8: 12 updates more, which end epoch 2
    ({"before_step": 2}, 20),  # from 20: no new state
    ({"before_step": 10}, 28),  # from 20: before the last update
]


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """Binarized reviews, the same as token ids, and a checkpoint folder for Hugging Face's sizes."""
    from transformers import RobertaForMaskedLM

    folder = tmp_path_factory.mktemp("resume")
    rows = write_reviews(folder)
    binarize(folder, "train-valid")
    for split in ("train", "valid"):
        ids = [[0, *(7 + ord(letter) % 200 for letter in text[:40]), 2] for text, _ in rows[split]]
        write_token_ids(str(folder / f"{split}.npz"), ids, [label for _, label in rows[split]])
    torch.manual_seed(0)
    RobertaForMaskedLM(huggingface_config(300, ARCHITECTURE)).save_pretrained(str(folder / "huggingface"))
    write_json(folder / "huggingface" / "conversion.json", {"heads_verified": True})
    return folder


def arguments(framework, data, name, settings=SETTINGS, save_every=SAVE_EVERY, seed=3):
    """Arguments of the script's `main`; what it writes lies in the folder `name`."""
    found = {output: f"{name}/{output}" for output in OUTPUTS}
    found |= {"seed": seed, "settings": settings, "threads": 1, "states": f"{name}/states", "save_every": save_every}
    if framework == "fairseq":
        return found | {
            "data": str(data / "train-valid"),
            "checkpoint": None,
            "facts": facts(framework, "random"),
            "architecture": ARCHITECTURE,
        }
    files = {"train": "train.npz", "valid": "valid.npz", "checkpoint": "huggingface"}
    return found | {key: str(data / file) for key, file in files.items()} | {"facts": facts(framework, "pretrained")}


@pytest.fixture(scope="module", params=["fairseq", "huggingface"])
def runs(request, data, tmp_path_factory):
    """A folder with an undisturbed run, `whole`, one killed again and again, and runs with other settings."""
    framework, folder = request.param, tmp_path_factory.mktemp(request.param)

    def run(name, *more, kill=None, **others):
        given = arguments(framework, data, name, *more, **others)
        return {"name": name, "script": f"frameworks.{framework}.train", "arguments": given, "kill": kill}

    todo = [run("whole", save_every=0), *(run("killed", kill=kill) for kill, _ in KILLS), run("killed")]
    # Killed with one rate, run again with another.
    todo += [run("other", kill={"before_step": 15}), run("other", SETTINGS | {"lr": 2e-3})]
    # Seeds of their own: the run's seed is then dropout's alone.
    settings = SETTINGS | {"dropout": 0.0, "classifier_dropout": 0.0}
    for name, seeds in (("both_seeds", {"init_seed": 3, "data_seed": 3}), ("init", {"init_seed": 5})):
        todo.append(run(name, settings | seeds, 0, seed=4))
    run_forked(folder, [*todo, run("one_seed", settings, 0)])
    return folder


def weights(folder):
    """Every epoch's tensors by file and name."""
    allow_fairseq_classes()
    files = sorted(path for path in (folder / "checkpoints").rglob("*") if path.suffix in (".pt", ".safetensors"))
    load = {".pt": lambda path: torch.load(path, weights_only=True)["model"], ".safetensors": load_file}
    return {str(path.relative_to(folder)): load[path.suffix](path) for path in files}


def points(folder):
    """The TensorBoard points (folder, name, step, value) that do not tell time."""
    found = []
    for place in sorted({path.parent for path in (folder / "tensorboard").rglob("events.out.*")}):
        accumulator = EventAccumulator(str(place)).Reload()
        for tag in accumulator.Tags()["scalars"]:
            if not tag.endswith(("wps", "ups", "wall", "per_second", "runtime")):
                for event in accumulator.Scalars(tag):
                    found.append((str(place.relative_to(folder)), tag, event.step, event.value))
    return sorted(found)


def same(one, two, epochs=SETTINGS["epochs"]):
    """Assert that two runs ended alike: history, weights of every epoch, proof of the start, protocol, curves."""
    assert (one / "history").read_bytes() == (two / "history").read_bytes()
    assert read_json(one / "weights") == read_json(two / "weights")
    assert read_json(one / "run")["protocol"] == read_json(two / "run")["protocol"]
    first, second = weights(one), weights(two)
    assert first.keys() == second.keys() and len(first) == epochs
    for file, tensors in first.items():
        assert tensors.keys() == second[file].keys()
        assert all(torch.equal(tensor, second[file][name]) for name, tensor in tensors.items()), file
    files = [sorted(str(p.relative_to(f / "checkpoints")) for p in (f / "checkpoints").rglob("*")) for f in (one, two)]
    assert files[0] == files[1]
    assert points(one) == points(two) and len(points(one)) > 10


def test_a_killed_run_ends_like_one_never_stopped(runs):
    lines = (runs / "killed.log").read_text().splitlines()
    assert [int(line.split()[-1]) for line in lines if "going on after" in line] == [n for _, n in KILLS if n]
    same(runs / "whole", runs / "killed")
    run = read_json(runs / "killed" / "run")
    assert run["resumed_after"] == 28 and run["train_seconds"] > 0
    # The state is gone, and so is what the kills left behind.
    assert sorted(os.listdir(runs / "killed")) == sorted(OUTPUTS)


def test_a_changed_hyperparameter_starts_anew(runs):
    assert "going on" not in (runs / "other.log").read_text()
    run = read_json(runs / "other" / "run")
    assert run["resumed_after"] == 0 and run["protocol"]["peak_lr"] == 2e-3
    rows = [read_tsv(runs / name / "history") for name in ("whole", "other")]
    assert rows[0] != rows[1]
    # The state of the earlier settings is gone too.
    assert sorted(os.listdir(runs / "other")) == sorted(OUTPUTS)


def test_seeds_of_weights_and_order_default_to_the_runs(runs):
    """Without dropout, seed 4 with both other seeds 3 is seed 3; another initialisation is another run."""
    same(runs / "one_seed", runs / "both_seeds")
    told = {name: read_json(runs / name / "run") for name in ("one_seed", "both_seeds", "init")}
    shown = {name: (run["seed"], run["init_seed"], run["data_seed"]) for name, run in told.items()}
    assert shown == {"one_seed": (3, 3, 3), "both_seeds": (4, 3, 3), "init": (4, 5, 4)}
    assert (runs / "init" / "history").read_bytes() != (runs / "one_seed" / "history").read_bytes()


def test_settings_hold_the_seeds_and_not_what_no_result_depends_on():
    finetuning = {"protocol": "matched", "init_seed": None, "data_seed": 7}
    finetuning |= {"training": {"batch_size": 8, "batching": "random", "save_every": 100}}
    settings = framework_settings(finetuning, "fairseq")
    assert "save_every" not in settings and "save_every" in finetuning["training"]
    assert run_seeds(settings, 2) == {"init_seed": 2, "data_seed": 7}


def test_a_state_follows_from_the_process_too(tmp_path, monkeypatch):
    """How small numbers count, and the versions of all that trains: LoRA's package among them."""
    monkeypatch.setattr(runs_of, "set_threads", lambda threads: None)
    monkeypatch.setattr(runs_of, "code_hash", lambda *objects: [each.__name__ for each in objects])
    settings = framework_settings({"protocol": "matched", "training": SETTINGS} | SEEDS, "huggingface")
    tuning = runs_of.Run({"init": "random"}, 3, settings, 1)
    tuning.resume(str(tmp_path), {"train": 8, "valid": 4}, {}, [])
    key = read_json(tmp_path / os.path.basename(tuning.folder) / "key.json")
    assert "flush_denormals" in key["code"] and "peft" in key["versions"]


# ---------------------------------------------------------------- early stopping, and a GPU that is too small


@pytest.fixture(scope="module", params=["fairseq", "huggingface"])
def optional(request, data, tmp_path_factory):
    """A folder with runs of 6 epochs and with patience, and runs whose memory did not suffice."""
    framework, folder = request.param, tmp_path_factory.mktemp(f"{request.param}-optional")
    script = f"frameworks.{framework}.train"

    def run(name, kill=None, **changes):
        settings = SETTINGS | {"epochs": 6, "lr": 3e-3} | changes
        given = arguments(framework, data, name, settings, save_every=4)
        return {"name": name, "script": script, "arguments": given, "kill": kill}

    def scarce(name, begins, kill_at=None):
        given = arguments(framework, data, name, SETTINGS, save_every=SAVE_EVERY)
        given |= {"script": script, "largest": 1, "begins": begins, "kill_at": kill_at}
        return {"name": name, "script": "support.small_gpu", "arguments": given}

    patient = {"patience": 1, "select_by": "loss"}
    todo = [run("whole"), run("patient", **patient)]
    # Killed between the state after update 8 and the end of epoch 1; after an epoch that counted against patience.
    todo += [run("killed", {"before_step": 10}, **patient), run("killed", {"in_checkpoint": 2}, **patient)]
    todo.append(run("killed", **patient))
    todo += [scarce("halved", begins=1), scarce("late", begins=6)]
    todo.append({"name": "split", "script": script, "arguments": arguments(framework, data, "split", QUARTERS)})
    # Ended before update 15; the state is that after 12. The other process has all memory.
    todo.append(scarce("again", begins=6, kill_at=15))
    todo.append({"name": "again", "script": script, "arguments": arguments(framework, data, "again")})
    ended = [signal.SIGKILL if run.get("kill") or run["arguments"].get("kill_at") else 0 for run in todo]
    assert fork_runs(folder, todo) == ended, [(folder / f"{run['name']}.log").read_text()[-2000:] for run in todo]
    return folder


def test_a_patient_run_is_the_first_part_of_the_whole_one(optional):
    rows = {name: read_tsv(optional / name / "history") for name in ("whole", "patient")}
    valid = [float(row["value"]) for row in rows["whole"] if (row["split"], row["metric"]) == ("valid", "loss")]
    # The first epoch whose loss is not below all before it.
    wanted = next(epoch for epoch in range(2, 7) if valid[epoch - 1] >= min(valid[: epoch - 1]))
    assert wanted < 6, valid
    assert rows["patient"] == [row for row in rows["whole"] if int(row["epoch"]) <= wanted]
    whole, patient = weights(optional / "whole"), weights(optional / "patient")
    assert len(patient) == wanted
    for file, tensors in patient.items():
        assert all(torch.equal(tensor, whole[file][name]) for name, tensor in tensors.items()), file
    run = read_json(optional / "patient" / "run")
    assert run["stopped"] == {"epoch": wanted, "update": 10 * wanted} and run["total_updates"] == 60
    assert run["protocol"] | {"patience": 1} == run["protocol"]
    assert (run["protocol"]["total_updates"], run["protocol"]["peak_lr"]) == (60, 3e-3)
    assert "stopped" not in read_json(optional / "whole" / "run")


def test_a_killed_patient_run_stops_at_the_same_epoch(optional):
    assert "going on after" in (optional / "killed.log").read_text()
    epochs = read_json(optional / "patient" / "run")["stopped"]["epoch"]
    same(optional / "patient", optional / "killed", epochs)
    stopped = [read_json(optional / name / "run")["stopped"] for name in ("patient", "killed")]
    assert stopped[0] == stopped[1]


def test_a_batch_that_does_not_fit_is_halved_until_it_does(optional):
    """4 reviews, then 2, then 1 at once: from there on the run is that with accumulation 4, with dropout's draws."""
    run = read_json(optional / "halved" / "run")
    assert run["halvings"] == [{"update": 1, "micro_batch": 2}, {"update": 1, "micro_batch": 1}]
    split = read_json(optional / "split" / "run")
    assert split["protocol"] == run["protocol"] | {"accumulation": 4} and "halvings" not in split
    assert (optional / "halved" / "history").read_bytes() == (optional / "split" / "history").read_bytes()
    first, second = weights(optional / "halved"), weights(optional / "split")
    for file, tensors in first.items():
        assert all(torch.equal(tensor, second[file][name]) for name, tensor in tensors.items()), file


def test_a_resumed_run_keeps_its_small_batches(optional):
    lines = (optional / "again.log").read_text()
    assert "going on after update 12" in lines
    assert read_json(optional / "again" / "run")["halvings"] == read_json(optional / "late" / "run")["halvings"]
    assert read_json(optional / "late" / "run")["halvings"][0]["update"] == 6
    same(optional / "late", optional / "again")


# ---------------------------------------------------------------- the state's own file


@pytest.fixture
def folder(tmp_path):
    """A state with a file that grew after it, one that it does not know, and a curve that it does."""
    made = Path(state_folder(str(tmp_path), {"lr": 1.0}))
    (made / "curve").mkdir()
    (made / "curve" / "events").write_bytes(b"12345")
    save_state(str(made), {"updates": 3, "weights": torch.arange(1000.0)})
    (made / "curve" / "events").write_bytes(b"1234567")
    (made / "later").write_bytes(b"x")
    return made


def test_a_state_brings_its_files_back(folder):
    state = load_state(str(folder))
    assert state["updates"] == 3 and torch.equal(state["weights"], torch.arange(1000.0))
    assert (folder / "curve" / "events").read_bytes() == b"12345"
    assert sorted(os.listdir(folder)) == ["curve", "key.json", "state.pt"]


def test_a_changed_byte_is_seen(folder, capsys):
    with zipfile.ZipFile(folder / "state.pt") as archive:
        largest = max(archive.infolist(), key=lambda entry: entry.file_size)
    content = bytearray((folder / "state.pt").read_bytes())
    content[largest.header_offset + 2000] ^= 1
    (folder / "state.pt").write_bytes(content)
    assert torch.load(folder / "state.pt", weights_only=True)["updates"] == 3  # PyTorch alone would go on
    assert load_state(str(folder)) is None
    assert "is damaged" in capsys.readouterr().out
    assert [path for path in folder.rglob("*") if path.is_file()] == [folder / "key.json"]


def test_a_torn_state_is_not_taken(folder):
    content = (folder / "state.pt").read_bytes()
    (folder / "state.pt").write_bytes(content[: len(content) // 2])
    assert load_state(str(folder)) is None
    assert load_state(str(folder)) is None


def test_a_state_whose_files_are_gone_is_not_taken(folder):
    (folder / "curve" / "events").write_bytes(b"123")
    assert load_state(str(folder)) is None


def test_a_state_runs_no_code(folder):
    class Harmful:
        def __reduce__(self):
            return os.mkdir, (str(folder / "harmed"),)

    torch.save({"updates": 3, "files": {}, "harmful": Harmful()}, folder / "state.pt")
    assert load_state(str(folder)) is None
    assert not (folder / "harmed").exists()


def test_a_failed_save_leaves_the_earlier_state(folder, monkeypatch):
    def full(*args, **kwargs):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(torch, "save", full)
    with pytest.raises(StudyError, match="the disk is full"):
        save_state(str(folder), {"updates": 4})
    assert load_state(str(folder))["updates"] == 3


def test_the_key_is_of_settings_and_code(tmp_path):
    folders = {state_folder(str(tmp_path), key) for key in ({"a": 1, "b": 2}, {"b": 2, "a": 1}, {"a": 1, "b": 3})}
    assert len(folders) == 2
    assert code_hash(save_state) != code_hash(load_state) != code_hash(load_state, save_state)
