"""The command by which docs/guides/export.md shares a model, against a hub on this machine."""

import base64
import contextlib
import hashlib
import http.server
import json
import os
import re
import subprocess
import sys
import threading

from support.environments import ROOT


class Hub(http.server.BaseHTTPRequestHandler):
    """A hub's answers to an upload: a new repository, which files are large, a storage for these, a commit."""

    protocol_version = "HTTP/1.1"

    def log_message(self, *arguments):
        """Say nothing."""

    def reply(self, content, status=200):
        body = json.dumps(content).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        self.reply({"error": "there is no such page"}, 404)

    def do_PUT(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.stored[hashlib.sha256(body).hexdigest()] = body
        self.reply({})

    def do_POST(self):
        body, hub = self.rfile.read(int(self.headers.get("Content-Length", 0))), self.server
        place = f"http://127.0.0.1:{hub.server_address[1]}"
        if self.path == "/api/repos/create":
            hub.created = json.loads(body)
            self.reply({"url": f"{place}/me/novel", "name": "me/novel"})
        elif self.path == "/api/validate-yaml":
            self.reply({"errors": [], "warnings": []})
        elif self.path == "/api/models/me/novel/preupload/main":
            files = json.loads(body)["files"]
            modes = {True: "lfs", False: "regular"}
            self.reply({"files": [
                {"path": one["path"], "uploadMode": modes[one["size"] > 2000], "shouldIgnore": False} for one in files
            ]})  # fmt: skip
        elif self.path == "/me/novel.git/info/lfs/objects/batch":
            objects = json.loads(body)["objects"]
            for one in objects:
                one["actions"] = {"upload": {"href": f"{place}/storage/{one['oid']}", "header": {}}}
            self.reply({"transfer": "basic", "objects": objects})
        elif self.path == "/api/models/me/novel/commit/main":
            for line in map(json.loads, body.decode().splitlines()):
                if line["key"] == "file":
                    hub.files[line["value"]["path"]] = base64.b64decode(line["value"]["content"])
                if line["key"] == "lfsFile":
                    hub.files[line["value"]["path"]] = hub.stored[line["value"]["oid"]]
            self.reply({"success": True, "commitUrl": f"{place}/me/novel/commit/{'1' * 40}", "commitOid": "1" * 40})
        else:
            self.reply({"error": "there is no such page"}, 404)


@contextlib.contextmanager
def hub():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Hub)
    server.files, server.stored, server.created = {}, {}, {}
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()


def test_the_command_of_the_docs_uploads_a_whole_folder(tmp_path):
    page = (ROOT / "docs" / "guides" / "export.md").read_text(encoding="utf-8")
    words = re.search(r"^\.venv/bin/hf (upload USER/NAME .*)$", page, re.MULTILINE)[1].split()
    folder = tmp_path / words[2]
    folder.mkdir(parents=True)
    (folder / "config.json").write_text('{"model_type": "bert"}')
    (folder / "README.md").write_text("---\nlicense: unknown\n---\n# A model\n")
    (folder / "model.safetensors").write_bytes(bytes(range(256)) * 500)
    words[1] = "me/novel"
    program = os.path.join(os.path.dirname(sys.executable), "hf")
    with hub() as server:
        environment = os.environ | {
            "HF_ENDPOINT": f"http://127.0.0.1:{server.server_address[1]}",
            "HF_TOKEN": "hf_none",
        }
        environment |= {"HF_HOME": str(tmp_path / "home"), "HF_HUB_DISABLE_XET": "1"}
        done = subprocess.run(
            [program, *words], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=300, check=False
        )
    assert done.returncode == 0, done.stdout + done.stderr
    assert server.created["name"] == "novel", server.created
    assert server.created.get("private") is True or server.created.get("visibility") == "private", server.created
    assert server.files == {path.name: path.read_bytes() for path in folder.iterdir()}
    # The large file went to the storage, under its SHA-256.
    assert list(server.stored) == [hashlib.sha256((folder / "model.safetensors").read_bytes()).hexdigest()]
