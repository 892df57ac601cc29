"""Fine-tuning that notes what it holds and cuts: copies of the checkpoint, memory once freed blocks are handed back."""

import gc
import os

import torch

from common.files import write_json
from finetuning import runs
from frameworks.fairseq import train as finetune_fairseq
from frameworks.huggingface import study_trainer
from frameworks.huggingface import train as finetune_huggingface
from training.process import release_memory

NAMES = {
    "fairseq": "encoder.sentence_encoder.embed_tokens.weight",
    "huggingface": "roberta.embeddings.word_embeddings.weight",
}


def resident():
    """Return the resident memory of this process in MB."""
    with open("/proc/self/statm", encoding="utf-8") as handle:
        return int(handle.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6


def main(framework, held, **arguments):
    """Fine-tune with a framework; write what it did.

    copies: copies of the checkpoint's table at each saved state; released: MB each; cut: layers of each encoder whose
    last one computes the first position alone.
    """
    script = {"fairseq": finetune_fairseq, "huggingface": finetune_huggingface}[framework]
    start, found = {}, {"copies": [], "released": [], "cut": []}
    prove, save, cut = script.prove_weights, runs.save_state, script.train_first_position

    def proved(memory, *others, **more):
        # Its bytes, so that this itself is no copy that could be counted.
        start["table"] = memory[NAMES[framework]].detach().numpy().tobytes()
        return prove(memory, *others, **more)

    def saved(folder, state):
        tensors = (thing for thing in gc.get_objects() if type(thing) in (torch.Tensor, torch.nn.Parameter))
        kept = {t.data_ptr(): t for t in tensors if t.numel() * 4 == len(start["table"]) and t.dtype == torch.float32}
        found["copies"].append(sum(t.detach().numpy().tobytes() == start["table"] for t in kept.values()))
        save(folder, state)

    def noted(layers):
        found["cut"].append(len(layers))
        cut(layers)

    def released():
        release_memory()
        found["released"].append(resident())

    script.prove_weights, runs.save_state, script.train_first_position = proved, saved, noted
    if framework == "fairseq":
        from training.fairseq_commands import import_fairseq

        import_fairseq()
        from training.fairseq_plugin import tasks

        tasks.release_memory = released
    else:
        study_trainer.release_memory = released
    script.main(**arguments)
    write_json(held, found)
