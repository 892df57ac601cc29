"""Time plain commands and the workflow side by side, on the same data and machine, in turn (`make benchmark`).

The plain side is what a user would type instead: `fairseq-train` validating on `valid,test` every epoch in batches of
8, and the `run_glue` recipe with every review padded (`plain_huggingface.py`), both in float32 with all cores. The
third side is each of them tuned: the same Trainer with the faster precision, batches of like lengths and fused AdamW;
`fairseq-train` scoring in batches of 64. The workflow's side is Snakemake making test predictions from the same
prepared data: of one run on all cores (`--set-threads`), and of as many runs at once as there are cores, one core each,
which is how it fills a table. The full mode fills the whole table of nine runs instead; the plain commands in sequence
are their measured runs, so often. Pretraining is timed likewise, some updates of it, against `fairseq-train --task
masked_lm`.

What is printed are ratios (workflow / plain) of medians, with the smallest and largest ratio of the rounds.
"""

import argparse
import glob
import os
import statistics
import subprocess
import sys

from benchmark_tables import markdown, summary
from common.files import read_json, write_json, write_text
from common.machine import machine
from plain_commands import FRAMEWORKS, ROOT, Study, circumstances, timed
from training.batching import count_updates
from training.precision import resolve_precision

# The reductions of each mode; None: no reduction. `table`: all runs of the study, three seeds per arm, one after
# another.
MODES = {
    "short": {"n_train": 400, "n_test": 400, "epochs": 1, "rounds": 2, "table": False},
    "epoch": {"n_train": 1800, "n_test": None, "epochs": 1, "rounds": 1, "table": False},
    "full": {"n_train": 1800, "n_test": None, "epochs": 5, "rounds": 1, "table": True},
}
# The parts that are measured; `--keep` takes some of an earlier call's.
KINDS = ("plain", "tuned", "alone", "together", "table", "pretraining")
# The open study's blocks, with the same optimizer on both sides.
PRETRAINING = {
    "updates": 60,
    "batch_size": 8,
    "tokens_per_sample": 256,
    "sample_break_mode": "none",
    "mask_prob": 0.15,
    "warmup_updates": 20,
    "validate_every": 60,
}
TABLE = {"fairseq-pretrained": 3, "fairseq-random": 3, "huggingface-pretrained": 3}


def seconds_an_update(folder):
    """Return the median time of an update and when the first points were logged, from a run's TensorBoard files.

    Every interval between two logged points counts; the median passes over the few that hold a validation.

    Args:
        folder: TensorBoard files of one run, in any subfolder.

    Returns:
        tuple: seconds an update; (update, seconds since 1970) of the first logged point.
    """
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    longest = []
    for path in glob.glob(os.path.join(folder, "**", "events.*"), recursive=True):
        events = EventAccumulator(path)
        events.Reload()
        for tag in events.Tags()["scalars"]:
            points = [(event.step, event.wall_time) for event in events.Scalars(tag)]
            if len(points) > len(longest):
                longest = points
    # One log call per interval; of several points of one update the first counts.
    points = sorted(dict(reversed(longest)).items())
    steps = [(t1 - t0) / (s1 - s0) for (s0, t0), (s1, t1) in zip(points, points[1:], strict=False)]
    return statistics.median(steps), points[0]


def measure_plain(study, framework, init, seed, threads):
    """Run one plain training with its validations and return its costs."""
    out = study.fresh_folder(framework, init, seed)
    cost = timed(study.plain_command(framework, init, seed, out), os.path.join(out, "log"), threads)
    return with_updates(cost, os.path.join(out, "tensorboard"))


def measure_workflow(study, runs, threads=None):
    """Let the workflow make the test predictions of runs, (framework, init, seed), again; return the whole's costs."""
    folders, targets = zip(*(study.forget(*run) for run in runs), strict=True)
    cost = timed(study.snakemake(*targets, threads=threads), os.path.join(study.plain, "workflow.log"))
    return with_updates(cost, os.path.join(folders[0], "tensorboard"))


def measure_pretraining(study, side, threads):
    """Pretrain for some updates, plainly or by the workflow, and return its costs."""
    if side == "workflow":
        folder, target = study.forget_pretraining()
        command = study.snakemake(target, threads=threads)
    else:
        out = study.fresh_folder("pretraining", side, 1)
        folder, command = os.path.join(out, "tensorboard"), study.plain_pretraining(out)
    return with_updates(timed(command, os.path.join(study.plain, f"{side}.log"), threads), folder)


class Measured:
    """The measurements, each written at once, so that a stopped benchmark can resume.

    Attributes:
        folder: where the parts lie.
        keep: names of the kinds of parts that are taken from an earlier call, where it has them.
    """

    def __init__(self, folder, keep):
        self.folder, self.keep = folder, keep

    def take(self, kind, name, measure, *arguments):
        """Return the costs of a part: kept ones, else what `measure(*arguments)` returns."""
        path = os.path.join(self.folder, f"{kind}-{name}.json")
        if kind in self.keep and os.path.exists(path):
            print(f"{kind} {name}: kept", flush=True)
            return read_json(path)
        print(f"{kind} {name}", flush=True)
        cost = measure(*arguments)
        write_json(path, cost)
        return cost


def with_updates(cost, folder):
    """Add seconds an update and the start-up (until the first update began) to a run's costs."""
    update, (step, logged) = seconds_an_update(folder)
    return cost | {"update_seconds": update, "startup_seconds": logged - cost["started"] - step * update}


def matrix_peak(threads, dtype_name, n=2048):
    """Return the machine's matrix-product rate in GFLOP/s: the best of some products of (n, n) matrices.

    Run in a process of its own, so that the number of threads holds.
    """
    code = (
        "import sys, time, torch\n"
        f"torch.set_num_threads({threads})\n"
        f"a = torch.randn({n}, {n}).to(torch.{dtype_name}); b = a.t().contiguous()\n"
        "best = 1e9\n"
        "for _ in range(12):\n"
        "    t = time.perf_counter(); a @ b; best = min(best, time.perf_counter() - t)\n"
        f"print(2 * {n}**3 / best / 1e9)\n"
    )
    return float(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout)


def tokens_an_update(study):
    """Return the mean number of real tokens (padding apart) of an update of 8 reviews, and of its squares' sum.

    Returns:
        tuple: tokens, and the sum over the update's reviews of tokens squared (for attention).
    """
    from finetuning.token_ids import read_token_ids

    sequences, _ = read_token_ids(os.path.join(study.results, "finetuning", "token-ids", "checkpoint", "train.npz"))
    updates = count_updates(len(sequences), 8, 1)
    lengths = [len(sequence) for sequence in sequences]
    return sum(lengths) / updates, sum(n * n for n in lengths) / updates


def gflop_an_update(study):
    """Return the arithmetic that an update needs at least: matrix products on real tokens, forward and backward.

    Per token and layer 4 D^2 + 2 D F weights; two operations a weight forward, four backward. Attention adds
    2 x 2 T^2 D forward a review and layer, and twice that backward. Embeddings and the head are left out, and of the
    last layer what the head does not read: there the first token alone needs more than its key and value.
    """
    tokens, squares = tokens_an_update(study)
    architecture = study.config["checkpoint"]["architecture"]
    width, ffn = architecture["width"], architecture["ffn_width"]
    unread = 6 * (tokens - 8) * (2 * width**2 + 2 * width * ffn) + 12 * (squares - tokens) * width
    return (encoder_operations(study, tokens, squares) - unread) / 1e9


def encoder_operations(study, tokens, squares):
    """Return the operations of the encoder's layers, forward and backward, from what `tokens_an_update` returns."""
    architecture = study.config["checkpoint"]["architecture"]
    width, ffn, layers = architecture["width"], architecture["ffn_width"], architecture["layers"]
    return 6 * tokens * layers * (4 * width**2 + 2 * width * ffn) + 12 * squares * width * layers


def gflop_a_pretraining_update(study):
    """Return the same of an update of masked pretraining: full blocks, and the vocabulary where it predicts."""
    checkpoint = study.config["checkpoint"]
    settings, width = checkpoint["pretraining"], checkpoint["architecture"]["width"]
    length = settings["tokens_per_sample"]
    tokens = settings["batch_size"] * length
    logits = 6 * settings["mask_prob"] * tokens * (width**2 + width * checkpoint["sentencepiece"]["vocab_size"])
    return (encoder_operations(study, tokens, tokens * length) + logits) / 1e9


def measure(study, cut, rounds, measured):
    """Time both sides in turn, a run of each framework a round.

    Args:
        study: the prepared `Study`.
        cut: the mode's entry of `MODES`.
        rounds: rounds of plain, workflow, plain, ...
        measured: `Measured`, which keeps what an earlier call has timed.

    Returns:
        tuple[dict, dict]: the costs of each run by framework and side; by framework the seconds for each of several
            runs at once, empty where the mode times the whole table instead.
    """
    cores, seeds = machine()["cores"], study.config["finetuning"]["seeds"]
    runs = {framework: {"plain": [], "tuned": [], "workflow": []} for framework in FRAMEWORKS}
    packed = {} if cut["table"] else {framework: [] for framework in FRAMEWORKS}
    several = seeds[: min(cores, len(seeds))]
    for turn in range(1, rounds + 1):
        for framework in FRAMEWORKS:
            name, alone = f"{framework}-{turn}", [(framework, "pretrained", 1)]
            plain = measured.take("plain", name, measure_plain, study, framework, "pretrained", turn, cores)
            runs[framework]["plain"].append(plain)
            tuned = measured.take("tuned", name, measure_plain, study, f"{framework}-tuned", "pretrained", turn, cores)
            runs[framework]["tuned"].append(tuned)
            runs[framework]["workflow"].append(measured.take("alone", name, measure_workflow, study, alone, cores))
            if framework in packed:
                together = [(framework, "pretrained", seed) for seed in several]
                cost = measured.take("together", name, measure_workflow, study, together)
                packed[framework].append(cost["seconds"] / len(several))
    return runs, packed


def measure_pretrainings(options, cores, rounds, peaks, kinds):
    """Time pretraining on both sides in turn and return its part of the record.

    Args:
        options: options of the command line.
        cores: threads of both sides.
        rounds: rounds of plain, workflow, plain, ...
        peaks: GFLOP/s of matrix products by precision.
        kinds: precision of each side.
    """
    changes = {"checkpoint": {"pretraining": PRETRAINING}}
    name = f"benchmark-{options.mode}-pretraining"
    study = Study(os.path.join(ROOT, "benchmarks", "study.yaml"), name, changes, options.mirror)
    timed(study.snakemake("checkpoint/corpus-bin"), os.path.join(study.plain, "prepare.log"))
    measured, costs = Measured(study.plain, options.keep), {"plain": [], "workflow": []}
    for turn in range(1, rounds + 1):
        for side, costs_of_side in costs.items():
            costs_of_side.append(
                measured.take("pretraining", f"{side}-{turn}", measure_pretraining, study, side, cores)
            )
    tokens = PRETRAINING["batch_size"] * PRETRAINING["tokens_per_sample"]
    gflop = gflop_a_pretraining_update(study)
    found = rates({"pretraining": costs}, {side: peaks[kinds[side]] for side in costs}, gflop, tokens)
    return {
        "runs": summary(**costs),
        "raw": costs,
        "rates": found["pretraining"],
        "gflop_per_update": gflop,
        "tokens_per_update": tokens,
    }


def rates(runs, peaks, gflop, tokens):
    """Return each side's real tokens a second and the share of the matrix peak that it uses.

    Args:
        runs: what `measure` returns first.
        peaks: GFLOP/s of a side's products, by side.
        gflop, tokens: gflop and tokens of an update.
    """
    found = {framework: {} for framework in runs}
    for framework, sides in runs.items():
        for side, costs in sides.items():
            update = statistics.median(cost["update_seconds"] for cost in costs)
            share = gflop / update / peaks[side]
            found[framework][side] = {"tokens_per_second": tokens / update, "share_of_peak": share}
    return found


def whole_table(study, plain_run, pack, measured):
    """Return the seconds of the course's table of nine runs: the plain side's counted up, the workflow's too or timed.

    Args:
        study: the prepared `Study`.
        plain_run: seconds of one plain run, by framework.
        pack: seconds for each of several of the workflow's runs at once, by framework; empty: time all nine.
        measured: as for `measure`.
    """
    count = {framework: sum(n for arm, n in TABLE.items() if arm.startswith(framework)) for framework in FRAMEWORKS}
    table = {"measured": not pack, "plain": sum(n * plain_run[framework] for framework, n in count.items())}
    if pack:
        table["workflow"] = sum(n * pack[framework] for framework, n in count.items())
    else:
        everything = [(*arm.split("-"), seed) for arm, n in TABLE.items() for seed in range(1, n + 1)]
        cost = measured.take("table", "nine-runs", measure_workflow, study, everything)
        table |= {"workflow": cost["seconds"], "cpu_seconds": cost["cpu_seconds"], "peak_mb": cost["peak_mb"]}
    return table | {"ratio": table["workflow"] / table["plain"]}


def main(arguments=None):
    """Run the benchmark and write `results/benchmark-MODE/benchmark.json` and `.md`."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--mode", choices=MODES, default="short")
    parser.add_argument("--mirror", help="folder that replaces the network")
    parser.add_argument("--rounds", type=int, help="rounds of plain, workflow, plain, ...; default: the mode's")
    parser.add_argument("--keep", nargs="*", choices=KINDS, default=[], help="parts to take from an earlier call")
    options = parser.parse_args(arguments)
    cut = MODES[options.mode]
    rounds, cores = options.rounds or cut["rounds"], machine()["cores"]
    changes = {
        "data": {"n_train": cut["n_train"], "n_test": cut["n_test"]},
        "finetuning": {"training": {"epochs": cut["epochs"]}},
    }
    study = Study(os.path.join(ROOT, "benchmarks", "study.yaml"), f"benchmark-{options.mode}", changes, options.mirror)
    study.prepare()
    measured = Measured(study.plain, options.keep)
    runs, packed = measure(study, cut, rounds, measured)
    precision = resolve_precision("auto")
    kinds = {"plain": "float32", "tuned": precision, "workflow": precision}
    peaks = {kind: matrix_peak(cores, kind) for kind in sorted(set(kinds.values()), reverse=True)}
    gflop, (tokens, _) = gflop_an_update(study), tokens_an_update(study)
    medians = {framework: summary(both["plain"], both["workflow"]) for framework, both in runs.items()}
    plain_run = {framework: medians[framework]["seconds"]["plain"] for framework in FRAMEWORKS}
    pack = {framework: statistics.median(seconds) for framework, seconds in packed.items()}
    at_once = min(cores, len(study.config["finetuning"]["seeds"]))
    record = {
        "mode": options.mode,
        **{key: cut[key] for key in ("n_train", "epochs")},
        "rounds": rounds,
        "runs": medians,
        "raw": runs,
        "packed": {
            framework: {
                "runs": at_once,
                "seconds_per_run": seconds,
                "ratio": seconds / plain_run[framework],
                "raw": packed[framework],
            }
            for framework, seconds in pack.items()
        },
        "table": whole_table(study, plain_run, pack, measured),
        "tuned": {framework: summary(both["tuned"], both["workflow"]) for framework, both in runs.items()},
        "matrix_peak_gflops": {f"{kind}, {cores} threads": peak for kind, peak in peaks.items()},
        "gflop_per_update": gflop,
        "tokens_per_update": tokens,
        "rates": rates(runs, {side: peaks[kind] for side, kind in kinds.items()}, gflop, tokens),
        "pretraining": measure_pretrainings(options, cores, rounds, peaks, kinds),
        "precision": precision,
        **circumstances(),
    }
    path = os.path.join(study.results, "benchmark.json")
    write_json(path, record)
    text = markdown(record)
    write_text(os.path.join(study.results, "benchmark.md"), text)
    print("\n" + text)
    print(f"The record: {path}")


if __name__ == "__main__":
    main()
