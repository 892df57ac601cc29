"""Export one run's adapter with a model card: base, pairs, settings, results, an answer that it really gave."""

import json
import os
import shutil

from common.entry import run
from common.errors import StudyError
from common.files import atomic_path, read_json, read_lines, read_tsv, sha256, write_json, write_text
from finetuning.cards import render_card
from qa.question_pairs import prompt

# The card's measures: name and unit.
MEASURES = {
    "heldout_loss": ("loss on answers kept out", "nats per answer token"),
    "heldout_perplexity": ("perplexity of answers kept out", "choices per answer token"),
    "chrf": ("chrF against references", "0 to 100"),
    "rouge_l": ("ROUGE-L against references, mean F1", "0 to 1"),
    "n_stopped": ("answers that stop by themselves", "answers"),
    "n_repeating": ("answers that repeat a run of words", "answers"),
}


def example_code(name, base, run, question, generation):
    """Return the Python that asks the adapter one question as the study did.

    Args:
        name: the adapter's folder.
        base: `qa.base` of the config.
        run: run.json: the prompt's form, the ids of the first tokens and of the token that ends an answer.
        question: str.
        generation: `qa.generation` of the config.
    """
    place, options = "qa/base", ""
    if base["source"] == "hub":
        place, options = base["hub"]["repo"], f", revision={base['hub']['revision']!r}"
    begun = f"{run['first_tokens']} + " if run["first_tokens"] else ""
    sampling = "do_sample=False"
    if generation["temperature"]:
        sampling = f"do_sample=True, temperature={generation['temperature']}, top_p={generation['top_p']}, top_k=0"
    lines = [
        "import torch",
        "from peft import PeftModel",
        "from transformers import AutoModelForCausalLM, AutoTokenizer, GenerationConfig",
        "",
        f'base = AutoModelForCausalLM.from_pretrained("{place}"{options})',
        # As in the study, a publisher's settings of generation are left out.
        "base.generation_config = GenerationConfig()",
        f'model = PeftModel.from_pretrained(base, "{name}").eval()',
        f'tokenizer = AutoTokenizer.from_pretrained("{place}"{options})',
        f"prompt = {prompt(run['prompt'], question)!r}",
        f'ids = torch.tensor([{begun}tokenizer(prompt, add_special_tokens=False)["input_ids"]])',
        f"torch.manual_seed({generation['seed']})",
        "output = model.generate(",
        f"    input_ids=ids, attention_mask=torch.ones_like(ids), max_new_tokens={generation['max_new_tokens']},",
        f"    {sampling}, eos_token_id={run['end_of_text']}, pad_token_id={run['end_of_text']},",
        ")",
        "answer = output[0, ids.shape[1] :].tolist()",
        "print(tokenizer.decode(answer, skip_special_tokens=True, clean_up_tokenization_spaces=False).strip())",
    ]
    return "\n".join(lines) + "\n"


def plain(value):
    """Return a value as one line of Markdown, its markup and HTML as text."""
    if isinstance(value, dict):
        return "; ".join(f"{name}: {plain(part)}" for name, part in value.items()) or "none"
    if isinstance(value, list):
        return ", ".join(plain(part) for part in value) or "none"
    text = " ".join(str(value).split()).replace("&", "&amp;").replace("<", "&lt;")
    for sign in "\\|`*_[]":
        text = text.replace(sign, f"\\{sign}")
    return text


def short(text):
    """Return a number of a table with four significant digits; a dash for none."""
    return f"{float(text):.4g}" if text else "–"


def spread(row):
    """Return a mean, and its standard deviation where there is one; a dash for none."""
    if row is None:
        return "–"
    return short(row["mean"]) + (f" ± {float(row['sd_ddof1']):.2g}" if row["sd_ddof1"] else "")


def read_facts(files, arm, seed):
    """Return what the card says of a run, from the study's records.

    Args:
        files: {name of the rule's input: path}.
        arm: name of the run's arm.
        seed: seed of the run.

    Returns:
        dict: run, manifest, row (of qa/runs.tsv), means {metric: row of qa/summary.tsv}, n_seeds, example (the first
        row of generations.jsonl), signature, base_sha256, settings.

    Raises:
        StudyError: a file is missing or broken, or lacks the run.
    """
    record = read_json(files["run"])
    rows = [row for row in read_tsv(files["runs"]) if (row["arm"], row["seed"]) == (arm, str(seed))]
    means = {row["metric"]: row for row in read_tsv(files["summary"]) if row["arm"] == arm}
    if len(rows) != 1 or not means:
        raise StudyError(f"{files['runs']} has {len(rows)} rows of arm {arm} seed {seed}: run the aggregation again")
    settings = {f"LoRA: {name}": value for name, value in record["lora"].items()}
    settings |= {name: record["protocol"][name] for name in ("updates", "batch_size", "accumulation", "lr")}
    settings |= {name: record[name] for name in ("optimizer", "schedule", "precision", "quantization")}
    settings |= {name: record["protocol"][name] for name in ("loss_on", "learn_end_of_text", "max_tokens")}
    settings["prompt"] = repr(record["prompt"])
    return {
        "run": record,
        "manifest": read_json(files["manifest"]),
        "row": rows[0],
        "means": {name: means.get(name) for measure in MEASURES for name in (f"{measure}_before", f"{measure}_after")},
        "n_seeds": next(iter(means.values()))["n_seeds"],
        "example": json.loads(read_lines(files["generations"])[0]),
        "signature": read_json(files["evaluation"])["chrf_signature"],
        "base_sha256": sha256(os.path.join(files["base"], "config.json")),
        "settings": settings,
    }


def check_generation(generation, recorded, path):
    """Raise unless the settings ask for answers as the study's were made.

    Args:
        generation: `qa.generation` of the config.
        recorded: content of the run's evaluation.json.
        path: path of that file, for messages.

    Raises:
        StudyError: a setting differs.
    """
    known = recorded.get("generation", generation)
    for key in sorted(known.keys() | generation.keys()):
        if known.get(key) != generation.get(key):
            raise StudyError(
                f"qa.generation.{key} is {generation.get(key)}, and {path} was made with {known.get(key)}: put the "
                "setting back, or evaluate the run again"
            )


def main(folder, arm, seed: int, study, source, generation, **files):
    """Write the exported adapter: peft's two files and README.md, the card.

    Args:
        folder: folder to write.
        arm: name of the run's arm.
        seed: seed of the run.
        study: name of the study.
        source: `qa.base` of the config.
        generation: `qa.generation` of the config.
        **files: paths of the rule's inputs: adapter, run, generations, evaluation, runs, summary, manifest, base,
            template.

    Raises:
        StudyError: a file is missing or broken, or lacks the run.
    """
    check_generation(generation, read_json(files["evaluation"]), files["evaluation"])
    facts, name = read_facts(files, arm, seed), os.path.basename(folder)
    code = example_code(name, source, facts["run"], facts["example"]["question"], generation)
    facts |= {"name": name, "study": study, "base": source, "code": code, "measures": MEASURES}
    filters = {"plain": plain, "short": short, "spread": spread}
    card = render_card(files["template"], filters, "evaluate the run again", **facts)
    with atomic_path(folder) as temporary:
        shutil.copytree(files["adapter"], temporary, ignore=shutil.ignore_patterns(".snakemake*"), dirs_exist_ok=True)
        # The place of the base on the training machine is left out.
        path = os.path.join(temporary, "adapter_config.json")
        hub = source["hub"] if source["source"] == "hub" else {"repo": "qa/base", "revision": None}
        write_json(path, read_json(path) | {"base_model_name_or_path": hub["repo"], "revision": hub["revision"]})
        write_text(os.path.join(temporary, "README.md"), card)


if __name__ == "__main__":
    run(main, snakemake)
