"""Tabulate what using each framework took in this study: steps, commands, files, time, memory, lines, defaults.

A record, like the parameter ledger: made once, from the logs, benchmarks and outputs of the study's own jobs.
"""

import ast
import json
import os
import re
import shlex

import frameworks
from common.arms import run_label
from common.entry import run
from common.errors import StudyError
from common.files import read_lines, read_tsv, study_path
from study.modules import SCRIPTS, helper_modules
from study.tables import write_table

# The jobs' logs show a command that really ran as a command line, or as a call of the library.
COMMAND = re.compile(r"(fairseq-\w+ .*|run_glue\.py .*|(?:TrainingArguments|tokenizer)\(.*\))")
# The jobs of these rules serve all runs.
ONCE = ("binarize_texts", "write_json_texts", "tokenize_texts", "convert_tokenizer", "convert_checkpoint")
# protocol_diff.tsv has other names for these settings.
RECORDED_AS = {
    "head_initialisation": "initialisation.head_dense",
    "max_seq_length": "truncation",
    "pad_to_max_length": "padding",
}


def commands(log):
    """Return the commands that a job's log shows, without a machine's paths and a saved state's digest.

    Args:
        log: path of a job's log.
    """
    found = [line for line in read_lines(log) if COMMAND.fullmatch(line)]
    return [
        re.sub(r"[^\s'\"=]*/(?:results|resources)/[^\s'\",]*", lambda path: study_path(path[0]), line) for line in found
    ]


def n_arguments(command, defaults=()):
    """Return how many flags a command line has, or how many arguments a call, that say more than the tool's defaults.

    Calls and run_glue's command lines are written without what is default; fairseq's have it.

    Args:
        command: as `commands` returns it.
        defaults: {flag: value as typed} of the tool.
    """
    if command.startswith(("fairseq-", "run_glue.py ")):
        words = shlex.split(command)
        return sum(
            word.startswith("--") and (word not in defaults or defaults[word] != value)
            for word, value in zip(words, [*words[1:], ""], strict=True)
        )
    call = ast.parse(command, mode="eval").body
    return len(call.args) + len(call.keywords)


def own_code(script, others):
    """Return the paths of a script and of its helpers that no script in `others` needs.

    Args:
        script: path below scripts/.
        others: scripts of the other frameworks, likewise.
    """
    shared = {path for other in others for path in helper_modules(os.path.join(SCRIPTS, other))}
    script = os.path.join(SCRIPTS, script)
    return {script, *helper_modules(script)} - shared


def count_lines(paths):
    """Return how many lines of these files are not empty."""
    return sum(bool(line.strip()) for path in paths for line in read_lines(path))


def size_of(paths):
    """Return (number of files, their bytes) of files and folders; Snakemake's own marks do not count."""
    files = []
    for path in paths:
        inside = [os.path.join(place, name) for place, _, names in os.walk(path) for name in names]
        files += [file for file in inside if not os.path.basename(file).startswith(".snakemake")] or [path]
    return len(files), sum(os.path.getsize(file) for file in files)


def measured(paths, clocks):
    """Return what Snakemake measured of a step's jobs: n_jobs, mean and summed seconds, processor's, largest memory.

    Of a training that was interrupted and resumed Snakemake measured the last part alone. Its seconds are those of the
    run's own clock, which goes on from part to part; its processor time is unknown.

    Args:
        paths: the jobs' benchmark files.
        clocks: {RULE/ARM/seedN.tsv, the end of a training's path: its seconds by the run's own clock}.
    """
    jobs = [read_tsv(path)[0] for path in paths]
    for path, job in zip(paths, jobs, strict=True):
        clock = clocks.get("/".join(path.split("/")[-3:]), 0)
        if clock > float(job["s"]):
            job |= {"s": str(clock), "cpu_time": "-"}
    # Snakemake measured no memory and no processor time for a job that ended at once.
    seconds, processor, memory = (
        [float(job[name]) for job in jobs if re.fullmatch(r"[\d.]+", job[name])]
        for name in ("s", "cpu_time", "max_rss")
    )
    return {
        "n_jobs": len(jobs),
        "seconds": sum(seconds) / len(seconds),
        "total_seconds": sum(seconds),
        "cpu_seconds": sum(processor) / len(processor) if processor else None,
        "memory_mb": max(memory) if memory else None,
    }


def of_rule(paths, rule, kind):
    """Return the paths below `.../KIND/` that a rule's jobs wrote: RULE.tsv, RULE.log, or files in RULE/."""
    return [path for path in paths if re.search(rf"/{kind}/{rule}(?:/|\.\w+$)", path)]


def step_rows(steps, arms, benchmarks, clocks, logs, made):
    """Return one row a step of a framework.

    Args:
        steps: {framework: {rule: script below scripts/}}, in order.
        arms: {framework: names of its arms}.
        benchmarks: benchmarks of all jobs of these rules that the framework's runs needed.
        clocks: as in `measured`.
        logs: logs of one job a kind.
        made: {rule: paths that one job made}.

    Raises:
        StudyError: a step has no benchmark.
    """
    rows = []
    for framework, rules in steps.items():
        others = [script for other, by_rule in steps.items() if other != framework for script in by_rule.values()]
        counted, defaults = set(), frameworks.load(framework).FLAG_DEFAULTS
        for number, (rule, script) in enumerate(rules.items(), start=1):
            names = arms[framework]
            timed = [path for path in of_rule(benchmarks, rule, "benchmarks") if is_of(path, rule, names)]
            if not timed:
                raise StudyError(f"rule {rule} left no benchmark for {framework}: run the study again")
            shown = [
                line
                for path in of_rule(logs, rule, "logs")
                if is_of(path, rule, arms[framework])
                for line in commands(path)
            ]
            paths = made.get(f"{framework}_{rule}", [])
            files, size = size_of(paths)
            # A module that two steps need counts once, in the first.
            new = own_code(script, others) - counted
            counted |= new
            rows.append(
                {"framework": framework, "step": number, "rule": rule, "command": " ; ".join(shown)}
                | {"n_commands": len(shown), "n_arguments": sum(n_arguments(line, defaults) for line in shown)}
                | {"n_lines": count_lines(new), **measured(timed, clocks), "n_files": files, "bytes": size}
                | {"files": " ".join(study_path(path) for path in paths)}
            )
    return rows


def is_of(path, rule, arms):
    """Return whether a benchmark or log of a rule that serves both frameworks is of one of these arms."""
    return rule != "select_checkpoint" or any(f"/{rule}/{arm}/" in path for arm in arms)


def sums(rows):
    """Return one row a framework: from reviews to the test predictions of one run, each kind of job once.

    Seconds of a step count once for every job that one run needs: the data's jobs all, a run's own once.

    Args:
        rows: `step_rows`.
    """
    found = []
    for framework in dict.fromkeys(row["framework"] for row in rows):
        of_framework = [row for row in rows if row["framework"] == framework]
        seconds = [row["total_seconds"] if row["rule"] in ONCE else row["seconds"] for row in of_framework]
        memory = [row["memory_mb"] for row in of_framework if row["memory_mb"] is not None]
        total = {
            name: sum(row[name] for row in of_framework)
            for name in ("n_commands", "n_arguments", "n_lines", "n_files", "bytes")
        }
        found.append(
            {"framework": framework, "n_steps": len(of_framework), "seconds": sum(seconds)}
            | {"memory_mb": max(memory) if memory else None, **total}
        )
    return found


def default_rows(stock, protocol):
    """Return the settings in which the lab's fairseq recipe and Hugging Face's example differ, and what was run.

    Args:
        stock: {framework: the settings of its own defaults, of `finetuning.protocol.framework_settings`}.
        protocol: rows of protocol_diff.tsv, read back from the frameworks' objects.
    """
    recorded = {row["setting"]: row for row in protocol}
    rows = []
    for setting in dict.fromkeys(key for its in stock.values() for key in its):
        # A model without a place for a setting, such as a token-type vector, is left out.
        values = {f"{name}_default": stock[name].get(setting, False) for name in stock}
        if len({json.dumps(value) for value in values.values()}) > 1:
            ran = recorded.get(RECORDED_AS.get(setting, setting), {})
            rows.append({"setting": setting, **values} | {name: ran.get(name, "none") for name in stock})
    return rows


def main(benchmarks, runs, logs, protocol, steps, arms, stock, table, summary, defaults, **made):
    """Write the three tables.

    Args:
        benchmarks: Snakemake's measurements of every job of the steps.
        runs: runs.tsv.
        logs: logs of the data's jobs and of one run a framework.
        protocol: protocol_diff.tsv.
        steps: {framework: {rule: script below scripts/}}, in the order of their use.
        arms: {framework: names of its arms}.
        stock: see `default_rows`.
        table: TSV to write, one row a step; seconds is the mean of its jobs.
        summary: TSV to write, one row a framework.
        defaults: TSV to write, one row a setting.
        **made: {FRAMEWORK_RULE: what one job of the rule made}.

    Raises:
        StudyError: a step without benchmark.
    """
    made = {name: [paths] if isinstance(paths, str) else paths for name, paths in made.items()}
    clocks = {
        f"finetune_{row['framework']}/{run_label(row['arm'], row['seed'])}.tsv": float(row["train_seconds"])
        for row in read_tsv(runs)
    }
    rows = step_rows(steps, arms, benchmarks, clocks, logs, made)
    write_table(table, "framework_steps", rows)
    write_table(summary, "framework_summary", sums(rows))
    header = ("setting", *(f"{name}_default" for name in stock), *stock)
    write_table(defaults, "framework_defaults", default_rows(stock, read_tsv(protocol)), header)


if __name__ == "__main__":
    run(main, snakemake)
