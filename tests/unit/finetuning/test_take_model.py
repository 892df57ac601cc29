"""Models as people have them: half a folder, code in it, another precision, other labels. Taken whole, or refused."""

import json
import os
import shutil

import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import (
    AutoConfig,
    AutoModelForSequenceClassification,
    AutoTokenizer,
    BartConfig,
    BartForSequenceClassification,
    FunnelConfig,
    FunnelForMaskedLM,
    GPT2Config,
    GPT2ForSequenceClassification,
    GPT2Model,
    T5Config,
    T5ForConditionalGeneration,
)

from common.errors import StudyError
from common.files import read_json, write_json, write_lines
from finetuning import encoders, take_model, tokenize_texts
from finetuning.encoders import build_encoder, head_dropouts, prove_encoder
from finetuning.prove_weights import judge
from frameworks.huggingface import train as finetune_huggingface
from support.encoders import TEXTS, write_encoder
from support.studies import FINETUNING

SIZES = {"n_embd": 8, "n_layer": 1, "n_head": 1}


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("made")
    for family in ("bert", "roberta"):
        write_encoder(folder / family, family)
    return folder


@pytest.fixture
def bert(made, tmp_path):
    return shutil.copytree(made / "bert", tmp_path / "bert")


def refuse(folder, *said, **settings):
    """The one message, which names the setting and the folder; nothing is left."""
    out = folder.parent / "out"
    with pytest.raises(StudyError) as caught:
        take_model.main([str(folder)], "mine", str(out), **settings)
    message = str(caught.value)
    assert message.startswith(f"finetuning.models.mine: {folder}") and "\n" not in message and ".part-" not in message
    for words in said:
        assert words in message, message
    assert not out.exists() and not (folder.parent / ".part-out").exists()


def take(folder, **settings):
    out = folder.parent / "out"
    take_model.main([str(folder)], "mine", str(out), **settings)
    return out


def start(folder, classes=("a", "b")):
    """The model of an arm that starts from a taken folder, its weights proved, and the names of fresh tensors."""
    model, fresh = build_encoder(str(folder), "pretrained", 1, FINETUNING, classes)
    prove_encoder(model, fresh, load_file(folder / "model.safetensors"), "pretrained")
    return model, fresh


def change(path, **fields):
    content = read_json(path) | fields
    write_json(path, {key: value for key, value in content.items() if value != "absent"})


def change_tensors(folder, of):
    path = folder / "model.safetensors"
    save_file(of(load_file(path)), path, metadata={"format": "pt"})


# ---- Refused --------------------------------------------------------------------------------------------------------


def test_weights_in_other_forms_are_named(bert):
    os.rename(bert / "model.safetensors", bert / "tf_model.h5")
    refuse(bert, "has no weights (model.safetensors or pytorch_model.bin; tf_model.h5 is none of these forms)")


def test_an_adapter_is_no_model(bert):
    os.rename(bert / "model.safetensors", bert / "adapter_model.safetensors")
    (bert / "adapter_config.json").write_text("{}")
    refuse(bert, "adapter_model.safetensors is none of these forms: merge the adapter into its base first")


class Hostile:
    def __reduce__(self):
        return (os.mkdir, (self.place,))


def test_a_pickle_that_runs_code(bert):
    os.remove(bert / "model.safetensors")
    hostile = Hostile()
    hostile.place = str(bert.parent / "pwned")
    torch.save({"weight": hostile}, bert / "pytorch_model.bin")
    refuse(bert, "pytorch_model.bin is pickled and holds more than tensors", "Convert it to model.safetensors")
    assert not os.path.exists(hostile.place)


def test_a_pickle_of_something_else(bert):
    os.remove(bert / "model.safetensors")
    torch.save([torch.zeros(2)], bert / "pytorch_model.bin")
    refuse(bert, "pytorch_model.bin is no map of names to tensors")


@pytest.mark.parametrize("keep", [100, 4000])
def test_truncated_weights(bert, keep):
    path = bert / "model.safetensors"
    path.write_bytes(path.read_bytes()[:keep])
    refuse(bert, "model.safetensors cannot be read (", "get it again")


def test_a_missing_tensor(bert):
    name = "bert.encoder.layer.1.output.dense.weight"
    change_tensors(bert, lambda tensors: {key: tensor for key, tensor in tensors.items() if key != name})
    refuse(bert, f"has no tensor {name} that fits config.json: 1 of the encoder would stay random")


def test_a_tensor_of_another_size(bert):
    name = "bert.embeddings.word_embeddings.weight"
    change_tensors(bert, lambda tensors: tensors | {name: tensors[name][:-3].clone()})
    refuse(bert, f"has no tensor {name} that fits config.json")


def test_weights_of_another_model(bert, made):
    shutil.copyfile(made / "roberta" / "model.safetensors", bert / "model.safetensors")
    refuse(bert, "has no tensor bert.", "would stay random")


def test_values_that_are_not_finite(bert):
    name = "bert.encoder.layer.0.output.dense.weight"
    change_tensors(bert, lambda tensors: tensors | {name: tensors[name] * float("nan")})
    refuse(bert, f"tensor {name} has values that are not finite")


def test_sizes_that_do_not_fit_each_other(bert):
    change(bert / "config.json", num_attention_heads=3)
    refuse(bert, "the model cannot be used (ValueError: ", "must be of one model")


def shards(folder):
    """Save the weights in three files with an index, as Transformers does; return the names."""
    tensors = load_file(folder / "model.safetensors")
    os.remove(folder / "model.safetensors")
    names, places = [f"model-0000{k}-of-00003.safetensors" for k in (1, 2, 3)], {}
    for k, name in enumerate(names):
        part = {key: tensor for i, (key, tensor) in enumerate(sorted(tensors.items())) if i % 3 == k}
        save_file(part, folder / name, metadata={"format": "pt"})
        places |= dict.fromkeys(part, name)
    write_json(folder / "model.safetensors.index.json", {"metadata": {}, "weight_map": places})
    return names


def test_a_missing_shard(bert):
    names = shards(bert)
    os.remove(bert / names[1])
    refuse(bert, f"lacks {names[1]}, a part of its weights", "hub.files")
    os.remove(bert / "model.safetensors.index.json")
    refuse(bert, f"lacks {names[1]}, a part of its weights")


def test_an_index_that_names_what_no_file_holds(bert):
    shards(bert)
    index = bert / "model.safetensors.index.json"
    places = read_json(index)["weight_map"]
    change(index, weight_map=places | {"bert.more": next(iter(places.values()))})
    refuse(bert, "no file holds tensor bert.more, which the index names")
    change(index, weight_map=places | {"bert.more": "../elsewhere.safetensors"})
    refuse(bert, "model.safetensors.index.json has no `weight_map` of tensors to files")


@pytest.mark.parametrize(
    ("model", "kind"),
    [
        (GPT2Model(GPT2Config(vocab_size=80, **SIZES)), "gpt2"),
        (GPT2ForSequenceClassification(GPT2Config(vocab_size=80, **SIZES)), "gpt2"),
        (
            T5ForConditionalGeneration(T5Config(vocab_size=80, d_model=8, d_ff=8, d_kv=4, num_layers=1, num_heads=2)),
            "T5ForConditionalGeneration",
        ),
        (
            BartForSequenceClassification(
                BartConfig(vocab_size=80, d_model=8, encoder_layers=1, decoder_layers=1, encoder_ffn_dim=8,
                           decoder_ffn_dim=8, encoder_attention_heads=1, decoder_attention_heads=1)
            ),
            "bart",
        ),
    ],
    ids=["bare decoder", "decoder that classifies", "sequence to sequence", "seq2seq that classifies"],
)  # fmt: skip
def test_models_that_generate_text(bert, model, kind):
    model.save_pretrained(bert)
    refuse(bert, f"generates text ({kind}); name an encoder")


def test_a_model_with_code_of_its_own(bert):
    (bert / "modeling_own.py").write_text("raise SystemExit('run')\n")
    own = {"AutoConfig": "modeling_own.OwnConfig", "AutoModelForSequenceClassification": "modeling_own.Own"}
    change(bert / "config.json", model_type="own", auto_map=own)
    refuse(bert, "config.json has an `auto_map`", "models with code of their own are not run")
    change(bert / "config.json", auto_map="absent")
    refuse(bert, "config.json names no model that Transformers knows", "models with code of their own are not run")


def test_quantised_weights(bert):
    change(bert / "config.json", quantization_config={"quant_method": "bitsandbytes", "load_in_8bit": True})
    refuse(bert, "has quantised weights, which cannot be trained")


def test_no_length_at_all_and_its_remedy(bert):
    """Funnel's positions are relative: it has no table of them."""
    sizes = {"d_model": 16, "d_inner": 16, "d_head": 8, "n_head": 2, "block_sizes": [1, 1], "num_decoder_layers": 1}
    FunnelForMaskedLM(FunnelConfig(vocab_size=80, **sizes)).save_pretrained(bert)
    change(bert / "tokenizer_config.json", model_max_length=int(1e30))
    refuse(bert, "neither config.json of this funnel nor its tokenizer says", "write model_max_length")
    change(bert / "tokenizer_config.json", model_max_length=20)
    assert read_json(take(bert) / "conversion.json")["max_positions"] == 20
    start(bert.parent / "out")


def test_positions_that_are_counted_after_a_padding_that_is_not_there(made, tmp_path):
    folder = shutil.copytree(made / "roberta", tmp_path / "roberta")
    change(folder / "config.json", pad_token_id=None)
    refuse(folder, "config.json has no pad_token_id", "write the padding's id there")


def write_classifier(folder, kind, **fields):
    """Put a tiny classifier of a kind of model into a folder that has a tokenizer."""
    sizes = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16}
    torch.manual_seed(5)
    config = AutoConfig.for_model(kind, **{"vocab_size": 320, "max_position_embeddings": 26} | sizes | fields)
    AutoModelForSequenceClassification.from_config(config).save_pretrained(folder)
    change(folder / "tokenizer_config.json", model_max_length=int(1e30))


@pytest.mark.parametrize(
    ("kind", "fields"),
    [
        ("roberta-prelayernorm", {}),
        ("esm", {"position_embedding_type": "absolute", "mask_token_id": 4}),
        ("ibert", {}),
        ("layoutlmv3", {"visual_embed": False, "coordinate_size": 2, "shape_size": 4}),
        ("lilt", {"channel_shrink_ratio": 2, "hidden_size": 24}),
        ("luke", {"entity_emb_size": 8, "entity_vocab_size": 4}),
        ("markuplm", {}),
    ],
)
def test_positions_that_are_counted_after_the_padding(made, tmp_path, kind, fields):
    """26 rows of positions, the first two of them for the padding and before it."""
    folder = shutil.copytree(made / "roberta", tmp_path / kind)
    write_classifier(folder, kind, pad_token_id=1, **fields)
    assert read_json(take(folder) / "conversion.json")["max_positions"] == 24


def test_a_model_that_fails_on_its_longest_input_is_told_before_any_training(made, tmp_path, monkeypatch):
    monkeypatch.setattr(encoders, "OFFSET", ())
    folder = shutil.copytree(made / "roberta", tmp_path / "roberta")
    change(folder / "tokenizer_config.json", model_max_length=int(1e30))
    refuse(folder, "promise inputs of 26 tokens", "fails on one (", "write a smaller model_max_length")
    change(folder / "tokenizer_config.json", model_max_length=24)
    start(take(folder))


def test_a_tokenizer_of_another_model(bert, tmp_path):
    """It reads "a b" well; a text of the study has a piece that the model has no vector for."""
    config, tensors = read_json(bert / "config.json"), load_file(bert / "model.safetensors")
    change(bert / "config.json", vocab_size=20)
    few = {
        key: tensor[:20].clone() if config["vocab_size"] in tensor.shape[:1] else tensor
        for key, tensor in tensors.items()
    }
    save_file(few, bert / "model.safetensors", metadata={"format": "pt"})
    taken = take(bert)
    write_lines(tmp_path / "review", TEXTS[:4])
    write_lines(tmp_path / "label", "0101")
    with pytest.raises(StudyError, match=r"gives a text the id \d+, and the model has vectors for 20 ids; name"):
        tokenize_texts.main(
            str(tmp_path / "review"), str(tmp_path / "label"), str(taken), str(tmp_path / "ids.npz"), None
        )
    assert not (tmp_path / "ids.npz").exists()


def test_a_list_from_the_hub_is_named_as_such(bert, tmp_path):
    files = [str(path) for path in bert.iterdir() if "token" not in path.name]
    with pytest.raises(StudyError, match=r"^finetuning\.models\.mine\.hub has no tokenizer .*hub\.files"):
        take_model.main(files, "mine", str(tmp_path / "out"))


# ---- Taken ----------------------------------------------------------------------------------------------------------


def test_of_the_hubs_files_only_those_of_the_study_are_taken(bert, tmp_path):
    """Another study may have fetched more of the same model into the same folder."""
    files = [str(path) for path in sorted(bert.iterdir())]
    (bert / "vocab.txt").write_text("theirs\n")
    (bert / "model.fp16.safetensors").write_bytes(b"theirs")
    shutil.copyfile(bert / "model.safetensors", bert / "model-00001-of-00009.safetensors")
    take_model.main(files, "mine", str(tmp_path / "out"))
    assert "vocab.txt" not in os.listdir(tmp_path / "out")
    assert set(read_json(tmp_path / "out" / "conversion.json")["source_sha256"]) == {os.path.basename(f) for f in files}


def test_shards_are_one_file_afterwards(bert):
    whole = load_file(bert / "model.safetensors")
    shards(bert)
    taken = load_file(take(bert) / "model.safetensors")
    assert taken.keys() == whole.keys() and all(torch.equal(taken[name], whole[name]) for name in whole)
    start(bert.parent / "out")


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_weights_of_half_precision_are_trained_in_full(bert, dtype):
    change_tensors(bert, lambda tensors: {key: tensor.to(dtype) for key, tensor in tensors.items()})
    change(bert / "config.json", dtype=str(dtype).removeprefix("torch."))
    half = load_file(bert / "model.safetensors")
    model, _ = start(take(bert))
    assert {parameter.dtype for parameter in model.parameters()} == {torch.float32}
    name = "bert.encoder.layer.1.output.dense.weight"
    assert torch.equal(dict(model.named_parameters())[name], half[name].float())
    model.save_pretrained(bert.parent / "saved")
    assert read_json(bert.parent / "saved" / "config.json")["dtype"] == "float32"


def test_tied_tensors_of_a_pickled_file(bert):
    tensors = load_file(bert / "model.safetensors")
    words = tensors["bert.embeddings.word_embeddings.weight"]
    os.remove(bert / "model.safetensors")
    torch.save(tensors | {"cls.predictions.decoder.weight": words}, bert / "pytorch_model.bin")
    taken = take(bert)
    model, _ = start(taken)
    assert torch.equal(model.bert.embeddings.word_embeddings.weight, words)
    assert torch.equal(load_file(taken / "model.safetensors")["cls.predictions.decoder.weight"], words)


@pytest.mark.parametrize(("theirs", "ours", "fresh_head"), [(5, 3, True), (3, 5, True), (3, 3, False)])
def test_a_classifier_of_others(bert, theirs, ours, fresh_head):
    """Its head serves where it has the same classes; the names are the study's in any case."""
    named = {"id2label": {k: f"class {k}" for k in range(theirs)}, "label2id": {f"class {k}": k for k in range(theirs)}}
    trained = AutoModelForSequenceClassification.from_pretrained(str(bert), **named)
    trained.config.problem_type = "multi_label_classification"
    trained.save_pretrained(bert)
    classes = [f"class {k}" for k in range(ours)]
    model, fresh = start(take(bert, classes=classes), classes)
    assert fresh == (["classifier.bias", "classifier.weight"] if fresh_head else [])
    assert model.classifier.weight.shape[0] == ours
    assert fresh_head or torch.equal(model.classifier.weight, trained.classifier.weight)
    assert model.config.id2label == {k: f"class {k}" for k in range(ours)}
    # Otherwise `pipeline` would make probabilities of each class alone.
    assert model.config.problem_type is None


@pytest.mark.parametrize(
    ("file", "own"),
    [
        ("config.json", {"AutoModelForSequenceClassification": "modeling_own.Own"}),
        ("config.json", {"AutoModel": "someone/else--modeling_own.Own"}),
        ("tokenizer_config.json", {"AutoTokenizer": ["tokenization_own.Own", None]}),
    ],
)
def test_code_of_its_own_is_refused_also_where_transformers_knows_the_kind_of_model(bert, file, own):
    (bert / "modeling_own.py").write_text("raise SystemExit('run')\n")
    change(bert / file, auto_map=own)
    refuse(bert, f"{file} has an `auto_map`", f"take `auto_map` out of {file}")
    change(bert / file, auto_map="absent")
    assert "modeling_own.py" not in os.listdir(take(bert))


def test_a_class_that_transformers_lacks_is_code_of_its_own(bert):
    change(bert / "config.json", architectures=["OwnBertWithLinearBiases"])
    refuse(bert, "`architectures` of config.json names OwnBertWithLinearBiases, which Transformers lacks")
    # Classes of other frameworks' weights, which may lie in the same folder, are Transformers' own.
    change(bert / "config.json", architectures=["TFBertModel"])
    take(bert)


def test_a_tokenizer_that_tells_segments_to_a_model_that_knows_one(bert):
    """As RoBERTa's on the hub: the second text of a pair would be looked up beyond the model's only vector."""
    name = "bert.embeddings.token_type_embeddings.weight"
    change(bert / "config.json", type_vocab_size=1)
    change_tensors(bert, lambda tensors: tensors | {name: tensors[name][:1].clone()})
    model, _ = start(taken := take(bert))
    told = AutoTokenizer.from_pretrained(str(taken))("bon livre", "facile", return_tensors="pt")
    assert set(told) == {"input_ids", "attention_mask"} and torch.isfinite(model.eval()(**told).logits).all()


def test_a_tokenizer_that_says_no_length_is_cut_at_the_models(bert):
    change(bert / "tokenizer_config.json", model_max_length=int(1e30))
    taken = take(bert)
    assert read_json(taken / "conversion.json")["max_positions"] == 24
    assert json.loads((taken / "tokenizer_config.json").read_text())["model_max_length"] == 24


def test_the_first_names_of_a_layer_norm_as_in_the_first_files_of_bert(bert, made):
    """`bert-base-uncased` has them to this day; each run proves its start by the names of today."""
    whole = load_file(bert / "model.safetensors")
    names = {name: name.replace("LayerNorm.weight", "LayerNorm.gamma") for name in whole}
    names = {name: first.replace("LayerNorm.bias", "LayerNorm.beta") for name, first in names.items()}
    assert sum("gamma" in first for first in names.values()) >= 5
    save_file({names[name]: tensor for name, tensor in whole.items()}, bert / "model.safetensors", {"format": "pt"})
    out = take(bert)
    taken = load_file(out / "model.safetensors")
    assert taken.keys() == whole.keys() and all(torch.equal(taken[name], whole[name]) for name in whole)
    start(out)


def test_weights_whose_loading_no_run_could_prove(bert, monkeypatch):
    whole = load_file(bert / "model.safetensors")
    names = {name: name.replace("LayerNorm.weight", "LayerNorm.gamma") for name in whole}
    save_file({names[name]: tensor for name, tensor in whole.items()}, bert / "model.safetensors", {"format": "pt"})
    monkeypatch.setattr(take_model, "FIRST_NAMES", {})
    refuse(bert, "has no tensor bert.", "under other names than the file's", "choose another model")


@pytest.mark.parametrize(
    ("kind", "fields"),
    [
        ("albert", {"embedding_size": 8}),
        ("deberta-v2", {}),
        ("esm", {"position_embedding_type": "absolute", "mask_token_id": 4}),
        ("longformer", {"attention_window": 4}),
        ("mpnet", {}),
        ("rembert", {"input_embedding_size": 8, "output_embedding_size": 8}),
        ("roformer", {}),
    ],
)
@pytest.mark.parametrize("init", ["pretrained", "random"])
def test_the_heads_dropout_is_the_arms_whatever_its_name(made, tmp_path, kind, fields, init):
    folder = shutil.copytree(made / "roberta", tmp_path / kind)
    write_classifier(folder, kind, pad_token_id=1, **fields)
    settings = FINETUNING | {"dropout": 0.25, "classifier_dropout": 0.375}
    model, _ = build_encoder(str(folder), init, 1, settings)
    outside = [
        module.p
        for name, module in model.named_modules()
        if isinstance(module, torch.nn.Dropout) and not name.startswith((f"{model.base_model_prefix}.", "pooler."))
    ]
    assert outside == [module.p for module in head_dropouts(model)] == [0.375]
    inside = {module.p for module in model.base_model.modules() if isinstance(module, torch.nn.Dropout)}
    assert 0.375 not in inside and 0.25 in inside


@pytest.mark.parametrize(
    ("kind", "fields"),
    [
        ("roformer", {}),
        ("distilbert", {"dim": 16, "hidden_dim": 16, "n_layers": 1, "n_heads": 2, "sinusoidal_pos_embds": True}),
    ],
)
def test_fixed_positions_prove_nothing_of_a_random_arm(made, tmp_path, kind, fields):
    """Sines are computed, so every model has them; what was drawn is still held to be new."""
    folder = shutil.copytree(made / "roberta", tmp_path / kind)
    write_classifier(folder, kind, pad_token_id=1, **fields)
    taken = take(folder)
    reference = load_file(taken / "model.safetensors")
    model, fresh = build_encoder(str(taken), "random", 1, FINETUNING)
    state = torch.get_rng_state()
    proof = prove_encoder(model, fresh, reference, "random")
    assert torch.equal(torch.get_rng_state(), state)
    positions = [name for name in proof["tensors"] if "position" in name]
    assert len(positions) == 1 and positions[0] in proof["constant"]
    known = set(read_json(taken / "conversion.json")["tensors"].values())
    assert judge(proof, known, "weights.json")["n_equal"] == 0
    words = next(name for name in proof["tensors"] if "word_embeddings" in name)
    model.get_parameter(words).data.copy_(reference[words])
    with pytest.raises(StudyError, match=f"holds the checkpoint's tensor {words}: it is not random"):
        prove_encoder(model, fresh, reference, "random")


def test_a_tokenizer_without_padding(bert):
    change(bert / "tokenizer_config.json", pad_token="absent")
    start(take(bert))


@pytest.mark.parametrize("part", [{"freeze": "encoder"}, {"freeze": 1}, {"lora": {"r": 2, "lora_alpha": 4}}])
def test_what_no_file_has_is_trained_by_every_arm(bert, part):
    """BERT's masked-language model has no pooler: frozen as drawn it would hide the encoder from the head."""
    model, fresh = start(take(bert))
    assert fresh == ["bert.pooler.dense.bias", "bert.pooler.dense.weight", "classifier.bias", "classifier.weight"]
    finetune_huggingface.restrict(model, part, finetune_huggingface.always_trained(model, fresh), "mine")
    trained = {name for name, parameter in model.named_parameters() if parameter.requires_grad}
    assert set(fresh) <= trained and not [name for name in trained if "pooler" in name and "lora" in name]
    own = {name for name in trained if name.startswith("bert.encoder")}
    layer = {name for name, _ in model.named_parameters() if name.startswith("bert.encoder.layer.1.")}
    assert own == (
        {name for name in own if "lora_" in name} if "lora" in part else layer if part["freeze"] == 1 else set()
    )


@pytest.mark.parametrize(
    ("part", "said"),
    [
        ({"freeze": 3}, r"^finetuning\.arms\.mine says freeze: 3; its encoder has 2 layers"),
        (
            {"lora": {"r": 2, "lora_alpha": 4, "target_modules": ["q_proj"]}},
            r"^finetuning\.arms\.mine: lora.target_modules names q_proj; .* end in dense, key, query, value$",
        ),
    ],
)
def test_parts_that_the_model_lacks(bert, part, said):
    model, fresh = start(take(bert))
    with pytest.raises(StudyError, match=said):
        finetune_huggingface.restrict(model, part, finetune_huggingface.always_trained(model, fresh), "mine")
