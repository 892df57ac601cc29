"""The question-answering study's pairs, prompt and loss mask: text and lists only, no torch."""

import os
import random
import re

from common.errors import StudyError
from common.files import read_json

# The label that torch's cross entropy leaves out.
IGNORED = -100
LOSS_ON = ("answer", "all")
# A tokenizer can be read from any of these: the last two are SentencePiece's, and GPT-2's with its merges.txt.
TOKENIZERS = ("tokenizer.json", "tokenizer.model", "vocab.json")
# A base model's files end like this: configuration, weights, and a tokenizer of either kind.
BASE_FILES = (".json", ".safetensors", ".txt", ".model")


def prompt(template, question, answer=None):
    r"""Return a question in the study's prompt: for training with the answer, for generation without.

    The open prompt ends before the blanks that precede the answer: byte-level BPE joins a blank to the word that
    follows, so the answer's first token holds it, in training and in generation alike.

    Args:
        template: `qa.prompt` of the config; it ends in {answer}.
        question: str.
        answer: str, or None for the open prompt.

    Returns:
        str

    Source: the course's prompt, `<human>: QUESTION  \n <assistant>: ANSWER`.
    """
    opened, _, _ = template.partition("{answer}")
    stem = opened.rstrip(" ")
    blanks = opened[len(stem) :]
    asked = stem.replace("{question}", question)
    return asked if answer is None else f"{asked}{blanks}{answer}"


def clean_pairs(pairs, name, question="question", answer="answer", places=None):
    """Return the pairs with every run of white space or control characters as one blank.

    Args:
        pairs: list of objects holding `question` and `answer`; other keys are dropped.
        name: where they come from, for messages.
        question: key of the question.
        answer: key of the answer.
        places: places of each pair in that file, for messages; by default its number.

    Returns:
        list[dict]: `question`, `answer`.

    Raises:
        StudyError: no pair at all, or a pair without a question or an answer.
    """
    if not pairs:
        raise StudyError(f"{name} holds no question/answer pair")
    cleaned = []
    for place, pair in zip(places or (f"pair {n}" for n in range(1, len(pairs) + 1)), pairs, strict=True):
        if not isinstance(pair, dict):
            raise StudyError(f"{name}: {place} is {pair!r:.60}, not an object with `{question}` and `{answer}`")
        texts = {}
        for part, key in (("question", question), ("answer", answer)):
            value = pair.get(key)
            if isinstance(value, bool | int | float | dict | list) and value == value:
                raise StudyError(f"{name}: {place}: its {key} is {value!r:.40}; write it as text")
            texts[part] = re.sub(r"[\s\x00-\x1f\x7f-\x9f]+", " ", value).strip() if isinstance(value, str) else ""
            # JSON can encode half a character, which no UTF-8 file can contain.
            if re.search("[\ud800-\udfff]", texts[part]):
                raise StudyError(f"{name}: {place}: its {key} holds half a character (\\ud800 to \\udfff): correct it")
            if not texts[part]:
                about = texts.get("question") or pair.get(answer) or ""
                raise StudyError(f"{name}: {place} ({about!r:.60}) has no {key}: fill it in or delete the pair")
        cleaned.append(texts)
    return cleaned


def first_summing(sizes, total):
    """Return the numbers (from 0) of the first groups whose sizes add up to a total; empty: none do.

    Each group is taken that fits, unless those after it could not make up the rest.

    Args:
        sizes: sizes of the groups, in their order.
        total: at least 1.
    """
    # Bit k of reached[i] is 1 where the groups from i on can add up to k.
    reached = [1]
    for size in reversed(sizes):
        grown = (reached[-1] | reached[-1] << size) & ((2 << total) - 1)
        # Beyond some point every sum is reached, and one number suffices: there may be a million pairs.
        reached.append(reached[-1] if grown == reached[-1] else grown)
    reached.reverse()
    chosen = []
    for number, size in enumerate(sizes):
        if size <= total and reached[number + 1] >> (total - size) & 1:
            chosen.append(number)
            total -= size
    return [] if total else chosen


def split_pairs(pairs, n_heldout, seed):
    """Return the pairs to train on and those to keep out, both in the file's order.

    Exact duplicates are dropped, and pairs that share a question stay on one side: else the held-out loss
    would be measured on questions that training saw.

    Args:
        pairs: list of `question`/`answer` dictionaries.
        n_heldout: pairs to keep out of training (>= 1).
        seed: seed of the draw.

    Returns:
        tuple: train, heldout: lists of dictionaries with `id` (0-based place in the file), `question`, `answer`.

    Raises:
        StudyError: not that many pairs can be kept out.
    """
    groups, seen = {}, set()
    for number, pair in enumerate(pairs):
        question = pair["question"].casefold()
        if (question, pair["answer"]) in seen:
            continue
        seen.add((question, pair["answer"]))
        groups.setdefault(question, []).append({"id": number, **pair})
    drawn = list(groups.values())
    random.Random(seed).shuffle(drawn)
    chosen = first_summing(list(map(len, drawn)), n_heldout)
    if not chosen or len(chosen) == len(drawn):
        together = ", and pairs that share a question stay together" if n_heldout < len(seen) else ""
        raise StudyError(
            f"qa.data.n_heldout: {n_heldout} cannot be kept out of {len(seen)} different pairs{together}; "
            f"choose {'another number from ' if together else ''}1 to {len(seen) - 1}"
        )
    heldout = [pair for number in chosen for pair in drawn[number]]
    train = [pair for number in set(range(len(drawn))) - set(chosen) for pair in drawn[number]]
    return sorted(train, key=lambda pair: pair["id"]), sorted(heldout, key=lambda pair: pair["id"])


def encode_pair(encode, template, question, answer, end_of_text, loss_on, learn_end_of_text, max_tokens):
    """Return one pair as token ids, with what is learnt and what belongs to the answer.

    The prompt's tokens in training are the very ones that generation starts from. The answer's are those that follow
    them in the whole text; where the tokenizer joins the prompt's end to the answer, those of the answer alone.

    Args:
        encode: function from str to list of int, with what the model's tokenizer puts before a text.
        template: `qa.prompt` of the config.
        question: str.
        answer: str.
        end_of_text: id of the end-of-text token.
        loss_on: "answer" or "all" (the prompt is learnt too, as in the course).
        learn_end_of_text: put `end_of_text` after the answer and learn it. Without it (the course: nothing is
            appended, and its collator leaves out every position of pad = end of text) answers never stop.
        max_tokens: longest sequence; the answer's end is cut.

    Returns:
        dict: `input_ids`, `labels` (an id, or `IGNORED`), `is_answer` (1 for the answer's own tokens, 0
        elsewhere and for the end of text); lists of one length T.

    Raises:
        StudyError: the prompt alone fills `max_tokens`, or `loss_on` is unknown.
    """
    if loss_on not in LOSS_ON:
        raise StudyError(f"qa.training.loss_on: {loss_on!r} is not one of {', '.join(LOSS_ON)}")
    asked = prompt(template, question)
    opened, whole = encode(asked), encode(prompt(template, question, answer))
    answered = whole[len(opened) :]
    if whole[: len(opened)] != opened:
        answered = encode(prompt(template, question, answer)[len(asked) :], first=False)
    if len(opened) >= max_tokens:
        raise StudyError(
            f"qa.training.max_tokens: {max_tokens} leaves no room for an answer to {question!r:.60}, "
            f"whose prompt takes {len(opened)} tokens"
        )
    end = [end_of_text] if learn_end_of_text else []
    input_ids = (opened + answered + end)[:max_tokens]
    is_answer = ([0] * len(opened) + [1] * len(answered) + [0] * len(end))[:max_tokens]
    first = 0 if loss_on == "all" else len(opened)
    return {"input_ids": input_ids, "labels": [IGNORED] * first + input_ids[first:], "is_answer": is_answer}


def pad_batch(examples, pad):
    """Return examples as rectangular lists, padded on the right.

    Padding is known by its place, never by its id: BLOOM-style set-ups pad with the end-of-text token, and
    masking by id would also hide the one that must be learnt.

    Args:
        examples: list of B dictionaries from `encode_pair`.
        pad: id to fill `input_ids` with.

    Returns:
        dict: `input_ids`, `attention_mask`, `labels`, `is_answer`: (B, T) lists.
    """
    longest = max(len(example["input_ids"]) for example in examples)
    batch = {"input_ids": [], "attention_mask": [], "labels": [], "is_answer": []}
    for example in examples:
        n = len(example["input_ids"])
        batch["input_ids"].append(example["input_ids"] + [pad] * (longest - n))
        batch["attention_mask"].append([1] * n + [0] * (longest - n))
        batch["labels"].append(example["labels"] + [IGNORED] * (longest - n))
        batch["is_answer"].append(example["is_answer"] + [0] * (longest - n))
    return batch


def check_base(folder):
    """Check that a folder holds a base model that can be read without running code from it.

    Args:
        folder: config.json, model.safetensors (or model.safetensors.index.json and its shards), and a tokenizer
            (`TOKENIZERS`).

    Raises:
        StudyError: something is missing; pickled weights (`*.bin`) do not count.
    """
    config = read_json(os.path.join(folder, "config.json"))
    if not isinstance(config, dict) or "model_type" not in config:
        raise StudyError(f"{folder}/config.json is no model configuration: it lacks `model_type`")
    index = os.path.join(folder, "model.safetensors.index.json")
    if os.path.exists(index):
        weights = sorted(set(read_json(index).get("weight_map", {}).values()))
    else:
        weights = ["model.safetensors"]
    missing = [name for name in weights or ["model.safetensors"] if not os.path.exists(os.path.join(folder, name))]
    if missing:
        pickled = [name for name in os.listdir(folder) if name.endswith((".bin", ".pt", ".pth"))]
        aside = f"; {', '.join(pickled)} is pickled: convert it to safetensors" if pickled else ""
        raise StudyError(f"the base model's folder {folder} has no weights: {', '.join(missing)} is missing{aside}")
    if not any(os.path.exists(os.path.join(folder, name)) for name in TOKENIZERS):
        raise StudyError(
            f"the base model's folder {folder} has no tokenizer.json, nor another of {', '.join(TOKENIZERS[1:])}: "
            "add the model's own tokenizer"
        )
