"""Score and generate answers before and after tuning: same questions, same random numbers."""

import json
import math

import torch

from common.causal_lm import choose_device, encoder, load_base, load_tokenizer, score
from common.errors import StudyError
from common.files import read_json, read_lines, write_json, write_lines
from common.qa import encode_pair, prompt, repeats_itself
from common.rule import running

SCORED_AT_ONCE = 8


def generate(model, tokenizer, end_of_text, questions, settings, device):
    """Return an answer to each question.

    Args:
        model: causal language model.
        tokenizer: tokenizers.Tokenizer.
        end_of_text: id of the token that ends an answer.
        questions: list of str.
        settings: dict: max_new_tokens, temperature (0: the likeliest token), top_p, seed. Question i is drawn with
            seed + i, whatever was drawn before it.
        device: torch.device.

    Returns:
        list[dict]: `text`, `stopped` (whether the end of text came within max_new_tokens).
    """
    answers = []
    sampling = {"do_sample": False}
    if settings["temperature"]:
        # top_k 0 switches off Transformers' own limit of 50, which the protocol does not have.
        sampling = {"do_sample": True, "temperature": settings["temperature"], "top_p": settings["top_p"], "top_k": 0}
    for number, question in enumerate(questions):
        ids = torch.tensor([encoder(tokenizer)(prompt(question))], device=device)  # (1, T)
        torch.manual_seed(settings["seed"] + number)
        with torch.no_grad():
            output = model.generate(
                input_ids=ids,
                attention_mask=torch.ones_like(ids),
                max_new_tokens=settings["max_new_tokens"],
                eos_token_id=end_of_text,
                pad_token_id=end_of_text,
                **sampling,
            )
        new = output[0, ids.shape[1] :].tolist()
        stopped = end_of_text in new
        text = tokenizer.decode(new[: new.index(end_of_text)] if stopped else new, skip_special_tokens=True)
        answers.append({"text": text.strip(), "stopped": stopped})
    return answers


def measure(model, tokenizer, end_of_text, pairs, questions, training, generation, device):
    """Return perplexities and answers of one model.

    Args:
        model: causal language model.
        tokenizer: tokenizers.Tokenizer.
        end_of_text: its end-of-text id.
        pairs: dict {split: list of pairs}.
        questions: list of pairs to generate answers for.
        training: dict: loss_on, learn_end_of_text, max_tokens.
        generation: see `generate`.
        device: torch.device.

    Returns:
        tuple: dict {split: {perplexity, loss, end_of_text, n_tokens}}; list from `generate`.
        perplexity = exp(loss), loss in nats per token of the answers themselves.
    """
    scores = {}
    keys = ("loss_on", "learn_end_of_text", "max_tokens")
    settings = {key: training[key] for key in keys}
    for split, rows in pairs.items():
        encode = encoder(tokenizer)
        examples = [encode_pair(encode, row["question"], row["answer"], end_of_text, **settings) for row in rows]
        costs = score(model, examples, SCORED_AT_ONCE, end_of_text, device)
        scores[split] = {
            "perplexity": math.exp(costs["loss"]),
            "loss": costs["loss"],
            "end_of_text": costs["end_of_text"],
            "n_tokens": costs["n_tokens"],
        }
    answers = generate(model, tokenizer, end_of_text, [row["question"] for row in questions], generation, device)
    return scores, answers


def main(train_path, heldout_path, base, adapter, run_path, generations_path, evaluation_path, training, generation):
    """Compare the base model with the tuned one.

    Args:
        train_path: JSON Lines of the pairs trained on.
        heldout_path: JSON Lines of the pairs kept out; the first `n_questions` are asked.
        base: the base model's folder.
        adapter: the adapter's folder.
        run_path: run.json of the run: its precision.
        generations_path: JSON Lines to write: question, reference, before, after, stopped and repeats ({before,
            after}).
        evaluation_path: JSON to write.
        training: `qa.training` of the config.
        generation: `qa.generation` of the config.

    Raises:
        StudyError: the adapter does not fit the base.
    """
    from peft import PeftModel

    device, run = choose_device(), read_json(run_path)
    splits = {"train": train_path, "heldout": heldout_path}
    pairs = {split: [json.loads(line) for line in read_lines(path)] for split, path in splits.items()}
    questions = pairs["heldout"][: generation["n_questions"]]
    tokenizer, end_of_text = load_tokenizer(base)
    model = load_base(base, run["quantization"], training["double_quantization"], run["precision"], device)
    # The base is measured before the adapter is put on it: with `bias` trained, switching an adapter off later
    # would not bring the base back.
    results = {"before": measure(model, tokenizer, end_of_text, pairs, questions, training, generation, device)}
    try:
        model = PeftModel.from_pretrained(model, adapter, local_files_only=True).eval()
    except (RuntimeError, ValueError) as error:
        raise StudyError(f"the adapter {adapter} does not fit the base {base}: {error}") from error
    results["after"] = measure(model, tokenizer, end_of_text, pairs, questions, training, generation, device)

    rows = []
    for number, pair in enumerate(questions):
        answers = {moment: results[moment][1][number] for moment in ("before", "after")}
        row = {"id": pair["id"], "question": pair["question"], "reference": pair["answer"]}
        row |= {moment: answer["text"] for moment, answer in answers.items()}
        row["stopped"] = {moment: answer["stopped"] for moment, answer in answers.items()}
        row["repeats"] = {moment: repeats_itself(answer["text"]) for moment, answer in answers.items()}
        rows.append(row)
    write_lines(generations_path, [json.dumps(row, ensure_ascii=False) for row in rows])
    evaluation = {"rank": run["rank"], "seed": run["seed"], "n_generated": len(rows)}
    for split in splits:
        evaluation[split] = {moment: results[moment][0][split] for moment in results}
    for key, name in (("stopped", "n_stopped"), ("repeats", "n_repeating")):
        evaluation[name] = {moment: sum(row[key][moment] for row in rows) for moment in results}
    # The measure of repetition, on answers that a person wrote.
    evaluation["n_repeating"]["reference"] = sum(repeats_itself(row["reference"]) for row in rows)
    write_json(evaluation_path, evaluation)
    perplexities = {moment: evaluation["heldout"][moment]["perplexity"] for moment in results}
    print(f"held-out perplexity {perplexities['before']:.2f} before, {perplexities['after']:.2f} after")


if __name__ == "__main__":
    with running(snakemake):  # noqa: F821
        main(
            snakemake.input.train,  # noqa: F821
            snakemake.input.heldout,  # noqa: F821
            snakemake.input.base,  # noqa: F821
            snakemake.input.adapter,  # noqa: F821
            snakemake.input.run,  # noqa: F821
            snakemake.output.generations,  # noqa: F821
            snakemake.output.evaluation,  # noqa: F821
            snakemake.params.training,  # noqa: F821
            snakemake.params.generation,  # noqa: F821
        )
