"""What does a linear classifier read in a study's checkpoint, layer by layer?

    PYTHONPATH=scripts python benchmarks/probe.py results/open [MODEL.pt ...]

Accuracy in five-fold cross-validation on the study's training and validation texts, whose test set is not read: of the
first token's states, which a fine-tuned head reads, and of the mean of all tokens'. Layer 0 is the embeddings. Without
MODEL it is the checkpoint itself; kept weights show whether more pretraining pays.
"""

import argparse

import numpy as np
import torch
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from checkpoint.convert_checkpoint import build_model, check_settings
from finetuning.scoring import pad_batch
from finetuning.token_ids import read_token_ids
from training.fairseq_checkpoint import load_fairseq_checkpoint
from training.process import set_threads
from training.roberta import sizes

BATCH = 16
# Inverse strengths of the penalty; the best one is shown.
PENALTIES = (1e-4, 1e-3, 1e-2)


def load_encoder(path):
    """Return the RobertaModel of a fairseq checkpoint, with attention that can be looked at."""
    loaded = load_fairseq_checkpoint(path)
    found = sizes(loaded["model"], path)
    architecture = found | {"heads": loaded["settings"]["encoder_attention_heads"]}
    model = build_model(loaded["model"], found, check_settings(loaded["settings"], found, architecture, path)).roberta
    model.set_attn_implementation("eager")
    return model.eval()


@torch.inference_mode()
def states(model, sequences):
    """Return what the layers make of texts.

    Args:
        sequences: token ids of each text.

    Returns:
        tuple: {(layer, "first" or "mean"): (texts, width) array}; entropy in nats of each layer's attention, mean over
        the texts' tokens and heads.
    """
    order = sorted(range(len(sequences)), key=lambda i: len(sequences[i]))
    kept, entropy, n_tokens = {}, 0, 0
    for start in range(0, len(order), BATCH):
        some = order[start : start + BATCH]
        batch = pad_batch([sequences[i] for i in some], [0] * len(some))
        mask = batch["attention_mask"]
        made = model(batch["input_ids"], mask, output_hidden_states=True, output_attentions=True)
        for layer, state in enumerate(made.hidden_states):
            mean = (state * mask[..., None]).sum(1) / mask.sum(1, keepdim=True)
            for name, values in (("first", state[:, 0]), ("mean", mean)):
                kept.setdefault((layer, name), np.empty((len(order), state.shape[-1])))[some] = values.numpy()
        attention = torch.stack(made.attentions)  # (layers, texts, heads, tokens, tokens)
        of_tokens = torch.special.entr(attention).sum(-1).mean(2)
        entropy, n_tokens = entropy + (of_tokens * mask).sum((1, 2)), n_tokens + mask.sum()
    return kept, (entropy / n_tokens).tolist()


def read_off(features, labels):
    """Return the best mean accuracy of five folds of a logistic regression on features (texts, width)."""
    models = (make_pipeline(StandardScaler(), LogisticRegression(C=c, max_iter=1000)) for c in PENALTIES)
    return max(cross_val_score(model, features, labels, cv=5).mean() for model in models)


def main(arguments=None):
    """Print a line for each layer of each model."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("results", help="a study's results, of which the checkpoint and the token ids are read")
    parser.add_argument("models", nargs="*", help="fairseq checkpoints with the same pieces")
    options = parser.parse_args(arguments)
    set_threads(1)
    ids, labels = [], []
    for split in ("train", "valid"):
        of_split = read_token_ids(f"{options.results}/finetuning/token-ids/checkpoint/{split}.npz")
        ids += list(of_split[0])
        labels += list(of_split[1])
    for path in options.models or [f"{options.results}/checkpoint/model.pt"]:
        kept, entropy = states(load_encoder(path), ids)
        print(f"{path}: {len(ids)} texts")
        for layer in range(len(entropy) + 1):
            first, mean = (read_off(kept[layer, name], labels) for name in ("first", "mean"))
            said = f", attention's entropy {entropy[layer - 1]:.2f} nats" if layer else ""
            # All texts begin with the same token, so its embedding is uninformative.
            print(f"  layer {layer}: mean {mean:.3f}" + (f", first {first:.3f}{said}" if layer else ""), flush=True)


if __name__ == "__main__":
    main()
