"""Token ids: Hugging Face's are fairseq's, and any difference is an error that shows it."""

import os

import pytest
import sentencepiece

from common.errors import StudyError
from common.files import read_json, write_lines
from finetuning import tokenize_texts
from finetuning.token_ids import read_token_ids, write_token_ids
from frameworks.fairseq import compare_token_ids
from training.fairseq_commands import binarize

REVIEWS = [
    "un livre superbe et touchant",
    "un roman <s> ennuyeux </s> et <mask> plat",  # special symbols as text
    "漢字 zzz 🙂 le style",  # unknown pieces
    "le style est vraiment superbe et le roman est vraiment ennuyeux",  # truncated
    "plat",
]
LABELS = ["1", "0", "1", "1", "0"]
MAX_POSITIONS = 12


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    """Reviews, fairseq's binarized folder and a tokenizer folder."""
    from transformers import BartphoTokenizer

    folder = tmp_path_factory.mktemp("tokens")
    write_lines(folder / "corpus.txt", [text for text in REVIEWS if "<" not in text and "漢" not in text] * 20)
    sentencepiece.SentencePieceTrainer.train(
        input=str(folder / "corpus.txt"), model_prefix=str(folder / "sp"), vocab_size=30, minloglevel=2
    )
    os.rename(folder / "sp.model", folder / "sentencepiece.bpe.model")
    processor = sentencepiece.SentencePieceProcessor(model_file=str(folder / "sentencepiece.bpe.model"))
    write_lines(folder / "dict.txt", [f"{processor.id_to_piece(i)} 1" for i in range(3, processor.get_piece_size())])
    write_lines(folder / "test.review", REVIEWS)
    write_lines(folder / "test.label", LABELS)
    pieces = [" ".join(processor.encode(text, out_type=str)[: MAX_POSITIONS - 2]) for text in REVIEWS]
    write_lines(folder / "test.pieces", pieces)
    write_lines(folder / "labels-dict.txt", ["0 1", "1 1"])
    bin_folder = folder / "data-bin"
    binarize({"test": str(folder / "test.pieces")}, str(folder / "dict.txt"), str(bin_folder / "input0"))
    binarize({"test": str(folder / "test.label")}, str(folder / "labels-dict.txt"), str(bin_folder / "label"))
    tokenizer = BartphoTokenizer(
        vocab_file=str(folder / "sentencepiece.bpe.model"),
        monolingual_vocab_file=str(folder / "dict.txt"),
        model_max_length=MAX_POSITIONS,
        split_special_tokens=True,
    )
    tokenizer.save_pretrained(str(folder / "huggingface"))
    return folder


def tokenize(study, out, **changes):
    arguments = {"reviews": study / "test.review", "labels": study / "test.label"} | changes
    tokenize_texts.main(
        str(arguments["reviews"]), str(arguments["labels"]), str(study / "huggingface"), str(out), MAX_POSITIONS
    )
    return str(out)


def test_ids_and_labels_equal_fairseq(study, tmp_path):
    token_ids = tokenize(study, tmp_path / "test.npz")
    compare_token_ids.main(token_ids, str(study / "data-bin"), "test", str(tmp_path / "parity.json"))
    sequences, labels = read_token_ids(token_ids)
    parity = read_json(tmp_path / "parity.json")
    assert (parity["n"], parity["n_identical"], parity["n_labels_equal"]) == (5, 5, 5)
    assert parity["n_tokens"] == sum(len(sequence) for sequence in sequences)
    assert labels.tolist() == [1, 0, 1, 1, 0]
    assert all(sequence[0] == 0 and sequence[-1] == 2 for sequence in sequences)
    assert max(len(sequence) for sequence in sequences) == MAX_POSITIONS
    assert 3 in sequences[2]  # <unk>


def test_one_different_piece_is_shown(study, tmp_path):
    token_ids = tokenize(study, tmp_path / "test.npz")
    sequences, labels = read_token_ids(token_ids)
    changed = [sequence.tolist() for sequence in sequences]
    changed[3][4] += 1
    write_token_ids(token_ids, changed, labels)
    with pytest.raises(StudyError, match=r"test line 4: token ids differ from position 4.*1 of 5 reviews differ"):
        compare_token_ids.main(token_ids, str(study / "data-bin"), "test", str(tmp_path / "parity.json"))
    assert not (tmp_path / "parity.json").exists()
    write_token_ids(token_ids, changed[:3], labels[:3])
    with pytest.raises(StudyError, match="test line 4"):
        compare_token_ids.main(token_ids, str(study / "data-bin"), "test", str(tmp_path / "parity.json"))


def test_swapped_label_dictionary_is_shown(study, tmp_path):
    token_ids = tokenize(study, tmp_path / "test.npz")
    write_lines(tmp_path / "labels-dict.txt", ["1 1", "0 1"])
    os.makedirs(tmp_path / "data-bin")
    os.symlink(study / "data-bin" / "input0", tmp_path / "data-bin" / "input0")
    binarize(
        {"test": str(study / "test.label")}, str(tmp_path / "labels-dict.txt"), str(tmp_path / "data-bin" / "label")
    )
    with pytest.raises(StudyError, match=r"test line 1: label 1 is class 0 .*5 of 5 differ"):
        compare_token_ids.main(token_ids, str(tmp_path / "data-bin"), "test", str(tmp_path / "parity.json"))


def test_missing_split(study, tmp_path):
    token_ids = tokenize(study, tmp_path / "test.npz")
    with pytest.raises(StudyError, match="valid.bin is missing"):
        compare_token_ids.main(token_ids, str(study / "data-bin"), "valid", str(tmp_path / "parity.json"))


def test_compare_by_hand():
    result = compare_token_ids.compare([[0, 4, 2], [0, 5, 2]], [[0, 4, 2], [0, 6, 2]], [0, 1], [0, 1])
    assert (result["n"], result["n_identical"], result["n_labels_equal"], result["n_tokens"]) == (2, 1, 2, 6)
    assert result["differing"] == [
        {"line": 2, "at": 1, "huggingface": [0, 5, 2], "fairseq": [0, 6, 2], "label": 1, "class": 1}
    ]


@pytest.mark.parametrize(
    ("reviews", "labels", "message"),
    [
        ([], [], "is empty"),
        (["a", "b"], ["1"], "2 reviews.*1 labels"),
        (["a"], ["2"], "x.label, line 1: label '2'"),
        (["a", "b"], ["1", ""], "x.label has 1 labels|line 2: label ''"),
        (["a", "b"], ["1", "1"], "no review of class 0"),
    ],
)
def test_bad_input(study, tmp_path, reviews, labels, message):
    write_lines(tmp_path / "x.review", reviews)
    write_lines(tmp_path / "x.label", labels)
    with pytest.raises(StudyError, match=message):
        tokenize(study, tmp_path / "x.npz", reviews=tmp_path / "x.review", labels=tmp_path / "x.label")
    assert not (tmp_path / "x.npz").exists()


def test_token_ids_round_trip(tmp_path):
    write_token_ids(str(tmp_path / "a.npz"), [[0, 2], [0, 70000, 2]], [1, 0])
    sequences, labels = read_token_ids(str(tmp_path / "a.npz"))
    assert [sequence.tolist() for sequence in sequences] == [[0, 2], [0, 70000, 2]]
    assert labels.tolist() == [1, 0]
    (tmp_path / "a.npz").write_bytes((tmp_path / "a.npz").read_bytes()[:100])
    with pytest.raises(StudyError, match="damaged"):
        read_token_ids(str(tmp_path / "a.npz"))
