"""Numbers in the page's words that come from no file, each with its justification.

A phrase counts only as a whole, and only as written: `check_report` refuses any other number without a record.
"""

import re

import measures


def names_with_digits():
    """Return the names of measures that have digits, such as macro-F1, also as a sentence begins with them."""
    labels = [measures.load(name).LABEL for name in measures.names()]
    return [form for label in labels if re.search(r"\d", label) for form in (label, label[0].upper() + label[1:])]


CONSTANTS = {
    "SHA-256": "the name of a hash",
    "first 16 digits": "how much of a hash the page shows",
    "ddof 1": "the divisor n - 1, as the column sd_ddof1 says",
    "ddof 0": "the divisor n, as the column sd_ddof0 says",
    "n - 1": "the divisor of ddof 1",
    **dict.fromkeys(
        ("Question 1", "Question 2", "Tasks 3, 4 and 5", "Task 7"),
        "the numbering of the lab, whose parts a section is about",
    ),
    "which is 0": "how test reviews are numbered",
    "F1": "the name of a measure: precision and recall in one",
    **dict.fromkeys(names_with_digits(), "the name of a measure"),
    "mean F1": "the name of a measure, ROUGE-L's",
    "0 to 1": "the range of ROUGE-L",
    "0 to 100": "the range of chrF",
    "3d × d": "the shape of BLOOM's fused matrix: queries, keys and values",
    "3d × r": "the shape of its B",
    "4·r·d": "LoRA's parameters on it: r·(d + 3·d)",
    "6·r·d": "the same on three separate matrices: 3·r·(d + d)",
    "80\u00a0% chance": "the power for which compute_statistics computes the least effect",
    "80\u00a0% power": "the power for which compute_statistics computes the least effect",
    "80 % power": "the power for which compute_statistics computes the least effect",
    **dict.fromkeys(
        (
            "Devlin et al., 2019",
            "Guo et al., 2017",
            "Holm, 1979",
            "Hu et al., 2022",
            "Levy and Goldberg, 2014",
            "Liu et al., 2019",
            "Lee et al., 2023",
            "Loshchilov and Hutter, 2019",
            "Szegedy et al., 2016",
            "Vaswani et al., 2017",
            "Ma et al., 2024",
            "Satterthwaite, 1946",
            "Welch, 1947",
        ),
        "the year of a work that the page cites",
    ),
}
