"""Fine-tune on labelled reviews with the recipe of `run_glue`: one run of one (arm, seed)."""

import os
import shutil
import time

import torch
from transformers import AutoConfig, default_data_collator
from transformers import logging as transformers_logging

from common.entry import run
from common.errors import StudyError
from common.files import atomic_path, grant, read_json, read_lines, study_path, write_json, write_text
from finetuning import scoring
from finetuning.encoders import named_classes
from finetuning.runs import Run, live_protocol
from finetuning.selection import RULE
from frameworks.run_glue import command_line, recipe, watching
from frameworks.run_glue.watching import TO_RESUME, Recorded, epochs_of, forget_later
from training import draws
from training.process import release_memory

# These decide a run's result besides its settings and files.
CODE = (command_line, draws, recipe, scoring, watching)
# A checkpoint of the recipe has these files for training alone.
LEFT_OUT = (*TO_RESUME, "training_args.bin")


def write_config(checkpoint, settings, folder):
    """Write the model's configuration with the arm's dropout where it differs, and return its folder, or None.

    The command line has no flag for dropout; it has one for the configuration.

    Args:
        checkpoint: Hugging Face folder.
        settings: `dropout`, `classifier_dropout`.
        folder: to write.
    """
    config = AutoConfig.from_pretrained(checkpoint, local_files_only=True, trust_remote_code=False)
    share, head = settings["dropout"], settings["classifier_dropout"]
    wanted = {"hidden_dropout_prob": share, "attention_probs_dropout_prob": share, "classifier_dropout": head}
    if all(getattr(config, name) == value for name, value in wanted.items()):
        return None
    for name, value in wanted.items():
        setattr(config, name, value)
    config.save_pretrained(folder)
    return folder


def padding_of(trainer):
    """Return in words how the texts were padded: beforehand, to one length that all batches had, or per batch."""
    beforehand = trainer.data_collator is default_data_collator and len(trainer.widths) == 1
    return f"every text to {trainer.widths[0]} tokens" if beforehand else "to the batch's longest"


def protocol(trainer, drawn, positions):
    """Return the settings that the run really had, read from the Trainer's objects after training.

    Args:
        trainer: `frameworks.run_glue.watching.WatchedTrainer` of the finished run.
        drawn: laws of the head's fresh weights.
        positions: tokens that an input was cut to.
    """
    model, arguments = trainer.model, trainer.args
    optimizer = getattr(trainer.optimizer, "optimizer", trainer.optimizer)
    dropouts = {n: m.p for n, m in model.roberta.named_modules() if isinstance(m, torch.nn.Dropout)}
    attention = {p for name, p in dropouts.items() if name.endswith("attention.self.dropout")}
    states = {p for name, p in dropouts.items() if not name.endswith("attention.self.dropout")}
    precision, batching = trainer.tuning.precision, {value: key for key, value in command_line.BATCHING.items()}
    return live_protocol(optimizer, model, model.classifier, trainer.rates, positions) | {
        "total_updates": trainer.state.global_step,
        "clip_norm": arguments.max_grad_norm,
        "batch_size": arguments.per_device_train_batch_size,
        "batching": batching[arguments.train_sampling_strategy],
        "padding": padding_of(trainer),
        "dropout": sorted(states),
        "attention_dropout": max(attention),
        "initialisation": drawn,
        "precision": precision,
        "evaluation_precision": "float32" if precision == "float32" else "bfloat16 on validation, float32 on test",
        "tie_rule": RULE,
        "token_types": "one vector, added to every token",
    }


def keep_epochs(output, checkpoints, classes):
    """Put the recipe's checkpoints in place as `epoch1/`, `epoch2/`, … with the study's names of the classes.

    Args:
        output: the recipe's output folder.
        checkpoints: folder to make.
        classes: names of the classes in order.
    """
    os.makedirs(checkpoints)
    for epoch, (_, folder) in enumerate(epochs_of(output), start=1):
        place = os.path.join(checkpoints, f"epoch{epoch}")
        shutil.move(folder, place)
        for name in LEFT_OUT:
            if os.path.exists(path := os.path.join(place, name)):
                os.remove(path)
        config = read_json(os.path.join(place, "config.json"))
        names = named_classes(classes)
        write_json(os.path.join(place, "config.json"), config | {key: names[key] for key in ("id2label", "label2id")})
        grant(os.path.join(place, "model.safetensors"))


def keep_records(output, command, used, folder):
    """Keep the recipe's records: its metrics and state, the command, and a list of all its files.

    Args:
        output: the recipe's output folder, as the recipe left it.
        command: the command line, as text.
        used: paths of the files that the command read.
        folder: to write.

    Returns:
        dict: number and bytes of the recipe's files.
    """
    os.makedirs(folder)
    files = [os.path.join(place, name) for place, _, names in os.walk(output) for name in names]
    written = {os.path.relpath(path, output): os.path.getsize(path) for path in files}
    read = {os.path.basename(path): os.path.getsize(path) for path in used}
    write_text(os.path.join(folder, "command.txt"), f"{command}\n")
    write_json(os.path.join(folder, "files.json"), {"read": read, "made": dict(sorted(written.items()))})
    for name in os.listdir(output):
        if name.endswith(".json") and name not in ("config.json", "tokenizer.json", "tokenizer_config.json"):
            shutil.copyfile(os.path.join(output, name), os.path.join(folder, name))
    return {"n_files": len(written), "bytes": sum(written.values())}


def main(
    *,
    train,
    valid,
    checkpoint,
    facts,
    seed: int,
    settings,
    checkpoints,
    history,
    run,
    weights,
    tensorboard,
    recipe_records,
    threads,
    states,
    classes=None,
):
    """Run or resume the recipe's command, and write the run's outputs.

    Long: the steps of a run, in their order, and a description of each argument.

    Args:
        train, valid: JSON files of the two splits, see `write_json_texts`; the test split is not an input.
        checkpoint: Hugging Face folder, its tokenizer in it.
        facts: dict of the columns of `common.arms.ARM`.
        seed: seed of the run.
        settings: what `arm_settings` of this framework returns.
        checkpoints: folder to write: `epoch1/`, `epoch2/`, …
        history: TSV file to write.
        run: JSON file to write.
        weights: JSON file to write: the proof of the run's start.
        tensorboard: folder to write.
        recipe_records: folder to write: the command, the recipe's metrics, the list of its files.
        threads: CPU threads.
        states: see `finetuning.runs.Run.resume`; a state is saved after every epoch.
        classes: names of the classes in order; None: two without names.

    Raises:
        StudyError: weights that were not loaded, a class that no training text has, or a run that ended early.
    """
    transformers_logging.set_verbosity_warning()
    tuning = Run(facts, seed, settings, threads)
    model_files = ("config.json", "model.safetensors", "tokenizer_config.json")
    files = {name: os.path.join(checkpoint, name) for name in model_files} | {"train": train, "valid": valid}
    sizes = {split: len(read_lines(path)) for split, path in (("train", train), ("valid", valid))}
    saved = tuning.resume(states, sizes, files, CODE)
    output = tuning.place("recipe")
    forget_later(output, saved)
    arguments = command_line.training(
        settings,
        {"model": checkpoint, "train": train, "valid": valid},
        {"seed": seed, "data_seed": tuning.seeds["data_seed"]},
        output,
        write_config(checkpoint, settings, tuning.place("config")),
        tuning.precision,
        tuning.device,
    )
    # The record contains no folder of this machine.
    command = command_line.text(map(study_path, arguments))
    print(command)
    began, watch = time.monotonic(), Recorded(tuning, checkpoint, saved)
    trainer, _ = recipe.main(arguments, watch)
    seconds = time.monotonic() - began
    if trainer.model.config.num_labels != len(classes or (0, 1)):
        raise StudyError(f"{train}: a class has no training text, so the recipe trained fewer; give it some")
    longest = min(settings["max_seq_length"], trainer.processing_class.model_max_length)
    found = protocol(trainer, watch.drawn, longest)
    best = trainer.state.best_global_step
    records = trainer.records
    del trainer
    release_memory()
    with atomic_path(recipe_records) as temporary:
        kept = keep_records(output, command, [*files.values()], temporary)
    keep_epochs(output, tuning.place("checkpoints"), classes)
    outputs = {"checkpoints": checkpoints, "tensorboard": tensorboard}
    outputs |= {"history": history, "run": run, "weights": weights}
    recipe_facts = {"command": command, "recipe_seconds": seconds, "best_update": best, **kept}
    tuning.finish(outputs, records, watch.proof, found, device=tuning.device, recipe=recipe_facts)


if __name__ == "__main__":
    run(main, snakemake)
