"""How long the jobs of a run will take: from what this study measured before, else from the study's sizes."""

import glob
import os
import statistics
from collections import defaultdict, deque

from common.arms import CHECKPOINT
from common.errors import StudyError
from common.files import read_json
from frameworks import NONE
from study.hub import hub_urls
from study.pins import mirror_path
from study.rule_completion import STEPS, script_name

# Seconds on two cores of the embedded study's jobs, by the beginnings of their rules' names (the first counts), and of
# any other. Only their proportions matter once a run has shown its machine's speed.
SECONDS = {
    "pretrain": 100,
    "finetune_linear": 3,
    "finetune_lora": 17,
    "finetune_": 13,
    "evaluate_linear": 3,
    "evaluate_qa": 23,
    "evaluate_": 14,
    "test_curve_": 19,
    "build_qa_base_model": 35,
    "build_lora_ledger": 17,
    "build_report": 6,
    "build_": 1,
    "sweep_lora_ranks": 22,
    "vary_lora": 33,
    "compare_logits": 30,
    "compare_token_ids": 10,
    "score_logits_": 14,
    "convert_": 11,
    "binarize_": 10,
    "tokenize_texts": 7,
    "plot_train_and_valid": 17,
    "plot_a": 9,
    "plot_": 4,
    "measure_errors": 10,
    "check_": 7,
    "audit_data": 7,
    "compute_statistics": 6,
    "select_checkpoint": 0.5,
    "record_": 0.5,
    "aggregate_": 1,
}
OTHER = 4
# The embedded study's trainings: texts, epochs, weights of the layers; updates of its pretraining.
TEXTS, EPOCHS, WEIGHTS, UPDATES, TOKENS = 80, 10, 400_000, 1800, 32 * 96
TEST_TEXTS = 1000
# The share of a training's time, with those few weights, that grows with their number: measured with 6 and 11 million.
OF_WEIGHTS = 0.1
# The weights assumed for an external model whose config.json is not on this machine: those of a base-sized one.
FOREIGN = 85_000_000
# Seconds for which the first estimate counts, against what this run has shown of its machine.
PRIOR = 30


def weights_of(model, mirror):
    """Return the number of weights in the layers of a model of others, as far as its config.json is on this machine.

    Args:
        model: its entry of `finetuning.models`, or None.
        mirror: folder that replaces the network, or None.
    """
    model = model or {}
    path = os.path.join(model.get("folder") or "", "config.json")
    if model.get("hub") and mirror:
        path = os.path.join(mirror, mirror_path(hub_urls({**model["hub"], "files": ["config.json"]})[0]))
    try:
        facts = read_json(path)
        width = facts["hidden_size"]
        return facts["num_hidden_layers"] * width * (4 * width + 2 * facts["intermediate_size"])
    # It comes later, or has other names for its sizes.
    except (OSError, StudyError, KeyError, TypeError, ValueError):
        return FOREIGN


class Expected:
    """The jobs of a run with their seconds, in core-seconds where the share of the run matters.

    Attributes:
        jobs: {number: Snakemake's job} of those that this run makes, finished ones among them.
    """

    def __init__(self, workflow, config, results):
        """Read the study's benchmarks and look at what is planned."""
        self.workflow, self.config, self.results = workflow, config, results
        self.cores = workflow.resource_settings.cores or workflow.resource_settings.nodes or 1
        self.jobs, self._seconds, self._done, self._total = {}, {}, set(), None
        self._measured = defaultdict(lambda: deque(maxlen=20))
        self._took = self._planned = 0.0
        self._stage, self._spent, self._said = {}, {}, {}
        self.refresh()

    def refresh(self, total=None):
        """Look at the plan again where it has another number of jobs: a checkpoint's rule made it grow."""
        if total is not None and total == self._total:
            return
        dag, self._total, planned = self.workflow.dag, total, set()
        for job in dag.needrun_jobs(exclude_finished=False):
            for one in job if job.is_group() else [job]:
                number = dag.jobid(one)
                planned.add(number)
                # A target without a command, as `all` is, takes no time.
                if number not in self.jobs and not one.is_norun:
                    self.jobs[number] = one
                    self._seconds[number], self._stage[number] = self._expect(one), self.stage(one)

        # A checkpoint's rule may put other jobs in the place of planned ones.
        for number in self.jobs.keys() - planned - self._done:
            del self.jobs[number], self._seconds[number], self._stage[number]

    def know(self, number):
        """Take a job that starts; one that is not known yet makes the plan be read again."""
        if number not in self.jobs:
            self.refresh()
        if number in self.jobs:
            self._spent.setdefault(self._stage[number], 0.0)

    def name(self, number):
        """Return a job's name for people, such as `evaluate fairseq (fairseq-random, seed 2)`."""
        if number not in self.jobs:
            return ""
        job = self.jobs[number]
        values = [f"seed {value}" if key == "seed" else value for key, value in dict(job.wildcards_dict).items()]
        return job.rule.name.replace("_", " ") + (f" ({', '.join(values)})" if values else "")

    @staticmethod
    def stage(job):
        """Return the name of the rule file of a job; `finetuning` for those of a framework."""
        folder, file = os.path.split(str(job.rule.snakefile))
        name = os.path.splitext(file)[0]
        rooms = os.path.basename(folder) == "rules"
        return ("report" if name == "Snakefile" else name) if rooms or name == "Snakefile" else "finetuning"

    def _expect(self, job):
        """Return the seconds of a job before it runs."""
        if job.benchmark and (measured := benchmark(str(job.benchmark))):
            return measured
        rule = script_name(job.rule) if job.rule.script else job.rule.name
        if self.results:
            folder = os.path.join(glob.escape(self.results), "benchmarks", rule)
            found = [benchmark(path) for path in glob.glob(os.path.join(folder, "**", "*.tsv"), recursive=True)[:200]]
            if found := [seconds for seconds in found if seconds]:
                return statistics.median(found)
        base = next((seconds for name, seconds in SECONDS.items() if rule.startswith(name)), OTHER)
        return base * self._size(rule, job)

    def _size(self, rule, job):
        """Return how much larger a training is than the embedded study's."""
        arm = self.config.get("finetuning", {}).get("arms", {}).get(dict(job.wildcards_dict).get("arm"))
        if rule != "pretrain" and (not arm or not rule.startswith((*STEPS.values(),))):
            return 1
        checkpoint = self.config["checkpoint"]
        shape, pretraining = checkpoint["architecture"], checkpoint["pretraining"]
        weights = shape["layers"] * shape["width"] * (4 * shape["width"] + 2 * shape["ffn_width"])
        if rule == "pretrain":
            tokens = pretraining["batch_size"] * pretraining["tokens_per_sample"] / TOKENS
            return pretraining["updates"] / UPDATES * tokens * max(weights / WEIGHTS, 0.1)
        if arm["model"] == NONE:
            weights = WEIGHTS  # another trainer's model: nothing is known of its size
        elif arm["model"] != CHECKPOINT:
            weights = weights_of(self.config["finetuning"].get("models", {}).get(arm["model"]), self.config["mirror"])
        training, data = self.config["finetuning"]["training"] | arm.get("training", {}), self.config["data"]
        passes = (data.get("n_test") or TEST_TEXTS) / TEST_TEXTS
        if rule.startswith("finetune"):
            passes = (arm.get("n_train") or data["n_train"] or 1000) / TEXTS * training["epochs"] / EPOCHS
        # A job also starts and ends: libraries are imported.
        return 0.5 + 0.5 * passes * (1 - OF_WEIGHTS + OF_WEIGHTS * weights / WEIGHTS)

    def slowness(self, running):
        """Return how much longer jobs take here and now than expected: of finished ones, and of those that overrun."""
        took, planned = self._took, self._planned
        for number, (seconds, share) in running.items():
            if number in self._seconds and (share or seconds > self._seconds[number]):
                took, planned = took + seconds / (share or 1), planned + self._seconds[number]
        return (took + PRIOR) / (planned + PRIOR)

    def weight(self, number, running=None):
        """Return a job's share of the machine: seconds times the cores that it takes; `running` as in `left`."""
        running = running or {}
        job = self.jobs[number]
        kind = (job.rule.name, dict(job.wildcards_dict).get("arm"))
        known = self._measured.get(kind)
        seconds = statistics.median(known) if known else self._seconds[number] * self.slowness(running)
        return max(0.1, seconds) * self._cores_of(number)

    def _cores_of(self, number):
        threads = self.jobs[number].threads
        return min(self.cores, threads if isinstance(threads, int) else 1)

    def finish(self, number, seconds):
        """Note a finished job and the seconds that it took (None: not known)."""
        if number in self.jobs and number not in self._done:
            job = self.jobs[number]
            if seconds:
                self._measured[(job.rule.name, dict(job.wildcards_dict).get("arm"))].append(seconds)
                self._took, self._planned = self._took + seconds, self._planned + self._seconds[number]
                self._spent[self._stage[number]] = self._spent.get(self._stage[number], 0) + seconds
            self._done.add(number)

    def finished_stages(self):
        """Yield (name, jobs, their seconds together) of each stage that has just ended; again where a plan grew."""
        left = {stage for number, stage in self._stage.items() if number not in self._done}
        for stage, seconds in self._spent.items():
            if stage in left:
                continue
            numbers = [number for number, of_job in self._stage.items() if of_job == stage]
            if self._said.get(stage) != len(numbers):
                self._said[stage] = len(numbers)
                yield stage, len(numbers), seconds

    def unfinished(self):
        """Return how many jobs of the present plan are left."""
        self.refresh()
        return len(self.jobs) - len(self._done)

    def _sums(self, running):
        """Return (done, all) in core-seconds.

        Args:
            running: {number: (seconds so far, share done or None)}.
        """
        whole = {number: self.weight(number, running) for number in self.jobs}
        done = sum(weight for number, weight in whole.items() if number in self._done)
        for number, (seconds, share) in running.items():
            if number in whole:
                cores = self._cores_of(number)
                if share:
                    whole[number] = max(whole[number] / 2, seconds / share * cores)
                    done += whole[number] * share
                else:
                    whole[number] = max(whole[number], 1.1 * seconds * cores)
                    done += min(seconds * cores, 0.9 * whole[number])
        return done, sum(whole.values())

    def share(self, running):
        """Return the share of the run that is done, 0 to 1; `running` as in `left`."""
        done, whole = self._sums(running)
        return done / whole if whole else 1.0

    def left(self, elapsed, running):
        """Return the seconds that are left, at the speed that this run has shown.

        Args:
            elapsed: seconds since the first job.
            running: {number of a running job: (seconds so far, share done or None)}.
        """
        done, whole = self._sums(running)
        # Seconds per core-second: 1 / cores where every core has work.
        return (whole - done) * (elapsed + PRIOR) / (done + PRIOR * self.cores)


def benchmark(path):
    """Return the seconds in a benchmark's file, or None."""
    try:
        with open(path, encoding="utf-8") as handle:
            header, row = handle.readline().split("\t"), handle.readline().split("\t")
        return float(row[header.index("s")])
    except (OSError, ValueError, IndexError):
        return None


def in_words(seconds):
    """Return a duration in words that promise no more than an estimate: `40 seconds`, `3 minutes`, `2 h 10 min`."""
    if seconds < 55:
        return f"{max(10, 10 * round(seconds / 10))} seconds"
    minutes = round(seconds / 60)
    if minutes < 90:
        return f"{minutes} minute{'s' if minutes != 1 else ''}"
    minutes = 10 * round(minutes / 10)
    return f"{minutes // 60} h {minutes % 60} min" if minutes < 24 * 60 else f"{round(minutes / 60)} h"
