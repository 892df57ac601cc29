"""Studies on a machine without network: the embedded one, and one of downloads, from a mirror filled beforehand."""

import json
import os
import shutil
import subprocess
import sys
import urllib.request

import pytest
import sentencepiece

from common.files import sha256
from data.embedded_reviews import generate
from data.reviews import SPLITS
from qa.embedded_faq import corpus, pairs
from study.addresses import PIECES_MODEL, needed_retrievals
from study.pins import mirror_path
from support import servers, studies
from support.makefile import NEEDED, Project, write_index
from tools import mirror as tool

CUT = studies.without_network()
# The tiny study counts as set-up of the first test that needs it.
pytestmark = [
    pytest.mark.integration,
    pytest.mark.slow,
    pytest.mark.timeout(1800),
    pytest.mark.skipif(not CUT, reason="this machine does not allow a process to give up its network (unshare --net)"),
]

OPEN = os.path.join(studies.ROOT, "studies", "open.yaml")
SHARED_MIRROR = os.path.join(studies.ROOT, "..", "shared", "mirror")


def without_network(*command, **options):
    """Run a command that can reach no network; its output in `stdout`, errors too."""
    return subprocess.run(
        [*CUT, *command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=900, **options
    )


def test_nothing_is_reached_without_network(tmp_path):
    """The other tests rely on this: not even a server of this machine answers."""
    (tmp_path / "here.txt").write_text("there")
    with servers.serve(tmp_path) as server:
        code = f"import urllib.request; urllib.request.urlopen('{server.address}/here.txt', timeout=5)"
        assert urllib.request.urlopen(f"{server.address}/here.txt", timeout=5).read() == b"there"
        refused = without_network(sys.executable, "-c", code)
    assert refused.returncode != 0 and "Network is unreachable" in refused.stdout, refused.stdout


def test_the_embedded_study_needs_no_network(tiny_study):
    """The fixture ran it behind `CUT`, without which this module skips."""
    assert (tiny_study / "results" / "tiny" / "report.html").is_file()
    assert not [path for path in (tiny_study / "resources").rglob("*") if path.is_file()]


# ---- A study like the open one, in small ----------------------------------------------------------------------------


def write_hosts(folder):
    """Write what the study's hosts offer: reviews as pieces, novels, question/answer pairs."""
    content = generate(seed=5, n_labelled=60, n_test=30, n_unlabelled=400)
    rows = {"train": content["labelled"][:40], "valid": content["labelled"][40:], "test": content["test"]}
    books, novels = folder / "books", folder / "novels"
    (books / "cls-books").mkdir(parents=True)
    novels.mkdir()
    texts = [text for text, _ in content["labelled"] + content["test"]]
    with open(books / PIECES_MODEL, "wb") as handle:
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(texts), model_writer=handle, vocab_size=300, hard_vocab_limit=False, minloglevel=2
        )
    processor = sentencepiece.SentencePieceProcessor(model_file=str(books / PIECES_MODEL))
    for split in SPLITS:
        lines = [" ".join(processor.encode(text, out_type=str)) + "\n" for text, _ in rows[split]]
        (books / "cls-books" / f"{split}.review.spm").write_text("".join(lines), encoding="utf-8")
        (books / "cls-books" / f"{split}.label").write_text("".join(f"{label}\n" for _, label in rows[split]))
    (novels / "one.txt").write_text("".join(f"{text}\n" for text in content["unlabelled"][:200]), encoding="utf-8")
    (novels / "two.txt").write_text("".join(f"{text}\n" for text in content["unlabelled"][200:]), encoding="utf-8")
    (novels / "shop.txt").write_text("".join(f"{text}\n" for text in corpus(2, 100)), encoding="utf-8")
    (folder / "pairs.json").write_text(json.dumps(pairs()[:12]), encoding="utf-8")


ARM = {"framework": "huggingface", "model": "checkpoint", "init": "pretrained"}


def changes(address):
    """The study's differences from `studies.TINY`, its files at an address."""
    return {
        "study": "small",
        "data": {"source": "cls_books_pieces", "cls_books_pieces": {"url": f"{address}/books/"}},
        "checkpoint": {"corpus": {"files": [f"{address}/novels/one.txt", f"{address}/novels/two.txt"]}},
        "finetuning": {"arms": {"mine": ARM}, "training": {"epochs": 1}},
        "qa": {
            "enabled": True,
            "data": {"source": "url", "url": f"{address}/pairs.json", "n_heldout": 4},
            "base": {
                "embedded": {
                    "n_texts": 50,
                    # One that the checkpoint is pretrained on, too: another rule retrieves it.
                    "files": [f"{address}/novels/one.txt", f"{address}/novels/shop.txt"],
                    "vocab_size": 300,
                    "architecture": {"layers": 1, "width": 32, "heads": 2},
                    "training": {"updates": 4, "batch_size": 4, "tokens_per_sample": 32, "warmup_updates": 1},
                }
            },
            "training": {"updates": 2, "evaluate_every": 1, "save_every": 0},
            "generation": {"n_questions": 1, "max_new_tokens": 4},
        },
    }


# The seven files of the reviews, three texts, the pairs.
N_FILES = 11


@pytest.fixture(scope="module")
def filled(tmp_path_factory):
    """A mirror filled while its hosts were there, and the study's file; then the hosts are gone."""
    folder = tmp_path_factory.mktemp("air-gap")
    write_hosts(folder / "hosts")
    with servers.serve(folder / "hosts") as server:
        study = studies.write_study(folder / "study.yaml", changes(server.address))
        command = [sys.executable, "-m", "tools.mirror", study, str(folder / "a mirror")]
        done = subprocess.run(command, cwd=studies.ROOT, capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, done.stdout + done.stderr
        assert f"all {N_FILES} files" in done.stdout and f"{N_FILES} fetched now" in done.stdout
        assert len(server.requests) == N_FILES
        folder.joinpath("address").write_text(server.address)
    return folder


def run_cut(folder, filled, *arguments, mirror="a mirror"):
    """Run the small study in a folder, without network, from a mirror (or none)."""
    # As the Makefile gives it.
    setting = ["--config", f'mirror="{filled / mirror}"'] if mirror else []
    study = filled / "study.yaml"
    return studies.snakemake(folder, *arguments, "--quiet", "progress", *setting, study=study, prefix=CUT)


# The jobs that read downloads; later ones are those of the embedded study, which these tests run without network.
READING = [f"results/small/{path}" for path in ("checkpoint/corpus/train.txt", "qa/data/manifest.json", "qa/base")]


@pytest.mark.parametrize(
    "targets", [pytest.param(READING, id="data"), pytest.param([], id="report", marks=pytest.mark.long)]
)
def test_a_study_of_downloads_runs_from_its_mirror(tmp_path, filled, targets):
    done = run_cut(tmp_path, filled, *targets)
    assert done.returncode == 0, done.output
    results = tmp_path / "results" / "small"
    if not targets:
        assert "accuracy" in (results / "report.html").read_text(encoding="utf-8")
        assert (results / "qa" / "summary.tsv").is_file()
    records = [
        record
        for path in (tmp_path / "resources").rglob("*.retrieved.json")
        for record in json.loads(path.read_text())["files"]
    ]
    assert len({record["url"] for record in records}) == len(records) == N_FILES
    assert {record["from"] for record in records} == {"mirror"}
    for record in records:
        assert record["sha256"] == sha256(filled / "a mirror" / mirror_path(record["url"]))


def test_a_missing_file_is_told_with_its_address_its_place_and_the_mend(tmp_path, filled):
    shutil.copytree(filled / "a mirror", filled / "holed", dirs_exist_ok=True)
    address = (filled / "address").read_text()
    lacking = f"{address}/novels/two.txt"
    (filled / "holed" / mirror_path(lacking)).unlink()
    done = run_cut(tmp_path, filled, "results/small/checkpoint/corpus/train.txt", mirror="holed")
    assert done.returncode != 0 and "Traceback" not in done.output
    message = (
        f"error in rule retrieve_corpus: {lacking} (checkpoint.corpus.files): the mirror has no such file; expected "
        f"{filled / 'holed' / mirror_path(lacking)}. Where there is network, `make mirror STUDY=FILE "
        f"MIRROR={filled / 'holed'}` with this study's file puts it there"
    )
    assert done.output.count(message) == 1, done.output


def test_no_network_and_no_mirror_is_told_as_that(tmp_path, filled):
    lacking = f"{(filled / 'address').read_text()}/pairs.json"
    done = run_cut(tmp_path, filled, "results/small/qa/data/manifest.json", mirror=None)
    assert done.returncode != 0 and "Traceback" not in done.output
    assert done.output.count(f"error in rule retrieve_qa_pairs: {lacking} (qa.data.url): ") == 1, done.output
    for words in ("Network is unreachable", "without network", "give `mirror` a folder", mirror_path(lacking)):
        assert words in done.output, done.output


# ---- The open study itself ------------------------------------------------------------------------------------------


@pytest.mark.skipif(not os.path.isdir(SHARED_MIRROR), reason="no mirror of the open study's files at ../shared/mirror")
def test_the_open_study_finds_every_file_in_its_mirror(tmp_path):
    groups = needed_retrievals(*tool.read_study(OPEN))
    urls = [url for group in groups for url in group["urls"]]
    mirror = ["--config", f'mirror="{SHARED_MIRROR}"']
    done = studies.snakemake(tmp_path, "--dry-run", *mirror, study=OPEN, prefix=CUT)
    assert done.returncode == 0, done.output
    rules = sorted(rule for rule in studies.planned(done.output) if rule.startswith("retrieve_"))
    done = studies.snakemake(tmp_path, *rules, "--quiet", "progress", *mirror, study=OPEN, prefix=CUT)
    assert done.returncode == 0, done.output
    assert len(urls) == 157 and all((tmp_path / "resources" / mirror_path(url)).is_file() for url in urls)
    # The retrieved files are a whole mirror: none is fetched again.
    command = [sys.executable, "-m", "tools.mirror", OPEN, str(tmp_path / "resources")]
    done = without_network(*command, cwd=studies.ROOT)
    assert done.returncode == 0 and "all 157 files" in done.stdout and " 0 fetched now" in done.stdout, done.stdout


# ---- The environment, with empty packages of the right names --------------------------------------------------------


@pytest.fixture
def make(tmp_path):
    """A function that runs make in a new project of that name, its index a folder of wheels or none."""
    index, projects = write_index(tmp_path / "index"), {}

    def run(name, *arguments, network=True):
        if name not in projects:
            projects[name] = Project(tmp_path / name)
            projects[name].write_program("mirror")
        return projects[name].make(*arguments, index=index if network else None, prefix=CUT)

    run.folder = tmp_path
    return run


def test_the_environment_is_installed_from_the_wheels_of_the_mirror(make):
    mirror = make.folder / "a mirror"
    done = make("here", "mirror", "STUDY=studies/open.yaml", f"MIRROR={mirror}")
    assert done.returncode == 0, done.stdout
    assert f"<studies/open.yaml>\n<{mirror}>" in done.stdout
    wheels = sorted(path.name.partition("-")[0] for path in mirror.joinpath("wheels").iterdir())
    assert wheels == sorted(NEEDED) and [path.name for path in mirror.iterdir()] == ["wheels"]
    # Whole wheels stay; a damaged one does not.
    first = mirror / "wheels" / "torch-1.0-py3-none-any.whl"
    stamp = first.stat().st_mtime_ns
    assert "Collecting" not in make("here", "wheels", f"MIRROR={mirror}").stdout and first.stat().st_mtime_ns == stamp
    whole = first.read_bytes()
    first.write_bytes(whole[: len(whole) // 2])
    assert "Collecting" in make("here", "wheels", f"MIRROR={mirror}").stdout and first.read_bytes() == whole

    # Nothing half-collected takes the place of a folder.
    shutil.move(make.folder / "index" / "torch-1.0-py3-none-any.whl", make.folder)
    stopped = make("here", "wheels", f"MIRROR={make.folder / 'other'}")
    assert stopped.returncode == 2 and "collecting the packages stopped; the whole log is" in stopped.stdout
    assert "torch==1.0" in stopped.stdout and not (make.folder / "other" / "wheels").exists()

    # Another machine, without index and compiler.
    done = make("there", "env", f"MIRROR={mirror}", "CXX=no-such-compiler", network=False)
    assert done.returncode == 0, done.stdout
    log = (make.folder / "there" / ".venv" / "install.log").read_text()
    assert log.count(f"Looking in links: {mirror}/wheels\n") == 3 and "Successfully installed fairseq-fixed-1.0" in log


def test_a_wheel_that_the_mirror_lacks_is_told(make):
    mirror = make.folder / "mirror"
    shutil.copytree(make.folder / "index", mirror / "wheels")
    (mirror / "wheels" / "transformers-1.0-py3-none-any.whl").unlink()
    done = make("there", "env", f"MIRROR={mirror}", network=False)
    assert done.returncode == 2 and "No matching distribution found for transformers==1.0" in done.stdout
    assert (
        f"packages were taken from {mirror}/wheels alone. Where there is network, 'make wheels MIRROR=" in done.stdout
    )


def test_make_mirror_asks_for_a_folder(make):
    done = make("here", "mirror")
    assert done.returncode == 2 and "make mirror: name the folder to fill" in done.stdout
    assert not (make.folder / "here" / ".venv").exists()
