"""The classification head that came with an external model: its rows matched to the study's classes by name."""

import copy
import re
import unicodedata

import torch
from transformers import AutoModelForSequenceClassification

from common.errors import StudyError

# Transformers gives these names, which are mere numbers, to classes without names.
GENERIC = re.compile(r"(label|class)?[ _-]*\d+", re.IGNORECASE)
NEW, KEPT, REORDERED = "new", "kept", "kept, with its rows in the study's order"


def class_names(fields, place):
    """Return the names of a head's classes in the order of its rows; None where config.json does not name them.

    Args:
        fields: content of config.json.
        place: its name in messages.

    Raises:
        StudyError: `id2label` is no map from 0, 1, ..., or `label2id` contradicts it.
    """
    named, numbers = fields.get("id2label"), fields.get("label2id")
    if not named and isinstance(numbers, dict):
        named = {number: name for name, number in numbers.items()}
    if not named:
        return None
    try:
        by_number = {int(number): str(name) for number, name in named.items()}
        names = [by_number[k] for k in range(len(by_number))]
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise StudyError(
            f"{place}: `id2label` of config.json must give the numbers 0, 1, 2, ... a name each; correct it"
        ) from error
    if all(GENERIC.fullmatch(name) for name in names):
        return names
    # Two classes of the same name have only one entry in `label2id`, so it cannot be checked.
    if isinstance(numbers, dict) and set(numbers) == set(names) and len(numbers) == len(names):
        wrong = next((name for k, name in enumerate(names) if str(numbers[name]) != str(k)), None)
        if wrong is not None:
            raise StudyError(
                f"{place}: config.json numbers the class {wrong} {names.index(wrong)} in `id2label` and "
                f"{numbers[wrong]} in `label2id`; correct the one that is wrong"
            )
    return names


def order_of(names, classes):
    """Return the row of a head for each class of a study; None where the names do not match.

    Case, blanks at the ends and composed or decomposed accents are ignored where that leaves no two names alike.

    Args:
        names: names of the head's rows.
        classes: classes of the study, in order.

    >>> order_of(["good", "bad"], ["bad", "good"])
    [1, 0]
    """
    for form in (str, lambda name: unicodedata.normalize("NFC", str(name)).strip().casefold()):
        rows = {form(name): row for row, name in enumerate(names)}
        wanted = [form(name) for name in classes]
        if len(rows) == len(names) and len(set(wanted)) == len(wanted) and set(rows) == set(wanted):
            return [rows[name] for name in wanted]
    return None


def rows_by_class(model):
    """Return the names of the head's tensors that have one row a class.

    These are the tensors whose first dimension grows with one more class: no list of names would serve every family.
    """
    config = copy.deepcopy(model.config)
    n_classes = config.num_labels
    config.num_labels = n_classes + 1
    with torch.device("meta"):
        larger = dict(
            AutoModelForSequenceClassification.from_config(config, trust_remote_code=False).named_parameters()
        )
    return [name for name, tensor in model.named_parameters() if len(larger[name]) != len(tensor)]


def rescaled(model, mean, spread):
    """Return a copy of a model of one number that gives `mean` plus `spread` times what the model gives.

    A run learns numbers of mean 0 and standard deviation 1, whatever their scale, and saves this copy.

    Raises:
        StudyError: the last layer has no bias to take up the mean.
    """
    found, rows = copy.deepcopy(model), rows_by_class(model)
    tensors = {name: tensor for name, tensor in found.named_parameters() if name in rows}
    if not any(tensor.ndim == 1 for tensor in tensors.values()):
        raise StudyError(f"{type(model).__name__} has no bias in its last layer, so it learns no numbers; take another")
    with torch.no_grad():
        for tensor in tensors.values():
            tensor.mul_(spread)
            if tensor.ndim == 1:
                tensor.add_(mean)
    return found


def match_head(fields, classes, place):
    """Return the row that each class has in a head that came with the model.

    Args:
        fields: content of config.json.
        classes: names of the study's classes in order.
        place: its name in messages.

    Returns:
        list[int] or None: the rows, or None where config.json does not name the classes, so that positions alone would
        decide.

    Raises:
        StudyError: its classes have other names than the study's.
    """
    names = class_names(fields, place)
    order = order_of(names, classes) if names else None
    if order is not None or not names or all(GENERIC.fullmatch(name) for name in names):
        return order
    setting = re.sub(r"(finetuning\.models\.[^.:]+).*", r"\1", place)
    raise StudyError(
        f"{place} has a classification head for {', '.join(names)} (`id2label` of config.json), and data.labels is "
        f"{', '.join(map(str, classes))}; name the classes alike, or set {setting}.new_head: true to draw a new head"
    )


def check_head(names, model, place):
    """Refuse to keep a head with a layer for which the classifier has no place.

    Args:
        names: names of the file's tensors.
        model: the classifier.
        place: its name in messages.

    Raises:
        StudyError: it has.
    """
    known, rows = model.state_dict().keys(), rows_by_class(model)
    heads = tuple({f"{name.split('.')[0]}." for name in rows})
    left = next((name for name in sorted(names) if name.startswith(heads) and name not in known), None)
    if left is not None:
        setting = re.sub(r"(finetuning\.models\.[^.:]+).*", r"\1", place)
        raise StudyError(
            f"{place}: {left} of its classification head has no place in Transformers' {type(model).__name__}, which "
            f"would answer otherwise than the head that was trained; set {setting}.new_head: true to draw a new head"
        )
