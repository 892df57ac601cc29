"""Conversion between fairseq and Hugging Face: same numbers both ways, and faults that name the tensor."""

import argparse
import os

import pytest
import sentencepiece
import torch
from safetensors.torch import load_file, save_file

import compare_huggingface_weights
import convert_tokenizer
from common.checkpoints import load_fairseq_checkpoint
from common.dictionary import read_dictionary
from common.errors import StudyError
from common.files import read_json, write_lines
from common.roberta import count_layers, sizes, to_fairseq, to_huggingface, upgrade_names
from convert_checkpoint import check_settings, main

ROWS = 32  # 4 special symbols, 27 pieces (30 less <unk>, <s>, </s>), <mask>
ARCHITECTURE = {"layers": 2, "width": 16, "ffn_width": 24, "heads": 4, "max_positions": 12}
CORPUS = [
    "un livre superbe et touchant",
    "un roman ennuyeux et plat",
    "le style est vraiment superbe",
    "une lecture plate",
]


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


def weights():
    """Its tensors, without the counter that fairseq keeps among them."""
    return upgrade_names(fairseq_model(ROWS).state_dict())


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


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A tiny checkpoint."""
    torch.set_num_threads(1)
    return write_checkpoint(tmp_path_factory.mktemp("checkpoint"))


def convert(folder, out, checkpoint="model.pt", architecture=ARCHITECTURE):
    tokenizer = f"{out}-tokenizer"
    if not os.path.exists(tokenizer):
        files = (str(folder / name) for name in ("dict.txt", "sentencepiece.bpe.model"))
        convert_tokenizer.main(*files, tokenizer, architecture["max_positions"])
    main(str(folder / checkpoint), tokenizer, str(out), architecture)
    return str(out)


@pytest.fixture(scope="module")
def converted(folder, tmp_path_factory):
    return convert(folder, tmp_path_factory.mktemp("hf") / "huggingface")


def batch():
    # Two sequences of 12 and 7 tokens; the second is padded with 1. 12 is the longest that 12 positions allow.
    generator = torch.Generator().manual_seed(5)
    tokens = torch.randint(4, ROWS - 1, (2, 12), generator=generator)
    tokens[:, 0] = 0
    tokens[0, 11] = tokens[1, 6] = 2
    tokens[1, 7:] = 1
    return tokens


def test_logits_and_features_equal_fairseq(folder, converted):
    from transformers import RobertaForMaskedLM

    theirs = fairseq_model(ROWS)
    ours = RobertaForMaskedLM.from_pretrained(converted).eval()
    tokens = batch()
    mask = tokens.ne(1)
    with torch.no_grad():
        logits, _ = theirs(tokens)
        features, _ = theirs(tokens, features_only=True)
        output = ours(tokens, attention_mask=mask.long(), output_hidden_states=True)
    assert (logits - output.logits)[mask].abs().max() < 1e-4
    assert (features - output.hidden_states[-1])[mask].abs().max() < 1e-4
    # The comparison means something: the logits are far from constant.
    assert logits.std() > 0.1


def test_classifier_logits_equal_fairseq_both_ways():
    from transformers import RobertaConfig, RobertaForSequenceClassification

    theirs = fairseq_model(ROWS, classification=True)
    config = RobertaConfig(
        vocab_size=ROWS,
        hidden_size=16,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=24,
        max_position_embeddings=14,
        type_vocab_size=1,
        layer_norm_eps=1e-5,
        pad_token_id=1,
        num_labels=2,
    )
    ours = RobertaForSequenceClassification(config).eval()
    ours.load_state_dict(to_huggingface(theirs.state_dict(), "sentence_classification_head"), strict=True)
    tokens = batch()
    with torch.no_grad():
        expected, _ = theirs(tokens, classification_head_name="sentence_classification_head")
        assert (ours(tokens, attention_mask=tokens.ne(1).long()).logits - expected).abs().max() < 1e-4
        # Fine-tuning moves the token-type row: back in fairseq it is part of the positions.
        ours.roberta.embeddings.token_type_embeddings.weight += 0.25
        expected = ours(tokens, attention_mask=tokens.ne(1).long()).logits
        state = theirs.state_dict() | to_fairseq(ours.state_dict())
        theirs.load_state_dict(state)
        logits, _ = theirs(tokens, classification_head_name="sentence_classification_head")
        assert (logits - expected).abs().max() < 1e-4


def test_back_conversion_is_identical(folder, converted):
    state = load_fairseq_checkpoint(str(folder / "model.pt"))["model"]
    back = to_fairseq(load_file(os.path.join(converted, "model.safetensors")))
    assert back.keys() == state.keys()
    assert all(torch.equal(back[name], state[name]) for name in state)


def test_converted_config(converted):
    config = read_json(os.path.join(converted, "config.json"))
    assert config["vocab_size"] == ROWS  # 4 symbols + 27 pieces + <mask>
    assert config["max_position_embeddings"] == 14  # 12 positions behind the padding index 1
    assert config["type_vocab_size"] == 1
    assert config["layer_norm_eps"] == 1e-5
    assert (config["bos_token_id"], config["pad_token_id"], config["eos_token_id"]) == (0, 1, 2)


def test_untied_head_survives(folder, tmp_path):
    state = torch.load(folder / "model.pt", weights_only=False)
    state["model"]["encoder.lm_head.weight"] = state["model"]["encoder.lm_head.weight"] + 1
    for file in ("dict.txt", "sentencepiece.bpe.model"):
        os.link(folder / file, tmp_path / file)
    torch.save(state, tmp_path / "model.pt")
    out = convert(tmp_path, tmp_path / "hf")  # main itself compares every tensor after the way back
    assert read_json(os.path.join(out, "config.json"))["tie_word_embeddings"] is False


def test_tokenizer_gives_fairseq_ids(folder, converted):
    from fairseq.data import Dictionary
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(converted, local_files_only=True)
    dictionary = Dictionary.load(str(folder / "dict.txt"))
    dictionary.add_symbol("<mask>")
    processor = sentencepiece.SentencePieceProcessor(model_file=str(folder / "sentencepiece.bpe.model"))
    assert [tokenizer.convert_tokens_to_ids(symbol) for symbol in dictionary.symbols] == list(range(len(dictionary)))
    for text in ["un livre <s> superbe", "<mask>", "le </s> style", "<pad> <unk> plat", "zzz 漢字 livre", "un  roman"]:
        line = " ".join(processor.encode(text, out_type=str))
        expected = [0, *dictionary.encode_line(line, add_if_not_exist=False).tolist()]
        assert tokenizer(text)["input_ids"] == expected, text
    assert tokenizer.model_max_length == 12


def test_read_dictionary_like_fairseq(tmp_path):
    from fairseq.data import Dictionary

    write_lines(tmp_path / "dict.txt", ["▁un 5", "▁ 3", "madeupword0000 0", "a b 1", "<mask> 2"])
    dictionary = Dictionary.load(str(tmp_path / "dict.txt"))
    assert read_dictionary(str(tmp_path / "dict.txt")) == dictionary.indices
    write_lines(tmp_path / "dict.txt", ["▁un 5", "▁un 3"])
    with pytest.raises(StudyError, match="line 2.*twice"):
        read_dictionary(str(tmp_path / "dict.txt"))
    write_lines(tmp_path / "dict.txt", ["▁un"])
    with pytest.raises(StudyError, match="line 1"):
        read_dictionary(str(tmp_path / "dict.txt"))


def test_dictionary_that_the_tokenizer_cannot_follow(folder, tmp_path):
    for file in ("model.pt", "sentencepiece.bpe.model"):
        os.link(folder / file, tmp_path / file)
    lines = (folder / "dict.txt").read_text(encoding="utf-8").splitlines()
    # A symbol with a no-break space: fairseq keeps it whole, BartphoTokenizer reads its first half.
    sound, lines[10] = lines[10], "a\u00a0b 1"
    write_lines(tmp_path / "dict.txt", lines)
    with pytest.raises(StudyError, match="dict.txt: symbol 'a\\\\xa0b'"):
        convert(tmp_path, tmp_path / "hf")
    assert not (tmp_path / "hf").exists()
    lines[10] = sound
    write_lines(tmp_path / "dict.txt", lines[:-1])
    with pytest.raises(StudyError, match="31 ids .* 32 embeddings"):
        convert(tmp_path, tmp_path / "hf")


def old_name(name):
    return name.replace("encoder.", "decoder.", 1).replace("layernorm_embedding", "emb_layer_norm")


def test_old_names():
    state = weights()
    old = {}
    for name, tensor in state.items():
        name = old_name(name)
        if "q_proj" in name:
            parts = [state[n] for n in (_renamed(name, p) for p in ("q_proj", "k_proj", "v_proj"))]
            kind = name.rsplit(".", 1)[1]
            old[name.split("q_proj")[0] + f"in_proj_{kind}"] = torch.cat(parts)
        elif "k_proj" not in name and "v_proj" not in name:
            old[name] = tensor
    old["decoder.version"] = torch.ones(1)
    upgraded = upgrade_names(old)
    assert upgraded.keys() == state.keys()
    assert all(torch.equal(upgraded[name], state[name]) for name in state)


def _renamed(name, projection):
    name = name.replace("decoder.", "encoder.").replace("emb_layer_norm", "layernorm_embedding")
    return name.replace("q_proj", projection)


def test_old_names_load_into_fairseq_too():
    """Our renaming is fairseq's: a state under old names gives the same model in both."""
    model = fairseq_model(ROWS)
    old = {old_name(name): tensor.clone() for name, tensor in model.state_dict().items()}
    theirs = dict(old)
    model.upgrade_state_dict_named(theirs, "")
    ours = upgrade_names(old)
    assert theirs.keys() - ours.keys() <= {"encoder.sentence_encoder.version"}
    assert all(torch.equal(theirs[name], ours[name]) for name in ours)


def test_sizes_name_the_tensor():
    state = weights()
    assert sizes(state) == {"layers": 2, "width": 16, "ffn_width": 24, "max_positions": 12, "rows": ROWS}
    assert count_layers({}) == 0
    name = "encoder.sentence_encoder.layers.1.fc1.weight"
    removed = {n: t for n, t in state.items() if n != name}
    with pytest.raises(StudyError, match=name):
        sizes(removed)
    renamed = removed | {"encoder.sentence_encoder.layers.1.fc9.weight": state[name]}
    with pytest.raises(StudyError, match="layers.1.fc1.weight"):
        sizes(renamed)
    with pytest.raises(StudyError, match="fc9.weight"):
        sizes(state | {"encoder.sentence_encoder.layers.1.fc9.weight": state[name]})
    with pytest.raises(StudyError, match=r"fc1.weight has shape \(24, 15\), expected \(24, 16\)"):
        sizes(state | {name: state[name][:, :15]})


def test_settings_against_the_study():
    found = {"layers": 2, "width": 16, "ffn_width": 24, "max_positions": 12, "rows": ROWS}
    settings = check_settings({"encoder_attention_heads": 4, "dropout": 0.0}, found, ARCHITECTURE, "model.pt")
    assert settings == {"heads": 4, "dropout": 0.0, "attention_dropout": 0.1}
    with pytest.raises(StudyError, match="checkpoint.architecture.layers is 3 but model.pt has 2"):
        check_settings({}, found, ARCHITECTURE | {"layers": 3}, "model.pt")
    with pytest.raises(StudyError, match="checkpoint.architecture.heads"):
        check_settings({"encoder_attention_heads": 8}, found, ARCHITECTURE, "model.pt")
    with pytest.raises(StudyError, match="activation_fn"):
        check_settings({"activation_fn": "relu"}, found, ARCHITECTURE, "model.pt")


class Evil:
    def __reduce__(self):
        return (os.mkdir, ("pwned",))


@pytest.mark.parametrize("kind", ["missing", "truncated", "text", "no model", "not tensors", "code", "empty"])
def test_broken_checkpoints(folder, tmp_path, monkeypatch, kind):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "model.pt"
    if kind == "truncated":
        path.write_bytes((folder / "model.pt").read_bytes()[:5000])
    elif kind == "text":
        path.write_text("<html>404</html>")
    elif kind == "no model":
        torch.save({"weights": {}}, path)
    elif kind == "not tensors":
        torch.save({"model": {"a": 3}}, path)
    elif kind == "code":
        torch.save({"model": {"a": torch.ones(1)}, "args": Evil()}, path)
    elif kind == "empty":
        path.write_bytes(b"")
    with pytest.raises(StudyError, match="model.pt.*holds a posix.mkdir" if kind == "code" else "model.pt"):
        load_fairseq_checkpoint(str(path))
    assert not (tmp_path / "pwned").exists()


def test_half_precision_and_new_style_settings(tmp_path):
    import numpy

    model = fairseq_model(ROWS)
    torch.save(
        {
            "cfg": {"model": argparse.Namespace(encoder_attention_heads=4)},
            "model": {name: tensor.half() for name, tensor in model.state_dict().items()},
            "extra_state": {"best": numpy.float64(0.5), "val_loss": numpy.float32(1.5)},
        },
        tmp_path / "model.pt",
    )
    loaded = load_fairseq_checkpoint(str(tmp_path / "model.pt"))
    assert loaded["settings"] == {"encoder_attention_heads": 4}
    assert all(tensor.dtype == torch.float32 for tensor in loaded["model"].values())


def test_compare_with_a_fetched_folder(converted, tmp_path):
    for name in ("same", "other", "old", "empty"):
        os.makedirs(tmp_path / name)
    state = load_file(os.path.join(converted, "model.safetensors"))
    n = len(state)

    def compared(folder):
        compare_huggingface_weights.main(converted, str(tmp_path / folder), str(tmp_path / "comparison.json"))
        return read_json(tmp_path / "comparison.json")

    torch.save(state, tmp_path / "old" / "pytorch_model.bin")
    assert compared("old") == {"n_equal": n, "different": [], "only_ours": [], "only_theirs": []}
    changed = "roberta.encoder.layer.0.output.dense.weight"
    state[changed] = state[changed] + 1
    state["extra"] = state.pop("lm_head.bias")
    save_file(state, tmp_path / "other" / "model.safetensors")
    assert compared("other") == {
        "n_equal": n - 2,
        "different": [changed],
        "only_ours": ["lm_head.bias"],
        "only_theirs": ["extra"],
    }
    with pytest.raises(StudyError, match="neither model.safetensors"):
        compared("empty")
    (tmp_path / "empty" / "model.safetensors").write_bytes(b"<html>")
    with pytest.raises(StudyError, match="damaged"):
        compared("empty")
