"""The conda environments of envs/, the rules that name them, and virtual environments that hold just as much."""

import ast
import importlib.metadata
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import sysconfig

import yaml
from packaging.utils import canonicalize_name

import frameworks
from study.modules import helper_modules
from study.products import generated_rules

ROOT = pathlib.Path(__file__).parents[2]
SCRIPTS = ROOT / "scripts"
ENVIRONMENTS = sorted(path.stem for path in (ROOT / "envs").glob("*.yaml"))
PIN = re.compile(r"^([A-Za-z0-9._-]+)==([A-Za-z0-9.!_-]+)$")


def environment(name):
    return yaml.safe_load((ROOT / "envs" / f"{name}.yaml").read_text(encoding="utf-8"))


def pip_pins(name):
    """{canonical name: version} of an environment's pip section and of its post-deploy script."""
    (section,) = [item for item in environment(name)["dependencies"] if isinstance(item, dict)]
    matches = [PIN.match(text) for text in section["pip"]]
    assert all(matches), f"envs/{name}.yaml has a pip requirement that is no NAME==VERSION"
    found = {canonicalize_name(match[1]): match[2] for match in matches}
    script = ROOT / "envs" / f"{name}.post-deploy.sh"
    if script.exists():
        installed = re.findall(r"^python -m pip install (.*)$", script.read_text(encoding="utf-8"), re.MULTILINE)
        for arguments in installed:
            found |= {canonicalize_name(m[1]): m[2] for m in map(PIN.match, arguments.split()) if m}
    return found


def parse_rules(text):
    """{rule: (script, environment)} of a Snakefile's text: a path below scripts/ and a bare name.

    A rule statement without a name of its own (one for many, in a loop) goes by its script's.

    >>> parse_rules('rule a:\\n    conda: "../envs/x.yaml"\\n    script: "../scripts/room/a.py"\\n')
    {'a': ('room/a.py', 'x')}
    """
    found = {}
    parts = re.split(r"^[ \t]*(?:rule|checkpoint)\b[ \t]*(\w*)[ \t]*:", text, flags=re.MULTILINE)
    for rule, body in zip(parts[1::2], parts[2::2], strict=True):
        script = re.search(r"^\s*script:\s*[\"'](?:(?:\.\./)+scripts/)?(.*\.py)[\"']", body, re.MULTILINE)
        conda = re.search(r"^\s*conda:\s*[\"'](?:.*/)?([\w-]+)\.yaml[\"']", body, re.MULTILINE)
        if script:
            found[rule or pathlib.Path(script[1]).stem] = (script[1], conda[1] if conda else None)
    return found


def rules():
    found = {}
    for path in [*sorted((ROOT / "rules").rglob("*.smk")), ROOT / "Snakefile"]:
        found |= parse_rules(path.read_text(encoding="utf-8"))
    return found | {rule.name: (f"{room}/{rule.name}.py", "report") for room, rule in generated_rules()}


def imports(path):
    """Names of all modules that a Python file imports anywhere, as it writes them."""
    names = set()
    for node in ast.walk(ast.parse(pathlib.Path(path).read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and not node.level:
            names |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return names


def imported(path):
    """Top-level third-party modules that a script imports anywhere, its own helper modules followed."""
    names = set().union(*map(imports, [str(path), *helper_modules(str(path))]))
    found = {name.split(".")[0] for name in names} - sys.stdlib_module_names
    return {name for name in found if not (SCRIPTS / name).exists() and not (SCRIPTS / f"{name}.py").exists()}


def jobs():
    """(rule, script path, environment) of every rule with a script and an environment of its own."""
    return [(rule, SCRIPTS / script, conda) for rule, (script, conda) in sorted(rules().items()) if conda]


def jobs_of_frameworks():
    """(script path, environment) of what runs in the environment of a framework without rules of its own."""
    drivers = [SCRIPTS / script for script, conda in rules().values() if not conda]
    found = [(script, name) for script in drivers for name in ENVIRONMENTS]
    for name in frameworks.names():
        if not (ROOT / "rules" / "frameworks" / f"{name}.smk").is_file():
            folder = SCRIPTS / "frameworks" / name
            found += [(folder / step, frameworks.load(name).ENVIRONMENT) for step in ("train.py", "score.py")]
    return found


def lacking(modules, packages):
    """The modules that no package of the set brings."""
    owners = importlib.metadata.packages_distributions()
    brought = {
        module for module, names in owners.items() if {str(canonicalize_name(name)) for name in names} & set(packages)
    }
    return sorted(set(modules) - brought)


def make_environment(folder, packages):
    """Make an empty virtual environment and link into it those of the installed packages that a set names.

    Nothing else can be imported there: neither the other packages of this interpreter nor the user's.

    Args:
        folder: the environment to make.
        packages: canonical names.

    Returns:
        pathlib.Path: its interpreter.
    """
    subprocess.run([sys._base_executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    (site,) = pathlib.Path(folder).glob("lib/python*/site-packages")
    link_packages(site, packages)
    return pathlib.Path(folder) / "bin" / "python"


def make_prefix(folder, packages=()):
    """Make what conda makes: a Python of its own with packages, as in `make_environment`.

    No virtual environment: it looks into the user's home unless told not to.
    """
    folder, standard = pathlib.Path(folder), pathlib.Path(sysconfig.get_path("stdlib"))
    site = folder / "lib" / standard.name / "site-packages"
    site.mkdir(parents=True)
    (folder / "bin").mkdir()
    shutil.copy2(os.path.realpath(sys._base_executable), folder / "bin" / "python")
    for path in standard.iterdir():
        if path.name not in ("site-packages", "dist-packages"):
            (site.parent / path.name).symlink_to(path)
    # Where Debian's own Python looks.
    (site.parent / "dist-packages").symlink_to(site.name)
    link_packages(site, packages)
    return folder / "bin" / "python"


def link_packages(site, packages):
    """Link those of the installed packages that a set names into a folder site-packages."""
    files, owners = {}, {}
    for distribution in importlib.metadata.distributions():
        name = str(canonicalize_name(distribution.metadata["Name"]))
        for file in distribution.files or []:
            if file.parts[0] not in ("..", "__pycache__") and file.suffix != ".pyc":
                files.setdefault(name, []).append((file, distribution))
                owners.setdefault(file.parts[0], set()).add(name)
    for name in sorted(packages):
        for file, distribution in files[name]:
            # A folder that only these packages share is linked whole, one shared with others file by file.
            path = pathlib.Path(file.parts[0]) if owners[file.parts[0]] <= set(packages) else pathlib.Path(file)
            link = site / path
            if not link.is_symlink():
                link.parent.mkdir(parents=True, exist_ok=True)
                link.symlink_to(pathlib.Path(distribution.locate_file(path)).absolute())


def install_environment(folder, name):
    """Make a virtual environment as conda would: the pip section alone, then the post-deploy script.

    Returns:
        pathlib.Path: its interpreter.
    """
    subprocess.run([sys._base_executable, "-m", "venv", str(folder)], check=True)
    python = pathlib.Path(folder) / "bin" / "python"
    dependencies = environment(name)["dependencies"]
    (section,) = [item["pip"] for item in dependencies if isinstance(item, dict)]
    (pip,) = [item.replace(" =", "==") for item in dependencies if isinstance(item, str) and item.startswith("pip ")]
    for pins in ([pip], section):
        subprocess.run([str(python), "-m", "pip", "install", "--quiet", *pins], check=True)
    script = ROOT / "envs" / f"{name}.post-deploy.sh"
    if script.exists():
        path = f"{python.parent}{os.pathsep}{os.environ['PATH']}"
        subprocess.run(["bash", str(script)], check=True, env=os.environ | {"PATH": path})
    return python


# Import modules, then call the main of others: [module, its named arguments] each.
PROGRAM = """
import importlib, json, sys
scripts, modules, calls = json.loads(sys.argv[1])
sys.path.insert(0, scripts)
for module in modules:
    try:
        importlib.import_module(module)
    except ImportError as error:
        sys.exit(f"{module}: {error}")
for module, arguments in calls:
    importlib.import_module(module).main(**arguments)
"""


def run_in(python, folder, modules=(), calls=(), scripts=SCRIPTS):
    """Import modules and call mains in an environment; return its errors, "" if there are none."""
    run = subprocess.run(
        [str(python), "-P", "-c", PROGRAM, json.dumps([str(scripts), list(modules), list(calls)])],
        cwd=folder,
        env={name: value for name, value in os.environ.items() if not name.startswith("PYTHON")},
        capture_output=True,
        text=True,
        timeout=600,
    )
    return "" if run.returncode == 0 else run.stderr.strip() or f"status {run.returncode}"
