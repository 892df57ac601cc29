"""What does it save that a training takes numbers below float32's normal range as 0?

    PYTHONPATH=scripts python benchmarks/denormals.py results/open

Updates of a fine-tuning from a study's checkpoint, on its own training reviews, in turn with and without
(`training.process.flush_denormals`), each time in a process of its own, on one core. Both must end at the same loss.
"""

import argparse
import json
import subprocess
import sys
import time

from common.machine import machine
from last_layer import tell

SIDES = ("kept", "taken as 0")


def updates(results, n, flush):
    """Print {seconds of a mean update, the last loss}; the first pass over the reviews is not counted."""
    import torch
    from transformers import RobertaForSequenceClassification

    from finetuning.scoring import pad_batch
    from finetuning.token_ids import read_token_ids
    from training.batching import length_sorted_batches
    from training.dropout import cheap_dropout
    from training.process import set_threads

    set_threads(1)
    torch.set_flush_denormal(flush)
    torch.manual_seed(1)
    model = RobertaForSequenceClassification.from_pretrained(f"{results}/checkpoint/huggingface").train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5, weight_decay=0.01, fused=True)
    ids, labels = read_token_ids(f"{results}/finetuning/token-ids/checkpoint/train.npz")
    batches = [
        pad_batch([ids[i] for i in batch], [labels[i] for i in batch])
        for batch in length_sorted_batches([len(one) for one in ids[:n]], 8)
    ]
    for _ in range(2):
        start = time.perf_counter()
        for batch in batches:
            with cheap_dropout():
                loss = model(**batch).loss
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
    print(json.dumps({"seconds": (time.perf_counter() - start) / len(batches), "loss": loss.item()}))


def main(arguments=None):
    """Print both medians and their ratio."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("results", help="a study's results, of which the checkpoint and the token ids are read")
    parser.add_argument("--reviews", type=int, default=96)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--side", choices=SIDES, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.side:
        return updates(options.results, options.reviews, options.side == SIDES[1])
    seconds, losses = {side: [] for side in SIDES}, set()
    for _ in range(options.rounds):
        for side in SIDES:
            words = [sys.executable, __file__, options.results, f"--reviews={options.reviews}", f"--side={side}"]
            said = json.loads(subprocess.run(words, capture_output=True, text=True, check=True).stdout)
            seconds[side].append(said["seconds"])
            losses.add(said["loss"])
    tell(seconds)
    print(f"last loss {' and '.join(map(str, sorted(losses)))}; one core of {machine()['cpu']}")


if __name__ == "__main__":
    main()
