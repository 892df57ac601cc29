"""fairseq plug-in (`--user-dir`): the study's additions to fairseq, by registration only.

- architecture `roberta_small` of the course's checkpoint;
- optimizer `fused_adamw`: torch's fused AdamW, the one that the Hugging Face arm uses;
- optimizer `muon_adamw`: torch's Muon for the encoder's matrices, and that AdamW for the rest;
- criterion `study_classification`: what `training.objective` minimizes, beside the plain losses that are recorded;
- criterion `masked_lm_and_first_token`: fairseq's `masked_lm`, and the masked tokens predicted from `<s>`;
- tasks `review_classification` and `review_masked_lm`: fairseq's `sentence_prediction` and `masked_lm` with
  bfloat16 autocast while training, the study's batch plan, and an exact history file.
"""

import types

import numpy

from training.fairseq_checkpoint import allow_fairseq_classes
from training.fairseq_plugin import (
    architecture,  # noqa: F401 - registration
    criterion,  # noqa: F401 - registration
    optimizer,  # noqa: F401 - registration
    tasks,  # noqa: F401 - registration
)

allow_fairseq_classes()
# fairseq 0.12 names this alias of NumPy 1 in `--sample-break-mode eos`; NumPy 2 has dropped it.
if not hasattr(numpy, "compat"):
    numpy.compat = types.SimpleNamespace(long=numpy.int64)
