"""Logistic regression on features: fitted, with its strength chosen on validation, kept as arrays."""

import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression

import measures
from common.errors import StudyError

# C, the inverse strength of the regularisation, of features with mean 0 and SD 1.
STRENGTHS = (0.0001, 0.001, 0.01, 0.1, 1.0, 10.0)
ITERATIONS = 10_000


def scaled(features, centre, scale):
    """Return (n, width) features in float64 with the training texts' mean 0 and SD 1."""
    return (np.asarray(features, dtype=np.float64) - centre) / scale


def fit(features, labels, strength, n_classes):
    """Return {centre, scale: (width,), weights: (n_classes, width), biases: (n_classes,)}.

    The weights of two classes are those of the second, and 0 of the first. A class without training texts gets a bias
    of -inf, that is, a probability of 0.

    Raises:
        StudyError: the training texts have one class, or the regression does not settle.
    """
    features = np.asarray(features, dtype=np.float64)
    if len(set(labels)) < 2:
        raise StudyError("the training texts have one class; a linear model needs two")
    centre, scale = features.mean(axis=0), features.std(axis=0)
    scale[scale < 1e-9] = 1.0
    model = LogisticRegression(C=strength, max_iter=ITERATIONS)
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        try:
            model.fit(scaled(features, centre, scale), labels)
        except ConvergenceWarning as error:
            raise StudyError(f"C {strength}: the regression did not settle in {ITERATIONS} steps") from error
    weights, biases = np.zeros((n_classes, features.shape[1])), np.full(n_classes, -np.inf)
    if len(model.classes_) == 2:
        biases[model.classes_] = 0.0
        weights[model.classes_[1]], biases[model.classes_[1]] = model.coef_[0], model.intercept_[0]
    else:
        weights[model.classes_], biases[model.classes_] = model.coef_, model.intercept_
    return {"centre": centre, "scale": scale, "weights": weights, "biases": biases}


def predict(probe, features):
    """Return probabilities (n, n_classes): the softmax of the linear scores.

    The rows are computed one by one, so that no text's last digits depend on the others.
    """
    rows = scaled(features, probe["centre"], probe["scale"])
    scores = np.stack([(probe["weights"] * row).sum(axis=1) for row in rows]) + probe["biases"]
    odds = np.exp(scores - scores.max(axis=1, keepdims=True))
    return odds / odds.sum(axis=1, keepdims=True)


def choose(train, labels, valid, valid_labels, n_classes, measure=measures.DEFAULT):
    """Return (C, probe) with the best value of the leading measure on validation; ties go to the smallest C.

    Args:
        train, valid: (n, width) features.
        labels, valid_labels: n numbers from 0.
        n_classes: how many classes there are.
        measure: name of the leading measure.
    """
    best, lead, truth = None, measures.Lead({"measure": measure}), np.asarray(valid_labels)
    for strength in STRENGTHS:
        probe = fit(train, labels, strength, n_classes)
        found = predict(probe, valid)
        worth = lead.worth(measures.load(measure).value(truth, found.argmax(axis=1), found))
        if best is None or worth > best[0]:
            best = (worth, strength, probe)
    return best[1:]
