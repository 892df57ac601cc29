"""Pairs, prompt, mask and split; no model."""

import csv
import io
import itertools
import json
import random
import sys
import time
from pathlib import Path
from types import ModuleType

import pytest

from common.errors import StudyError
from common.files import read_json, read_lines
from qa import build_qa_pairs
from qa.build_qa_pairs import read_pairs
from qa.question_pairs import IGNORED, check_base, clean_pairs, encode_pair, pad_batch, prompt, split_pairs
from support.qa_support import PAIRS, PROMPT, status_of


def encode(text, first=True):
    """One token a character: easy to count by hand."""
    return [ord(character) for character in text]


def write(path, content):
    path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return str(path)


def test_prompt_is_the_protocols():
    assert prompt(PROMPT, "Où ?", "Ici.") == "<human>: Où ?  \n <assistant>: Ici."
    assert prompt(PROMPT, "Où ?", "Ici.").startswith(prompt(PROMPT, "Où ?"))
    assert prompt(PROMPT, "Où ?").endswith("<assistant>:")


def test_a_prompt_of_ones_own_ends_in_the_answer():
    form = "Frage {x}: {question}\n\nAntwort:  {answer}"
    assert prompt(form, "Wo? {answer}", "Hier {question}.") == "Frage {x}: Wo? {answer}\n\nAntwort:  Hier {question}."
    # The blanks belong to the answer's first token.
    assert prompt(form, "Wo?") == "Frage {x}: Wo?\n\nAntwort:"
    assert prompt("{question}\n{answer}", "Wo?") == "Wo?\n"


def test_both_layouts_give_the_same_pairs(tmp_path):
    pairs = [{"question": "a\n b ", "answer": " c"}, {"question": "d", "answer": "e", "topic": "f"}]
    expected = [{"question": "a b", "answer": "c"}, {"question": "d", "answer": "e"}]
    assert read_pairs(write(tmp_path / "list.json", pairs)) == expected
    assert read_pairs(write(tmp_path / "object.json", {"questions": pairs})) == expected


@pytest.mark.parametrize(
    "content, message",
    [
        ('[{"question": "a",\n "answer": }]', "is not valid JSON.*line 2"),
        ([{"question": "a", "answer": "b"}, {"question": "Et après ?"}], r"pair 2 \('Et après \?'\) has no answer"),
        ([{"question": "a", "answer": "  "}], "pair 1 .* has no answer"),
        ([{"answer": "b"}], "pair 1 .* has no question"),
        (["a"], "pair 1 is 'a', not an object"),
        ([], "holds no question/answer pair"),
        ({"pairs": []}, "expected a list of objects"),
        ("3", "expected a list of objects"),
    ],
)
def test_bad_pairs_are_told_and_stop_the_rule(tmp_path, monkeypatch, content, message):
    for variable in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        monkeypatch.setenv(variable, "1")
    path = write(tmp_path / "pairs.json", content)
    with pytest.raises(StudyError, match=message):
        read_pairs(path)
    outputs = [str(tmp_path / name) for name in ("a", "b", "c")]
    status, shown = status_of(build_qa_pairs.main, "file", [path], None, *outputs, 1, 1, folder=str(tmp_path))
    assert status == 1
    assert shown.startswith("error in rule a_rule: ") and shown.count("\n") == 1


TABLE = [{"Frage": "Où, quand ?", "n": "1", "Antwort": 'Dit "ici",\nici.'}, {"Frage": "b", "n": "2", "Antwort": "c;d"}]
READ = [{"question": "Où, quand ?", "answer": 'Dit "ici", ici.'}, {"question": "b", "answer": "c;d"}]


def as_table(rows, delimiter):
    text = io.StringIO()
    writer = csv.DictWriter(text, rows[0], delimiter=delimiter)
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


@pytest.mark.parametrize("bom", ["", "\ufeff"])
@pytest.mark.parametrize(
    "name, content",
    [
        ("pairs.csv", as_table(TABLE, ",")),
        ("Pairs.CSV", as_table(TABLE, ";")),
        ("pairs.tsv", as_table(TABLE, "\t")),
        ("pairs.csv", as_table(TABLE, ",").replace("\r\n", "\n") + "\n\n"),
        ("pairs.jsonl", "\n".join(json.dumps(row) for row in TABLE) + "\n\n"),
        ("pairs.json", json.dumps(TABLE)),
    ],
)
def test_tables_with_named_columns_give_the_same_pairs(tmp_path, name, content, bom):
    assert read_pairs(write(tmp_path / name, bom + content), "Frage", "Antwort") == READ
    paths = [str(tmp_path / side) for side in ("train.jsonl", "heldout.jsonl", "manifest.json")]
    build_qa_pairs.main("file", [str(tmp_path / name)], None, *paths, 1, 1, ("Frage", "Antwort"))
    kept = [json.loads(line) for path in paths[:2] for line in read_lines(path)]
    assert sorted(pair["answer"] for pair in kept) == ['Dit "ici", ici.', "c;d"]


@pytest.mark.parametrize(
    "name, content, message",
    [
        ("a.csv", "question,reply\na,b\n", "a.csv has no column 'answer'; its columns are 'question', 'reply'"),
        ("a.csv", "question,answer,answer\na,b,c\n", "a.csv has the column 'answer' twice"),
        ("a.csv", "question,answer\na,b\nc,d, e\n", r"a.csv: row 2 \(line 3\) has 3 cells and the header 2; put quot"),
        ("a.tsv", "question\tanswer\na\n", r"row 1 \(line 2\) has 1 cells .* a text that holds a line end, or fill in"),
        ("a.csv", 'question,answer\n"a\nb",c\n"d,e\n', "a.csv, line 4: .*; is a quotation mark left open"),
        ("a.csv", 'question,answer\n"a\nb",c\nd, \n', r"a.csv: row 2 \(line 4\) \('d'\) has no answer: fill it in"),
        ("a.csv", "", "a.csv holds no question/answer pair"),
        ("a.csv", "question,answer\n", "a.csv holds no question/answer pair"),
        ("a.jsonl", '{"question": "a", "answer": "b"}\n\n{"question": "c"}\n', r"row 2 \(line 3\) has no 'answer'; it"),
        ("a.jsonl", '{"question": "a", "answer": 3}\n', r"row 1 \(line 1\): its answer is 3; write it as text"),
        ("a.jsonl", '{"question": \n', r"row 1 \(line 1\) is not valid JSON"),
        ("a.ndjson", "[1]\n", r"row 1 \(line 1\) is '\[1\]', not an object"),
        ("a.txt", "a\tb\n", "a.txt has no column 'question'"),
        ("a.dat", "a\tb\n", "a.dat is not valid JSON"),
    ],
)
def test_a_bad_table_is_told_with_file_and_row(tmp_path, name, content, message):
    with pytest.raises(StudyError, match=message):
        read_pairs(write(tmp_path / name, content))


def test_a_table_in_another_encoding_is_told(tmp_path):
    (tmp_path / "a.csv").write_bytes("question,answer\nOù,là\n".encode("cp1252"))
    with pytest.raises(StudyError, match="a.csv, line 2: .*not UTF-8.*iconv"):
        read_pairs(str(tmp_path / "a.csv"))


def test_split_is_seeded_whole_and_disjoint():
    train, heldout = split_pairs(PAIRS, 5, seed=3)
    assert (len(train), len(heldout)) == (len(PAIRS) - 5, 5)
    assert sorted(pair["id"] for pair in train + heldout) == list(range(len(PAIRS)))
    assert (train, heldout) == split_pairs(PAIRS, 5, seed=3)
    assert heldout != split_pairs(PAIRS, 5, seed=4)[1]
    assert all(PAIRS[pair["id"]]["answer"] == pair["answer"] for pair in train + heldout)


def test_a_question_asked_twice_stays_on_one_side_and_a_duplicate_goes():
    pairs = [{"question": "Q", "answer": str(i)} for i in (1, 2, 3)] + PAIRS[:6] + PAIRS[:2]
    for seed in range(20):
        train, heldout = split_pairs(pairs, 3, seed)
        assert len(train) + len(heldout) == 9
        assert not {pair["question"] for pair in train} & {pair["question"] for pair in heldout}


def asked(*sizes):
    """Pairs whose questions are asked so often each."""
    return [{"question": f"Q{k}", "answer": str(i)} for k, size in enumerate(sizes) for i in range(size)]


@pytest.mark.parametrize("seed", range(10))
def test_groups_of_one_question_are_chosen_so_that_they_fill_the_held_out_side(seed):
    """Only both twos of 3, 2 and 2 make 4, whichever comes first."""
    train, heldout = split_pairs(asked(3, 2, 2), 4, seed)
    assert {pair["question"] for pair in train} == {"Q0"} and len(heldout) == 4


def greedy(pairs, n, seed):
    """Which are kept out where each group that fits is, in the draw's order; None: too few."""
    groups = {}
    for pair in pairs:
        groups.setdefault(pair["question"], []).append(pair["answer"])
    drawn, kept = list(groups.items()), []
    random.Random(seed).shuffle(drawn)
    for question, answers in drawn:
        kept += [(question, answer) for answer in answers] if len(kept) + len(answers) <= n else []
    return sorted(kept) if len(kept) == n else None


def test_where_each_group_that_fits_fills_it_the_choice_is_that_one():
    pairs, found = asked(1, 4, 2, 3, 1, 5, 2), 0
    for n, seed in itertools.product(range(1, 18), range(10)):
        if wanted := greedy(pairs, n, seed):
            _, heldout = split_pairs(pairs, n, seed)
            assert sorted((pair["question"], pair["answer"]) for pair in heldout) == wanted
            found += 1
    assert 100 < found < 170


def test_a_number_that_no_groups_make_is_told():
    with pytest.raises(StudyError, match="4 cannot be kept out of 9 different pairs, and pairs that share a question"):
        split_pairs(asked(3, 3, 3), 4, 1)


@pytest.mark.parametrize("n", [24, 25, 100])
def test_too_many_held_out(n):
    with pytest.raises(StudyError, match=f"qa.data.n_heldout: {n} cannot be kept out of 24 different pairs"):
        split_pairs(PAIRS, n, 1)


def test_embedded_pairs_and_manifest(tmp_path, monkeypatch):
    stand_in = ModuleType("qa.embedded_faq")
    stand_in.pairs = lambda: PAIRS
    monkeypatch.setitem(sys.modules, "qa.embedded_faq", stand_in)
    paths = [str(tmp_path / name) for name in ("train.jsonl", "heldout.jsonl", "manifest.json")]
    build_qa_pairs.main("embedded", [], None, *paths, 4, 1)
    manifest = read_json(paths[2])
    assert manifest["synthetic"] is True and manifest["n_duplicates"] == 0
    assert {split: facts["n"] for split, facts in manifest["splits"].items()} == {"train": 20, "heldout": 4}
    assert [set(json.loads(line)) for line in read_lines(paths[1])] == [{"id", "question", "answer"}] * 4


def test_a_source_without_its_file_is_told():
    with pytest.raises(StudyError, match="qa.data.url: it must name the file"):
        build_qa_pairs.load("url", [], None, ("question", "answer"))


def test_mask_covers_the_prompt_and_learns_the_end():
    # "<human>: a  \n <assistant>:" has 9 + 1 + 3 + 1 + 12 = 26 characters; " bc" adds 3, the end of text 1.
    pair = encode_pair(encode, PROMPT, "a", "bc", 7, "answer", True, 100)
    assert len(pair["input_ids"]) == 26 + 3 + 1
    assert pair["labels"] == [IGNORED] * 26 + [ord(" "), ord("b"), ord("c"), 7]
    assert pair["is_answer"] == [0] * 26 + [1, 1, 1, 0]


def test_the_courses_behaviour_learns_all_and_no_end():
    pair = encode_pair(encode, PROMPT, "a", "bc", 7, "all", False, 100)
    assert pair["input_ids"] == encode(prompt(PROMPT, "a", "bc"))
    assert pair["labels"] == pair["input_ids"]
    assert sum(pair["is_answer"]) == 3


def test_a_long_answer_is_cut_and_a_long_prompt_told():
    pair = encode_pair(encode, PROMPT, "a", "bcdef", 7, "answer", True, 28)
    assert pair["input_ids"] == encode(prompt(PROMPT, "a", "b"))
    with pytest.raises(StudyError, match="qa.training.max_tokens: 26 leaves no room"):
        encode_pair(encode, PROMPT, "a", "b", 7, "answer", True, 26)
    with pytest.raises(StudyError, match="qa.training.loss_on: 'prompt' is not one of answer, all"):
        encode_pair(encode, PROMPT, "a", "b", 7, "prompt", True, 100)


def test_padding_is_masked_by_place_and_not_by_id():
    pairs = [encode_pair(encode, PROMPT, "a", answer, 7, "all", True, 100) for answer in ("b", "bcd")]
    batch = pad_batch(pairs, pad=7)
    assert batch["input_ids"][0][-3:] == [7, 7, 7]
    # The pair's own end of text is learnt although it has the padding's id.
    assert batch["labels"][0][-3:] == [7, IGNORED, IGNORED]
    assert batch["attention_mask"][0][-3:] == [1, 0, 0]
    assert batch["is_answer"][0][-3:] == [0, 0, 0]
    assert len({len(row) for rows in batch.values() for row in rows}) == 1


def test_a_base_folder_without_weights_is_told(tmp_path):
    with pytest.raises(StudyError, match="config.json is missing"):
        check_base(str(tmp_path))
    write(tmp_path / "config.json", {"model_type": "bloom"})
    with pytest.raises(StudyError, match="has no weights: model.safetensors is missing$"):
        check_base(str(tmp_path))
    write(tmp_path / "pytorch_model.bin", "")
    with pytest.raises(StudyError, match="pytorch_model.bin is pickled: convert it to safetensors"):
        check_base(str(tmp_path))
    write(tmp_path / "model.safetensors.index.json", {"weight_map": {"a": "model-1.safetensors"}})
    with pytest.raises(StudyError, match="model-1.safetensors is missing"):
        check_base(str(tmp_path))
    write(tmp_path / "model-1.safetensors", "")
    with pytest.raises(StudyError, match="has no tokenizer.json, nor another of tokenizer.model, vocab.json"):
        check_base(str(tmp_path))
    write(tmp_path / "tokenizer.json", {})
    check_base(str(tmp_path))


def test_public_english_pairs():
    mirror = Path(__file__).parents[4] / "shared" / "mirror"
    found = list(mirror.glob("raw.githubusercontent.com/feven-t/semantic_Search/*/Ecommerce_FAQ_Chatbot_dataset.json"))
    if not found:
        pytest.skip("the public English pairs are not here: ../shared/mirror")
    pairs = read_pairs(str(found[0]))
    assert len(pairs) == 79
    train, heldout = split_pairs(pairs, 16, 1)
    assert len(heldout) == 16 and not {p["question"] for p in train} & {p["question"] for p in heldout}


def test_ten_thousand_pairs_take_seconds():
    """Time grows in proportion to the pairs; comparing all with all would take far longer than this allows."""
    pairs = [{"question": f"Question {i} ?", "answer": f"Réponse {i}, de {i % 7} mots."} for i in range(10_000)]
    started = time.process_time()
    train, heldout = split_pairs(clean_pairs(pairs, "many"), 2000, 1)
    encoded = [encode_pair(encode, PROMPT, p["question"], p["answer"], 0, "answer", True, 200) for p in train + heldout]
    assert time.process_time() - started < 10
    assert (len(train), len(heldout), len(encoded)) == (8000, 2000, 10_000)
