"""Any causal language model goes through the branch; what is none, or not whole, is refused in one message."""

import json
import math
import os
import shutil
from pathlib import Path

import pytest
import torch
from tokenizers import Tokenizer

from common.errors import StudyError
from common.files import read_json, read_lines, read_tsv
from qa import aggregate_qa, build_lora_ledger, build_qa_base_model, evaluate_qa, finetune_lora
from qa.causal_lm import encode_pairs, first_tokens, load_base, load_tokenizer
from qa.lora import describe, empty_model, refuse_other_kinds, resolve_targets
from qa.question_pairs import prompt
from support.causal_models import FAMILIES, TARGETS, make_model
from support.qa_support import GENERATION, LORA, PAIRS, PROMPT, SAVE_EVERY, TRAINING, write_pairs

CPU = torch.device("cpu")
AUTO = {**LORA, "target_modules": "auto"}


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    """{family: folder}"""
    folder = tmp_path_factory.mktemp("models")
    for family in FAMILIES:
        make_model(family, str(folder / family))
    return {family: str(folder / family) for family in FAMILIES}


@pytest.fixture(scope="module")
def pairs(tmp_path_factory):
    return write_pairs(str(tmp_path_factory.mktemp("pairs")))


def copy(source, folder):
    shutil.copytree(source, folder)
    return str(folder)


def train(folder, base, pairs, arm, lora=AUTO, template=PROMPT, **changes):
    """Train and evaluate one run in a folder of its own; return the paths that `aggregate_qa` reads."""
    folder.mkdir()
    made = {name: str(folder / name) for name in ("loss.tsv", "adapter", "tensorboard", "run.json", "states")}
    training = {**TRAINING, **changes}
    finetune_lora.main(*pairs[:2], base, *made.values(), arm, 1, lora, training, template, SAVE_EVERY)
    answers = [str(folder / name) for name in ("generations.jsonl", "evaluation.json")]
    evaluate_qa.main(*pairs[:2], base, made["adapter"], made["run.json"], *answers, training, GENERATION, template)
    return made["run.json"], answers[1], made["loss.tsv"], answers[0]


@pytest.mark.parametrize("family", FAMILIES)
def test_a_folder_is_tuned_and_asked(tmp_path, models, pairs, family):
    base = str(tmp_path / "base")
    build_qa_base_model.main("folder", [models[family]], base, str(tmp_path / "curve.tsv"), None, PROMPT)
    record, evaluation, loss, answers = map(Path, train(tmp_path / "run", base, pairs, "rank4"))
    record, evaluation = read_json(record), read_json(evaluation)
    targets, n_trained = TARGETS[family]
    assert record["lora"]["target_modules"] == targets and record["trainable_params"] == n_trained
    heldout = [float(row["loss"]) for row in read_tsv(loss) if row["split"] == "heldout"]
    assert heldout[-1] < heldout[0] < 1.2 * math.log(460)
    assert evaluation["heldout"]["after"]["loss"] == pytest.approx(heldout[-1], rel=1e-5)
    assert len(read_lines(answers)) == 2

    # The ledger's counts are those of the weights that were trained.
    tsv = str(tmp_path / "ledger.tsv")
    build_lora_ledger.main("folder", [base], tsv, str(tmp_path / "ledger.md"), None, {"rank4": AUTO})
    found = {row["setting"]: row for row in read_tsv(tsv) if row["arm"] == "rank4"}
    assert found["target_modules"]["value"] == ", ".join(targets)
    for name in ("trainable_params", "total_params"):
        assert int(found[name]["parameters"]) == record[name]
    assert any("the course" in row["model"] for row in read_tsv(tsv)) == (family == "bloom")


@pytest.mark.parametrize("family", FAMILIES)
def test_tokens_are_those_of_the_models_own_tokenizer(models, family):
    tokenizer, end = load_tokenizer(models[family])
    own = Tokenizer.from_file(os.path.join(models[family], "tokenizer.json"))
    assert first_tokens(tokenizer) == ([1] if family == "llama" else [])
    assert end == read_json(os.path.join(models[family], "config.json"))["eos_token_id"]
    for form in (PROMPT, "Q: {question}\nA:\n{answer}"):
        for pair, encoded in zip(PAIRS, encode_pairs(PAIRS, tokenizer, end, form, TRAINING), strict=True):
            asked = prompt(form, pair["question"])
            assert encoded["input_ids"] == [*own.encode(prompt(form, **pair)).ids, end]
            assert encoded["input_ids"][: encoded["is_answer"].index(1)] == own.encode(asked).ids
            answer = [i for i, mine in zip(encoded["input_ids"], encoded["is_answer"], strict=True) if mine]
            assert tokenizer.decode(answer).strip() == pair["answer"]


def test_a_prompt_that_joins_the_answer_keeps_its_own_tokens(models):
    """After `: ` + `Le`, bytes would be joined otherwise: generation starts from the open prompt's tokens."""
    tokenizer, end = load_tokenizer(models["gpt2"])
    form = "{question} jo{answer}"
    pair = {"question": "Quand ?", "answer": "urs"}
    whole = tokenizer(prompt(form, **pair))["input_ids"]
    asked = tokenizer(prompt(form, "Quand ?"))["input_ids"]
    assert whole[: len(asked)] != asked
    (encoded,) = encode_pairs([pair], tokenizer, end, form, TRAINING)
    assert encoded["input_ids"][: len(asked)] == asked
    assert tokenizer.decode(encoded["input_ids"][:-1]) == "Quand ? jours"


@pytest.mark.parametrize("family", ["gpt2", "qwen2"])
def test_a_tokenizer_without_its_fast_file_is_read(tmp_path, models, family):
    """vocab.json and merges.txt, as GPT-2 was published."""
    folder = copy(models[family], tmp_path / family)
    expected = load_tokenizer(folder)[0](PAIRS[0]["answer"])["input_ids"]
    Tokenizer.from_file(os.path.join(folder, "tokenizer.json")).model.save(folder)
    os.remove(os.path.join(folder, "tokenizer.json"))
    build_qa_base_model.main("folder", [folder], str(tmp_path / "base"), str(tmp_path / "curve.tsv"), None, PROMPT)
    assert load_tokenizer(str(tmp_path / "base"))[0](PAIRS[0]["answer"])["input_ids"] == expected


def put(folder, **changes):
    """Make a model of a folder's kind, its files changed: {name: function of the content of a JSON file}."""
    for name, change in changes.items():
        path = os.path.join(folder, f"{name}.json")
        content = change(read_json(path))
        Path(path).write_text(json.dumps(content), encoding="utf-8")


def build(folder, out):
    build_qa_base_model.main("folder", [folder], str(out / "made"), str(out / "curve.tsv"), None, PROMPT)


@pytest.mark.parametrize("kind", ["GPT2Tokenizer", "Qwen2Tokenizer", "BertTokenizerFast"])
def test_a_tokenizer_class_that_changes_ids_is_refused_with_the_remedy(tmp_path, models, kind):
    folder = copy(models["llama"], tmp_path / "llama")
    put(folder, tokenizer_config=lambda content: content | {"tokenizer_class": kind})
    with pytest.raises(StudyError, match="tokenizer.json") as caught:
        build(folder, tmp_path)
    assert '"tokenizer_class": "PreTrainedTokenizerFast"' in str(caught.value) or "cannot be read" in str(caught.value)
    put(folder, tokenizer_config=lambda content: content | {"tokenizer_class": "PreTrainedTokenizerFast"})
    build(folder, tmp_path)


@pytest.mark.parametrize("pieces", [0, 1])
def test_a_tokenizer_that_knows_no_text_is_refused(tmp_path, models, pieces):
    """With one token, or none, every text is that token, or nothing."""
    folder = copy(models["gpt2"], tmp_path / "gpt2")
    words = dict(list({"<|endoftext|>": 0}.items())[:pieces])
    model = {"type": "WordLevel", "vocab": words, "unk_token": "<|endoftext|>"}
    # With no split into bytes, no text has a piece.
    put(folder, tokenizer=lambda content: content | {"model": model, "added_tokens": [], "pre_tokenizer": None})
    put(folder, tokenizer_config=lambda content: content | {"tokenizer_class": "PreTrainedTokenizerFast"})
    with pytest.raises(StudyError, match="the tokenizer (knows no word or letter|cannot be read)"):
        build(folder, tmp_path)


def test_pointers_of_git_lfs_are_told_as_such(tmp_path, models):
    folder = copy(models["gpt2"], tmp_path / "gpt2")
    Path(folder, "model.safetensors").write_text("version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 9\n")
    with pytest.raises(StudyError, match=r"^qa\.base\.folder: .*model\.safetensors is a Git LFS pointer.*git lfs pull"):
        build(folder, tmp_path)


@pytest.mark.parametrize("family", FAMILIES)
def test_a_checkpoint_without_a_tensor_is_refused(tmp_path, models, family):
    from safetensors.torch import load_file, save_file

    folder = copy(models[family], tmp_path / family)
    path = os.path.join(folder, "model.safetensors")
    weights = load_file(path)
    # Tied weights are stored once: what is left out here is not among them.
    name = next(name for name in sorted(weights) if ".1." in name and name.endswith("weight"))
    save_file({key: value for key, value in weights.items() if key != name}, path, {"format": "pt"})
    with pytest.raises(StudyError, match="the weights do not fit config.json: .*1"):
        load_base(folder, "none", True, "float32", CPU)
    Path(path).write_bytes(Path(path).read_bytes()[:1000])
    with pytest.raises(StudyError, match="the weights cannot be read"):
        load_base(folder, "none", True, "float32", CPU)


def test_loaded_weights_are_the_files(models):
    from safetensors.torch import load_file

    for folder in models.values():
        model = load_base(folder, "none", True, "float32", CPU)
        for name, value in load_file(os.path.join(folder, "model.safetensors")).items():
            found = dict(model.named_parameters(remove_duplicate=False)) | dict(model.named_buffers())
            key = name if name in found else f"{model.base_model_prefix}.{name}"
            assert torch.equal(found[key], value), name


def test_a_publishers_settings_of_generation_do_not_count(tmp_path, models):
    folder = copy(models["llama"], tmp_path / "llama")
    asked = [prompt(PROMPT, pair["question"]) for pair in PAIRS[:2]]
    found = []
    for settings in ({}, {"repetition_penalty": 9.0, "max_length": 20, "bad_words_ids": [[5], [6]], "top_k": 1}):
        Path(folder, "generation_config.json").write_text(json.dumps(settings))
        model, (tokenizer, end) = load_base(folder, "none", True, "float32", CPU), load_tokenizer(folder)
        found.append(evaluate_qa.generate(model, tokenizer, end, asked, {**GENERATION, "max_new_tokens": 30}, CPU))
    assert found[0] == found[1]


def test_arms_differ_in_rank_targets_rate_and_stand_side_by_side(tmp_path, models, pairs):
    arms = {
        "narrow": train(tmp_path / "a", models["llama"], pairs, "narrow", {**AUTO, "r": 2}),
        "all": train(tmp_path / "b", models["llama"], pairs, "all", {**AUTO, "r": 2, "target_modules": "all-linear"}),
        "slow": train(tmp_path / "c", models["llama"], pairs, "slow", {**AUTO, "r": 2}, lr=1e-6),
    }
    tables = [str(tmp_path / name) for name in ("runs.tsv", "loss.tsv", "summary.tsv", "answers.jsonl")]
    aggregate_qa.main(*zip(*arms.values(), strict=True), pairs[2], *tables, "a-study")
    runs = {row["arm"]: row for row in read_tsv(tables[0])}
    assert list(runs) == list(arms) and {row["rank"] for row in runs.values()} == {"2"}
    # Rank 2 of both layers: queries 32 × 32 and values 16 × 32; then keys, outputs and the three of 48 × 32, too.
    assert int(runs["narrow"]["trainable_params"]) == 2 * 2 * (64 + 48) == int(runs["slow"]["trainable_params"])
    assert int(runs["all"]["trainable_params"]) == 2 * 2 * (2 * 64 + 2 * 48 + 3 * 80)
    fell = {arm: float(row["heldout_loss_before"]) - float(row["heldout_loss_after"]) for arm, row in runs.items()}
    assert abs(fell["slow"]) < 0.1 * fell["narrow"] < fell["all"]
    assert [json.loads(line)["arm"] for line in read_lines(tables[3])] == ["narrow"] * 2 + ["all"] * 2 + ["slow"] * 2
    assert {row["arm"] for row in read_tsv(tables[1])} == {row["arm"] for row in read_tsv(tables[2])} == set(arms)


def test_auto_takes_all_linear_modules_of_a_kind_that_peft_does_not_know(models):
    shapes = describe(empty_model(read_json(os.path.join(models["llama"], "config.json"))))
    assert resolve_targets(AUTO, shapes, "a-new-kind")["target_modules"] == "all-linear"
    # peft's names for a kind, of which this model has none.
    assert resolve_targets(AUTO, shapes, "gpt2")["target_modules"] == "all-linear"
    assert resolve_targets(LORA, shapes, "llama") is LORA


@pytest.mark.parametrize("family", ["gpt2", "gpt_neox"])
def test_all_linear_leaves_the_output_layer_out(family):
    from peft import LoraConfig, get_peft_model

    from qa.causal_lm import count_parameters
    from qa.lora import counts, lora_arguments

    sizes = {"hidden_size": 32, "n_layer": 2, "num_hidden_layers": 2, "n_head": 4, "num_attention_heads": 4}
    config = {"model_type": family, "vocab_size": 320, "intermediate_size": 48, "n_embd": 32, **sizes}
    lora = {**LORA, "target_modules": "all-linear"}
    shapes = describe(empty_model(config))
    assert shapes["output"] in shapes["linear"]
    cost = counts(lora, shapes)
    model = get_peft_model(empty_model(config), LoraConfig(**lora_arguments(lora)))
    assert count_parameters(model) == (cost["trainable_params"], cost["total_params"])


@pytest.mark.parametrize(
    "config, message",
    [
        ({"model_type": "bert"}, "model_type 'bert' is an encoder, which cannot write an answer: give qa.base"),
        ({"model_type": "camembert", "architectures": ["CamembertForMaskedLM"]}, "'camembert' is an encoder"),
        ({"model_type": "t5", "is_encoder_decoder": True}, "'t5' is a sequence-to-sequence model"),
        ({"model_type": "distilbert"}, "'distilbert' is an encoder"),
        ({"model_type": "vit"}, "'vit' is no causal language model that Transformers has"),
        ({}, "model_type None is no causal"),
    ],
)
def test_a_model_of_another_kind_is_refused(config, message):
    with pytest.raises(StudyError, match=message):
        refuse_other_kinds(config)
    with pytest.raises(StudyError, match=message):
        empty_model(config)


def test_a_folder_of_another_kind_or_without_a_tokenizer_makes_no_base(tmp_path, models):
    outputs = (str(tmp_path / "base"), str(tmp_path / "curve.tsv"), None, PROMPT)
    folder = copy(models["gpt2"], tmp_path / "model")
    config = read_json(os.path.join(folder, "config.json"))
    for name, content, message in (
        ("config.json", json.dumps({**config, "model_type": "bert"}), "is an encoder"),
        ("config.json", json.dumps(config), None),
        ("tokenizer.json", "{}", "the tokenizer cannot be read"),
        ("tokenizer.json", None, "has no tokenizer.json, nor another of"),
    ):
        path = Path(folder, name)
        path.unlink() if content is None else path.write_text(content)
        if message:
            with pytest.raises(StudyError, match=message):
                build_qa_base_model.main("folder", [folder], *outputs)
            assert not (tmp_path / "base").exists()


def test_texts_longer_than_the_models_positions_are_refused(tmp_path, models, pairs):
    folder = copy(models["gpt2"], tmp_path / "model")
    config = read_json(os.path.join(folder, "config.json"))
    Path(folder, "config.json").write_text(json.dumps({**config, "n_positions": 20}))
    with pytest.raises(StudyError, match="arm a: qa.training.max_tokens: 96 lets a text have .* the base has 20 posi"):
        train(tmp_path / "run", folder, pairs, "a")
    model, (tokenizer, end) = load_base(models["gpt2"], "none", True, "float32", CPU), load_tokenizer(models["gpt2"])
    with pytest.raises(StudyError, match="qa.generation.max_new_tokens: 120 lets a text have .* has 128 positions"):
        evaluate_qa.generate(
            model, tokenizer, end, ["Où est ma commande ?"], {**GENERATION, "max_new_tokens": 120}, CPU
        )


def test_an_unknown_module_is_told_with_those_that_there_are(tmp_path, models, pairs):
    told = "arm a: qa.lora.target_modules: the model has no linear module 'c_attn'; its linear modules are down_proj, "
    with pytest.raises(StudyError, match=told + "gate_proj, k_proj, lm_head, o_proj, q_proj, up_proj, v_proj"):
        train(tmp_path / "run", models["llama"], pairs, "a", {**LORA, "target_modules": ["c_attn"]})
