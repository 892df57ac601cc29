"""Export one run's chosen epoch as a Hugging Face folder with a model card, and prove it through `pipeline`."""

import importlib
import json
import os
import shutil
from statistics import NormalDist

from transformers import logging as transformers_logging

import frameworks
import tasks
from common.arms import CHECKPOINT, percent
from common.entry import run
from common.errors import StudyError
from common.files import atomic_path, grant, read_json, read_lines, read_tsv, write_text
from data.reviews import POLARITY, noun_of, pairs_of
from finetuning.blanks import collapse_blanks
from finetuning.cards import render_card
from finetuning.encoders import load_tokenizer, named_classes, part_read
from finetuning.pipeline_proof import EXAMPLE, NEUTRAL, NUMBER, prove
from finetuning.recorded_labels import check_labels, check_saved
from measures import Lead
from training.process import set_threads

# Files beside the tokenizer in the start's folder: those of the conversion or of the model's authors.
NOT_TOKENIZER = ("config.json", "model.safetensors", "conversion.json", ".snakemake*", "generation_config.json")
NOT_TOKENIZER += ("trainer_state.json", "*_results.json")
# The card takes these keys from each record.
RUN_KEYS = ("protocol", "versions", "n_train", "n_valid", "total_updates", "precision")
MANIFEST_KEYS = ("source", "synthetic", "splits", "identical_reviews", "files", "labels")


def wilson_interval(n_correct, n, level=0.95):
    """Return Wilson's score interval of a binomial share.

    With p = n_correct / n and z the standard normal's (1 + level) / 2 quantile:
    (p + z^2 / 2n -/+ z sqrt(p (1 - p) / n + z^2 / 4n^2)) / (1 + z^2 / n).

    Args:
        n_correct: correct answers, 0 to n.
        n: answers, >= 1.
        level: coverage, between 0 and 1.

    Returns:
        tuple[float, float]: fractions.

    Source: Wilson (1927), Probable inference, the law of succession, and statistical inference.
    """
    z = NormalDist().inv_cdf((1 + level) / 2)
    share, scale = n_correct / n, 1 + z * z / n
    centre = (share + z * z / (2 * n)) / scale
    half = z / scale * (share * (1 - share) / n + z * z / (4 * n * n)) ** 0.5
    # Rounding may leave the unit interval where all or no answers are correct.
    return max(0.0, centre - half), min(1.0, centre + half)


def read_record(path, keys):
    """Return a JSON object that has certain keys.

    Args:
        path: the file.
        keys: names that it must hold.

    Raises:
        StudyError: the file is missing or broken, or lacks a key.
    """
    record = read_json(path)
    for key in keys:
        if key not in record:
            raise StudyError(f"{path} has no `{key}`: make the file again")
    return record


def only_row(path, **wanted):
    """Return the one row of a TSV file that has the wanted cells.

    Args:
        path: the file.
        **wanted: column=cell.

    Raises:
        StudyError: the file is missing, or no row or more than one fits.
    """
    rows = [row for row in read_tsv(path) if all(row.get(column) == cell for column, cell in wanted.items())]
    if len(rows) != 1:
        said = ", ".join(f"{column} {cell}" for column, cell in wanted.items())
        raise StudyError(f"{path} has {len(rows)} rows of {said} and must have one: make the table again")
    return rows[0]


def load_classifier(framework, checkpoints, epoch, converted, classes=POLARITY, task=tasks.DEFAULT):
    """Return a run's classifier of one epoch, on the CPU, with the names of its classes.

    Args:
        framework: name of the framework that trained it; its module `export` loads the run.
        checkpoints: the run's folder of checkpoints.
        epoch: 1-based.
        converted: the starting checkpoint as a Hugging Face folder; its config gives a fairseq model's sizes.
        classes: names of the classes in order.
        task: kind of the labels.

    Returns:
        a classifier of Transformers, in float32; an arm's LoRA updates are merged, as the run saved them.

    Raises:
        StudyError: the epoch's checkpoint is missing or broken, has another number of classes or other names of
            them, or does not fit the converted checkpoint's sizes.
    """
    model = importlib.import_module(f"frameworks.{framework}.export").load_trained(checkpoints, epoch, converted)
    if tasks.load(task).NAMED and model.config.num_labels != len(classes):
        raise StudyError(
            f"{checkpoints}: the model has {model.config.num_labels} classes, data.labels {len(classes)}: train the "
            "run again"
        )
    check_saved(model.config, classes, checkpoints)
    for field, value in named_classes(classes, task).items():
        setattr(model.config, field, value)
    return model.eval()


def plain(value):
    """Return a setting as one cell of a Markdown table.

    >>> plain({"head": [0.1, 0.2], "bias": True})
    'head: 0.1, 0.2; bias: True'
    """
    if isinstance(value, dict):
        return "; ".join(f"{name}: {plain(part)}" for name, part in value.items())
    if isinstance(value, list):
        return ", ".join(plain(part) for part in value)
    # A bar ends the cell, and a piece such as <s> would be read as HTML.
    return str(value).replace("|", "\\|").replace("<", "&lt;")


def quoted(value):
    r"""Return a text, or texts by name, as Python and JSON both write it.

    >>> quoted("l'été")
    '"l\'été"'
    """
    return json.dumps(value, ensure_ascii=False)


def check_counts(row, selected, predictions, files):
    """Raise unless the run's row, its chosen epoch and its predictions agree.

    Args:
        row: of `runs.tsv`.
        selected: content of `selected.json`.
        predictions: rows of the run's predictions.
        files: paths of the three, for messages: `runs`, `selected`, `predictions`.

    Raises:
        StudyError: they differ.
    """
    if row["best_epoch"] != str(selected["epoch"]):
        raise StudyError(
            f"{files['runs']} says epoch {row['best_epoch']} and {files['selected']} says {selected['epoch']} of this "
            "run: run the study's aggregation again"
        )
    if not row["n_correct_test"]:
        # Numbers are not right or wrong.
        return
    said = (int(row["n_correct_test"]), int(row["n_test"]))
    if said != (sum(each["label"] == each["prediction"] for each in predictions), len(predictions)):
        raise StudyError(
            f"{files['runs']} says {said[0]} of {said[1]} correct and {files['predictions']} says something else: "
            "run the study's aggregation again"
        )


def record_dropout(config, protocol, path):
    """Put the dropout of the run's training into a model's configuration, for whoever trains it further.

    A model converted from fairseq has the dropout of the starting checkpoint's pretraining.

    Args:
        config: RobertaConfig, changed here.
        protocol: the protocol in the run's `run.json`.
        path: path of that file, for messages.

    Raises:
        StudyError: no dropout is recorded, or more than one of the states.
    """
    states = protocol.get("dropout")
    if not isinstance(states, list) or len(states) != 1:
        raise StudyError(f"{path}: `protocol` must record one dropout of the states, not {states}: train the run again")
    config.hidden_dropout_prob = states[0]
    config.attention_probs_dropout_prob = protocol["attention_dropout"]
    config.classifier_dropout = protocol["classifier_dropout"]


def add_tokenizer(converted, folder, positions, sides):
    """Copy the tokenizer of the model that the arm started from into the exported model's folder.

    Args:
        converted: folder that the arm started from.
        folder: folder of the exported model.
        positions: most tokens of an input.
        sides: see `finetuning.blanks.collapse_blanks`, whose answer is returned.

    Raises:
        StudyError: it cuts at another number of tokens than the model has `positions`.
    """
    shutil.copytree(converted, folder, dirs_exist_ok=True, ignore=shutil.ignore_patterns(*NOT_TOKENIZER))
    settings = read_record(os.path.join(folder, "tokenizer_config.json"), ("model_max_length",))
    if settings["model_max_length"] != positions:
        raise StudyError(
            f"{converted}: its tokenizer cuts at {settings['model_max_length']} tokens, the model has {positions} "
            "positions: make this folder again"
        )
    return collapse_blanks(folder, sides, load_tokenizer)


def positions_of(model, facts, protocol, files):
    """Return the most tokens of an input, including special ones; see `record_dropout` for the lab's models.

    Args:
        model: the classifier.
        facts: dict of the columns of `common.arms.ARM`.
        protocol: see `record_dropout`.
        files: {name of the rule's input: path}.

    Raises:
        StudyError: see `record_dropout` and `read_record`.
    """
    if facts["model"] != CHECKPOINT:
        # The run saved its dropout under this kind of model's names for it.
        path = os.path.join(files["converted"], "conversion.json")
        return read_record(path, ("max_positions",))["max_positions"]
    record_dropout(model.config, protocol, files["run"])
    return model.config.max_position_embeddings - 2


def needs_sentencepiece(folder):
    """Return whether the folder's tokenizer is read from a SentencePiece model alone."""
    return not os.path.exists(os.path.join(folder, "tokenizer.json")) and any(
        name.endswith(".model") for name in os.listdir(folder)
    )


def read_facts(files, arm, seed):
    """Return the card's facts about a run, from the study's records.

    Args:
        files: {name of the rule's input: path}.
        arm: name.
        seed: seed of the run.

    Returns:
        dict: taken (conversion.json of the start), reads (the "first" or "last" tokens), selected, run, manifest,
            source_sha256 (of the start's files), row (of `runs.tsv`), interval (of its test accuracy; None of numbers),
            arm (rows of its summaries).

    Raises:
        StudyError: a file is missing or broken, or lacks the run.
    """
    row = only_row(files["runs"], arm=arm, seed=str(seed))
    conversion = read_record(os.path.join(files["converted"], "conversion.json"), ("source_sha256",))
    return {
        "taken": conversion,
        "reads": part_read(conversion),
        "selected": read_record(files["selected"], ("epoch",)),
        "run": read_record(files["run"], RUN_KEYS),
        "manifest": read_record(files["manifest"], MANIFEST_KEYS),
        "source_sha256": conversion["source_sha256"],
        "row": row,
        "interval": wilson_interval(int(row["n_correct_test"]), int(row["n_test"])) if row["n_correct_test"] else None,
        "arm": only_row(files["arms"], arm=arm) | only_row(files["test_accuracy"], arm=arm),
    }


def main(folder, arm, facts, seed: int, study, start, batch_size, threads, classes=POLARITY, **files):
    """Write the exported model: config, weights, tokenizer, README.md (the card).

    Long: the steps of an export in their order, and what its card states.

    Args:
        folder: folder to write.
        arm: name.
        facts: dict of the columns of `common.arms.ARM`.
        seed: seed of the run.
        study: name of the study.
        start: `source`, `folder` and `fetch` of the config section `checkpoint`; for an arm that starts from an
            external model: `source` "model", and its entry in `finetuning.models`.
        batch_size: reviews scored at once.
        threads: CPU threads.
        classes: names of the classes in order.
        **files: paths of the rule's inputs: checkpoints, selected, run, converted, runs, test_accuracy, arms,
            manifest, reviews, predictions, template.

    Raises:
        StudyError: a file is missing, broken or of another run, or the exported model predicts something else.
    """
    transformers_logging.set_verbosity_warning()
    set_threads(threads)
    known = read_facts(files, arm, seed)
    check_labels(classes, known["manifest"], files["manifest"])
    lead, task = Lead(known["row"]), known["manifest"].get("task", tasks.DEFAULT)
    texts, predictions = read_lines(files["reviews"]), read_tsv(files["predictions"])
    check_counts(known["row"], known["selected"], predictions, files)
    model = load_classifier(
        facts["framework"], files["checkpoints"], known["selected"]["epoch"], files["converted"], classes, task
    )
    positions = positions_of(model, facts, known["run"]["protocol"], files)
    with atomic_path(folder) as temporary:
        model.save_pretrained(temporary)
        grant(os.path.join(temporary, "model.safetensors"))
        collapses = add_tokenizer(files["converted"], temporary, positions, pairs_of(texts))
        is_table = known["manifest"]["source"] == "table"
        proof = prove(temporary, texts, predictions, batch_size, classes, NEUTRAL if is_table else EXAMPLE, task)
        card = render_card(
            files["template"],
            {"percent": percent, "plain": plain, "quoted": quoted},
            "run the study's aggregation again",
            name=os.path.basename(folder),
            study=study,
            start=start,
            trainer=frameworks.load(facts["framework"]).TRAINER,
            init=facts["init"],
            seed=seed,
            labels=dict(enumerate(classes)),
            task=task,
            number=NUMBER,
            own=is_table,
            noun=noun_of(known["manifest"]),
            config=model.config,
            n_parameters=sum(parameter.numel() for parameter in model.parameters()),
            longest=positions,
            kind=type(model).__name__,
            pieces=needs_sentencepiece(temporary),
            collapses=collapses,
            proof=proof,
            lead=lead,
            show=lead.text,
            unit=" %" if lead.percent else f" {lead.unit}" if lead.unit else "",
            **known,
        )
        write_text(os.path.join(temporary, "README.md"), card)
    print(f"{proof['n_equal']} of {proof['n']} predictions equal, largest difference {proof['max_difference']:.2g}")


if __name__ == "__main__":
    run(main, snakemake)
