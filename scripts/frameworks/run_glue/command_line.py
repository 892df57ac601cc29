"""The command lines of the recipe: a study's settings turned into flags, and read back from them."""

import shlex

# The name of the example, whose flags these are, is written in place of the program.
PROGRAM = "run_glue.py"
# Transformers has other names or values for these settings.
FLAGS = {
    "batch_size": "--per_device_train_batch_size",
    "epochs": "--num_train_epochs",
    "lr": "--learning_rate",
    "eps": "--adam_epsilon",
    # A number below 1 is a share of all updates, which was --warmup_ratio until version 5.
    "warmup_ratio": "--warmup_steps",
    "weight_decay": "--weight_decay",
    "clip_norm": "--max_grad_norm",
    "max_seq_length": "--max_seq_length",
    "pad_to_max_length": "--pad_to_max_length",
}
BETAS = ("--adam_beta1", "--adam_beta2")
# The Trainer's defaults: such flags are left out, as a person would.
DEFAULTS = {"eps": 1e-8, "weight_decay": 0.0, "clip_norm": 1.0, "warmup_ratio": 0.0, "pad_to_max_length": True}
BATCHING = {"random": "random", "length_grouped": "group_by_length"}


def training(settings, files, seeds, output, config=None, precision="float32", device="cpu"):
    """Return the arguments that train and validate, a list of str.

    Args:
        settings: what `arm_settings` of this framework returns.
        files: {model, train, valid: paths}.
        seeds: {seed, data_seed}.
        output: folder for everything that the recipe writes.
        config: folder of a config.json that replaces the model's; None: the model's.
        precision, device: number format and device of training.
    """
    given = ["--model_name_or_path", files["model"]]
    given += ["--config_name", config] if config else []
    given += ["--train_file", files["train"], "--validation_file", files["valid"], "--do_train", "--do_eval"]
    for name, flag in FLAGS.items():
        if settings[name] != DEFAULTS.get(name):
            given += [flag, str(settings[name])]
    for flag, beta, default in zip(BETAS, settings["betas"], (0.9, 0.999), strict=True):
        given += [flag, str(beta)] if beta != default else []
    if settings["batching"] != "random":
        given += ["--train_sampling_strategy", BATCHING[settings["batching"]]]
    if precision == "bfloat16":
        # Without a GPU the Trainer refuses bfloat16 unless the CPU is asked for.
        given += ["--bf16", *(["--use_cpu"] if device == "cpu" else [])]
    given += ["--eval_strategy", "epoch", "--save_strategy", "epoch"]
    given += ["--load_best_model_at_end", "--metric_for_best_model", "accuracy"]
    given += ["--seed", str(seeds["seed"])]
    given += ["--data_seed", str(seeds["data_seed"])] if seeds["data_seed"] != seeds["seed"] else []
    return [*given, "--output_dir", output]


def prediction(data, files, batch_size, output):
    """Return the arguments that predict the test texts with a trained model, a list of str.

    Args:
        data: the parsed `DataTrainingArguments` of the training.
        files: {model, tokenizer, train, valid, test: paths}; the labels of train give the number of classes.
        batch_size: texts scored at once.
        output: folder to write.
    """
    given = ["--model_name_or_path", files["model"], "--tokenizer_name", files["tokenizer"]]
    given += ["--train_file", files["train"], "--validation_file", files["valid"], "--test_file", files["test"]]
    given += ["--do_predict", "--max_seq_length", str(data.max_seq_length)]
    given += [] if data.pad_to_max_length else ["--pad_to_max_length", "False"]
    return [*given, "--per_device_eval_batch_size", str(batch_size), "--output_dir", output]


def text(arguments):
    """Return a command line as a person types it."""
    return f"{PROGRAM} {shlex.join(arguments)}"


def arguments_of(command):
    """Return the arguments of a command line that `text` wrote."""
    return shlex.split(command.removeprefix(PROGRAM))


def settings_of(data, training):
    """Return the settings that parsed training arguments express, as `arm_settings` names them.

    Args:
        data, training: results of `frameworks.run_glue.recipe.parse` for a command line.
    """
    strategies = {strategy: name for name, strategy in BATCHING.items()}
    return {
        "batch_size": training.per_device_train_batch_size,
        "epochs": int(training.num_train_epochs),
        "lr": training.learning_rate,
        "betas": [training.adam_beta1, training.adam_beta2],
        "eps": training.adam_epsilon,
        "weight_decay": training.weight_decay,
        "warmup_ratio": float(training.warmup_steps),
        "clip_norm": training.max_grad_norm,
        "batching": strategies[training.train_sampling_strategy],
        "max_seq_length": data.max_seq_length,
        "pad_to_max_length": data.pad_to_max_length,
    }
