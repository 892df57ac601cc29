"""The installed packages: hashes of every locked file, locked build tools, actions by commit, licences."""

import ast
import hashlib
import importlib.metadata
import importlib.util
import os
import re

import pytest
from packaging.utils import canonicalize_name

from study import isolation
from support.environments import ROOT
from support.makefile import Project, write_index, write_source, write_wheel

HASHED = ROOT / "envs" / "hashes"


def tool(name):
    """A module of .ci/."""
    spec = importlib.util.spec_from_file_location(name, ROOT / ".ci" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


hashes, licences = tool("hashes"), tool("licences")


# --- hashes: what is listed -------------------------------------------------------------------------------------------


def faults_of_hashes(text, pins):
    """Return the faults of a file of hashes for those pins, in words."""
    if hashes.read_pins(text) != pins:
        yield "it does not list the lock's packages and versions: run `make lock`"
    for name, digests in hashes.read_hashes(text).items():
        if not digests:
            yield f"{name} has no hash"
    for line in text.splitlines():
        if not re.fullmatch(r"#.*|[\w.-]+==[\w.!-]+( \\)?|    --hash=sha256:[0-9a-f]{64}( \\)?", line):
            yield f"neither a pin nor a hash: {line}"


@pytest.mark.parametrize("path", [*hashes.LOCKS, "cuda.txt", hashes.DOCS])
def test_every_locked_package_has_hashes(path):
    text = (ROOT / path if path == hashes.DOCS else HASHED / path).read_text(encoding="utf-8")
    lock = ROOT / path
    pins = hashes.read_pins(lock.read_text(encoding="utf-8")) if lock.exists() else hashes.read_pins(text)
    assert len(pins) > 0 and list(faults_of_hashes(text, pins)) == []


def test_a_pin_without_hash_and_a_stale_file_are_noticed():
    digest = "--hash=sha256:" + "0" * 64
    whole = f"a==1.0 \\\n    {digest} \\\n    {digest}\nb==2.0 \\\n    {digest}\n"
    assert list(faults_of_hashes(whole, {"a": "1.0", "b": "2.0"})) == []
    assert list(faults_of_hashes(f"a==1.0 \\\n    {digest}\nb==2.0\n", {"a": "1.0", "b": "2.0"})) == ["b has no hash"]
    assert len(list(faults_of_hashes(whole, {"a": "1.0", "b": "2.1"}))) == 1
    assert "b has no hash" in list(faults_of_hashes(whole[:-5] + "\n", {"a": "1.0", "b": "2.0"}))


def test_all_that_pip_may_install_is_listed_and_nothing_else():
    def listed(*names):
        return [{"filename": name, "hashes": {"sha256": name}} for name in names]

    usable = ["a-1.0-cp311-cp311-manylinux_2_28_x86_64.whl", "a-1.0-cp311-cp311-manylinux2014_aarch64.whl"]
    usable += ["a-1.0-cp39-abi3-linux_x86_64.whl", "a-1.0-py2.py3-none-any.whl", "a-1.0.tar.gz"]
    usable += ["a-1.0-cp312-cp312-manylinux_2_28_x86_64.whl", "a-1.0-cp313-cp313-manylinux_2_28_x86_64.whl"]
    other = ["a-1.0-cp314-cp314-manylinux_2_28_x86_64.whl", "a-1.0-cp314-abi3-manylinux_2_28_x86_64.whl"]
    other += ["a-1.0-cp313-cp313t-manylinux_2_28_x86_64.whl", "a-1.0-cp310-cp310-manylinux_2_28_x86_64.whl"]
    other += ["a-1.0-cp311-cp311-macosx_11_0_arm64.whl", "a-1.0-cp311-cp311-musllinux_1_2_x86_64.whl"]
    other += ["a-1.0-cp311-cp311-win_amd64.whl", "a-1.0.1.tar.gz", "a-1.0-py3.11.egg", "a-1.0.exe"]
    (line,) = hashes.hashed({"a": "1.0"}, {"a": listed(*usable, *other)})
    assert line.split(" \\\n    ") == ["a==1.0", *(f"--hash=sha256:{name}" for name in sorted(usable))]
    with pytest.raises(SystemExit, match="the index lists no file of a 1.0 with a SHA-256"):
        hashes.hashed({"a": "1.0"}, {"a": [{"filename": "a-1.0.tar.gz", "hashes": {}}]})
    # PyPI does not list the builds of PyTorch's own index.
    with pytest.raises(SystemExit, match="PYTORCH_CPU lacks torch 1.0"):
        hashes.hashed({"torch": "1.0"}, {"torch": listed("torch-1.0.tar.gz")})


def test_hashes_of_both_kinds_of_pytorch_are_listed():
    version = hashes.read_pins((ROOT / "requirements.txt").read_text(encoding="utf-8"))["torch"]
    found = hashes.read_hashes((HASHED / "requirements.txt").read_text(encoding="utf-8"))["torch"]
    assert set(hashes.PYTORCH_CPU[version]) < set(found)


# --- hashes: what is refused ------------------------------------------------------------------------------------------


# The traces that a build has of its tools.
VARIABLES = 'os.environ.get("PIP_CONSTRAINT"), os.environ.get("PIP_BUILD_CONSTRAINT")'
TOOLS = f'(importlib.metadata.version("wheel"), {VARIABLES})'


@pytest.fixture
def make(tmp_path):
    """A function that runs make in a project whose packages are empty, with their hashes, without any network."""
    project, index = Project(tmp_path / "a project"), write_index(tmp_path / "wheels")
    write_wheel(index, "nvidia_stub", "1.0", "nvidia_stub")
    # A package without a wheel, and what builds it.
    write_wheel(index, "wheel", "1.0", "wheel")
    write_wheel(index, "wheel", "2.0", "wheel")
    write_source(index, "from_source", "1.0", "from_source", "import importlib.metadata", ["wheel"], TOOLS)
    with (project.folder / "requirements.txt").open("a") as lock:
        lock.write("wheel==1.0\nfrom-source==1.0\n")
    folder = project.folder / "envs" / "hashes"
    folder.mkdir(parents=True)

    def write_hashes():
        files = {re.match(r"(.*)-1\.0", path.name)[1]: path for path in index.iterdir() if "-1.0" in path.name}
        for name in hashes.LOCKS:
            pins = hashes.read_pins((project.folder / name).read_text())
            lines = [line_of(package, files[package.replace("-", "_")]) for package in pins]
            (folder / name).write_text("# hashes\n" + "".join(lines))
        (folder / "cuda.txt").write_text(line_of("nvidia-stub", files["nvidia_stub"]))

    def line_of(package, path):
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        return f"{package}==1.0 \\\n    --hash=sha256:{'0' * 64} \\\n    --hash=sha256:{digest}\n"

    def run(*arguments, **variables):
        return project.make(*arguments, index=index, **variables)

    write_hashes()
    run.project, run.index, run.folder = project.folder, index, folder
    run.finish_environment = project.finish_environment
    return run


def versions(make):
    """{canonical name: version} of the packages in the project's environment."""
    site = next(make.project.glob(".venv/lib/*/site-packages"))
    found = importlib.metadata.distributions(path=[str(site)])
    return {canonicalize_name(each.metadata["Name"]): each.version for each in found}


def built_with(make, module="from_source"):
    """Return the build tools of a package without a wheel: wheel's version, constraints for pip and for builds."""
    site = next(make.project.glob(".venv/lib/*/site-packages"))
    return ast.literal_eval((site / module / "__init__.py").read_text().partition(" = ")[2])


@pytest.mark.workflow
def test_verified_files_are_installed_and_others_refused(make):
    # An environment that was not verified is not taken for one that was.
    make.finish_environment()
    done = make("test-env", "HASHES=1")
    assert done.returncode == 0 and "was installed without hashes: recreating it" in done.stdout, done.stdout
    # 1.0 and not 1.0+cpu: the build that needs CUDA's libraries.
    assert {"torch", "nvidia-stub", "fairseq-fixed", "pytest", "from-source"} <= set(versions(make))
    assert built_with(make) == ("1.0", ".venv/build-tools.txt", None)
    # It serves as an ordinary one, too.
    for arguments in (["env"], ["test-env"], ["test-env", "HASHES=1"]):
        assert "Nothing to be done" in make(*arguments).stdout


@pytest.mark.workflow
@pytest.mark.parametrize(
    "lock, package",
    [
        ("requirements.txt", "snakemake"),
        # The other steps: build tools, CUDA's libraries, fairseq, test tools.
        pytest.param("requirements.txt", "wheel", marks=pytest.mark.slow),
        pytest.param("cuda.txt", "nvidia-stub", marks=pytest.mark.slow),
        pytest.param("requirements-fairseq.txt", "fairseq-fixed", marks=pytest.mark.slow),
        pytest.param("requirements-test.txt", "pytest", marks=pytest.mark.slow),
    ],
)
def test_another_file_than_the_listed_one_is_refused(make, lock, package):
    # As if the index offered another file by the same name: the listed hashes are others.
    whole = (make.folder / lock).read_text()
    digest = re.search(rf"^{package}==1.0 .*\n.*\n    --hash=sha256:(\w+)$", whole, re.MULTILINE)[1]
    (make.folder / lock).write_text(whole.replace(digest, "f" * 64))
    refused = make("test-env", "HASHES=1")
    assert refused.returncode == 2 and "DO NOT MATCH THE HASHES" in refused.stdout, refused.stdout
    assert f"{package}==1.0" in refused.stdout and (make.project / ".venv" / ".unfinished").exists()


@pytest.mark.slow
@pytest.mark.workflow
def test_a_file_without_hash_is_refused(make):
    (make.folder / "requirements-fairseq.txt").write_text("fairseq-fixed==1.0\n")
    refused = make("env", "HASHES=1")
    assert refused.returncode == 2 and "Hashes are required in --require-hashes mode" in refused.stdout


@pytest.mark.slow
@pytest.mark.workflow
def test_wheels_are_collected_from_verified_files_and_not_verified_twice(make):
    mirror = make.project.parent / "mirror"
    done = make("wheels", f"MIRROR={mirror}", "HASHES=1")
    assert done.returncode == 0, done.stdout
    names = {path.name.partition("-")[0] for path in (mirror / "wheels").iterdir()}
    assert {"torch", "from_source", "fairseq_fixed", "nvidia_stub"} <= names
    # Here packages were built, and no index lists their hashes.
    refused = make("env", f"MIRROR={mirror}", "HASHES=1", "VENV=other")
    assert refused.returncode == 2 and "holds packages that were built elsewhere" in refused.stdout
    assert not (make.project / "other").exists()


# --- the tools that build packages ------------------------------------------------------------------------------------


@pytest.mark.workflow
def test_packages_without_a_wheel_are_built_with_locked_tools(make):
    # The index has wheel 2.0, too, which pip would take for the build.
    (make.index / "fairseq_fixed-1.0-py3-none-any.whl").unlink()
    write_source(make.index, "fairseq_fixed", "1.0", "fairseq", "import importlib.metadata", (), TOOLS)
    done = make("env")
    assert done.returncode == 0, done.stdout
    assert built_with(make) == ("1.0", ".venv/build-tools.txt", ".venv/build-tools.txt")
    # fairseq is built in the environment itself, where pip 25.3 and later refuse constraints for builds.
    assert built_with(make, "fairseq") == ("1.0", ".venv/build-tools.txt", None)
    # And a constraint of the user's own still counts.
    (make.project.parent / "more.txt").write_text("wheel!=1.0\n")
    done = make("wheels", "MIRROR=mirror", PIP_CONSTRAINT=str(make.project.parent / "more.txt"))
    assert done.returncode == 2, done.stdout


def test_conda_builds_packages_with_locked_tools_where_paths_have_blanks(tmp_path, monkeypatch):
    lock = tmp_path / "a project" / "requirements.txt"
    monkeypatch.setattr(isolation, "LOCK", str(lock))
    monkeypatch.setenv("PIP_BUILD_CONSTRAINT", "mine.txt")
    for _ in range(2):  # every job's Snakemake does it again
        isolation.pin_build_tools()
        assert os.environ["PIP_BUILD_CONSTRAINT"] == f"mine.txt file://{tmp_path}/a%20project/requirements.txt"
    monkeypatch.undo()
    assert isolation.LOCK == str(ROOT / "requirements.txt") and os.path.exists(isolation.LOCK)
    # pip reads the variable from 25.3 on, and refuses it without an environment of the build's own.
    assert all("  - pip =25.3\n" in path.read_text() for path in (ROOT / "envs").glob("*.yaml"))
    script = (ROOT / "envs" / "fairseq.post-deploy.sh").read_text()
    assert re.search(r"^unset PIP_BUILD_CONSTRAINT\n.*--no-build-isolation", script, re.MULTILINE)


def test_the_workflow_pins_build_tools_when_it_is_read():
    text = (ROOT / "rules" / "common.smk").read_text(encoding="utf-8")
    assert re.search(r"^    pin_build_tools\(\)$", text, re.MULTILINE)


# --- actions ----------------------------------------------------------------------------------------------------------


def unpinned(text):
    """The actions of a workflow that are not named by a commit with its release in a comment."""
    used = re.findall(r"^\s*(?:- )?uses:\s*(.+?)\s*$", text, re.MULTILINE)
    return [action for action in used if not re.fullmatch(r"[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", action)]


@pytest.mark.parametrize("path", sorted((ROOT / ".github" / "workflows").glob("*.y*ml")), ids=lambda path: path.name)
def test_actions_are_pinned_by_commit(path):
    text = path.read_text(encoding="utf-8")
    assert "uses:" in text and unpinned(text) == []


def test_an_action_by_tag_is_noticed():
    commit = "0123456789abcdef" * 2 + "01234567"
    text = f"  - uses: a/b@{commit} # v1.2.3\n  - name: x\n    uses: a/c@v4\n"
    text += f"  - uses: a/d@{commit}\n  - uses: a/e@main\n"
    assert unpinned(text) == ["a/c@v4", f"a/d@{commit}", "a/e@main"]


# --- licences ---------------------------------------------------------------------------------------------------------


def test_the_page_lists_the_licence_of_every_locked_package():
    text = (ROOT / licences.PAGE).read_text(encoding="utf-8")
    assert text == licences.page(licences.read_pins(ROOT)), f"{licences.PAGE} is out of date: run `make lock`"
    rows = re.findall(r"^\| ([\w.-]+) \| (\d[^ ]*) \| ([^|]*\w[^|]*) \| [^|]+ \|$", text, re.MULTILINE)
    locked = [pair for path in licences.LOCKS for pair in hashes.read_pins((ROOT / path).read_text()).items()]
    assert [(name, version) for name, version, _ in rows] == locked


def distribution(folder, metadata, licence=None):
    """A package whose metadata has those lines, and perhaps a licence file."""
    info = folder / "stub-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: stub\nVersion: 1.0\n{metadata}")
    (info / "RECORD").write_text("stub-1.0.dist-info/METADATA,,\nstub-1.0.dist-info/licenses/LICENSE.txt,,\n")
    (info / "licenses").mkdir()
    (info / "licenses" / "LICENSE.txt").write_text(licence or "")
    return importlib.metadata.Distribution.at(info)


CLASSIFIER = "Classifier: License :: OSI Approved :: BSD License\n"


@pytest.mark.parametrize(
    "metadata, licence, expected",
    [
        ("License-Expression: MIT\nLicense: no\n" + CLASSIFIER, None, ("MIT", "License-Expression")),
        ("License: Dual License\n" + CLASSIFIER, None, ("Dual License (BSD License)", "License, classifiers")),
        ("License: PSF-2.0\n", None, ("PSF-2.0", "License")),
        ("License: Copyright me\n        All rights\n" + CLASSIFIER, None, ("BSD License", "classifiers")),
        ("", "\n  MIT License\n\nCopyright\n", ("MIT License", "licence file `LICENSE.txt`")),
    ],
)
def test_a_licence_is_read_from_where_it_is_stated(tmp_path, metadata, licence, expected):
    assert licences.licence(distribution(tmp_path, metadata, licence)) == expected


def test_a_package_without_licence_stops_make_lock(tmp_path):
    silent = distribution(tmp_path, "Classifier: Programming Language :: Python\n")
    with pytest.raises(SystemExit, match="stub states no licence"):
        licences.page({"requirements.txt": {"stub": "1.0"}}, lambda name: silent)
