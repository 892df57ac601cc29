"""Forms of French words, and the vocabulary drawn with Zipf-like frequencies."""

import bisect
import itertools

from data.embedded_words import (
    ASPECTS,
    EARLIER,
    EVENTS,
    FIELDS,
    NEGATIVE,
    OTHERS,
    PEOPLE,
    PHRASES,
    PLACES,
    POSITIVE,
    PURCHASES,
    REMARKS,
    SUBJECTS,
    TIMES,
    TITLES,
    VOWELS,
)

# The frequency of the word of rank r in its list is proportional to 1 / (r + ZIPF_OFFSET). A small offset makes few
# words very common; a large one makes all similar.
ZIPF_OFFSET = 300


def items_of(text):
    """Return the comma-separated entries of a vocabulary text, spaces and line ends made single."""
    return [" ".join(item.split()) for item in text.split(",")]


def forms_of(word):
    """Return an adjective's masculine and feminine by the regular rules of French.

    Only the endings that occur in the lists are provided for; words outside the rules list both forms.
    """
    if "/" in word:
        return tuple(word.split("/"))
    if word.endswith("e"):
        return word, word
    if word.endswith("eux"):
        return word, word[:-1] + "se"
    if word.endswith("f"):
        return word, word[:-1] + "ve"
    if word.endswith(("el", "en")):
        return word, word + word[-1] + "e"
    if word.endswith("er"):
        return word, word[:-2] + "ère"
    return word, word + "e"


class Adjective:
    """An adjective or adjectival phrase: `forms` by gender, and whether it admits degrees."""

    def __init__(self, entry):
        self.gradable = not entry.endswith("!")
        entry = entry.rstrip("!")
        if "*" in entry:
            words = entry.split(" ")
            (position,) = [i for i, word in enumerate(words) if word.endswith("*")]
            forms = forms_of(words[position][:-1])
            phrases = [" ".join([*words[:position], form, *words[position + 1 :]]) for form in forms]
        else:
            phrases = (entry, entry) if " " in entry else forms_of(entry)
        self.forms = dict(zip("mf", phrases, strict=True))


class Zipf:
    """Entries with frequencies 1 / (rank + offset)."""

    def __init__(self, entries, offset):
        self.entries = entries
        self.cumulative = list(itertools.accumulate(1 / (rank + offset) for rank in range(1, len(entries) + 1)))

    def draw(self, rng):
        """Return one entry, of the generator's next number."""
        return self.entries[
            bisect.bisect_right(self.cumulative, rng.random() * self.cumulative[-1], hi=len(self.entries) - 1)
        ]


def aspect_of(entry):
    """Return (definite phrase, indefinite phrase, noun, gender) of an aspect such as `l'intrigue f`."""
    definite, gender = entry.rsplit(" ", 1)
    noun = definite[2:] if definite.startswith("l'") else definite.split(" ", 1)[1]
    return definite, ("un " if gender == "m" else "une ") + noun, noun, gender


class Field:
    """A semantic field: `polarity`, the kinds of aspect that it `suits`, and its `words` by kind, as `Zipf`."""

    def __init__(self, entry):
        self.polarity = entry["polarity"]
        self.suits = frozenset(entry["suits"].split())
        self.words = {
            kind: Zipf([make(item) for item in items_of(entry[kind])], ZIPF_OFFSET)
            for kind, make in (
                ("adjective", Adjective),
                ("verb", str),
                ("noun", str),
                ("quality", str),
                ("crowd", str),
            )
        }


class Vocabulary:
    """The parsed vocabulary, made once for `generate`."""

    def __init__(self):
        self.fields = [Field(entry) for entry in FIELDS.values()]
        self.phrases = {
            kind: {
                polarity: Zipf(items_of(text), ZIPF_OFFSET)
                for polarity, text in zip((POSITIVE, NEGATIVE), pair, strict=True)
            }
            for kind, pair in PHRASES.items()
        }
        self.aspects = {kind: [aspect_of(item) for item in items_of(text)] for kind, text in ASPECTS.items()}
        self.neutral = {
            "people": items_of(PEOPLE),
            "events": items_of(EVENTS),
            "places": items_of(PLACES),
            "times": items_of(TIMES),
            "subjects": items_of(SUBJECTS),
            "purchases": items_of(PURCHASES),
            "remarks": items_of(REMARKS),
            "others": items_of(OTHERS),
            "earlier": items_of(EARLIER),
            "title_heads": items_of(TITLES[0]),
            "title_tails": items_of(TITLES[1]),
        }


def of_phrase(phrase):
    """Return `phrase` after the preposition "de": "du jardinage", "de la cuisine", "d'Anna Morel"."""
    if phrase.startswith("le "):
        return "du " + phrase[3:]
    if phrase.startswith("les "):
        return "des " + phrase[4:]
    return ("d'" if phrase[0].lower() in VOWELS else "de ") + phrase


def to_phrase(phrase):
    """Return `phrase` after the preposition "à": "au jardinage", "aux oiseaux", "à la cuisine"."""
    if phrase.startswith("le "):
        return "au " + phrase[3:]
    if phrase.startswith("les "):
        return "aux " + phrase[4:]
    return "à " + phrase


def bare(quality):
    """Return a quality without its partitive article: "de l'humour" -> "humour"."""
    for article in ("de la ", "de l'", "du ", "des "):
        if quality.startswith(article):
            return quality[len(article) :]
    return quality
