"""Provide the base model's folder: trained here on the workflow's own text, or checked and linked from files."""

import json
import os
import random
import shutil

from common.entry import run
from common.errors import StudyError
from common.files import atomic_path, grant, numbered, read_json, read_lines, visible, write_tsv
from finetuning.own_tokens import check_ids
from qa.causal_lm import load_tokenizer
from qa.lora import refuse_other_kinds
from qa.question_pairs import BASE_FILES, check_base, prompt
from study.pointers import check_pointers
from training.divergence import refuse_divergence

SPECIAL_TOKENS = ("<unk>", "<s>", "</s>", "<pad>")
# BLOOM's split into words; byte-level BPE then works inside each.
WORDS = r" ?[^(\s|[.,!?…。，、।۔،])]+"


def train_tokenizer(texts, vocab_size):
    """Return a byte-level BPE tokenizer made as BLOOM's is.

    Args:
        texts: list of str.
        vocab_size: pieces, the four special ones and the 256 bytes among them (>= 260).

    Returns:
        tokenizers.Tokenizer: ids 0 to 3 are <unk>, <s>, </s>, <pad>.

    Raises:
        StudyError: fewer pieces than bytes and special tokens.

    Source: BigScience 2022 (BLOOM), section 3.4.2.
    """
    from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, trainers

    if vocab_size < 256 + len(SPECIAL_TOKENS):
        raise StudyError(
            f"qa.base.embedded.vocab_size: {vocab_size} is below the 260 that bytes and special tokens take"
        )
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(WORDS), behavior="isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocab_size,
        special_tokens=list(SPECIAL_TOKENS),
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    return tokenizer


def in_dialogue(texts, share, seed, template):
    """Return the texts, a share of them as the question of a dialogue whose answer is the text that follows.

    A base that never saw the prompt's marks is at a loss for reasons that have nothing to do with the answers. Here
    it learns the marks, and nothing about which answer belongs to a question.

    Args:
        texts: list of str.
        share: share of the texts (0 to 1).
        seed: seed of the choice.
        template: `qa.prompt` of the config.

    Returns:
        list[str]: as many texts.
    """
    draw = random.Random(seed)
    following = [*texts[1:], *texts[:1]]
    return [
        prompt(template, text, after) if draw.random() < share else text
        for text, after in zip(texts, following, strict=True)
    ]


def blocks(tokenizer, texts, length):
    """Return the texts as one row of tokens, each text ended by </s>, cut into blocks.

    Args:
        tokenizer: tokenizers.Tokenizer.
        texts: list of str.
        length: tokens a block.

    Returns:
        numpy.ndarray: (n, length) int64; a rest shorter than a block is dropped.

    Raises:
        StudyError: less text than one block.
    """
    import numpy as np

    end = tokenizer.token_to_id("</s>")
    ids = [i for encoding in tokenizer.encode_batch(texts, add_special_tokens=False) for i in [*encoding.ids, end]]
    if len(ids) < length:
        raise StudyError(f"qa.base.embedded: the corpus gives {len(ids)} tokens, less than one block of {length}")
    n = len(ids) // length
    return np.array(ids[: n * length], dtype=np.int64).reshape(n, length)


def new_model(vocab_size, architecture, seed):
    """Return a small BLOOM with random weights.

    Args:
        vocab_size: rows of the embedding table.
        architecture: dict: layers, width, heads.
        seed: seed of the weights.

    Returns:
        transformers.BloomForCausalLM

    Raises:
        StudyError: the width is no multiple of the heads.
    """
    import torch
    from transformers import BloomConfig, BloomForCausalLM

    if architecture["width"] % architecture["heads"]:
        raise StudyError(
            "qa.base.embedded.architecture: "
            f"width {architecture['width']} must be a multiple of heads {architecture['heads']}"
        )
    torch.manual_seed(seed)
    config = BloomConfig(
        vocab_size=vocab_size,
        hidden_size=architecture["width"],
        n_layer=architecture["layers"],
        n_head=architecture["heads"],
        bos_token_id=1,
        eos_token_id=2,
        pad_token_id=3,
    )
    return BloomForCausalLM(config)


def train_model(model, data, training):
    """Train a language model in place.

    Args:
        model: transformers.BloomForCausalLM; it ends in evaluation mode.
        data: (n, tokens_per_sample) int64 array.
        training: dict: updates, batch_size (blocks), lr (peak), warmup_updates, label_smoothing, seed.

    Returns:
        list[dict]: update, loss (smoothed nats per token of the batch).
    """
    import numpy as np
    import torch

    from training.process import flush_denormals

    flush_denormals()
    model.train()
    updates, warmup = training["updates"], training["warmup_updates"]
    optimizer = torch.optim.AdamW(
        model.parameters(), lr=training["lr"], betas=(0.9, 0.98), weight_decay=0.01, fused=True
    )
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda k: min((k + 1) / max(1, warmup), 1 - max(0, k - warmup) / max(1, updates - warmup))
    )
    draw = np.random.default_rng(training["seed"])
    rows, order = [], []
    for update in range(1, updates + 1):
        while len(order) < training["batch_size"]:
            order += draw.permutation(len(data)).tolist()
        taken, order = order[: training["batch_size"]], order[training["batch_size"] :]
        ids = torch.from_numpy(data[taken])  # (B, T)
        logits = model(input_ids=ids, use_cache=False).logits  # (B, T, V)
        loss = torch.nn.functional.cross_entropy(
            logits[:, :-1].flatten(0, 1), ids[:, 1:].flatten(), label_smoothing=training["label_smoothing"]
        )
        rate = optimizer.param_groups[0]["lr"]
        refuse_divergence("the training loss", loss.item(), update, rate, "qa.base.embedded.training")
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        rows.append({"update": update, "loss": loss.item()})
        if update % 50 == 0 or update == updates:
            print(f"update {update}: {loss.item():.3f} nats a token")
    model.eval()
    return rows


def save(folder, model, tokenizer):
    """Write the model (safetensors) and its tokenizer as a Hugging Face folder."""
    os.makedirs(folder, exist_ok=True)
    model.save_pretrained(folder)
    grant(os.path.join(folder, "model.safetensors"))
    tokenizer.save(os.path.join(folder, "tokenizer.json"))
    settings = {
        "tokenizer_class": "BloomTokenizerFast",
        "unk_token": "<unk>",
        "bos_token": "<s>",
        "eos_token": "</s>",
        "pad_token": "<pad>",
        "add_prefix_space": False,
        "clean_up_tokenization_spaces": False,
    }
    with open(os.path.join(folder, "tokenizer_config.json"), "w", encoding="utf-8") as handle:
        json.dump(settings, handle, indent=1, sort_keys=True)


def embedded_texts(n_texts, seed, files, tables=None):
    """Return the text to train on: the project's own shop text, the lines of `files`, the texts of `tables`.

    Args:
        n_texts: texts of the project's generator.
        seed: seed of that generator.
        files: plain UTF-8 text files; blank lines are dropped.
        tables: folder of the texts of public tables (`checkpoint.filter_corpus_tables`), or None.

    Returns:
        list[str]

    Raises:
        StudyError: no text at all.
    """
    texts = []
    if n_texts:
        from qa.embedded_faq import corpus

        texts += corpus(seed, n_texts)
    for path in [*files, *(numbered(tables) if tables else [])]:
        texts += [line.strip() for line in read_lines(path) if line.strip()]
    if not texts:
        raise StudyError("qa.base.embedded: n_texts, `files` and tables give no text, so there is nothing to train on")
    return texts


def gather(files, folder):
    """Put a model's files into `folder`: hard links where the file system has them, else copies.

    Args:
        files: paths; the last part of each becomes its name.
        folder: folder to make.
    """
    os.makedirs(folder, exist_ok=True)
    for path in files:
        destination = os.path.join(folder, os.path.basename(path))
        try:
            os.link(os.path.realpath(path), destination)
        except OSError:
            shutil.copyfile(path, destination)


def main(source, files, base, pretraining, embedded, template, tables=None):
    """Make the base model's folder.

    Args:
        source: "embedded" (trained here), "hub" or "folder".
        files: embedded: text files to train on beside the generator's; hub: the model's files, as retrieved;
            folder: one folder.
        base: Hugging Face folder to write: config.json, model.safetensors, tokenizer.json, ...
        pretraining: TSV to write: update, loss (no rows unless trained here).
        embedded: settings of the training, `qa.base.embedded` of the config.
        template: `qa.prompt` of the config.
        tables: embedded: see `embedded_texts`.

    Raises:
        StudyError: a base without weights, tokenizer or configuration; a bad setting.
    """
    rows = []
    with atomic_path(base) as temporary:
        if source == "embedded":
            seed = embedded["training"]["seed"]
            texts = embedded_texts(embedded["n_texts"], seed, files, tables)
            texts = in_dialogue(texts, embedded["dialogue_share"], seed, template)
            tokenizer = train_tokenizer(texts, embedded["vocab_size"])
            data = blocks(tokenizer, texts, embedded["training"]["tokens_per_sample"])
            print(f"{len(texts)} texts, {data.size} tokens, {tokenizer.get_vocab_size()} pieces")
            model = new_model(embedded["vocab_size"], embedded["architecture"], seed)
            rows = train_model(model, data, embedded["training"])
            save(temporary, model, tokenizer)
        elif source == "hub":
            gather(files, temporary)
        elif source == "folder":
            if not files or not os.path.isdir(files[0]):
                raise StudyError(f"qa.base.folder: {files[0] if files else None} is no folder")
            check_pointers(files[0], f"qa.base.folder: {files[0]}")
            check_base(files[0])
            kept = [name for name in visible(files[0]) if name.endswith(BASE_FILES)]
            gather([os.path.join(files[0], name) for name in kept], temporary)
        else:
            raise StudyError(f"qa.base.source: {source!r} is not one of embedded, hub, folder")
        try:
            check_base(temporary)
            if source != "embedded":
                # A base of another kind, or without a tokenizer, is reported before any run waits for a machine.
                refuse_other_kinds(read_json(os.path.join(temporary, "config.json")))
                check_ids(load_tokenizer(temporary)[0], temporary)
        except StudyError as error:
            raise StudyError(str(error).replace(temporary, base)) from error
    write_tsv(pretraining, rows, ["update", "loss"])
    print(f"base model: {read_json(os.path.join(base, 'config.json'))['model_type']}, from {source}")


if __name__ == "__main__":
    run(main, snakemake)
