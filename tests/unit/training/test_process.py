"""Numbers below float32's normal range: 0 in every thread of a training, and no gradient is another for it."""

import subprocess
import sys

import pytest

from support.studies import ROOT

START = "import torch; from training.process import set_threads; set_threads(2); "
# The smallest one, from its bits: a number in the code would be 0 already. A million of them are both threads' work.
PRODUCT = "print(int((torch.ones(10**6, dtype=torch.int32).view(torch.float32) * 1.0 != 0).sum()))"
# A layer whose scores lie up to hundreds apart, with AdamW's memory of a row that no batch names again; what it learns.
LEARN = """
import hashlib
from training.dropout import attend
torch.set_flush_denormal({flush})
torch.manual_seed(1)
table, weight = (torch.randn(size).mul_(3).requires_grad_() for size in ((50, 64), (64, 64)))
optimizer = torch.optim.AdamW([table, weight], lr=1e-3, betas=(0.1, 0.2), fused=True)
met, tiny = 0, torch.finfo(torch.float32).tiny
for step in range(60):
    ids = torch.arange(12 if step else 50).repeat(4, 8)[:, :64]
    hidden = table[ids].view(4, -1, 2, 32).transpose(1, 2)
    scores = torch.softmax(hidden @ hidden.mT / 32**0.5, -1)
    met += int(((scores > 0) & (scores < tiny)).sum())
    mixed = attend(hidden, hidden, hidden, None, 0.1).transpose(1, 2).flatten(2)
    (mixed @ weight).square().mean().backward()
    optimizer.step()
    optimizer.zero_grad()
memory = optimizer.state[table]["exp_avg"].abs()
met += int(((memory > 0) & (memory < tiny)).sum())
content = b"".join(tensor.detach().numpy().tobytes() for tensor in (table, weight))
print(met, hashlib.sha256(content).hexdigest())
"""


def said(code):
    """Return the output of a separate process: the setting is the thread's, and would stay."""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=f"{ROOT}/scripts"
    )
    return done.stdout.split()


def test_every_thread_of_a_training_takes_them_as_zero():
    assert said(START + PRODUCT) == ["0"]
    # The test would notice if not.
    assert said("import torch; " + PRODUCT) == [str(10**6)]


def test_what_is_learnt_is_the_same_bit_for_bit():
    (many, with_them), (none, without) = (said(START + LEARN.format(flush=flush)) for flush in (False, True))
    assert int(many) > 1000 and none == "0"
    assert with_them == without


# The first steps of a run of each kind; those of question answering stop soon after, for want of a model.
FIRST = {
    "finetuning": """
from finetuning.runs import Run
Run({"init": "random"}, 1, {"precision": "float32", "init_seed": None, "data_seed": None}, 2)
""",
    "lora": """
from qa.tuning import train_run
try:
    train_run("", "", "nowhere", 1, {}, {}, "", "", 0)
except Exception:
    pass
""",
    "qa base": """
from qa.build_qa_base_model import train_model
try:
    train_model(None, None, {})
except Exception:
    pass
""",
    "qa evaluation": """
from qa.evaluate_qa import main
try:
    main(*[""] * 10)
except Exception:
    pass
""",
}


@pytest.mark.parametrize("kind", FIRST)
def test_each_training_sets_it_first(kind):
    assert said(f"import torch{FIRST[kind]}{PRODUCT}") == ["0"]
