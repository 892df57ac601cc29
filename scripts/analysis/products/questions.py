"""The answers to the questions that the study asked."""

from study.products import Product
from study.questions import asked_by

PRODUCTS = [
    Product(
        "questions",
        "questions.tsv",
        "answer_questions",
        "questions_table",
        columns="ask contrast measure unit higher_is_better n_seeds_each n_test score_difference level "
        "score_difference_low score_difference_high equal_within tested p p_holm n_family answer texts_half_width "
        "seeds_planned seeds_assured n_failed n_runs failure_high learned_difference validation_chose asked "
        "n_runs_then question_sha256",
        when=lambda config: bool(asked_by(config)),
        caption="questions",
        category="Trust",
        labels={"table": "questions asked, and their answers"},
        page=True,
        crate=True,
    ),
]
COLUMNS = {
    "ask": ("text", "", "the question, as the study file asks it"),
    "contrast": ("text", "", "what is added and subtracted: arms, or simple models"),
    "n_seeds_each": ("text", "seeds", "of each arm of the contrast, in its order; `-` where no seed changes it"),
    "equal_within": ("number", "by measure", "margin within which equality is asked for; empty where it is not"),
    "tested": ("text", "", "what `p` is of: difference, equal (within the margin), beyond (it), nothing"),
    "n_family": (
        "integer",
        "questions",
        "that the correction is over: those asked before any run was finished, of a later one all",
    ),
    "answer": (
        "text",
        "",
        "difference, equal or beyond: shown, by p_holm; open: not settled; one_seed: nothing is said of other seeds",
    ),
    "texts_half_width": ("number", "by measure", "half width that these texts would leave with seeds without end"),
    "seeds_planned": ("integer", "seeds", "of each arm that would settle an open question, by the spread seen"),
    "seeds_assured": ("integer", "seeds", "the same, by the upper bound of that spread"),
    "validation_chose": ("text", "", "arms, where the question names the best of several"),
    "n_failed": ("integer", "runs", "of the question's arms that did not learn (learned.tsv); they are counted"),
    "failure_high": (
        "share",
        "",
        "failure rate that an arm's runs leave possible: upper end of the exact 95 % interval, the largest",
    ),
    "learned_difference": ("number", "by measure", "the contrast of the runs that learned; empty where none failed"),
    "n_runs_then": ("integer", "runs", "of the study that were finished when the question was registered"),
    "asked": ("text", "UTC", "when the question was registered"),
    "question_sha256": ("text", "", "of what the question asks"),
}
