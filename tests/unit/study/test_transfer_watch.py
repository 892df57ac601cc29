"""Servers that keep an HTTP parser busy without sending the file: each is given up within the limits of time."""

import contextlib
import socket
import threading
import time

import pytest

from common.errors import StudyError
from study.download import retrieve

CONTENT = b"c" * 600
HEAD = b"HTTP/1.1 200 OK\r\n"
CHUNKED = HEAD + b"Transfer-Encoding: chunked\r\n\r\n"
# Seconds: the head of an answer 0.8 in all, windows of the body 0.5, one attempt 3.
LIMITS = {"attempts": 1, "wait": 0.01, "timeout": (0.4, 0.4), "stall": 0.5, "deadline": 3, "progress": False}


def drip(connection, text, pause=0.02):
    """Send bytes one by one, far more often than the socket's own timeout asks for."""
    for byte in text:
        connection.sendall(bytes([byte]))
        time.sleep(pause)


def status_line(connection):
    drip(connection, b"HTTP/1.1 200 " + b"O" * 2000)


def header(connection):
    connection.sendall(HEAD)
    drip(connection, b"X-Long: " + b"a" * 2000)


def many_headers(connection):
    connection.sendall(HEAD)
    for number in range(90):
        connection.sendall(b"X-%d: a\r\n" % number)
        time.sleep(0.05)


def endless_continue(connection):
    for _ in range(2000):
        connection.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")
        time.sleep(0.01)


def chunk_extension(connection):
    connection.sendall(CHUNKED + b"258;")
    drip(connection, b"a" * 2000)


def trailer(connection):
    connection.sendall(CHUNKED + b"258\r\n" + CONTENT + b"\r\n0\r\nX-Long: ")
    drip(connection, b"a" * 2000)


def body(connection):
    connection.sendall(HEAD + b"Content-Length: 600\r\n\r\n")
    drip(connection, CONTENT)


def nothing(connection):
    time.sleep(5)


@contextlib.contextmanager
def serving(answer):
    """The address of a server that answers every request with a function of the connection."""

    def one(connection):
        with connection, contextlib.suppress(OSError):
            connection.recv(65536)
            answer(connection)

    def serve():
        with contextlib.suppress(OSError):
            while True:
                threading.Thread(target=one, args=(listener.accept()[0],), daemon=True).start()

    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=serve, daemon=True).start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/file"
        listener.shutdown(socket.SHUT_RDWR)


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (status_line, "no complete status and headers within 0.8 s"),
        (header, "no complete status and headers within 0.8 s"),
        (many_headers, "no complete status and headers within 0.8 s"),
        (endless_continue, "no complete status and headers within 0.8 s"),
        (chunk_extension, "bytes of the file in 0.5 s, fewer than 100 per second"),
        (trailer, "bytes of the file in 0.5 s, fewer than 100 per second"),
        (body, "bytes of the file in 0.5 s, fewer than 100 per second"),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_it_is_given_up(tmp_path, monkeypatch, answer, said):
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    destination = tmp_path / "out" / "file"
    with serving(answer) as address:
        began = time.monotonic()
        with pytest.raises(StudyError) as caught:
            retrieve(address, destination, **LIMITS)
        # The servers would go on for many seconds.
        assert time.monotonic() - began < 8
    assert address in str(caught.value) and said in str(caught.value) and "\n" not in str(caught.value)
    assert not destination.exists()


def test_a_silent_server_is_given_up(tmp_path, monkeypatch):
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with serving(nothing) as address, pytest.raises(StudyError, match=address):
        retrieve(address, tmp_path / "file", **LIMITS)


def test_the_whole_has_a_limit(tmp_path, monkeypatch):
    """Fast enough in every window, and still longer than one attempt may take."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")

    def steady(connection):
        connection.sendall(HEAD + b"Content-Length: 100000\r\n\r\n")
        for _ in range(1000):
            connection.sendall(b"c" * 50)
            time.sleep(0.05)

    with serving(steady) as address, pytest.raises(StudyError, match="not over after 1.5 s, the longest that"):
        retrieve(address, tmp_path / "file", **LIMITS | {"deadline": 1.5, "stall": 1})


def test_a_slow_and_honest_server_is_waited_for(tmp_path, monkeypatch):
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")

    def slow(connection):
        connection.sendall(CHUNKED)
        # Longer than two windows of a second each, 250 bytes a second.
        for start in range(0, len(CONTENT), 20):
            connection.sendall(b"14\r\n" + CONTENT[start : start + 20] + b"\r\n")
            time.sleep(0.08)
        connection.sendall(b"0\r\n\r\n")

    with serving(slow) as address:
        assert retrieve(address, tmp_path / "file", **LIMITS | {"stall": 1, "deadline": 60})["bytes"] == 600
    assert (tmp_path / "file").read_bytes() == CONTENT
    # Nothing keeps watching.
    assert not [thread for thread in threading.enumerate() if "_keep" in str(getattr(thread, "_target", ""))]
