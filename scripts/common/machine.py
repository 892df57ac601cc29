"""A job's record of its circumstances: time, code, settings, machine.

It uses the standard library only, since every environment runs it: psutil lacks the processor's name, and py-cpuinfo
would be another package in each environment.
"""

import datetime
import hashlib
import importlib.metadata
import json
import os
import platform
import subprocess
import sys

# These settings name places of files on one machine and do not define the study.
PLACES = ("mirror",)
# These sections decide how results are shown, and no result.
SHOWN = ("report", "claims")


def now():
    """Return the time in UTC to the second, such as `2026-01-31T12:00:00+00:00`."""
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")


def study_settings(config):
    """Return the settings of a study without the keys of `PLACES`."""
    return {key: value for key, value in config.items() if key not in PLACES}


def result_settings(config):
    """Return the settings that decide a study's results: none of one machine's places, none of the page's looks."""
    return {key: value for key, value in study_settings(config).items() if key not in SHOWN}


def settings_hash(settings):
    """Return the SHA-256 of settings as JSON with sorted keys and no spaces, in hexadecimal."""
    encoded = json.dumps(settings, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(encoded.encode("utf-8")).hexdigest()


def package_versions(packages):
    """Return {package: version} of those that are installed, and of Python."""
    found = {"python": platform.python_version()}
    for package in packages:
        try:
            found[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


def commit(folder=None):
    """Return the commit of the code in use, with `-dirty` after it where files differ; empty outside git.

    No parameter of the job: every commit would train every run again.

    Args:
        folder: a folder of the repository; None: this file's, or what STUDY_COMMIT says, as jobs in containers and
            without the repository have it from rules/common.smk.
    """
    if folder is None and os.environ.get("STUDY_COMMIT"):
        return os.environ["STUDY_COMMIT"]
    folder = folder or os.path.dirname(os.path.abspath(__file__))
    command = ["git", "-C", folder, "describe", "--always", "--dirty", "--abbrev=40", "--exclude=*"]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return ""


def cpu_model(path="/proc/cpuinfo"):
    """Return the processor's name as Linux gives it, else as Python does."""
    try:
        with open(path, encoding="utf-8") as handle:
            names = [line.partition(":")[2].strip() for line in handle if line.startswith("model name")]
    except OSError:
        names = []
    return names[0] if names else platform.processor() or platform.machine()


def machine():
    """Return the facts behind time and rounding: processor, cores and memory, GPU, operating system; never a host name.

    Returns:
        dict: cpu (str); cores (int, those that this job may use); memory_mb (int or None); gpu (str or None);
        os (str).
    """
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    try:
        memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2**20
    except (ValueError, OSError, AttributeError):
        memory = None
    # PyTorch is not imported here, because rules without it also use this module.
    torch = sys.modules.get("torch")
    gpu = torch.cuda.get_device_name(0) if torch is not None and torch.cuda.is_available() else None
    return {
        "cpu": cpu_model(),
        "cores": cores,
        "memory_mb": memory,
        "gpu": gpu,
        "os": f"{platform.system()} {platform.release()} {platform.machine()}",
    }


def job_record(settings):
    """Return what a job that starts now records of itself; it adds `ended` (`now`) when it writes its record.

    Args:
        settings: the parameters that decide its result, as plain types.

    Returns:
        dict: started, commit, settings_sha256, machine.
    """
    return {
        "started": now(),
        "commit": commit(),
        "settings_sha256": settings_hash(settings),
        "machine": machine(),
    }
