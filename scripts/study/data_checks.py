"""Settings of `data` that contradict each other."""

import measures
import sources
import tasks
from common.files import TABLES
from study.addresses import table_files

# The labels of these sources are 0 and 1.
TWO_CLASSES = ("embedded", "cls_books_zip", "cls_books_pieces", "cls_archive")
ENDINGS = f"{', '.join(TABLES)} (unpack a packed file, save a workbook as CSV)"


def check_data(data):
    """Yield contradictions in `data`."""
    embedded = data["embedded"]
    if data["source"] in TWO_CLASSES and len(data["labels"]) != 2:
        yield (
            f"data.labels names {len(data['labels'])} classes, but the reviews of data.source {data['source']} have "
            "two; name these two"
        )
    if data["source"] == "table":
        yield from _check_table(data)
        return
    if (data["n_train"] is None) != (data["n_valid"] is None):
        yield "data.n_train and data.n_valid: give a number for both, or null for both (the source's own split)"
    if data["source"] == "embedded":
        wanted = (data["n_train"] or 0) + (data["n_valid"] or 0)
        if wanted > embedded["n_labelled"]:
            yield (
                f"data.embedded.n_labelled is {embedded['n_labelled']}, fewer than "
                f"data.n_train + data.n_valid = {wanted}; raise it or lower those"
            )
        if (data["n_test"] or 0) > embedded["n_test"]:
            yield f"data.n_test is {data['n_test']}, more than data.embedded.n_test = {embedded['n_test']}"
    elif data["source"] in sources.names():
        if data.get(data["source"]) is None:
            yield f"data.source is {data['source']}, so data.{data['source']} must have its settings"
    elif data[data["source"]]["url"] is None:
        yield f"data.source is {data['source']}, so data.{data['source']}.url must be an address and not null"


def _label_name_faults(data):
    """Yield names for readers of labels that the study lacks, and names that two labels would share."""
    names = data["label_names"] or {}
    for label in names:
        if label not in data["labels"]:
            quoted = " (in quotation marks)" if str(label) in data["labels"] else ""
            yield f"data.label_names has {label}, which is none of data.labels; write one of them{quoted}"
    shown = [names.get(label, label) for label in data["labels"]]
    for name in sorted({name for name in shown if shown.count(name) > 1}):
        yield f"data.label_names: two labels are shown as {name}; give each another name"


def check_task(config):
    """Yield what does not fit the kind of labels: its source, names of labels, measures and simple models."""
    data, finetuning = config["data"], config["finetuning"]
    task = data["task"]
    kind = tasks.load(task)
    if task != tasks.DEFAULT and data["source"] != "table":
        yield f"data.task is {task}, and the labels of data.source {data['source']} are classes; set source to table"
    for name in data["labels"] if getattr(kind, "BETWEEN", None) else ():
        if kind.BETWEEN in name:
            yield f"data.labels: {name!r} holds {kind.BETWEEN!r}, which is between the labels of a cell; rename it"
    yield from _label_name_faults(data)
    places = {"measure": config["measure"], "finetuning.select_by": finetuning["select_by"]}
    places |= {f"finetuning.measures, {name}": name for name in finetuning["measures"]}
    places |= {f"questions, entry {n}, measure": q.get("measure") for n, q in enumerate(config["questions"] or [], 1)}
    for place, name in places.items():
        if name in measures.names() and task not in measures.tasks_of(name):
            fit = [other for other in measures.names() if task in measures.tasks_of(other)]
            yield f"{place} is {name}, which is not for data.task {task}; choose {', '.join(fit)}"
    for name in finetuning["baselines"]:
        if name not in kind.BASELINES:
            yield f"finetuning.baselines: {name} is not for data.task {task}; choose of {', '.join(kind.BASELINES)}"
    trainings = {"finetuning.training": finetuning["training"]}
    trainings |= {f"finetuning.arms.{name}.training": arm.get("training") for name, arm in finetuning["arms"].items()}
    for place, training in trainings.items():
        for key in ("class_weights", "label_smoothing"):
            if task != tasks.DEFAULT and (training or {}).get(key):
                yield f"{place}.{key} is for classes, and data.task is {task}; take it out"
    if task != tasks.DEFAULT and finetuning["evaluation"]["test_curves"]:
        yield f"finetuning.evaluation.test_curves is for data.task {tasks.DEFAULT}; set it to false for {task}"


def _check_table(data):
    """Yield contradictions in `data.table`."""
    table = data["table"]
    for split in ("train", "test"):
        if table[split] is None:
            yield f"data.source is table, so data.table.{split} must name a file (or several) and not be null"
    for split, file in table_files(table):
        if not file.lower().endswith(TABLES):
            yield f"data.table.{split}: {file} is no table; its name must end in {ENDINGS}"
        if file.startswith("http://"):
            yield f"data.table.{split}: {file} comes unprotected; give the address with https://"
    if isinstance(table["text"], int) != isinstance(table["label"], int):
        yield (
            f"data.table.text is {table['text']!r} and data.table.label {table['label']!r}; give both by name, or both "
            "by number (files without a header)"
        )
    elif table["text"] == table["label"]:
        yield f"data.table.text and data.table.label are both {table['text']!r}; name two columns"
    elif table["second"] is not None and isinstance(table["second"], int) != isinstance(table["text"], int):
        yield f"data.table: second is {table['second']!r} and text {table['text']!r}; give two names or two numbers"
    elif table["second"] in (table["text"], table["label"]):
        yield f"data.table.second is {table['second']!r}, like another column of data.table; name the second text's"
