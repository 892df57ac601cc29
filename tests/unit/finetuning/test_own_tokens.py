"""Tokenizers of a contradicting class: the ids are those of the model's own file, or the model is refused."""

import itertools
import json
import os
import shutil

import pytest
import sentencepiece
import torch
from tokenizers import Tokenizer, normalizers
from transformers import AutoConfig, AutoModel, AutoTokenizer

from common.errors import StudyError
from common.files import read_json, write_json, write_lines
from finetuning import take_model, tokenize_texts
from finetuning.own_tokens import SAMPLE
from finetuning.token_ids import read_token_ids
from support.encoders import FAMILIES, TEXTS, write_encoder

# Classes as tokenizer_config.json names them, each for another kind of vocabulary.
CLASSES = ("BertTokenizer", "RobertaTokenizerFast", "XLMRobertaTokenizer", "DebertaV2Tokenizer", "AlbertTokenizerFast")
CLASSES += ("CamembertTokenizer", "BigBirdTokenizer", "NoSuchTokenizer", None)
ODD = ["ﬁn ＡＢ é", "e\u0301te\u0301", "漢字 🙂", "ÉCOLE", "un livre <s> [SEP] <mask> x"]


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("made")
    for family in FAMILIES:
        write_encoder(folder / family, family)
    return folder


@pytest.fixture(scope="module")
def texts(tmp_path_factory):
    folder = tmp_path_factory.mktemp("texts")
    write_lines(folder / "review", [*TEXTS[:20], *ODD])
    write_lines(folder / "label", [str(k % 2) for k in range(20 + len(ODD))])
    return folder


def change(path, **fields):
    content = (read_json(path) if path.exists() else {}) | fields
    write_json(path, {key: value for key, value in content.items() if value is not None})


def take(folder):
    take_model.main([str(folder)], "mine", str(folder.parent / "out"))
    return folder.parent / "out"


def ids(taken, texts):
    out = taken.parent / "ids.npz"
    tokenize_texts.main(str(texts / "review"), str(texts / "label"), str(taken), str(out), None)
    return [list(sequence) for sequence in read_token_ids(str(out))[0]]


def own_ids(folder, lines, longest=24):
    """The ids of a tokenizer.json, by the library alone."""
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.enable_truncation(longest)
    return [encoding.ids for encoding in tokenizer.encode_batch(lines)]


@pytest.mark.parametrize(("family", "kind"), itertools.product(("bert", "roberta", "camembert", "deberta-v2"), CLASSES))
def test_a_contradicting_class_gives_the_files_ids_or_none(made, texts, tmp_path, family, kind):
    folder = shutil.copytree(made / family, tmp_path / "theirs")
    for path in folder.glob("*.model"):
        path.unlink()
    change(folder / "tokenizer_config.json", tokenizer_class=kind)
    try:
        taken = take(folder)
    except StudyError as error:
        assert "tokenizer" in str(error) and str(error).startswith("finetuning.models.mine: ")
        pytest.fail(f"could be had by the file alone: {error}")
    lines = (texts / "review").read_text(encoding="utf-8").splitlines()
    found, wanted = ids(taken, texts), own_ids(folder, lines)
    plain = [k for k, line in enumerate(lines) if "<" not in line]
    assert [found[k] for k in plain] == [wanted[k] for k in plain]
    # Whoever loads the folder afterwards, as an export does, gets these ids, too.
    again = AutoTokenizer.from_pretrained(str(taken))(lines, truncation=True)["input_ids"]
    assert [again[k] for k in plain] == [wanted[k] for k in plain]


def test_what_was_changed_is_recorded(made, tmp_path):
    folder = shutil.copytree(made / "bert", tmp_path / "theirs")
    # As its class has it: lower case, no accents, marks apart.
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.save(str(folder / "tokenizer.json"))
    change(folder / "tokenizer_config.json", tokenizer_class="BertTokenizer", do_lower_case=True)
    assert read_json(take(folder) / "conversion.json")["tokenizer_changed"] is None
    change(folder / "tokenizer_config.json", tokenizer_class="RobertaTokenizerFast")
    shutil.rmtree(tmp_path / "out")
    changed = read_json(take(folder) / "conversion.json")["tokenizer_changed"]
    assert changed == "tokenizer_class is PreTrainedTokenizerFast, since RobertaTokenizer changes ids of tokenizer.json"


@pytest.mark.parametrize("lower", [True, False])
def test_a_setting_that_contradicts_the_file_is_named(made, tmp_path, lower):
    folder = shutil.copytree(made / "bert", tmp_path / "theirs")
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=lower, strip_accents=False)
    tokenizer.save(str(folder / "tokenizer.json"))
    settings = {"tokenizer_class": "BertTokenizer", "strip_accents": False}
    change(folder / "tokenizer_config.json", **settings, do_lower_case=not lower)
    with pytest.raises(StudyError, match=r"do_lower_case of tokenizer_config\.json contradicts tokenizer\.json"):
        take(folder)
    assert not (tmp_path / "out").exists()
    change(folder / "tokenizer_config.json", do_lower_case=lower)
    take(folder)


@pytest.mark.parametrize("family", ["camembert", "xlm-roberta", "deberta-v2"])
@pytest.mark.parametrize("rule", ["nmt_nfkc", "nmt_nfkc_cf", "identity"])
def test_a_sentencepiece_model_alone_is_read_in_its_own_normal_form(tmp_path, family, rule):
    """DeBERTa-v3 as its publisher has it: Transformers 5 gives it another normal form than the model's."""
    folder = tmp_path / "theirs"
    write_encoder(folder, family)
    name = next(folder.glob("*.model")).name
    special = {"unk_piece": "[UNK]", "pad_piece": "[PAD]", "bos_piece": "[CLS]", "eos_piece": "[SEP]"}
    special |= {"unk_id": 3, "pad_id": 0, "bos_id": 1, "eos_id": 2}
    with open(folder / name, "wb") as handle:
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter([*TEXTS, "FIN fin AB ab É é"] * 3), model_writer=handle, vocab_size=60,
            hard_vocab_limit=False, minloglevel=2, normalization_rule_name=rule,
            **(special if family == "deberta-v2" else {}),
        )  # fmt: skip
    os.remove(folder / "tokenizer.json")
    pieces = sentencepiece.SentencePieceProcessor(model_file=str(folder / name))
    shift = {"camembert": 4, "xlm-roberta": 1, "deberta-v2": 0}[family]
    torch.manual_seed(5)
    config = AutoConfig.from_pretrained(str(folder))
    config.vocab_size = pieces.get_piece_size() + 10
    AutoModel.from_config(config).save_pretrained(folder)
    tokenizer = AutoTokenizer.from_pretrained(str(take(folder)))
    for text in [*SAMPLE, *TEXTS[:10], *ODD[:4]]:
        wanted = [k + shift if k != pieces.unk_id() else tokenizer.unk_token_id for k in pieces.encode(text)]
        found = tokenizer(text, add_special_tokens=False)["input_ids"]
        assert [k for k, _ in itertools.groupby(found)] == [k for k, _ in itertools.groupby(wanted)], text
    framed = tokenizer("bon livre")["input_ids"]
    assert framed[0] == tokenizer.cls_token_id and framed[-1] == tokenizer.sep_token_id


@pytest.mark.parametrize(
    ("family", "kind"),
    [
        ("camembert", "XLMRobertaTokenizer"),
        ("xlm-roberta", "CamembertTokenizer"),
        ("deberta-v2", "XLMRobertaTokenizer"),
        ("bert", None),
    ],
)
def test_a_sentencepiece_model_by_another_familys_class_is_refused(made, tmp_path, family, kind):
    """The pieces are the same; their ids are shifted by another family's special tokens."""
    folder = shutil.copytree(made / family, tmp_path / "theirs")
    os.remove(folder / "tokenizer.json")
    if family == "bert":
        source = next((made / "xlm-roberta").glob("*.model"))
        shutil.copyfile(source, folder / source.name)
    change(folder / "tokenizer_config.json", tokenizer_class=kind)
    with pytest.raises(StudyError, match=r"^finetuning\.models\.mine: .*tokenizer"):
        take(folder)


# A family whose SentencePiece model comes alone: its file, its special pieces, its sizes.
TINY = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16}
TINY |= {"max_position_embeddings": 24}
BRACKETS = {"pad_piece": "[PAD]", "bos_piece": "[CLS]", "eos_piece": "[SEP]", "unk_piece": "[UNK]"}
ALONE = {
    "albert": (
        "spiece.model",
        {"pad_id": 0, "unk_id": 1, "bos_id": -1, "eos_id": -1, "control_symbols": ["[CLS]", "[SEP]"]},
        TINY | {"embedding_size": 8},
    ),
    "big_bird": (
        "spiece.model",
        {"pad_id": 0, "eos_id": 1, "bos_id": 2, "unk_id": 3},
        TINY | {"attention_type": "original_full"},
    ),
    "deberta-v2": ("spm.model", BRACKETS | {"pad_id": 0, "bos_id": 1, "eos_id": 2, "unk_id": 3}, TINY),
    # As the older multilingual MiniLM: BERT's model, XLM-RoBERTa's pieces.
    "bert": ("sentencepiece.bpe.model", {}, TINY),
}


def write_alone(folder, family, **settings):
    """Write a tiny encoder whose tokenizer is a SentencePiece model and tokenizer_config.json; return the model."""
    name, special, sizes = ALONE[family]
    folder.mkdir()
    with open(folder / name, "wb") as handle:
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter([*TEXTS, "Bon FIN fin ab é É", "e E n N 1 2"] * 3), model_writer=handle,
            vocab_size=70, hard_vocab_limit=False, minloglevel=2, **special,
        )  # fmt: skip
    pieces = sentencepiece.SentencePieceProcessor(model_file=str(folder / name))
    config = AutoConfig.for_model(family, vocab_size=pieces.get_piece_size() + 12, **sizes)
    AutoModel.from_config(config).save_pretrained(folder)
    write_json(folder / "tokenizer_config.json", settings)
    return pieces


@pytest.mark.parametrize(
    ("family", "settings", "prepared"),
    [
        ("albert", {}, "bon livre e 2"),
        ("albert", {"do_lower_case": False, "keep_accents": True}, "Bon livre É 2"),
        ("albert", {"do_lower_case": True, "keep_accents": True}, "bon livre é 2"),
        ("big_bird", {}, "Bon livre É 2"),
        ("deberta-v2", {"do_lower_case": True}, "bon livre é 2"),
        ("deberta-v2", {"do_lower_case": False}, "Bon livre É 2"),
        ("bert", {"tokenizer_class": "XLMRobertaTokenizer"}, "Bon livre É 2"),
    ],
)
def test_what_a_class_does_before_the_pieces_stays(tmp_path, family, settings, prepared):
    pieces = write_alone(tmp_path / "theirs", family, **settings)
    tokenizer = AutoTokenizer.from_pretrained(str(take(tmp_path / "theirs")))
    found = tokenizer("Bon livre É ②", add_special_tokens=False)["input_ids"]
    unknown = pieces.unk_id()
    wanted = [tokenizer.unk_token if k == unknown else pieces.id_to_piece(k) for k in pieces.encode(prepared)]
    assert tokenizer.convert_ids_to_tokens(found) == wanted


def test_a_cut_at_punctuation_before_the_pieces_is_refused(tmp_path):
    write_alone(tmp_path / "theirs", "deberta-v2", split_by_punct=True)
    with pytest.raises(StudyError, match=r"split_by_punct of tokenizer_config\.json .*add that file"):
        take(tmp_path / "theirs")


def test_texts_are_compared_before_any_training(made, texts, tmp_path):
    """A folder that was changed after it was taken: every text of a split is asked."""
    folder = shutil.copytree(made / "bert", tmp_path / "theirs")
    taken = take(folder)
    ids(taken, texts)
    content = json.loads((taken / "tokenizer.json").read_text())
    content["normalizer"] = {"type": "Replace", "pattern": {"String": "pénible"}, "content": "bon"}
    (taken / "tokenizer.json").write_text(json.dumps(content))
    ids(taken, texts)
    change(taken / "tokenizer_config.json", tokenizer_class="RobertaTokenizer")
    with pytest.raises(StudyError, match=r"loads its tokenizer as RobertaTokenizer, .*tokenizer_class"):
        ids(taken, texts)


def test_a_tokenizer_that_cuts_at_the_left_is_told_as_such(made, texts, tmp_path):
    from finetuning import measure_tokens
    from finetuning.encoders import part_read

    folder = shutil.copytree(made / "bert", tmp_path / "theirs")
    change(folder / "tokenizer_config.json", truncation_side="left")
    taken = take(folder)
    record = read_json(taken / "conversion.json")
    assert record["truncation_side"] == "left" and part_read(record) == "last"
    write_lines(tmp_path / "test.review", [" ".join(TEXTS), "bon"])
    (tmp_path / "unlabelled.review").write_text("")
    files = [str(tmp_path / "test.review")], str(tmp_path / "unlabelled.review")
    measure_tokens.main(*files, str(taken), str(tmp_path / "lengths.json"))
    assert read_json(tmp_path / "lengths.json")["reads"] == "last"
    write_lines(tmp_path / "label", ["0", "1"])
    out = str(tmp_path / "ids.npz")
    tokenize_texts.main(files[0][0], str(tmp_path / "label"), str(taken), out, None, ["one", "two"])
    whole = Tokenizer.from_file(str(taken / "tokenizer.json")).encode(" ".join(TEXTS)).ids
    assert list(read_token_ids(out)[0][0]) == [whole[0], *whole[-23:]]
