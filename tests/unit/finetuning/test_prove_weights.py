"""The starting weights of every run, judged after all runs."""

import pytest
import torch

from common.errors import StudyError
from common.files import read_tsv, write_json
from finetuning import prove_weights
from support.arms import facts
from training.weights import prove_weights as prove
from training.weights import tensor_sha256


def draw(seed):
    generator = torch.Generator().manual_seed(seed)
    return {
        "encoder.a": torch.randn(3, 2, generator=generator),
        "encoder.b": torch.randn(4, generator=generator),
        "encoder.norm": torch.ones(4),
        "head.w": torch.randn(2, generator=generator),
    }


@pytest.fixture
def study(tmp_path):
    """Two runs' proofs and the converted checkpoint, as the rules leave them."""
    checkpoint = {name: tensor for name, tensor in draw(1).items() if not name.startswith("head.")}
    hashes = {name: tensor_sha256(tensor) for name, tensor in checkpoint.items()}
    (tmp_path / "huggingface").mkdir()
    write_json(tmp_path / "huggingface" / "conversion.json", {"tensors": hashes})
    for init, memory, reference in (
        ("pretrained", checkpoint | {"head.w": draw(2)["head.w"]}, checkpoint),
        ("random", draw(3), {}),
    ):
        folder = tmp_path / "finetuning" / f"fairseq-{init}" / "seed4"
        folder.mkdir(parents=True)
        write_json(folder / "weights.json", prove(memory, reference, init, head="head."))
    return tmp_path


def run(study):
    proofs = [study / "finetuning" / f"fairseq-{init}" / "seed4" / "weights.json" for init in ("pretrained", "random")]
    arms = {f"fairseq-{init}": list(facts("fairseq", init).values()) for init in ("pretrained", "random")}
    prove_weights.main(proofs, [study / "huggingface"], ["checkpoint"], arms, study / "weights.tsv")
    return read_tsv(study / "weights.tsv")


def test_the_counts_of_each_run(study):
    one, two = run(study)
    names = ("arm", "framework", "model", "init", "seed", *prove_weights.COUNTS, "head")
    assert list(one) == list(prove_weights.COLUMNS) == list(names)
    assert list(one.values()) == [
        "fairseq-pretrained",
        "fairseq",
        "checkpoint",
        "pretrained",
        "4",
        "3",
        "2",
        "0",
        "1",
        "new",
    ]
    assert list(two.values()) == ["fairseq-random", "fairseq", "checkpoint", "random", "4", "3", "0", "2", "1", "new"]


def test_an_arm_of_an_earlier_update_is_held_to_the_weights_kept_there(study):
    proof = study / "finetuning" / "fairseq-pretrained" / "seed4" / "weights.json"
    kept = {name: tensor for name, tensor in draw(7).items() if not name.startswith("head.")}
    (study / "kept").mkdir()
    hashes = {name: tensor_sha256(tensor) for name, tensor in kept.items()}
    write_json(study / "kept" / "conversion.json", {"tensors": hashes})
    models, folders = ["checkpoint", "checkpoint at update 6"], [study / "huggingface", study / "kept"]
    arguments = [folders, models, {"fairseq-pretrained": list(facts("fairseq", "pretrained").values())}]
    # It started from the last weights, so the kept ones are not its own; and the reverse.
    with pytest.raises(StudyError, match="is not the checkpoint's"):
        prove_weights.main([proof], *arguments, study / "weights.tsv", {"fairseq-pretrained": 6})
    write_json(proof, prove(kept | {"head.w": draw(2)["head.w"]}, kept, "pretrained", head="head."))
    prove_weights.main([proof], *arguments, study / "weights.tsv", {"fairseq-pretrained": 6})
    assert read_tsv(study / "weights.tsv")[0]["n_new"] == "0"
    with pytest.raises(StudyError, match="is not the checkpoint's"):
        prove_weights.main([proof], *arguments, study / "weights.tsv")


def test_a_run_is_held_to_the_pretraining_of_its_seed(study):
    other = {name: tensor for name, tensor in draw(7).items() if not name.startswith("head.")}
    (study / "other").mkdir()
    hashes = {name: tensor_sha256(tensor) for name, tensor in other.items()}
    write_json(study / "other" / "conversion.json", {"tensors": hashes})
    arms = {f"fairseq-{init}": list(facts("fairseq", init).values()) for init in ("pretrained", "random")}
    start = [[study / "huggingface", study / "other"], ["checkpoint", "checkpoint of seed 12"], arms]
    proofs = [study / "finetuning" / f"fairseq-{init}" / "seed4" / "weights.json" for init in ("pretrained", "random")]
    table = study / "weights.tsv"
    # Seed 4 has the first; told that it should have the other, the run is refused, and the reverse.
    prove_weights.main(proofs, *start, table, pretrainings={"fairseq-pretrained/seed5": 12})
    with pytest.raises(StudyError, match="seed4/weights.json: tensor encoder.a is not the checkpoint's"):
        prove_weights.main(proofs, *start, table, pretrainings={"fairseq-pretrained/seed4": 12})
    write_json(proofs[0], prove(other | {"head.w": draw(2)["head.w"]}, other, "pretrained", head="head."))
    prove_weights.main(proofs, *start, table, pretrainings={"fairseq-pretrained/seed4": 12})
    assert [row["n_equal"] for row in read_tsv(table)] == ["2", "0"]
    with pytest.raises(StudyError, match="is not the checkpoint's"):
        prove_weights.main(proofs, *start, table, pretrainings={"fairseq-pretrained/seed5": 12})
    # A random run has no tensor of either.
    memory = draw(3) | {"encoder.a": other["encoder.a"]}
    write_json(proofs[1], prove(memory, {}, "random", head="head."))
    with pytest.raises(StudyError, match="tensor encoder.a: it is not random"):
        prove_weights.main(proofs, *start, table, pretrainings={"fairseq-pretrained/seed4": 12})


@pytest.mark.parametrize("name", ["encoder.a", "encoder.q"])
def test_a_random_run_with_a_tensor_of_the_checkpoint_is_told(study, name):
    folder = study / "finetuning" / "fairseq-random" / "seed4"
    memory = draw(3) | {name: draw(1)["encoder.a"]}
    write_json(folder / "weights.json", prove(memory, {}, "random", head="head."))
    with pytest.raises(StudyError, match=f"seed4/weights.json: .*tensor {name}: it is not random"):
        run(study)
    assert not (study / "weights.tsv").exists()


def test_a_pretrained_run_from_another_checkpoint_is_told(study):
    folder = study / "finetuning" / "fairseq-pretrained" / "seed4"
    write_json(folder / "weights.json", prove(draw(5), draw(5), "pretrained", head="head."))
    with pytest.raises(StudyError, match="tensor encoder.a is not the checkpoint's: train the run again"):
        run(study)
