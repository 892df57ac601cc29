"""The checkpoint that a study pretrains itself, and the texts that it is pretrained on."""

from common.arms import uses_checkpoint
from study.pretrainings import uses_several
from study.products import Product, Rule, figure


def pretrains(config):
    """Return whether the study makes its own checkpoint."""
    return config["checkpoint"]["source"] == "pretrain" and uses_checkpoint(config)


def pretrains_several(config):
    """Return whether runs start from several pretrainings."""
    return pretrains(config) and uses_several(config)


def reads_tables(config):
    """Return whether the checkpoint is pretrained on public tables as well."""
    return config["checkpoint"]["source"] == "pretrain" and bool(config["checkpoint"]["corpus"]["tables"])


COLUMNS = {
    "folder": ("text", "", "of its weights, below results/<study>"),
    "model_sha256": ("text", "", "of its last weights, model.pt"),
    "address": ("text", "", "where the texts come from: the file, or the folder of all files"),
    "licence": ("text", "", "what the study's settings say of it"),
    "n_tables": ("integer", "files", "tables that were read"),
    "n_texts": ("integer", "texts", "texts that the tables hold"),
    "n_short": ("integer", "texts", "left out: below 15 characters"),
    "n_repeated": ("integer", "texts", "left out: there before"),
    "n_overlapping": ("integer", "texts", "left out: ten words in a row, or all, are a valid or test review's"),
    "n_kept": ("integer", "texts", "in the corpus"),
    "n_words": ("integer", "words", "of the kept texts"),
    "repeats": ("integer", "", "how often each kept text is in the corpus"),
}
PRODUCTS = [
    Product(
        "corpus_tables",
        "checkpoint/corpus_tables.tsv",
        "filter_corpus_tables",
        "table",
        columns="address licence n_tables n_texts n_short n_repeated n_overlapping n_kept n_words repeats",
        when=reads_tables,
        caption="corpus_tables",
        category="Trust",
        labels={"table": "corpus tables"},
        derived=False,
    ),
    Product(
        "pretraining",
        "checkpoint/pretraining.tsv",
        "pretrain",
        "history",
        columns="update epoch split loss n_tokens lr",
        when=pretrains,
        page=True,
        crate=True,
        derived=False,
    ),
    Product(
        "pretrainings",
        "checkpoint/pretrainings.tsv",
        "tabulate_pretrainings",
        "table",
        columns="checkpoint_seed folder update loss n_tokens model_sha256",
        when=pretrains_several,
        page=True,
        crate=True,
        caption="pretrainings",
        category="Trust",
        labels={"table": "pretrainings"},
        derived=False,
    ),
    *figure(
        "pretraining_figure",
        "figures/pretraining",
        "plot_pretraining",
        when=pretrains,
        caption="pretraining",
        category="Checkpoint",
        subcategory="",
        labels={"figure": "pretraining loss by update"},
    ),
]
RULES = [Rule("plot_pretraining", {"history": "pretraining", "manifest": "manifest"}, when=pretrains)]
