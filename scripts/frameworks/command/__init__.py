"""Anyone's trainer: a command that trains and a command that predicts: facts."""

import glob
import os
import re
import shlex

import tasks

LABEL = "command"
ENVIRONMENT = "data"
INITS = ("none",)
PAIRS = True
TASKS = tuple(tasks.names())
METHOD = "were trained once each by commands of the study file, which alone decide how"
# The placeholders of each command.
PLACEHOLDERS = {
    "train": ("train", "valid", "seed", "out", "threads"),
    "predict": ("model", "texts", "predictions", "threads"),
    "version": (),
}
NEEDED = {"train": ("train", "out"), "predict": ("model", "texts", "predictions"), "version": ()}
PLACED = ("conda", "threads", "mem_mb", "gpu", "hours")
SETTINGS = {
    "train": {"description": "command that trains, with {train}, {valid}, {seed}, {out}; command only"},
    "predict": {"description": "command that predicts, with {model}, {texts}, {predictions}; command only"},
    "version": {"description": "command whose output is recorded as the trainer's version; command only"},
    "conda": {"description": "file of the conda environment of its jobs; command only"},
    "threads": {"description": "CPU threads of its jobs, 1 by default; command only", "type": "integer", "minimum": 1},
    "mem_mb": {"description": "memory of its jobs in MB; command only", "type": "integer", "minimum": 1},
    "gpu": {"description": "GPUs of its jobs, 0 by default; command only", "type": "integer", "minimum": 0},
    "hours": {
        "description": "hours after which a command is stopped, 4 by default; command only",
        "type": "number",
        "exclusiveMinimum": 0,
        "maximum": 10000,
    },
}
for _key in ("train", "predict", "version", "conda"):
    SETTINGS[_key] |= {"type": "string", "minLength": 1, "maxLength": 10000}


def READS(arm, seed):
    """Return the files that the commands name, such as a script, and those in folders that they name.

    An edit to one trains the arm's runs again. Hidden files and folders in a folder are left out.
    """
    words = [word for key in PLACEHOLDERS if arm.get(key) for word in shlex.split(arm[key])]
    inside = [glob.glob(os.path.join(glob.escape(word), "*")) if is_path(word) else [] for word in words]
    files = [path for word, files in zip(words, inside, strict=True) for path in (word, *sorted(files))]
    return [path for path in dict.fromkeys(files) if os.path.isfile(path)]


def is_path(word):
    """Tell whether a word of a command names a file, or, with a slash in it, a folder; `train` may be a bare word."""
    return os.path.isfile(word) or ("/" in word and os.path.isdir(word))


def faults(finetuning, name):
    """Yield commands that are missing or cannot be split, and placeholders that they lack or that there are not."""
    arm, place = finetuning["arms"][name], f"finetuning.arms.{name}"
    for key, known in PLACEHOLDERS.items():
        if not arm.get(key):
            if key != "version":
                yield f"{place} has no {key}; give the command, with {in_words(NEEDED[key])}"
            continue
        try:
            split = shlex.split(arm[key])
        except ValueError as error:
            yield f"{place}.{key} cannot be split into words ({error}); close the quotation mark"
            continue
        if not split:
            yield f"{place}.{key} is blank; give the command"
        # Doubled braces are a command's own, such as those of awk.
        used = re.findall(r"\{(\w+)\}", arm[key].replace("{{", "").replace("}}", ""))
        for one in used:
            if one not in known:
                yield f"{place}.{key} has {{{one}}}; known: {in_words(known) or 'none'} (write {{{{ for a brace)"
        if lacking := [one for one in NEEDED[key] if one not in used]:
            yield f"{place}.{key} lacks {in_words(lacking)}; put it into the command"
    if arm.get("conda") and not os.path.isfile(arm["conda"]):
        yield f"{place}.conda: there is no file {arm['conda']}; name the YAML file of an environment"


def in_words(names):
    """Return placeholders as they are written."""
    return ", ".join(f"{{{name}}}" for name in names)
