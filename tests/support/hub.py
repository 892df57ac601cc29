"""A Hugging Face hub on this machine, over https: redirects to a storage of another host, gates, quotas, faults.

Made after what the hub answers to `resolve`: https://huggingface.co/docs/huggingface_hub (file_download, errors).
"""

import contextlib
import datetime
import hashlib
import http.server
import ipaddress
import json
import os
import re
import ssl
import threading
from urllib.parse import parse_qs, urlsplit

TOKEN = "hf_" + "Secret" * 5
REVISION = "0123456789abcdef" * 2 + "01234567"
# Files of this size or more are in the storage, as Git LFS's are.
LARGE = 2000
# Where the hub redirects to for a small one, on its own host.
CACHE = "/api/resolve-cache/models"


def write_certificate(path):
    """Write a certificate of `localhost` and 127.0.0.1, signed by itself, and its key; return the path."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "localhost")])
    now, day = datetime.datetime.now(datetime.UTC), datetime.timedelta(days=1)
    names = [x509.DNSName("localhost"), x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]
    certificate = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number(), now - day, now + day)
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    forms = (serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    path.write_bytes(certificate.public_bytes(serialization.Encoding.PEM) + key.private_bytes(*forms))
    return path


class _Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False

    def handle_error(self, request, address):
        """Say nothing: a client that goes away is part of the tests."""


class _Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *arguments):
        pass

    def answer(self, status, body=b"", length=None, **headers):
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), str(value))
        self.send_header("Content-Length", str(len(body) if length is None else length))
        self.send_header("Connection", "close")
        self.end_headers()
        self.close_connection = True
        with contextlib.suppress(ConnectionError, ssl.SSLError):
            self.wfile.write(body)

    def send_file(self, content, etag, headers):
        """Send a file or the range of it that is asked for, cut where the hub's `cut` says."""
        hub, first = self.server.hub, 0
        asked = re.fullmatch(r"bytes=(\d+)-", self.headers.get("Range", ""))
        fresh = self.headers.get("If-Range") in (None, etag)
        if asked and fresh and hub.ranges:
            first = int(asked[1])
            if first >= len(content):
                self.answer(416, Content_Range=f"bytes */{len(content)}")
                return
            headers |= {"Content_Range": f"bytes {first}-{len(content) - 1}/{len(content)}"}
        body = content[first:]
        sent = body[: hub.cut.pop(0)] if hub.cut else body
        if hub.tagged:
            headers |= {"ETag": etag}
        status = 206 if "Content_Range" in headers else 200
        self.answer(status, sent, len(body), Content_Type="application/octet-stream", Accept_Ranges="bytes", **headers)


class _Hub(_Handler):
    """Answers `/REPO/resolve/REV/FILE` and `/api/models/REPO/revision/main` as the hub does, errors by X-Error-Code."""

    def do_GET(self):
        hub = self.server.hub
        hub.seen.append(("hub", self.path, dict(self.headers)))
        if hub.busy:
            status, wait = hub.busy.pop(0)
            self.answer(status, b"{}", **({} if wait is None else {"Retry_After": wait}))
            return
        about = re.fullmatch(r"/api/models/(.+)/revision/main", self.path)
        if about and about[1] in hub.repos:
            names = sorted(os.listdir(hub.repos[about[1]]))
            answer = {"id": about[1], "sha": REVISION, "siblings": [{"rfilename": name} for name in names]}
            self.answer(200, json.dumps(answer).encode(), Content_Type="application/json; charset=utf-8")
            return
        found = re.fullmatch(r"/(.+)/resolve/([^/]+)/(.+)", urlsplit(self.path).path.removeprefix(CACHE))
        repo, revision, file = found.groups() if found else (None, None, None)
        sent = self.headers.get("Authorization")
        if sent not in (None, f"Bearer {TOKEN}"):
            self.refuse(401, None, "Invalid credentials in Authorization header")
        elif repo in hub.moved:
            self.answer(307, Location=self.path.replace(repo, hub.moved[repo], 1))
        elif repo not in hub.repos:
            self.refuse(*((404, "RepoNotFound") if sent else (401, None)), "Repository not found")
        elif repo in hub.gated and (sent is None or not hub.accepted):
            status = 401 if sent is None else 403
            self.refuse(status, "GatedRepo", f"Access to model {repo} is restricted")
        elif revision != REVISION:
            self.refuse(404, "RevisionNotFound", "Invalid rev id")
        elif not os.path.isfile(os.path.join(hub.repos[repo], file)):
            self.refuse(404, "EntryNotFound", "Entry not found")
        else:
            self.found(repo, file)

    def refuse(self, status, code, message):
        headers = {"X_Error_Message": message} | ({"X_Error_Code": code} if code else {})
        self.answer(status, message.encode(), Content_Type="text/plain; charset=utf-8", **headers)

    def found(self, repo, file):
        hub = self.server.hub
        with open(os.path.join(hub.repos[repo], file), "rb") as handle:
            content = handle.read()
        headers = {"X_Repo_Commit": REVISION}
        if len(content) < LARGE:
            blob = hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()
            if self.path.startswith(CACHE):
                self.send_file(content, f'"{blob}"', headers)
                return
            headers |= {"X_Linked_Size": len(content), "X_Linked_ETag": f'"{blob}"'}
            self.answer(307, Location=f"{CACHE}/{repo}/resolve/{REVISION}/{file}?etag=%22{blob}%22", **headers)
            return
        digest = hashlib.sha256(content).hexdigest()
        hub.links += 1
        query = f"repo={repo}&file={file}&link={hub.links}&X-Amz-Signature=Signed{hub.links}"
        headers |= {"X_Linked_Size": len(content), "X_Linked_ETag": f'"{hub.says or digest}"', "X_Xet_Hash": "0" * 64}
        self.answer(302, Location=f"{hub.storage}/{digest}?{query}", **headers)


class _Storage(_Handler):
    """Answers signed links; takes no Authorization, as Amazon's does."""

    def do_GET(self):
        hub, asked = self.server.hub, {key: value[0] for key, value in parse_qs(urlsplit(self.path).query).items()}
        hub.seen.append(("storage", self.path, dict(self.headers)))
        if "Authorization" in self.headers:
            self.answer(400, b"<Error><Code>InvalidRequest</Code></Error>")
        elif int(asked["link"]) in hub.expired:
            self.answer(403, b"<Error><Code>AccessDenied</Code></Error>", Content_Type="application/xml")
        else:
            with open(os.path.join(hub.repos[asked["repo"]], asked["file"]), "rb") as handle:
                content = handle.read()
            content = hub.spoilt.pop(0) if hub.spoilt else content
            self.send_file(content, f'"{hashlib.md5(content).hexdigest()}"', {})


class Hub:
    """The servers' state, which a test may change.

    Attributes:
        repos: {repo: folder of its files}; moved: {old name: new name}; gated: set of repos; accepted: whether the
            owner of `TOKEN` has accepted their conditions.
        busy: (status, Retry-After or None) of the next answers of the hub.
        cut: bytes after which the next bodies break off.
        ranges, tagged: whether rests are sent, and whether files have an ETag.
        expired: numbers (from 1) of links that the storage refuses; spoilt: what it sends next in a file's place.
        says: a SHA-256 that the hub names in place of the right one, or None.
        seen: (server, path, headers) of every request.
        address, storage: address and storage of the two servers: other hosts to a client.
        certificate: path, for REQUESTS_CA_BUNDLE.
    """

    def __init__(self, repos):
        self.repos, self.moved, self.gated, self.accepted = repos, {}, set(), True
        self.busy, self.cut, self.spoilt, self.expired = [], [], [], set()
        self.ranges = self.tagged = True
        self.says, self.links, self.seen = None, 0, []

    def paths(self, server):
        """Return the paths that were asked of a server, without those that the hub redirects to on its own host."""
        return [path for name, path, _ in self.seen if name == server and not path.startswith(CACHE)]

    def headers(self, server, name):
        """Return the values of a header in the requests to a server; None where it was not sent."""
        return [headers.get(name) for at, _, headers in self.seen if at == server]


@contextlib.contextmanager
def serve_hub(folder, repos):
    """Serve repositories like the hub does, from `localhost`, their large files from 127.0.0.1.

    Args:
        folder: pathlib.Path for the certificate.
        repos: {repo: folder of its files}.

    Yields:
        Hub.
    """
    hub, servers = Hub(repos), []
    hub.certificate = str(write_certificate(folder / "hub.pem"))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(hub.certificate)
    for handler in (_Hub, _Storage):
        server = _Server(("127.0.0.1", 0), handler)
        server.socket = context.wrap_socket(server.socket, server_side=True)
        server.hub = hub
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        servers.append(server)
    hub.address = f"https://localhost:{servers[0].server_port}"
    hub.storage = f"https://127.0.0.1:{servers[1].server_port}"
    try:
        yield hub
    finally:
        for server in servers:
            server.shutdown()
            server.server_close()


def environment(hub):
    """Return the environment variables that lead to the hub; no token of this machine's user among them."""
    local = "127.0.0.1,localhost"
    given = {"HF_ENDPOINT": hub.address, "REQUESTS_CA_BUNDLE": hub.certificate, "HF_TOKEN": ""}
    return given | {"NO_PROXY": local, "no_proxy": local}
