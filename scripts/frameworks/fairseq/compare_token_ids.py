"""Verify that both frameworks read the same input: token ids and labels of every example of a split."""

import os

from common.entry import run
from common.errors import StudyError
from common.files import write_json
from finetuning.token_ids import read_token_ids
from training.fairseq_commands import import_fairseq

BOS = 0  # --init-token prepends this id
SHOWN = 12  # a message shows this many ids around a difference


def read_fairseq(data, split):
    """Return a split's token ids and labels as fairseq's task `sentence_prediction` sees them.

    Args:
        data: folder with `input0/` and `label/`, each binarized and with its `dict.txt`.
        split: train, valid or test.

    Returns:
        tuple: list of lists of ids (<s> first, </s> last), list of classes.

    Raises:
        StudyError: the split is not there.

    Source: fairseq.tasks.sentence_prediction.SentencePredictionTask.load_dataset
    """
    import_fairseq()
    from fairseq.data import Dictionary, data_utils

    parts = {}
    for part in ("input0", "label"):
        dictionary = Dictionary.load(os.path.join(data, part, "dict.txt"))
        path = os.path.join(data, part, split)
        loaded = data_utils.load_indexed_dataset(path, dictionary)
        if loaded is None:
            raise StudyError(f"{path}.bin is missing: binarize the reviews again")
        parts[part] = ([loaded[i].tolist() for i in range(len(loaded))], dictionary)
    items, _ = parts["input0"]
    labels, dictionary = parts["label"]
    # A label item is [id, </s>]; the class is the id behind the special symbols.
    return [[BOS, *item] for item in items], [item[0] - dictionary.nspecial for item in labels]


def compare(ours, theirs, ours_labels, theirs_labels):
    """Count identical examples.

    Args:
        ours: list of id sequences (Hugging Face).
        theirs: list of id sequences (fairseq).
        ours_labels: labels of the review files.
        theirs_labels: fairseq's classes.

    Returns:
        dict: {n, n_identical, n_labels_equal, n_tokens, differing: [{line (1-based), at, huggingface, fairseq,
        label, class}]} with the first differing examples.
    """
    differing, identical, labels_equal = [], 0, 0
    for i in range(max(len(ours), len(theirs))):
        a = [int(x) for x in ours[i]] if i < len(ours) else []
        b = [int(x) for x in theirs[i]] if i < len(theirs) else []
        label = int(ours_labels[i]) if i < len(ours_labels) else None
        klass = int(theirs_labels[i]) if i < len(theirs_labels) else None
        identical += a == b
        labels_equal += label == klass
        if (a != b or label != klass) and len(differing) < 5:
            at = next((k for k, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))
            start = max(0, at - 2)
            differing.append(
                {
                    "line": i + 1,
                    "at": at,
                    "huggingface": a[start : start + SHOWN],
                    "fairseq": b[start : start + SHOWN],
                    "label": label,
                    "class": klass,
                }
            )
    return {
        "n": max(len(ours), len(theirs)),
        "n_identical": identical,
        "n_labels_equal": labels_equal,
        "n_tokens": sum(len(sequence) for sequence in ours),
        "differing": differing,
    }


def main(token_ids, data, split, parity):
    """Compare one split and write the counts.

    Args:
        token_ids: `.npz` file of Hugging Face's ids.
        data: fairseq's binarized folder that holds the split.
        split: train, valid or test; `train-300`: a subset of train.
        parity: JSON file to write.

    Raises:
        StudyError: any example differs; the message names the split, the line and both lists around the place.
    """
    ours, labels = read_token_ids(token_ids)
    # In the folder of a subset (`train-300`) fairseq calls it `train`.
    theirs, classes = read_fairseq(data, split.partition("-")[0])
    result = {"split": split} | compare(ours, theirs, labels, classes)
    if result["differing"]:
        first = result["differing"][0]
        if first["label"] != first["class"]:
            raise StudyError(
                f"{split} line {first['line']}: label {first['label']} is class {first['class']} in fairseq "
                f"({result['n'] - result['n_labels_equal']} of {result['n']} differ): the labels' dictionary is wrong"
            )
        raise StudyError(
            f"{split} line {first['line']}: token ids differ from position {first['at']}: Hugging Face "
            f"...{first['huggingface']}, fairseq ...{first['fairseq']} "
            f"({result['n'] - result['n_identical']} of {result['n']} reviews differ): the tokenizer folder and "
            "the binarized data come from different checkpoints"
        )
    write_json(parity, result)
    print(f"{split}: {result['n_identical']} of {result['n']} identical, {result['n_tokens']} tokens")


if __name__ == "__main__":
    run(main, snakemake)
