"""Measures of an answer against its reference: chrF (sacrebleu), ROUGE-L (rouge-score), repetition."""

import re
import statistics

# A text "repeats itself" where this many words in a row occur twice.
REPEATED_WORDS = 4


class Words:
    """The tokenizer that rouge-score is given: its own drops every letter with an accent."""

    def tokenize(self, text):
        """Return a text's words, case and punctuation aside."""
        return re.findall(r"\w+", text.casefold())


def chrf(answers, references):
    """Return chrF over all answers together: agreement in runs of one to six characters, recall counting twice.

    Args:
        answers: list of n texts.
        references: list of n texts.

    Returns:
        tuple: float, 0 (no run in common) to 100 (the same texts); sacrebleu's signature of the measure.

    Source: Popović 2015 (chrF); Post 2018 (sacrebleu).
    """
    from sacrebleu.metrics import CHRF

    metric = CHRF()
    return metric.corpus_score(answers, [references]).score, str(metric.get_signature())


def rouge_l(answers, references):
    """Return the mean of ROUGE-L's F1 over answers: agreement in the longest common subsequence of words.

    Args:
        answers: list of n texts.
        references: list of n texts.

    Returns:
        float: 0 (no word in common) to 1 (the same words in the same order).

    Source: Lin 2004 (ROUGE), section 3; F1 as rouge-score has it.
    """
    from rouge_score.rouge_scorer import RougeScorer

    scorer = RougeScorer(["rougeL"], tokenizer=Words())
    pairs = zip(answers, references, strict=True)
    return statistics.fmean(scorer.score(reference, answer)["rougeL"].fmeasure for answer, reference in pairs)


def repeats_itself(text, n=REPEATED_WORDS):
    """Return whether a run of `n` words occurs twice in `text` (case and punctuation aside)."""
    words = Words().tokenize(text)
    runs = [tuple(words[i : i + n]) for i in range(len(words) - n + 1)]
    return len(set(runs)) < len(runs)
