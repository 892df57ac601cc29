"""How long a run will take: its jobs by what this study measured before, else by the study's sizes.

Both are corrected by the speed that the run shows, and the time left is that of playing the rest of the plan.
"""

import glob
import heapq
import math
import os
import statistics
from collections import defaultdict

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
    "pretrain": 98,
    "finetune_linear": 3,
    "finetune_lora": 17,
    "finetune_": 13,
    "evaluate_linear": 3,
    "evaluate_qa": 23,
    "evaluate_": 13,
    "test_curve_": 19,
    "build_qa_base_model": 34,
    "build_lora_ledger": 18,
    "build_report": 5,
    "build_splits": 2,
    "build_": 0.5,
    "sweep_lora_ranks": 32,
    "vary_lora": 33,
    "compare_logits": 30,
    "compare_token_ids": 11,
    "compare_frameworks": 0.5,
    "score_logits_": 14,
    "convert_": 11,
    "binarize_corpus": 14,
    "binarize_": 9,
    "tokenize_texts": 8,
    "plot_train_and_valid": 17,
    "plot_a": 9,
    "plot_": 3,
    "measure_errors": 10,
    "measure_": 3,
    "check_": 7,
    "audit_data": 7,
    "compute_statistics": 6,
    "select_checkpoint": 0.5,
    "record_": 0.5,
    "aggregate_": 0.5,
    "tabulate_": 1,
    "derive_parameters": 0.5,
    "prove_weights": 0.5,
    "train_sentencepiece": 1,
}
OTHER = 4
# The embedded study's trainings: texts, epochs, weights of the layers; updates of its pretraining.
TEXTS, EPOCHS, WEIGHTS, UPDATES, TOKENS = 80, 10, 131_072, 1800, 32 * 96
TEST_TEXTS = 1000
# The share of a training's time, with those few weights, that grows with their number: measured with 6 and 11 million.
# A pretraining's is larger, for its updates are of more tokens: by the open study's, in docs/method/performance.md.
OF_WEIGHTS, OF_PRETRAINED = 0.033, 0.65
# The weights assumed for an external model whose config.json is not on this machine: those of a base-sized one.
FOREIGN = 85_000_000
# Planned seconds of work for which the first estimate of the machine's speed counts, against what this run has shown;
# for a narrower kind of jobs, a share of one job of it.
PRIOR, NARROW = 5, 0.3
# The share of its time that a job needs at least, once it has taken longer than expected.
OVERRUN = 0.15
# A training's own pace counts in full once it was seen over a fifth of its updates.
SOON = 5


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
    """The jobs of a run with their seconds, and what they wait for.

    Attributes:
        jobs: {number: Snakemake's job} of those that this run makes, finished ones among them.
    """

    def __init__(self, workflow, config, results):
        """Read the study's benchmarks and look at what is planned."""
        self.workflow, self.config, self.results = workflow, config, results
        settings = workflow.resource_settings
        self.of_jobs = not settings.cores or bool(settings.nodes)
        self.cores = settings.nodes or settings.cores or 1
        self.gpus = number_of(workflow.global_resources.get("gpu"), math.inf)
        self.jobs, self._seconds, self._done, self._total = {}, {}, set(), None
        # {job: the jobs that it waits for}.
        self._needs = {}
        # {kind: [seconds taken, seconds planned]} of finished jobs.
        self._took = defaultdict(lambda: [0.0, 0.0])
        # {training that runs: its first and its latest (seconds so far, share done)}.
        self._seen = {}
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
                if number in self.jobs:
                    self._needs[number] = {dag.jobid(needed) for needed in dag.dependencies.get(one, ())}
                if number not in self._seconds and number in self.jobs:
                    self._seconds[number], self._stage[number] = self._expect(one), self.stage(one)

        # A checkpoint's rule may put other jobs in the place of planned ones.
        for number in self.jobs.keys() - planned - self._done:
            del self.jobs[number], self._needs[number], self._seconds[number], self._stage[number]

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
            return pretraining["updates"] / UPDATES * tokens * (1 - OF_PRETRAINED + OF_PRETRAINED * weights / WEIGHTS)
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

    def _kinds(self, number):
        """Return what a job shares its speed with, from the widest to the narrowest; each counts its finished work."""
        job = self.jobs[number]
        rule, arm = job.rule.name, dict(job.wildcards_dict).get("arm")
        # The times of trainings rest on guessed sizes: what they take says nothing of jobs that have none.
        sized = arm is not None or rule == "pretrain"
        return [("sized", sized), ("rule", rule)] + [("arm", rule, arm)] * sized

    def _observed(self, running):
        """Return {kind: (seconds taken, seconds planned)} of finished work, and of running jobs as far as they are."""
        found = {kind: list(sums) for kind, sums in self._took.items()}
        for number, (seconds, share) in running.items():
            if number not in self.jobs:
                continue
            pace, known = self._pace(number, seconds, share)
            if known > 0:
                (began, at), _ = self._seen[number]
                seconds = share * (began + (1 - at) * pace)
            elif seconds <= self._seconds[number]:
                continue
            for kind in self._kinds(number):
                sums = found.setdefault(kind, [0.0, 0.0])
                sums[0] += seconds
                sums[1] += self._seconds[number] * (share if known > 0 else 1)
        return found

    def seconds(self, number, observed):
        """Return a job's seconds: the planned ones at the speed that jobs of its kind, or all, have shown here.

        Each level of kinds is drawn to the wider one, as by PRIOR planned seconds of work (a part of the job, where a
        kind is narrower), until it has work of its own.
        """
        planned, ratio = self._seconds[number], 1.0
        # Trainings are drawn to the speed of all other jobs first.
        for level, kind in enumerate(dict.fromkeys([("sized", False), *self._kinds(number)])):
            took, by_plan = observed.get(kind, (0.0, 0.0))
            prior = PRIOR if level == 0 else NARROW * planned
            ratio = (took + prior * ratio) / (by_plan + prior)
        return max(0.1, planned * ratio)

    def _takes(self, number):
        """Return (cores, GPUs) that a job holds; on a cluster a job is one of those that may run at once."""
        job = self.jobs[number]
        threads = job.threads if isinstance(job.threads, int) and not self.of_jobs else 1
        return min(self.cores, threads), min(self.gpus, number_of(job.rule.resources.get("gpu"), 0))

    def finish(self, number, seconds):
        """Note a finished job and the seconds that it took (None: not known)."""
        if number in self.jobs and number not in self._done:
            if seconds:
                for kind in self._kinds(number):
                    self._took[kind][0] += seconds
                    self._took[kind][1] += self._seconds[number]
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

    def _rest(self, number, whole, seconds, share):
        """Return the seconds that a running job still needs.

        Args:
            number: the job.
            whole: its seconds as expected.
            seconds, share: as in `left`.
        """
        if not share:
            # A job that takes longer than expected may take another while.
            return max(whole - seconds, OVERRUN * seconds)
        pace, known = self._pace(number, seconds, share)
        trust, since = min(1.0, known * SOON), seconds - self._seen[number][1][0]
        return max(0.0, (1 - share) * (trust * pace + (1 - trust) * whole) - since)

    def _pace(self, number, seconds, share):
        """Return (seconds of all updates at a running training's own pace, the share of them that it was seen over).

        Libraries are imported before the first update, so the pace is that between two reports.
        """
        if not share:
            return 0.0, 0.0
        first, last = self._seen.get(number, ((seconds, share), (seconds, share)))
        if share > last[1]:
            last = seconds, share
        self._seen[number] = first, last
        known = last[1] - first[1]
        return ((last[0] - first[0]) / known if known > 0 else 0.0), known

    def left(self, running):
        """Return the seconds until the last job ends, by playing the rest of the plan with the times expected now.

        Jobs wait for those that they need, for cores, and for a GPU; the start of the longest chain goes first.

        Args:
            running: {number of a running job: (seconds so far, share done or None)}.
        """
        observed = self._observed(running)
        open_jobs = self.jobs.keys() - self._done
        whole = {number: self.seconds(number, observed) for number in open_jobs}
        rest = {n: self._rest(n, whole[n], *state) for n, state in running.items() if n in whole}
        needs = {number: self._needs[number] & open_jobs for number in open_jobs}
        after = defaultdict(list)
        for number, needed in needs.items():
            for one in needed:
                after[one].append(number)
        chain = chains(whole, needs, after)
        waits = {number: len(needed) for number, needed in needs.items()}
        ends = [(seconds, number) for number, seconds in rest.items()]
        heapq.heapify(ends)
        takes = {number: self._takes(number) for number in open_jobs}
        cores = self.cores - sum(takes[number][0] for number in rest)
        gpus = self.gpus - sum(takes[number][1] for number in rest)
        ready = [(-chain[number], number) for number in open_jobs if not waits[number] and number not in rest]
        heapq.heapify(ready)
        now = 0.0
        while ends or ready:
            kept = []
            while ready and (cores > 0 or not ends):
                place, number = heapq.heappop(ready)
                if ends and (takes[number][0] > cores or takes[number][1] > gpus):
                    kept.append((place, number))
                    continue
                cores, gpus = cores - takes[number][0], gpus - takes[number][1]
                heapq.heappush(ends, (now + whole[number], number))
            for one in kept:
                heapq.heappush(ready, one)
            now, number = heapq.heappop(ends)
            cores, gpus = cores + takes[number][0], gpus + takes[number][1]
            for one in after[number]:
                waits[one] -= 1
                if not waits[one] and one not in rest:
                    heapq.heappush(ready, (-chain[one], one))
        return now


def share_of_time(elapsed, left):
    """Return how far a run is, 0 to 1: a third of the bar is a third of the time."""
    return elapsed / max(0.1, elapsed + left)


def number_of(resource, otherwise):
    """Return a resource of Snakemake's as a number; `otherwise` for none, or one that is known when its job starts."""
    value = resource if isinstance(resource, int) else getattr(resource, "raw", None)
    return value if isinstance(value, int) else otherwise


def chains(seconds, needs, after):
    """Return {job: seconds of the longest chain of jobs that begins with it}.

    Args:
        seconds: {job: its seconds}.
        needs, after: {job: the jobs that it waits for, or that wait for it}.
    """
    found, waits = {}, {number: len(after[number]) for number in seconds}
    last = [number for number, count in waits.items() if not count]
    while last:
        number = last.pop()
        found[number] = seconds[number] + max((found[one] for one in after[number]), default=0.0)
        for one in needs[number]:
            waits[one] -= 1
            if not waits[one]:
                last.append(one)
    return found


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
