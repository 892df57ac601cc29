"""What the task gives away without any pretrained model: majority class, TF-IDF of words, n-grams of characters."""

from scipy.stats import binomtest
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression

from common.errors import StudyError
from common.files import read_lines, write_tsv
from common.rule import running

COLUMNS = (
    "baseline features C n_train n_valid valid_accuracy n_test n_correct test_accuracy interval_low interval_high"
).split()
PENALTIES = (0.1, 1.0, 10.0, 100.0)
# name: (words for the reader, arguments of the vectorizer)
FEATURES = {
    "tfidf_words": ("TF-IDF of words and pairs of words", {"analyzer": "word", "ngram_range": (1, 2)}),
    "tfidf_characters": ("TF-IDF of 2 to 5 characters within words", {"analyzer": "char_wb", "ngram_range": (2, 5)}),
}


def majority(labels):
    """Return the most frequent label; of equals the one that occurs first in sorted order."""
    return max(sorted(set(labels)), key=labels.count)


def score(predictions, labels):
    """Return how many predictions equal their label."""
    return sum(str(prediction) == label for prediction, label in zip(predictions, labels, strict=True))


def fit_tfidf(train, valid, arguments):
    """Fit TF-IDF and logistic regression on train; choose C by accuracy on valid, the smallest of equals.

    Args:
        train, valid: (texts, labels).
        arguments: of `TfidfVectorizer`.

    Returns:
        tuple: (C, number correct on valid, predict: list of texts -> labels).
    """
    vectorizer = TfidfVectorizer(sublinear_tf=True, **arguments)
    features, held_out = vectorizer.fit_transform(train[0]), vectorizer.transform(valid[0])
    best = None
    for penalty in PENALTIES:
        # liblinear is deterministic without shuffling and the fastest for two classes and sparse features.
        model = LogisticRegression(C=penalty, solver="liblinear", random_state=0).fit(features, train[1])
        n_correct = score(model.predict(held_out), valid[1])
        if best is None or n_correct > best[1]:
            best = (penalty, n_correct, model)
    penalty, n_correct, model = best
    return penalty, n_correct, lambda texts: model.predict(vectorizer.transform(texts))


def baselines(splits):
    """Return the rows of baselines.tsv.

    Args:
        splits: {split: (texts, labels)} for train, valid, test; labels are "0" or "1".

    Raises:
        StudyError: the training labels are of one class.
    """
    (_, train_labels), (valid, valid_labels), (test, test_labels) = (splits[s] for s in ("train", "valid", "test"))
    if len(set(train_labels)) < 2:
        raise StudyError("the training labels are all of one class: there is nothing to learn; check data/train.label")
    common = majority(train_labels)
    results = [
        ("majority", f"always class {common}", None, score([common] * len(valid), valid_labels), [common] * len(test))
    ]
    for name, (words, arguments) in FEATURES.items():
        penalty, n_valid_correct, predict = fit_tfidf(splits["train"], splits["valid"], arguments)
        results.append((name, words, penalty, n_valid_correct, predict(test)))
    rows = []
    for name, words, penalty, n_valid_correct, predictions in results:
        n_correct = score(predictions, test_labels)
        low, high = binomtest(n_correct, len(test)).proportion_ci(0.95, method="exact")
        values = (name, words, penalty, len(train_labels), len(valid), n_valid_correct / len(valid))
        values += (len(test), n_correct, n_correct / len(test), float(low), float(high))
        rows.append(dict(zip(COLUMNS, values, strict=True)))
    return rows


def main(reviews, labels, table):
    """Fit on train, choose on valid, score on test, and write the table.

    Args:
        reviews, labels: {split: path}.
        table: TSV to write; the intervals are Clopper and Pearson's, 95 %, over test reviews.

    Raises:
        StudyError: reviews and labels do not match, or one class only.
    """
    splits = {}
    for split, path in reviews.items():
        splits[split] = (read_lines(path), read_lines(labels[split]))
        if not splits[split][0] or len(splits[split][0]) != len(splits[split][1]):
            raise StudyError(f"{path} and {labels[split]} need the same number of lines, at least one")
    write_tsv(table, baselines(splits), COLUMNS)


if __name__ == "__main__":
    with running(snakemake):  # noqa: F821
        splits = snakemake.params.splits  # noqa: F821
        main(
            dict(zip(splits, snakemake.input.reviews, strict=True)),  # noqa: F821
            dict(zip(splits, snakemake.input.labels, strict=True)),  # noqa: F821
            snakemake.output.table,  # noqa: F821
        )
