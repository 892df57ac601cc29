"""Arms that train a part of their model: settings of their own, frozen layers, LoRA merged into what is saved."""

import pytest
import torch
from transformers import RobertaConfig, RobertaForSequenceClassification

from common.errors import StudyError
from finetuning.parts import freeze_lower
from finetuning.protocol import arm_settings, arm_training, framework_settings
from frameworks.huggingface.low_rank import add_lora, linear_names

HEAD = "classifier."
ARM = "finetuning.arms.part"
TRAINING = {
    "lr": 1e-3,
    "epochs": 3,
    "dropout": 0.1,
    "batching": "length_grouped",
    "betas": [0.9, 0.98],
    "save_every": 0,
}


@pytest.fixture
def model():
    torch.manual_seed(3)
    sizes = {"vocab_size": 20, "hidden_size": 8, "num_hidden_layers": 2, "num_attention_heads": 2}
    config = RobertaConfig(**sizes, intermediate_size=8, max_position_embeddings=12, pad_token_id=1)
    return RobertaForSequenceClassification(config).eval()


def trained(model):
    return {name for name, parameter in model.named_parameters() if parameter.requires_grad}


def finetuning(**arm):
    arms = {"plain": {"framework": "huggingface"}, "own": {"framework": "huggingface"} | arm}
    return {"arms": arms, "protocol": "matched", "training": TRAINING, "init_seed": None, "data_seed": None}


def test_an_arm_has_the_studys_settings_but_for_its_own():
    own = finetuning(training={"lr": 0.5, "epochs": 1, "save_every": 7}, freeze=1)
    plain = arm_settings(own, "plain")
    assert plain == framework_settings(own, "huggingface") and "freeze" not in plain
    assert arm_settings(own, "own") == plain | {"lr": 0.5, "epochs": 1, "freeze": 1}
    assert arm_training(own, "own")["save_every"] == 7 and arm_training(own, "plain")["save_every"] == 0
    # An arm's own settings take precedence over its framework's defaults.
    published = arm_settings(finetuning(protocol="published", training={"betas": [0.5, 0.6]}), "own")
    assert published["betas"] == [0.5, 0.6] and published["batching"] == "random" and published["token_types"]


@pytest.mark.parametrize(("depth", "layers"), [(0, {0, 1}), (1, {1}), (2, set()), ("encoder", set())])
def test_lower_layers_are_frozen_with_the_embeddings(model, depth, layers):
    freeze_lower(model, depth, HEAD, ARM)
    names = trained(model)
    assert {name for name in names if name.startswith(HEAD)} == {
        name for name, _ in model.named_parameters() if name.startswith(HEAD)
    }
    assert {int(name.split(".")[3]) for name in names if ".layer." in name} == layers
    assert not [name for name in names if "embeddings" in name]


def test_more_layers_than_there_are(model):
    with pytest.raises(StudyError, match="finetuning.arms.part says freeze: 3; its encoder has 2 layers"):
        freeze_lower(model, 3, HEAD, ARM)


def test_lora_trains_updates_and_head_and_is_merged_into_what_is_saved(model):
    ids = torch.tensor([[0, 5, 7, 2]])
    before, names = model(ids).logits, {name for name, _ in model.named_parameters()}
    merged = add_lora(model, {"r": 2, "lora_alpha": 4, "target_modules": ["query", "value"]}, HEAD, ARM)
    # B is zero at the start: the model is the one that it was.
    assert torch.equal(model(ids).logits, before)
    own = {name for name in trained(model) if not name.startswith(HEAD)}
    assert own and all("lora_" in name and (".query." in name or ".value." in name) for name in own)
    # 2 layers x 2 modules x (8 x 2 + 2 x 8)
    assert sum(p.numel() for n, p in model.named_parameters() if n in own) == 2 * 2 * 32
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if "lora_B" in name:
                parameter.add_(0.3)
    after, saved = model(ids).logits, merged()
    assert not torch.allclose(after, before)
    assert torch.allclose(saved(ids).logits, after, atol=1e-6)
    assert {name for name, _ in saved.named_parameters()} == names
    # The model that is trained goes on as it was.
    assert torch.equal(model(ids).logits, after)


def test_lora_on_modules_that_there_are_not(model):
    assert len(linear_names(model, "all-linear", HEAD, ARM)) == 2 * 6
    with pytest.raises(
        StudyError, match=f"{ARM}: lora.target_modules names q_proj; .* end in dense, key, query, value"
    ):
        linear_names(model, ["q_proj"], HEAD, ARM)
