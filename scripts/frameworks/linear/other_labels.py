"""The simple models of numbers and of sets of labels: a constant, and TF-IDF with ridge or a logistic model a label."""

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.dummy import DummyRegressor
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.multiclass import OneVsRestClassifier

import measures
import tasks


class CommonestSet(ClassifierMixin, BaseEstimator):
    """Answers every text with the set of labels that most training texts have; of equals the first by its digits."""

    def fit(self, texts, labels):
        """Take the commonest row of labels (n, labels)."""
        sets, counts = np.unique(labels, axis=0, return_counts=True)
        self.answer_ = sets[counts.argmax()]
        return self

    def predict_proba(self, texts):
        """Return the set for every text, as probabilities 0 and 1."""
        return np.tile(self.answer_.astype(float), (len(texts), 1))


def estimator(task, penalty):
    """Return an estimator that is not fitted; without C the constant.

    Args:
        task: kind of the labels.
        penalty: C, the inverse strength of the regularisation, of ridge as of a logistic model.
    """
    if task == "regression":
        return DummyRegressor() if penalty is None else Ridge(alpha=1 / penalty, solver="sparse_cg", tol=1e-8)
    if penalty is None:
        return CommonestSet()
    return OneVsRestClassifier(LogisticRegression(C=penalty, solver="liblinear", random_state=0))


def answers(model, texts, task):
    """Return what a fitted model answers, as `tasks` has arrays: the answers, and the probabilities or None."""
    if task == "regression":
        return model.predict(texts), None
    found = model.predict_proba(texts)
    return (found >= tasks.load(task).THRESHOLD).astype(np.int64), found


def scored(model, valid, task, measure):
    """Return a fitted model's number of right answers on (texts, labels), None of numbers, and a measure's value."""
    kind, given = tasks.load(task), answers(model, valid[0], task)
    labels = kind.array(valid[1])
    right = int((labels == given[0]).all(axis=1).sum()) if kind.COUNTED else None
    return right, measures.load(measure).value(labels, *given)


def in_words(model, classes, task):
    """Return what the constant model answers, in words for the reader."""
    if task == "regression":
        return f"always the mean of train, {model.predict(['']).item():.4g}"
    named = [classes[k] for k in np.flatnonzero(model.predict_proba([""])[0])]
    return f"always the commonest set: {', '.join(named) or 'no label'}"
