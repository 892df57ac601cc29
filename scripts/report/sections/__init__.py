"""The page's sections: each has a folder with its facts (facts.py) and its words (page.html.j2).

A section's folder is `scripts/<room>/sections/<name>`. Its facts.py has CHAPTER and PLACE, its chapter and its
position there, and `facts`, a function of `report.inputs.Study` that returns what the template asks for, or None where
the study lacks the files. PART is `report`, the few screens that every reader needs, or `appendix`; a section without
it is in the appendix. A folder that is added is on the page; none is listed anywhere.
"""

import glob
import importlib
import os

SCRIPTS = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
REPORT, APPENDIX = PARTS = ("report", "appendix")
# The order is the reader's; the last chapter depends on no table, and unlisted chapters come before it.
CHAPTERS = (
    "The answer",
    "Results",
    "Question answering",
    "Cost",
    "Can it be trusted?",
    "Parameters",
    "Methods and sources",
)


def templates():
    """Return the paths of the page's templates: its frame and pieces, then one a section."""
    layout = os.path.join(glob.escape(os.path.dirname(SCRIPTS)), "report", "layout", "*.j2")
    return [*sorted(glob.glob(layout)), *_of_sections()]


def _of_sections():
    return sorted(glob.glob(os.path.join(glob.escape(SCRIPTS), "*", "sections", "*", "page.html.j2")))


def sections():
    """Return the page's sections in order.

    Returns:
        list[tuple]: name, part, chapter, and the function `facts` of each.
    """
    found = []
    for path in _of_sections():
        room, _, name = os.path.dirname(os.path.relpath(path, SCRIPTS)).split(os.sep)
        module = importlib.import_module(f"{room}.sections.{name}.facts")
        known = module.CHAPTER in CHAPTERS
        chapter = CHAPTERS.index(module.CHAPTER) if known else len(CHAPTERS) - 1.5
        part = PARTS.index(getattr(module, "PART", APPENDIX))
        found.append((part, chapter, module.CHAPTER, module.PLACE, name, module.facts))
    ordered = sorted(found, key=lambda one: one[:5])
    return [(name, PARTS[part], chapter, facts) for part, _, chapter, _, name, facts in ordered]
