"""Synthetic French book reviews: a seeded generator, so that the study runs without any download.

No human wrote these reviews and no book in them exists. A grammar of opinions (plain, doubled, negated, conceded,
compared, reported ...) is filled from a polarity vocabulary of several hundred expressions in twelve semantic fields, with
Zipf-like frequencies, beside neutral sentences on the plot and the purchase. What makes the task behave as real reviews do:

* a few hundred labelled reviews show only part of the polarity vocabulary, so words alone do not carry far;
* expressions keep company with others of their field and polarity, and follow the same adverbs ("hélas", "joliment",
  "trop"), so masked-language modelling of unlabelled reviews sorts them without any label;
* reviews are mixed: sentences go against the verdict, praise is negated, faults are conceded, and a few reviews say
  nothing of the verdict at all, so that no reader reaches 100 %.

Only the standard library is used, and of the generator only `Random.random`, whose sequence Python guarantees for a
seed, and exactly rounded arithmetic: the text is the same on every machine and with every Python since 3.11.
"""

import bisect
import itertools
import random

from data.embedded_grammar import Vocabulary, bare, of_phrase, to_phrase
from data.embedded_words import (
    FICTION,
    FIRST_NAMES,
    FORMS,
    FRAMES,
    GENRES,
    LAST_NAMES,
    NEGATIONS,
    NEGATIVE,
    PLURALS,
    POSITIVE,
)

# The share of sentences that side with the review's label, and the frequency of each kind: decided, mixed, without
# opinion.
DECISION = ((0.98, 0.85), (0.75, 0.12), (0.5, 0.03))
# The share of sentences whose words come from the review's field.
FAITHFULNESS = 0.95
# The frequency of an intensifying adverb ("joliment", "trop") before an expression, when it sides with the verdict and
# when not.
FRAMING_OWN, FRAMING_OTHER = 0.2, 0.2


# --- The neutral vocabulary ------------------------------------------------------------------------------------------


class _Review:
    """One review being written: the generator, the book, the reader, and the opinions said so far.

    Attributes:
        slots: list of (expression, its own polarity, the polarity meant): the two differ under negation, and what is
            conceded or reported means 0.
        reasons: the field of each polarity that this reader keeps to.
        framed: whether the sentence being written has its telling adverb.
    """

    def __init__(self, rng, vocabulary, label):
        self.rng = rng
        self.vocabulary = vocabulary
        self.slots = []
        self.side = POSITIVE if label else NEGATIVE
        self.feminine_reader = rng.random() < 0.5
        self.book, self.gender, self.kinds = self.pick(GENRES)
        self.author = f"{self.pick(FIRST_NAMES)} {self.pick(LAST_NAMES)}"
        self.said = set()
        self.framed = False
        # This reader's praise and blame: a real review also has reasons.
        self.reasons = {polarity: self.field(polarity) for polarity in (POSITIVE, NEGATIVE)}
        draw = rng.random()
        for self.decision, share in DECISION:
            if draw < share:
                break
            draw -= share

    # -- drawing --

    def chance(self, probability):
        return self.rng.random() < probability

    def pick(self, entries):
        return entries[int(self.rng.random() * len(entries))]

    def neutral(self, kind):
        return self.pick(self.vocabulary.neutral[kind])

    def field(self, polarity):
        """Draw a field of this polarity that suits the book."""
        return self.pick([f for f in self.vocabulary.fields if f.polarity == polarity and f.suits & set(self.kinds)])

    def reason(self, polarity):
        """The review's own field of this polarity, or now and then another."""
        return self.reasons[polarity] if self.chance(FAITHFULNESS) else self.field(polarity)

    def fresh(self, zipf, accept=lambda entry: True):
        """Draw an entry that this review has not used; after some attempts, any that is accepted."""
        for _ in range(40):
            entry = zipf.draw(self.rng)
            if id(entry) not in self.said and accept(entry):
                break
        self.said.add(id(entry))
        return entry

    def agreed(self, text):
        """Agree the participles of a phrase with the reader."""
        for ending in ("s*", "*"):
            feminine = ("se" if ending == "s*" else "e") if self.feminine_reader else ending[:-1]
            text = text.replace(ending, feminine)
        return text

    def phrase(self, kind, meant):
        """Draw a polar phrase of no field."""
        text = self.agreed(self.fresh(self.vocabulary.phrases[kind][meant]))
        self.slots.append((text, meant, meant))
        return text

    def word(self, kind, field, meant):
        """Draw a verb, noun, quality or crowd phrase of a field."""
        text = self.agreed(self.fresh(field.words[kind]))
        self.slots.append((text, field.polarity, meant))
        return text

    def adjective(self, field, gender, meant, gradable=False, framed=True):
        """Draw an adjective of a field and agree it; it may have a telling adverb in front."""
        entry = self.fresh(field.words["adjective"], lambda adjective: adjective.gradable or not gradable)
        text = entry.forms[gender]
        self.slots.append((text, field.polarity, meant))
        return self.frame(field.polarity, entry.gradable, " ", meant) + text if framed else text

    def frame(self, polarity, gradable, link, meant):
        """Return an adverb that shows what polarity follows, and `link`; or nothing; at most one per sentence."""
        if self.framed or not self.chance(FRAMING_OWN if polarity == self.side else FRAMING_OTHER):
            return ""
        general, before_degrees = FRAMES[polarity]
        if meant == 0 and polarity == POSITIVE:
            # A reader is not glad of an opinion that he takes back.
            general = ()
        if gradable and (not general or self.chance(0.6)):
            general = before_degrees
        if not general:
            return ""
        self.framed = True
        return self.pick(general) + link

    def aspect(self, field):
        """Draw (definite, indefinite, noun, gender) of an aspect that suits the field, not yet discussed."""
        kinds = [kind for kind in self.kinds if kind in field.suits]
        for _ in range(8):
            aspect = self.pick(self.vocabulary.aspects[self.pick(kinds)])
            if aspect[0] not in self.said:
                break
        self.said.add(aspect[0])
        return aspect

    def this(self):
        """The book: by its genre or plainly."""
        return self.book if self.chance(0.5) else "ce livre"

    # -- neutral sentences --

    def introduction(self):
        """A neutral sentence on the plot or the subject."""
        if not FICTION & set(self.kinds):
            subject = self.neutral("subjects")
            return self.pick(
                (
                    f"{self.book} {of_phrase(self.author)} traite {of_phrase(subject)}",
                    f"{self.author} consacre {self.book} {to_phrase(subject)}",
                    f"{self.book} porte sur {subject}",
                )
            )
        who, event = self.neutral("people"), self.neutral("events")
        if who.startswith(("deux", "trois")):
            verb, rest = event.split(" ", 1)
            event = f"{PLURALS[verb]} {rest}"
        setting = self.neutral("places") if self.chance(0.5) else self.neutral("times")
        return self.pick(
            (
                f"{setting}, {who} {event}",
                f"{self.book} {of_phrase(self.author)} suit {who} qui {event}",
                f"{self.book} raconte comment {who} {event}",
                f"l'action se passe {setting} : {who} {event}",
                f"dans {self.title()}, {who} {event}",
            )
        )

    def title(self):
        head, tail = self.neutral("title_heads"), self.neutral("title_tails")
        return f"« {head[0].upper() + head[1:]} {tail} »"

    def remark(self):
        return self.neutral("purchases" if self.chance(0.5) else "remarks")

    # -- opinions: each takes the polarity that it means --

    def noted(self, meant):
        """Aspects in the manner of notes: "style limpide, prose vive, ton juste"."""
        field, notes = self.reason(meant), []
        for _ in range(3):
            _, _, noun, gender = self.aspect(field)
            notes.append(f"{noun} {self.adjective(field, gender, meant)}")
        return ", ".join(notes)

    def epithets(self, meant):
        """Adjectives of the book alone: "roman drôle, tendre et vif"."""
        field = self.reason(meant)
        first, second, third = [self.adjective(field, self.gender, meant) for _ in range(3)]
        return f"{self.book.split(' ', 1)[1]} {first}, {second} et {third}"

    def plain(self, meant):
        field = self.reason(meant)
        definite, _, _, gender = self.aspect(field)
        words = self.adjective(field, gender, meant)
        return self.pick((f"{definite} est {words}", f"j'ai trouvé {definite} {words}"))

    def doubled(self, meant):
        field = self.reason(meant)
        definite, indefinite, _, gender = self.aspect(field)
        words = f"{self.adjective(field, gender, meant)} et {self.adjective(field, gender, meant)}"
        if self.chance(0.25):
            other, _, _, gender = self.aspect(field)
            return f"{definite} est {words}, {other} {self.adjective(field, gender, meant)}"
        return self.pick((f"{definite} est {words}", f"j'ai trouvé {definite} {words}", f"{indefinite} {words}"))

    def negated(self, meant):
        field = self.reason(-meant)
        definite, _, _, gender = self.aspect(field)
        if self.chance(0.35):
            return f"{definite} n'a rien {of_phrase(self.adjective(field, 'm', meant, gradable=True, framed=False))}"
        return f"{definite} n'est {self.pick(NEGATIONS)} {self.adjective(field, gender, meant, framed=False)}"

    def conceded(self, meant):
        field = self.reason(-meant)
        if self.chance(0.5):
            yielded = self.adjective(field, self.gender, 0)
            field = self.reason(meant)
            kept = f"{self.adjective(field, self.gender, meant)} et {self.adjective(field, self.gender, meant)}"
            return f"certes {yielded}, mais {kept}"
        definite, indefinite, _, gender = self.aspect(field)
        words = self.adjective(field, gender, 0)
        yielded = self.pick((f"malgré {indefinite} {words},", f"{definite} est {words}, mais"))
        field = self.reason(meant)
        definite, _, _, gender = self.aspect(field)
        return f"{yielded} {definite} est {self.adjective(field, gender, meant)}"

    def compared(self, meant):
        inverted = self.chance(0.4)
        field = self.reason(-meant if inverted else meant)
        definite, _, _, gender = self.aspect(field)
        words = self.adjective(field, gender, meant, gradable=True, framed=False)
        return f"{definite} est {'moins' if inverted else 'plus'} {words} que dans {self.neutral('earlier')}"

    def moved(self, meant):
        field = self.reason(meant)
        subject = self.aspect(field)[0] if self.chance(0.5) else self.this()
        verbs = self.frame(meant, False, " ", meant) + self.word("verb", field, meant)
        if self.chance(0.4):
            verbs += f" et {self.word('verb', field, meant)}"
        return f"{subject} m'a {verbs}"

    def named(self, meant):
        if self.chance(0.2):
            return f"ce n'est pas {self.word('noun', self.reason(-meant), meant)}"
        noun = self.frame(meant, False, " ", meant) + self.word("noun", self.reason(meant), meant)
        return self.pick(
            (f"c'est {noun}", f"pour moi, c'est {noun}", f"bref, c'est {noun}", f"{self.this()} est {noun}")
        )

    def listed(self, meant):
        inverted = self.chance(0.15)
        field = self.reason(-meant if inverted else meant)
        words = [bare(self.word("quality", field, meant)) for _ in range(2 if inverted else 3)]
        if inverted:
            return f"ni {words[0]} ni {words[1]}"
        head = self.frame(meant, False, ", ", meant) + self.pick(("au menu", "bilan"))
        return f"{head} : {words[0]}, {words[1]} et {words[2]}"

    def felt(self, meant):
        field = self.reason(meant)
        first, second = self.word("crowd", field, meant), self.word("crowd", field, meant)
        return f"{self.frame(meant, False, ', ', meant)}on {first}, on {second}"

    def authored(self, meant):
        author = self.author if self.chance(0.4) else "l'auteur"
        return f"{author} {self.phrase('author', meant)}"

    def read(self, meant):
        return self.phrase("reader", meant).replace("{X}", self.this())

    def reported(self, meant):
        """Another person's opinion, against the reader's."""
        theirs = self.adjective(self.reason(-meant), self.gender, 0)
        mine = self.adjective(self.reason(meant), self.gender, meant)
        pronoun = "la" if self.gender == "f" else "le"
        return f"{self.neutral('others')} {pronoun} disait {theirs}, je l'ai trouvé{'e' if self.gender == 'f' else ''} {mine}"

    def closing(self, meant):
        return self.phrase("closing", meant).replace("{le}", "la" if self.gender == "f" else "le")

    # -- the whole --

    def write(self):
        """Return the review, one line."""
        sentences = []
        if self.chance(0.2):
            sentences.append(self.introduction())
        if self.chance(0.1):
            sentences.append(self.remark())
        if self.decision == 0.5 and self.chance(0.5):
            # This sentence does not show the verdict, so no reader can know the label of such a review.
            sentences += [self.introduction(), self.remark()]
        else:
            for _ in range(2 + self.chance(0.5)):
                meant = self.side if self.chance(self.decision) else -self.side
                sentences.append(self.form()(meant))
            if self.chance(0.2):
                sentences.append(self.closing(self.side if self.chance(self.decision) else -self.side))
        return " ".join(self.punctuated(sentence) for sentence in sentences)

    def form(self):
        """Draw the form of an opinion."""
        cumulative = list(itertools.accumulate(FORMS.values()))
        draw = self.rng.random() * cumulative[-1]
        name = list(FORMS)[bisect.bisect_right(cumulative, draw, hi=len(FORMS) - 1)]
        self.framed = False
        return getattr(self, name)

    def punctuated(self, sentence):
        draw = self.rng.random()
        mark = "." if draw < 0.93 else " !" if draw < 0.96 else "..."
        return sentence[0].upper() + sentence[1:] + mark


def compose(seed, name, index, label, attempt=0, vocabulary=None):
    """Write the review number `index` of the set `name`.

    Args:
        seed: seed of the generator.
        name: `labelled`, `test` or `unlabelled`: each set has its own stream.
        index: 0-based number in the set.
        label: 1 positive, 0 negative.
        attempt: raised when the review already exists.
        vocabulary: the parsed vocabulary, or None to parse it.

    Returns:
        tuple[str, list]: the text, and its opinions as (expression, polarity of the words, polarity meant; 0 where a
        concession takes it back).
    """
    # Each review has a separate generator, so no set depends on the size of another.
    review = _Review(random.Random(f"{seed}/{name}/{index}/{attempt}"), vocabulary or Vocabulary(), label)
    return review.write(), review.slots


def generate(seed, n_labelled, n_test, n_unlabelled):
    """Return synthetic French book reviews.

    Labels alternate before a seeded shuffle, so every set is balanced to within one review; unlabelled reviews have
    hidden verdicts in the same proportion. No text occurs twice, in one set or in two.

    Args:
        seed: int >= 0.
        n_labelled: labelled reviews for training and validation.
        n_test: labelled reviews for testing.
        n_unlabelled: reviews without label.

    Returns:
        dict: `labelled` and `test`, lists of (text, label) with label 1 positive and 0 negative; `unlabelled`, a list of
        texts. Every text is one line without control characters.
    """
    vocabulary, seen, sets = Vocabulary(), set(), {}
    for name, size in (("labelled", n_labelled), ("test", n_test), ("unlabelled", n_unlabelled)):
        rng = random.Random(f"{seed}/{name}")
        labels = [1 - index % 2 for index in range(size)]
        # This is Fisher and Yates' method: the result of `shuffle` may change between versions of Python.
        for i in range(size - 1, 0, -1):
            j = int(rng.random() * (i + 1))
            labels[i], labels[j] = labels[j], labels[i]
        sets[name] = []
        for index, label in enumerate(labels):
            for attempt in itertools.count():
                text, _ = compose(seed, name, index, label, attempt, vocabulary)
                if text not in seen:
                    break
            seen.add(text)
            sets[name].append((text, label))
    sets["unlabelled"] = [text for text, _ in sets["unlabelled"]]
    return sets
