"""Shared parts of the benchmarks: a prepared study, the plain commands on it, and a command's cost."""

import glob
import os
import shutil
import subprocess
import sys
import time

import yaml

from common.machine import commit, machine, now, package_versions
from study.configuration import load_study
from training.batching import count_updates
from training.precision import resolve_precision
from training.process import PACKAGES
from training.schedule import warmup_updates

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
FRAMEWORKS = ("fairseq", "huggingface")
BIN = os.path.dirname(os.path.abspath(sys.executable))


def timed(command, log, threads=None):
    """Run a command from the project's folder and return what it cost.

    Args:
        command: list of words.
        log: file for its output.
        threads: value of OMP_NUM_THREADS; None: the command decides.

    Returns:
        dict: started (seconds since 1970), seconds, cpu_seconds, peak_mb (its largest process); floats.

    Raises:
        SystemExit: the command failed; the message names its log.
    """
    # The plug-in, which `fairseq-train` imports by its folder, imports its room.
    environment = {**os.environ, "PYTHONPATH": os.path.join(ROOT, "scripts")}
    environment |= {"OMP_NUM_THREADS": str(threads)} if threads else {}
    started, clock = time.time(), time.monotonic()
    with open(log, "wb") as handle:
        child = subprocess.Popen(command, stdout=handle, stderr=subprocess.STDOUT, cwd=ROOT, env=environment)
        _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        sys.exit(f"benchmark: {os.path.basename(command[0])} ended with {child.returncode}; its log: {log}")
    return {
        "started": started,
        "seconds": time.monotonic() - clock,
        "cpu_seconds": usage.ru_utime + usage.ru_stime,
        "peak_mb": usage.ru_maxrss / 1024,
    }


def circumstances():
    """Return what a benchmark's record says of the machine and the code that it was measured with."""
    return {"machine": machine(), "versions": package_versions(PACKAGES), "commit": commit(), "ended": now()}


class Study:
    """A study of `benchmarks/`, prepared as far as both sides start from it.

    Attributes: name; config (all of it); results (its folder); plain (folder of the plain side).
    """

    def __init__(self, path, name, changes, mirror):
        self.name, self.mirror = name, mirror
        self.results = os.path.join(ROOT, "results", name)
        self.plain = os.path.join(self.results, "plain")
        os.makedirs(self.plain, exist_ok=True)
        self.files = [path, os.path.join(self.plain, "study.yaml")]
        with open(self.files[1], "w", encoding="utf-8") as handle:
            yaml.safe_dump({**changes, "study": name}, handle)
        self.config, _ = load_study(ROOT, *self.files)

    def snakemake(self, *targets, threads=None):
        """Return the command of the workflow that makes targets, paths in the results folder.

        Args:
            targets: what is to be made.
            threads: threads of every training and evaluation; None: the rules' own, one.
        """
        command = [os.path.join(BIN, "snakemake"), "--cores", "all", "--configfile", *self.files]
        if threads:
            rules = [f"{work}_{framework}" for work in ("finetune", "evaluate") for framework in FRAMEWORKS]
            command += ["--set-threads", *(f"{rule}={threads}" for rule in [*rules, "pretrain"])]
        command += ["--config", f'mirror="{os.path.abspath(self.mirror)}"'] if self.mirror else []
        return [*command, "--", *(f"results/{self.name}/{target}" for target in targets)]

    def prepare(self):
        """Make data and checkpoint in both forms, and one folder of all splits for `fairseq-train`."""
        targets = ["checkpoint/huggingface", "finetuning/data-bin/train-valid", "finetuning/data-bin/test"]
        targets += [f"finetuning/token-ids/checkpoint/{split}.parity.json" for split in ("train", "valid", "test")]
        timed(self.snakemake(*targets), os.path.join(self.plain, "prepare.log"))
        for part in ("input0", "label"):
            folder = os.path.join(self.plain, "data-bin", part)
            os.makedirs(folder, exist_ok=True)
            for source in ("train-valid", "test"):
                for path in glob.glob(os.path.join(self.results, "finetuning", "data-bin", source, part, "*")):
                    shutil.copy(path, folder)

    def updates(self):
        """Return the updates of a run and of its warm-up."""
        settings = self.config["finetuning"]["training"]
        updates = count_updates(self.config["data"]["n_train"], settings["batch_size"], settings["epochs"])
        return updates, warmup_updates(updates, settings["warmup_ratio"])

    def plain_command(self, kind, init, seed, out):
        """Return the plain command of a run that writes into the folder `out`, its TensorBoard files among it.

        Args:
            kind: a framework, or "FRAMEWORK-tuned": at its best. Of fairseq that is to score in larger batches; its
                `sentence_prediction` groups no lengths, and `--bf16` on a CPU ends in an error.
        """
        framework, _, tuned = kind.partition("-")
        words = {"fairseq": self._fairseq, "huggingface": self._huggingface}[framework](init, seed, out)
        flags = {"fairseq": ["--batch-size-valid", "64"]}
        flags["huggingface"] = ["--tuned", "--precision", resolve_precision("auto"), "--eval-batch-size", "64"]
        return [*words, *(flags[framework] if tuned else [])]

    def plain_pretraining(self, out):
        """Return the `fairseq-train` that pretrains on the study's corpus with its settings, without validation."""
        settings = self.config["checkpoint"]["pretraining"]
        flags = {
            **self._architecture(),
            "--task": "masked_lm",
            "--criterion": "masked_lm",
            "--tokens-per-sample": settings["tokens_per_sample"],
            "--sample-break-mode": settings["sample_break_mode"],
            "--mask-prob": settings["mask_prob"],
            "--optimizer": "adam",
            "--adam-betas": "(0.9, 0.98)",
            "--adam-eps": settings["eps"],
            "--weight-decay": settings["weight_decay"],
            "--clip-norm": settings["clip_norm"],
            "--dropout": settings["dropout"],
            "--attention-dropout": settings["dropout"],
            "--lr-scheduler": "polynomial_decay",
            "--lr": settings["lr"],
            "--total-num-update": settings["updates"],
            "--warmup-updates": settings["warmup_updates"],
            "--max-update": settings["updates"],
            "--batch-size": settings["batch_size"],
            "--tensorboard-logdir": os.path.join(out, "tensorboard"),
            "--seed": settings["seed"],
            "--log-format": "simple",
            "--log-interval": 5,
        }
        words = [os.path.join(BIN, "fairseq-train"), os.path.join(self.results, "checkpoint", "corpus-bin")]
        words += ["--no-save", "--disable-validation", "--skip-invalid-size-inputs-valid-test"]
        return words + [str(word) for pair in flags.items() for word in pair]

    def _architecture(self):
        """Flags of the model's sizes for fairseq; the plug-in only registers the architecture's name."""
        sizes = self.config["checkpoint"]["architecture"]
        return {
            "--user-dir": os.path.join(ROOT, "scripts", "training", "fairseq_plugin"),
            "--arch": "roberta_small",
            "--encoder-layers": sizes["layers"],
            "--encoder-embed-dim": sizes["width"],
            "--encoder-ffn-embed-dim": sizes["ffn_width"],
            "--encoder-attention-heads": sizes["heads"],
            "--max-positions": sizes["max_positions"],
        }

    def _fairseq(self, init, seed, out):
        """The lab's `fairseq-train`."""
        settings = self.config["finetuning"]["training"]
        updates, warmup = self.updates()
        flags = {
            **self._architecture(),
            "--task": "sentence_prediction",
            "--criterion": "sentence_prediction",
            "--num-classes": 2,
            "--init-token": 0,
            "--separator-token": 2,
            "--shorten-method": "truncate",
            "--optimizer": "adam",
            "--adam-betas": str(tuple(settings["betas"])),
            "--adam-eps": settings["eps"],
            "--weight-decay": settings["weight_decay"],
            "--dropout": settings["dropout"],
            "--attention-dropout": settings["dropout"],
            "--lr-scheduler": "polynomial_decay",
            "--lr": settings["lr"],
            "--total-num-update": updates,
            "--warmup-updates": warmup,
            "--max-epoch": settings["epochs"],
            "--batch-size": settings["batch_size"],
            "--valid-subset": "valid,test",
            "--best-checkpoint-metric": "accuracy",
            "--save-dir": os.path.join(out, "checkpoints"),
            "--tensorboard-logdir": os.path.join(out, "tensorboard"),
            "--seed": seed,
            "--num-workers": 0,
            "--log-format": "simple",
            "--log-interval": 10,
        }
        switches = ["--maximize-best-checkpoint-metric", "--no-epoch-checkpoints"]
        if init == "pretrained":
            flags["--restore-file"] = os.path.join(self.results, "checkpoint", "model.pt")
            switches += ["--reset-optimizer", "--reset-dataloader", "--reset-meters", "--reset-lr-scheduler"]
        words = [os.path.join(BIN, "fairseq-train"), os.path.join(self.plain, "data-bin"), *switches]
        return words + [str(word) for pair in flags.items() for word in pair]

    def _huggingface(self, init, seed, out):
        """The padded recipe, `plain_huggingface.py`."""
        settings = self.config["finetuning"]["training"]
        flags = {
            "--epochs": settings["epochs"],
            "--batch-size": settings["batch_size"],
            "--lr": settings["lr"],
            "--warmup-updates": self.updates()[1],
            "--weight-decay": settings["weight_decay"],
            "--dropout": settings["dropout"],
            "--max-length": self.config["checkpoint"]["architecture"]["max_positions"],
            "--seed": seed,
        }
        words = [sys.executable, os.path.join(ROOT, "benchmarks", "plain_huggingface.py")]
        words += [os.path.join(self.results, "checkpoint", "huggingface")]
        words += [
            os.path.join(self.results, "finetuning", "token-ids", "checkpoint"),
            out,
            *(["--random"] * (init == "random")),
        ]
        words += [str(word) for pair in flags.items() for word in pair]
        return [*words, "--betas", *map(str, settings["betas"])]

    def plain_folder(self, framework, init, seed):
        """Return the plain side's folder of a run."""
        return os.path.join(self.plain, f"{framework}-{init}-{seed}")

    def fresh_folder(self, framework, init, seed):
        """Return the plain side's folder of a run, empty."""
        out = self.plain_folder(framework, init, seed)
        shutil.rmtree(out, ignore_errors=True)
        os.makedirs(out)
        return out

    def forget_pretraining(self):
        """Remove what a pretraining of the workflow made; return its folder of TensorBoard files and its target."""
        folder = os.path.join(self.results, "checkpoint")
        shutil.rmtree(os.path.join(folder, "tensorboard"), ignore_errors=True)
        for name in ("model.pt", "pretraining.tsv"):
            if os.path.exists(os.path.join(folder, name)):
                os.remove(os.path.join(folder, name))
        return os.path.join(folder, "tensorboard"), "checkpoint/model.pt"

    def forget(self, framework, init, seed):
        """Remove a run of the workflow; return its folder and the name of its predictions, the target."""
        folder = os.path.join(self.results, "finetuning", f"{framework}-{init}", f"seed{seed}")
        target = f"predictions/{framework}-{init}/seed{seed}.tsv"
        shutil.rmtree(folder, ignore_errors=True)
        if os.path.exists(os.path.join(self.results, target)):
            os.remove(os.path.join(self.results, target))
        return folder, target
