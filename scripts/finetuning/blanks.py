"""Blanks in texts: an exported tokenizer turns each run of them into one space, as the study's preparation does."""

import os

from tokenizers import Regex, Tokenizer, normalizers

from finetuning.settled_tokenizer import write_class

# The same characters as in `data.reviews.normalise`: whitespace and control characters.
BLANKS = r"[\s\x00-\x1f\x7f-\x9f]+"


def collapse_blanks(folder, sides, load):
    """Let a folder's tokenizer turn whitespace and control characters into one space, as the study's preparation does.

    The tokenizer is changed only where the ids of the study's texts stay the same.

    Args:
        folder: folder of the exported model; tokenizer.json and tokenizer_config.json may be changed.
        sides: the study's texts in canonical form, and the other texts of pairs or None.
        load: function that returns the tokenizer of a folder.

    Returns:
        bool: True where texts with other blanks now get the ids of their canonical form.
    """
    texts = [text for side in sides if side for text in side]
    path, place = (os.path.join(folder, name) for name in ("tokenizer.json", "tokenizer_config.json"))
    before = load(folder)
    wanted = before(texts, verbose=False)["input_ids"]
    spoilt = [f"\n \t{text.replace(' ', chr(13) + chr(10) + chr(9) + '  ')}\u3000\n" for text in texts]
    if before(spoilt, verbose=False)["input_ids"] == wanted:
        return True
    if not getattr(before, "is_fast", False):
        return False
    kept = {name: open_bytes(name) for name in (path, place)}
    backend = Tokenizer.from_str(before.backend_tokenizer.to_str())
    blanks = [normalizers.Replace(Regex(BLANKS), " "), normalizers.Strip()]
    backend.normalizer = normalizers.Sequence(blanks + ([backend.normalizer] if backend.normalizer else []))
    backend.no_truncation()
    backend.no_padding()
    backend.save(path)
    after = load(folder)
    if not same_ids(after, texts, spoilt, wanted):
        # The class builds another normal form.
        write_class(folder, before)
        after = load(folder)
    if same_ids(after, texts, spoilt, wanted):
        return True
    for name, content in kept.items():
        if content is None:
            os.remove(name)
        else:
            with open(name, "wb") as handle:
                handle.write(content)
    return False


def open_bytes(path):
    """Return the bytes of a file, or None where it is missing."""
    if not os.path.exists(path):
        return None
    with open(path, "rb") as handle:
        return handle.read()


def same_ids(tokenizer, texts, spoilt, wanted):
    """Return whether a tokenizer gives both forms of texts the wanted ids."""
    return all(tokenizer(form, verbose=False)["input_ids"] == wanted for form in (texts, spoilt))
