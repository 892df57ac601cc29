"""Tiny random encoders of several families with tokenizers of their own, as `save_pretrained` leaves them."""

import json
import os

import sentencepiece
import torch
from tokenizers import Tokenizer, models, pre_tokenizers, processors, trainers
from transformers import AutoConfig, AutoModelForMaskedLM, PreTrainedTokenizerFast

MOODS = (("bon", "facile"), ("mauvais", "pénible"))
TEXTS = [f"{mood} livre numéro {n} , {verb} à lire ." for n in range(40) for mood, verb in MOODS]
SIZES = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 16}
# model_type: (kind of tokenizer, fields of its own)
FAMILIES = {
    "bert": ("wordpiece", {"max_position_embeddings": 24}),
    "roberta": ("bytes", {"max_position_embeddings": 26, "pad_token_id": 1, "bos_token_id": 0, "eos_token_id": 2}),
    "camembert": ("pieces", {"max_position_embeddings": 26, "pad_token_id": 1}),
    "xlm-roberta": ("pieces", {"max_position_embeddings": 26, "pad_token_id": 1}),
    "distilbert": (
        "wordpiece",
        {"dim": 16, "hidden_dim": 16, "n_layers": 2, "n_heads": 2, "max_position_embeddings": 24},
    ),
    "electra": ("wordpiece", {"embedding_size": 8, "max_position_embeddings": 24}),
    "deberta-v2": (
        "pieces",
        {"max_position_embeddings": 24, "relative_attention": True, "pos_att_type": ["p2c", "c2p"], "pad_token_id": 0},
    ),
    "modernbert": (
        "bytes",
        {"max_position_embeddings": 24, "pad_token_id": 1, "cls_token_id": 0, "sep_token_id": 2, "bos_token_id": 0,
         "eos_token_id": 2, "global_attn_every_n_layers": 1, "local_attention": 8},
    ),
}  # fmt: skip


def write_tokenizer(folder, kind):
    """Write a tokenizer of its kind, learnt on `TEXTS`; return the size of its vocabulary."""
    folder = str(folder)
    if kind == "pieces":
        place = os.path.join(folder, "sentencepiece.bpe.model")
        with open(place, "wb") as handle:
            sentencepiece.SentencePieceTrainer.train(
                sentence_iterator=iter(TEXTS), model_writer=handle, vocab_size=60, hard_vocab_limit=False,
                minloglevel=2,
            )  # fmt: skip
        return None
    if kind == "wordpiece":
        specials = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
        tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
        tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
        trainer = trainers.WordPieceTrainer(vocab_size=80, special_tokens=specials)
        names = {"pad": 0, "unk": 1, "cls": 2, "sep": 3, "mask": 4}
    else:
        specials = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
        tokenizer = Tokenizer(models.BPE(unk_token="<unk>"))
        tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        alphabet = pre_tokenizers.ByteLevel.alphabet()
        trainer = trainers.BpeTrainer(vocab_size=320, special_tokens=specials, initial_alphabet=alphabet)
        names = {"cls": 0, "pad": 1, "sep": 2, "unk": 3, "mask": 4}
    tokenizer.train_from_iterator(TEXTS, trainer)
    first, last = specials[names["cls"]], specials[names["sep"]]
    tokenizer.post_processor = processors.TemplateProcessing(
        single=f"{first} $A {last}", pair=f"{first} $A {last} $B:1 {last}:1",
        special_tokens=[(first, names["cls"]), (last, names["sep"])],
    )  # fmt: skip
    named = {f"{name}_token": specials[number] for name, number in names.items()}
    if kind == "wordpiece":
        # As BERT's own class has it.
        named["model_input_names"] = ["input_ids", "token_type_ids", "attention_mask"]
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, model_max_length=24, **named).save_pretrained(folder)
    return tokenizer.get_vocab_size()


def write_encoder(folder, family, spread=0.02):
    """Write a tiny model of a family, with a language-model head as on the hub, and its tokenizer.

    Args:
        folder: pathlib.Path to make.
        family: key of `FAMILIES`.
        spread: standard deviation of the random weights; with little of it all texts look alike.
    """
    kind, own = FAMILIES[family]
    folder.mkdir(parents=True)
    size = write_tokenizer(folder, kind)
    if size is None:
        size = save_pieces_tokenizer(folder, family)
    sizes = {} if "dim" in own else SIZES
    torch.manual_seed(5)
    config = AutoConfig.for_model(family, vocab_size=size, initializer_range=spread, **sizes, **own)
    AutoModelForMaskedLM.from_config(config).save_pretrained(folder)


def save_pieces_tokenizer(folder, family):
    """Write the family's own SentencePiece tokenizer; return the number of its ids."""
    import transformers

    name = {"camembert": "CamembertTokenizer", "xlm-roberta": "XLMRobertaTokenizer", "deberta-v2": "DebertaV2Tokenizer"}
    source = folder / "sentencepiece.bpe.model"
    if family == "deberta-v2":
        source = source.rename(folder / "spm.model")
    (folder / "config.json").write_text(json.dumps({"model_type": family}), encoding="utf-8")
    (folder / "tokenizer_config.json").write_text(
        json.dumps({"tokenizer_class": name[family], "model_max_length": 24}), encoding="utf-8"
    )
    tokenizer = getattr(transformers, name[family]).from_pretrained(str(folder))
    tokenizer.save_pretrained(str(folder))
    return len(tokenizer)
