"""The page's terms."""

from report.glossary import ANSWERING, glossary_of

CHAPTER, PLACE = "Methods and sources", 50


def facts(study):
    """The page's terms."""
    answers = study.has("qa_summary")
    return {
        "terms": {term: words for term, words in glossary_of(study.noun).items() if answers or term not in ANSWERING}
    }
