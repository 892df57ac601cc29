"""LoRA's counts: from the configuration, from peft's own model, in 4 bits; and what is told when they cannot be."""

import pytest

from common.errors import StudyError
from common.files import read_tsv
from qa import build_lora_ledger
from qa.lora import BLOOM_560M, FIELDS, adapted, check_lora, counts, describe, empty_model, lora_arguments
from support.qa_support import LORA, PROMPT, SAVE_EVERY, TRAINING, make_base, status_of, write_pairs

COURSE = {**LORA, "r": 16, "lora_alpha": 32, "lora_dropout": 0.05}
TINY = {"model_type": "bloom", "vocab_size": 320, "hidden_size": 32, "n_layer": 3, "n_head": 4}


@pytest.fixture(scope="module")
def tiny():
    return describe(empty_model(TINY))


@pytest.fixture(scope="module")
def published():
    return describe(empty_model(BLOOM_560M))


def test_bloom_560m_without_weights(published):
    cost = counts(COURSE, published)
    # 24 layers, A is 16 × 1024 and B is 3072 × 16: 24 · (16 · 1024 + 3072 · 16) = 24 · 65 536.
    assert cost["trainable_params"] == 24 * 65_536 == 1_572_864
    assert published["total"] == 559_214_592
    assert cost["total_params"] == 559_214_592 + 1_572_864 == 560_787_456
    assert f"{100 * cost['share']:.4f}" == "0.2805"


def test_the_ledger_gives_the_published_figures(tmp_path):
    tsv, md = str(tmp_path / "ledger.tsv"), str(tmp_path / "ledger.md")
    embedded = {"vocab_size": 320, "architecture": {"layers": 3, "width": 32, "heads": 4}}
    build_lora_ledger.main("embedded", [], tsv, md, embedded, {f"rank{r}": {**LORA, "r": r} for r in (4, 8)})
    rows = read_tsv(tsv)
    course = {row["setting"]: row for row in rows if row["model"] == "bloom-560m, the course's settings"}
    assert course["r"]["parameters_per_module"] == "65536"
    assert course["r"]["formula"].endswith("query_key_value: 16·(1024 + 3072) = 65536")
    assert course["lora_alpha"]["formula"].endswith("32 / 16 = 2")
    assert course["trainable_params"]["parameters"] == "1572864"
    assert course["total_params"]["parameters"] == "560787456"
    assert course["total_params"]["formula"] == "trainable / total = 0.2805 %"
    text = open(md, encoding="utf-8").read()
    assert "0.2805 %" in text and "1\u202f572\u202f864" in text
    for rank in ("4", "8"):
        settings = [row for row in rows if row["rank"] == rank and row["model"] == "this study's base"]
        assert [row["setting"] for row in settings] == [*FIELDS, "trainable_params", "total_params"]
        assert all(row["meaning"] for row in settings)
        parts = [int(row["parameters"]) for row in settings[:-2]]
        assert sum(parts) == int(settings[-2]["parameters"]) == 3 * int(rank) * (32 + 96)


def test_a_hub_configuration_is_enough(tmp_path):
    # The fields of the hub's file, its old spelling of the width among them.
    config = tmp_path / "config.json"
    config.write_text(
        '{"architectures": ["BloomForCausalLM"], "model_type": "bloom", "n_embed": 1024, "n_layer": 24, '
        '"num_attention_heads": 16, "vocab_size": 250880, "torch_dtype": "float16", "pad_token_id": 3}'
    )
    tsv = str(tmp_path / "ledger.tsv")
    build_lora_ledger.main("hub", [str(config)], tsv, str(tmp_path / "ledger.md"), None, {"course": COURSE})
    rows = read_tsv(tsv)
    assert {row["model"] for row in rows} == {"bloom-560m"}
    assert rows[-1]["parameters"] == "560787456"


SETTINGS = [
    {},
    {"target_modules": ["query_key_value", "dense", "dense_h_to_4h", "dense_4h_to_h"]},
    {"target_modules": "all-linear"},
    {"target_modules": r".*\.mlp\.dense_.*"},
    {"bias": "all"},
    {"bias": "lora_only", "target_modules": ["dense"]},
    {"modules_to_save": ["ln_f"]},
    {"modules_to_save": ["ln_f"], "bias": "all"},
    {"modules_to_save": ["mlp"], "target_modules": ["query_key_value", "dense_h_to_4h"]},
    {"layers_to_transform": [0, 2]},
    {"layers_to_transform": [1], "layers_pattern": "h"},
    {"rank_pattern": {"h.1.self_attention.query_key_value": 9}, "alpha_pattern": {"query_key_value": 3}},
    {"layers_to_transform": [0], "rank_pattern": {"query_key_value": 2}, "bias": "lora_only"},
]


@pytest.mark.parametrize("changes", SETTINGS, ids=lambda changes: ",".join(map(str, changes)) or "plain")
def test_counts_equal_pefts_own_model(tiny, changes):
    from peft import LoraConfig, get_peft_model

    from qa.causal_lm import count_parameters

    lora = {**LORA, **changes}
    check_lora(lora, tiny)
    cost = counts(lora, tiny)
    model = get_peft_model(empty_model(TINY), LoraConfig(**lora_arguments(lora)))
    assert count_parameters(model) == (cost["trainable_params"], cost["total_params"])
    scaling = {
        name.removeprefix("base_model.model."): module.scaling["default"]
        for name, module in model.named_modules()
        if hasattr(module, "scaling")
    }
    assert scaling == {name: facts["alpha"] / facts["rank"] for name, facts in adapted(lora, tiny).items()}
    parts = ("r", "layers_to_transform", "rank_pattern", "modules_to_save", "bias")
    assert sum(cost[part] for part in parts) == cost["trainable_params"]


def test_4_bit_and_full_precision_count_alike(tmp_path):
    pytest.importorskip("bitsandbytes", reason="bitsandbytes is not installed")
    import torch
    from peft import LoraConfig, get_peft_model

    from qa.causal_lm import count_parameters, load_base

    make_base(str(tmp_path), updates=1, width=64)
    found, packed = {}, {}
    for quantization in ("none", "nf4"):
        model = load_base(str(tmp_path), quantization, True, "float32", torch.device("cpu"))
        model = get_peft_model(model, LoraConfig(**lora_arguments(LORA)))
        found[quantization] = count_parameters(model)
        packed[quantization] = sum(parameter.numel() for parameter in model.parameters())
    config = {"model_type": "bloom", "vocab_size": 320, "hidden_size": 64, "n_layer": 2, "n_head": 4}
    cost = counts(LORA, describe(empty_model(config)))
    assert found["none"] == found["nf4"] == (cost["trainable_params"], cost["total_params"])
    assert packed["nf4"] < packed["none"] == found["none"][1]  # the naive count is the one that is wrong


@pytest.mark.parametrize(
    "changes, rank, message",
    [
        ({}, 0, "qa.lora.r: the rank is 0; it must be an integer of at least 1"),
        ({}, -3, "qa.lora.r: the rank is -3"),
        ({}, 2.5, "qa.lora.r: the rank is 2.5"),
        (
            {"target_modules": ["q_proj"]},
            4,
            "qa.lora.target_modules: the model has no linear module 'q_proj'; its linear modules are "
            "dense, dense_4h_to_h, dense_h_to_4h, lm_head, query_key_value",
        ),
        ({"target_modules": ["query_key_value", "ln_f"]}, 4, "no linear module 'ln_f'"),
        ({"target_modules": "encoder.*"}, 4, "no linear module 'encoder.*'"),
        ({"lora_alpha": 0}, 4, "qa.lora.lora_alpha: 0 must be above 0"),
        ({"lora_dropout": 1.0}, 4, "qa.lora.lora_dropout: 1.0"),
        ({"bias": "some"}, 4, "qa.lora.bias: 'some' is not one of none, all, lora_only"),
        ({"task_type": "SEQ_CLS"}, 4, "qa.lora.task_type: 'SEQ_CLS'"),
        ({"modules_to_save": ["score"]}, 4, "qa.lora.modules_to_save: the model has no module 'score'"),
        ({"layers_pattern": "h"}, 4, "qa.lora.layers_pattern has no effect without"),
        ({"layers_to_transform": [7]}, 4, "qa.lora.layers_to_transform: .* leaves no module to adapt"),
        ({"rank_pattern": {"query_key_value": 0}}, 4, "qa.lora.rank_pattern: the rank of 'query_key_value' is 0"),
        ({"alpha_pattern": {"dense": 3}}, 4, "qa.lora.alpha_pattern: no adapted module matches 'dense'"),
    ],
)
def test_settings_that_cannot_work_are_told(tiny, changes, rank, message):
    with pytest.raises(StudyError, match=message.replace("*'", r"\*'") if "encoder" in message else message):
        check_lora({**LORA, "r": rank, **changes}, tiny)


@pytest.mark.parametrize(
    "changes, rank, message",
    [({"target_modules": ["q_proj"]}, 4, "no linear module 'q_proj'"), ({}, 0, "qa.lora.r: the rank is 0")],
)
def test_training_stops_with_one_message(tmp_path, monkeypatch, changes, rank, message):
    from qa import finetune_lora

    for variable in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        monkeypatch.setenv(variable, "1")
    base = str(tmp_path / "base")
    make_base(base, updates=1)
    train, heldout, _ = write_pairs(str(tmp_path))
    outputs = [str(tmp_path / name) for name in ("loss.tsv", "adapter", "tensorboard", "run.json", "states")]
    settings = ({**LORA, "r": rank, **changes}, TRAINING, PROMPT, SAVE_EVERY)
    arguments = (train, heldout, base, *outputs, "an-arm", 1, *settings)
    status, shown = status_of(finetune_lora.main, *arguments, folder=str(tmp_path))
    assert status == 1
    assert shown.startswith("error in rule a_rule: arm an-arm: ") and shown.count("\n") == 1 and message in shown
    (tmp_path / "base" / "model.safetensors").unlink()
    status, shown = status_of(finetune_lora.main, *arguments, folder=str(tmp_path))
    assert status == 1
    assert "has no weights: model.safetensors is missing" in shown


def test_an_unknown_architecture_is_told():
    with pytest.raises(StudyError, match="model_type 'bloome' is no causal language model that Transformers has"):
        empty_model({"model_type": "bloome"})
