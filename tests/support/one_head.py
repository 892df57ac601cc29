"""Fine-tuning in which both frameworks start with the same classification head: fairseq's, handed over in a file."""

import torch

from frameworks.fairseq import train as finetune_fairseq
from frameworks.huggingface import train as finetune_huggingface


def main(framework, head, **arguments):
    """Fine-tune with a framework whose model's head is first put into the file `head`, or taken from there."""
    script = {"fairseq": finetune_fairseq, "huggingface": finetune_huggingface}[framework]

    def keep(model, init, drawn):
        torch.save(next(iter(model.classification_heads.values())).state_dict(), head)
        return {}

    def take(model, init, drawn):
        model.classifier.load_state_dict(torch.load(head, weights_only=True))
        return {}

    # Both scripts call it on the model that is about to be trained.
    script.initialisation = keep if framework == "fairseq" else take
    script.main(**arguments)
