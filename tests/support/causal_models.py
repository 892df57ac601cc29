"""Tiny causal language models of four families, each with random weights and a tokenizer of its family's kind."""

import json
import os

from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

from support.qa_support import make_base, texts

# Qwen2's split into words.
QWEN2_WORDS = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
FAMILIES = ("gpt2", "llama", "qwen2", "bloom")
# peft's target modules of each, and their trained parameters at rank 4: matrices × 4 · (in + out).
TARGETS = {
    "gpt2": (["c_attn"], 2 * 4 * (32 + 96)),
    "llama": (["q_proj", "v_proj"], 2 * (4 * (32 + 32) + 4 * (32 + 16))),
    "qwen2": (["q_proj", "v_proj"], 2 * (4 * (32 + 32) + 4 * (32 + 16))),
    "bloom": (["query_key_value"], 2 * 4 * (32 + 96)),
}


def byte_level(special, words=None):
    """Return a byte-level BPE tokenizer, trained on `texts`; `special` has the first ids."""
    tokenizer = Tokenizer(models.BPE())
    steps = [pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=words is None)]
    if words:
        steps.insert(0, pre_tokenizers.Split(Regex(words), behavior="isolated"))
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(steps)
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    tokenizer.train_from_iterator(
        texts(),
        trainers.BpeTrainer(vocab_size=320, special_tokens=special, initial_alphabet=alphabet, show_progress=False),
    )
    return tokenizer


def llama_like():
    """Return a BPE tokenizer as Llama's was made from SentencePiece: blanks are ▁, bytes stand in, <s> comes first."""
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>", byte_fallback=True, fuse_unk=True))
    tokenizer.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    tokenizer.decoder = decoders.Sequence(
        [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
    )
    special = ["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256))]
    trainer = trainers.BpeTrainer(vocab_size=460, special_tokens=special, max_token_length=8, show_progress=False)
    tokenizer.train_from_iterator(texts(), trainer)
    tokenizer.post_processor = processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 1)])
    return tokenizer


def make_model(family, folder):
    """Write a tiny model with its tokenizer as a Hugging Face folder."""
    if family == "bloom":
        make_base(folder, updates=2)
        return
    import torch
    from transformers import AutoModelForCausalLM, GPT2Config, LlamaConfig, Qwen2Config

    torch.manual_seed(1)
    wide = {"hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2, "max_position_embeddings": 128}
    wide |= {"num_attention_heads": 4, "num_key_value_heads": 2}
    if family == "gpt2":
        tokenizer = byte_level(["<|endoftext|>"])
        ends = {"bos_token_id": 0, "eos_token_id": 0}
        config = GPT2Config(vocab_size=320, n_embd=32, n_layer=2, n_head=4, n_positions=128, **ends)
        named = {"tokenizer_class": "GPT2Tokenizer", "bos_token": "<|endoftext|>", "eos_token": "<|endoftext|>"}
        named["unk_token"] = "<|endoftext|>"
    elif family == "llama":
        tokenizer = llama_like()
        config = LlamaConfig(vocab_size=tokenizer.get_vocab_size(), bos_token_id=1, eos_token_id=2, **wide)
        named = {"tokenizer_class": "LlamaTokenizer", "bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>"}
        named |= {"add_bos_token": True, "add_eos_token": False, "legacy": True}
    else:
        tokenizer = byte_level(["<|endoftext|>", "<|im_start|>", "<|im_end|>"], QWEN2_WORDS)
        # As in the files of its publisher, and as its class has it.
        tokenizer.normalizer = normalizers.NFC()
        config = Qwen2Config(vocab_size=320, eos_token_id=0, tie_word_embeddings=True, **wide)
        named = {"tokenizer_class": "Qwen2Tokenizer", "eos_token": "<|endoftext|>", "unk_token": None}
        named |= {"bos_token": None, "add_prefix_space": False}
    os.makedirs(folder, exist_ok=True)
    AutoModelForCausalLM.from_config(config).save_pretrained(folder)
    tokenizer.save(os.path.join(folder, "tokenizer.json"))
    with open(os.path.join(folder, "tokenizer_config.json"), "w", encoding="utf-8") as handle:
        json.dump(named, handle)
