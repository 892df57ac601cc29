"""Every column of the study's tables, declared once: its name in each file, its type, unit and meaning.

`docs/guides/data-dictionary.md` is written from here (`python -m tools.data_dictionary`). A name means the same in
every file.
Jobs that train write plain `write_tsv` tables with constants of their own, which a test compares with these: were this
page a helper of theirs, a change of one word would train every run again.
"""

import functools
import math
import re

import frameworks
import measures
from common.errors import StudyError
from common.files import write_tsv
from study.products import own_columns, product, products

# The frameworks whose settings are compared.
TRAINED = frameworks.having("CHECKPOINTS")
# name: (type, unit, meaning). Types: text, integer, number, share (0 to 1), flag (true or false); a cell may be empty.
COLUMNS = {
    # The run.
    "study": ("text", "", "name of the study"),
    "synthetic": ("flag", "", "whether the data were written by a program"),
    "arm": (
        "text",
        "",
        "name of the arm in the settings: under `finetuning.arms`, or `qa.arms` in the tables of question answering",
    ),
    "framework": ("text", "", " or ".join(frameworks.names())),
    "init": ("text", "", "pretrained or random: what the run started from"),
    "seed": ("integer", "", "of the run: fresh weights, order of the data, dropout"),
    "init_seed": (
        "integer",
        "",
        "of the weights that are not loaded; given where sources have seeds of their own",
    ),
    "data_seed": ("integer", "", "of the order of the training texts"),
    "dropout_seed": ("integer", "", "of dropout"),
    "split_seed": ("integer", "", "of the draw of training and validation texts; empty: the study's own split"),
    "checkpoint_seed": ("integer", "", "of the pretraining that a run starts from; empty: it starts from none"),
    "rank": ("integer", "", "LoRA's r"),
    "epoch": ("integer", "", "passes over the training data, from 1"),
    "update": ("integer", "", "optimizer updates made"),
    "split": ("text", "", "train, valid, test; heldout for question answering"),
    # Sizes.
    "n_seeds": ("integer", "seeds", "seeds that the row is over"),
    "n_seeds_a": ("integer", "seeds", "seeds of the first arm"),
    "n_seeds_b": ("integer", "seeds", "seeds of the second arm"),
    "n_runs": ("integer", "runs", "runs of all arms"),
    "n_train": ("integer", "examples", "reviews (pairs, for question answering) trained on"),
    "n_valid": ("integer", "reviews", "reviews that the epoch is chosen by"),
    "n_test": ("integer", "reviews", "reviews of the test set"),
    "n_heldout": ("integer", "pairs", "pairs kept out of training"),
    "n_generated": ("integer", "answers", "held-out questions that were answered"),
    "n_tokens": ("integer", "tokens", "predicted tokens that the loss is the mean over"),
    "n_reviews": ("integer", "reviews", "reviews that were compared"),
    "n_values": ("integer", "", "numbers that were compared"),
    "n": ("integer", "", "texts that `value` is a share or count of"),
    # Training and accuracy.
    "metric": (
        "text",
        "",
        "measure in the row: loss (nats), accuracy (share), n_correct, macro_f1 (share; where it chooses the epoch), "
        "lr; or a column of qa/runs.tsv",
    ),
    "value": ("text", "by metric, check or setting", "the value of the row's metric, check or setting"),
    "loss": ("number", "nats", "mean per predicted token"),
    "objective": ("number", "nats", "mean per token of the loss that is optimised, the prompt's with `loss_on: all`"),
    "lr": ("number", "", "learning rate of the update"),
    "best_epoch": ("integer", "", "epoch with the best `finetuning.select_by` on validation, the earliest of equals"),
    "best_update": ("integer", "", "the last update of that epoch"),
    "chosen": ("flag", "", "whether the epoch is the run's best_epoch"),
    "accuracy": ("share", "", "correct answers over reviews"),
    "valid_accuracy": ("share", "", "accuracy on validation at best_epoch; of a baseline, of the chosen model"),
    "test_accuracy": ("share", "", "accuracy on test, counted from the predictions"),
    "n_correct_test": ("integer", "reviews", "test reviews answered correctly"),
    "total_updates": ("integer", "updates", "made in the whole run: fewer than planned where patience ended it"),
    "warmup_updates": ("integer", "updates", "in which the learning rate rises"),
    "train_seconds": ("number", "s", "wall time of training, without loading and scoring"),
    "seconds": ("number", "s", "wall time of the whole job"),
    "precision": ("text", "", "float32 or bfloat16, of training"),
    "threads": ("integer", "", "CPU threads of the run"),
    "id": ("text", "", "of a review: line of the test file, from 0; of a claim: its name"),
    "label": ("integer", "", "number of the class, from 0, in the order of `data.labels`"),
    "prediction": ("integer", "", "the most probable class"),
    "probability": ("share", "", "of class 1; of more than two classes a column for each: `probability_0`, …"),
    "n_right": ("integer", "runs", "runs that answered the review correctly"),
    "outcome": ("text", "", "all right, all wrong or runs disagree"),
    # Statistics of arms.
    "mean": ("number", "by `measure`: a share for accuracy", "mean over seeds"),
    "sd_ddof1": ("number", "as mean", "standard deviation over seeds, divisor n - 1; empty for one seed"),
    "sd_ddof0": ("number", "as mean", "standard deviation over seeds, divisor n"),
    "min": ("number", "as mean", "least value of a seed"),
    "max": ("number", "as mean", "largest value of a seed"),
    "level": ("share", "", "confidence of the intervals in the row"),
    "low": (
        "number",
        "as mean",
        "lower end of the interval over seeds and reviews (see statistics/method.json)",
    ),
    "high": ("number", "as mean", "its upper end"),
    "t_low": (
        "number",
        "as mean",
        "lower end of Student's t interval of the mean over seeds (sd with ddof 1)",
    ),
    "t_high": ("number", "as mean", "its upper end"),
    "bootstrap_low": ("number", "share", "lower end of the nested bootstrap's interval, over seeds and reviews"),
    "bootstrap_high": ("number", "share", "its upper end"),
    "exact_low": ("share", "", "lower end of Clopper and Pearson's 95 % interval of one model, over test reviews"),
    "exact_high": ("share", "", "its upper end"),
    "sampling_margin": ("number", "as mean", "half width that n_test reviews alone give the mean"),
    "best_of_k": ("text", "as mean", "`k=mean` of the best of k seeds, for each k"),
    "n_learned": ("integer", "seeds", "seeds that learnt (learned.tsv)"),
    "note": ("text", "", "what a reader has to know of the row"),
    "majority_share": (
        "share",
        "",
        "share of the largest class: on validation in learned.tsv, on test in figures/arms.tsv",
    ),
    "learned": ("flag", "", "whether valid_accuracy is above majority_share, by p_value"),
    "constant_on_test": ("flag", "", "whether all test reviews got one answer"),
    # Statistics of pairs.
    **{
        f"{fact}_{side}": ("text", "", f"{'name ' if fact == 'arm' else ''}of the {number} arm")
        for side, number in (("a", "first"), ("b", "second"))
        for fact in ("arm", "framework", "model", "init")
    },
    "difference": ("number", "as mean", "mean of the first arm less mean of the second"),
    "welch_p": (
        "share",
        "",
        "Welch's t-test over seeds, two-sided; where seeds draw texts, the paired t-test; empty where nothing varies",
    ),
    "welch_p_holm": ("share", "", "the same after Holm's correction over all pairs of arms, or all rows of the table"),
    "seeds_p": (
        "share",
        "",
        "permutation test of seeds, two-sided, exact where all permutations can be enumerated; where seeds draw texts, "
        "of the signs of their differences",
    ),
    "seeds_p_holm": ("share", "", "the same after Holm's correction over all pairs of arms, or all rows of the table"),
    "seeds_p_floor": ("share", "", "least p that this test can give with so many seeds"),
    "items_p": ("share", "", "permutation test paired by review, of these models"),
    "items_p_holm": ("share", "", "the same after Holm's correction over all pairs of arms"),
    "probability_better_seeds": (
        "share",
        "",
        "pairs of seeds in which the first arm is better; a tie counts half",
    ),
    "probability_better_bootstrap": ("share", "", "the same over bootstrap resamples"),
    "p": (
        "share",
        "",
        "two-sided, of no difference, over seeds and texts: the larger of the interval's two",
    ),
    "p_holm": ("share", "", "the same after Holm's correction over the arms that are compared with one model"),
    "verdict": ("text", "", "of a claim: holds, fails, not settled, ..."),
    "only_a": ("integer", "reviews", "reviews that only the first arm's run has right"),
    "only_b": ("integer", "reviews", "reviews that only the second arm's run has right"),
    "p_value": ("share", "", "exact: McNemar's test, or one-sided binomial (learned.tsv)"),
    "p_value_holm": ("share", "", "McNemar's after Holm's correction over pairs and seeds"),
    # Recipes: learning rate and epochs.
    "pair": ("text", "", "what a pretrained and a random start share: framework, model, settings that differ"),
    "start": ("text", "", "the same with what the arm starts from"),
    "peak_lr": ("number", "", "peak learning rate of the recipe"),
    "epochs": ("integer", "", "passes over the training reviews of the recipe"),
    "valid_mean": ("number", "as mean", "mean over seeds on validation: what the recipe is chosen by"),
    "valid_sd_ddof1": ("number", "as mean", "its standard deviation over seeds, divisor n - 1"),
    "best": (
        "flag",
        "",
        "whether the start's recipe: best valid_mean, of equals the fewest epochs, the lowest rate",
    ),
    "n_tied": ("integer", "recipes", "recipes of the start with this valid_mean"),
    "joint_low": (
        "number",
        "as mean",
        "lower end of the interval that holds for all shared recipes of the pair together (Bonferroni)",
    ),
    "joint_high": ("number", "as mean", "its upper end"),
    "peak_lr_a": ("number", "", "peak learning rate of the first recipe"),
    "peak_lr_b": ("number", "", "that of the second"),
    "epochs_a": ("integer", "", "passes over the training reviews of the first recipe"),
    "epochs_b": ("integer", "", "those of the second"),
    "difference_a": ("number", "as mean", "pretrained less random on test with the first recipe"),
    "difference_b": ("number", "as mean", "with the second"),
    "interaction": ("number", "as mean", "the first difference less the second: 0 where the recipe changes nothing"),
    # Learning curves.
    "curve": ("text", "", "what grows: labelled reviews, or pretraining updates"),
    "amount": (
        "integer",
        "reviews; updates",
        "labelled reviews that the arm learns from, or updates of its checkpoint",
    ),
    # Errors of runs.
    "n_wrong": ("integer", "reviews", "test reviews with the wrong answer"),
    "confidence": ("share", "", "mean probability of the answers given"),
    "calibration_error": ("share", "", "expected calibration error: |confidence - accuracy| of bins, by their answers"),
    "share": ("share", "", "of the label's reviews; of all reviews that two runs answer alike"),
    "bin": ("integer", "", "number of the bin, from 1"),
    "bin_low": ("number", "probability; words or characters", "least value of the bin"),
    "bin_high": ("number", "probability; words or characters", "largest value of the bin"),
    "n_answers": ("integer", "answers", "of all seeds whose probability lies in the bin"),
    "seed_a": ("integer", "", "seed of the first run"),
    "seed_b": ("integer", "", "seed of the second run"),
    # Baselines, audit, claims.
    "baseline": (
        "text",
        "",
        "name of the simple model's arm: majority, tfidf_words or tfidf_characters",
    ),
    "features": ("text", "", "what the baseline looks at"),
    "C": ("number", "", "inverse strength of its regularisation, chosen on validation"),
    "check": ("text", "", "what was looked at"),
    "other": ("text", "", "split that `split` is compared with"),
    "status": ("text", "", "ok, or leak where text is shared between splits"),
    "sentence": ("text", "", "what is claimed, as printed"),
    "source": ("text", "", "where it is claimed"),
    "data": ("text", "", "what the data say of it"),
    "part": ("text", "", "what is counted: whose claims, or a part of the model"),
    "heading": ("text", "", "the report's first heading"),
    "opening": ("text", "", "the report's first words"),
    "claims": ("integer", "claims", "claims in all"),
    **{
        verdict.replace(" ", "_"): ("integer", "claims", f"claims with the verdict `{verdict}`")
        for verdict in ("holds", "fails", "not settled", "cannot be decided", "transcribed")
    },
    # Weights and parameters.
    "n_tensors": (
        "integer",
        "tensors",
        "tensors that were compared with the checkpoint: all but a new head",
    ),
    "n_equal": ("integer", "tensors", "those equal to the checkpoint's"),
    "n_new": ("integer", "tensors", "those that the checkpoint lacks"),
    "n_constant": ("integer", "tensors", "those of one value or computed, alike in every new model"),
    "head": ("text", "", "whether the classification head is `new`, or `kept` as it came with the model"),
    "weights": ("text", "", "whose weights were compared"),
    "converted": ("text", "", "into which framework"),
    "quantity": ("text", "", "what was compared"),
    "max_abs_difference": ("number", "logits; features: the encoder's unit", "largest absolute difference"),
    "tolerance": ("number", "as max_abs_difference", "largest difference that is allowed"),
    "equal": ("text", "", "true or false; not applicable where only one framework has the setting"),
    "section": ("text", "", "term, convention, published, or `counted: FILE`"),
    "item": ("text", "", "term, convention or total"),
    "formula": ("text", "", "how the count follows from the sizes"),
    "count": ("integer", "parameters", "by formula or as counted in the file"),
    "expected": ("integer", "parameters", "what count has to be"),
    "agrees": ("flag", "", "whether count is expected"),
    "setting": ("text", "", "name of a setting"),
    **{name: ("text", "", f"what {frameworks.label(name)}'s runs had") for name in TRAINED},
    # Question answering; the room declares the rest.
    "model": (
        "text",
        "",
        "what an arm starts from, of the settings; base model that is tuned; study or reports: whose model is counted",
    ),
    "train_loss": ("number", "nats", "mean per token of the answers trained on, over the last epoch, with dropout"),
    "heldout_loss": ("number", "nats", "mean per token of held-out answers, at the end"),
    "heldout_perplexity": ("number", "", "exp of heldout_loss"),
    "trainable_share": ("share", "", "trainable_params over total_params"),
    "update_seconds": ("number", "s", "wall time of all updates, without loading and measuring"),
    "training_bytes": ("integer", "bytes", "of the trained weights, their gradients and the optimizer's averages"),
    # Training beside validation, after a run's last epoch.
    "last_train_loss": ("number", "nats", "mean over the last epoch, with dropout"),
    "last_valid_loss": ("number", "nats", "after the last epoch"),
    "last_train_accuracy": ("share", "", "over the last epoch, with dropout"),
    "last_valid_accuracy": ("share", "", "after the last epoch"),
    "lowest_valid_loss": ("number", "nats", "least of all epochs"),
    "lowest_valid_loss_epoch": ("integer", "", "epoch of lowest_valid_loss"),
    "loss_gap": ("number", "nats", "last_valid_loss less last_train_loss"),
    "loss_gap_sd_ddof1": ("number", "nats", "its standard deviation over seeds, divisor n - 1"),
    "accuracy_gap": ("number", "share", "last_train_accuracy less last_valid_accuracy"),
    "accuracy_gap_sd_ddof1": ("number", "share", "its standard deviation over seeds, divisor n - 1"),
    "valid_loss_rise": ("number", "nats", "last_valid_loss less lowest_valid_loss"),
    "valid_accuracy_half_width": ("share", "", "half width that n_valid reviews alone give last_valid_accuracy"),
    "n_past_lowest": ("integer", "seeds", "seeds whose last_valid_loss is above their lowest_valid_loss"),
    # The parameter count derived.
    "step": ("integer", "", "place in the derivation, or among a framework's rules, from 1"),
    "scope": ("text", "", "layer or model: what the step counts"),
    "substituted": ("text", "", "the formula in numbers"),
    "total": ("integer", "parameters", "of the model up to this step; empty within a layer"),
    "published": ("integer", "parameters", "count of a report that departs at this step"),
    "symbol": ("text", "", "of the formulas"),
    "study_value": ("integer", "", "of the study's model"),
    "reports_value": ("integer", "", "of the model that the reports count"),
}


@functools.cache
def columns():
    """Return the meaning of every column: `COLUMNS` and those that the rooms' modules of products declare.

    Raises:
        StudyError: a column is declared twice.
    """
    found = dict(COLUMNS)
    for module, declared_there in own_columns():
        for name in declared_there:
            if name in found:
                raise StudyError(f"{module}: the column {name} is declared already; use it or give yours another name")
        found |= declared_there
    return found


def tables():
    """Return every table as {key: Product}."""
    return {key: row for key, row in products().items() if row.columns}


def name_of(path):
    """Return the key of the table that a path below the results folder belongs to, or None."""
    led = f"(?:{'|'.join(measures.names())})"
    for key, row in tables().items():
        pattern = re.escape(row.path).replace(re.escape("{leading}"), led)
        if re.fullmatch(re.sub(r"\\{\w+\\}", "[^/]+", pattern), path):
            return key
    return None


def columns_of(key):
    """Return the columns of a table in order, including those that only some studies have.

    Args:
        key: key of a product.
    """
    return [column.rstrip("?") for column in product(key).columns.split()]


def faults(key, header, rows):
    """Yield the faults of a table, in words.

    Args:
        key: key of a product.
        header: its columns.
        rows: dictionaries; values as Python's or as the file's text.
    """
    needed = [column for column in product(key).columns.split() if not column.endswith("?")]
    kinds = {column: columns()[declared(column)][0] for column in header if declared(column) in columns()}
    names = list(dict.fromkeys(map(declared, header)))
    if [column for column in columns_of(key) if column in names] != names or set(needed) - set(names):
        yield f"the columns are {' '.join(names)}; declared are {product(key).columns}"
        return
    if unknown := [column for column in header if column not in kinds]:
        yield f"no meaning is declared for {', '.join(unknown)}; add COLUMNS to the module of the table's row"
        return
    for line, row in enumerate(rows, start=2):
        for column in header:
            if not fits(row[column], kinds[column]):
                yield f"line {line}: {column} {row[column]!r} is no {kinds[column]}"


def declared(column):
    """Return the name in `COLUMNS` of a table's column; each class's probability shares one."""
    return re.sub(r"^probability_\d+$", "probability", column)


def fits(value, kind):
    """Return whether a value is of a declared type; None and an empty text are of every one."""
    if value is None or value == "" or kind == "text":
        return True
    if kind == "flag":
        return value in (True, False, "true", "false")
    try:
        number = float(value)
    except (TypeError, ValueError):
        return False
    if kind == "integer":
        return number.is_integer()
    return math.isfinite(number) and (kind == "number" or 0 <= number <= 1)


def frame_rows(frame):
    """Return a pandas frame's rows as dictionaries; a missing value is None."""
    return frame.astype(object).where(frame.notna(), None).to_dict("records")


def write_table(path, key, rows, header=None):
    """Write a declared table.

    Args:
        path: the file.
        key: key of its product.
        rows: list of dictionaries.
        header: the columns; None: all that are declared, but for those marked `?` that the rows lack.

    Raises:
        StudyError: a column that is not declared, or a value of another type: a fault of the workflow.
    """
    if header is None:
        lacking = [f"{column}?" for column in columns_of(key) if rows and column not in rows[0]]
        header = [column.rstrip("?") for column in product(key).columns.split() if column not in lacking]
    for fault in faults(key, header, rows):
        raise StudyError(f"{path}: {fault}; this is a fault of the workflow (scripts/*/products/)")
    write_tsv(path, rows, header)
