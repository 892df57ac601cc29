"""Models that know no language: the majority class, TF-IDF of words, n-grams of characters."""

from scipy.stats import binomtest
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier

from data.lib.reviews import POLARITY
from study.tables import columns_of

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
    return sum(prediction == label for prediction, label in zip(predictions, labels, strict=True))


def fit_tfidf(train, valid, arguments):
    """Fit TF-IDF and logistic regression on train; choose C by accuracy on valid, the smallest of equals.

    Of more than two classes each has a model of its own against all others, and the surest one answers.

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
        model = LogisticRegression(C=penalty, solver="liblinear", random_state=0)
        if len(set(train[1])) > 2:
            model = OneVsRestClassifier(model)
        model.fit(features, train[1])
        n_correct = score(model.predict(held_out), valid[1])
        if best is None or n_correct > best[1]:
            best = (penalty, n_correct, model)
    penalty, n_correct, model = best
    return penalty, n_correct, lambda texts: model.predict(vectorizer.transform(texts))


def baselines(splits, classes=POLARITY):
    """Return the rows of baselines.tsv.

    Args:
        splits: {split: (texts, labels)} for train, valid, test; labels are numbers from 0.
        classes: names of the classes in order.
    """
    (_, train_labels), (valid, valid_labels), (test, test_labels) = splits.values()
    common = majority(train_labels)
    name = common if len(classes) == 2 else f"{common} ({classes[common]})"
    results = [
        ("majority", f"always class {name}", None, score([common] * len(valid), valid_labels), [common] * len(test))
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
        rows.append(dict(zip(columns_of("baselines.tsv"), values, strict=True)))
    return rows
