"""Causal language models as the question-answering rules use them: loading, counting, loss (torch, Transformers)."""

import json
import os

import torch
from tokenizers import Tokenizer

from common.errors import StudyError
from common.qa import IGNORED, check_base, pad_batch

PRECISIONS = {"float32": torch.float32, "bfloat16": torch.bfloat16}
QUANTIZATIONS = ("none", "nf4")


def choose_device():
    """Return the device that this job runs on: a GPU where there is one."""
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


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
        StudyError: unknown quantisation, 4-bit loading that fails here, or weights that do not fit the configuration.

    Source: Dettmers et al. 2023 (QLoRA), section 3.
    """
    from transformers import AutoModelForCausalLM
    from transformers.utils import logging

    check_base(folder)
    if quantization not in QUANTIZATIONS:
        raise StudyError(f"qa.training.quantization: {quantization!r} is not one of {', '.join(QUANTIZATIONS)}")
    logging.disable_progress_bar()
    arguments = {"local_files_only": True, "trust_remote_code": False, "use_safetensors": True}
    arguments |= {"dtype": torch.float32, "output_loading_info": True}
    if quantization == "none":
        model, info = AutoModelForCausalLM.from_pretrained(folder, **arguments)
        model.to(device)
    else:
        model, info = _load_4bit(folder, double_quantization, precision, device, arguments)
    absent = sorted(info["missing_keys"])
    if absent or info["mismatched_keys"]:
        # Transformers would fill them with random numbers and carry on.
        wrong = absent or sorted(str(key) for key in info["mismatched_keys"])
        raise StudyError(f"{folder}: the weights do not fit config.json: {', '.join(map(str, wrong[:5]))}")
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
                # Off: bitsandbytes' repacking for scoring on CPUs with AVX512-BF16. It rounds the scales again, and
                # for good, and refuses widths that are no multiple of 64.
                module.support_avx512bf16_for_cpu = False
        # A first product shows whether this machine has the kernels: some builds load and then fail.
        with torch.no_grad():
            model(input_ids=torch.zeros((1, 2), dtype=torch.long, device=device))
    except (ImportError, RuntimeError, NotImplementedError, AttributeError) as error:
        raise StudyError(f"4-bit loading does not work here ({error}): {remedy}") from error
    print(f"NF4 through bitsandbytes {bitsandbytes.__version__}")
    return model, info


def count_parameters(model):
    """Return trainable and all parameters, by shape: a packed 4-bit matrix counts as the matrix it stands for.

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
    """Return a tokenizer and the id of its end of text.

    Args:
        folder: a Hugging Face folder; tokenizer.json is all that is needed of a byte-level tokenizer.

    Returns:
        tuple: tokenizers.Tokenizer; int.

    Raises:
        StudyError: config.json names no end-of-text token.
    """
    tokenizer = Tokenizer.from_file(os.path.join(folder, "tokenizer.json"))
    with open(os.path.join(folder, "config.json"), encoding="utf-8") as handle:
        end_of_text = json.load(handle).get("eos_token_id")
    if isinstance(end_of_text, list):
        end_of_text = end_of_text[0]
    if end_of_text is None:
        raise StudyError(f"{folder}/config.json: `eos_token_id` is missing, so no answer could end")
    return tokenizer, end_of_text


def encoder(tokenizer):
    """Return the function from text to token ids that `common.qa.encode_pair` wants."""
    return lambda text: tokenizer.encode(text, add_special_tokens=False).ids


def as_tensors(examples, pad, device):
    """Return a padded batch as (B, T) tensors on `device`; see `common.qa.pad_batch`."""
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
def score(model, examples, batch_size, pad, device):
    """Return mean costs over examples, with dropout off.

    Args:
        model: causal language model.
        examples: list from `common.qa.encode_pair`.
        batch_size: examples at once.
        pad: id for padding.
        device: torch.device.

    Returns:
        dict: `loss` (nats per token of the answers themselves: without the prompt and the end of text, so that
        settings compare), `objective` (nats per learnt token), `end_of_text` (nats of the end of text alone;
        None where it is not learnt), `n_tokens` (answer tokens).
    """
    was_training = model.training
    model.eval()
    sums, numbers = [0.0, 0.0, 0.0], [0, 0, 0]
    for start in range(0, len(examples), batch_size):
        batch = as_tensors(examples[start : start + batch_size], pad, device)
        nats, learnt, answer = token_nats(model, batch)
        prompt = (batch["is_answer"].cumsum(1) == 0)[:, 1:]
        for i, mask in enumerate((answer, learnt, learnt & ~answer & ~prompt)):
            sums[i] += nats[mask].double().sum().item()
            numbers[i] += int(mask.sum())
    model.train(was_training)
    means = [total / n if n else None for total, n in zip(sums, numbers, strict=True)]
    return {"loss": means[0], "objective": means[1], "end_of_text": means[2], "n_tokens": numbers[0]}
