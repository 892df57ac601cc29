"""Models from the Hugging Face hub, through Snakemake: from one on this machine that answers as the real one does."""

import os
import subprocess

import pytest
from safetensors.torch import load_file
from transformers import AutoModelForMaskedLM

from common.files import read_json
from support import studies
from support.causal_models import make_model
from support.encoders import write_encoder
from support.hub import REVISION, TOKEN, environment, serve_hub

pytestmark = [pytest.mark.integration, pytest.mark.timeout(600)]

TARGETS = ["results/tiny/finetuning/models/mine", "results/tiny/finetuning/models/theirs", "results/tiny/qa/base"]
ARM = {"framework": "huggingface", "init": "pretrained"}


def listed(folder):
    return sorted(path.name for path in folder.iterdir())


@pytest.fixture(scope="module")
def repos(tmp_path_factory):
    """An encoder in one file, one in shards, and a causal model; in each a file that no study asks for."""
    folder = tmp_path_factory.mktemp("repos")
    write_encoder(folder / "bert", "bert")
    write_encoder(folder / "sharded", "xlm-roberta")
    (folder / "sharded" / "sentencepiece.bpe.model").unlink()
    model = AutoModelForMaskedLM.from_pretrained(str(folder / "sharded"))
    os.remove(folder / "sharded" / "model.safetensors")
    model.save_pretrained(str(folder / "sharded"), max_shard_size="8KB")
    assert len(list((folder / "sharded").glob("model-*-of-*.safetensors"))) > 2
    make_model("gpt2", str(folder / "gpt2"))
    found = {f"someone/{path.name}": path for path in folder.iterdir()}
    return found


def settings(repos, **changes):
    def hub(name):
        return {"repo": f"someone/{name}", "revision": REVISION, "files": listed(repos[f"someone/{name}"])}

    models = {"mine": {"hub": hub("bert")}, "theirs": {"hub": hub("sharded")}}
    arms = {name: ARM | {"model": name} for name in models}
    qa = {"enabled": True, "base": {"source": "hub", "hub": hub("gpt2")}}
    return studies.merged({"qa": qa, "finetuning": {"models": models, "arms": arms}}, changes)


def everything(folder):
    """Return the bytes of all files below a folder, Snakemake's own among them."""
    return b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())


def run(folder, hub, repos, *targets, token="", **changes):
    study = studies.write_study(folder / "study.yaml", settings(repos, **changes))
    given = os.environ | environment(hub) | {"HF_TOKEN": token}
    return studies.snakemake(folder, *targets, study=study, env=given)


@pytest.mark.slow
def test_a_study_takes_its_models_from_the_hub(repos, tmp_path):
    (tmp_path / "work").mkdir()
    with serve_hub(tmp_path, repos) as hub:
        hub.gated, hub.cut, hub.busy = {"someone/sharded"}, [40, 40], [(503, "1")]
        done = run(tmp_path / "work", hub, repos, *TARGETS, token=TOKEN)
        assert done.returncode == 0, done.output
        # To the hub with every request, to the storage with none; in no file and in no line that Snakemake says.
        assert set(hub.headers("hub", "Authorization")) == {f"Bearer {TOKEN}"}
        assert hub.paths("storage") and set(hub.headers("storage", "Authorization")) == {None}
        assert TOKEN not in done.output and TOKEN.encode() not in everything(tmp_path / "work")
        assert b"Signature=" not in everything(tmp_path / "work") and "Signature=" not in done.output
        # Whole files only, each asked for once, but for the two that broke and the one that had to wait.
        assert any(value for value in hub.headers("storage", "Range") + hub.headers("hub", "Range"))
        wanted = sum(len(listed(folder)) for folder in repos.values())
        assert len(hub.paths("hub")) == wanted + 3
    results = tmp_path / "work" / "results" / "tiny"
    whole = AutoModelForMaskedLM.from_pretrained(str(repos["someone/sharded"])).state_dict()
    taken = load_file(results / "finetuning" / "models" / "theirs" / "model.safetensors")
    assert taken and all((whole[name] == tensor).all() for name, tensor in taken.items())
    known = read_json(results / "finetuning" / "models" / "theirs" / "conversion.json")["source_sha256"]
    assert sum(name.startswith("model-") for name in known) > 2
    assert (results / "qa" / "base" / "model.safetensors").exists()
    base = tmp_path / "work" / "resources" / "huggingface.co" / "someone" / "bert" / "resolve" / REVISION
    assert listed(base) == listed(repos["someone/bert"])


def test_a_gated_model_without_a_token_is_one_message(repos, tmp_path):
    (tmp_path / "work").mkdir()
    with serve_hub(tmp_path, repos) as hub:
        hub.gated = {"someone/bert"}
        done = run(tmp_path / "work", hub, repos, TARGETS[0])
    assert done.returncode == 1
    assert "someone/bert is gated: accept its conditions at https://huggingface.co/someone/bert, and set HF_TOKEN" in (
        done.output
    )
    assert "(finetuning.models.mine.hub)" in done.output and "Traceback" not in done.output
    assert not list((tmp_path / "work" / "resources").rglob("*.json"))


def test_a_list_that_lacks_a_shard_is_told_before_anything_is_fetched(repos, tmp_path):
    (tmp_path / "work").mkdir()
    files = [name for name in listed(repos["someone/sharded"]) if not name.startswith("model-00002-")]
    changed = {"models": {"theirs": {"hub": {"files": files}}}}
    with serve_hub(tmp_path, repos) as hub:
        done = run(tmp_path / "work", hub, repos, TARGETS[1], finetuning=changed)
        assert hub.seen == []
    assert done.returncode == 1
    assert "finetuning.models.theirs.hub.files lacks model-00002-of-000" in done.output
    assert subprocess.run(["ls", tmp_path / "work" / "resources"], capture_output=True, check=False).returncode
