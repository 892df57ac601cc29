"""Score and generate answers before and after tuning: same questions, same random numbers."""

import json
import math

import torch

from common.entry import run
from common.errors import StudyError
from common.files import read_json, read_lines, write_json, write_lines
from qa.answers import chrf, repeats_itself, rouge_l
from qa.causal_lm import check_length, encode_pairs, encoder, load_base, load_tokenizer, score
from qa.question_pairs import prompt
from training.precision import choose_device
from training.process import flush_denormals

MOMENTS = ("before", "after")


def generate(model, tokenizer, end_of_text, prompts, settings, device):
    """Return an answer to each question.

    Args:
        model: causal language model.
        tokenizer: the model's own.
        end_of_text: id of the token that ends an answer.
        prompts: list of str: the questions in the study's prompt.
        settings: dict: max_new_tokens, temperature (0: the likeliest token), top_p, seed. Question i is drawn with
            seed + i, whatever was drawn before it.
        device: torch.device.

    Returns:
        list[dict]: `text`, `stopped` (whether the end of text came within max_new_tokens).

    Raises:
        StudyError: a prompt and its answer would not fit the model's positions.
    """
    answers, encode, longest = [], encoder(tokenizer), settings["max_new_tokens"]
    sampling = {"do_sample": False}
    if settings["temperature"]:
        # top_k 0 switches off Transformers' limit of 50, which the protocol lacks.
        sampling = {"do_sample": True, "temperature": settings["temperature"], "top_p": settings["top_p"], "top_k": 0}
    for number, asked in enumerate(prompts):
        ids = torch.tensor([encode(asked)], device=device)  # (1, T)
        check_length(ids.shape[1] + longest, model.config, f"qa.generation.max_new_tokens: {longest}")
        torch.manual_seed(settings["seed"] + number)
        with torch.no_grad():
            output = model.generate(
                input_ids=ids,
                attention_mask=torch.ones_like(ids),
                max_new_tokens=longest,
                eos_token_id=end_of_text,
                pad_token_id=end_of_text,
                **sampling,
            )
        new = output[0, ids.shape[1] :].tolist()
        stopped = end_of_text in new
        new = new[: new.index(end_of_text)] if stopped else new
        text = tokenizer.decode(new, skip_special_tokens=True, clean_up_tokenization_spaces=False)
        answers.append({"text": text.strip(), "stopped": stopped})
    return answers


def measure(model, tokenizer, end_of_text, pairs, questions, template, training, generation, device):
    """Return perplexities and answers of one model.

    Args:
        model: causal language model.
        tokenizer: the model's own.
        end_of_text: its end-of-text id.
        pairs: dict {split: list of pairs}.
        questions: list of pairs to generate answers for.
        template: `qa.prompt` of the config.
        training: dict: loss_on, learn_end_of_text, max_tokens.
        generation: see `generate`.
        device: torch.device.

    Returns:
        tuple: dict {split: {perplexity, loss, objective, end_of_text, n_tokens}}; nats and answer tokens of
        each held-out pair; list from `generate`.
        perplexity = exp(loss), loss in nats per token of the answers themselves.
    """
    scores, costs_each = {}, []
    for split, rows in pairs.items():
        costs = score(model, encode_pairs(rows, tokenizer, end_of_text, template, training), end_of_text, device)
        kept = {key: costs[key] for key in ("loss", "objective", "end_of_text", "n_tokens")}
        scores[split] = {"perplexity": math.exp(costs["loss"]), **kept}
        if split == "heldout":
            costs_each = costs["answers"]
    prompts = [prompt(template, row["question"]) for row in questions]
    answers = generate(model, tokenizer, end_of_text, prompts, generation, device)
    return scores, costs_each, answers


def compare(questions, answers):
    """Return a row for each question: its reference, both answers, and what can be said of them.

    Args:
        questions: list of pairs.
        answers: dict {moment: list from `generate`}.

    Returns:
        list[dict]: id, question, reference, before, after, stopped and repeats ({before, after}).
    """
    rows = []
    for number, pair in enumerate(questions):
        given = {moment: answers[moment][number] for moment in MOMENTS}
        row = {"id": pair["id"], "question": pair["question"], "reference": pair["answer"]}
        row |= {moment: answer["text"] for moment, answer in given.items()}
        row["stopped"] = {moment: answer["stopped"] for moment, answer in given.items()}
        row["repeats"] = {moment: repeats_itself(answer["text"]) for moment, answer in given.items()}
        rows.append(row)
    return rows


def overlap(rows):
    """Return how far the answers of `compare` overlap with their references, before and after, for evaluation.json."""
    references = [row["reference"] for row in rows]
    found = {moment: chrf([row[moment] for row in rows], references) for moment in MOMENTS}
    return {
        "chrf": {moment: score for moment, (score, _) in found.items()},
        "chrf_signature": found["after"][1],
        "rouge_l": {moment: rouge_l([row[moment] for row in rows], references) for moment in MOMENTS},
    }


def each_pair(pairs, costs):
    """Return each held-out pair's loss before and after tuning: id, and (nats, answer tokens) of each moment.

    Args:
        pairs: the held-out pairs.
        costs: {moment: nats and answer tokens of each pair, in the same order}.
    """
    return [
        {"id": pair["id"]} | {moment: costs[moment][place] for moment in MOMENTS} for place, pair in enumerate(pairs)
    ]


def main(train, heldout, base, adapter, run, generations, evaluation, training, generation, template):
    """Compare the base model with the tuned one.

    Args:
        train: JSON Lines of the pairs trained on.
        heldout: JSON Lines of the pairs kept out; the first `n_questions` are asked.
        base: the base model's folder.
        adapter: the adapter's folder.
        run: run.json of the run: its precision.
        generations: JSON Lines to write: see `compare`.
        evaluation: JSON to write.
        training: `qa.training` of the config, with what the run's arm sets otherwise.
        generation: `qa.generation` of the config.
        template: `qa.prompt` of the config.

    Raises:
        StudyError: the adapter does not fit the base.
    """
    from peft import PeftModel

    flush_denormals()
    device, record = torch.device(choose_device()), read_json(run)
    pairs = {"train": train, "heldout": heldout}
    pairs = {split: [json.loads(line) for line in read_lines(path)] for split, path in pairs.items()}
    questions = pairs["heldout"][: generation["n_questions"]]
    tokenizer, end_of_text = load_tokenizer(base)
    model = load_base(base, record["quantization"], training["double_quantization"], record["precision"], device)
    scores, costs, answers = {}, {}, {}
    for moment in MOMENTS:
        if moment == "after":
            # The adapter is added only now: with `bias` trained, switching it off for "before" would not restore the
            # base.
            try:
                model = PeftModel.from_pretrained(model, adapter, local_files_only=True).eval()
            except (RuntimeError, ValueError) as error:
                raise StudyError(f"the adapter {adapter} does not fit the base {base}: {error}") from error
        scores[moment], costs[moment], answers[moment] = measure(
            model, tokenizer, end_of_text, pairs, questions, template, training, generation, device
        )

    rows = compare(questions, answers)
    write_lines(generations, [json.dumps(row, ensure_ascii=False) for row in rows])
    result = {key: record[key] for key in ("arm", "rank", "seed")} | {"n_generated": len(rows)}
    for split in pairs:
        result[split] = {moment: scores[moment][split] for moment in MOMENTS}
    for key, name in (("stopped", "n_stopped"), ("repeats", "n_repeating")):
        result[name] = {moment: sum(row[key][moment] for row in rows) for moment in MOMENTS}
    result |= overlap(rows)
    # The same measure of repetition, on answers that a person wrote.
    result["n_repeating"]["reference"] = sum(repeats_itself(row["reference"]) for row in rows)
    result["pairs"] = each_pair(pairs["heldout"], costs)
    # A card must show the settings of these answers.
    result["generation"] = generation
    write_json(evaluation, result)
    for moment in MOMENTS:
        perplexity = result["heldout"][moment]["perplexity"]
        print(f"{moment}: held-out perplexity {perplexity:.2f}, chrF {result['chrf'][moment]:.1f}")


if __name__ == "__main__":
    run(main, snakemake)
