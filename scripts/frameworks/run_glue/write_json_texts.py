"""Write a split in the recipe's form: JSON, one text per line, with its label."""

import json

from common.entry import run
from common.files import write_text
from data.reviews import POLARITY, read_split


def main(reviews, labels, texts, classes=POLARITY):
    """Write a split's texts and labels.

    Args:
        reviews: text file, one review a line.
        labels: text file, the number of a class a line.
        texts: JSON file to write: {"sentence": text, "label": number of its class} a line, as the lab wrote them.
        classes: names of the classes in order.

    Raises:
        StudyError: see `data.reviews.read_split`.
    """
    rows = zip(*read_split(reviews, labels, classes), strict=True)
    lines = [json.dumps({"sentence": text, "label": int(label)}, ensure_ascii=False) for text, label in rows]
    write_text(texts, "\n".join(lines) + "\n")
    print(f"{len(lines)} texts of {reviews}")


if __name__ == "__main__":
    run(main, snakemake)
