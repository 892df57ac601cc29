"""The Makefile in small projects of their own, with empty packages of the right names, or stand-ins for the tools."""

import io
import os
import shutil
import subprocess
import sys
import tarfile
import zipfile

from support import studies

# {name of a package: its module}: what the environment needs, and the tests beside it.
NEEDED = {"torch": "torch", "snakemake": "snakemake", "transformers": "transformers", "fairseq_fixed": "fairseq"}
TOOLS = ("pytest", "ruff", "snakefmt", "snakemake", "tensorboard")


def write_wheel(folder, name, version, module):
    """Write the wheel of a package whose one module is empty."""
    with zipfile.ZipFile(folder / f"{name}-{version}-py3-none-any.whl", "w") as wheel:
        info = f"{name}-{version}.dist-info"
        wheel.writestr(f"{module}/__init__.py", "")
        wheel.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
        wheel.writestr(
            f"{info}/WHEEL", "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        wheel.writestr(f"{info}/RECORD", "")


# Builds by running setup.py, as setuptools would, and needs neither it nor a compiler: the wheel's module says what
# extensions it was asked for.
BACKEND = """
import os, sys, time, types, zipfile

def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    {before}
    asked = {{}}
    sys.modules["setuptools"] = types.SimpleNamespace(setup=lambda **options: asked.update(options))
    with open("setup.py", encoding="utf-8") as handle:
        exec(handle.read(), {{}})
    name = "{name}-{version}-py3-none-any.whl"
    with zipfile.ZipFile(os.path.join(wheel_directory, name), "w") as wheel:
        info = "{name}-{version}.dist-info"
        wheel.writestr("{module}/__init__.py", "EXTENSIONS = " + repr({text}))
        wheel.writestr(info + "/METADATA", "Metadata-Version: 2.1\\nName: {name}\\nVersion: {version}\\n")
        tags = "Root-Is-Purelib: true\\nTag: py3-none-any\\n"
        wheel.writestr(info + "/WHEEL", "Wheel-Version: 1.0\\nGenerator: test\\n" + tags)
        wheel.writestr(info + "/RECORD", "")
    return name

def prepare_metadata_for_build_wheel(metadata_directory, config_settings=None):
    info = "{name}-{version}.dist-info"
    os.mkdir(os.path.join(metadata_directory, info))
    with open(os.path.join(metadata_directory, info, "METADATA"), "w") as handle:
        handle.write("Metadata-Version: 2.1\\nName: {name}\\nVersion: {version}\\n")
    return info
"""


def write_source(folder, name, version, module, before="pass", requires=(), text='asked["ext_modules"]'):
    """Write the source distribution of a package whose setup.py asks for extensions as fairseq's does.

    Args:
        folder: where it goes.
        name: the package's.
        version: the package's.
        module: its one module, whose EXTENSIONS are those that it was built with.
        before: a statement that its build begins with.
        requires: the packages that its build asks for.
        text: expression in place of the extensions.
    """
    files = {
        "pyproject.toml": '[build-system]\nbuild-backend = "backend"\nbackend-path = ["."]\n'
        f"requires = {list(requires)}\n",
        "backend.py": BACKEND.format(name=name, version=version, module=module, before=before, text=text),
        "setup.py": 'from setuptools import setup\nextensions = ["bleu", "data", "blocks", "base", "nat"]\n'
        "setup(\n    ext_modules=extensions,\n)\n",
        "PKG-INFO": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n",
    }
    with tarfile.open(folder / f"{name}-{version}.tar.gz", "w:gz") as archive:
        for file, text in files.items():
            entry = tarfile.TarInfo(f"{name}-{version}/{file}")
            entry.size = len(text.encode())
            archive.addfile(entry, io.BytesIO(text.encode()))


def write_index(folder):
    """Write the wheels of all packages that a `Project` asks for into a new folder; return the folder."""
    folder.mkdir()
    for name, module in {**NEEDED, "pytest": "pytest"}.items():
        write_wheel(folder, name, "1.0", module)
    return folder


class Project:
    """A new folder with the Makefile and lock files that ask for empty packages.

    Attributes:
        folder: the project's.
    """

    def __init__(self, folder):
        self.folder = folder
        folder.mkdir()
        shutil.copy(os.path.join(studies.ROOT, "Makefile"), folder)
        for name in ("scripts", "tools"):
            shutil.copytree(
                os.path.join(studies.ROOT, name), folder / name, ignore=shutil.ignore_patterns("__pycache__")
            )
        (folder / "requirements.txt").write_text("torch==1.0\nsnakemake==1.0\ntransformers==1.0\n")
        (folder / "requirements-fairseq.txt").write_text("fairseq-fixed==1.0\n")
        (folder / "requirements-test.txt").write_text("-c requirements.txt\npytest==1.0\n")

    def make(self, *arguments, index=None, prefix=(), **variables):
        """Run make.

        Args:
            arguments: arguments of make.
            index: folder of wheels in place of a package index, or None: whatever is configured.
            prefix: words before the command.
            variables: environment variables.

        Returns:
            subprocess.CompletedProcess: with stdout and stderr together in `stdout`.
        """
        # The tests may be a make's own: `make test TESTS=...`.
        outer = ("PIP_", "MAKE", "PYTHON", "TESTS", "ARGS", "HASHES")
        clean = {name: value for name, value in os.environ.items() if not name.startswith(outer)}
        variables["PIP_CONFIG_FILE"] = os.devnull
        if index:
            variables |= {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(index)}
        return subprocess.run(
            [*prefix, "make", f"PYTHON={sys.executable}", "VENV=.venv", *arguments],
            cwd=self.folder,
            env=clean | variables,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=900,
        )

    def write_program(self, name):
        """Write a program in place of tools/NAME.py that prints its arguments."""
        (self.folder / "tools").mkdir(exist_ok=True)
        (self.folder / "tools" / f"{name}.py").write_text(
            "import sys\nprint(*map('<{}>'.format, sys.argv[1:]), sep='\\n')\n"
        )

    def finish_environment(self):
        """Write an environment that make takes for a finished one, of stand-ins that print name and arguments."""
        tools = self.folder / ".venv" / "bin"
        tools.mkdir(parents=True)
        (tools / "python").symlink_to(sys.executable)
        (tools / "pip").write_text(f"#!{tools / 'python'}\n")
        for tool in TOOLS:
            (tools / tool).write_text('#!/bin/sh\nprintf "<%s>\\n" "${0##*/}" "$@"\n')
            (tools / tool).chmod(0o755)
        for name in ("RUN_STAMP", "TEST_STAMP"):
            (self.folder / self.variable(name)).touch()

    def variable(self, name):
        """Return what a variable of the Makefile holds."""
        (value,) = [
            line.partition(" := ")[2]
            for line in self.make("--print-data-base", "--dry-run").stdout.splitlines()
            if line.startswith(f"{name} := ")
        ]
        return value
