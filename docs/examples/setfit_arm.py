"""An arm of `framework: command`: SetFit, which tunes a sentence encoder on pairs of texts and fits a classifier on it.

python setfit_arm.py train ENCODER TRAIN SEED OUT
python setfit_arm.py predict MODEL TEXTS PREDICTIONS

Run with setfit 1.2.0, sentence-transformers 6.2.0, transformers 5.23.0 and torch 2.13.0.
"""

import json
import sys
import tempfile

from datasets import Dataset
from setfit import SetFitModel, Trainer, TrainingArguments


def read(path):
    """Return the rows of a file of JSON Lines."""
    with open(path, encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def train(encoder, path, seed, out):
    """Tune the encoder on 10 pairs for each text, fit the classifier, and save both."""
    rows = read(path)
    labels = sorted({row["label"] for row in rows})
    data = Dataset.from_dict({"text": [row["text"] for row in rows], "label": [row["label"] for row in rows]})
    model = SetFitModel.from_pretrained(encoder, labels=labels)
    with tempfile.TemporaryDirectory() as scratch:
        settings = {"batch_size": 16, "num_epochs": 1, "num_iterations": 5, "seed": int(seed)}
        quiet = {"output_dir": scratch, "save_strategy": "no", "report_to": "none"}
        Trainer(model, args=TrainingArguments(**settings, **quiet), train_dataset=data).train()
    model.save_pretrained(out)


def predict(model, texts, predictions):
    """Write the probability of every class for each text."""
    fitted = SetFitModel.from_pretrained(model)
    rows = read(texts)
    found = fitted.predict_proba([row["text"] for row in rows], as_numpy=True)
    with open(predictions, "w", encoding="utf-8") as file:
        for row, shares in zip(rows, found.tolist(), strict=True):
            named = {f"probability_{name}": share for name, share in zip(fitted.labels, shares, strict=True)}
            file.write(json.dumps({"id": row["id"]} | named) + "\n")


if __name__ == "__main__":
    {"train": train, "predict": predict}[sys.argv[1]](*sys.argv[2:])
