"""Synthetic customer questions and answers in French, and shop text to train a tiny language model on.

The shop, "La Malle aux Merveilles", does not exist, and neither do its prices or delays: everything here was written for
this project, so that the question-answering study runs without any download. `pairs` returns the questions and answers:
families of one wording each, asked of several articles, places or means. `corpus` writes as much shop text as is asked,
from a seeded grammar. The corpus has the questions' wordings and the answers' words, but none of the
answers: those are left to tuning, and a question kept out can be answered from the others of its family.

Only the standard library is used, and of the generator only `Random.random`, whose sequence Python guarantees for a
seed: the text is the same on every machine and with every Python since 3.11.
"""

import random
import re

# One family per block: the question, the answer, and their subjects (each value gives a pair).
FAMILIES = """
Livrez-vous <place> ?
Oui, nous livrons <place> en trois jours ouvrés.

Combien coûte la livraison <place> ?
La livraison <place> coûte 4,90 euros. Elle est offerte dès 50 euros d'achat.

Puis-je retourner <thing> ?
Oui, vous avez trente jours pour retourner <thing>. Le retour est gratuit.

Combien de temps <thing> est-il garanti ?
Bonne nouvelle : <thing> est garanti deux ans.

Quand <thing> sera-t-il de nouveau disponible ?
Cliquez sur « Me prévenir » : un courriel part quand <thing> est en stock.

J'ai reçu <thing> cassé. Que faire ?
Envoyez-nous une photo sous 48 heures. Nous vous renvoyons <thing> sans frais.

Puis-je payer par <means> ?
Oui, le paiement par <means> est accepté.

Comment <action> ?
Pour <action>, ouvrez « Mes commandes » et suivez les étapes.

Où trouver <paper> ?
Ouvrez « Mon compte » : <paper> s'y télécharge à tout moment.

Ouvrez-vous la boutique <day> ?
Nos boutiques de Nantes et de Lille sont ouvertes <day> de 9 heures à 18 heures.
"""

# The grammar of the shop text: a rule's alternatives are separated by `|`, and `<name>` stands for another rule.
GRAMMAR = {
    "text": "<topic>|<topic>|<topic> <more>|<ask>|<ask>",
    "topic": "<delivery>|<cost>|<return>|<guarantee>|<stock>|<damage>|<payment>|<steps>|<papers>|<hours>",
    "more": "<service>|<offer>|<news>",
    "ask": "Livrez-vous <place> ? <delivery>|Combien coûte la livraison <place> ? <cost>|Puis-je retourner <thing> ? <return>"
    "|Combien de temps <thing> est-il garanti ? <guarantee>|Quand <thing> sera-t-il de nouveau disponible ? <stock>"
    "|J'ai reçu <thing> cassé. Que faire ? <damage>|Puis-je payer par <means> ? <payment>|Comment <action> ? <steps>"
    "|Où trouver <paper> ? <papers>|Ouvrez-vous la boutique <day> ? <hours>",
    "delivery": "Nous livrons <place> en <delay>.|Oui, nous livrons <place>.|Le colis part <day> et arrive <place> en <delay>."
    "|Le transporteur livre <place> sous <delay>.|Pour un colis <place>, comptez <delay>.",
    "cost": "La livraison <place> est offerte <day>.|La livraison <place> coûte <price>.|Elle est offerte dès <price> d'achat."
    "|Pour <price>, nous livrons <place>.",
    "return": "Vous avez <delay> pour retourner <thing>.|Oui, vous pouvez retourner <thing>.|Le retour est gratuit <place>."
    "|<name> a renvoyé <thing> <day>.|Le remboursement part sous <delay>.",
    "guarantee": "Bonne nouvelle : <thing> est arrivé <day>.|La garantie dure <delay>.|<thing> est garanti contre les chocs."
    "|Notre atelier répare <thing> pour <price>.|La garantie couvre <thing> pendant <delay>.",
    "stock": "<thing> est en stock <place>.|<thing> est de nouveau disponible <day>.|Cliquez sur « Me prévenir » : <news>"
    "|Un courriel part quand le colis arrive <place>.|<thing> coûte <price>.",
    "damage": "Envoyez-nous une photo de l'emballage.|Nous vous renvoyons <thing> sous <delay>.|<name> a reçu <thing> <day>."
    "|Écrivez-nous sous <delay> si le colis est cassé.|Nous remplaçons <thing> sans frais.",
    "payment": "Vous pouvez payer par <means>.|Le paiement par <means> est sécurisé.|Oui, la carte est acceptée."
    "|<name> a payé <price> par <means>.|Payez par <means> à partir de <price>.",
    "steps": "Pour <action>, appelez notre service client.|Ouvrez <menu> et suivez les étapes.|Vous pouvez <action> <day>."
    "|On peut <action> sans frais.|<name> veut <action>.",
    "papers": "<paper> arrive par courriel.|Ouvrez <menu> : la liste s'y affiche.|<paper> se télécharge sous <delay>."
    "|Gardez <paper> pendant <delay>.|<paper> est gratuit à tout moment.",
    "hours": "Nos boutiques de Nantes et de Lille sont fermées <day>.|La boutique est ouverte <day> de 9 heures à midi."
    "|Notre service client répond <day>.|Nos boutiques sont ouvertes <day> de 14 heures à 18 heures.",
    "service": "Écrivez-nous avec votre numéro de commande.|Notre service client répond sous <delay>.|Appelez-nous <day>.",
    "offer": "Un code donne <price> de réduction.|Les soldes commencent <day>.|Chaque achat rapporte des points.",
    "news": "un message part <day>.|merci de votre visite.|le guide des tailles est en ligne.",
    "thing": "un pull|un sac|un manteau|un coussin|un tapis|un vase|un carnet|un foulard|un miroir|un jouet",
    "place": "en France|en Belgique|en Suisse|en Italie|en Espagne|au Portugal|au Luxembourg|à domicile",
    "means": "carte bancaire|carte cadeau|chèque|virement|PayPal",
    "action": "suivre un colis|annuler une commande|changer d'adresse|choisir une taille|utiliser une carte cadeau|fermer un compte",
    "paper": "la facture|le reçu|le bon de retour|le bon d'achat|le contrat",
    "day": "le lundi|le mardi|le mercredi|le jeudi|le vendredi|le samedi",
    "delay": "24 heures|48 heures|deux jours|trois jours ouvrés|cinq jours|une semaine|quinze jours|trente jours|un an|deux ans",
    "price": "2,90 euros|3 euros|4,90 euros|5 euros|20 euros|50 euros|100 euros",
    "name": "Madame Petit|Monsieur Roux|Madame Blanc|un client|une cliente",
    "menu": "« Mes commandes »|« Mon compte »|« Mes retours »|« Panier »",
}
# A text keeps its subject to the end, so that a model learns to repeat it.
BOUND = ("thing", "place", "means", "action", "paper", "day")


def pairs():
    """Return the questions and answers of the invented shop.

    Returns:
        list[dict]: `question` and `answer`, each one line of French.
    """
    found = []
    for block in FAMILIES.strip().split("\n\n"):
        question, answer = block.split("\n")
        slot = question[question.index("<") + 1 : question.index(">")]
        for value in GRAMMAR[slot].split("|"):
            pair = {"question": question, "answer": answer}
            found.append({name: _begun(text.replace(f"<{slot}>", value)) for name, text in pair.items()})
    return found


def _begun(text):
    """Begin every sentence with a capital: it may begin with a noun phrase of the grammar."""
    return re.sub(r"(?:^|[.?] )\w", lambda start: start[0].upper(), text)


def _expand(rng, rules, text):
    """Replace every `<rule>` in `text`, left to right, by one of its alternatives; those of `BOUND` by one for all."""
    bound = {}
    while (start := text.find("<")) >= 0:
        end = text.index(">", start)
        name = text[start + 1 : end]
        if (value := bound.get(name)) is None:
            alternatives = rules[name]
            value = alternatives[int(rng.random() * len(alternatives))]
            if name in BOUND:
                bound[name] = value
        text = text[:start] + value + text[end + 1 :]
    return text


def corpus(seed, n):
    """Return short French texts about the shop, for the pretraining of a tiny language model.

    None of the pairs' answers is quoted: a model trained on these texts knows the shop's words, not its answers.

    Args:
        seed: int >= 0.
        n: texts.

    Returns:
        list[str]: n texts of one to three sentences, each one line. Texts may repeat.
    """
    rules = {name: alternatives.split("|") for name, alternatives in GRAMMAR.items()}
    rng = random.Random(f"{seed}/shop")
    return [_begun(_expand(rng, rules, "<text>")) for _ in range(n)]
