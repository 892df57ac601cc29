"""The page's terms: definitions appear on hover where a heading uses them, and in the glossary at its end."""

# Each term as in headings, and its definition, without numbers: counts are described where they are printed.
GLOSSARY = {
    "Arm": "One way of training: a framework and what its runs start from. Each arm is run once for every seed.",
    "Seed": "The number that decides a run's chance: fresh weights, order of the data, dropout.",
    "Seeds (n)": "How many runs, each with a seed of its own, the row is over.",
    "Accuracy": "Reviews with the right answer over all reviews.",
    "Majority class": "The class with the most reviews. Always answering it is the least a model should beat.",
    "Mean": "The sum over seeds divided by their number.",
    "SD (ddof 1)": "Standard deviation over seeds with divisor n - 1: the spread to expect of further seeds.",
    "t-interval": "Student's interval of the mean over seeds. It takes the test reviews as fixed.",
    "Interval over seeds and reviews": "An interval that allows for other seeds and for other reviews like these.",
    "Nested bootstrap": "An interval from seeds and reviews drawn anew with replacement; too narrow with few seeds.",
    "Percentage point": "The unit of a difference between two percentages.",
    "Welch p (Holm)": "Welch's t-test of two arms over seeds, taken as normal, corrected for several pairs.",
    "Seeds p (Holm)": "Permutation test of runs between two arms, exact if not too many; corrected for several pairs.",
    "Smallest attainable p": "A permutation test of so few seeds cannot give less, however large the difference.",
    "Reviews p (Holm)": "Permutation test of paired predictions: of these models on such reviews, not of other seeds.",
    "Power": "The chance that a test finds a difference that is there.",
    "P(first better)": "The share of pairs of runs, one of each arm, in which the first is the better.",
    "Epoch": "One pass over the training reviews.",
    "Update": "One step of the optimizer, on one batch.",
    "Validation": "Reviews that choose the epoch and train nothing.",
    "Test": "Reviews that are scored once training and choosing are over.",
    "Overfitting": "Training loss falls while validation loss rises again.",
    "Nat": "The unit of a loss with natural logarithms.",
    "Perplexity": "The exponential of the loss per token: among how many equally likely tokens the model hesitates.",
    "Constant prediction": "A model that gives every review the same answer.",
    "True positives": "Positive reviews called positive; false positives are negative reviews called positive.",
    "Precision": "Of the answers with a class, the share that is right; of a class that is never answered, zero.",
    "Recall": "Of a class's reviews, the share that gets its answer.",
    "F1": "The harmonic mean of precision and recall.",
    "Macro-F1": "The mean of the classes' F1: a rare class counts as much as a frequent one.",
    "Calibration error": "The mean gap between the probability of answers and how often they are right, over bins.",
    "Learnt": "If validation accuracy at the chosen epoch is above the majority class's share by more than chance.",
    "Recipe": "The learning rate and the number of epochs that an arm is trained with.",
    "Start": "What an arm begins with: pretrained or random weights of one model in one framework.",
    "Joint interval": "Wider than each recipe's own: it holds for all recipes of the table together.",
    "Matched protocol": "Both frameworks train with the same settings, batches and schedule.",
    "Token": "A piece of a word, as the vocabulary has it: what the model reads.",
    "Parameters": "The numbers that training sets: the weights of the model.",
    "LoRA": "Low-rank adaptation: the model is frozen; a product of two small matrices is trained beside its own.",
    "Rank": "LoRA's r: the inner size of that product. Trainable parameters grow in proportion to it.",
    "chrF": "Agreement of an answer with its reference in runs of characters; higher is better.",
    "ROUGE-L": "Agreement of an answer with its reference in the longest common run of words, gaps allowed.",
    "TF-IDF": "Counts of words or characters, weighted down where they are common; features of the simple models.",
    "Leak": "Text that stands in two splits, so that a test is no test.",
}

# Terms of question answering, which a study may lack.
ANSWERING = ("Perplexity", "LoRA", "Rank", "chrF", "ROUGE-L")


def glossary_of(noun):
    """Return the glossary for texts that are called so.

    Args:
        noun: see `data.reviews.noun_of`.
    """

    def words(text):
        return text.replace("review", noun["one"]).replace("Review", noun["one"].capitalize())

    return {words(term): words(meaning) for term, meaning in GLOSSARY.items()}


def definition(heading, glossary=GLOSSARY):
    """Return the definition of a table's heading, with or without its unit, or None."""
    return glossary.get(heading) or glossary.get(heading.partition(" (")[0])
