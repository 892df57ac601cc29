"""Files of the Hugging Face hub, from one on this machine: redirects, broken transfers, gates, quotas, tokens."""

import datetime
import email.utils
import hashlib
import os
import random
import shutil

import pytest

from common.errors import StudyError
from common.files import read_json
from study import download, transfer
from study.download import retrieve
from study.hub import HUB, all_shards, hub_urls, lacking
from support.hub import REVISION, TOKEN, environment, serve_hub
from support.servers import serve

FAST = {"wait": 0.01, "timeout": (5, 5), "progress": False}
LARGE = random.Random(1).randbytes(300_000)
SMALL = b'{"model_type": "bert"}'
DIGEST = hashlib.sha256(LARGE).hexdigest()
REPO = "someone/tiny"


@pytest.fixture
def hub(tmp_path, monkeypatch):
    folder = tmp_path / "repo"
    folder.mkdir()
    (folder / "config.json").write_bytes(SMALL)
    (folder / "model.safetensors").write_bytes(LARGE)
    with serve_hub(tmp_path, {REPO: folder}) as running:
        for name, value in environment(running).items():
            monkeypatch.setenv(name, value)
        yield running


def url(file="model.safetensors", repo=REPO, revision=REVISION):
    (found,) = hub_urls({"repo": repo, "revision": revision, "files": [file]})
    return found


def refused(tmp_path, address, **options):
    """The one message of a download that failed and left nothing."""
    with pytest.raises(StudyError) as caught:
        retrieve(address, tmp_path / "out" / "file", key="finetuning.models.mine.hub", **FAST | options)
    message = str(caught.value)
    assert message.startswith(f"{address} (finetuning.models.mine.hub)") and "\n" not in message
    assert not (tmp_path / "out").exists() or not os.listdir(tmp_path / "out")
    return message


def test_addresses_are_the_hubs_wherever_it_is_asked():
    assert url() == f"https://huggingface.co/{REPO}/resolve/{REVISION}/model.safetensors"


def test_a_large_file_comes_through_a_redirect_to_another_host(hub, tmp_path):
    record = retrieve(url(), tmp_path / "f", **FAST)
    assert (tmp_path / "f").read_bytes() == LARGE
    assert (record["url"], record["sha256"], record["bytes"]) == (url(), DIGEST, len(LARGE))
    # Where it came from, without the signature of the link.
    assert record["answered_by"] == f"{hub.storage}/{DIGEST}"
    assert hub.paths("hub") == [f"/{REPO}/resolve/{REVISION}/model.safetensors"] and len(hub.paths("storage")) == 1


def test_a_small_file_comes_from_the_hub_itself(hub, tmp_path):
    assert retrieve(url("config.json"), tmp_path / "f", **FAST)["bytes"] == len(SMALL)
    assert hub.paths("storage") == [] and len(hub.seen) == 2


def test_a_model_that_was_renamed_is_followed_on_the_hub_with_the_token(hub, tmp_path, monkeypatch):
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    hub.moved["old/name"] = REPO
    assert retrieve(url(repo="old/name"), tmp_path / "f", **FAST)["sha256"] == DIGEST
    assert hub.headers("hub", "Authorization") == [f"Bearer {TOKEN}"] * 2
    assert hub.headers("storage", "Authorization") == [None]


def test_the_token_is_sent_though_the_users_netrc_knows_the_host(hub, tmp_path, monkeypatch):
    (tmp_path / "netrc").write_text("default login someone password old\n")
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    assert retrieve(url("config.json"), tmp_path / "f", **FAST)["bytes"] == len(SMALL)
    assert hub.headers("hub", "Authorization") == [f"Bearer {TOKEN}"] * 2


@pytest.mark.parametrize("tagged", [True, False])
def test_a_broken_transfer_goes_on_where_it_broke(hub, tmp_path, capsys, tagged):
    """By the storage's ETag, or by the hash that the hub says; each attempt has the hub sign a link of its own."""
    hub.cut, hub.tagged = [100_000, 70_000], tagged
    assert retrieve(url(), tmp_path / "f", DIGEST, **FAST)["sha256"] == DIGEST
    assert hub.headers("storage", "Range") == [None, "bytes=100000-", "bytes=170000-"]
    tags = hub.headers("storage", "If-Range")
    assert (tags[0] is None) and [tag is not None for tag in tags[1:]] == [tagged, tagged]
    assert len(set(hub.paths("storage"))) == 3
    said = capsys.readouterr().out
    assert "truncated: 100000 of 300000 bytes arrived" in said and "Signed" not in said


def test_what_the_hub_says_of_a_file_is_enough_to_go_on(hub, tmp_path):
    hub.cut, hub.tagged = [100_000], False
    assert retrieve(url(), tmp_path / "f", **FAST)["sha256"] == DIGEST
    assert hub.headers("storage", "Range") == [None, "bytes=100000-"]


def test_a_small_file_without_a_known_hash_begins_again(hub, tmp_path):
    hub.cut, hub.tagged = [5], False
    assert retrieve(url("config.json"), tmp_path / "f", **FAST)["bytes"] == len(SMALL)
    assert hub.headers("hub", "Range") == [None] * 4


def test_a_server_that_sends_no_rests_sends_the_whole(hub, tmp_path):
    hub.cut, hub.ranges = [100_000], False
    assert retrieve(url(), tmp_path / "f", **FAST)["sha256"] == DIGEST


def test_another_file_in_its_place_is_not_joined_to_the_first_part(hub, tmp_path):
    """If-Range has the server send the whole, since its ETag differs."""
    hub.cut, hub.spoilt = [100_000], [bytes(len(LARGE))]
    assert retrieve(url(), tmp_path / "f", **FAST)["sha256"] == DIGEST


def test_a_file_damaged_on_its_way_is_fetched_again(hub, tmp_path, capsys):
    hub.spoilt = [b"x" + LARGE[1:]]
    assert retrieve(url(), tmp_path / "f", **FAST)["sha256"] == DIGEST
    assert f"the hub says {DIGEST}" in capsys.readouterr().out


def test_a_file_that_never_is_what_the_hub_says(hub, tmp_path):
    hub.says = "1" * 64
    message = refused(tmp_path, url(), attempts=2)
    assert f"sha256 {DIGEST}, the hub says {'1' * 64} (2 attempts)" in message


def test_a_storage_that_offers_more_than_the_hub_says(hub, tmp_path):
    hub.spoilt = [LARGE + b"more"]
    assert "the server offers 300004 bytes, 300000 were expected" in refused(tmp_path, url())


def test_an_expired_link_is_asked_for_again(hub, tmp_path, capsys):
    hub.expired = {1}
    assert retrieve(url(), tmp_path / "f", **FAST)["sha256"] == DIGEST
    assert "its link has expired" in capsys.readouterr().out and len(hub.paths("hub")) == 2


@pytest.mark.parametrize("status", [429, 503])
def test_the_pause_that_the_hub_asks_for_is_made(hub, tmp_path, monkeypatch, status):
    pauses = []
    monkeypatch.setattr(download.time, "sleep", pauses.append)
    then = datetime.datetime.now(datetime.UTC) + datetime.timedelta(seconds=60)
    hub.busy = [(status, "7"), (status, email.utils.format_datetime(then, usegmt=True)), (status, None)]
    assert retrieve(url(), tmp_path / "f", **FAST)["sha256"] == DIGEST
    assert pauses[0] == 7 and 50 < pauses[1] <= 60 and pauses[2] == pytest.approx(0.04)


def test_a_pause_that_is_too_long_ends_the_download(hub, tmp_path):
    hub.busy = [(429, "3600")]
    message = refused(tmp_path, url())
    assert "429 Too Many Requests (with HF_TOKEN set, the hub allows more) and asks to wait 3600 s" in message
    assert len(hub.seen) == 1


def test_each_refusal_has_one_message_with_its_remedy(hub, tmp_path, monkeypatch):
    page = f"{HUB}/{REPO}"
    gated, no_model = (f"someone/{name}" for name in ("gated", "nothing"))
    hub.repos[gated] = hub.repos[REPO]
    hub.gated = {gated}
    assert (
        f"401 Unauthorized GatedRepo; {gated} is gated: accept its conditions at {HUB}/{gated}, and set HF_TOKEN"
        in (refused(tmp_path, url(repo=gated)))
    )
    assert f"404 Not Found EntryNotFound; that commit has no file vocab.txt: take the names from {page}/tree/" in (
        refused(tmp_path, url("vocab.txt"))
    )
    assert f"404 Not Found RevisionNotFound; {REPO} has no commit {'f' * 40}: take one of {page}/commits/main" in (
        refused(tmp_path, url(revision="f" * 40))
    )
    assert f"there is no {no_model}, or it is private: correct the name, or set HF_TOKEN" in (
        refused(tmp_path, url(repo=no_model))
    )
    # None of them passes: one request each.
    assert len(hub.seen) == 4
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    hub.accepted = False
    assert f"GatedRepo; {gated} is gated and HF_TOKEN may not read it" in refused(tmp_path, url(repo=gated))
    assert f"there is no {no_model}, or HF_TOKEN may not read it" in refused(tmp_path, url(repo=no_model))
    monkeypatch.setenv("HF_TOKEN", "hf_wrong")
    message = refused(tmp_path, url())
    assert "401 Unauthorized; HF_TOKEN is not valid" in message and "hf_wrong" not in message


def test_the_token_goes_to_the_hub_alone_and_into_no_log(hub, tmp_path, monkeypatch, capfd):
    monkeypatch.setenv("HF_TOKEN", f" {TOKEN}\n")
    hub.gated, hub.cut = {REPO}, [100_000]
    record = retrieve(url(), tmp_path / "f", **FAST)
    assert record["sha256"] == DIGEST
    assert hub.headers("hub", "Authorization") == [f"Bearer {TOKEN}"] * 2
    assert hub.headers("storage", "Authorization") == [None] * 2
    said = capfd.readouterr()
    assert TOKEN not in said.out + said.err + str(record)


def test_the_token_goes_to_no_other_address_and_never_unprotected(hub, tmp_path, monkeypatch):
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    address = f"{hub.address}/{REPO}/resolve/{REVISION}/model.safetensors"
    # The same server under an address of its own is not the hub to a study.
    retrieve(address, tmp_path / "f", **FAST)
    assert hub.headers("hub", "Authorization") == [None]
    with serve(tmp_path / "repo") as plain:
        monkeypatch.setenv("HF_ENDPOINT", plain.address)
        sent = []
        get = transfer.pass_for
        monkeypatch.setattr(transfer, "pass_for", lambda *of: sent.append(get(*of)) or sent[-1])
        assert "404" in refused(tmp_path, url())
    assert sent == [{}]


def test_a_token_that_cannot_be_sent_is_not_shown(hub, tmp_path, monkeypatch):
    monkeypatch.setenv("HF_TOKEN", "hf_se cret")
    with pytest.raises(StudyError, match="environment variable HF_TOKEN holds signs that no token has") as caught:
        retrieve(url(), tmp_path / "f", **FAST)
    assert "cret" not in str(caught.value) and hub.seen == []


def test_an_endpoint_that_is_no_address(tmp_path, monkeypatch):
    monkeypatch.setenv("HF_ENDPOINT", "hub.example.org")
    with pytest.raises(StudyError, match="HF_ENDPOINT must be an address"):
        retrieve(url(), tmp_path / "f", **FAST)


def test_a_mirror_is_laid_out_as_the_hub_whatever_the_endpoint(hub, tmp_path):
    place = tmp_path / "mirror" / "huggingface.co" / REPO / "resolve" / REVISION / "config.json"
    place.parent.mkdir(parents=True)
    place.write_bytes(SMALL)
    assert retrieve(url("config.json"), tmp_path / "f", mirror=str(tmp_path / "mirror"), **FAST)["from"] == "mirror"
    assert hub.seen == []


SHARDS = [f"model-0000{k}-of-00003.safetensors" for k in (1, 2, 3)]
INDEX = "model.safetensors.index.json"
FORMS = ("model.safetensors", "pytorch_model.bin")


@pytest.mark.parametrize(
    ("files", "said"),
    [
        (["config.json", "model.safetensors", "tokenizer.json"], ""),
        (["config.json", "pytorch_model.bin", "vocab.txt"], ""),
        (["config.json", INDEX, *SHARDS, "some.model"], ""),
        (["model.safetensors", "tokenizer.json", "README.md"], "config.json"),
        (
            ["config.json", "tokenizer.json", "merges.txt"],
            "the weights: model.safetensors or pytorch_model.bin, or",
        ),
        (["config.json", "tokenizer.json", INDEX], "(the index alone is not enough)"),
        (["config.json", "tokenizer.json", INDEX, SHARDS[1]], f"{SHARDS[0]}; {SHARDS[2]}"),
        (["config.json", "tokenizer.json", *SHARDS], INDEX),
        (["config.json", "model.safetensors", "tokenizer_config.json"], "the tokenizer: tokenizer.json, or another of"),
    ],
)
def test_a_list_of_files_that_lacks_what_the_model_needs(files, said):
    found = lacking(files, FORMS)
    assert found == said if said in ("", "config.json", INDEX) or said.startswith("model-") else said in found


def test_all_shards():
    assert all_shards([SHARDS[2], "model.safetensors"]) == SHARDS


def test_records_of_several_files(hub, tmp_path):
    from data.retrieve import main

    urls = hub_urls({"repo": REPO, "revision": REVISION, "files": ["config.json", "model.safetensors"]})
    main(urls, [tmp_path / "c", tmp_path / "m"], tmp_path / "r.json", [None] * 2, [None] * 2, mirror=None, key="a.key")
    assert [file["url"] for file in read_json(tmp_path / "r.json")["files"]] == urls


def test_the_hub_and_a_mirror_give_the_same_bytes_and_records(hub, tmp_path):
    from data.retrieve import main

    names, mirror = ["config.json", "model.safetensors"], tmp_path / "mirror"
    urls = hub_urls({"repo": REPO, "revision": REVISION, "files": names})
    place = mirror / "huggingface.co" / REPO / "resolve" / REVISION
    shutil.copytree(hub.repos[REPO], place)
    records, bytes_of = [], []
    for source in (None, str(mirror)):
        folder = tmp_path / str(len(records))
        paths = [folder / name for name in names]
        main(urls, paths, folder / "r.json", [None] * 2, [None] * 2, mirror=source, key="a.key")
        bytes_of.append([path.read_bytes() for path in paths])
        files = read_json(folder / "r.json")["files"]
        assert {file["from"] == "mirror" for file in files} == {bool(source)}
        records.append([{key: file[key] for key in ("url", "sha256", "bytes", "pinned")} for file in files])
    assert bytes_of[0] == bytes_of[1] == [SMALL, LARGE]
    assert records[0] == records[1] and [file["sha256"] for file in records[0]] == [
        hashlib.sha256(SMALL).hexdigest(),
        DIGEST,
    ]
