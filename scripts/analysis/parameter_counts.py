"""The conventions for counting a RoBERTa's parameters, and the tensors in a model file."""

import json
import math
import os
import pickle
import re
import struct
import zipfile

from common.errors import StudyError
from study.rule_parameters import ENCODER, count

_LEGACY_MAGIC = 0x1950A86A20F9469CFC6C
# Every published count and the convention that yields it (PROTOCOL's table of the lab's reports).
PUBLISHED = {
    22675456: "matrices",
    22806528: "positions",
    22807552: "position_table",
    22829056: "encoder",
    23092738: "classifier",
    23093250: "classifier_huggingface",
    23388418: "classifier_fairseq",
    20578304: "four_matrices",
}
# Terms of each convention, and its description.
CONVENTIONS = {
    "matrices": (("tokens", "matrices"), "token embeddings and encoder weight matrices, no positions"),
    "positions": (("tokens", "matrices", "positions"), "+ the positions that an input can have"),
    "position_table": (("tokens", "matrices", "positions", "shift"), "+ the table's two further rows: what is stored"),
    "encoder": (ENCODER, "+ every bias and LayerNorm: the encoder, no head"),
    "classifier": ((*ENCODER, "head"), "+ the classification head"),
    "classifier_huggingface": ((*ENCODER, "head", "token_types"), "+ Hugging Face's one-row token-type table"),
    "classifier_fairseq": (
        (*ENCODER, "head", "lm_head"),
        "fairseq's whole model: encoder, classification head and language-model head",
    ),
    "four_matrices": (
        ("tokens", "query_key_value", "feed_forward_one"),
        "wrong: counts W_q, W_k, W_v and one feed-forward matrix a layer; forgets the output projection, the other "
        "feed-forward matrix and the positions",
    ),
}
# Files store the token embeddings (or the head's bias) a second time under these names.
_TIED = re.compile(r"lm_head\.(weight|decoder\.weight|decoder\.bias)$")
_BUFFERS = re.compile(r"(^|\.)(version|position_ids|token_type_ids)$")
_TERMS = (
    ("lm_head", re.compile(r"(^|\.)lm_head\.")),
    ("head", re.compile(r"(^|\.)(classification_heads\.|classifier\.)")),
    ("tokens", re.compile(r"\.(embed_tokens|word_embeddings)\.weight$")),
    ("table", re.compile(r"\.(embed_positions|position_embeddings)\.weight$")),
    ("token_types", re.compile(r"\.token_type_embeddings\.weight$")),
)


def count_by(size, convention):
    """Return the parameters of a model under a convention.

    Args:
        size: dict of the arguments of `study.rule_parameters.terms`.
        convention: a key of `CONVENTIONS`.

    Raises:
        StudyError: unknown convention.
    """
    if convention not in CONVENTIONS:
        raise StudyError(f"parameter convention {convention!r} is unknown: use one of {', '.join(CONVENTIONS)}")
    return count(size, CONVENTIONS[convention][0])


def is_buffer(name):
    """Return whether a tensor is none of the model's parameters, though its file may hold it."""
    return bool(_BUFFERS.search(name))


def spaced(number):
    """Return a whole number with thin spaces between thousands, as the report prints it."""
    return f"{number:,}".replace(",", "\N{NARROW NO-BREAK SPACE}")


def counted_terms(shapes):
    """Return {term: count} of stored tensors; tied copies and buffers are left out.

    Args:
        shapes: {tensor name: shape} under fairseq's or Hugging Face's names.

    Returns:
        dict: tokens, table (the position table), matrices, vectors, head, token_types, lm_head; a term that is not
            stored is absent.
    """
    found = {}
    for name, shape in shapes.items():
        if _BUFFERS.search(name) or _TIED.search(name):
            continue
        term = next((term for term, pattern in _TERMS if pattern.search(name)), None)
        if term is None:
            term = "matrices" if len(shape) > 1 else "vectors"
        found[term] = found.get(term, 0) + math.prod(shape)
    return found


_LAYER = re.compile(r"\.layers?\.(\d+)\.")
_INNER = re.compile(r"\.layers?\.0\.(fc1|intermediate\.dense)\.weight$")


def size_of(shapes, name):
    """Return the size of a RoBERTa from its stored tensors: the arguments of `study.rule_parameters.terms`.

    Args:
        shapes: {tensor name: shape} under fairseq's or Hugging Face's names.
        name: name of the file, for messages.

    Raises:
        StudyError: it lacks a tensor that shows a size, or has a layer twice or a gap between layers.
    """

    def shape(what, pattern):
        found = [shape for key, shape in shapes.items() if pattern.search(key) and len(shape) == 2]
        if len(found) != 1:
            raise StudyError(f"{name} has {len(found)} tensors of {what} instead of one: it is no RoBERTa checkpoint")
        return found[0]

    patterns = dict(_TERMS)
    vocabulary, width = shape("token embeddings", patterns["tokens"])
    positions, _ = shape("position embeddings", patterns["table"])
    ffn_width, _ = shape("the first layer's inner feed-forward weights", _INNER)
    layers = {int(match[1]) for match in map(_LAYER.search, shapes) if match}
    if layers != set(range(len(layers))):
        raise StudyError(f"{name} has the layers {', '.join(map(str, sorted(layers)))}: one is missing")
    return {
        "vocab_size": vocabulary,
        "width": width,
        "ffn_width": ffn_width,
        "layers": len(layers),
        # Padding index 1 shifts the table by two rows.
        "max_positions": positions - 2,
    }


class _Ignored:
    """A stand-in for any class in a checkpoint's pickle: created, called and filled without effect."""

    def __init__(self, *args, **kwargs):
        pass

    def __call__(self, *args, **kwargs):
        return _Ignored()

    def __setstate__(self, state):
        pass

    def append(self, value):
        pass

    def extend(self, values):
        pass

    def __setitem__(self, key, value):
        pass


class _Shape(tuple):
    """The shape of a tensor whose values are not read."""

    def __setstate__(self, state):
        pass


class _Entries(dict):
    """A state dict without the attributes (`_metadata`) that PyTorch gives it."""

    def __setstate__(self, state):
        pass


class _ShapeReader(pickle._Unpickler):
    """Unpickles a PyTorch file to its structure: tensors become shapes, no class of the file is ever imported.

    It uses the unpickler written in Python: the one in C makes a table as long as any number in the file, so that ten
    bytes can take all memory. An opcode of protocol 5 can do the same, but PyTorch does not write it.
    """

    dispatch = {code: act for code, act in pickle._Unpickler.dispatch.items() if code != pickle.BYTEARRAY8[0]}

    def find_class(self, module, name):
        if (module, name) == ("collections", "OrderedDict"):
            return _Entries
        if (module, name) in (("torch._utils", "_rebuild_tensor_v2"), ("torch._utils", "_rebuild_tensor")):
            return lambda storage, offset, size, *rest: _Shape(size)
        if (module, name) == ("torch._utils", "_rebuild_parameter"):
            return lambda data, *rest: data
        return _Ignored

    def persistent_load(self, pid):
        return None


def _read_structure(path):
    """Return the structure of a PyTorch file: a zip, or (before PyTorch 1.6) four pickles in a row."""
    if zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            name = next(name for name in archive.namelist() if name.endswith("/data.pkl"))
            if archive.getinfo(name).file_size > os.path.getsize(path):
                raise ValueError("its parts are packed, which PyTorch never does")
            with archive.open(name) as handle:
                return _ShapeReader(handle).load()
    with open(path, "rb") as handle:
        if _ShapeReader(handle).load() != _LEGACY_MAGIC:
            raise ValueError("it does not begin as a PyTorch file does")
        for _ in ("protocol version", "system"):
            _ShapeReader(handle).load()
        return _ShapeReader(handle).load()


def read_shapes(path):
    """Return {tensor name: shape} of a model file, without reading values or importing torch.

    `training.fairseq_checkpoint` reads a checkpoint's weights with torch, which the page's environment lacks. Counting
    needs no values: a tensor is read as its shape, and no class that the file names is imported.

    Args:
        path: a `.safetensors` file, a folder holding `model.safetensors`, a PyTorch file (`.pt`: its `model` entry,
            as fairseq saves it, or the state dict itself), or a JSON object {name: shape}.

    Raises:
        StudyError: the file is missing or none of these.
    """
    if os.path.isdir(path):
        path = os.path.join(path, "model.safetensors")
    try:
        if path.endswith(".json"):
            with open(path, encoding="utf-8") as handle:
                return {name: tuple(shape) for name, shape in json.load(handle).items()}
        if path.endswith(".safetensors"):
            with open(path, "rb") as handle:
                (length,) = struct.unpack("<Q", handle.read(8))
                if length > os.path.getsize(path):
                    raise ValueError("the header is longer than the file")
                header = json.loads(handle.read(length))
            return {name: tuple(entry["shape"]) for name, entry in header.items() if name != "__metadata__"}
        state = _read_structure(path)
        state = state["model"] if isinstance(state.get("model"), dict) else state
        shapes = {name: tuple(shape) for name, shape in state.items() if isinstance(shape, _Shape)}
    except FileNotFoundError as error:
        raise StudyError(f"{path} is missing: its tensors cannot be counted") from error
    except Exception as error:
        raise StudyError(f"{path} is not a model file whose tensors can be listed ({error!r:.200})") from error
    if not shapes:
        raise StudyError(f"{path} holds no tensor")
    return shapes
