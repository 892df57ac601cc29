"""A model of the Hugging Face hub by its name: its commit and the files that a study needs, for `make new`."""

import json
import os
import re
import tempfile
from urllib.parse import urlsplit

from common.errors import StudyError
from study.download import retrieve
from study.finetuning_checks import WEIGHTS
from study.hub import HUB, TOKENIZERS, lacking

REPO = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*", re.ASCII)
# A tokenizer is also read from these.
BESIDE = ("tokenizer_config.json", "special_tokens_map.json", "added_tokens.json", "merges.txt")
# Bytes of the hub's answer about a model, at most.
ANSWER = 20_000_000


def is_repo(name):
    """Tell whether a name is one of the hub, OWNER/NAME, and no folder of this machine."""
    return bool(REPO.fullmatch(name)) and not os.path.exists(name)


def needed(names):
    """Return those of a model's files that a study needs: sizes, weights in one form, tokenizer.

    Args:
        names: of all files, as the hub lists them.
    """
    wanted = [name for name in names if name == "config.json" or name in TOKENIZERS + BESIDE]
    for form in WEIGHTS:
        stem, ending = os.path.splitext(form)
        shards = [name for name in names if re.fullmatch(rf"{stem}-\d+-of-\d+{ending}", name)]
        if form in names or shards:
            whole = [form] if form in names else [*shards, f"{form}.index.json"]
            return sorted({*wanted, *whole} & set(names))
    return sorted(wanted)


def _in_mirror(repo, mirror):
    """Return (commit, names) of a model in a mirror's folder, or None."""
    folder = os.path.join(mirror, urlsplit(HUB).netloc, *repo.split("/"), "resolve")
    commits = sorted(os.listdir(folder)) if os.path.isdir(folder) else []
    if len(commits) > 1:
        raise StudyError(
            f"MODEL={repo}: the mirror has {len(commits)} commits ({', '.join(commits)}); name the folder of one: "
            f"MODEL={os.path.join(folder, commits[0])}"
        )
    return (commits[0], os.listdir(os.path.join(folder, commits[0]))) if commits else None


def hub_entry(repo, mirror=None):
    """Return the entry of a study file for a model of the hub: repo, revision, files.

    Args:
        repo: OWNER/NAME.
        mirror: folder laid out HOST/PATH that replaces the network, or None: the hub is asked, at HF_ENDPOINT if set.

    Raises:
        StudyError: there is no answer, or the model lacks a file that a study needs; the message says what to write.
    """
    url = f"{HUB}/api/models/{repo}/revision/main"
    by_hand = (
        f"where there is no network, write the entry yourself: finetuning.models.mine.hub with repo: {repo}, revision: "
        f"the 40 digits of a commit ({HUB}/{repo}/commits/main) and files: [config.json, model.safetensors, "
        "tokenizer.json] (docs/guides/models.md)"
    )
    if mirror and (found := _in_mirror(repo, mirror)):
        revision, names = found
    else:
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "model.json")
            try:
                retrieve(url, path, mirror=mirror, key="MODEL", attempts=2, limit=ANSWER, progress=False)
                with open(path, encoding="utf-8") as handle:
                    answer = json.load(handle)
                revision, names = answer["sha"], [one["rfilename"] for one in answer["siblings"]]
            except StudyError as error:
                raise StudyError(f"MODEL={repo}: the hub did not list its files: {error}; {by_hand}") from error
            except (ValueError, KeyError, TypeError) as error:
                raise StudyError(f"MODEL={repo}: {url} did not answer as the hub does; {by_hand}") from error
    files = needed(names)
    if not re.fullmatch("[0-9a-f]{40}", str(revision)):
        raise StudyError(f"MODEL={repo}: the hub names no commit ({str(revision):.60}); {by_hand}")
    if missing := lacking(files, WEIGHTS):
        raise StudyError(f"MODEL={repo} cannot be fine-tuned here: it lacks {missing}; choose another model")
    return {"repo": repo, "revision": revision, "files": files}
