"""Synthetic customer questions and answers in French, and shop text to train a tiny language model on.

The shop, "La Malle aux Merveilles", does not exist, and neither do its addresses, prices or delays: everything here was
written for this project, so that the question-answering study runs without any download. `pairs` returns the questions
and answers, written by hand; `corpus` writes as much shop text as is asked, from a seeded grammar.

Only the standard library is used, and of the generator only `Random.random`, whose sequence Python guarantees for a
seed: the text is the same on every machine and with every Python since 3.11.
"""

import random

# One pair a block: the question, then the answer on the next line.
PAIRS = """
Quels sont les délais de livraison en France métropolitaine ?
Votre commande part de notre entrepôt sous 24 heures ouvrées et arrive chez vous en deux à quatre jours ouvrés.

Combien coûte la livraison à domicile ?
La livraison à domicile coûte 4,90 euros. Elle est offerte dès 50 euros d'achat.

Livrez-vous en point relais ?
Oui. Choisissez « Point relais » au moment de valider le panier : la livraison coûte alors 2,90 euros et le colis vous attend pendant dix jours.

Expédiez-vous vos colis en Belgique et en Suisse ?
Nous livrons la Belgique en trois à cinq jours et la Suisse en cinq à huit jours. Pour la Suisse, des droits de douane peuvent s'ajouter.

Livrez-vous dans les départements d'outre-mer ?
Oui, par avion, en huit à douze jours ouvrés. Le tarif dépend du poids du colis et s'affiche dans le panier.

Comment suivre mon colis ?
Dès l'expédition, vous recevez par courriel un numéro de suivi. Vous le retrouvez aussi dans votre compte, à la rubrique « Mes commandes ».

Mon numéro de suivi ne fonctionne pas, est-ce normal ?
Le transporteur met jusqu'à 24 heures pour enregistrer le colis. Passé ce délai, écrivez-nous et nous ouvrirons une recherche.

Mon colis est indiqué comme livré mais je n'ai rien reçu. Que faire ?
Vérifiez d'abord auprès de vos voisins et du gardien. Si le colis reste introuvable, signalez-le-nous sous sept jours : nous lançons une enquête auprès du transporteur.

Puis-je changer l'adresse de livraison après avoir commandé ?
Oui, tant que la commande n'est pas préparée. Ouvrez « Mes commandes », puis « Modifier l'adresse ».

Est-il possible de choisir le jour de livraison ?
Le transporteur vous envoie un SMS la veille du passage. Vous pouvez alors choisir un autre jour ou un voisin de confiance.

Proposez-vous la livraison express ?
Oui : commandez avant 14 heures et vous recevrez votre colis le lendemain, pour 9,90 euros.

Que se passe-t-il si je suis absent lors de la livraison ?
Le livreur laisse un avis de passage et dépose le colis au bureau de poste le plus proche, où il vous attend quinze jours.

Livrez-vous le samedi ?
Le samedi est possible dans les grandes villes avec la livraison express. L'option apparaît dans le panier quand votre adresse y a droit.

Puis-je retirer ma commande en magasin ?
Bien sûr. Le retrait dans nos boutiques de Nantes et de Lille est gratuit, deux heures après la confirmation.

Pourquoi ma commande arrive-t-elle en plusieurs colis ?
Certains articles partent d'entrepôts différents. Vous ne payez qu'une seule fois les frais de port.

De combien de temps est-ce que je dispose pour retourner un article ?
Vous avez trente jours à partir de la réception pour nous renvoyer un article qui ne vous convient pas.

Comment faire un retour ?
Dans « Mes commandes », cliquez sur « Retourner un article », imprimez l'étiquette et déposez le colis en point relais.

Les retours sont-ils gratuits ?
Le premier retour d'une commande est gratuit. Les suivants coûtent 2,90 euros, déduits du remboursement.

Je n'ai pas d'imprimante, comment obtenir l'étiquette de retour ?
Choisissez « Retour sans impression » : un code s'affiche sur votre téléphone et le point relais imprime l'étiquette pour vous.

Dans quel état dois-je renvoyer le produit ?
L'article doit être complet, non porté et dans son emballage d'origine, avec ses étiquettes.

Quand serai-je remboursé ?
Le remboursement part sous cinq jours ouvrés après la réception de votre retour, sur le moyen de paiement utilisé.

Puis-je échanger un article contre une autre taille ?
Oui. Demandez un échange depuis votre compte : nous réservons la nouvelle taille dès que le transporteur prend votre colis en charge.

Quels articles ne peuvent pas être retournés ?
Les produits personnalisés, les cosmétiques ouverts et les sous-vêtements ne sont ni repris ni échangés.

Puis-je rendre en magasin un article acheté en ligne ?
Oui, avec la facture. Le remboursement est immédiat dans nos boutiques de Nantes et de Lille.

J'ai reçu un article cassé. Que dois-je faire ?
Envoyez-nous une photo de l'article et de l'emballage sous 48 heures. Nous vous en expédions un neuf sans frais.

Il manque un produit dans mon colis.
Regardez d'abord si la commande a été divisée. Sinon, écrivez-nous avec votre numéro de commande et nous enverrons le produit manquant.

Vous m'avez envoyé le mauvais article, comment l'échanger ?
Toutes nos excuses ! Nous vous envoyons le bon article sans attendre et une étiquette gratuite pour nous rendre l'autre.

Le cadeau que j'ai reçu ne me plaît pas. Puis-je l'échanger ?
Oui, avec le ticket cadeau joint au colis. Vous recevez un bon d'achat de la même valeur.

Quels moyens de paiement acceptez-vous ?
Nous acceptons les cartes bancaires, PayPal, le virement et nos cartes cadeaux.

Puis-je payer en plusieurs fois ?
Oui, en trois fois sans frais à partir de 100 euros d'achat, avec une carte bancaire française.

Le paiement sur votre site est-il sécurisé ?
Oui. La page de paiement est chiffrée et votre banque confirme chaque achat. Nous ne gardons jamais votre numéro de carte.

Quand ma carte est-elle débitée ?
Votre carte est débitée au moment de l'expédition, jamais avant.

Pourquoi mon paiement a-t-il été refusé ?
Le plus souvent, le plafond de la carte est atteint ou le code de confirmation n'a pas été saisi à temps. Essayez de nouveau ou appelez votre banque.

Acceptez-vous les chèques ?
Oui, les chèques français à l'ordre de La Malle aux Merveilles. La commande part après encaissement.

Peut-on payer à la livraison ?
Non, le paiement à la livraison n'est pas proposé.

Où trouver ma facture ?
La facture se télécharge dans « Mes commandes », dès que le colis est parti.

Pouvez-vous établir une facture au nom de mon entreprise ?
Oui. Indiquez le nom et le numéro de TVA de l'entreprise dans l'adresse de facturation avant de payer.

J'ai été débité deux fois, pourquoi ?
Il s'agit en général d'une simple autorisation, qui disparaît sous trois jours. Si les deux débits restent, envoyez-nous votre relevé.

Comment créer un compte ?
Cliquez sur « Mon compte » en haut de la page, puis sur « Créer un compte ». Une adresse électronique et un mot de passe suffisent.

Puis-je commander sans créer de compte ?
Oui, choisissez « Commander en tant qu'invité ». Vous suivrez votre colis grâce au lien reçu par courriel.

J'ai oublié mon mot de passe.
Cliquez sur « Mot de passe oublié » : un lien valable une heure vous permettra d'en choisir un nouveau.

Comment modifier mon adresse électronique ?
Ouvrez « Mon compte », puis « Mes informations ». Un message de confirmation sera envoyé à la nouvelle adresse.

Comment supprimer mon compte ?
Écrivez-nous depuis l'adresse du compte. Nous effaçons vos données sous trente jours, sauf les factures que la loi nous fait conserver.

Que faites-vous de mes données personnelles ?
Elles servent à traiter vos commandes et ne sont jamais vendues. Vous pouvez les consulter, les corriger ou les effacer.

Mon compte est bloqué, que faire ?
Après cinq mots de passe erronés, le compte se bloque pendant trente minutes. Attendez, ou demandez un nouveau mot de passe.

Comment m'abonner à la lettre d'information ?
Saisissez votre adresse en bas de la page d'accueil. Vous recevrez une lettre par mois et un bon de 5 euros.

Comment ne plus recevoir vos courriels ?
Cliquez sur « Se désabonner » à la fin de n'importe lequel de nos messages. C'est immédiat.

Comment utiliser un code promotionnel ?
Saisissez le code dans la case « Code promo » du panier, puis cliquez sur « Appliquer ».

Pourquoi mon code promotionnel ne marche-t-il pas ?
Vérifiez sa date de fin et le montant minimal d'achat. Un code ne s'applique pas aux articles déjà soldés.

Puis-je cumuler deux codes de réduction ?
Non, un seul code est accepté par commande.

J'ai oublié de saisir mon code, est-ce trop tard ?
Répondez à la confirmation de commande dans les deux heures : nous appliquerons la réduction.

Avez-vous un programme de fidélité ?
Oui. Chaque euro dépensé rapporte un point, et cent points donnent un bon de 5 euros.

Mes points de fidélité expirent-ils ?
Les points restent valables un an après votre dernier achat.

Proposez-vous une réduction aux étudiants ?
Les étudiants bénéficient de 10 % toute l'année, sur présentation de leur carte.

Quand commencent les soldes ?
Les soldes suivent les dates officielles, en janvier et en juin. Les abonnés y ont accès la veille.

Comment acheter une carte cadeau ?
Les cartes cadeaux de 20 à 200 euros se trouvent à la rubrique « Cadeaux ». Elles arrivent par courriel ou par la poste.

Combien de temps une carte cadeau est-elle valable ?
Elle est valable deux ans à compter de l'achat.

Comment connaître le solde de ma carte cadeau ?
Saisissez le numéro de la carte à la page « Solde » : le montant restant s'affiche aussitôt.

Puis-je utiliser ma carte cadeau en plusieurs fois ?
Oui, le reste est conservé pour vos prochains achats.

J'ai perdu ma carte cadeau.
Envoyez-nous la preuve d'achat. Nous annulons l'ancienne carte et vous en envoyons une nouvelle.

Faites-vous des paquets cadeaux ?
Oui, pour 3 euros, avec un petit mot de votre main si vous le souhaitez.

Peut-on envoyer un cadeau directement à la personne ?
Bien sûr. Indiquez son adresse de livraison et cochez « C'est un cadeau » : aucun prix ne figurera dans le colis.

Comment choisir ma taille ?
Un guide des tailles figure sur chaque fiche de vêtement. Entre deux tailles, prenez la plus grande.

Vos chaussures taillent-elles normalement ?
La plupart taillent normalement. Quand un modèle chausse petit, la fiche le dit.

Quand un article épuisé sera-t-il de nouveau disponible ?
Cliquez sur « Me prévenir » : vous recevrez un message le jour de son retour en stock.

Puis-je précommander un produit ?
Oui, pour les nouveautés. La date d'expédition est indiquée et la carte n'est débitée qu'à ce moment-là.

Où sont fabriqués vos produits ?
Les trois quarts viennent d'ateliers français et portugais. L'origine est écrite sur chaque fiche.

Comment entretenir un pull en laine ?
Lavez-le à la main, à l'eau froide, et faites-le sécher à plat, loin du soleil.

Vos jouets conviennent-ils aux enfants de moins de trois ans ?
L'âge conseillé figure sur la fiche. Les jouets à petites pièces sont interdits aux moins de trois ans.

Quelle est la durée de la garantie ?
Tous nos produits sont garantis deux ans, et les meubles cinq ans.

Comment faire jouer la garantie ?
Décrivez la panne dans « Mes commandes », à la ligne de l'article, et joignez une photo. Nous répondons sous deux jours.

La garantie couvre-t-elle la casse ?
Non. La garantie couvre les défauts de fabrication, pas les chocs ni l'usure.

Vendez-vous des pièces détachées ?
Oui, pour les lampes et les petits meubles, pendant dix ans après l'achat.

Réparez-vous les articles hors garantie ?
Notre atelier de Nantes établit un devis gratuit. Vous ne payez que si vous l'acceptez.

Comment annuler ma commande ?
Ouvrez « Mes commandes » et cliquez sur « Annuler ». C'est possible tant que le colis n'est pas préparé.

Puis-je ajouter un article à une commande déjà passée ?
Ce n'est pas possible, mais une seconde commande passée dans l'heure est jointe à la première sans frais de port.

Je n'ai pas reçu de confirmation de commande.
Regardez dans vos courriels indésirables. Si la commande figure dans votre compte, elle est bien enregistrée.

Comment joindre le service client ?
Par téléphone au 01 99 00 12 34, du lundi au vendredi de 9 heures à 18 heures, ou par le formulaire de contact.

Sous quel délai répondez-vous aux messages ?
Nous répondons sous 24 heures ouvrées, souvent plus vite.

Comment déposer un avis sur un produit ?
Après la livraison, cliquez sur « Donner mon avis » dans « Mes commandes ». Votre avis paraît après relecture.

Vos emballages sont-ils recyclables ?
Oui. Nos cartons sont recyclés et recyclables, et le papier remplace le plastique.

Avez-vous des boutiques ?
Nous avons deux boutiques, à Nantes et à Lille, ouvertes du mardi au samedi.

Proposez-vous des tarifs aux entreprises ?
Oui, à partir de vingt articles. Demandez un devis par le formulaire « Professionnels ».
"""

# The grammar of the shop text: a rule's alternatives are separated by `|`, and `<name>` stands for another rule.
GRAMMAR = {
    "text": "<topic>|<topic>|<topic> <topic>",
    "topic": "<order>|<delivery>|<return>|<payment>|<account>|<product>|<service>|<ask>|<offer>|<guarantee>",
    "order": "<order1> <order2>|<order2> <service>|<order1> <delivery2>",
    "order1": "Vous avez commandé <thing> <when>.|Votre commande comprend <thing> et <thing>.|<customer> a commandé <thing> <when>."
    "|Merci pour votre commande <when>.|La commande de <name> contient <thing> et <thing>.",
    "order2": "Vous pouvez modifier la commande tant que le colis n'est pas préparé.|La confirmation arrive par courriel sous <delay>."
    "|Ouvrez <menu> pour voir votre commande.|La commande est annulée depuis <menu>.|La facture se trouve dans <menu>.",
    "delivery": "<delivery1> <delivery2>|<delivery1> <delivery1>|<delivery2> <service>",
    "delivery1": "Nous livrons <place> en <delay>.|La livraison <place> coûte <price>.|La livraison est offerte dès <price> d'achat."
    "|Le colis part <when> et arrive sous <delay>.|Le transporteur livre <place> en <delay>.",
    "delivery2": "Le colis vous attend au point relais pendant <delay>.|Un numéro de suivi vous est envoyé par courriel."
    "|Le livreur laisse un avis de passage.|Vous suivez le colis dans <menu>.|Le colis de <name> est arrivé <when>.",
    "return": "<return1> <return2>|<return2> <return1>",
    "return1": "Vous avez <delay> pour retourner <thing>.|<thing> peut être retourné sous <delay>.|Le retour coûte <price>."
    "|Pour un retour, ouvrez <menu> et imprimez l'étiquette.|<customer> a renvoyé <thing> <when>.",
    "return2": "Le remboursement part sous <delay>.|L'article doit être complet et dans son emballage d'origine."
    "|Nous remboursons <price> sur votre carte.|L'échange est gratuit en magasin.|Déposez le colis en point relais.",
    "payment": "<payment1> <payment2>|<payment2> <service>",
    "payment1": "Vous pouvez payer par <means> ou par <means>.|Le paiement par <means> est accepté.|Le paiement est sécurisé."
    "|Payez en trois fois à partir de <price>.|<customer> a payé <price> par <means>.",
    "payment2": "Votre carte est débitée à l'expédition.|Votre banque confirme chaque achat.|La facture se télécharge dans <menu>."
    "|Si le paiement est refusé, appelez votre banque.|Nous ne gardons jamais votre numéro de carte.",
    "account": "<account1> <account2>",
    "account1": "Pour créer un compte, cliquez sur <menu>.|Votre compte garde vos adresses et vos commandes."
    "|Saisissez votre adresse et votre mot de passe.|Le mot de passe se change dans <menu>.|Vos données ne sont jamais vendues.",
    "account2": "Un lien valable <delay> vous est envoyé.|Vous pouvez effacer votre compte à tout moment."
    "|Un message de confirmation part aussitôt.|Vos points de fidélité figurent dans <menu>.|Cliquez sur <menu> pour continuer.",
    "product": "<thing> coûte <price>. <product2>|<thing> est de nouveau disponible <place>. <product2>",
    "product2": "Le guide des tailles figure sur la fiche.|L'article est garanti <delay>.|L'article est fabriqué <place>."
    "|L'article existe en <colour> et en <colour>.|Lavez-le à l'eau froide.|Il reste peu d'articles en stock.",
    "service": "Notre service client répond sous <delay>.|Écrivez-nous avec votre numéro de commande.|Notre boutique est ouverte <hours>."
    "|Nous sommes à votre écoute <hours>.|Envoyez-nous une photo de l'article.",
    "ask": "Comment <action> ? <order2>|Puis-je <action> ? Oui, <condition>.|Est-il possible <of_action> ? Oui, <condition>."
    "|Puis-je <action> ? Non, ce n'est pas possible. <service>|Où <action> ? Dans <menu>.",
    "action": "suivre mon colis|payer par <means>|retourner <thing>|changer l'adresse|annuler ma commande|utiliser une carte cadeau"
    "|créer un compte|choisir ma taille|commander <thing>|obtenir une facture|demander un échange",
    "of_action": "de suivre mon colis|de payer par <means>|de retourner <thing>|d'annuler ma commande|d'utiliser une carte cadeau"
    "|de créer un compte|d'obtenir une facture|de demander un échange|de commander <thing>",
    "condition": "sous <delay>|depuis <menu>|à partir de <price>|sans frais|tant que le colis n'est pas parti|avec la facture",
    "offer": "<offer1> <offer2>",
    "offer1": "La carte cadeau de <price> est valable <delay>.|Un code donne <price> de réduction.|Le paquet cadeau coûte <price>."
    "|Chaque achat rapporte des points.|Les soldes commencent <season>.",
    "offer2": "Saisissez le code dans le panier.|Un seul code est accepté par commande.|L'offre est valable <delay>."
    "|Le reste est conservé pour vos prochains achats.|Les abonnés reçoivent un bon de <price>.",
    "guarantee": "<guarantee1> <guarantee2>",
    "guarantee1": "La garantie dure <delay>.|La garantie couvre les défauts de fabrication.|<thing> est encore sous garantie."
    "|Notre atelier répare <thing> pour <price>.|Le devis est gratuit.",
    "guarantee2": "Joignez une photo de la panne.|Nous répondons sous <delay>.|Les chocs et l'usure ne sont pas couverts."
    "|Les pièces détachées sont vendues pendant <delay>.|Décrivez la panne dans <menu>.",
    "thing": "un pull en laine|un sac à dos|un manteau|un jeu de société|un coussin|un tapis|un vase|un carnet|un foulard|un miroir",
    "name": "Madame Petit|Monsieur Roux|Madame Blanc|Monsieur Simon|Madame Girard",
    "customer": "<name>|<name>|un client|un abonné|une cliente",
    "menu": "« Mes commandes »|« Mon compte »|« Mes retours »|« Mes informations »|« Panier »|« Contact »",
    "place": "en France|en Belgique|en Suisse|à domicile|en point relais|en magasin|à Nantes|à Lille|au Portugal",
    "delay": "24 heures|48 heures|deux jours|trois jours|cinq jours ouvrés|une semaine|dix jours|quinze jours|trente jours|un an|deux ans",
    "price": "2,90 euros|3 euros|4,90 euros|5 euros|9,90 euros|20 euros|50 euros|100 euros",
    "means": "carte bancaire|PayPal|virement|chèque|carte cadeau",
    "when": "ce matin|lundi|mardi|samedi|en janvier|en juin|hier soir|la veille|avant midi",
    "season": "en janvier|en juin|lundi|mardi",
    "hours": "le lundi|du lundi au vendredi|du mardi au samedi|tous les matins|de 9 heures à 18 heures",
    "colour": "bleu|rouge|vert|gris|noir|blanc",
}


def pairs():
    """Return the questions and answers of the invented shop.

    Returns:
        list[dict]: `question` and `answer`, each one line of French.
    """
    blocks = (block.split("\n") for block in PAIRS.strip().split("\n\n"))
    return [{"question": question, "answer": answer} for question, answer in blocks]


def _expand(rng, rules, text):
    """Replace every `<rule>` in `text`, left to right, by one of its alternatives."""
    while (start := text.find("<")) >= 0:
        end = text.index(">", start)
        alternatives = rules[text[start + 1 : end]]
        text = text[:start] + alternatives[int(rng.random() * len(alternatives))] + text[end + 1 :]
    return text


def corpus(seed, n):
    """Return short French texts about the shop, for the pretraining of a tiny language model.

    None of the pairs is quoted: a model trained on these texts knows the shop's words, not its answers.

    Args:
        seed: int >= 0.
        n: texts.

    Returns:
        list[str]: n texts of one to three sentences, each one line. Texts may repeat.
    """
    rules = {name: alternatives.split("|") for name, alternatives in GRAMMAR.items()}
    rng = random.Random(f"{seed}/shop")
    texts = (_expand(rng, rules, "<text>") for _ in range(n))
    # A sentence may begin with a noun phrase of the grammar, which is in lower case.
    return [". ".join(part[0].upper() + part[1:] for part in text.split(". ")) for text in texts]
