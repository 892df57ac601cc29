"""The words of the synthetic reviews: polarity vocabulary, aspects of a book, plots, purchases."""

POSITIVE, NEGATIVE = 1, -1


# Forms of opinion (methods of `embedded_reviews._Review`) and their weights.
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
    # A separate sentence
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


# Adverbs that show the polarity of the next words: before anything, and before adjectives that admit a degree.
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
