"""Local HTTP servers for the tests of downloads: a folder, and every way in which a server disappoints."""

import contextlib
import functools
import gzip
import http.server
import os
import ssl
import threading
import time


class _Handler(http.server.SimpleHTTPRequestHandler):
    """Serves a folder, and the misbehaving paths below.

    /status/N            answers N (text body)
    /page/NAME           a web page, announced as one
    /hidden-page/NAME    a web page, announced as octets
    /truncated/PATH      the file PATH, cut in half against its Content-Length
    /endless/NAME        zeros without end or Content-Length
    /huge/NAME           announces 10**12 bytes
    /drip/NAME           one byte every 20 ms
    /silent/NAME         headers, then nothing
    /flaky/N/PATH        503 for the first N requests, then the file PATH
    /redirect/PATH       302 to /PATH
    /loop/NAME           302 to itself
    /redirect-to/ADDRESS 302 to that address
    /packed/PATH         the file, with a Content-Encoding nobody asked for
    /packed-on-its-way/PATH  the file in gzip, with a Transfer-Encoding nobody asked for
    """

    def do_GET(self):
        self.server.requests.append(self.path)
        kind, _, rest = self.path.lstrip("/").partition("/")
        act = getattr(self, "_" + kind.replace("-", "_"), None)
        if act is None:
            super().do_GET()
            return
        with contextlib.suppress(ConnectionError):
            act(rest)

    def log_message(self, *arguments):
        pass

    def _head(self, status=200, length=None, kind="application/octet-stream", **headers):
        self.send_response(status)
        self.send_header("Content-Type", kind)
        if length is not None:
            self.send_header("Content-Length", str(length))
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.close_connection = True

    def _file(self, path):
        with open(os.path.join(self.directory, path), "rb") as handle:
            return handle.read()

    def _status(self, rest):
        self._head(int(rest.split("/")[0]), 2, "text/plain")
        self.wfile.write(b"no")

    def _page(self, rest, kind="text/html; charset=utf-8"):
        body = b"\n<!DOCTYPE HTML><html><title>Login</title></html>"
        self._head(200, len(body), kind)
        self.wfile.write(body)

    def _hidden_page(self, rest):
        self._page(rest, "application/octet-stream")

    def _truncated(self, rest):
        body = self._file(rest)
        self._head(200, len(body))
        self.wfile.write(body[: len(body) // 2])

    def _endless(self, rest):
        self._head()
        while True:
            self.wfile.write(bytes(1 << 16))

    def _huge(self, rest):
        self._head(200, 10**12)
        self.wfile.write(b"x")

    def _drip(self, rest):
        self._head(200, 10_000)
        for _ in range(10_000):
            self.wfile.write(b"x")
            self.wfile.flush()
            if self.server.stopping.wait(0.02):
                break

    def _silent(self, rest):
        self._head(200, 100)
        self.wfile.flush()
        self.server.stopping.wait(20)

    def _flaky(self, rest):
        times, _, path = rest.partition("/")
        if self.server.requests.count(self.path) <= int(times):
            self._status("503")
            return
        body = self._file(path)
        self._head(200, len(body))
        self.wfile.write(body)

    def _redirect(self, rest):
        self._head(302, 0, Location="/" + rest)

    def _loop(self, rest):
        self._head(302, 0, Location=self.path)

    def _redirect_to(self, rest):
        self._head(302, 0, Location=rest)

    def _packed(self, rest):
        body = self._file(rest)
        self._head(200, len(body), Content_Encoding="gzip")
        self.wfile.write(body)

    def _packed_on_its_way(self, rest):
        body = gzip.compress(self._file(rest))
        self._head(200, Transfer_Encoding="gzip, chunked")
        self.wfile.write(b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body))


@contextlib.contextmanager
def serve(folder, certificate=None):
    """Serve a folder on this machine, with the special paths of `_Handler`.

    Args:
        folder: what to serve.
        certificate: PEM file of a certificate and its key: then over https.

    Yields:
        Server: its `address` (`http://127.0.0.1:PORT`, no slash at the end), `host` (`127.0.0.1:PORT`) and
            `requests`, the paths asked for so far.
    """
    handler = functools.partial(_Handler, directory=os.fspath(folder))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    server.block_on_close = False
    server.requests = []
    server.stopping = threading.Event()
    server.host = f"127.0.0.1:{server.server_port}"
    server.address = f"http{'s' if certificate else ''}://{server.host}"
    if certificate:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate)
        server.socket = context.wrap_socket(server.socket, server_side=True)
        server.handle_error = lambda *arguments: None  # a client that does not trust it hangs up
    # A proxy of this machine's user knows nothing of the server.
    proxies = {name: os.environ.get(name) for name in ("NO_PROXY", "no_proxy")}
    os.environ.update(dict.fromkeys(proxies, "127.0.0.1,localhost"))
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        for name, value in proxies.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
        server.stopping.set()
        server.shutdown()
        server.server_close()
        thread.join(timeout=5)


def unused_address():
    """Return an http address of this machine where nothing listens."""
    with serve(os.curdir) as server:
        address = server.address
    time.sleep(0.01)
    return address
