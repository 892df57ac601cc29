"""A tiny RoBERTa as fairseq saves it, with its dictionary and pieces, and converted as the workflow does."""

import argparse
import os

import sentencepiece
import torch

from checkpoint import convert_checkpoint, convert_tokenizer
from common.files import write_lines

ROWS = 32  # 4 special symbols, 27 pieces (30 less <unk>, <s>, </s>), <mask>
ARCHITECTURE = {"layers": 2, "width": 16, "ffn_width": 24, "heads": 4, "max_positions": 12}
CORPUS = [
    "un livre superbe et touchant",
    "un roman ennuyeux et plat",
    "le style est vraiment superbe",
    "une lecture plate",
]


def huggingface_config(rows, architecture=ARCHITECTURE, **more):
    """Return the RobertaConfig of a model with so many rows of pieces and these sizes, as the workflow converts it."""
    from transformers import RobertaConfig

    return RobertaConfig(
        vocab_size=rows,
        hidden_size=architecture["width"],
        num_hidden_layers=architecture["layers"],
        num_attention_heads=architecture["heads"],
        intermediate_size=architecture["ffn_width"],
        max_position_embeddings=architecture["max_positions"] + 2,
        type_vocab_size=1,
        layer_norm_eps=1e-5,
        pad_token_id=1,
        **more,
    )


def fairseq_model(n_symbols, classification=False, seed=3):
    """A tiny fairseq RobertaModel with random values in every tensor (biases and LayerNorms too)."""
    from fairseq.data import Dictionary
    from fairseq.models.roberta.model import RobertaEncoder, RobertaModel, base_architecture

    args = argparse.Namespace(
        encoder_layers=2,
        encoder_embed_dim=16,
        encoder_ffn_embed_dim=24,
        encoder_attention_heads=4,
        max_positions=12,
        encoder_layerdrop=0.0,
        encoder_layers_to_keep=None,
    )
    base_architecture(args)
    dictionary = Dictionary()
    for i in range(n_symbols - len(dictionary)):
        dictionary.add_symbol(f"piece{i}")
    model = RobertaModel(args, RobertaEncoder(args, dictionary))
    if classification:
        model.register_classification_head("sentence_classification_head", num_classes=2)
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            parameter.copy_(torch.randn(parameter.shape, generator=generator) * 0.3)
            if name.endswith(("embed_tokens.weight", "embed_positions.weight")):
                parameter[1] = 0  # padding rows stay zero in both frameworks
    return model.eval()


def write_checkpoint(path):
    """Write a checkpoint of three files to a folder, as the workflow and the course have it; return the folder."""
    write_lines(path / "corpus.txt", CORPUS * 20)
    sentencepiece.SentencePieceTrainer.train(
        input=str(path / "corpus.txt"), model_prefix=str(path / "sp"), vocab_size=30, minloglevel=2
    )
    os.rename(path / "sp.model", path / "sentencepiece.bpe.model")
    processor = sentencepiece.SentencePieceProcessor(model_file=str(path / "sentencepiece.bpe.model"))
    write_lines(path / "dict.txt", [f"{processor.id_to_piece(i)} 1" for i in range(3, processor.get_piece_size())])
    model = fairseq_model(ROWS)
    torch.save({"args": model.args, "cfg": None, "model": model.state_dict()}, path / "model.pt")
    return path


def convert(folder, out, checkpoint="model.pt", architecture=ARCHITECTURE):
    """Run the two rules that convert a checkpoint; return the Hugging Face folder, beside its tokenizer's."""
    tokenizer = f"{out}-tokenizer"
    if not os.path.exists(tokenizer):
        files = (str(folder / name) for name in ("dict.txt", "sentencepiece.bpe.model"))
        convert_tokenizer.main(*files, tokenizer, architecture["max_positions"])
    convert_checkpoint.main(str(folder / checkpoint), tokenizer, str(out), architecture)
    return str(out)


def batch():
    # Two sequences of 12 and 7 tokens; the second is padded with 1. 12 is the longest that 12 positions allow.
    generator = torch.Generator().manual_seed(5)
    tokens = torch.randint(4, ROWS - 1, (2, 12), generator=generator)
    tokens[:, 0] = 0
    tokens[0, 11] = tokens[1, 6] = 2
    tokens[1, 7:] = 1
    return tokens
