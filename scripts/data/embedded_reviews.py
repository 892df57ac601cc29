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

POSITIVE, NEGATIVE = 1, -1

# Share of sentences that side with the review's label, and how often a review has it: decided, mixed, empty of opinion.
DECISION = ((0.98, 0.85), (0.75, 0.12), (0.5, 0.03))
# Frequency of the word of rank r in its list is proportional to 1 / (r + ZIPF_OFFSET): a small offset makes few words
# very common, a large one makes all alike.
ZIPF_OFFSET = 300
# Share of sentences whose words come from the review's own field.
FAITHFULNESS = 0.95
# How often an expression has a telling adverb ("joliment", "trop") in front, when it sides with the verdict and when not.
FRAMING_OWN, FRAMING_OTHER = 0.2, 0.2

# Forms of opinion (methods of `_Review`) and their weights.
FORMS = {
    "noted": 3.0,
    "epithets": 2.6,
    "doubled": 3.2,
    "plain": 1.4,
    "negated": 0.5,
    "conceded": 0.9,
    "compared": 0.3,
    "moved": 1.2,
    "named": 0.8,
    "listed": 2.0,
    "authored": 0.15,
    "felt": 0.5,
    "read": 0.25,
    "reported": 0.3,
}

# --- The polarity vocabulary -----------------------------------------------------------------------------------------
# Each semantic field: its polarity, the aspects of a book that it suits, and its expressions, the commonest first.
# In adjectives `*` follows the word of a phrase that agrees (phrases without it are invariable), `!` marks what admits no
# degree ("plus ... que"), and irregular words give both forms (masculine/feminine). In verbs `*` follows a participle that
# agrees with the reader: "m'a touché", "m'a touchée".
# Verbs complete "ce livre m'a ...", nouns "c'est ...", qualities "au menu : ..." (without the article), and crowd "on ...".
FIELDS = {
    "emotion": {
        "polarity": POSITIVE,
        "suits": "people prose plot",
        "adjective": """touchant, émouvant, bouleversant, tendre, sincère, humain, poignant, attachant, sensible, pudique,
            délicat, vibrant, profond, généreux, authentique, chaleureux, juste, attendrissant, déchirant!,
            lumineux, intime, intense, vrai, marquant, plein* de cœur!, d'une grande humanité!""",
        "verb": """touché*, ému*, bouleversé*, attendri*, remué*, réconforté*, marqué*, fait pleurer, serré le cœur,
            chaviré*, hanté*""",
        "noun": """un coup de cœur, une leçon de vie, un moment de grâce, un hymne à la vie, une caresse, un cadeau""",
        "quality": """de l'émotion, de la tendresse, de la sensibilité, de la pudeur, de la chaleur, de l'espoir, de l'amour,
            de la générosité""",
        "crowd": """pleure, s'attache à tous, frissonne, a la gorge serrée, y repense longtemps, vibre""",
    },
    "suspense": {
        "polarity": POSITIVE,
        "suits": "plot",
        "adjective": """haletant, palpitant, prenant, captivant, surprenant, rythmé, efficace, trépidant, imprévisible, tendu,
            nerveux, addictif, vertigineux, ingénieux, hypnotique, électrisant, inattendu!, explosif, endiablé, bien
            ficelé*!, bien mené*!, sans temps mort!, plein* de surprises!, plein* de rebondissements!, mené* tambour
            battant!""",
        "verb": """captivé*, happé*, tenu* en haleine, surpris*, bluffé*, accroché*, scotché*, emporté*, électrisé*, fait
            trembler, coupé le souffle""",
        "noun": """un coup de maître, un tour de force, un feu d'artifice, un tourbillon, une course folle, un engrenage
            diabolique""",
        "quality": """du suspense, du rythme, du souffle, de l'action, de la tension, des surprises, des rebondissements, de
            l'énergie""",
        "crowd": """tremble, retient son souffle, tourne les pages, oublie l'heure, sursaute, se prend au jeu""",
    },
    "humour": {
        "polarity": POSITIVE,
        "suits": "people prose plot",
        "adjective": """drôle, amusant, pétillant, hilarant, malicieux, réjouissant, savoureux, cocasse, spirituel, mordant,
            joyeux, léger, espiègle, jubilatoire!, truculent, divertissant, enjoué, irrésistible!, burlesque,
            désopilant, facétieux, jovial, décapant, plein* d'esprit!, à mourir de rire!""",
        "verb": """amusé*, fait rire, diverti*, fait sourire, régalé*, réjoui*, égayé*, mis* de bonne humeur, déridé*,
            redonné le sourire""",
        "noun": """un régal, une friandise, un rayon de soleil, une gourmandise, une fête, un éclat de rire""",
        "quality": """de l'humour, de l'esprit, de la malice, de la fantaisie, de la verve, de l'ironie, de la gaieté, de la
            bonne humeur""",
        "crowd": """rit, sourit, s'amuse, jubile, pouffe, se tord de rire""",
    },
    "beauty": {
        "polarity": POSITIVE,
        "suits": "prose looks",
        "adjective": """poétique, élégant, magnifique!, superbe!, raffiné, sublime!, soigné, splendide!, harmonieux, envoûtant,
            somptueux, ciselé!, gracieux, onirique, féerique, imagé, musical, chatoyant, éblouissant!, ravissant,
            velouté, épuré, coloré, cristallin, enchanteur/enchanteresse, de toute
            beauté!""",
        "verb": """charmé*, séduit*, ébloui*, enchanté*, fasciné*, envoûté*, émerveillé*, transporté*, ensorcelé*,
            subjugué*, fait rêver""",
        "noun": """un bijou, une merveille, un chef-d'œuvre, une perle, un enchantement, un joyau""",
        "quality": """de la poésie, de la finesse, de l'élégance, de la grâce, de la délicatesse, de la magie, de la beauté,
            du charme""",
        "crowd": """rêve, s'évade, s'émerveille, voyage, se laisse bercer, contemple""",
    },
    "knowledge": {
        "polarity": POSITIVE,
        "suits": "facts",
        "adjective": """clair, utile, précis, passionnant, instructif, intelligent, pertinent,
            complet/complète, rigoureux, enrichissant, pédagogique, stimulant, éclairant,
            accessible, fouillé!, fiable, brillant, concret/concrète, judicieux, convaincant,
            nuancé, érudit, argumenté!, limpide, bien documenté*!""",
        "verb": """convaincu*, passionné*, éclairé*, enrichi*, inspiré*, ouvert les yeux, instruit*, donné à réfléchir,
            stimulé*, guidé*""",
        "noun": """une référence, une mine d'or, une source d'inspiration, une révélation, un incontournable, une bible""",
        "quality": """de l'intelligence, de la clarté, de la rigueur, de la sagesse, de la précision, de la profondeur, de la
            justesse, de la pédagogie""",
        "crowd": """apprend beaucoup, comprend tout, réfléchit, en sort grandi, découvre, se cultive""",
    },
    "delight": {
        "polarity": POSITIVE,
        "suits": "people prose plot facts looks",
        "adjective": """excellent!, réussi, agréable, formidable!, génial!, remarquable!, merveilleux!, original, délicieux,
            plaisant, fabuleux!, charmant, extraordinaire!, exceptionnel!, parfait!, impeccable!, épatant!,
            enthousiasmant, admirable!, fantastique!, exquis!, magistral!, prodigieux!, mémorable, hors du commun!,
            digne* d'éloges!""",
        "verb": """conquis*, emballé*, ravi*, comblé*, enthousiasmé*, impressionné*, fait du bien, épaté*, laissé* sans
            voix, grisé*""",
        "noun": """un bonheur, une réussite, un délice, une pépite, un trésor, une belle surprise""",
        "quality": """du talent, de l'audace, de la fraîcheur, de l'invention, du panache, de l'originalité, de
            l'enthousiasme, du caractère""",
        "crowd": """en veut encore, applaudit, savoure, se régale, exulte, adore""",
    },
    "boredom": {
        "polarity": NEGATIVE,
        "suits": "plot prose facts",
        "adjective": """ennuyeux, lent, soporifique, interminable!, lassant, monotone, fade, répétitif, assommant, fastidieux,
            morne, insipide, plat, pénible, poussif, barbant, languissant, endormant, rébarbatif,
            mou/molle, étiré!, laborieux, terne, à rallonge!, plein* de longueurs!, sans rythme!""",
        "verb": """ennuyé*, lassé*, endormi*, fatigué*, assommé*, fait bâiller, découragé*, barbé*, usé*, éreinté*, rasé*""",
        "noun": """un somnifère, un pensum, une corvée, un supplice, un long tunnel, une purge""",
        "quality": """des longueurs, de l'ennui, des redites, du remplissage, du bavardage, des répétitions, du délayage, des
            digressions""",
        "crowd": """s'ennuie, bâille, s'endort, s'impatiente, compte les pages, regarde sa montre""",
    },
    "heaviness": {
        "polarity": NEGATIVE,
        "suits": "prose facts",
        "adjective": """lourd, maladroit, confus, ampoulé, pompeux, pesant, indigeste, verbeux, alambiqué, illisible!, haché!,
            scolaire, relâché!, grandiloquent, approximatif, emphatique, hermétique, boursouflé, tarabiscoté,
            empesé, filandreux, ronflant, rocailleux, bourré* de fautes!, d'une lourdeur extrême!""",
        "verb": """rebuté*, gêné*, écœuré*, heurté*, crispé*, donné mal à la tête, perdu* en route, égaré*, embrouillé*,
            fait trébucher""",
        "noun": """un brouillon, un charabia, une bouillie, une usine à gaz, un galimatias, un pavé indigeste""",
        "quality": """des lourdeurs, des fautes, des maladresses, de la confusion, du jargon, des coquilles, du verbiage, de
            l'emphase""",
        "crowd": """se perd, trébuche, décroche, patauge, s'enlise, relit trois fois""",
    },
    "cliche": {
        "polarity": NEGATIVE,
        "suits": "people plot",
        "adjective": """caricatural, prévisible, stéréotypé, banal/banale, convenu!, artificiel, simpliste,
            mièvre, niais, invraisemblable, superficiel, téléphoné!, creux/creuse, incohérent,
            décousu, manichéen, éculé!, puéril, bancal/bancale, factice, larmoyant, sirupeux,
            réchauffé!, cousu* de fil blanc!, tiré* par les cheveux!, sans surprise!""",
        "verb": """laissé* de marbre, fait soupirer, laissé* sceptique, laissé* indifférent*, laissé* froid*, laissé*
            perplexe, semblé forcé, fait pouffer de pitié""",
        "noun": """un ramassis de clichés, une soupe tiède, une guimauve, une suite de banalités, un mauvais feuilleton,
            une bluette""",
        "quality": """des clichés, des poncifs, des banalités, des stéréotypes, de la mièvrerie, des invraisemblances, des
            incohérences, du pathos""",
        "crowd": """n'y croit pas, soupire, devine tout, lève les yeux au ciel, reste à la porte, hausse les épaules""",
    },
    "uselessness": {
        "polarity": NEGATIVE,
        "suits": "facts",
        "adjective": """inutile, vague, sommaire, incomplet/incomplète, daté!, dépassé!, bâclé!, obscur,
            redondant, imprécis, discutable, douteux, trompeur/trompeuse, partial, lacunaire,
            abstrait, désordonné, superflu, brumeux, contestable, orienté!, nébuleux, mal organisé*!, truffé*
            d'erreurs!, sans rigueur!""",
        "verb": """frustré*, laissé* sur ma faim, trompé*, induit* en erreur, refroidi*, dérouté*, fait perdre mon temps,
            appris bien peu""",
        "noun": """une perte de temps, une arnaque, un attrape-nigaud, une coquille vide, un fourre-tout, une imposture""",
        "quality": """des erreurs, des lacunes, des contresens, des oublis, des approximations, de la paresse, de
            l'amateurisme, des raccourcis""",
        "crowd": """n'apprend rien, cherche en vain, regrette son achat, tourne en rond, perd son temps, reste sur sa faim""",
    },
    "irritation": {
        "polarity": NEGATIVE,
        "suits": "people prose",
        "adjective": """agaçant, irritant, prétentieux, vulgaire, insupportable!, racoleur/racoleuse,
            antipathique, grossier, exaspérant, odieux!, horripilant, détestable!, ridicule, arrogant, complaisant,
            malsain, cynique, geignard, méprisant, sordide, nombriliste, déplaisant, criard,
            tapageur/tapageuse, de mauvais goût!""",
        "verb": """agacé*, énervé*, irrité*, exaspéré*, choqué*, horripilé*, tapé sur les nerfs, mis* mal à l'aise,
            hérissé*, dégoûté*, révolté*""",
        "noun": """une insulte au lecteur, une provocation, une plaie, une épreuve, un étalage, un caprice""",
        "quality": """de la vulgarité, de la prétention, de la suffisance, de la complaisance, de la condescendance, de
            l'esbroufe, du mépris, du cynisme""",
        "crowd": """s'agace, grince des dents, s'énerve, enrage, s'indigne, fulmine""",
    },
    "failure": {
        "polarity": NEGATIVE,
        "suits": "people prose plot facts looks",
        "adjective": """décevant, mauvais/mauvaise!, médiocre, raté!, nul/nulle!, pauvre, faible,
            navrant, affligeant, pitoyable!, lamentable!, consternant, déplorable!, désolant, catastrophique!,
            épouvantable!, minable!, désastreux!, inabouti!, calamiteux!, exécrable!, quelconque!, affreux!,
            surfait!, sans intérêt!, en dessous de tout!""",
        "verb": """déçu*, consterné*, dépité*, attristé*, accablé*, gâché le plaisir, navré*, atterré*, désolé*, douché*""",
        "noun": """une déception, un ratage, un gâchis, un échec, un désastre, une catastrophe""",
        "quality": """de la médiocrité, de la pauvreté, de la faiblesse, du gâchis, de la platitude, de la laideur, du ratage,
            de la maladresse""",
        "crowd": """tombe de haut, abandonne, cherche la sortie, se désole, attend que ça passe, referme le livre""",
    },
}

# Expressions of no field: (positive, negative). {X} is the book, {le} its pronoun.
PHRASES = {
    # "j'ai ..."
    "reader": (
        """j'ai adoré {X}, j'ai dévoré {X}, j'ai beaucoup aimé {X}, j'ai lu {X} d'une traite, je n'ai pas pu lâcher {X},
        j'ai savouré {X}, j'ai refermé {X} à regret, j'ai craqué pour {X}, je suis tombé* sous le charme de {X},
        j'ai pris un vrai plaisir à lire {X}, j'ai relu {X} avec bonheur, je ne me lasse pas de {X}, je garde {X} précieusement,
        j'ai offert {X} à toute la famille, j'ai englouti {X} en deux soirées""",
        """j'ai abandonné {X}, j'ai peiné à finir {X}, j'ai détesté {X}, j'ai perdu mon temps avec {X}, je n'ai pas accroché à {X},
        je regrette d'avoir acheté {X}, j'ai lâché {X} au milieu, je me suis forcé* à finir {X}, j'ai refermé {X} avec soulagement,
        j'ai revendu {X} aussitôt, j'ai survolé la moitié de {X}, j'attendais bien mieux de {X}, j'ai failli jeter {X},
        je n'ai rien retenu de {X}, j'ai subi {X} jusqu'au bout""",
    ),
    # A sentence of its own
    "closing": (
        """à lire absolument, je {le} recommande vivement, foncez, vivement la suite, à offrir sans hésiter, bravo à l'auteur,
        à mettre entre toutes les mains, ne passez pas à côté, on en redemande, courez l'acheter, merci à l'auteur, chapeau,
        une valeur sûre, cinq étoiles méritées, laissez-vous tenter, rien à redire, à partager sans attendre""",
        """à éviter, passez votre chemin, dommage, je ne {le} recommande pas, à fuir, gardez votre argent, je m'attendais à mieux,
        beaucoup de bruit pour rien, sans moi pour la suite, à oublier très vite, tout ça pour ça, on peut s'en passer,
        une étoile et encore, remboursez, direction la poubelle, plus jamais, à laisser en rayon""",
    ),
    # "l'auteur ..."
    "author": (
        """maîtrise son sujet, écrit avec talent, sait tenir son lecteur, signe ici son meilleur livre, trouve le mot juste,
        nous emmène très loin, joue avec nos émotions, évite tous les pièges, fait mouche à chaque page, se surpasse,
        réussit son pari, tient ses promesses""",
        """tourne autour du pot, tire à la ligne, se répète sans cesse, se regarde écrire, bâcle la fin, passe à côté du sujet,
        n'a rien à dire, prend le lecteur de haut, recycle ses vieilles idées, s'écoute parler, rate son sujet, radote""",
    ),
}

# --- The neutral vocabulary ------------------------------------------------------------------------------------------

# Aspects of a book: article, noun and gender; by the class of adjectives that suits them.
ASPECTS = {
    "people": "le héros m, l'héroïne f, le narrateur m, la famille f",
    "prose": "le style m, l'écriture f, la langue f, le ton m, la prose f, le texte m",
    "plot": "l'intrigue f, l'histoire f, la fin f, le récit m, le scénario m, le dénouement m",
    "facts": "le propos m, l'analyse f, le contenu m, la méthode f, le plan m, la synthèse f",
    "looks": "le dessin m, la maquette f, la couverture f, le graphisme m",
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
FIRST_NAMES = "Claire Paul Jeanne Marc Lucie Hugo Anna Victor Léa Simon Marie Louis Alice Jean Nina Thomas Rose Antoine Inès Gabriel".split()
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
OTHERS = (
    """mon mari, ma femme, ma fille, mon fils, ma sœur, mon libraire, ma voisine, mon père, la critique, la presse"""
)
EARLIER = """le précédent, le premier tome, le tome deux, son dernier livre, les autres livres de la série, l'édition d'origine"""
# Adverbs that tell the polarity of what follows: before anything, and before adjectives that admit a degree.
FRAMES = {
    POSITIVE: (("heureusement",), ("joliment", "merveilleusement", "délicieusement")),
    NEGATIVE: (("hélas", "malheureusement"), ("trop", "trop", "terriblement")),
}
NEGATIONS = ("pas", "pas vraiment", "pas du tout", "jamais")

# Third person plural of the verbs of EVENTS.
PLURALS = {
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

VOWELS = "aàâeéèêëiîïoôœuûyh"


def _items(text):
    """Return the comma-separated entries of a vocabulary text, spaces and line ends made single."""
    return [" ".join(item.split()) for item in text.split(",")]


def _forms(word):
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


class _Adjective:
    """An adjective or adjectival phrase: `forms` by gender, and whether it admits degrees."""

    def __init__(self, entry):
        self.gradable = not entry.endswith("!")
        entry = entry.rstrip("!")
        if "*" in entry:
            words = entry.split(" ")
            (position,) = [i for i, word in enumerate(words) if word.endswith("*")]
            forms = _forms(words[position][:-1])
            phrases = [" ".join([*words[:position], form, *words[position + 1 :]]) for form in forms]
        else:
            phrases = (entry, entry) if " " in entry else _forms(entry)
        self.forms = dict(zip("mf", phrases, strict=True))


class _Zipf:
    """Entries with frequencies 1 / (rank + offset)."""

    def __init__(self, entries, offset):
        self.entries = entries
        self.cumulative = list(itertools.accumulate(1 / (rank + offset) for rank in range(1, len(entries) + 1)))

    def draw(self, rng):
        """Return one entry, of the generator's next number."""
        return self.entries[
            bisect.bisect_right(self.cumulative, rng.random() * self.cumulative[-1], hi=len(self.entries) - 1)
        ]


def _aspect(entry):
    """Return (definite phrase, indefinite phrase, noun, gender) of an aspect such as `l'intrigue f`."""
    definite, gender = entry.rsplit(" ", 1)
    noun = definite[2:] if definite.startswith("l'") else definite.split(" ", 1)[1]
    return definite, ("un " if gender == "m" else "une ") + noun, noun, gender


class _Field:
    """A semantic field: `polarity`, the kinds of aspect that it `suits`, and its `words` by kind, as `_Zipf`."""

    def __init__(self, entry):
        self.polarity = entry["polarity"]
        self.suits = frozenset(entry["suits"].split())
        self.words = {
            kind: _Zipf([make(item) for item in _items(entry[kind])], ZIPF_OFFSET)
            for kind, make in (
                ("adjective", _Adjective),
                ("verb", str),
                ("noun", str),
                ("quality", str),
                ("crowd", str),
            )
        }


class _Vocabulary:
    """The parsed vocabulary, made once for `generate`."""

    def __init__(self):
        self.fields = [_Field(entry) for entry in FIELDS.values()]
        self.phrases = {
            kind: {
                polarity: _Zipf(_items(text), ZIPF_OFFSET)
                for polarity, text in zip((POSITIVE, NEGATIVE), pair, strict=True)
            }
            for kind, pair in PHRASES.items()
        }
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
            "title_heads": _items(TITLES[0]),
            "title_tails": _items(TITLES[1]),
        }


def _of(phrase):
    """Return `phrase` after the preposition "de": "du jardinage", "de la cuisine", "d'Anna Morel"."""
    if phrase.startswith("le "):
        return "du " + phrase[3:]
    if phrase.startswith("les "):
        return "des " + phrase[4:]
    return ("d'" if phrase[0].lower() in VOWELS else "de ") + phrase


def _to(phrase):
    """Return `phrase` after the preposition "à": "au jardinage", "aux oiseaux", "à la cuisine"."""
    if phrase.startswith("le "):
        return "au " + phrase[3:]
    if phrase.startswith("les "):
        return "aux " + phrase[4:]
    return "à " + phrase


def _bare(quality):
    """Return a quality without its partitive article: "de l'humour" -> "humour"."""
    for article in ("de la ", "de l'", "du ", "des "):
        if quality.startswith(article):
            return quality[len(article) :]
    return quality


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
        # What this reader praises and what he blames: a real review has its reasons, too.
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
        """Return an adverb that tells the polarity of what follows, and `link`; or nothing. At most one a sentence."""
        if self.framed or not self.chance(FRAMING_OWN if polarity == self.side else FRAMING_OTHER):
            return ""
        general, before_degrees = FRAMES[polarity]
        if meant == 0 and polarity == POSITIVE:
            # Nobody is glad of what he takes back.
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
                    f"{self.book} {_of(self.author)} traite {_of(subject)}",
                    f"{self.author} consacre {self.book} {_to(subject)}",
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
            return f"{definite} n'a rien {_of(self.adjective(field, 'm', meant, gradable=True, framed=False))}"
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
        words = [_bare(self.word("quality", field, meant)) for _ in range(2 if inverted else 3)]
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
        """What somebody else thought, against what the reader thinks."""
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
            # Says nothing of the verdict: the label of such a review is beyond any reader.
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
