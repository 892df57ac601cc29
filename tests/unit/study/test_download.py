"""Downloads: whole and checked or one clear message and nothing left."""

import hashlib
import os

import pytest

from common.errors import StudyError
from common.files import read_json
from study.addresses import expand_addresses, pieces_addresses, record_path, retrievals, source_addresses, table_files
from study.download import retrieve
from study.pins import expected, mirror_path, read_checksums
from support import studies
from support.servers import serve, unused_address

CONTENT = b"Un beau livre.\n" * 50
DIGEST = hashlib.sha256(CONTENT).hexdigest()
FAST = {"wait": 0.01, "timeout": (2, 0.4), "stall": 0.3, "progress": False}


@pytest.fixture
def server(tmp_path):
    folder = tmp_path / "served"
    folder.mkdir()
    (folder / "file.txt").write_bytes(CONTENT)
    (folder / "empty.txt").write_bytes(b"")
    (folder / "page.html").write_bytes(b"<html></html>")
    with serve(folder) as running:
        yield running


def refused(url, tmp_path, **options):
    """The message of a failed download, which must name the address and leave nothing."""
    destination = tmp_path / "out" / "file.txt"
    with pytest.raises(StudyError) as caught:
        retrieve(url, destination, **{**FAST, **options})
    assert url in str(caught.value)
    assert "\n" not in str(caught.value)
    assert not destination.parent.exists() or list(destination.parent.iterdir()) == []
    return str(caught.value)


@pytest.mark.parametrize(
    ("url", "path"),
    [
        ("https://Host.org/a/b.txt", "host.org/a/b.txt"),
        ("http://127.0.0.1:8000/a.zip", "127.0.0.1:8000/a.zip"),
        ("https://host.org//a/%20b.zip", "host.org/a/%20b.zip"),
        ("https://host.org/a.zip?download=1&x=2", "host.org/a.zip%3Fdownload=1&x=2"),
        ("https://host.org/a{b}*.zip#part", "host.org/a%7Bb%7D%2A.zip"),
        ("https://host.org/a?p=../../x/y", "host.org/a%3Fp=..%2F..%2Fx%2Fy"),
    ],
)
def test_mirror_path(url, path):
    assert mirror_path(url) == path


@pytest.mark.parametrize(
    "url",
    [
        "ftp://host.org/a",
        "file:///etc/hosts",
        "host.org/a",
        "https:///a",
        "https://host.org/",
        "https://host.org/folder/",
        "https://host.org/../a",
        "https://host.org/a/../../b",
        "https://host.org:port/a",
        "https://host.org/" + "a" * 300,
        "https://ho{x}st/a",
        "https://../a",
        "https://host.org/é",
    ],
)
def test_mirror_path_refuses(url):
    with pytest.raises(StudyError) as caught:
        mirror_path(url)
    assert url in str(caught.value)


def test_mirror_path_hides_a_password_from_the_message():
    with pytest.raises(StudyError) as caught:
        mirror_path("https://me:secret@host.org/a")
    assert "secret" not in str(caught.value)


def test_mirror_path_shortens_long_queries_without_confusing_them():
    paths = {mirror_path("https://host.org/a?" + letter * 300) for letter in "xy"}
    assert len(paths) == 2
    assert max(len(path) for path in paths) < 60


def test_a_file_arrives_whole_and_its_hash_is_recorded(server, tmp_path):
    url = server.address + "/file.txt"
    record = retrieve(url, tmp_path / "new" / "file.txt", **FAST)
    assert (tmp_path / "new" / "file.txt").read_bytes() == CONTENT
    assert record == {"url": url, "sha256": DIGEST, "bytes": len(CONTENT), "pinned": False, "from": "network"}
    assert os.listdir(tmp_path / "new") == ["file.txt"]


def test_expected_hash_and_size_are_checked_in_any_case(server, tmp_path):
    record = retrieve(server.address + "/file.txt", tmp_path / "f", DIGEST.upper(), len(CONTENT), **FAST)
    assert record["pinned"] is True


def test_progress_bar_is_drawn(server, tmp_path, capfd):
    retrieve(server.address + "/file.txt", tmp_path / "f", **{**FAST, "progress": True})
    assert "file.txt: 100%" in capfd.readouterr().err


def test_an_existing_file_survives_a_failure(server, tmp_path):
    (tmp_path / "f").write_text("old")
    with pytest.raises(StudyError):
        retrieve(server.address + "/file.txt", tmp_path / "f", "0" * 64, **FAST)
    assert (tmp_path / "f").read_text() == "old"


def test_wrong_hash(server, tmp_path):
    message = refused(server.address + "/file.txt", tmp_path, sha256="0" * 64)
    assert DIGEST in message and "0" * 64 in message and "wrong hash" in message
    assert len(server.requests) == 1  # another try would bring the same file


def test_message_names_the_config_key(server, tmp_path):
    message = refused(server.address + "/file.txt", tmp_path, sha256="0" * 64, key="data.cls_books_zip.url")
    assert "data.cls_books_zip.url" in message


@pytest.mark.parametrize("wrong", [1, -1])
def test_wrong_size(server, tmp_path, wrong):
    assert f"{len(CONTENT) + wrong} were expected" in refused(
        server.address + "/file.txt", tmp_path, size=len(CONTENT) + wrong
    )


def test_missing_file_is_not_tried_again(server, tmp_path):
    message = refused(server.address + "/nothing.txt", tmp_path)
    assert "404" in message and "check the address" in message
    assert f"{server.host}/nothing.txt" in message  # where a mirror would hold it
    assert len(server.requests) == 1


@pytest.mark.parametrize("kind", ["page", "hidden-page"])
def test_web_page_in_place_of_a_file(server, tmp_path, kind):
    assert "web page" in refused(f"{server.address}/{kind}/file.zip", tmp_path)


def test_a_web_page_may_be_asked_for(server, tmp_path):
    assert retrieve(server.address + "/page.html", tmp_path / "page.html", **FAST)["bytes"] == 13


def test_a_pointer_of_git_lfs_in_place_of_a_file(server, tmp_path):
    pointer = f"version https://git-lfs.github.com/spec/v1\noid sha256:{DIGEST}\nsize {len(CONTENT)}\n"
    (tmp_path / "served" / "corpus.txt").write_text(pointer)
    message = refused(server.address + "/corpus.txt", tmp_path)
    assert "Git LFS" in message and "media.githubusercontent.com" in message


def test_truncated_body_is_tried_again_then_named(server, tmp_path):
    message = refused(server.address + "/truncated/file.txt", tmp_path, attempts=3)
    assert "3 attempts" in message
    assert len(server.requests) == 3


def test_passing_fault_is_overcome(server, tmp_path, capsys):
    record = retrieve(server.address + "/flaky/2/file.txt", tmp_path / "f", DIGEST, **FAST)
    assert record["sha256"] == DIGEST
    assert len(server.requests) == 3
    assert "attempt 2 of 4: the server answered 503" in capsys.readouterr().out


def test_lasting_server_fault(server, tmp_path):
    message = refused(server.address + "/status/500/file", tmp_path, attempts=2)
    assert "500" in message and "2 attempts" in message and "mirror" in message


def test_nobody_answers(tmp_path):
    message = refused(unused_address() + "/file.txt", tmp_path, attempts=2)
    assert "2 attempts" in message and "refused" in message


def test_silence(server, tmp_path):
    assert "too slow: 0 bytes of the file" in refused(server.address + "/silent/file", tmp_path, attempts=1)


def test_crawl(server, tmp_path):
    # 1 byte every 20 ms: 50 bytes/s, below the least rate; no single read waits long.
    assert "too slow" in refused(server.address + "/drip/file", tmp_path, attempts=1)


def test_endless_body_is_stopped(server, tmp_path):
    assert "more than 1000000 bytes" in refused(server.address + "/endless/file", tmp_path, limit=1_000_000)


def test_endless_body_is_stopped_at_the_expected_size(server, tmp_path):
    assert "more than 500 bytes" in refused(server.address + "/endless/file", tmp_path, size=500)


def test_too_large_file_is_refused_before_it_is_fetched(server, tmp_path):
    assert "1000000000000 bytes" in refused(server.address + "/huge/file", tmp_path)


def test_empty_file(server, tmp_path):
    assert "empty" in refused(server.address + "/empty.txt", tmp_path)


@pytest.mark.parametrize("kind", ["packed", "packed-on-its-way"])
def test_unrequested_compression(server, tmp_path, kind):
    assert "compressed" in refused(f"{server.address}/{kind}/file.txt", tmp_path)


def test_redirect_is_followed(server, tmp_path):
    assert retrieve(server.address + "/redirect/file.txt", tmp_path / "f", **FAST)["sha256"] == DIGEST


def test_endless_redirects(server, tmp_path):
    assert "redirects" in refused(server.address + "/loop/file", tmp_path)


def test_redirect_to_another_scheme(server, tmp_path):
    assert "not https" in refused(server.address + "/redirect-to/file:///etc/hosts", tmp_path)


def test_https_never_falls_back_to_http(tmp_path, monkeypatch):
    """The redirect rule by itself: a stand-in session answers for the https server."""
    import requests

    class Answer:
        is_redirect = True
        headers = {"location": "http://host.org/file"}

        def close(self):
            pass

    monkeypatch.setattr(requests.Session, "get", lambda *arguments, **options: Answer())
    assert "not https" in refused("https://host.org/file", tmp_path)


def test_untrusted_certificate_is_not_tried_again(tmp_path, monkeypatch):
    import requests

    tries = []

    def get(*arguments, **options):
        tries.append(options)
        raise requests.exceptions.SSLError(
            "HTTPSConnectionPool(host='host.org', port=443): Max retries (Caused by SSLError(SSLCertVerification"
            "Error(1, '[SSL: CERTIFICATE_VERIFY_FAILED] verify failed: self-signed certificate (_ssl.c:1006)')))"
        )

    monkeypatch.setattr(requests.Session, "get", get)
    assert "(self-signed certificate)" in refused("https://host.org/file", tmp_path)
    assert len(tries) == 1
    assert "verify" not in tries[0]  # nothing turns verification off


def test_mirror_replaces_the_network(tmp_path):
    place = tmp_path / "mirror" / "host.invalid" / "a" / "file.txt"
    place.parent.mkdir(parents=True)
    place.write_bytes(CONTENT)
    record = retrieve(
        "https://host.invalid/a/file.txt", tmp_path / "f", DIGEST, mirror=tmp_path / "mirror", progress=False
    )
    assert record["from"] == "mirror"
    assert (tmp_path / "f").read_bytes() == CONTENT
    assert place.exists()


def test_mirror_without_the_file(tmp_path, server):
    message = refused(server.address + "/file.txt", tmp_path, mirror=str(tmp_path / "mirror"))
    assert os.path.join(str(tmp_path / "mirror"), server.host, "file.txt") in message
    assert server.requests == []  # no silent way round the mirror


def test_mirror_with_a_damaged_file(tmp_path):
    place = tmp_path / "mirror" / "host.org" / "file.txt"
    place.parent.mkdir(parents=True)
    place.write_bytes(CONTENT[:-5])
    message = refused(
        "https://host.org/file.txt", tmp_path, sha256=DIGEST, size=len(CONTENT), mirror=tmp_path / "mirror"
    )
    assert str(place) in message and "truncated" in message


def test_mirror_that_is_the_download_folder(tmp_path):
    place = tmp_path / "resources" / "host.org" / "file.txt"
    place.parent.mkdir(parents=True)
    place.write_bytes(CONTENT)
    with pytest.raises(StudyError, match="name a copy"):
        retrieve("https://host.org/file.txt", place, mirror=tmp_path / "resources", progress=False)
    assert place.read_bytes() == CONTENT


def table(tmp_path, *rows):
    path = tmp_path / "checksums.tsv"
    path.write_text("url\tsha256\tbytes\n" + "".join("\t".join(row) + "\n" for row in rows))
    return path


def test_checksums_table(tmp_path):
    pins = read_checksums(table(tmp_path, ("https://a.org/f", DIGEST.upper(), "7"), ("https://a.org/g", "", "")))
    assert pins["https://a.org/f"] == {"sha256": DIGEST, "size": 7}
    assert expected(pins, "https://a.org/g") == (None, None)
    assert expected(pins, "https://a.org/other") == (None, None)
    assert expected(pins, "https://a.org/g", DIGEST.upper()) == (DIGEST, None)
    assert read_checksums(None) == {}
    with pytest.raises(StudyError, match=r"https://a\.org/f: its sha256"):
        expected(pins, "https://a.org/f", "0" * 64)


@pytest.mark.parametrize(
    ("row", "fault"),
    [
        (("https://a.org/f", "abc", "7"), "64 hexadecimal"),
        (("https://a.org/f", DIGEST, "many"), "whole number"),
        (("https://a.org/f",), "columns"),
        (("https://a.org/e", "0" * 64, "7"), "twice"),
        (("https://a.org/f", DIGEST, "7", "more"), "columns"),
        (("https://a.org/f", DIGEST, "9" * 5000), "whole number"),  # more digits than Python reads
        (("https://a.org/f", DIGEST, "٣"), "whole number"),
    ],
)
def test_faulty_checksums_table(tmp_path, row, fault):
    path = table(tmp_path, ("https://a.org/e", DIGEST, "7"), row)
    with pytest.raises(StudyError, match=fault) as caught:
        read_checksums(path)
    assert f"{path}, line 3" in str(caught.value)


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        (b"url\t\xe9", "is not UTF-8"),
        (b'url\n"' + b"x" * 140_000, "quotation mark left open"),
        (None, "cannot be read"),
    ],
)
def test_a_file_that_is_no_table(tmp_path, content, fault):
    path = tmp_path if content is None else tmp_path / "checksums.tsv"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(StudyError, match=fault) as caught:
        read_checksums(path)
    assert str(path) in str(caught.value)


def test_a_table_saved_on_windows(tmp_path):
    path = table(tmp_path, ("https://a.org/f", DIGEST, "7"))
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes().replace(b"\n", b"\r\n"))
    assert read_checksums(path) == {"https://a.org/f": {"sha256": DIGEST, "size": 7}}


def test_an_address_that_two_patterns_match_is_taken_once():
    pins = dict.fromkeys(("https://a.org/1.txt", "https://a.org/2.txt", "https://b.org/3.txt"))
    patterns = ["https://a.org/2*", "https://a.org/*", "https://b.org/3.txt", "https://*.org/3*"]
    found = expand_addresses(patterns, pins, "checkpoint.corpus.files")
    assert found == ["https://a.org/2.txt", "https://a.org/1.txt", "https://b.org/3.txt"]


def test_blanks_around_an_address_of_the_table_do_not_unpin_it(tmp_path):
    path = table(tmp_path, (" https://a.org/f ", f" {DIGEST} ", " 7 "))
    assert read_checksums(path) == {"https://a.org/f": {"sha256": DIGEST, "size": 7}}


def test_the_project_s_own_table_is_sound():
    pins = read_checksums(os.path.join(studies.ROOT, "studies", "checksums.tsv"))
    # Seven files of CLS-Books and 100 novels, at least.
    assert sum("/cls-books/" in url for url in pins) == 6
    assert sum("/plain1/" in url for url in pins) == 100
    assert all(pin["sha256"] and pin["size"] for pin in pins.values())


def settings(**changes):
    config = {
        "data": {
            "source": "embedded",
            "cls_books_zip": {"url": "https://a.org/cls.books.zip", "sha256": DIGEST},
            "cls_books_pieces": {"url": "https://a.org/base/"},
            "cls_archive": {"url": None, "sha256": None},
            "table": {"train": "mine.csv", "valid": None, "test": ["mine too.csv"]},
        },
        "checkpoint": {
            "fetch": {"fairseq": {"url": "https://a.org/small.zip", "sha256": None}, "huggingface": None},
            "corpus": {
                "files": ["https://a.org/novel.txt", "https://a.org/other.txt", "https://a.org/novel.txt"],
                "tables": [{"urls": ["https://a.org/opinions.csv", "https://a.org/other.txt"]}],
            },
        },
        "finetuning": {"models": {}},
        "qa": {
            "data": {"source": "url", "url": "https://a.org/pairs.json"},
            "base": {
                "source": "embedded",
                "hub": {"repo": "an/llm", "revision": "0a1", "files": ["config.json", "tokenizer.json"]},
                "embedded": {"files": ["https://a.org/novel.txt", "https://a.org/dialogues.txt"]},
            },
        },
    }
    config["data"].update(changes)
    return config


def test_addresses_of_the_sources():
    assert source_addresses(settings()["data"]) == []
    assert source_addresses(settings(source="cls_books_zip")["data"]) == ["https://a.org/cls.books.zip"]
    urls = source_addresses(settings(source="cls_books_pieces")["data"])
    assert urls == pieces_addresses("https://a.org/base")
    assert urls[0] == "https://a.org/base/cls-books/train.review.spm"
    assert urls[-1] == "https://a.org/base/sentencepiece.french.model"


def test_retrieving_rules_get_what_is_known():
    found = retrievals(settings(), {"https://a.org/other.txt": {"sha256": DIGEST, "size": 3}})
    assert sorted(found) == [
        *("checkpoint", "cls_books_pieces", "cls_books_zip", "corpus", "corpus_tables", "qa_corpus", "qa_pairs")
    ]
    assert found["cls_books_zip"]["hashes"] == [DIGEST]
    assert found["corpus"] == {
        "urls": ["https://a.org/novel.txt", "https://a.org/other.txt"],
        "hashes": [None, DIGEST],
        "sizes": [None, 3],
        "key": "checkpoint.corpus.files",
    }
    assert found["corpus_tables"]["urls"] == ["https://a.org/opinions.csv"]
    # The pretraining corpus has the novel: two rules must not make one file.
    assert found["qa_corpus"]["urls"] == ["https://a.org/dialogues.txt"]


def test_a_table_has_files_here_and_elsewhere():
    mixed = {"train": ["mine.csv", "https://a.org/1.csv"], "valid": None, "test": "https://a.org/2.csv"}
    config = settings(source="table", table=mixed)
    assert table_files(mixed) == [
        ("train", "mine.csv"),
        ("train", "https://a.org/1.csv"),
        ("test", "https://a.org/2.csv"),
    ]
    assert source_addresses(config["data"]) == ["https://a.org/1.csv", "https://a.org/2.csv"]
    found = retrievals(config, {"https://a.org/2.csv": {"sha256": DIGEST, "size": 3}})["table"]
    assert (found["hashes"], found["key"]) == ([None, DIGEST], "data.table")


def test_the_base_on_the_hub_replaces_the_embedded_one_s_texts():
    config = settings()
    config["qa"]["base"]["source"] = "hub"
    found = retrievals(config, {})
    assert "qa_corpus" not in found
    assert found["qa_base"]["urls"] == [
        f"https://huggingface.co/an/llm/resolve/0a1/{name}" for name in ("config.json", "tokenizer.json")
    ]


def test_retrievals_refuse_a_bad_address():
    config = settings()
    config["checkpoint"]["corpus"]["files"] = ["https://a.org/"]
    with pytest.raises(StudyError, match="folder"):
        retrievals(config, {})


def test_record_paths():
    assert record_path(["https://a.org/f.zip"]) == "a.org/f.zip.retrieved.json"
    several = record_path(["https://a.org/f", "https://a.org/g"])
    assert several != record_path(["https://a.org/f", "https://a.org/h"])
    assert "/" not in several


def test_script_retrieves_in_order_and_records(server, tmp_path):
    from data.retrieve import main

    urls = [server.address + "/file.txt", server.address + "/page.html"]
    places = [tmp_path / "a", tmp_path / "b.html"]
    main(urls, places, tmp_path / "record.json", [DIGEST, None], [len(CONTENT), None], mirror=None, key="some.key")
    record = read_json(tmp_path / "record.json")
    assert [file["url"] for file in record["files"]] == urls
    assert [file["pinned"] for file in record["files"]] == [True, False]


def test_script_writes_no_record_of_a_failure(server, tmp_path):
    from data.retrieve import main

    urls = [server.address + "/file.txt", server.address + "/nothing.txt"]
    with pytest.raises(StudyError, match="404"):
        files = [tmp_path / "a", tmp_path / "b"]
        main(urls, files, tmp_path / "record.json", [None, None], [None, None], mirror=None, key="some.key")
    assert not (tmp_path / "record.json").exists()
    assert not (tmp_path / "b").exists()
