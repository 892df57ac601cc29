"""RoBERTa's weights under both names, and fairseq's checkpoint files, broken ones among them."""

import argparse
import io
import os
import pickle
import tarfile

import pytest
import torch

from common.errors import StudyError
from support.roberta import ROWS, batch, fairseq_model, huggingface_config
from training.fairseq_checkpoint import load_fairseq_checkpoint
from training.roberta import count_layers, sizes, to_fairseq, to_huggingface, upgrade_names


def weights():
    """Its tensors, without the counter that fairseq keeps among them."""
    return upgrade_names(fairseq_model(ROWS).state_dict())


def test_classifier_logits_equal_fairseq_both_ways():
    from transformers import RobertaForSequenceClassification

    theirs = fairseq_model(ROWS, classification=True)
    ours = RobertaForSequenceClassification(huggingface_config(ROWS, num_labels=2)).eval()
    ours.load_state_dict(to_huggingface(theirs.state_dict(), "sentence_classification_head"), strict=True)
    tokens = batch()
    with torch.no_grad():
        expected, _ = theirs(tokens, classification_head_name="sentence_classification_head")
        assert (ours(tokens, attention_mask=tokens.ne(1).long()).logits - expected).abs().max() < 1e-4
        # Fine-tuning moves the token-type row: back in fairseq it is part of the positions.
        ours.roberta.embeddings.token_type_embeddings.weight += 0.25
        expected = ours(tokens, attention_mask=tokens.ne(1).long()).logits
        state = theirs.state_dict() | to_fairseq(ours.state_dict())
        theirs.load_state_dict(state)
        logits, _ = theirs(tokens, classification_head_name="sentence_classification_head")
        assert (logits - expected).abs().max() < 1e-4


def old_name(name):
    return name.replace("encoder.", "decoder.", 1).replace("layernorm_embedding", "emb_layer_norm")


def test_old_names():
    state = weights()
    old = {}
    for name, tensor in state.items():
        name = old_name(name)
        if "q_proj" in name:
            parts = [state[n] for n in (_renamed(name, p) for p in ("q_proj", "k_proj", "v_proj"))]
            kind = name.rsplit(".", 1)[1]
            old[name.split("q_proj")[0] + f"in_proj_{kind}"] = torch.cat(parts)
        elif "k_proj" not in name and "v_proj" not in name:
            old[name] = tensor
    old["decoder.version"] = torch.ones(1)
    upgraded = upgrade_names(old)
    assert upgraded.keys() == state.keys()
    assert all(torch.equal(upgraded[name], state[name]) for name in state)


def _renamed(name, projection):
    name = name.replace("decoder.", "encoder.").replace("emb_layer_norm", "layernorm_embedding")
    return name.replace("q_proj", projection)


def test_old_names_load_into_fairseq_too():
    """Our renaming is fairseq's: a state under old names gives the same model in both."""
    model = fairseq_model(ROWS)
    old = {old_name(name): tensor.clone() for name, tensor in model.state_dict().items()}
    theirs = dict(old)
    model.upgrade_state_dict_named(theirs, "")
    ours = upgrade_names(old)
    assert theirs.keys() - ours.keys() <= {"encoder.sentence_encoder.version"}
    assert all(torch.equal(theirs[name], ours[name]) for name in ours)


def test_sizes_name_the_tensor():
    state = weights()
    assert sizes(state) == {"layers": 2, "width": 16, "ffn_width": 24, "max_positions": 12, "rows": ROWS}
    assert count_layers({}) == 0
    name = "encoder.sentence_encoder.layers.1.fc1.weight"
    removed = {n: t for n, t in state.items() if n != name}
    with pytest.raises(StudyError, match=name):
        sizes(removed)
    renamed = removed | {"encoder.sentence_encoder.layers.1.fc9.weight": state[name]}
    with pytest.raises(StudyError, match="layers.1.fc1.weight"):
        sizes(renamed)
    with pytest.raises(StudyError, match="fc9.weight"):
        sizes(state | {"encoder.sentence_encoder.layers.1.fc9.weight": state[name]})
    with pytest.raises(StudyError, match=r"fc1.weight has shape \(24, 15\), expected \(24, 16\)"):
        sizes(state | {name: state[name][:, :15]})


class Evil:
    def __reduce__(self):
        return (os.mkdir, ("pwned",))


KINDS = ["missing", "truncated", "text", "no model", "not tensors", "code", "empty"]
# PyTorch's own form before its zip: a row of pickles, or a tar of them.
KINDS += ["legacy code", "legacy truncated", "legacy pickle", "legacy tar"]


@pytest.mark.parametrize("kind", KINDS)
def test_broken_checkpoints(tmp_path, monkeypatch, kind):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "model.pt"
    if kind == "truncated":
        torch.save({"model": weights()}, path)
        path.write_bytes(path.read_bytes()[:5000])
    elif kind == "text":
        path.write_text("<html>404</html>")
    elif kind == "no model":
        torch.save({"weights": {}}, path)
    elif kind == "not tensors":
        torch.save({"model": {"a": 3}}, path)
    elif kind == "code":
        torch.save({"model": {"a": torch.ones(1)}, "args": Evil()}, path)
    elif kind == "empty":
        path.write_bytes(b"")
    elif kind == "legacy code":
        torch.save({"model": weights(), "args": Evil()}, path, _use_new_zipfile_serialization=False)
    elif kind == "legacy truncated":
        torch.save({"model": weights()}, path, _use_new_zipfile_serialization=False)
        path.write_bytes(path.read_bytes()[:5000])
    elif kind == "legacy pickle":
        path.write_bytes(pickle.dumps(Evil()))
    elif kind == "legacy tar":
        with tarfile.open(path, "w") as archive:
            for name in ("sys_info", "pickle", "storages", "tensors"):
                entry = tarfile.TarInfo(name)
                entry.size = len(pickle.dumps(Evil()))
                archive.addfile(entry, io.BytesIO(pickle.dumps(Evil())))
    with pytest.raises(StudyError, match="model.pt.*holds a posix.mkdir" if kind.endswith("code") else "model.pt"):
        load_fairseq_checkpoint(str(path))
    assert not (tmp_path / "pwned").exists()


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
def test_a_value_that_is_no_number_names_the_tensor(tmp_path, value, dtype):
    state = {name: tensor.to(dtype) for name, tensor in weights().items()}
    name = "encoder.sentence_encoder.layers.1.fc2.weight"
    state[name] = state[name].clone()
    state[name][3, 5] = value
    torch.save({"model": state}, tmp_path / "model.pt")
    with pytest.raises(StudyError, match=rf"model.pt: 1 of the 384 values of tensor {name} are infinite or not a num"):
        load_fairseq_checkpoint(str(tmp_path / "model.pt"))


def test_a_sound_legacy_file_is_read(tmp_path):
    state = {"model": weights(), "args": argparse.Namespace(encoder_attention_heads=4)}
    torch.save(state, tmp_path / "model.pt", _use_new_zipfile_serialization=False)
    loaded = load_fairseq_checkpoint(str(tmp_path / "model.pt"))
    assert loaded["settings"] == {"encoder_attention_heads": 4} and len(loaded["model"]) == len(weights())


def test_half_precision_and_new_style_settings(tmp_path):
    import numpy

    model = fairseq_model(ROWS)
    torch.save(
        {
            "cfg": {"model": argparse.Namespace(encoder_attention_heads=4)},
            "model": {name: tensor.half() for name, tensor in model.state_dict().items()},
            "extra_state": {"best": numpy.float64(0.5), "val_loss": numpy.float32(1.5)},
        },
        tmp_path / "model.pt",
    )
    loaded = load_fairseq_checkpoint(str(tmp_path / "model.pt"))
    assert loaded["settings"] == {"encoder_attention_heads": 4}
    assert all(tensor.dtype == torch.float32 for tensor in loaded["model"].values())
