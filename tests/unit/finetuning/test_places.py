"""Every tensor of another's encoder has a place in the model that is trained, or the model is refused by name."""

import os
import shutil

import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import AutoConfig, AutoModel, AutoModelForMaskedLM, AutoModelForPreTraining

from common.errors import StudyError
from common.files import read_json, write_json
from finetuning import take_model
from support.encoders import FAMILIES, write_encoder

POINTER = "version https://git-lfs.github.com/spec/v1\noid sha256:{}\nsize 9\n".format("0" * 64)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("made")
    for family in FAMILIES:
        write_encoder(folder / family, family)
    return folder


@pytest.fixture
def bert(made, tmp_path):
    return shutil.copytree(made / "bert", tmp_path / "bert")


def take(folder, **settings):
    take_model.main([str(folder)], "mine", str(folder.parent / "out"), **settings)
    return folder.parent / "out"


def refuse(folder, *said, **settings):
    with pytest.raises(StudyError) as caught:
        take(folder, **settings)
    message = str(caught.value)
    assert message.startswith(f"finetuning.models.mine: {folder}") and "\n" not in message
    for words in said:
        assert words in message, message
    assert not (folder.parent / "out").exists()


def change(folder, **fields):
    write_json(folder / "config.json", read_json(folder / "config.json") | fields)


def change_tensors(folder, of):
    path = folder / "model.safetensors"
    save_file(of(load_file(path)), path, metadata={"format": "pt"})


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("bare", [False, True], ids=["with heads", "bare"])
def test_a_file_of_more_layers_than_the_configuration_says(made, tmp_path, family, bare):
    folder = shutil.copytree(made / family, tmp_path / family)
    if bare:
        AutoModel.from_pretrained(str(folder)).save_pretrained(folder)
    layers = "n_layers" if family == "distilbert" else "num_hidden_layers"
    # A list of kinds of layers is as long as there are layers.
    kinds = {"layer_types": read_json(folder / "config.json")["layer_types"][:1]} if family == "modernbert" else {}
    change(folder, **{layers: 1}, **kinds)
    said = ".1." if family != "distilbert" else "layer.1."
    refuse(folder, said, "has no place in the model that config.json describes", "of the encoder's")
    change(folder, **{layers: 2}, **({"layer_types": ["full_attention"] * 2} if kinds else {}))
    take(folder)


@pytest.mark.parametrize("kind", ["relative_key", "relative_key_query"])
@pytest.mark.parametrize("family", ["bert", "electra", "roberta"])
def test_relative_positions_that_transformers_no_longer_has(made, tmp_path, family, kind):
    folder = shutil.copytree(made / family, tmp_path / family)
    change(folder, position_embedding_type=kind)
    names = [f"{family}.encoder.layer.{k}.attention.self.distance_embedding.weight" for k in range(2)]
    change_tensors(folder, lambda tensors: tensors | {name: torch.randn(47, 8) for name in names})
    refuse(folder, names[0], "2 of the encoder's", "such as relative positions")


@pytest.mark.parametrize("family", ["bert", "electra", "roberta"])
def test_relative_positions_that_the_file_has_no_tensors_of(made, tmp_path, family):
    """The configuration alone would have trained with absolute positions, unsaid."""
    folder = shutil.copytree(made / family, tmp_path / family)
    change(folder, position_embedding_type="relative_key")
    refuse(folder, "position_embedding_type relative_key", "trains with absolute positions")


def test_an_adapter_inside_the_encoder(bert):
    name = "bert.encoder.layer.0.attention.self.query.lora_A.weight"
    change_tensors(bert, lambda tensors: tensors | {name: torch.randn(2, 16)})
    refuse(bert, f"{name} has no place", "1 of the encoder's")


@pytest.mark.parametrize("family", FAMILIES)
def test_heads_of_other_tasks_and_computed_buffers_are_no_loss(made, tmp_path, family):
    """Return a publisher's tensors beside the encoder: its pretraining's heads, a pooler, numbers of positions."""
    folder = shutil.copytree(made / family, tmp_path / family)
    torch.manual_seed(1)
    config = AutoConfig.from_pretrained(str(folder))
    kind = AutoModelForMaskedLM if family == "modernbert" else AutoModelForPreTraining
    whole = kind.from_config(config)
    whole.save_pretrained(folder)
    prefix = whole.base_model_prefix
    more = {f"{prefix}.embeddings.position_ids": torch.arange(24)[None], "qa_outputs.weight": torch.randn(2, 16)}
    if family in ("bert", "roberta", "camembert", "xlm-roberta"):
        more |= {f"{prefix}.pooler.dense.{part}": torch.randn(*([16] * n)) for part, n in (("weight", 2), ("bias", 1))}
    change_tensors(folder, lambda tensors: tensors | more)
    take(folder)


@pytest.mark.parametrize(
    ("wrapper", "maker"), [("module", "DataParallel"), ("_orig_mod", "torch.compile"), ("net", "a module around")]
)
@pytest.mark.parametrize("bare", [False, True])
def test_names_under_a_wrapper_are_told_as_such(bert, wrapper, maker, bare):
    if bare:
        AutoModel.from_pretrained(str(bert)).save_pretrained(bert)
    plain = load_file(bert / "model.safetensors")
    change_tensors(bert, lambda tensors: {f"{wrapper}.{name}": tensor for name, tensor in tensors.items()})
    refuse(bert, f"names of its tensors begin with `{wrapper}.`", maker, f"take `{wrapper}.` off the names")
    save_file(plain, bert / "model.safetensors", metadata={"format": "pt"})
    take(bert)


@pytest.mark.parametrize("name", ["model.safetensors", "tokenizer.json", "config.json", "pytorch_model.bin"])
def test_pointers_of_git_lfs_are_told_as_such(bert, name):
    if name == "pytorch_model.bin":
        os.remove(bert / "model.safetensors")
    (bert / name).write_text(POINTER)
    refuse(bert, f"{name} is a Git LFS pointer", "`git lfs pull`")


def test_the_settings_may_shorten_inputs_but_not_lengthen_them(bert):
    refuse(bert, "max_tokens is 25, and the model has 24 positions", "at most 24", max_tokens=25)
    taken = take(bert, max_tokens=9)
    assert read_json(taken / "conversion.json")["max_positions"] == 9
    assert read_json(taken / "tokenizer_config.json")["model_max_length"] == 9


def test_the_settings_may_go_beyond_a_tokenizer_that_cuts_short(bert):
    tokenizer = bert / "tokenizer_config.json"
    write_json(tokenizer, read_json(tokenizer) | {"model_max_length": 10})
    assert read_json(take(bert, max_tokens=20) / "conversion.json")["max_positions"] == 20


@pytest.mark.parametrize("dtype", [torch.int8, torch.uint8, torch.float8_e4m3fn])
def test_quantised_numbers_without_their_scales(bert, dtype):
    change_tensors(bert, lambda tensors: {name: tensor.to(dtype) for name, tensor in tensors.items()})
    refuse(bert, f"is stored as {str(dtype).removeprefix('torch.')}, which cannot be trained")


def test_weights_that_are_all_alike(bert):
    change_tensors(bert, lambda tensors: {name: tensor * 0 for name, tensor in tensors.items()})
    refuse(bert, "each tensor of its weights has one value alone")


def test_two_names_of_one_tensor(bert):
    name = "bert.embeddings.LayerNorm.gamma"
    change_tensors(bert, lambda tensors: tensors | {name: torch.randn(16)})
    refuse(bert, f"have both {name} and bert.embeddings.LayerNorm.weight")


@pytest.mark.parametrize("settings", [{}, {"max_tokens": 2}])
def test_inputs_that_have_no_place_for_a_text(bert, settings):
    if not settings:
        tokenizer = bert / "tokenizer_config.json"
        write_json(tokenizer, read_json(tokenizer) | {"model_max_length": 2})
    refuse(bert, "an input of 2 tokens has no place for a text beside 2 special ones", **settings)


@pytest.mark.parametrize("name", ["config.json", "tokenizer_config.json"])
@pytest.mark.parametrize(("content", "said"), [("{", "is not valid JSON"), ("[1]", "is no block of names and values")])
def test_files_that_hold_something_else(bert, name, content, said):
    (bert / name).write_text(content)
    refuse(bert, f"{name} {said}", "get the file again")


def test_relative_attention_that_the_configuration_turns_off(made, tmp_path):
    folder = shutil.copytree(made / "deberta-v2", tmp_path / "deberta-v2")
    change(folder, relative_attention=False, pos_att_type=[])
    refuse(folder, "deberta.encoder.", "has no place in the model that config.json describes")
