"""Check that the settings name the classes as the run learnt them: a swap would invert every answer."""

import re

from common.errors import StudyError

# Transformers gives these names to unnamed classes; they do not reveal the order.
UNNAMED = re.compile(r"LABEL_\d+")


def check_labels(classes, manifest, path):
    """Refuse settings that name the classes differently from the study's data.

    Args:
        classes: `data.labels`.
        manifest: content of data/manifest.json.
        path: path of that file, for messages.

    Raises:
        StudyError: they differ.
    """
    if list(manifest["labels"]) != list(classes):
        raise StudyError(
            f"data.labels is {', '.join(classes)}, and {path} says that the runs learnt "
            f"{', '.join(manifest['labels'])}: put data.labels back, or run the study again with the new order"
        )


def check_saved(config, classes, checkpoints):
    """Refuse settings that name the classes differently from the run's model.

    Args:
        config: config of the saved model.
        classes: `data.labels`.
        checkpoints: the run's folder, for messages.

    Raises:
        StudyError: they differ.
    """
    saved = [config.id2label[k] for k in range(len(classes))]
    if saved != list(classes) and not all(UNNAMED.fullmatch(name) for name in saved):
        raise StudyError(
            f"{checkpoints}: the run learnt the classes {', '.join(saved)}, and data.labels is {', '.join(classes)}: "
            "put data.labels back, or train the run again"
        )
