"""The converted checkpoint: fairseq's numbers and token ids, back unchanged, and faults that name the file."""

import os

import pytest
import sentencepiece
import torch
from safetensors.torch import load_file, save_file

from checkpoint import compare_huggingface_weights
from checkpoint.convert_checkpoint import check_settings
from checkpoint.vocabulary import read_dictionary
from common.errors import StudyError
from common.files import read_json, write_lines
from support.roberta import ARCHITECTURE, ROWS, batch, convert, fairseq_model, write_checkpoint
from training.fairseq_checkpoint import load_fairseq_checkpoint
from training.roberta import to_fairseq


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A tiny checkpoint."""
    torch.set_num_threads(1)
    return write_checkpoint(tmp_path_factory.mktemp("checkpoint"))


@pytest.fixture(scope="module")
def converted(folder, tmp_path_factory):
    return convert(folder, tmp_path_factory.mktemp("hf") / "huggingface")


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


@pytest.mark.parametrize("settings", ["args", "cfg", None])
def test_heads_are_verified_by_the_checkpoints_own_settings_alone(folder, tmp_path, settings, capsys):
    state = torch.load(folder / "model.pt", weights_only=False)
    own = {"args": {"args": state["args"]}, "cfg": {"cfg": {"model": vars(state["args"])}}, None: {}}[settings]
    torch.save({"model": state["model"], **own}, tmp_path / "model.pt")
    for name in ("dict.txt", "sentencepiece.bpe.model"):
        os.link(folder / name, tmp_path / name)
    out = convert(tmp_path, tmp_path / "hf")
    assert read_json(os.path.join(out, "conversion.json"))["heads_verified"] is bool(settings)
    assert ("that it has 4 attention heads cannot be verified" in capsys.readouterr().out) is not bool(settings)


def test_settings_against_the_study():
    found = {"layers": 2, "width": 16, "ffn_width": 24, "max_positions": 12, "rows": ROWS}
    settings = check_settings({"encoder_attention_heads": 4, "dropout": 0.0}, found, ARCHITECTURE, "model.pt")
    assert settings == {"heads": 4, "dropout": 0.0, "attention_dropout": 0.1}
    with pytest.raises(StudyError, match="checkpoint.architecture.layers is 3 but model.pt has 2"):
        check_settings({}, found, ARCHITECTURE | {"layers": 3}, "model.pt")
    with pytest.raises(StudyError, match="checkpoint.architecture.heads"):
        check_settings({"encoder_attention_heads": 8}, found, ARCHITECTURE, "model.pt")
    for hostile in (torch.ones(3), [2] * 10**6, 4.0):
        with pytest.raises(
            StudyError, match=r"model.pt: its own settings give encoder_attention_heads = .{1,60}: fetch"
        ):
            check_settings({"encoder_attention_heads": hostile}, found, ARCHITECTURE, "model.pt")
    for hostile in (torch.ones(3), "x", 7.0, float("nan")):
        with pytest.raises(StudyError, match="model.pt: its own settings give dropout = "):
            check_settings({"dropout": hostile}, found, ARCHITECTURE, "model.pt")
    with pytest.raises(StudyError, match="activation_fn"):
        check_settings({"activation_fn": "relu"}, found, ARCHITECTURE, "model.pt")


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
