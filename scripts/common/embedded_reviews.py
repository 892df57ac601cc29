"""Synthetic French book reviews: a seeded generator, so that the study runs without any download.

No human wrote these reviews and no book in them exists. A grammar of opinions (plain, doubled, negated, conceded,
compared, reported) is filled from a polarity vocabulary of about nine hundred expressions with Zipf-like
frequencies, beside neutral sentences on the plot and the purchase. Three properties make the task behave as real reviews do:

* a few hundred labelled reviews show only part of the polarity vocabulary, so words alone do not carry far;
* expressions of one polarity keep company within a review, so masked-language modelling of unlabelled reviews can
  sort them without any label;
* reviews are mixed: sentences go against the verdict, praise is negated, faults are conceded, and a few reviews say
  nothing of the verdict at all, so that no reader reaches 100 %.

Only the standard library is used, and of the generator only `Random.random`, whose sequence Python guarantees for a
seed, and divisions: the text is the same on every machine and with every Python since 3.11.
"""

import bisect
import itertools
import random

POSITIVE, NEGATIVE = 1, -1

# Share of sentences that side with the review's label, and how often a review has it: decided, mixed, empty of opinion.
DECISION = ((0.9, 0.75), (0.7, 0.21), (0.5, 0.04))
# Frequency of the word of rank r in its list is proportional to 1 / (r + ZIPF_OFFSET): a small offset makes few words
# very common, a large one makes all alike.
ZIPF_OFFSET = 12

# --- The polarity vocabulary -----------------------------------------------------------------------------------------
# One list a kind and polarity, the commonest first. In adjectives `*` follows the word of a phrase that agrees (phrases
# without it are invariable), `!` marks what admits no degree ("plus ... que"), and irregular words give their four forms
# m.s./f.s./m.p./f.p. In phrases on the reader `*` follows a participle that agrees with the reader.

ADJECTIVES = {
    "general": (
        """excellent!, passionnant, magnifique!, agréable, superbe!, intéressant, réussi, génial!, original,
        captivant, remarquable!, formidable!, émouvant, touchant, merveilleux!, bouleversant, brillant, fascinant,
        plaisant, impressionnant, envoûtant, sublime!, savoureux, convaincant, charmant, riche, intelligent,
        délicieux, fabuleux!, extraordinaire!, exceptionnel!, enthousiasmant, splendide!, admirable!, séduisant,
        inspiré, étonnant, épatant!, irrésistible!, époustouflant!, inoubliable!, magistral!, réjouissant,
        rafraîchissant, stimulant, enrichissant, hors du commun!, de grande qualité!, digne* d'éloges!, d'une rare
        intelligence!""",
        """ennuyeux, décevant, mauvais/mauvaise/mauvais/mauvaises!, nul/nulle/nuls/nulles!, médiocre, raté!, fade,
        lassant, banal/banale/banals/banales, pénible, inintéressant!, agaçant, insipide, affligeant, pauvre,
        navrant, faible, consternant, soporifique, creux/creuse/creux/creuses, laborieux, poussif, désolant,
        prétentieux, superficiel, simpliste, irritant, fastidieux, bâclé!, indigeste, pitoyable!, lamentable!,
        déplorable!, catastrophique!, épouvantable!, vide, assommant, barbant, rébarbatif, insupportable!,
        exaspérant, mièvre, niais, puéril, ridicule, grotesque!, sans saveur!, d'une rare platitude!, en dessous
        de tout!, à la limite du supportable!""",
    ),
    "people": (
        """attachant, crédible, vivant, humain, authentique, sympathique, drôle, fouillé!, nuancé, complexe, profond,
        tendre, subtil, haut* en couleur!, charismatique, généreux, finement dessiné*!, plus vrai* que nature!,
        d'une grande humanité!, inoubliable!""",
        """caricatural, stéréotypé, inexistant!, antipathique, transparent, artificiel, invraisemblable, falot,
        schématique, interchangeable!, manichéen, figé, désincarné, détestable!, geignard, pathétique, à peine
        esquissé*!, sans épaisseur!, sans relief!, cousu* de clichés!""",
    ),
    "prose": (
        """fluide, élégant, poétique, limpide, soigné, raffiné, incisif, vif, ciselé!, sobre, délicat, imagé,
        mordant, alerte, léger, musical, pétillant, maîtrisé!, évocateur/évocatrice/évocateurs/évocatrices,
        chatoyant, tonique, nerveux, tout en délicatesse!, d'une grande finesse!, d'une belle justesse!, truffé*
        d'humour!""",
        """lourd, plat, maladroit, confus, ampoulé, pompeux, scolaire, pesant, monotone, haché!, verbeux, alambiqué,
        bavard, froid, convenu!, impersonnel, approximatif, relâché!, emphatique, affecté, abrupt, négligé!, sans
        âme!, sans grâce!, d'une lourdeur extrême!, bourré* de fautes!""",
    ),
    "plot": (
        """prenant, haletant, palpitant, surprenant, bien ficelé*!, bien construit*!, cohérent, efficace, rythmé,
        bien mené*!, intense, imprévisible, dense, inattendu!, ingénieux, trépidant, enlevé!, foisonnant, solide,
        habile, vertigineux, audacieux, plein* de rebondissements!, plein* de surprises!, tenu* de bout en bout!,
        réglé* comme une horloge!""",
        """prévisible, lent, décousu, incohérent, bancal/bancale/bancals/bancales, interminable!, téléphoné!, mal
        ficelé*!, mal construit*!, embrouillé, expédié!, inégal, tiré* par les cheveux!, cousu* de fil blanc!, mal
        mené*!, maigre, languissant, éculé!, rocambolesque, étiré!, squelettique, incompréhensible!, à rallonge!,
        à bout de souffle!, plein* de longueurs!, plein* d'incohérences!""",
    ),
    "facts": (
        """clair, utile, précis, pratique, complet/complète/complets/complètes, pertinent, pédagogique, instructif,
        accessible, détaillé!, rigoureux, fiable, concret/concrète/concrets/concrètes, judicieux, éclairant,
        précieux, éloquent, minutieux, facile* à suivre!, à la portée de tous!""",
        """inutile, vague, incomplet/incomplète/incomplets/incomplètes, obscur, daté!, dépassé!, redondant, partial,
        orienté!, abstrait, discutable, sommaire, trompeur/trompeuse/trompeurs/trompeuses, contestable, douteux,
        brumeux, désordonné, hors sujet!, impossible* à suivre!, sans rigueur!""",
    ),
    "looks": (
        """soigné, coloré, lumineux, expressif, doux/douce/doux/douces, gai, lisible, net/nette/nets/nettes,
        attrayant, féerique, éclatant, joyeux, enchanteur/enchanteresse/enchanteurs/enchanteresses, de toute
        beauté!, plein* de vie!, haut* en couleur!""",
        """terne, flou, laid, triste, criard, moche, pâle, vieillot/vieillotte/vieillots/vieillottes, grisâtre,
        surchargé, délavé, agressif, mal cadré*!, sans charme!, de mauvais goût!, d'un autre âge!""",
    ),
}

PHRASES = {
    # "C'est ..."
    "noun": (
        """un régal, un bijou, une merveille, une réussite, un coup de cœur, un chef-d'œuvre, une pépite, un bonheur,
        un délice, une belle surprise, un trésor, une perle, un enchantement, une belle découverte, un coup de
        maître, un tour de force, une révélation, un feu d'artifice, un petit miracle, un moment de grâce, une
        bouffée d'oxygène, un ravissement, une claque, un incontournable, un rayon de soleil, une gourmandise, une
        fête, un éblouissement""",
        """une déception, une perte de temps, un ratage, une purge, un gâchis, une corvée, un échec, une arnaque, un
        supplice, un pensum, un désastre, une catastrophe, un somnifère, un calvaire, un naufrage, un pétard
        mouillé, une imposture, une douche froide, un fiasco, un flop, une torture, une punition, un
        attrape-nigaud, un ramassis de clichés, une suite de banalités, un coup d'épée dans l'eau, une usine à
        gaz, un soufflé qui retombe""",
    ),
    # "... m'a ..."
    "verb": (
        """touché*, captivé*, ému*, séduit*, conquis*, passionné*, enchanté*, bouleversé*, emballé*, fasciné*,
        charmé*, ravi*, emporté*, convaincu*, amusé*, transporté*, bluffé*, marqué*, comblé*, impressionné*,
        envoûté*, fait rire, fait rêver, tenu* en haleine, fait voyager, émerveillé*, enthousiasmé*, ébloui*,
        réconforté*, diverti*, subjugué*, happé*""",
        """déçu*, ennuyé*, agacé*, lassé*, énervé*, endormi*, rebuté*, irrité*, fatigué*, laissé* de marbre,
        exaspéré*, frustré*, laissé* sur ma faim, assommé*, consterné*, découragé*, fait bâiller, contrarié*,
        gêné*, horripilé*, fait soupirer, tapé sur les nerfs, écœuré*, refroidi*, dépité*, accablé*, gâché le
        plaisir, mis* mal à l'aise, crispé*, barbé*, atterré*, perdu* en route""",
    ),
    # "j'ai ...": {X} is the book
    "reader": (
        """j'ai adoré {X}, j'ai dévoré {X}, j'ai beaucoup aimé {X}, j'ai lu {X} d'une traite, je me suis régalé* avec
        {X}, j'ai savouré {X}, je n'ai pas pu lâcher {X}, j'ai refermé {X} à regret, j'ai relu {X} avec bonheur,
        j'ai pris un vrai plaisir à lire {X}, je suis tombé* sous le charme de {X}, j'ai craqué pour {X}, j'ai
        passé de belles heures avec {X}, j'ai été conquis* par {X}""",
        """je me suis ennuyé* avec {X}, j'ai abandonné {X}, j'ai peiné à finir {X}, j'ai détesté {X}, j'ai perdu mon
        temps avec {X}, je n'ai pas accroché à {X}, je regrette d'avoir acheté {X}, j'ai lâché {X} au milieu, j'ai
        été déçu* par {X}, je me suis forcé* à finir {X}, j'ai refermé {X} avec soulagement, je me suis endormi*
        sur {X}, j'ai revendu {X} aussitôt, j'ai sauté des pages de {X}""",
    ),
    # A sentence of its own: {le} is the book
    "closing": (
        """à lire absolument, je {le} recommande vivement, foncez, vivement la suite, à offrir sans hésiter, à mettre
        entre toutes les mains, bravo à l'auteur, ne passez pas à côté, on en redemande, courez l'acheter, à
        savourer sans modération, merci à l'auteur, vous ne {le} regretterez pas, chapeau à l'auteur, laissez-vous
        tenter, une valeur sûre""",
        """à éviter, passez votre chemin, dommage, je ne {le} recommande pas, à fuir, gardez votre argent, je
        m'attendais à mieux, beaucoup de bruit pour rien, sans moi pour la suite, à oublier très vite, tout ça
        pour ça, on peut s'en passer, une étoile et encore, remboursez, je ne lirai pas la suite, direction la
        poubelle""",
    ),
    # "on y trouve ..."
    "quality": (
        """de l'humour, de l'émotion, de la finesse, du suspense, de la poésie, de la tendresse, du charme, de
        l'intelligence, de la fraîcheur, de l'esprit, de la sensibilité, de la profondeur, de la justesse, de
        l'élégance, de la délicatesse, du souffle, de l'audace, de la fantaisie, de la générosité, de la
        subtilité, de la chaleur, de l'énergie, de la malice, du panache, de la magie, de la verve, de la grâce,
        de l'espoir""",
        """des longueurs, des clichés, des répétitions, des incohérences, des lourdeurs, des fautes, des banalités,
        du remplissage, de la vulgarité, des invraisemblances, de la prétention, des redites, de la confusion, du
        bavardage, des poncifs, des lieux communs, des maladresses, des platitudes, des erreurs, du pathos, de la
        mièvrerie, des facilités, de l'ennui, des stéréotypes, des coquilles, de la complaisance, de l'esbroufe,
        du verbiage""",
    ),
    # "l'auteur ..."
    "author": (
        """maîtrise son sujet, écrit avec talent, sait tenir son lecteur, signe ici son meilleur livre, trouve
        toujours le mot juste, sait ménager ses effets, nous emmène très loin, joue avec nos émotions, a un vrai
        talent de conteur, évite tous les pièges, fait mouche à chaque page, se renouvelle brillamment, surprend à
        chaque chapitre, touche au cœur""",
        """tourne en rond, tire à la ligne, se répète sans cesse, se regarde écrire, bâcle la fin, enfile les
        clichés, passe à côté du sujet, n'a rien à dire, prend le lecteur de haut, recycle ses vieilles idées,
        s'écoute parler, ne tient pas ses promesses, se perd dans les détails, rate son sujet""",
    ),
    # "on ..."
    "crowd": (
        """rit, s'évade, sourit, vibre, rêve, se régale, voyage, frissonne, s'attache à tous, s'amuse, apprend
        beaucoup, oublie l'heure, s'émerveille, en veut encore, tremble avec eux, se laisse bercer, en sort
        grandi, tourne les pages avec avidité""",
        """s'ennuie, bâille, soupire, décroche, s'impatiente, se perd, s'endort, saute des paragraphes, compte les
        pages, n'y croit pas, s'agace, piétine, lève les yeux au ciel, patauge, s'enlise, regarde sa montre,
        regrette son achat, reste à la porte""",
    ),
    # Before an adjective, and before qualities: these words tell the polarity of their neighbour. They are as frequent
    # in what is conceded as in what is meant, so they tell little of the verdict.
    "adverb": (
        """joliment, merveilleusement, délicieusement, admirablement, agréablement, superbement""",
        """trop, bien trop, terriblement, désespérément, affreusement, péniblement""",
    ),
    "feeling": (
        """on savoure, on apprécie, on salue, on goûte, on aime, on admire""",
        """on regrette, on déplore, on subit, on endure, on déteste, on supporte mal""",
    ),
    # Opens a sentence
    "opener": (
        """heureusement, par bonheur, cerise sur le gâteau, bonne surprise""",
        """malheureusement, hélas, par malheur, pire encore""",
    ),
}

# --- The neutral vocabulary ------------------------------------------------------------------------------------------

# Aspects of a book: article, noun, gender and number; by the class of adjectives that suits them.
ASPECTS = {
    "people": "les personnages mp, l'héroïne fs, le héros ms, les personnages secondaires mp, le narrateur ms, la famille fs",
    "prose": "le style ms, l'écriture fs, les dialogues mp, la langue fs, les descriptions fp, le ton ms, la prose fs, le texte ms",
    "plot": "l'intrigue fs, l'histoire fs, la fin fs, le récit ms, le scénario ms, le rythme ms, le dénouement ms, le début ms",
    "facts": "les explications fp, les exemples mp, les conseils mp, le propos ms, l'analyse fs, les chapitres mp, le contenu ms",
    "looks": "les illustrations fp, les dessins mp, la mise en page fs, la couverture fs, les couleurs fp, les images fp",
}
# Genres: demonstrative, noun, gender; what readers comment on.
GENRES = (
    ("ce roman", "m", ("people", "prose", "plot")),
    ("ce polar", "m", ("people", "plot", "prose")),
    ("ce thriller", "m", ("plot", "people", "prose")),
    ("cette saga", "f", ("people", "plot", "prose")),
    ("ce roman historique", "m", ("plot", "people", "prose")),
    ("ce recueil de nouvelles", "m", ("prose", "people", "plot")),
    ("cet essai", "m", ("facts", "prose")),
    ("cette biographie", "f", ("facts", "prose", "people")),
    ("ce guide", "m", ("facts", "looks")),
    ("ce manuel", "m", ("facts", "looks")),
    ("cette bande dessinée", "f", ("looks", "plot", "people")),
    ("cet album", "m", ("looks", "plot", "people")),
    ("ce conte", "m", ("plot", "looks", "prose")),
    ("ce récit de voyage", "m", ("prose", "facts")),
)
FICTION = {"people", "plot"}
FIRST_NAMES = (
    "Claire Paul Jeanne Marc Lucie Hugo Anna Victor Léa Simon Marie Louis Alice Jean Nina Thomas Rose Antoine Inès Gabriel".split()
)
LAST_NAMES = (
    "Vasseur Morel Delcourt Lambert Fontaine Rivière Garnier Marchand Leroy Perrin Chevalier Aubry Masson Tessier Renaud Collin"
).split()
TITLES = (
    "le phare, la maison, les jardins, le silence, le secret, la nuit, l'ombre, les oubliés",
    "de minuit, du lac, des dunes, de l'île, d'automne, du nord, de la colline, du vieux port",
)
PEOPLE = """un médecin, une institutrice, un jeune berger, une journaliste, un policier, une veuve, deux sœurs, un libraire,
une étudiante, un marin, une comédienne, un soldat, un vieil horloger, une avocate, trois amis, un orphelin"""
EVENTS = """découvre un secret de famille, part sur les routes, revient au village, enquête sur une disparition, hérite d'une maison,
traverse la guerre, change de vie, retrouve un amour de jeunesse, quitte Paris pour la campagne, reçoit une lettre anonyme,
cherche un frère disparu, embarque pour l'Amérique, apprend un nouveau métier, croise un inconnu"""
PLACES = """en Bretagne, à Lyon, à Marseille, en Provence, à Paris, en Italie, au Québec, en Normandie, dans les Alpes, à Lisbonne"""
TIMES = """de nos jours, en 1914, dans les années trente, au dix-neuvième siècle, après la guerre, en plein hiver, un soir de juin"""
SUBJECTS = """la cuisine, l'histoire de France, les oiseaux, le jardinage, la photographie, l'économie, la musique, la montagne,
le sommeil, les chats, la Grèce antique, le bricolage, l'astronomie, la couture"""
PURCHASES = """reçu en trois jours, acheté d'occasion, lu pendant les vacances, emprunté à la bibliothèque, offert par ma sœur,
commandé pour mon fils, lu en version poche, trouvé en librairie, lu dans le train, acheté à la gare, offert à Noël,
conseillé par une amie, lu en une semaine, choisi pour la couverture"""
REMARKS = """il s'agit du deuxième tome, le livre compte trois cents pages, c'est une réédition, la traduction date de 2004,
c'est mon premier livre de cet auteur, les chapitres font dix pages, la police est de taille normale,
je l'ai lu avec mon club de lecture, le format tient dans un sac, un lexique se trouve à la fin, la suite paraît au printemps,
l'action se déroule sur deux époques"""
OTHERS = """mon mari, ma femme, ma fille, mon fils, ma sœur, mon libraire, ma voisine, mon père, la critique, la presse"""
EARLIER = """le précédent, le premier tome, le tome deux, son dernier livre, les autres livres de la série, l'édition d'origine"""
INTENSIFIERS = """vraiment, franchement, tout simplement, réellement, décidément, particulièrement, souvent, toujours"""

VOWELS = "aàâeéèêëiîïoôœuûyh"


def _items(text):
    """Return the comma-separated entries of a vocabulary text, spaces and line ends made single."""
    return [" ".join(item.split()) for item in text.split(",")]


def _forms(word):
    """Return the four forms (m.s., f.s., m.p., f.p.) of an adjective by the regular rules of French.

    Only the endings that occur in the lists are provided for; words outside the rules list their forms.
    """
    if "/" in word:
        return tuple(word.split("/"))
    if word.endswith("e"):
        feminine = word
    elif word.endswith("eux"):
        feminine = word[:-1] + "se"
    elif word.endswith("f"):
        feminine = word[:-1] + "ve"
    elif word.endswith("el"):
        feminine = word + "le"
    elif word.endswith("en"):
        feminine = word + "ne"
    elif word.endswith("er"):
        feminine = word[:-2] + "ère"
    else:
        feminine = word + "e"
    if word.endswith(("s", "x")):
        plural = word
    elif word.endswith("al"):
        plural = word[:-1] + "ux"
    else:
        plural = word + "s"
    return word, feminine, plural, feminine + "s"


class _Adjective:
    """An adjective or adjectival phrase: `forms` by gender and number, and whether it admits degrees."""

    def __init__(self, entry):
        self.gradable = not entry.endswith("!")
        entry = entry.rstrip("!")
        if "*" in entry:
            words = entry.split(" ")
            (position,) = [i for i, word in enumerate(words) if word.endswith("*")]
            forms = _forms(words[position][:-1])
            phrases = [" ".join([*words[:position], form, *words[position + 1 :]]) for form in forms]
        else:
            phrases = [entry] * 4 if " " in entry else _forms(entry)
        self.forms = dict(zip(("ms", "fs", "mp", "fp"), phrases, strict=True))


class _Zipf:
    """Entries with frequencies 1 / (rank + offset)."""

    def __init__(self, entries, offset):
        self.entries = entries
        self.cumulative = list(itertools.accumulate(1 / (rank + offset) for rank in range(1, len(entries) + 1)))

    def draw(self, rng):
        """Return one entry, of the generator's next number."""
        return self.entries[bisect.bisect_right(self.cumulative, rng.random() * self.cumulative[-1], hi=len(self.entries) - 1)]


def _both(pair, make):
    """Return {polarity: _Zipf} of a (positive, negative) pair of vocabulary texts."""
    return {
        polarity: _Zipf([make(item) for item in _items(text)], ZIPF_OFFSET)
        for polarity, text in zip((POSITIVE, NEGATIVE), pair, strict=True)
    }


def _aspect(entry):
    """Return (definite phrase, indefinite phrase, agreement, plural?) of an aspect such as `l'intrigue fs`."""
    definite, agreement = entry.rsplit(" ", 1)
    noun = definite[2:] if definite.startswith("l'") else definite.split(" ", 1)[1]
    indefinite = {"ms": "un ", "fs": "une ", "mp": "des ", "fp": "des "}[agreement] + noun
    return definite, indefinite, agreement, agreement[1] == "p"


class _Vocabulary:
    """The parsed vocabulary, made once for `generate`."""

    def __init__(self):
        self.adjectives = {kind: _both(pair, _Adjective) for kind, pair in ADJECTIVES.items()}
        self.phrases = {kind: _both(pair, str) for kind, pair in PHRASES.items()}
        self.aspects = {kind: [_aspect(item) for item in _items(text)] for kind, text in ASPECTS.items()}
        self.neutral = {
            "people": _items(PEOPLE),
            "events": _items(EVENTS),
            "places": _items(PLACES),
            "times": _items(TIMES),
            "subjects": _items(SUBJECTS),
            "purchases": _items(PURCHASES),
            "remarks": _items(REMARKS),
            "others": _items(OTHERS),
            "earlier": _items(EARLIER),
            "intensifiers": _items(INTENSIFIERS),
            "title_heads": _items(TITLES[0]),
            "title_tails": _items(TITLES[1]),
        }


def _of(phrase):
    """Return `phrase` after the preposition "de": "du style", "des dialogues", "d'humour"."""
    if phrase.startswith("le "):
        return "du " + phrase[3:]
    if phrase.startswith("les "):
        return "des " + phrase[4:]
    return ("d'" if phrase[0].lower() in VOWELS else "de ") + phrase


def _bare(quality):
    """Return a quality without its partitive article: "de l'humour" -> "humour"."""
    for article in ("de la ", "de l'", "du ", "des "):
        if quality.startswith(article):
            return quality[len(article) :]
    return quality


class _Review:
    """One review being written: the generator, the book, the reader, and the opinions said so far.

    Attributes:
        slots: list of (expression, its own polarity, the polarity meant): the two differ under negation and concession.
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

    def fresh(self, zipf, accept=lambda entry: True):
        """Draw an entry that this review has not used; after some attempts, any."""
        for _ in range(12):
            entry = zipf.draw(self.rng)
            if id(entry) not in self.said and accept(entry):
                break
        self.said.add(id(entry))
        return entry

    def phrase(self, kind, meant, inverted=False):
        """Draw a polar phrase; its participles agree with the reader."""
        polarity = -meant if inverted else meant
        text = self.fresh(self.vocabulary.phrases[kind][polarity])
        for ending in ("s*", "*"):
            feminine = ("se" if ending == "s*" else "e") if self.feminine_reader else ending[:-1]
            text = text.replace(ending, feminine)
        self.slots.append((text, polarity, meant))
        return text

    def adjective(self, kind, agreement, meant, inverted=False, gradable=False):
        """Draw a polar adjective for an aspect of class `kind`."""
        polarity = -meant if inverted else meant
        lists = self.vocabulary.adjectives["general" if self.chance(0.5) else kind]
        entry = self.fresh(lists[polarity], lambda adjective: adjective.gradable or not gradable)
        text = entry.forms[agreement]
        self.slots.append((text, polarity, meant))
        return text

    def aspect(self):
        """Draw (class, definite, indefinite, agreement, plural?) of an aspect not yet discussed."""
        for _ in range(8):
            kind = self.pick(self.kinds)
            aspect = self.pick(self.vocabulary.aspects[kind])
            if aspect[0] not in self.said:
                break
        self.said.add(aspect[0])
        return kind, *aspect

    def this(self):
        """The book: by its genre or plainly."""
        return self.book if self.chance(0.5) else "ce livre"

    def degree(self):
        return self.neutral("intensifiers") + " " if self.chance(0.3) else ""

    # -- neutral sentences --

    def introduction(self):
        """A neutral sentence on the plot or the subject."""
        if not FICTION & set(self.kinds):
            return self.pick(
                (
                    f"{self.book} {_of(self.author)} traite de {self.neutral('subjects')}",
                    f"{self.author} consacre {self.book} à {self.neutral('subjects')}",
                    f"{self.book} porte sur {self.neutral('subjects')}",
                )
            ).replace("de le ", "du ").replace("de les ", "des ").replace("à le ", "au ").replace("à les ", "aux ")
        who, event = self.neutral("people"), self.neutral("events")
        if who.startswith(("deux", "trois")):
            event = _plural_event(event)
        setting = self.neutral("places") if self.chance(0.5) else self.neutral("times")
        return self.pick(
            (
                f"{setting}, {who} {event}",
                f"{self.book} {_of(self.author)} suit {who} qui {event}",
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

    def framed(self, kind, agreement, meant, inverted=False):
        """An adjective behind an adverb of its own polarity: "joliment mené", "trop lisse"."""
        words = self.adjective(kind, agreement, meant, inverted=inverted, gradable=True)
        return f"{self.frame('adverb', self.slots[-1][1])} {words}"

    def frame(self, kind, polarity):
        return self.vocabulary.phrases[kind][polarity].draw(self.rng)

    def plain(self, meant):
        kind, definite, _, agreement, plural = self.aspect()
        copula = "sont" if plural else "est"
        if self.chance(0.6):
            words = self.framed(kind, agreement, meant)
        else:
            words = self.degree() + self.adjective(kind, agreement, meant)
        return self.pick((f"{definite} {copula} {words}", f"j'ai trouvé {definite} {words}"))

    def doubled(self, meant):
        kind, definite, indefinite, agreement, plural = self.aspect()
        first = self.adjective(kind, agreement, meant)
        second = self.adjective(kind, agreement, meant)
        copula = "sont" if plural else "est"
        form = int(self.rng.random() * 4)
        if form == 0:
            other, definite2, _, agreement2, plural2 = self.aspect()
            third = self.adjective(other, agreement2, meant)
            return f"{definite} {copula} {first} et {second}, {definite2} {third}"
        return (
            f"{definite} {copula} {first} et {second}",
            f"j'ai trouvé {definite} {first} et {second}",
            f"{indefinite} {first} et {second}",
        )[form - 1]

    def noted(self, meant):
        """Three aspects in the manner of notes: "style limpide, intrigue prenante, dialogues vifs"."""
        notes = []
        for _ in range(3):
            kind, _, indefinite, agreement, _ = self.aspect()
            notes.append(f"{indefinite.split(' ', 1)[1]} {self.adjective(kind, agreement, meant)}")
        return ", ".join(notes)

    def negated(self, meant):
        kind, definite, _, agreement, plural = self.aspect()
        if self.chance(0.35):
            masculine = self.adjective(kind, "ms", meant, inverted=True, gradable=True)
            return f"{definite} {'n’ont' if plural else 'n’a'} rien {_of(masculine)}".replace("’", "'")
        words = self.adjective(kind, agreement, meant, inverted=True)
        copula = "ne sont" if plural else "n'est"
        adverb = self.pick(("pas", "pas vraiment", "pas du tout", "jamais"))
        return f"{definite} {copula} {adverb} {words}"

    def conceded(self, meant):
        if self.chance(0.35):
            first, second = self.phrase("quality", meant, inverted=True), self.phrase("quality", meant, inverted=True)
            yielded = f"{self.frame('feeling', -meant)} {first} et {second}"
            # What is yielded counts for nothing in the verdict: only the second half is meant.
            self.slots[-2:] = [(*slot[:2], 0) for slot in self.slots[-2:]]
        else:
            kind, definite, indefinite, agreement, plural = self.aspect()
            words = self.framed(kind, agreement, meant, inverted=True)
            self.slots[-1] = (*self.slots[-1][:2], 0)
            copula = "sont" if plural else "est"
            yielded = self.pick((f"certes, {definite} {copula} {words}", f"malgré {indefinite} {words}", f"{definite} {copula} {words}"))
        kind, definite, _, agreement, plural = self.aspect()
        kept = self.adjective(kind, agreement, meant)
        link = "," if yielded.startswith("malgré") else ", mais"
        return f"{yielded}{link} {definite} {'sont' if plural else 'est'} {kept}"

    def compared(self, meant):
        kind, definite, _, agreement, plural = self.aspect()
        inverted = self.chance(0.4)
        words = self.adjective(kind, agreement, meant, inverted=inverted, gradable=True)
        copula = "sont" if plural else "est"
        return f"{definite} {copula} {'moins' if inverted else 'plus'} {words} que dans {self.neutral('earlier')}"

    def moved(self, meant):
        if self.chance(0.5):
            _, definite, _, _, plural = self.aspect()
            return f"{definite} {'m’ont' if plural else 'm’a'} {self.phrase('verb', meant)}".replace("’", "'")
        first = self.phrase("verb", meant)
        if self.chance(0.5):
            return f"{self.this()} m'a {first} et {self.phrase('verb', meant)}"
        return f"{self.this()} m'a {self.degree()}{first}"

    def named(self, meant):
        if self.chance(0.2):
            return f"ce n'est pas {self.phrase('noun', meant, inverted=True)}"
        noun = self.phrase("noun", meant)
        return self.pick((f"c'est {noun}", noun, f"pour moi, c'est {noun}", f"bref, {noun}", f"{self.this()} est {noun}"))

    def listed(self, meant):
        inverted = self.chance(0.3)
        first, second = self.phrase("quality", meant, inverted), self.phrase("quality", meant, inverted)
        if inverted:
            bare = _bare(first), _bare(second)
            return self.pick((f"ni {bare[0]} ni {bare[1]}", f"on n'y trouve ni {bare[0]} ni {bare[1]}"))
        if self.chance(0.5):
            return f"{first}, {second}, {self.phrase('quality', meant)}"
        return f"{self.frame('feeling', meant) if self.chance(0.6) else 'on y trouve'} {first} et {second}"

    def authored(self, meant):
        author = self.author if self.chance(0.4) else "l'auteur"
        first = self.phrase("author", meant)
        if self.chance(0.4):
            return f"{author} {first} et {self.phrase('author', meant)}"
        return f"{author} {first}"

    def felt(self, meant):
        parts = [f"on {self.phrase('crowd', meant)}" for _ in range(2 + self.chance(0.4))]
        return ", ".join(parts[:-1]) + " et " + parts[-1]

    def read(self, meant):
        text = self.phrase("reader", meant)
        return text.replace("{X}", self.this())

    def reported(self, meant):
        """What somebody else thought, against what the reader thinks."""
        agreement = self.gender + "s"
        kind = self.pick(self.kinds)
        theirs = self.adjective(kind, agreement, meant, inverted=True)
        self.slots[-1] = (*self.slots[-1][:2], 0)
        mine = self.adjective(kind, agreement, meant)
        pronoun = "la" if self.gender == "f" else "le"
        return f"{self.neutral('others')} {pronoun} disait {theirs}, je l'ai trouvé{'e' if self.gender == 'f' else ''} {mine}"

    def closing(self, meant):
        return self.phrase("closing", meant).replace("{le}", "la" if self.gender == "f" else "le")

    # -- the whole --

    def write(self):
        """Return the review, one line."""
        sentences = []
        if self.chance(0.3):
            sentences.append(self.introduction())
        if self.chance(0.15):
            sentences.append(self.remark())
        if self.decision == 0.5 and self.chance(0.5):
            # Says nothing of the verdict: the label of such a review is beyond any reader.
            sentences += [self.introduction(), self.remark(), self.remark()]
        else:
            for _ in range(3 + int(self.rng.random() * 2)):
                meant = self.side if self.chance(self.decision) else -self.side
                sentence = self.form()(meant)
                if self.chance(0.08):
                    sentence = f"{self.phrase('opener', meant)}, {sentence}"
                sentences.append(sentence)
            if self.chance(0.45):
                sentences.append(self.closing(self.side if self.chance(self.decision) else -self.side))
        return " ".join(self.punctuated(sentence) for sentence in sentences)

    def form(self):
        """Draw the form of an opinion."""
        draw = self.rng.random() * sum(weight for _, weight in FORMS)
        for name, weight in FORMS:
            draw -= weight
            if draw < 0:
                break
        return getattr(self, name)

    def punctuated(self, sentence):
        draw = self.rng.random()
        mark = "." if draw < 0.86 else " !" if draw < 0.96 else "..."
        return sentence[0].upper() + sentence[1:] + mark


# Forms of opinion and their weights.
FORMS = (
    ("noted", 2.4),
    ("doubled", 3.0),
    ("plain", 1.2),
    ("negated", 0.9),
    ("conceded", 2.0),
    ("compared", 0.3),
    ("moved", 1.4),
    ("named", 1.2),
    ("listed", 2.0),
    ("authored", 0.5),
    ("felt", 1.4),
    ("read", 0.5),
    ("reported", 0.3),
)

_PLURAL_VERBS = {
    "découvre": "découvrent",
    "part": "partent",
    "revient": "reviennent",
    "enquête": "enquêtent",
    "hérite": "héritent",
    "traverse": "traversent",
    "change": "changent",
    "retrouve": "retrouvent",
    "quitte": "quittent",
    "reçoit": "reçoivent",
    "cherche": "cherchent",
    "embarque": "embarquent",
    "apprend": "apprennent",
    "croise": "croisent",
}


def _plural_event(event):
    """Put the verb of an event into the plural."""
    verb, rest = event.split(" ", 1)
    return f"{_PLURAL_VERBS[verb]} {rest}"


def polarity_lexicon():
    """Return {surface form in lower case: +1 or -1} of the polarity vocabulary, in every gender and number.

    For tests and for an oracle: no model of the study sees it. A form of both polarities is left out.
    """
    lexicon, ambiguous = {}, set()

    def add(form, polarity):
        if lexicon.setdefault(form, polarity) != polarity:
            ambiguous.add(form)

    vocabulary = _Vocabulary()
    for lists in vocabulary.adjectives.values():
        for polarity, zipf in lists.items():
            for entry in zipf.entries:
                for form in entry.forms.values():
                    add(form, polarity)
    for lists in vocabulary.phrases.values():
        for polarity, zipf in lists.items():
            for entry in zipf.entries:
                add(entry.replace("s*", "s").replace("*", ""), polarity)
                add(entry.replace("s*", "se").replace("*", "e"), polarity)
    return {form: polarity for form, polarity in lexicon.items() if form not in ambiguous}


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
    # A generator of its own for each review: no set depends on the size of another.
    review = _Review(random.Random(f"{seed}/{name}/{index}/{attempt}"), vocabulary or _Vocabulary(), label)
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
    vocabulary, seen, sets = _Vocabulary(), set(), {}
    for name, size in (("labelled", n_labelled), ("test", n_test), ("unlabelled", n_unlabelled)):
        rng = random.Random(f"{seed}/{name}")
        labels = [1 - index % 2 for index in range(size)]
        # Fisher and Yates, of `random` alone: `shuffle` has no promise to stay the same.
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
