"""An arm of `framework: command`: TF-IDF and a logistic regression of scikit-learn.

python sklearn_arm.py train TRAIN SEED OUT
python sklearn_arm.py predict MODEL TEXTS PREDICTIONS
"""

import json
import pickle
import sys

from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline


def read(path):
    """Return the rows of a file of JSON Lines."""
    with open(path, encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def train(path, seed, out):
    """Fit the model on texts with labels and save it; few passes of saga, so that the seed has an effect."""
    rows = read(path)
    model = make_pipeline(TfidfVectorizer(), LogisticRegression(solver="saga", max_iter=5, random_state=int(seed)))
    model.fit([row["text"] for row in rows], [row["label"] for row in rows])
    with open(out, "wb") as file:
        pickle.dump(model, file)


def predict(model, texts, predictions):
    """Write the probability of every class for each text."""
    with open(model, "rb") as file:
        fitted = pickle.load(file)
    rows = read(texts)
    with open(predictions, "w", encoding="utf-8") as file:
        for row, shares in zip(rows, fitted.predict_proba([row["text"] for row in rows]), strict=True):
            named = {f"probability_{name}": share for name, share in zip(fitted.classes_, shares, strict=True)}
            file.write(json.dumps({"id": row["id"]} | named) + "\n")


if __name__ == "__main__":
    {"train": train, "predict": predict}[sys.argv[1]](*sys.argv[2:])
