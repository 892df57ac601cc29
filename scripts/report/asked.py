"""The questions that the study asked, each with its answer, and what was not varied."""

import measures
from analysis.contrasts import to_tell_apart
from common.arms import CHECKPOINT
from frameworks import NONE
from report.forest import forest
from report.formats import FILTERS, joined
from report.numbers import derive, has_digit
from study import closing
from study.pretrainings import varies_checkpoint
from study.variation import CHANGED, DEFAULT, draw_of, varied

# The short answer by the table's, and its CSS class.
SHORT = {name: (said, "open" if name in ("open", "one_seed") else "shown") for name, said in closing.SHORT.items()}


def asked(study):
    """Return the questions that the study asked, each with its answer, and what was not varied; None without any."""
    if not study.has("questions", "method"):
        return None
    rows = study.frame("questions").to_dict("records")
    answers = [answered(row) for row in rows]
    for answer, chart in zip(answers, forest(answers, "Difference, interval and zero"), strict=True):
        answer["drawn"] = chart
    runs = study.path("runs")
    return {
        "answers": answers,
        "href": study.href("questions"),
        "unseen": unseen_failures(rows),
        "alpha": study.json("method")["alpha"],
        "n_runs": study.count(runs),
        "n_arms": study.distinct(runs, "arm"),
        "answers_too": any(answer["on"] for answer in answers),
        "by_rule": "questions" in study.settings and study.settings["questions"] is None,
        "together": asked_together(answers),
        "looks": looks(study),
        "spread": study.has("spread_sources"),
        "scope": scope(study.settings.get("finetuning") or {}),
        "changed": {source: words.format(texts=study.noun["many"]) for source, words in CHANGED.items()},
        "confirm": bool((study.settings.get("finetuning") or {}).get("confirm")),
    }


def scope(finetuning):
    """Return what seeds varied and what they did not, in a question's words; None of the default sources.

    Args:
        finetuning: section `finetuning` of the settings.

    Returns:
        dict: varied and held: sources by their keys in the settings; draw: how texts were drawn, or None; simple: True
            where simple models, which have one split, are beside the arms; checkpoint: whether seeds start from
            pretrainings of their own; others: then, whether arms start from other models, of which there is one each.
    """
    sources, draw = [str(source) for source in varied(finetuning)], draw_of(finetuning)
    if sorted(sources) == sorted(DEFAULT):
        return None
    held = [source for source in DEFAULT if source not in sources]
    several = varies_checkpoint(finetuning)
    arms = (finetuning.get("arms") or {}).values()
    others = several and any(arm["model"] not in (CHECKPOINT, NONE) and arm["init"] == "pretrained" for arm in arms)
    found = {"varied": sources, "held": held, "draw": draw, "simple": bool(finetuning.get("baselines"))}
    return found | {"checkpoint": several, "others": others}


def looks(study):
    """Return what the looks saved, {saved, planned, seconds, href}; None of a study without looks."""
    if not study.has("looks", "looks_saved"):
        return None
    rows = study.table("looks_saved").rows
    sums = {name: derive("sum", *(row[name] for row in rows)) for name in ("n_saved", "n_planned", "seconds_saved")}
    return sums | {"href": study.href("looks")}


def asked_together(answers):
    """Return time and number of runs where several questions were all asked at one time afterwards; None otherwise.

    The runs are those of a question's measure; `n_runs_then` is None where questions differ in their number.
    """
    if len(answers) < 2 or len({str(one["asked"]) for one in answers}) > 1 or not all(one["later"] for one in answers):
        return None
    alike = len({str(one["n_runs_then"]) for one in answers}) == 1
    return {"asked": answers[0]["asked"], "n_runs_then": answers[0]["n_runs_then"] if alike else None}


def unseen_failures(rows):
    """Return the largest failure rate that runs without a failure leave possible; None where one failed."""
    if any(row["n_failed"] != "0" for row in rows):
        return None
    return max((row["failure_high"] for row in rows if row["failure_high"]), key=float, default=None)


def answered(row):
    """Return a row of questions.tsv in the page's words.

    Args:
        row: row of the table.
    """
    short, kind = SHORT[row["answer"]]
    later, failing = row["n_runs_then"] != "0", row["n_failed"] != "0"
    continued = row.get("n_continued", "0") != "0"
    measure = measures.load(row["measure"])
    return row | {
        "short": short,
        # With results at hand, or arms that may fail, an answer is a hint at most.
        "class": "partly" if (later or failing or continued) and kind == "shown" else kind,
        "later": later,
        "looked": bool(row.get("look")),
        "continued": continued,
        "contrast": written(row["contrast"]),
        "contrast_cell": row["contrast"],
        "label": measure.LABEL,
        "on": getattr(measure, "ON", None),
        "share": measure.UNIT == "share",
        "unit": f" {measure.UNIT}" if measure.UNIT else "",
        "better": "higher" if measure.HIGHER_IS_BETTER else "lower",
        "level_means": float(row["score_difference"]) == 0 and not row["equal_within"],
        "texts_alone": limited_by_texts(row),
        "uncorrected": closing.is_uncorrected(row),
    }


def limited_by_texts(row):
    """Return whether the test texts of an open question leave it open, however many seeds there are."""
    if not row["texts_half_width"]:
        return False
    margin = float(row["equal_within"]) if row["equal_within"] else None
    return float(row["texts_half_width"]) >= to_tell_apart(float(row["score_difference"]), margin)


def named(contrast, place):
    """Return the name of a contrast's arm for readers; one with a digit is printed as the table has it."""
    name = contrast.split()[place]
    # An operand with digits is printed as the table has it.
    label = closing.operand(name)
    return FILTERS["word"](contrast, place) if has_digit(label) else label


def written(contrast):
    """Return a contrast for readers, A − B or (A − B) − (C − D).

    Args:
        contrast: cell of questions.tsv: arms with signs between, `A - B - C + D` for two pairs.
    """
    names = [named(contrast, place) for place in range(0, len(contrast.split()), 2)]
    # The second pair's signs are inverted.
    return joined("{} − {}" if len(names) == 2 else "({} − {}) − ({} − {})", *names)
