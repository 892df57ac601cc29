"""Causal language models as the question-answering rules use them: loading, counting, loss (torch, Transformers)."""

import os

import torch

from common.errors import StudyError
from common.files import read_json
from qa.question_pairs import IGNORED, check_base, encode_pair, pad_batch

PRECISIONS = {"float32": torch.float32, "bfloat16": torch.bfloat16}
QUANTIZATIONS = ("none", "nf4")
# Few examples are scored at once.
SCORED_AT_ONCE = 8


def load_base(folder, quantization, double_quantization, precision, device):
    """Return a base model for training or scoring; its weights are float32 or packed NF4.

    Args:
        folder: a Hugging Face folder with safetensors.
        quantization: "none" or "nf4" (4-bit NormalFloat through bitsandbytes).
        double_quantization: also quantise NF4's scales.
        precision: "float32" or "bfloat16": what NF4 matrices are multiplied in.
        device: torch.device.

    Returns:
        transformers.PreTrainedModel: in evaluation mode.

    Raises:
        StudyError: unknown quantisation, 4-bit loading that fails here, weights that cannot be read or do not fit the
            configuration.

    Source: Dettmers et al. 2023 (QLoRA), section 3.
    """
    from safetensors import SafetensorError
    from transformers import AutoModelForCausalLM, GenerationConfig
    from transformers.utils import logging

    check_base(folder)
    if quantization not in QUANTIZATIONS:
        raise StudyError(f"qa.training.quantization: {quantization!r} is not one of {', '.join(QUANTIZATIONS)}")
    logging.disable_progress_bar()
    arguments = {"local_files_only": True, "trust_remote_code": False, "use_safetensors": True}
    arguments |= {"dtype": torch.float32, "output_loading_info": True}
    try:
        if quantization == "none":
            model, info = AutoModelForCausalLM.from_pretrained(folder, **arguments)
            model.to(device)
        else:
            model, info = _load_4bit(folder, double_quantization, precision, device, arguments)
    except SafetensorError as error:
        raise StudyError(f"{folder}: the weights cannot be read ({error}): get the model's files again") from error
    absent = sorted(info["missing_keys"])
    if absent or info["mismatched_keys"]:
        # Transformers would fill missing tensors with random numbers and continue.
        wrong = absent or sorted(str(key) for key in info["mismatched_keys"])
        raise StudyError(f"{folder}: the weights do not fit config.json: {', '.join(map(str, wrong[:5]))}")
    # Otherwise a publisher's setting (repetition_penalty, say) would override the study's.
    model.generation_config = GenerationConfig()
    return model.eval()


def _load_4bit(folder, double_quantization, precision, device, arguments):
    """Load with NF4 matrices; see `load_base`."""
    remedy = "set qa.training.quantization to none, or install bitsandbytes >= 0.50 with a build for this machine"
    try:
        import bitsandbytes
        from transformers import AutoModelForCausalLM, BitsAndBytesConfig

        settings = BitsAndBytesConfig(
            load_in_4bit=True,
            bnb_4bit_quant_type="nf4",
            bnb_4bit_use_double_quant=double_quantization,
            bnb_4bit_compute_dtype=PRECISIONS[precision],
        )
        model, info = AutoModelForCausalLM.from_pretrained(
            folder, quantization_config=settings, device_map={"": str(device)}, **arguments
        )
        for module in model.modules():
            if isinstance(module, bitsandbytes.nn.Linear4bit):
                # bitsandbytes' repacking for CPUs with AVX512-BF16 is off: it rounds the scales again, permanently, and
                # refuses widths that are no multiple of 64.
                module.support_avx512bf16_for_cpu = False
        # A first product shows whether this machine has the kernels, since some builds load and then fail.
        with torch.no_grad():
            model(input_ids=torch.zeros((1, 2), dtype=torch.long, device=device))
    except (ImportError, RuntimeError, NotImplementedError, AttributeError) as error:
        raise StudyError(f"4-bit loading does not work here ({error}): {remedy}") from error
    print(f"NF4 through bitsandbytes {bitsandbytes.__version__}")
    return model, info


def count_parameters(model):
    """Return trainable and all parameters, by shape: a packed 4-bit matrix counts as the matrix that it encodes.

    `numel()` of a packed matrix gives bytes, two weights each, which makes LoRA's share look too large.

    Args:
        model: torch.nn.Module, bitsandbytes layers allowed.

    Returns:
        tuple of int: trainable, total (tied weights once).
    """
    trainable = total = 0
    for parameter in model.parameters():
        state = getattr(parameter, "quant_state", None)
        size = parameter.numel() if state is None else int(torch.Size(state.shape).numel())
        total += size
        trainable += size if parameter.requires_grad else 0
    return trainable, total


def load_tokenizer(folder):
    """Return a model's own tokenizer and the id of its end of text.

    Args:
        folder: a Hugging Face folder.

    Returns:
        tuple: transformers.PreTrainedTokenizerBase; int.

    Raises:
        StudyError: no tokenizer that can be read, one that knows no text, or no end-of-text token.
    """
    from transformers import AutoTokenizer

    try:
        tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True, trust_remote_code=False)
        bare = tokenizer("a b", add_special_tokens=False)["input_ids"]
    except Exception as error:  # tokenizers raises this very class
        raise StudyError(
            f"{folder}: the tokenizer cannot be read ({' '.join(str(error).split()):.200}): add the model's own "
            "tokenizer.json and tokenizer_config.json"
        ) from error
    if not bare or set(bare) <= set(tokenizer.all_special_ids):
        raise StudyError(
            f"{folder}: the tokenizer knows no word or letter, as it gives the text 'a b' special tokens or none: add "
            "the model's own tokenizer.json and tokenizer_config.json"
        )
    end_of_text = read_json(os.path.join(folder, "config.json")).get("eos_token_id")
    if isinstance(end_of_text, list):
        end_of_text = end_of_text[0] if end_of_text else None
    if end_of_text is None:
        end_of_text = tokenizer.eos_token_id
    if end_of_text is None:
        raise StudyError(
            f"{folder}: neither `eos_token_id` of config.json nor the tokenizer names an end of text, so no answer "
            "could end"
        )
    return tokenizer, end_of_text


def first_tokens(tokenizer):
    """Return the ids that a tokenizer puts before every text, such as Llama's <s>; an empty list for most."""
    whole, bare = (tokenizer("a", add_special_tokens=added)["input_ids"] for added in (True, False))
    start = next((i for i in range(len(whole)) if whole[i : i + len(bare)] == bare), None)
    if start is None:
        raise StudyError(
            f"the tokenizer {tokenizer.name_or_path} gives 'a' the ids {whole} with its special tokens and {bare} "
            "without them, so the ids before a text are unknown: use the model's own tokenizer files"
        )
    return whole[:start]


def encoder(tokenizer):
    """Return the function from text to token ids that `qa.question_pairs.encode_pair` wants."""
    begun = first_tokens(tokenizer)

    def encode(text, first=True):
        return (begun if first else []) + tokenizer(text, add_special_tokens=False)["input_ids"]

    return encode


def encode_pairs(pairs, tokenizer, end_of_text, template, training):
    """Return every pair as `qa.question_pairs.encode_pair` makes it, by `qa.prompt` and a run's training."""
    settings = {key: training[key] for key in ("loss_on", "learn_end_of_text", "max_tokens")}
    encode = encoder(tokenizer)
    return [encode_pair(encode, template, p["question"], p["answer"], end_of_text, **settings) for p in pairs]


def check_length(n_tokens, config, setting):
    """Refuse a text that is longer than the model has positions for.

    Args:
        n_tokens: number of tokens of the longest text.
        config: transformers.PretrainedConfig.
        setting: key and value that bound the text, for the message.

    Raises:
        StudyError: it is longer.
    """
    most = getattr(config, "max_position_embeddings", None)
    if most and n_tokens > most:
        raise StudyError(f"{setting} lets a text have {n_tokens} tokens, and the base has {most} positions; lower it")


def as_tensors(examples, pad, device):
    """Return a padded batch as (B, T) tensors on `device`; see `qa.question_pairs.pad_batch`."""
    return {key: torch.tensor(rows, device=device) for key, rows in pad_batch(examples, pad).items()}


def token_nats(model, batch):
    """Return what each token costs, and what it counts for.

    Args:
        model: causal language model.
        batch: from `as_tensors`.

    Returns:
        tuple of (B, T - 1) tensors: -ln p(token t | tokens before) as float32 in nats, for t = 1 to T - 1;
        whether it is learnt; whether it belongs to the answer itself.
    """
    logits = model(input_ids=batch["input_ids"], attention_mask=batch["attention_mask"], use_cache=False).logits
    targets = batch["input_ids"][:, 1:]  # (B, T - 1)
    nats = torch.nn.functional.cross_entropy(
        logits[:, :-1].float().flatten(0, 1), targets.flatten(), reduction="none"
    ).view_as(targets)
    return nats, batch["labels"][:, 1:] != IGNORED, batch["is_answer"][:, 1:] == 1


@torch.no_grad()
def score(model, examples, pad, device, batch_size=SCORED_AT_ONCE):
    """Return mean costs over examples, with dropout off.

    Args:
        model: causal language model.
        examples: list from `qa.question_pairs.encode_pair`.
        pad: id for padding.
        device: torch.device.
        batch_size: examples at once.

    Returns:
        dict: `loss` (nats per token of the answers themselves: without the prompt and the end of text, so that
        settings compare), `objective` (nats per learnt token), `end_of_text` (nats of the end of text alone;
        None where it is not learnt), `n_tokens` (answer tokens), `answers` (nats and answer tokens of each example).
    """
    was_training = model.training
    model.eval()
    sums, numbers, answers = [0.0, 0.0, 0.0], [0, 0, 0], []
    for start in range(0, len(examples), batch_size):
        batch = as_tensors(examples[start : start + batch_size], pad, device)
        nats, learnt, answer = token_nats(model, batch)
        prompt = (batch["is_answer"].cumsum(1) == 0)[:, 1:]
        for i, mask in enumerate((answer, learnt, learnt & ~answer & ~prompt)):
            sums[i] += nats[mask].double().sum().item()
            numbers[i] += int(mask.sum())
        costs = (nats.double() * answer).sum(dim=1)
        answers += [list(one) for one in zip(costs.tolist(), answer.sum(dim=1).tolist(), strict=True)]
    model.train(was_training)
    means = [total / n if n else None for total, n in zip(sums, numbers, strict=True)]
    return {
        "loss": means[0],
        "objective": means[1],
        "end_of_text": means[2],
        "n_tokens": numbers[0],
        "answers": answers,
    }
