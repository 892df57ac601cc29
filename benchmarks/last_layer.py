"""What does it save that a training computes only the last layer's first position?

    PYTHONPATH=scripts python benchmarks/last_layer.py

Two models of the open study's sizes, alike but for that, make updates in turn on the same batches, on one core. The
whole layer is Hugging Face's own; fairseq's has the same products. Weights and token ids are random: neither changes
the time.
"""

import argparse
import statistics
import time

import torch
from transformers import RobertaConfig, RobertaForSequenceClassification

from common.machine import machine
from training.dropout import cheap_dropout
from training.last_layer import train_first_position
from training.precision import resolve_precision
from training.process import set_threads

# Tokens that the open study's batches of 8 are padded to, length-grouped: the middle of each sixth of them.
LENGTHS = (48, 64, 96, 128, 176, 256)


def classifier(sizes, first_only):
    """Return a RobertaForSequenceClassification in training and its optimizer.

    Args:
        sizes: `layers`, `width`, `ffn_width`, `heads`, `rows`.
        first_only: whether the last layer computes only the first position.
    """
    config = RobertaConfig(
        vocab_size=sizes["rows"],
        hidden_size=sizes["width"],
        num_hidden_layers=sizes["layers"],
        num_attention_heads=sizes["heads"],
        intermediate_size=sizes["ffn_width"],
        max_position_embeddings=max(LENGTHS) + 2,
        type_vocab_size=1,
    )
    config._attn_implementation = "sdpa"
    model = RobertaForSequenceClassification(config).train()
    if first_only:
        train_first_position(model.roberta.encoder.layer)
    return model, torch.optim.AdamW(model.parameters(), lr=1e-5, weight_decay=0.1, fused=True)


def update(model, optimizer, ids, bfloat16):
    """Make one update on a batch of token ids (8, positions), every label 1."""
    with torch.autocast("cpu", dtype=torch.bfloat16, enabled=bfloat16), cheap_dropout():
        logits = model(input_ids=ids, attention_mask=torch.ones_like(ids)).logits
    torch.nn.functional.cross_entropy(logits.float(), torch.ones(len(ids), dtype=torch.long)).backward()
    optimizer.step()
    optimizer.zero_grad()


def measure(sizes, rounds, precision):
    """Return {first_only: seconds of a mean update in each round}; a round before them is not counted."""
    torch.manual_seed(1)
    batches = [torch.randint(5, sizes["rows"], (8, length)) for length in LENGTHS]
    sides = {first_only: classifier(sizes, first_only) for first_only in (False, True)}
    seconds = {side: [] for side in sides}
    for _ in range(rounds + 1):
        for side, (model, optimizer) in sides.items():
            start = time.perf_counter()
            for ids in batches:
                update(model, optimizer, ids, precision == "bfloat16")
            seconds[side].append((time.perf_counter() - start) / len(batches))
    return {side: found[1:] for side, found in seconds.items()}


def tell(seconds):
    """Print the medians and the ratio of two sides: {name: seconds of an update in each round}, the plain one first."""
    plain, mine = seconds.values()
    ratios = [one / other for one, other in zip(mine, plain, strict=True)]
    print("an update, " + ", ".join(f"{name} {statistics.median(times):.3f} s" for name, times in seconds.items()))
    print(f"ratio {statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f} in {len(ratios)} rounds)")


def main(arguments=None):
    """Print both medians and their ratio."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--precision", default="auto")
    parser.add_argument("--sizes", type=int, nargs=5, default=[4, 512, 512, 8, 32_000])
    options = parser.parse_args(arguments)
    set_threads(1)
    precision = resolve_precision(options.precision)
    sizes = dict(zip(("layers", "width", "ffn_width", "heads", "rows"), options.sizes, strict=True))
    whole, first = measure(sizes, options.rounds, precision).values()
    tell({"whole last layer": whole, "first position": first})
    print(f"one core of {machine()['cpu']}, {precision}")


if __name__ == "__main__":
    main()
