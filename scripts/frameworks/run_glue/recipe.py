"""The recipe of Transformers' `run_glue` example for your files, step by step, with the same command line.

    PYTHONPATH=scripts python -m frameworks.run_glue.recipe --model_name_or_path FOLDER --train_file train.json …

The installed package lacks the example, so its steps are written anew here: the same calls of Transformers in
the same order with the same defaults. These are left out: GLUE's tasks and the hub (only files are read), CSV,
regression, limits on the number of texts, the log of three random texts, telemetry, and the model card, which would ask
the hub. The files are read without the package `datasets`, and accuracy is computed without `evaluate`; a run draws
nothing in between, so neither can change a result.

Source: examples/pytorch/text-classification/run_glue.py of huggingface/transformers.
"""

import contextlib
import dataclasses
import json
import os
import sys

import numpy as np

from common.errors import StudyError
from common.files import read_lines
from training.imports import postponed, without

# As in `frameworks.huggingface`, no training uses these packages.
with without("boto3", "bitsandbytes"), postponed("scipy.optimize"):
    from transformers import (
        AutoConfig,
        AutoModelForSequenceClassification,
        AutoTokenizer,
        HfArgumentParser,
        Trainer,
        TrainingArguments,
        default_data_collator,
        set_seed,
    )
    from transformers.trainer_utils import get_last_checkpoint

PREDICTIONS = "predict_results_None.txt"
# Texts are tokenized in blocks of this size, as in `datasets`.
BATCH = 1000


@dataclasses.dataclass
class ModelArguments:
    """The model, configuration and tokenizer that a run starts from."""

    model_name_or_path: str
    config_name: str | None = None
    tokenizer_name: str | None = None


@dataclasses.dataclass
class DataTrainingArguments:
    """The files, and how their texts are cut and padded."""

    train_file: str
    validation_file: str
    test_file: str | None = None
    max_seq_length: int = 128
    pad_to_max_length: bool = True


class Watch:
    """Hooks of a caller while the recipe runs; these do nothing."""

    def parsed(self, training):
        """Receive the `TrainingArguments`."""

    def building(self):
        """Return a context in which the model is built."""
        return contextlib.nullcontext()

    def built(self, model, datasets):
        """Receive the model before its first update, and {split: examples}."""

    def trainer(self, **parts):
        """Return the Trainer of these parts."""
        return Trainer(**parts)


def parse(arguments):
    """Return (`ModelArguments`, `DataTrainingArguments`, `TrainingArguments`) of a command line, a list of str."""
    kinds = (ModelArguments, DataTrainingArguments, TrainingArguments)
    return HfArgumentParser(kinds).parse_args_into_dataclasses(list(arguments))


def last_checkpoint(training):
    """Return the checkpoint to resume from: the last in the output folder, or None for a new run.

    Raises:
        StudyError: the folder holds other things.
    """
    if not (training.do_train and os.path.isdir(training.output_dir)):
        return None
    found = get_last_checkpoint(training.output_dir)
    if found is None and os.listdir(training.output_dir):
        raise StudyError(f"{training.output_dir} is not empty and holds no checkpoint: name another --output_dir")
    return found


def read_texts(data, predicts):
    """Return {split: [{sentence, label}]} of the files.

    Args:
        data: `DataTrainingArguments`.
        predicts: True where test is requested.

    Raises:
        StudyError: a file is missing or no JSON lines, or test is asked for and not named.
    """
    files = {"train": data.train_file, "validation": data.validation_file}
    if predicts:
        if data.test_file is None:
            raise StudyError("--do_predict needs --test_file")
        files["test"] = data.test_file
    return {split: read_rows(file) for split, file in files.items()}


def read_rows(file):
    """Return the rows of a JSON file of one object a line."""
    return [json.loads(line) for line in read_lines(file)]


def load(options, n_labels, watch):
    """Return the model with a new head, and the tokenizer.

    Args:
        options: `ModelArguments`.
        n_labels: number of classes.
        watch: `Watch`.
    """
    folder = options.model_name_or_path
    config = AutoConfig.from_pretrained(
        options.config_name or folder, num_labels=n_labels, local_files_only=True, trust_remote_code=False
    )
    tokenizer = AutoTokenizer.from_pretrained(
        options.tokenizer_name or folder, local_files_only=True, trust_remote_code=False
    )
    with watch.building():
        model = AutoModelForSequenceClassification.from_pretrained(
            folder, config=config, local_files_only=True, trust_remote_code=False
        )
    return model, tokenizer


def preprocess(texts, tokenizer, numbers, data):
    """Return the examples of a split: [{input_ids, attention_mask, label}], all of one length where they are padded.

    Args:
        texts: what `read_texts` returns of the split.
        tokenizer: of the model, whose greatest length limits `max_seq_length`.
        numbers: {label: number of its class}.
        data: `DataTrainingArguments`.

    Raises:
        StudyError: a label that no training text has.
    """
    longest = min(data.max_seq_length, tokenizer.model_max_length)
    padding = "max_length" if data.pad_to_max_length else False
    examples = []
    for start in range(0, len(texts), BATCH):
        part = texts[start : start + BATCH]
        sentences = [row["sentence"] for row in part]
        encoded = tokenizer(sentences, padding=padding, max_length=longest, truncation=True)
        for place, row in enumerate(part):
            if row["label"] not in numbers:
                raise StudyError(f"a text has the label {row['label']}, and no training text has it")
            inputs = {name: values[place] for name, values in encoded.items()}
            examples.append(inputs | {"label": numbers[row["label"]]})
    return examples


def accuracy(prediction):
    """Return {accuracy: share} of an `EvalPrediction`: logits (n, classes) and labels (n,)."""
    answers = np.argmax(prediction.predictions, axis=1)
    return {"accuracy": float((answers == prediction.label_ids).mean())}


def main(arguments, watch=None):
    """Train, validate and predict, as the command line asks.

    Args:
        arguments: list of str.
        watch: `Watch`, or None.

    Returns:
        tuple: the Trainer, and the logits of the test texts, float32 (n, classes), or None.

    Raises:
        StudyError: see `last_checkpoint`, `read_texts` and `preprocess`.
    """
    watch = watch or Watch()
    options, data, training = parse(arguments)
    watch.parsed(training)
    checkpoint = last_checkpoint(training)
    # The seed is set before the model is built, because it draws the head.
    set_seed(training.seed)
    raw = read_texts(data, training.do_predict)
    labels = sorted({row["label"] for row in raw["train"]})
    numbers = {label: number for number, label in enumerate(labels)}
    model, tokenizer = load(options, len(labels), watch)
    # Names are text in Transformers 5.
    model.config.label2id = {str(label): number for label, number in numbers.items()}
    model.config.id2label = {number: str(label) for label, number in numbers.items()}
    datasets = {split: preprocess(texts, tokenizer, numbers, data) for split, texts in raw.items()}
    watch.built(model, datasets)
    trainer = watch.trainer(
        model=model,
        args=training,
        train_dataset=datasets["train"] if training.do_train else None,
        eval_dataset=datasets["validation"] if training.do_eval else None,
        compute_metrics=accuracy,
        processing_class=tokenizer,
        # Padded texts need no padding collator; for others the Trainer's pads to the batch's longest.
        data_collator=default_data_collator if data.pad_to_max_length else None,
    )
    if training.do_train:
        train(trainer, checkpoint)
    if training.do_eval:
        metrics = trainer.evaluate()
        trainer.log_metrics("eval", metrics | {"eval_samples": len(datasets["validation"])})
        trainer.save_metrics("eval", metrics | {"eval_samples": len(datasets["validation"])})
    return trainer, predict(trainer, datasets["test"], labels) if training.do_predict else None


def train(trainer, checkpoint):
    """Train from the start or from a checkpoint, then save the model (the best, where that was asked for) and metrics.

    Args:
        trainer: Trainer.
        checkpoint: folder, or None.
    """
    metrics = trainer.train(resume_from_checkpoint=checkpoint).metrics | {"train_samples": len(trainer.train_dataset)}
    trainer.save_model()
    trainer.log_metrics("train", metrics)
    trainer.save_metrics("train", metrics)
    trainer.save_state()


def predict(trainer, examples, labels):
    """Write the predicted labels, one a line with its number, and return the logits, float32 (n, classes).

    Args:
        trainer: Trainer.
        examples: examples of the test split; their labels are removed first.
        labels: labels of the classes, in order.
    """
    unlabelled = [{name: value for name, value in example.items() if name != "label"} for example in examples]
    logits = trainer.predict(unlabelled, metric_key_prefix="predict").predictions
    os.makedirs(trainer.args.output_dir, exist_ok=True)
    with open(os.path.join(trainer.args.output_dir, PREDICTIONS), "w", encoding="utf-8") as handle:
        handle.write("index\tprediction\n")
        for index, answer in enumerate(np.argmax(logits, axis=1)):
            handle.write(f"{index}\t{labels[answer]}\n")
    return logits


if __name__ == "__main__":
    main(sys.argv[1:])
