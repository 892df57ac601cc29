"""The answers to the questions that the study asked."""

from study.products import Product
from study.questions import asked_by

LOOK = (
    "look n_seeds ask question_sha256 score_difference level score_difference_low score_difference_high tested p "
    "p_holm alpha answer"
)


def has_looks(config):
    """Say whether the study judges its questions after several numbers of seeds."""
    return bool(config["finetuning"].get("looks"))


PRODUCTS = [
    Product(
        "questions",
        "questions.tsv",
        "answer_questions",
        "questions_table",
        columns="ask contrast measure unit higher_is_better n_seeds_each n_test score_difference level "
        "score_difference_low score_difference_high equal_within tested p p_holm n_family answer texts_half_width "
        "seeds_planned seeds_assured n_failed n_runs failure_high learned_difference validation_chose asked "
        "n_runs_then question_sha256 look? n_seeds? alpha? n_continued?",
        when=lambda config: bool(asked_by(config)),
        caption="questions",
        category="Trust",
        labels={"table": "questions asked, and their answers"},
        page=True,
        crate=True,
    ),
    Product(
        "looks",
        "looks.tsv",
        "answer_questions",
        columns=LOOK,
        when=has_looks,
        caption="questions",
        category="Trust",
        labels={"table": "what each look said"},
        page=True,
        crate=True,
    ),
    Product(
        "looks_saved",
        "looks_saved.tsv",
        "answer_questions",
        "saved",
        columns="arm n_seeds n_planned n_saved seconds_saved",
        when=has_looks,
        page=True,
        crate=True,
    ),
    # One for each look but the last, as far as there are open questions.
    Product("look_verdicts", "looks/look{look}.tsv", "judge_look", "table", columns=LOOK, when=has_looks),
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
    "look": ("integer", "", "the look that the row is of, from 1; in questions.tsv the one that decided, or the last"),
    "alpha": ("share", "", "that p_holm is compared with: a look's share, halved each time the seeds were changed"),
    "n_continued": ("integer", "", "how often the seeds were changed with runs at hand, before the present ones"),
    "n_planned": ("integer", "seeds", "of an arm whose questions stay open to the last look"),
    "n_saved": ("integer", "runs", "that the arm did not need"),
    "seconds_saved": ("number", "s", "their training, by the mean of the arm's runs"),
    "question_sha256": ("text", "", "of what the question asks"),
}
