"""Bytes that are no UTF-8: where they are, and advice that does not spoil the rest of the file."""

import subprocess

import pytest

from common.errors import StudyError
from data.reviews import decode


def fault(content):
    with pytest.raises(StudyError) as caught:
        decode(content, "a.csv")
    return str(caught.value)


def test_a_cut_character_in_a_utf_8_file_is_to_be_corrected_and_the_file_not_converted():
    content = "text,label\nit’s café 😀,x\n".encode() + b"cut he\xe2\x80,y\n" + "déjà,x\n".encode() + b"so \xf0\x9f,y\n"
    message = fault(content)
    assert message.startswith("a.csv, line 3: character 7 (byte 0xe2, after 'cut he') is cut or damaged, like ")
    assert "correct these lines" in message and "iconv" not in message


@pytest.mark.parametrize(
    ("text", "encoding"),
    [("don’t pay 5 € – it’s “bad”", "WINDOWS-1252"), ("déjà vu à l'été", "LATIN1"), ("naïve", "LATIN1")],
)
def test_the_encoding_that_is_named_gives_the_text_back(tmp_path, text, encoding):
    content = f"text,label\n{text},x\n".encode("cp1252" if encoding == "WINDOWS-1252" else "latin-1")
    message = fault(content)
    assert f"iconv -f {encoding} -t UTF-8" in message and "line 2: character" in message
    (tmp_path / "a.csv").write_bytes(content)
    done = subprocess.run(["iconv", "-f", encoding, "-t", "UTF-8", tmp_path / "a.csv"], capture_output=True, check=True)
    assert text in decode(done.stdout, "a.csv")


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        ("Привет, как дела?", "cp1251"),
        ("你好，今天天气很好", "gb18030"),
        ("こんにちは世界", "shift_jis"),
        ("Καλημέρα", "iso8859-7"),
    ],
)
def test_of_another_alphabet_no_encoding_is_guessed(text, encoding):
    message = fault(f"text,label\n{text},good\n".encode(encoding))
    assert "no Latin alphabet" in message and "LATIN1" not in message and "WINDOWS-1252" not in message
    assert message.startswith("a.csv, line 2: character 1 (byte 0x")
