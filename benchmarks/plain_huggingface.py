"""The alternative of a user: the sequence-classification recipe of Transformers' examples, every review padded.

Stock `Trainer`, float32, AdamW of PyTorch, random order, padding to the model's longest input, the test reviews
scored at the end. What it trains is what the workflow trains, so that only the way differs: the workflow's own fresh
model, decay on every tensor, no clipping; none of them takes other time.

With `--tuned` the same Trainer at its best on a CPU: the faster precision (`--precision`), batches of like lengths
padded to their longest, PyTorch's fused AdamW.

Source: `run_glue.py` of the Transformers examples with `--pad_to_max_length`.
"""

import argparse
import functools
import json
import os

import numpy as np
from torch.utils.data import Dataset
from transformers import Trainer, TrainingArguments

from finetuning.scoring import pad_batch
from finetuning.token_ids import read_token_ids
from frameworks.huggingface.classifier import build_model


class Reviews(Dataset):
    """A split's token ids and labels."""

    def __init__(self, path):
        self.sequences, self.labels = read_token_ids(path)

    def __len__(self):
        """Return the number of reviews."""
        return len(self.sequences)

    def __getitem__(self, i):
        """Return token ids, (T,), and label of a review."""
        return {"input_ids": self.sequences[i], "labels": self.labels[i]}


def padded(reviews, length=None):
    """Return a batch, tensors of ids and mask int64 (B, T) and labels (B,), padded to `length` or to its longest."""
    sequences, labels = ([review[key] for review in reviews] for key in ("input_ids", "labels"))
    return pad_batch(sequences, labels, length)


class DecayEverywhere(Trainer):
    """The Trainer with weight decay on biases and LayerNorms as well."""

    def get_decay_parameter_names(self, model):
        """Return the names of all parameters."""
        return [name for name, _ in model.named_parameters()]


def parse(arguments):
    """Return the options of the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("checkpoint", help="Hugging Face folder, or with --random: only its sizes are read")
    parser.add_argument("token_ids", help="folder of {train,valid,test}.npz")
    parser.add_argument("out", help="folder to write")
    parser.add_argument("--random", action="store_true", help="start from random weights")
    parser.add_argument("--tuned", action="store_true", help="like lengths together, fused AdamW, --precision")
    parser.add_argument("--precision", choices=["float32", "bfloat16"], default="bfloat16", help="of --tuned")
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--batch-size", type=int, default=8)
    parser.add_argument("--lr", type=float, default=1e-5)
    parser.add_argument("--warmup-updates", type=int, default=0)
    parser.add_argument("--betas", type=float, nargs=2, default=[0.9, 0.999])
    parser.add_argument("--weight-decay", type=float, default=0.0)
    parser.add_argument("--dropout", type=float, default=0.1)
    parser.add_argument("--max-length", type=int, default=256)
    parser.add_argument("--eval-batch-size", type=int, default=8)
    parser.add_argument("--seed", type=int, default=1)
    return parser.parse_args(arguments)


def main(arguments=None):
    """Train on `train`, validate on `valid` every epoch, score `test` at the end; write `run.json`."""
    options = parse(arguments)
    settings = {"classifier_dropout": 0.0, "head_initialisation": "linear", "token_types": False}
    model = build_model(
        options.checkpoint,
        "random" if options.random else "pretrained",
        options.seed,
        {"dropout": options.dropout, **settings},
    )
    splits = {split: Reviews(os.path.join(options.token_ids, f"{split}.npz")) for split in ("train", "valid", "test")}
    tuned = {"bf16": options.precision == "bfloat16"}
    tuned |= {"train_sampling_strategy": "group_by_length", "optim": "adamw_torch_fused"}
    os.environ["TENSORBOARD_LOGGING_DIR"] = os.path.join(options.out, "tensorboard")
    trainer = DecayEverywhere(
        model=model,
        args=TrainingArguments(
            output_dir=os.path.join(options.out, "trainer"),
            seed=options.seed,
            num_train_epochs=options.epochs,
            per_device_train_batch_size=options.batch_size,
            per_device_eval_batch_size=options.eval_batch_size,
            learning_rate=options.lr,
            warmup_steps=options.warmup_updates,
            adam_beta1=options.betas[0],
            adam_beta2=options.betas[1],
            weight_decay=options.weight_decay,
            **(tuned if options.tuned else {"optim": "adamw_torch"}),
            max_grad_norm=0.0,
            eval_strategy="epoch",
            save_strategy="epoch",
            save_total_limit=1,
            load_best_model_at_end=True,
            metric_for_best_model="accuracy",
            logging_steps=10,
            report_to=["tensorboard"],
            use_cpu=True,
        ),
        train_dataset=splits["train"],
        eval_dataset=splits["valid"],
        data_collator=functools.partial(padded, length=None if options.tuned else options.max_length),
        compute_metrics=lambda p: {"accuracy": float(np.mean(np.argmax(p.predictions, axis=1) == p.label_ids))},
    )
    trainer.train()
    test = trainer.evaluate(splits["test"], metric_key_prefix="test")
    with open(os.path.join(options.out, "run.json"), "w", encoding="utf-8") as handle:
        json.dump({"test_accuracy": test["test_accuracy"], "history": trainer.state.log_history}, handle)


if __name__ == "__main__":
    main()
