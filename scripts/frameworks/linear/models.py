"""Models that know no language: the majority class, TF-IDF of words, n-grams of characters.

Each depends on the texts alone: no seed changes it.
"""

import numpy as np
from sklearn.dummy import DummyClassifier
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline

import measures
import tasks
from frameworks.linear import other_labels

PENALTIES = (0.1, 1.0, 10.0, 100.0)
# Arguments of the vectorizer; a model without an entry looks at nothing, as the largest class does.
FEATURES = {
    "majority": None,
    "tfidf_words": {"analyzer": "word", "ngram_range": (1, 2)},
    "tfidf_characters": {"analyzer": "char_wb", "ngram_range": (2, 5)},
}
# The model's features, in words for the reader.
WORDS = {
    "tfidf_words": "TF-IDF of words and pairs of words",
    "tfidf_characters": "TF-IDF of 2 to 5 characters within words",
}


def fit(train, features, penalty=None, task=tasks.DEFAULT):
    """Return a simple model fitted on train: a scikit-learn classifier of texts.

    With more than two classes, each has a model against all others, and the most confident one answers.

    Args:
        train: (texts, labels), labels from 0.
        features: of `FEATURES`.
        penalty: C, the inverse strength of the regularisation; None for the largest class.
        task: kind of the labels.
    """
    texts, labels = train
    if task != tasks.DEFAULT:
        labels, model = tasks.load(task).array(labels), other_labels.estimator(task, penalty)
        steps = [] if penalty is None else [TfidfVectorizer(sublinear_tf=True, **FEATURES[features])]
        return make_pipeline(*steps, model).fit(texts, labels)
    if FEATURES.get(features) is None:
        # Ties go to the first class.
        return DummyClassifier(strategy="prior").fit(texts, labels)
    # liblinear is deterministic without shuffling, and the fastest for two classes and sparse features.
    model = LogisticRegression(C=penalty, solver="liblinear", random_state=0)
    if len(set(labels)) > 2:
        model = OneVsRestClassifier(model)
    return make_pipeline(TfidfVectorizer(sublinear_tf=True, **FEATURES[features]), model).fit(texts, labels)


def choose(train, valid, features, measure=measures.DEFAULT, n_classes=None, task=tasks.DEFAULT):
    """Fit a simple model on train; choose C by the leading measure on valid; ties go to the smallest.

    Args:
        train, valid: (texts, labels), labels from 0.
        features: of `FEATURES`.
        measure: measure that leads the study.
        n_classes: number of classes; None: as many as valid has.
        task: kind of the labels.

    Returns:
        tuple: (C or None, number correct on valid (None: the labels are numbers), the value on valid where another
        measure than accuracy leads, the fitted model).
    """
    best, worth, lead = None, None, measures.Lead({"measure": measure})
    for penalty in (None,) if FEATURES.get(features) is None else PENALTIES:
        model = fit(train, features, penalty, task)
        if task != tasks.DEFAULT:
            right, value = other_labels.scored(model, valid, task, measure)
        else:
            right, value = n_correct(model.predict(valid[0]), valid[1]), None
        if task == tasks.DEFAULT and measure != measures.DEFAULT:
            labels = np.asarray(valid[1], dtype=np.int64)
            value = measures.load(measure).value(labels, *answers(model, valid[0], n_classes or labels.max() + 1))
        now = right if value is None else lead.worth(value)
        if best is None or now > worth:
            best, worth = (penalty, right, value, model), now
    return best


def described(model, features, classes, task=tasks.DEFAULT):
    """Return a fitted model's features, in words for the reader."""
    if features in WORDS:
        return WORDS[features]
    if task != tasks.DEFAULT:
        return other_labels.in_words(model, classes, task)
    largest = int(model.predict([""])[0])
    return f"always class {largest}" + (f" ({classes[largest]})" if len(classes) > 2 else "")


def n_correct(predictions, labels):
    """Return how many predictions equal their label."""
    return int(np.sum(np.asarray(predictions) == np.asarray(labels)))


def answers(model, texts, n_classes):
    """Return a fitted model's classes (N,) and probabilities (N, n_classes); a class never seen has 0."""
    found = np.zeros((len(texts), n_classes))
    found[:, np.asarray(model.classes_, dtype=int)] = model.predict_proba(texts)
    return np.asarray(model.predict(texts), dtype=int), found
