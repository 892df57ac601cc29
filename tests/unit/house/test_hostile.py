"""Harm that a downloaded file, an address, a file's name or a text could do: each tried, each in vain.

Archives, checkpoints and pairs that harm stand in the table of tests/unit/house/test_refusals.py.
"""

import ast
import dataclasses
import datetime
import ipaddress
import json
import os
import re
import shutil
from html.parser import HTMLParser
from pathlib import Path

import pytest

from common.errors import StudyError
from finetuning import tokenize_texts
from report import assembly, build_report
from study.download import retrieve
from study.settings import validate_study
from support import servers
from support.makefile import Project
from support.qa_support import status_of
from support.report_study import TEMPLATES, make_answers, make_study
from support.settings import SCHEMA, changed, message

ROOT = Path(__file__).parents[3]
SOURCES = sorted(
    path for folder in ("scripts", "tools", "benchmarks", ".ci") for path in ROOT.glob(f"{folder}/**/*.py")
)

# ---- Code ---------------------------------------------------------------------------------------------------------

# Calls that run what a file says, by the end of their dotted name.
RUNS_CODE = ("eval", "exec", "os.system", "os.popen", "pickle.load", "pickle.loads", "yaml.load", "yaml.unsafe_load")
RUNS_CODE += ("joblib.load", "torch.jit.load", "torch.hub.load", "dill.load", "marshal.loads", "extractall")


def calls(source):
    """Yield (dotted name, {keyword: its text}, line) of every call."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call):
            yield ast.unparse(node.func), {k.arg: ast.unparse(k.value) for k in node.keywords}, node.lineno


def dangers(source):
    """Return what in a source would run, trust or leave unchecked what comes from elsewhere."""
    found = []
    for name, given, line in calls(source):
        end = name.rpartition(".")[2]
        if name in RUNS_CODE or end == "extractall":
            found.append(f"{line}: {name}")
        if name == "torch.load" and given.get("weights_only") != "True":
            found.append(f"{line}: torch.load without weights_only=True")
        if end == "from_pretrained" and name.startswith("Auto") and "arguments" not in str(given):
            if given.get("trust_remote_code") != "False":
                found.append(f"{line}: {name} without trust_remote_code=False")
        for keyword, value in given.items():
            unwanted = {"shell": "True", "allow_pickle": "True", "trust_remote_code": "True", "verify": "False"}
            if unwanted.get(keyword) == value or (keyword == "weights_only" and value != "True"):
                found.append(f"{line}: {keyword}={value}")
    return found


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.name)
def test_no_code_runs_or_trusts_what_comes_from_elsewhere(path):
    assert dangers(path.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    "line",
    [
        "torch.load(path)",
        "torch.load(path, weights_only=False)",
        "eval(text)",
        "yaml.load(text)",
        "archive.extractall()",
        "subprocess.run(command, shell=True)",
        "requests.get(url, verify=False)",
        "np.load(path, allow_pickle=True)",
        "AutoTokenizer.from_pretrained(folder)",
        "AutoConfig.from_pretrained(folder, trust_remote_code=True)",
    ],
)
def test_a_danger_is_noticed(line):
    assert dangers(line)


def test_keyword_dictionaries_trust_no_remote_code():
    # `from_pretrained(folder, **arguments)`, which the walk above cannot look into.
    source = (ROOT / "scripts" / "qa" / "causal_lm.py").read_text(encoding="utf-8")
    assert '"trust_remote_code": False, "use_safetensors": True' in source


def test_no_rule_has_a_shell_command():
    for path in [ROOT / "Snakefile", *ROOT.glob("rules/**/*.smk")]:
        lines = [line.strip() for line in path.read_text(encoding="utf-8").splitlines()]
        assert not [line for line in lines if line.startswith(("shell:", "shell(", "run:"))], path


def test_a_switch_of_the_environment_does_not_open_fairseqs_own_reader(tmp_path, monkeypatch):
    """fairseq calls `torch.load` without `weights_only`; this variable would make that unpickle anything."""
    monkeypatch.setenv("TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD", "1")
    for variable in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        monkeypatch.setenv(variable, "1")
    seen = []

    def job():
        seen.append(os.environ.get("TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD"))
        raise StudyError("enough")

    status_of(job, folder=str(tmp_path))
    assert seen == [None]


def test_a_tokenizer_s_own_code_is_not_run(tmp_path):
    settings = {"tokenizer_class": "EvilTokenizer", "auto_map": {"AutoTokenizer": [None, "evil.EvilTokenizer"]}}
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(settings), encoding="utf-8")
    (tmp_path / "evil.py").write_text(f"open({str(tmp_path / 'pwned')!r}, 'w')\nclass EvilTokenizer: pass\n")
    for name, text in (("a.review", "un livre\nun roman\n"), ("a.label", "1\n0\n")):
        (tmp_path / name).write_text(text, encoding="utf-8")
    places = (str(tmp_path / name) for name in ("a.review", "a.label", ".", "a.npz"))
    # Transformers would ask at the terminal, had it not been told.
    with pytest.raises(ValueError, match="trust_remote_code=True"):
        tokenize_texts.main(*places, 12)
    assert not (tmp_path / "pwned").exists() and not (tmp_path / "a.npz").exists()


# ---- Addresses ----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def https(tmp_path_factory):
    """A server over https whose certificate nobody has signed but itself."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    folder = tmp_path_factory.mktemp("https")
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "localhost")])
    now = datetime.datetime.now(datetime.UTC)
    names = [x509.DNSName("localhost"), x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]
    certificate = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    secret = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    (folder / "server.pem").write_bytes(certificate.public_bytes(serialization.Encoding.PEM) + secret)
    (folder / "served").mkdir()
    (folder / "served" / "file.txt").write_bytes(b"Un beau livre.\n")
    with servers.serve(folder / "served", folder / "server.pem") as running:
        running.certificate = str(folder / "server.pem")
        yield running


FAST = {"wait": 0.01, "timeout": (2, 2), "progress": False}


def test_a_certificate_that_nobody_signed_is_refused(https, tmp_path):
    with pytest.raises(StudyError, match=r"TLS certificate was not accepted \(self-signed certificate\): check"):
        retrieve(https.address + "/file.txt", tmp_path / "f", **FAST)
    assert https.requests == [] and not (tmp_path / "f").exists()


def test_a_trusted_certificate_is_what_makes_the_difference(https, tmp_path, monkeypatch):
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", https.certificate)
    assert retrieve(https.address + "/file.txt", tmp_path / "f", **FAST)["bytes"] == 15


def test_redirects_over_https(https, tmp_path, monkeypatch):
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", https.certificate)
    elsewhere = https.address.replace("127.0.0.1", "localhost") + "/file.txt"
    # To another host over https: followed and recorded, without the query.
    record = retrieve(f"{https.address}/redirect-to/{elsewhere}?key=secret", tmp_path / "f", **FAST)
    assert record["answered_by"] == elsewhere
    # To http, even on the same host: refused.
    downgraded = https.address.replace("https", "http") + "/file.txt"
    with pytest.raises(StudyError, match="which is not https: refused"):
        retrieve(f"{https.address}/redirect-to/{downgraded}", tmp_path / "g", **FAST)
    assert not (tmp_path / "g").exists()


def test_http_is_not_led_to_another_host(https, tmp_path, monkeypatch):
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", https.certificate)
    (tmp_path / "served").mkdir()
    elsewhere = https.address.replace("127.0.0.1", "localhost") + "/file.txt"
    with servers.serve(tmp_path / "served") as plain:
        with pytest.raises(StudyError, match="over http to another host"):
            retrieve(f"{plain.address}/redirect-to/{elsewhere}", tmp_path / "f", **FAST)
        # To https on its own host: an upgrade.
        record = retrieve(f"{plain.address}/redirect-to/{https.address}/file.txt", tmp_path / "g", **FAST)
    assert record["bytes"] == 15


# ---- Names and settings ---------------------------------------------------------------------------------------------

HOSTILE = (
    "\"'><script>alert(1)</script><img src=x onerror=alert(1)>"
    "${IFS}$(touch pwned)`touch pwned`;\\input{x}](javascript:1)|{{7*7}}"
)
SHELL_SIGNS = ["$(touch x)", "`touch x`", "a;b", "a|b", "a b", "a'b", 'a"b', "a\nb", "-rf", "../a", "a\\b"]


@pytest.mark.parametrize("name", [*SHELL_SIGNS, HOSTILE, "{x}", "<b>", "été", ""])
def test_a_study_s_name_is_a_plain_word(name):
    assert "study is " in message({"study": name})


ADDRESSES = ("data.cls_books_zip.url", "data.cls_archive.url", "data.cls_books_pieces.url", "qa.data.url")
ADDRESSES += ("checkpoint.fetch.fairseq.url", "checkpoint.corpus.files.0", "qa.base.embedded.files.0")


SIGNS = ["<b>", '"', "`", "{x}", "|", "\\", " ", "\n", "é", "^"]


@pytest.mark.parametrize(
    ("key", "sign"), [(key, "<b>") for key in ADDRESSES] + [("data.cls_books_zip.url", sign) for sign in SIGNS]
)
def test_an_address_holds_no_sign_of_another_language(key, sign):
    """Signs that HTML, Markdown, LaTeX, YAML or a shell could misread are percent-encoded in an address."""
    path = key.removesuffix(".0")
    lists = {path: ["https://host.org/a"]} if path != key else {}
    assert path in message({**lists, key: f"https://host.org/a{sign}b"})


def test_an_address_may_hold_what_is_percent_encoded():
    address = "https://host.org:8000/a%20b/(c)~d?x=1&y=[2]"
    validate_study(changed(dict.fromkeys(ADDRESSES[:5], address)), SCHEMA)


@pytest.fixture
def project(tmp_path):
    """A project with a finished environment of stand-ins, which print their arguments."""
    made = Project(tmp_path / "project")
    shutil.copy(ROOT / "config.yaml", made.folder)
    made.finish_environment()
    made.write_program("compare")
    made.write_program("check_settings")
    return made


def test_make_gives_a_file_s_name_on_as_it_is(project):
    name = "a b'c\"d$(touch pwned)`touch pwned`; touch pwned & $HOME \\ #.yaml"
    (project.folder / name).write_text("study: x1\n", encoding="utf-8")
    page = project.folder / "results" / "x1" / "report.html"
    page.parent.mkdir(parents=True)
    page.touch()
    done = project.make("study", f"STUDY={name}", f"MIRROR={name}")
    assert done.returncode == 0, done.stdout
    assert f"<--configfile>\n<{name}>" in done.stdout
    assert "<mirror='" + name.replace("'", "''") + "'>" in done.stdout
    assert "results/x1/report.html" in done.stdout
    for command in (["snakemake-report", f"STUDY={name}"], ["tensorboard", f"STUDY={name}"]):
        done = project.make(*command)
        assert done.returncode == 0 and "results/x1" in done.stdout, done.stdout
    done = project.make("compare", f"FIRST={name}", f"SECOND={name}", f"PAGE={name}")
    assert done.stdout.count(f"<{name}>") == 3, done.stdout
    # Neither the shell's substitution nor make's own.
    refused = project.make("study", "STUDY=$(shell touch pwned)x")
    assert refused.returncode == 2 and "is no file" in refused.stdout
    assert not (project.folder / "pwned").exists()


# ---- The report -----------------------------------------------------------------------------------------------------


class Tags(HTMLParser):
    """Collects the elements of a page with the names of their attributes."""

    def __init__(self, html):
        super().__init__()
        self.found, self.links = [], []
        self.feed(html)

    def handle_starttag(self, tag, attributes):
        self.found.append((tag, [name for name, _ in attributes]))
        self.links += [value for name, value in attributes if name in ("href", "src")]


def poisoned(value, poison):
    """Return what a template gets, every text made longer but numbers and flags, which the page computes with."""
    if isinstance(value, dict):
        return {name: poisoned(part, poison) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [poisoned(part, poison) for part in value]
    if dataclasses.is_dataclass(value):
        return dataclasses.replace(value, **poisoned(vars(value), poison))
    word = isinstance(value, str) and value not in ("", "true", "false") and not re.fullmatch(r"[\d.e+-]+", value)
    return value + poison if word else value


def test_no_text_becomes_markup_of_the_page(tmp_path, monkeypatch):
    """The page of a whole study, with harmless words and with hostile ones of the same length in every text."""
    files = make_study(tmp_path / "published", n_seeds=2, n_arms=2, synthetic=True)
    files |= make_answers(tmp_path / "published", files)
    # The third seed has no result, and a note says so.
    arms = {"fairseq-random": {"framework": "fairseq", "model": "checkpoint", "init": "random"}}
    settings = {"study": "published", "finetuning": {"seeds": [1, 2, 3], "arms": arms}, "report": {}}
    sound = assembly.Page

    def build(poison):
        class Poisoned(sound):
            def section(self, name, facts, *place):
                super().section(name, poisoned(facts, poison), *place)

            def render(self, study, *heading):
                return super().render(study + poison, *heading)

        monkeypatch.setattr(assembly, "Page", Poisoned)
        build_report.main(TEMPLATES, str(tmp_path / "report.html"), settings, **files)
        return (tmp_path / "report.html").read_text(encoding="utf-8")

    pages = [build("x" * len(HOSTILE)), build(HOSTILE)]
    harmless, hostile = (Tags(html) for html in pages)
    assert hostile.found == harmless.found and len(harmless.found) > 400
    assert pages[1].count("&lt;script&gt;alert(1)") > 100
    assert pages[1].count("<script>") == pages[0].count("<script>") == 1
    # Targets of the page's links: its own parts, files beside it, pictures within it.
    links = Tags(build("")).links
    assert len(links) > 20 and not [link for link in links if ":" in link and not link.startswith("data:")]
