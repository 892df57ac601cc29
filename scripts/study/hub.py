"""The Hugging Face hub: addresses of its files, access, the meaning of its answers, the files that a model needs."""

import os
import re
from urllib.parse import urlsplit

from common.errors import StudyError

HUB = "https://huggingface.co"
# Forms of a model's weights that are read, in order of preference, as Transformers looks for them.
WEIGHTS = ("model.safetensors", "pytorch_model.bin")
SHARD = re.compile(r"-(\d{5})-of-(\d{5})$")
# A tokenizer is read from any of these, as far as its files have fixed names.
TOKENIZERS = ("tokenizer.json", "tokenizer.model", "vocab.txt", "vocab.json", "spiece.model", "spm.model")
TOKENIZERS += ("sentencepiece.bpe.model", "sentencepiece.model", "bpe.codes")


def hub_urls(hub):
    """Return the addresses of a model's files on the hub.

    Args:
        hub: `repo`, `revision`, `files` of the settings.
    """
    return [f"{HUB}/{hub['repo']}/resolve/{hub['revision']}/{name}" for name in hub["files"]]


def endpoint():
    """Return the address of the hub: HF_ENDPOINT, or the public one.

    Raises:
        StudyError: HF_ENDPOINT is no address.

    Source: huggingface_hub's environment variable of that name.
    """
    place = os.environ.get("HF_ENDPOINT", "").strip().rstrip("/")
    if place and not re.fullmatch(r"https?://[A-Za-z0-9._:\[\]-]+(/[A-Za-z0-9._/-]*)?", place):
        raise StudyError(
            "the environment variable HF_ENDPOINT must be an address such as https://hub.example.org; correct it, or "
            "unset it"
        )
    return place or HUB


def asked_at(url):
    """Return the address that is requested for a file: a file of the hub at `endpoint`."""
    return endpoint() + url[len(HUB) :] if is_hub(url) else url


def is_hub(url):
    """Return whether an address of the settings is one of the hub."""
    return url.startswith(f"{HUB}/")


def is_asked(url, address):
    """Return whether a request to `address`, on the way to the file of `url`, goes to the hub itself."""
    return is_hub(url) and urlsplit(address)[:2] == urlsplit(endpoint())[:2]


def token():
    """Return the user's pass to the hub, HF_TOKEN, or ''.

    Raises:
        StudyError: it cannot be sent; the message does not show it.
    """
    value = os.environ.get("HF_TOKEN", "").strip()
    if not re.fullmatch("[!-~]*", value):
        raise StudyError("the environment variable HF_TOKEN holds signs that no token has; correct it, or unset it")
    return value


def pass_for(url, address):
    """Return the headers with the user's token: for the hub's host only, and never without encryption.

    Args:
        url: address of the settings.
        address: what is asked next for it: the hub, or wherever it redirected to.
    """
    sent = is_asked(url, address) and address.startswith("https://") and token()
    return {"Authorization": f"Bearer {sent}"} if sent else {}


def promised(headers):
    """Return the size and SHA-256 of a large file from the hub's redirect; None where they are missing.

    Args:
        headers: of its answer.

    Source: huggingface_hub's `get_hf_file_metadata` (X-Linked-Size, X-Linked-Etag). Small files have no SHA-256 there.
    """
    size = headers.get("x-linked-size", "")
    etag = headers.get("x-linked-etag", "").removeprefix("W/").strip('"').lower()
    return int(size) if size.isdecimal() else None, etag if re.fullmatch("[0-9a-f]{64}", etag) else None


def refusal(url, status, code):
    """Return the remedy where the hub refuses a file, or None where only the status is known.

    Args:
        url: address of the settings.
        status: of HTTP.
        code: the answer's X-Error-Code, or ''.
    """
    repo, _, rest = url[len(HUB) + 1 :].partition("/resolve/")
    revision, _, file = rest.partition("/")
    page = f"{HUB}/{repo}"
    if code == "GatedRepo":
        if token():
            return (
                f"{repo} is gated and HF_TOKEN may not read it: accept its conditions at {page} with that account, and "
                "let the token read gated repositories"
            )
        return f"{repo} is gated: accept its conditions at {page}, and set HF_TOKEN to a token of that account"
    if code == "RevisionNotFound":
        return f"{repo} has no commit {revision}: take one of {page}/commits/main"
    if code == "EntryNotFound":
        return f"that commit has no file {file}: take the names from {page}/tree/{revision}"
    # Without a token, private and missing models look alike.
    if code == "RepoNotFound" or (status == 401 and not token()):
        if token():
            return f"there is no {repo}, or HF_TOKEN may not read it: correct the name, or the token"
        return f"there is no {repo}, or it is private: correct the name, or set HF_TOKEN"
    if status == 401:
        return f"HF_TOKEN is not valid: make one at {HUB}/settings/tokens, or unset it for public files"
    return None


def all_shards(names):
    """Return the names of all shards that some numbered names belong to.

    >>> all_shards(["model-00002-of-00002.safetensors"])
    ['model-00001-of-00002.safetensors', 'model-00002-of-00002.safetensors']
    """
    found = set()
    for name in names:
        stem, ending = os.path.splitext(name)
        if shard := SHARD.search(stem):
            prefix = stem[: shard.start()]
            found |= {f"{prefix}-{k:05d}-of-{shard[2]}{ending}" for k in range(1, int(shard[2]) + 1)}
    return sorted(found)


def lacking(files, forms):
    """Return the files that a model's list lacks, in words for a message, or ''.

    Args:
        files: names.
        forms: of weights that will do, such as "model.safetensors".
    """
    found = [] if "config.json" in files else ["config.json"]
    stems = {form: os.path.splitext(form) for form in forms}
    if not set(forms) & set(files):
        shards = [f for f in files if any(f.startswith(f"{a}-") and f.endswith(z) for a, z in stems.values())]
        found += [name for name in all_shards(shards) if name not in files]
        index = [f"{form}.index.json" for form in forms]
        if shards and not set(index) & set(files):
            found.append(next(name for name in index if shards[0].endswith(name.split(".")[1])))
        if not shards:
            listed = " (the index alone is not enough)" if set(index) & set(files) else ""
            found.append(f"the weights: {' or '.join(forms)}, or all shards and their index{listed}")
    if not set(TOKENIZERS) & set(files) and not any(name.endswith(".model") for name in files):
        found.append(f"the tokenizer: {TOKENIZERS[0]}, or another of {', '.join(TOKENIZERS[1:])}")
    return "; ".join(found)
