"""External tokenizers: the study's copy is changed to give the ids that its file defines, or refused."""

import os

from tokenizers import Tokenizer

from common.errors import StudyError
from common.files import read_json, write_json
from finetuning.own_tokens import CLASS, SAMPLE, JsonReference, first_difference, refusal, words_of
from finetuning.sentencepiece_tokens import PiecesReference, with_pieces

# These settings rebuild a part of a tokenizer, and may contradict tokenizer.json.
OPTIONS = ("do_lower_case", "strip_accents", "tokenize_chinese_chars", "keep_accents", "add_prefix_space")
OPTIONS += ("split_by_punct", "remove_space")


def reference_of(folder, place):
    """Return the reference for the right ids of a folder; None where no file defines them without a class (vocab.txt).

    Args:
        folder: folder of the model.
        place: its name in messages.

    Raises:
        StudyError: the file cannot be read.
    """
    path = os.path.join(folder, "tokenizer.json")
    models = sorted(name for name in os.listdir(folder) if name.endswith(".model"))
    try:
        if os.path.exists(path):
            return JsonReference(path)
        if len(models) == 1:
            kind = read_json(os.path.join(folder, "config.json")).get("model_type")
            return PiecesReference(os.path.join(folder, models[0]), kind)
    except StudyError:
        raise
    except Exception as error:  # tokenizers raises this very class
        file = "tokenizer.json" if os.path.exists(path) else models[0]
        raise StudyError(f"{place}: {file} cannot be read ({str(error)[:200]}); get it again") from error
    return None


def settle_tokenizer(folder, place, load):
    """Make a folder's tokenizer give the ids that its file defines, and return it with the change made.

    Args:
        folder: copy of the model's files that may be changed.
        place: its name in messages.
        load: function that returns the tokenizer of a folder.

    Returns:
        tuple: the tokenizer; None, or what was changed, in words.

    Raises:
        StudyError: it gives other ids and no change corrects that, or two settings contradict each other.
    """
    reference = reference_of(folder, place)
    try:
        tokenizer = load()
    except StudyError:
        # The class may be the wrong one although the file is good.
        if not isinstance(reference, JsonReference) or not reference.words:
            raise
        write_class(folder, None)
        return load(), f"tokenizer_class is {CLASS}, since the class of the model cannot read tokenizer.json"
    if reference is None:
        return tokenizer, None
    if isinstance(reference, PiecesReference) and getattr(tokenizer, "split_by_punct", False):
        raise StudyError(
            f"{place}: split_by_punct of tokenizer_config.json cuts texts before {reference.file} does, which is not "
            "supported without a tokenizer.json; add that file"
        )
    texts = [*SAMPLE, *words_of(reference)]
    found = first_difference(tokenizer, reference, texts)
    if found is None and reference.frames:
        found = first_difference(tokenizer, reference, texts[:-1], texts[1:])
    if found is None:
        return tokenizer, None
    if isinstance(reference, JsonReference) and (key := contradicting(folder, reference, load, texts)):
        remedy = f"{key} of tokenizer_config.json contradicts {reference.file}: correct the one that is wrong"
        raise StudyError(f"{place}: {refusal(tokenizer, reference, found, remedy)}")
    write_class(folder, tokenizer, reference)
    mended = load()
    if first_difference(mended, reference, texts) is None:
        return mended, f"tokenizer_class is {CLASS}, since {type(tokenizer).__name__} changes ids of {reference.file}"
    remedy = (
        f'write "tokenizer_class": "{CLASS}" into tokenizer_config.json'
        if reference.file == "tokenizer.json"
        else "add the tokenizer.json of the model, or correct tokenizer_class of tokenizer_config.json"
    )
    raise StudyError(f"{place}: {refusal(tokenizer, reference, found, remedy)}")


def check_texts(tokenizer, folder, first, second=None):
    """Compare the ids that a loaded tokenizer gives a study's texts with those of the model's file.

    Args:
        tokenizer: as loaded from the folder.
        folder: what `finetuning.take_model` wrote.
        first: texts.
        second: the other texts of pairs, or None.

    Raises:
        StudyError: a text gets other ids.
    """
    reference = reference_of(folder, folder)
    found = first_difference(tokenizer, reference, first, second) if reference else None
    if found:
        remedy = f'write "tokenizer_class": "{CLASS}" into the tokenizer_config.json of the model'
        raise StudyError(f"{folder}: {refusal(tokenizer, reference, found, remedy)}")


def contradicting(folder, reference, load, texts):
    """Return the one setting of tokenizer_config.json that makes the ids differ, or None.

    Args:
        folder, load: see `settle_tokenizer`; tokenizer_config.json is changed temporarily.
        reference: see `reference_of`.
        texts: to compare.
    """
    path = os.path.join(folder, "tokenizer_config.json")
    if not os.path.exists(path):
        return None
    before = read_json(path)
    try:
        for key in (key for key in OPTIONS if key in before):
            without = {name: value for name, value in before.items() if name != key}
            for tried in (without, without | {key: not before[key]}):
                write_json(path, tried)
                if first_difference(load(), reference, texts) is None:
                    return key
    finally:
        write_json(path, before)
    return None


def write_class(folder, tokenizer, reference=None):
    """Configure a folder so that its tokenizer.json is used unchanged; build that file from a SentencePiece model.

    Args:
        folder: folder of the model.
        tokenizer: as loaded so far, whose special tokens stay; None: those of tokenizer_config.json alone.
        reference: see `reference_of`.
    """
    path = os.path.join(folder, "tokenizer.json")
    if isinstance(reference, PiecesReference):
        with_pieces(tokenizer, reference).save(path)
    vocabulary = Tokenizer.from_file(path).get_vocab()
    place = os.path.join(folder, "tokenizer_config.json")
    settings = read_json(place) if os.path.exists(place) else {}
    named = dict(tokenizer.special_tokens_map) if tokenizer is not None else {}
    kept = {key: token for key, token in named.items() if isinstance(token, str) and token in vocabulary}
    settings = {key: value for key, value in settings.items() if key not in ("auto_map", *OPTIONS)}
    settings = {k: v for k, v in settings.items() if not k.endswith("_token") or text_of(v) in vocabulary}
    write_json(place, kept | settings | {"tokenizer_class": CLASS})


def text_of(token):
    """Return the text of a special token, which a configuration writes as a string or as an object."""
    return token.get("content") if isinstance(token, dict) else token
