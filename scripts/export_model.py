"""Export one run's chosen epoch as a Hugging Face folder with a model card, and prove it through `pipeline`."""

import os
import shutil
from statistics import NormalDist

import jinja2
from transformers import logging as transformers_logging
from transformers import pipeline

from common.conversion import load_converted
from common.errors import StudyError
from common.files import atomic_path, read_json, read_lines, read_tsv, write_text
from common.rule import running
from common.scoring import load_epoch
from common.training import choose_device, set_threads

LABELS = {0: "negative", 1: "positive"}
# What lies in the converted folder beside the tokenizer.
NOT_TOKENIZER = ("config.json", "model.safetensors", "conversion.json", ".snakemake*")
# Between probabilities of class 1 (both computed in float32).
TOLERANCE = 1e-4
# What the card takes from each record.
RUN_KEYS = ("protocol", "versions", "n_train", "n_valid", "total_updates", "precision")
MANIFEST_KEYS = ("source", "synthetic", "splits", "identical_reviews", "files")


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
    # Rounding may leave the unit interval where all or none are correct.
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


def load_classifier(framework, checkpoints, epoch, converted):
    """Return a run's classifier of one epoch, on the CPU, with the names of its classes.

    Args:
        framework: "fairseq" (converted here) or "huggingface" (as it was saved).
        checkpoints: the run's folder of checkpoints.
        epoch: 1-based.
        converted: the starting checkpoint as a Hugging Face folder; its config gives a fairseq model's sizes.

    Returns:
        RobertaForSequenceClassification, in float32.

    Raises:
        StudyError: the epoch's checkpoint is missing or broken, or does not fit the converted checkpoint's sizes.
    """
    if framework == "huggingface":
        model = load_epoch(checkpoints, epoch).cpu()
    else:
        model = load_converted(os.path.join(checkpoints, f"checkpoint{epoch}.pt"), converted)
    model.config.id2label = dict(LABELS)
    model.config.label2id = {name: number for number, name in LABELS.items()}
    return model.eval()


def prove(folder, texts, rows, batch_size):
    """Ask the saved model through `pipeline` and compare with the run's predictions.

    Args:
        folder: the exported model.
        texts: n test reviews.
        rows: n rows of the run's predictions (see `common.predictions`), in the same order.
        batch_size: reviews scored at once.

    Returns:
        dict: n, n_equal (equal labels; one may differ only within `TOLERANCE` of a tie), max_difference of the
        probabilities of class 1.

    Raises:
        StudyError: another number of reviews, or a probability that differs by more than `TOLERANCE`.
    """
    if len(texts) != len(rows) or not rows:
        raise StudyError(f"{len(texts)} test reviews but {len(rows)} predictions: evaluate the run again")
    classify = pipeline("text-classification", model=folder, device=choose_device())
    answers = classify(texts, truncation=True, batch_size=batch_size)
    n_equal, worst = 0, 0.0
    for number, (answer, row) in enumerate(zip(answers, rows, strict=True), start=1):
        probability = answer["score"] if answer["label"] == LABELS[1] else 1 - answer["score"]
        difference = abs(probability - float(row["probability"]))
        # A number that is not finite fails the comparison, too.
        if not difference <= TOLERANCE:
            raise StudyError(
                f"test review {number}: the exported model gives probability {probability:.6f} and the run's "
                f"predictions say {float(row['probability']):.6f}: evaluate the run again"
            )
        n_equal += answer["label"] == LABELS[int(row["prediction"])]
        worst = max(worst, difference)
    return {"n": len(rows), "n_equal": n_equal, "max_difference": worst}


def percent(fraction, decimals=2):
    """Return a fraction as a percentage with fixed decimals, such as `79.50`."""
    # Not that of `common.arms`: it needs SciPy, which this environment has not.
    return f"{100 * float(fraction):.{decimals}f}"


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


def render_card(template, **facts):
    """Return the model card.

    Args:
        template: path of `model_card.md.j2`.
        **facts: its variables.

    Raises:
        StudyError: a record lacks a fact that the card states.
    """
    environment = jinja2.Environment(
        undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True
    )
    environment.filters |= {"percent": percent, "plain": plain}
    text = "\n".join(read_lines(template))
    try:
        return environment.from_string(text).render(**facts).rstrip("\n") + "\n"
    except jinja2.UndefinedError as error:
        raise StudyError(f"the model card cannot be filled ({error}): run the study's aggregation again") from error


def main(files, folder, framework, init, seed, study, start, batch_size, threads):
    """Write the exported model: config, weights, tokenizer, README.md (the card).

    Args:
        files: {name: path} of the rule's inputs: checkpoints, selected, run, converted, runs, test_accuracy, arms,
            manifest, reviews, predictions, template.
        folder: folder to write.
        framework: "fairseq" or "huggingface".
        init: "pretrained" or "random".
        seed: of the run.
        study: name of the study.
        start: `source`, `folder` and `fetch` of the config section `checkpoint`.
        batch_size: reviews scored at once.
        threads: CPU threads.

    Raises:
        StudyError: a file is missing, broken or of another run, or the exported model predicts something else.
    """
    transformers_logging.set_verbosity_warning()
    set_threads(threads)
    arm = {"framework": framework, "init": init}
    selected = read_record(files["selected"], ("epoch",))
    run = read_record(files["run"], RUN_KEYS)
    manifest = read_record(files["manifest"], MANIFEST_KEYS)
    conversion = read_record(os.path.join(files["converted"], "conversion.json"), ("source_sha256",))
    row = only_row(files["runs"], **arm, seed=str(seed))
    if row["best_epoch"] != str(selected["epoch"]):
        raise StudyError(
            f"{files['runs']} says epoch {row['best_epoch']} and {files['selected']} says {selected['epoch']} of this "
            "run: run the study's aggregation again"
        )
    model = load_classifier(framework, files["checkpoints"], selected["epoch"], files["converted"])
    texts, predictions = read_lines(files["reviews"]), read_tsv(files["predictions"])
    n_correct, n_test = int(row["n_correct_test"]), int(row["n_test"])
    if (n_correct, n_test) != (sum(p["label"] == p["prediction"] for p in predictions), len(predictions)):
        raise StudyError(
            f"{files['runs']} says {n_correct} of {n_test} correct and {files['predictions']} says something else: "
            "run the study's aggregation again"
        )
    with atomic_path(folder) as temporary:
        model.save_pretrained(temporary)
        shutil.copytree(
            files["converted"], temporary, dirs_exist_ok=True, ignore=shutil.ignore_patterns(*NOT_TOKENIZER)
        )
        longest = read_record(os.path.join(temporary, "tokenizer_config.json"), ("model_max_length",))
        longest, places = longest["model_max_length"], model.config.max_position_embeddings - 2
        if longest != places:
            raise StudyError(
                f"{files['converted']}: its tokenizer cuts at {longest} tokens, the model has {places} positions: "
                "convert the checkpoint again"
            )
        proof = prove(temporary, texts, predictions, batch_size)
        card = render_card(
            files["template"],
            name=os.path.basename(folder),
            study=study,
            start=start,
            checkpoint_sha256=conversion["source_sha256"].get("model.pt"),
            framework=framework,
            init=init,
            seed=seed,
            run=run,
            row=row,
            interval=wilson_interval(n_correct, n_test),
            arm=only_row(files["arms"], **arm) | only_row(files["test_accuracy"], **arm),
            manifest=manifest,
            labels=LABELS,
            config=model.config,
            n_parameters=sum(parameter.numel() for parameter in model.parameters()),
            longest=longest,
            proof=proof,
        )
        write_text(os.path.join(temporary, "README.md"), card)
    print(f"{proof['n_equal']} of {proof['n']} predictions equal, largest difference {proof['max_difference']:.2g}")


if __name__ == "__main__":
    with running(snakemake):  # noqa: F821
        main(
            {name: path for name, path in snakemake.input.items() if name != "common"},  # noqa: F821
            snakemake.output.folder,  # noqa: F821
            snakemake.wildcards.framework,  # noqa: F821
            snakemake.wildcards.init,  # noqa: F821
            int(snakemake.wildcards.seed),  # noqa: F821
            snakemake.params.study,  # noqa: F821
            snakemake.params.start,  # noqa: F821
            snakemake.params.batch_size,  # noqa: F821
            snakemake.threads,  # noqa: F821
        )
