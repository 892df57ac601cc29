"""Question answering: its runs, their loss and answers, the rank sweep and the count of LoRA's parameters."""

import measures
from study.modules import file_digest
from study.products import Product, Rule, figure

# Measured before and after tuning.
MEASURES = {
    "heldout_perplexity": ("number", "", "exp of heldout_loss"),
    "train_perplexity": ("number", "", "exp of the mean loss on the pairs trained on"),
    "heldout_loss": ("number", "nats", "mean per token of held-out answers"),
    "heldout_objective": ("number", "nats", "mean per learnt token of held-out pairs, of the loss that is optimised"),
    "end_of_text": ("number", "nats", "mean loss of the token that ends a held-out answer"),
    "chrf": ("number", "0 to 100", "chrF of answers against references"),
    "rouge_l": ("share", "", "ROUGE-L (F) of answers against references"),
    "n_stopped": ("integer", "answers", "answers that ended by themselves"),
    "n_repeating": ("integer", "answers", "answers that repeat themselves"),
}
BEFORE_AFTER = [(name, when) for name in MEASURES for when in ("before", "after")]
COLUMNS = {
    "score_a": ("number", "by measure", "mean over seeds of the first arm"),
    "score_b": ("number", "by measure", "mean over seeds of the second"),
    "n_questions": ("integer", "questions", "that the score is over, or held-out pairs"),
    "item_score": (
        "number",
        "by measure",
        "of a question, or its jackknife pseudo-value",
    ),
    "meaning": ("text", "", "what the setting or symbol means"),
    "parameters_per_module": ("integer", "parameters", "that the setting adds to one module"),
    "parameters": ("integer", "parameters", "that it adds in all"),
    "trainable_params": ("integer", "parameters", "that are trained"),
    "total_params": ("integer", "parameters", "of the model with its adapter"),
    "optimizer": ("text", "", "the one that was used"),
    "quantization": ("text", "", "none or nf4: of the base's weights"),
    **{f"{name}_{when}": (*MEASURES[name][:2], f"{MEASURES[name][2]}, {when} tuning") for name, when in BEFORE_AFTER},
    "lora_alpha": ("number", "", "LoRA's alpha; empty: no LoRA"),
    "variation": ("text", "", "name of a run that varies one setting"),
    "changed": ("text", "", "settings that differ from the study's"),
    "saved_bytes": ("integer", "bytes", "of the trained weights"),
}


def answers(config):
    """Return whether the study answers questions."""
    return config["qa"]["enabled"]


def answer_measures():
    """Return the names of the measures of answers."""
    return [name for name, room in measures.of_guests().items() if room == "qa"]


def sweeps(config):
    """Return whether the study tries several ranks."""
    return answers(config) and bool(config["qa"]["rank_sweep"]["ranks"])


def varies(config):
    """Return whether the study has runs that vary one setting of LoRA."""
    return answers(config) and bool(config["qa"]["variations"]["runs"])


def row(key, path, rule, columns="", label="", **facts):
    """Return the row of a product; one with a label is in Snakemake's own report."""
    shown = {"caption": key, "labels": {"table": label}} if label else {}
    return Product(
        key, path, rule, columns=columns, **{"when": answers, "category": "Question answering", **shown, **facts}
    )


def drawing(key, path, rule, caption, label, when):
    """Return the rows of a figure."""
    shown = {"caption": caption, "category": "Question answering", "subcategory": "Figures"}
    return figure(key, path, rule, when=when, labels={"figure": label}, **shown)


LOSS = "update split loss objective n_tokens lr"
PRODUCTS = [
    row("qa_manifest", "qa/data/manifest.json", "build_qa_pairs", output="manifest", page=True, derived=False),
    row(
        "qa_pretraining",
        "qa/pretraining.tsv",
        "build_qa_base_model",
        "update loss",
        output="pretraining",
        derived=False,
    ),
    row("qa_run_losses", "qa/{arm}/seed{seed}/loss.tsv", "finetune_lora", LOSS, output="loss", derived=False),
    row(
        "qa_runs",
        "qa/runs.tsv",
        "aggregate_qa",
        "study synthetic arm rank seed trainable_params total_params n_train n_heldout "
        f"{' '.join(map('_'.join, BEFORE_AFTER))} n_generated optimizer precision quantization seconds",
        "runs",
        output="runs",
    ),
    row("qa_loss", "qa/loss.tsv", "aggregate_qa", f"arm rank seed {LOSS}", output="loss", page=True, crate=True),
    row(
        "qa_summary",
        "qa/summary.tsv",
        "aggregate_qa",
        "arm rank metric n_seeds mean sd_ddof1 min max",
        "means over seeds",
        output="summary",
        page=True,
        crate=True,
    ),
    row(
        "qa_scores",
        "qa/scores.tsv",
        "score_answers",
        "arm seed measure n_questions score",
        output="scores",
        crate=True,
    ),
    row(
        "qa_items", "qa/items.tsv", "score_answers", "arm seed measure id item_score", output="by_question", crate=True
    ),
    row(
        "qa_pairs",
        "qa/pairs.tsv",
        "compare_answers",
        "measure unit higher_is_better arm_a arm_b n_seeds_a n_seeds_b n_questions score_a score_b score_difference "
        "level score_difference_low score_difference_high p p_holm",
        "arms of question answering compared",
        output="pairs",
        page=True,
        crate=True,
    ),
    row("qa_generations", "qa/generations.jsonl", "aggregate_qa", output="generations", page=True),
    *drawing("qa_loss_figure", "qa/figures/loss", "plot_qa_loss", "qa_loss", "loss by update", answers),
    row(
        "qa_sweep_losses",
        "qa/sweep/rank{rank}/seed{seed}/loss.tsv",
        "sweep_lora_ranks",
        LOSS,
        output="losses",
        when=sweeps,
        derived=False,
    ),
    row(
        "qa_rank_sweep",
        "qa/rank_sweep.tsv",
        "tabulate_rank_sweep",
        "rank lora_alpha seed update train_loss heldout_loss heldout_perplexity trainable_params total_params "
        "trainable_share update_seconds training_bytes",
        "rank sweep",
        caption="rank_sweep",
        output="table",
        when=sweeps,
        page=True,
        crate=True,
    ),
    *drawing("qa_rank_sweep_figure", "qa/figures/rank_sweep", "plot_rank_sweep", "rank_sweep", "rank sweep", sweeps),
    row(
        "qa_variation_losses",
        "qa/variations/{name}/seed{seed}/loss.tsv",
        "vary_lora",
        LOSS,
        output="losses",
        when=varies,
        derived=False,
    ),
    row(
        "qa_variations",
        "qa/variations.tsv",
        "tabulate_variations",
        "variation changed rank lora_alpha lr seed update train_loss heldout_loss heldout_perplexity trainable_params "
        "total_params trainable_share update_seconds training_bytes saved_bytes",
        "one setting varied",
        output="table",
        when=varies,
        page=True,
        crate=True,
    ),
    row(
        "lora_ledger",
        "qa/lora_ledger.tsv",
        "build_lora_ledger",
        "model arm rank setting value meaning formula parameters_per_module parameters",
        "LoRA ledger",
        output="tsv",
        page=True,
        crate=True,
    ),
    row("lora_ledger_markdown", "qa/lora_ledger.md", "build_lora_ledger", output="markdown"),
    *drawing("lora_schematic", "qa/figures/lora", "plot_lora_schematic", "lora_schematic", "LoRA", answers),
]
RULES = [
    Rule(
        "compare_answers",
        {"scores": "qa_scores", "by_question": "qa_items"},
        {
            "names": lambda config: answer_measures(),
            "versions": lambda config: [file_digest(measures.file(name)) for name in answer_measures()],
        },
        when=answers,
    ),
    Rule("plot_qa_loss", {"loss": "qa_loss", "manifest": "qa_manifest"}, when=answers),
    Rule("plot_lora_schematic", {"ledger": "lora_ledger"}, when=answers),
    Rule("plot_rank_sweep", {"table": "qa_rank_sweep", "manifest": "qa_manifest"}, when=sweeps),
]
