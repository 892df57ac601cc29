"""Both frameworks in use: commands from logs, times from benchmarks, sizes from files, defaults from what ran."""

from pathlib import Path

import pytest

import frameworks
from common.errors import StudyError
from common.files import read_tsv, write_lines, write_tsv
from finetuning.protocol import framework_settings
from lab import compare_frameworks
from study.configuration import load_study

ROOT = Path(__file__).resolve().parents[3]
STEPS = {
    "fairseq": {
        "binarize_texts": "frameworks/fairseq/binarize_texts.py",
        "select_checkpoint": "finetuning/select_checkpoint.py",
    },
    "huggingface": {
        "tokenize_texts": "finetuning/tokenize_texts.py",
        "select_checkpoint": "finetuning/select_checkpoint.py",
    },
}


def study(folder):
    """A study's logs, benchmarks and files; return the arguments of `main` but for its outputs."""
    results = folder / "results" / "x"
    seconds = {
        "binarize_texts/train-valid": ("2.0", "100", "1.5"),
        "binarize_texts/test": ("4.0", "-", "-"),
        "tokenize_texts/train": ("1.0", "50", "0.5"),
        "select_checkpoint/fairseq-random/seed1": ("3.0", "10", "NA"),
        "select_checkpoint/fairseq-random/seed2": ("5.0", "30", "1.0"),
        "select_checkpoint/huggingface-random/seed1": ("7.0", "20", "2.0"),
    }
    benchmarks = []
    for job, values in seconds.items():
        benchmarks.append(str(results / "benchmarks" / f"{job}.tsv"))
        write_tsv(
            benchmarks[-1], [dict(zip(("s", "max_rss", "cpu_time"), values, strict=True))], ("s", "max_rss", "cpu_time")
        )
    logs = {
        "binarize_texts/test": [
            "fairseq-preprocess --only-source --destdir /home/me/results/x/bin --workers 1",
            "INFO:fairseq-preprocess --no",
        ],
        "tokenize_texts/train": ["tokenizer('results/x/train.review', truncation=True, max_length=96)", "80 reviews"],
    }
    for job, lines in logs.items():
        write_lines(results / "logs" / f"{job}.log", lines)
    made = results / "finetuning" / "bin"
    write_lines(made / "train.bin", ["12345"])
    write_lines(made / "label" / "dict.txt", ["1"])
    write_lines(made / ".snakemake_timestamp", ["no output"])
    write_tsv(results / "runs.tsv", [], ("framework", "arm", "seed", "train_seconds"))
    protocol = results / "protocol_diff.tsv"
    rows = [("betas", "[0.9, 0.98]", "[0.9, 0.5]"), ("initialisation.head_dense", "uniform", "normal")]
    names = ("setting", "fairseq", "huggingface")
    write_tsv(protocol, [dict(zip(names, row, strict=True)) for row in rows], names)
    config, _ = load_study(str(ROOT), str(ROOT / "config.yaml"))
    return {
        "benchmarks": benchmarks,
        "runs": str(results / "runs.tsv"),
        "logs": [str(results / "logs" / f"{job}.log") for job in logs],
        "protocol": protocol,
        "steps": STEPS,
        "arms": {name: [f"{name}-random", f"{name}-pretrained"] for name in STEPS},
        "stock": {
            name: framework_settings(config["finetuning"] | {"protocol": "published"}, name)
            for name in ("fairseq", "huggingface")
        },
        "fairseq_binarize_texts": str(made),
    }


def run(folder, given):
    tables = {name: folder / f"{name}.tsv" for name in ("table", "summary", "defaults")}
    compare_frameworks.main(**given, **tables)
    return [read_tsv(path) for path in tables.values()]


def test_a_step_has_its_commands_files_time_and_memory(tmp_path):
    binarize, select, tokenize, other = run(tmp_path, study(tmp_path))[0]
    # The machine's own path has gone; a line that only speaks of the command is none.
    assert binarize["command"] == "fairseq-preprocess --only-source --destdir results/x/bin --workers 1"
    # --workers 1 is fairseq's default, and no person would type it.
    assert (binarize["n_commands"], binarize["n_arguments"]) == ("1", "2")
    assert (tokenize["n_commands"], tokenize["n_arguments"]) == ("1", "3")
    # 5 digits and a line end, 1 and a line end; Snakemake's own mark is none.
    assert (binarize["n_files"], binarize["bytes"], binarize["files"]) == ("2", "8", "results/x/finetuning/bin")
    # 2 s and 4 s; of the second neither memory nor processor time is known.
    measured = [binarize[name] for name in ("n_jobs", "seconds", "total_seconds", "cpu_seconds", "memory_mb")]
    assert measured == ["2", "3.0", "6.0", "1.5", "100.0"]
    # Each framework has its own jobs of the rule that serves both.
    assert [(row["n_jobs"], row["seconds"], row["memory_mb"]) for row in (select, other)] == [
        ("2", "4.0", "30.0"),
        ("1", "7.0", "20.0"),
    ]


def test_a_training_that_was_resumed_counts_with_all_its_parts(tmp_path):
    given = study(tmp_path)
    columns = ("s", "max_rss", "cpu_time")
    for seed, seconds in ((1, 30), (2, 50)):
        path = Path(given["runs"]).parent / "benchmarks" / "finetune_fairseq" / "fairseq-random" / f"seed{seed}.tsv"
        write_tsv(path, [dict(zip(columns, (seconds, 100, seconds), strict=True))], columns)
        given["benchmarks"].append(str(path))
    given["steps"] = {"fairseq": {"finetune_fairseq": "frameworks/fairseq/train.py"}}
    columns = ("framework", "arm", "seed", "train_seconds")
    # The first was never interrupted; of the second, Snakemake timed the last part alone.
    rows = [("fairseq", "fairseq-random", 1, 28), ("fairseq", "fairseq-random", 2, 90)]
    write_tsv(given["runs"], [dict(zip(columns, row, strict=True)) for row in rows], columns)
    (step,) = run(tmp_path, given)[0]
    assert [step[name] for name in ("n_jobs", "seconds", "total_seconds", "cpu_seconds")] == [
        "2",
        "60.0",
        "120.0",
        "30.0",
    ]


def test_one_run_needs_all_jobs_of_the_data_and_one_of_its_own(tmp_path):
    fairseq, huggingface = run(tmp_path, study(tmp_path))[1]
    # 2 + 4 to binarize, 4 on average to select; 1 + 7.
    assert [(row["n_steps"], row["seconds"]) for row in (fairseq, huggingface)] == [("2", "10.0"), ("2", "8.0")]
    assert (fairseq["memory_mb"], fairseq["n_arguments"], fairseq["n_files"]) == ("100.0", "2", "2")


def test_code_that_both_need_is_nobodys_and_counts_once():
    scripts = {name: f"frameworks/{name}/train.py" for name in ("fairseq", "huggingface")}
    own = {
        name: set(compare_frameworks.own_code(scripts[name], [scripts[other]]))
        for name, other in (("fairseq", "huggingface"), ("huggingface", "fairseq"))
    }
    names = {framework: {Path(path).name for path in paths} for framework, paths in own.items()}
    assert {"train.py", "fairseq_train.py", "tasks.py"} <= names["fairseq"]
    assert {"train.py", "study_trainer.py"} <= names["huggingface"]
    assert not own["fairseq"] & own["huggingface"] and "runs.py" not in names["fairseq"] | names["huggingface"]


def test_lines_are_counted_without_empty_ones(tmp_path):
    write_lines(tmp_path / "a.py", ["x = 1", "", "  ", "y = 2"])
    assert compare_frameworks.count_lines([tmp_path / "a.py"]) == 2
    rows = run(tmp_path, study(tmp_path))[0]
    script = (ROOT / "scripts" / "finetuning" / "select_checkpoint.py").read_text(encoding="utf-8")
    assert int(rows[1]["n_lines"]) >= sum(bool(line.strip()) for line in script.splitlines())


def test_defaults_that_differ_stand_beside_what_ran(tmp_path):
    rows = {row["setting"]: row for row in run(tmp_path, study(tmp_path))[2]}
    assert list(rows["betas"].values()) == ["betas", "[0.9, 0.98]", "[0.9, 0.999]", "[0.9, 0.98]", "[0.9, 0.5]"]
    assert rows["head_initialisation"]["huggingface"] == "normal"
    # No run recorded a token-type vector.
    assert rows["token_types"]["huggingface_default"] == "true" and rows["token_types"]["huggingface"] == "none"
    assert "eps" not in rows and "lr" not in rows


def test_a_step_without_benchmark_is_an_error(tmp_path):
    given = study(tmp_path)
    given["benchmarks"] = [path for path in given["benchmarks"] if "tokenize" not in path]
    with pytest.raises(StudyError, match="rule tokenize_texts left no benchmark for huggingface"):
        run(tmp_path, given)


def test_the_stock_recipe_is_a_third_beside_the_two(tmp_path):
    given = study(tmp_path)
    log = tmp_path / "results" / "x" / "logs" / "finetune_run_glue" / "a" / "seed1.log"
    write_lines(log, ["run_glue.py --train_file t.json --do_train --seed 1", "run_glue.py", "see run_glue.py --help"])
    benchmark = str(tmp_path / "results" / "x" / "benchmarks" / "finetune_run_glue" / "a" / "seed1.tsv")
    write_tsv(benchmark, [{"s": "9.0", "max_rss": "60", "cpu_time": "8.0"}], ("s", "max_rss", "cpu_time"))
    given["steps"] = STEPS | {"run_glue": {"finetune_run_glue": "frameworks/run_glue/train.py"}}
    given["benchmarks"].append(benchmark)
    given["logs"].append(str(log))
    given["arms"] |= {"run_glue": ["a"]}
    given["stock"] |= {"run_glue": given["stock"]["huggingface"] | {"max_seq_length": 256}}
    steps, summary, defaults = run(tmp_path, given)
    (row,) = [row for row in steps if row["framework"] == "run_glue"]
    # --train_file, --do_train, --seed.
    assert (row["n_commands"], row["n_arguments"], row["seconds"]) == ("1", "3", "9.0") and int(row["n_lines"]) > 0
    assert [row["framework"] for row in summary] == ["fairseq", "huggingface", "run_glue"]
    header = ["setting", "fairseq_default", "huggingface_default", "run_glue_default", "fairseq", "huggingface"]
    assert list(defaults[0]) == [*header, "run_glue"]
    (length,) = [row for row in defaults if row["setting"] == "max_seq_length"]
    assert (length["fairseq_default"], length["run_glue_default"]) == ("false", "256")


def test_flags_count_where_they_say_more_than_the_default():
    defaults = {"--seed": "1", "--adam-betas": "(0.9, 0.98)"}
    line = "fairseq-train data --seed 1 --adam-betas '(0.9, 0.98)' --lr 1 --no-shuffle"
    assert compare_frameworks.n_arguments(line, defaults) == 2
    assert compare_frameworks.n_arguments(line.replace("--seed 1", "--seed 2"), defaults) == 3
    assert compare_frameworks.n_arguments(line) == 4
    assert compare_frameworks.n_arguments("run_glue.py --do_train --seed 1", {}) == 2


def test_the_defaults_of_fairseqs_flags_are_fairseqs():
    """The defaults of fairseq-train and fairseq-preprocess."""
    from training.fairseq_commands import import_fairseq

    import_fairseq()
    from fairseq import options

    from training import fairseq_plugin  # noqa: F401 - registers the architecture and the tasks

    given = ["data", "--task", "review_classification", "--criterion", "sentence_prediction", "--num-classes", "2"]
    given += ["--arch", "roberta_small", "--optimizer", "fused_adamw", "--lr-scheduler", "polynomial_decay"]
    given += ["--total-num-update", "9", "--lr", "1"]
    known = vars(options.parse_args_and_arch(options.get_training_parser(), given))
    known |= {"workers": options.get_preprocessing_parser().get_default("workers")}
    for flag, value in frameworks.load("fairseq").FLAG_DEFAULTS.items():
        assert str(known[flag.removeprefix("--").replace("-", "_")]) == value, flag
