"""The parameter ledger: the published counts, stored tensors, and the slips it exists to catch."""

import json
import pickle
import struct
import tracemalloc
import zipfile

import pytest

from analysis.build_parameter_ledger import main
from analysis.parameter_counts import PUBLISHED, count_by, counted_terms, read_shapes, size_of
from common.errors import StudyError
from common.files import read_tsv
from study.rule_parameters import PUBLISHED_SIZE, terms

TINY = {"vocab_size": 11, "width": 4, "ffn_width": 6, "layers": 2, "max_positions": 8}


@pytest.mark.parametrize(("published", "convention"), PUBLISHED.items())
def test_published_counts(published, convention):
    assert count_by(PUBLISHED_SIZE, convention) == published


def test_published_counts_by_hand():
    # 32000·512 = 16 384 000; a layer's matrices 6·512² = 1 572 864, four layers 6 291 456: sum 22 675 456
    assert 16_384_000 + 4 * 1_572_864 == count_by(PUBLISHED_SIZE, "matrices") == 22_675_456
    # + 256·512 = 131 072; + 2·512 = 1 024; vectors: 4·(9·512 + 512) + 1 024 = 21 504
    assert 22_675_456 + 131_072 == count_by(PUBLISHED_SIZE, "positions")
    assert terms(**PUBLISHED_SIZE)["vectors"][1] == 21_504
    # language-model head: 512² + 3·512 + 32 000 = 295 680; classification head: 512² + 512 + 2·512 + 2 = 263 682
    assert terms(**PUBLISHED_SIZE)["lm_head"][1] == 295_680
    assert terms(**PUBLISHED_SIZE)["head"][1] == 263_682


def test_the_slip_forgot_the_output_projection_and_one_feed_forward_matrix():
    # 4·2·512² = 2 097 152
    forgotten = 22_675_456 - count_by(PUBLISHED_SIZE, "four_matrices")
    assert forgotten == 4 * 2 * 512 * 512 == 2_097_152
    # Report 3 prints 3·D² and one D² a layer: with F other than D, its slip is no longer "attention only".
    wider = PUBLISHED_SIZE | {"ffn_width": 2048}
    assert count_by(wider, "four_matrices") == 32_000 * 512 + 4 * (3 * 512 * 512 + 512 * 2048)


def test_unknown_convention():
    with pytest.raises(StudyError, match="'all' is unknown"):
        count_by(TINY, "all")


def test_a_model_of_others_is_counted_as_stored_and_shared_tensors_once(tmp_path):
    folder, ledger = tmp_path / "theirs", tmp_path / "ledger.tsv"
    folder.mkdir()
    # Biases that are all zero are alike by chance; the decoder's are the embeddings and the head's bias again.
    tensors = {
        "bert.embeddings.word_embeddings.weight": ((7, 3), "e"),
        "bert.embeddings.position_ids": ((1, 5), "p"),
        "bert.encoder.layer.0.output.bias": ((7,), "zero"),
        "bert.encoder.layer.1.output.bias": ((7,), "zero"),
        "cls.predictions.bias": ((7,), "zero"),
        "cls.predictions.decoder.bias": ((7,), "zero"),
        "cls.predictions.decoder.weight": ((7, 3), "e"),
        "scale": ((2,), "s"),
    }
    header = {name: {"dtype": "F32", "shape": shape, "data_offsets": [0, 0]} for name, (shape, _) in tensors.items()}
    content = json.dumps(header).encode()
    (folder / "model.safetensors").write_bytes(struct.pack("<Q", len(content)) + content)
    hashes = {name: digest for name, (_, digest) in tensors.items()}
    (folder / "conversion.json").write_text(json.dumps({"tensors": hashes}))
    main([], [], str(ledger), {}, ["a", "b"], [str(folder)])
    rows = read_tsv(ledger)
    assert {row["section"] for row in rows} == {"counted: theirs"} and not any(row["agrees"] for row in rows)
    # 7·3; twice 7; 7; 2.
    counts = {row["item"]: int(row["count"]) for row in rows}
    assert counts == {"bert.embeddings": 21, "bert.encoder": 14, "cls.predictions": 7, "scale": 2, "total": 44}


def tiny_shapes(lm_head=True, head=True):
    """fairseq's names and shapes, written out by hand for TINY."""
    root = "encoder.sentence_encoder."
    shapes = {root + "embed_tokens.weight": (11, 4), root + "embed_positions.weight": (10, 4)}
    shapes |= {root + "layernorm_embedding.weight": (4,), root + "layernorm_embedding.bias": (4,)}
    for layer in range(2):
        for name in ("q_proj", "k_proj", "v_proj", "out_proj"):
            shapes[f"{root}layers.{layer}.self_attn.{name}.weight"] = (4, 4)
            shapes[f"{root}layers.{layer}.self_attn.{name}.bias"] = (4,)
        shapes |= {f"{root}layers.{layer}.fc1.weight": (6, 4), f"{root}layers.{layer}.fc1.bias": (6,)}
        shapes |= {f"{root}layers.{layer}.fc2.weight": (4, 6), f"{root}layers.{layer}.fc2.bias": (4,)}
        for name in ("self_attn_layer_norm", "final_layer_norm"):
            shapes |= {f"{root}layers.{layer}.{name}.{kind}": (4,) for kind in ("weight", "bias")}
    if lm_head:
        shapes |= {"encoder.lm_head.weight": (11, 4), "encoder.lm_head.bias": (11,)}  # the weight is tied
        shapes |= {"encoder.lm_head.dense.weight": (4, 4), "encoder.lm_head.dense.bias": (4,)}
        shapes |= {"encoder.lm_head.layer_norm.weight": (4,), "encoder.lm_head.layer_norm.bias": (4,)}
    if head:
        name = "classification_heads.sentence_classification_head."
        shapes |= {name + "dense.weight": (4, 4), name + "dense.bias": (4,)}
        shapes |= {name + "out_proj.weight": (2, 4), name + "out_proj.bias": (2,)}
    return shapes


def test_counted_terms_agree_with_the_analytic_ones():
    found, parts = counted_terms(tiny_shapes()), terms(**TINY)
    assert found["table"] == 40 and found["tokens"] == 44
    assert {t: found[t] for t in ("matrices", "vectors", "head", "lm_head")} == {
        t: parts[t][1] for t in ("matrices", "vectors", "head", "lm_head")
    }
    assert sum(found.values()) == count_by(TINY, "classifier_fairseq")


def safetensors(path, shapes):
    header = json.dumps(
        {"__metadata__": {"format": "pt"}}
        | {name: {"dtype": "F32", "shape": shape, "data_offsets": [0, 0]} for name, shape in shapes.items()}
    ).encode()
    path.write_bytes(struct.pack("<Q", len(header)) + header)


@pytest.mark.parametrize("legacy", [False, True])
def test_real_torch_file_is_listed_without_torch(tmp_path, legacy):
    torch = pytest.importorskip("torch")
    model = torch.nn.Linear(3, 2)
    weights = model.state_dict()  # with its `_metadata`, an attribute that the pickle holds, too
    weights["p"] = model.weight
    state = {"model": weights, "cfg": {"model": {"a": 1}}, "args": None}
    torch.save(state, tmp_path / "model.pt", _use_new_zipfile_serialization=not legacy)
    assert read_shapes(str(tmp_path / "model.pt")) == {"weight": (2, 3), "bias": (2,), "p": (2, 3)}


def test_a_hostile_checkpoint_runs_nothing(tmp_path):
    class Evil:
        def __reduce__(self):
            return (exec, (f"open({str(tmp_path / 'owned')!r}, 'w')",))

    with zipfile.ZipFile(tmp_path / "model.pt", "w") as archive:
        archive.writestr("model/data.pkl", pickle.dumps({"model": {"x": Evil()}}))
    with pytest.raises(StudyError, match="holds no tensor"):
        read_shapes(str(tmp_path / "model.pt"))
    assert not (tmp_path / "owned").exists()


@pytest.mark.parametrize(
    "pickled",
    [
        b"\x80\x02}r" + struct.pack("<I", 2**26) + b".",  # remember the dictionary as number 67 108 864
        b"\x80\x05\x96" + struct.pack("<Q", 2**29) + b"abc.",  # 536 870 912 bytes follow
    ],
    ids=["memo", "bytes"],
)
def test_a_few_bytes_do_not_take_all_memory(tmp_path, pickled):
    with zipfile.ZipFile(tmp_path / "model.pt", "w") as archive:
        archive.writestr("model/data.pkl", pickled)
    tracemalloc.start()
    with pytest.raises(StudyError, match=r"model\.pt"):
        read_shapes(str(tmp_path / "model.pt"))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 50_000_000


def test_a_zip_that_ends_before_it_begins(tmp_path):
    # Its list of members lies 4 kB before the place that it claims, so its first member lies before the file.
    with zipfile.ZipFile(tmp_path / "whole.pt", "w") as archive:
        archive.writestr("model/data.pkl", bytes(5000))
    (tmp_path / "model.pt").write_bytes((tmp_path / "whole.pt").read_bytes()[4000:])
    with pytest.raises(StudyError, match=r"model\.pt is not a model file"):
        read_shapes(str(tmp_path / "model.pt"))


@pytest.mark.parametrize("name", ["a.pt", "a.safetensors", "a.json"])
def test_broken_and_missing_files_are_named(tmp_path, name):
    with pytest.raises(StudyError, match="is missing"):
        read_shapes(str(tmp_path / name))
    (tmp_path / name).write_bytes(b"<html>not found</html>")
    with pytest.raises(StudyError, match=name):
        read_shapes(str(tmp_path / name))


def test_ledger(tmp_path):
    safetensors(tmp_path / "whole.safetensors", tiny_shapes())
    run = tmp_path / "checkpoints"
    (run / "epoch1").mkdir(parents=True)
    shapes = tiny_shapes(lm_head=False) | {"roberta.embeddings.token_type_embeddings.weight": (1, 4)}
    safetensors(run / "epoch1" / "model.safetensors", shapes)
    missing = dict(list(tiny_shapes().items())[:-1])  # the head's last bias removed
    safetensors(tmp_path / "missing.safetensors", missing)
    models = {"whole": tmp_path / "whole.safetensors", "run": run, "missing": tmp_path / "missing.safetensors"}
    main(list(map(str, models.values())), list(models), str(tmp_path / "ledger.tsv"), TINY, ["no", "yes"])
    rows = {(row["section"], row["item"]): row for row in read_tsv(tmp_path / "ledger.tsv")}
    assert len([key for key in rows if key[0] == "published"]) == 8
    assert all(row["agrees"] == "true" for key, row in rows.items() if key[0] == "published")
    slip = rows[("published", "four_matrices")]["note"]
    assert "forgets the output projection, the other feed-forward matrix and the positions" in slip
    assert rows[("counted: whole", "total")]["note"] == "convention: classifier_fairseq"
    assert rows[("counted: run", "total")]["note"] == "convention: classifier_huggingface"
    assert rows[("counted: run", "total")]["agrees"] == "true"
    assert rows[("counted: missing", "head")]["agrees"] == "false"
    assert int(rows[("counted: missing", "total")]["expected"]) - int(rows[("counted: missing", "total")]["count"]) == 2


def huggingface_shapes():
    """The same model under Hugging Face's names, as far as they tell a size."""
    root = "roberta.encoder.layer."
    shapes = {"roberta.embeddings.word_embeddings.weight": (11, 4), "roberta.embeddings.LayerNorm.weight": (4,)}
    shapes |= {"roberta.embeddings.position_embeddings.weight": (10, 4)}
    for layer in range(2):
        shapes |= {f"{root}{layer}.intermediate.dense.weight": (6, 4), f"{root}{layer}.output.dense.weight": (4, 6)}
    return shapes


@pytest.mark.parametrize("shapes", [tiny_shapes(), huggingface_shapes()], ids=["fairseq", "huggingface"])
def test_the_size_is_the_checkpoints_own(shapes):
    assert size_of(shapes, "model.pt") == TINY


def test_a_checkpoint_with_another_vocabulary_than_the_settings_agrees(tmp_path):
    """The published ledger of a study with a checkpoint from a folder once said `false` in eleven rows."""
    safetensors(tmp_path / "model.safetensors", tiny_shapes())
    place, ledger = str(tmp_path / "model.safetensors"), str(tmp_path / "ledger.tsv")
    without = {key: value for key, value in TINY.items() if key != "vocab_size"}
    main([place], ["checkpoint"], ledger, without, ["no", "yes"])
    rows = read_tsv(ledger)
    assert {row["agrees"] for row in rows if row["section"].startswith("counted")} == {"true"}
    assert next(row["count"] for row in rows if (row["section"], row["item"]) == ("term", "tokens")) == "44"
    with pytest.raises(StudyError, match="vocab_size 11, the setting checkpoint.sentencepiece.vocab_size is 2400"):
        main([place], ["checkpoint"], ledger, without | {"vocab_size": 2400}, ["no", "yes"])
    with pytest.raises(StudyError, match="layers 2, the setting checkpoint.architecture.layers is 4"):
        main([place], ["checkpoint"], ledger, without | {"layers": 4}, ["no", "yes"])


def test_a_checkpoint_that_tells_no_size_is_named():
    shapes = tiny_shapes()
    with pytest.raises(StudyError, match="model.pt has 0 tensors of token embeddings"):
        size_of({name: shape for name, shape in shapes.items() if "embed_tokens" not in name}, "model.pt")
    with pytest.raises(StudyError, match="model.pt has the layers 0, 7: one is missing"):
        size_of({name.replace("layers.1.", "layers.7."): shape for name, shape in shapes.items()}, "model.pt")


def test_a_run_without_models_is_named(tmp_path):
    (tmp_path / "checkpoints").mkdir()
    with pytest.raises(StudyError, match="holds no model"):
        main([str(tmp_path / "checkpoints")], ["run"], str(tmp_path / "ledger.tsv"), TINY, ["no", "yes"])


def test_against_the_framework_s_own_model():
    """transformers builds the tiny model; its named parameters must be the analytic count."""
    transformers = pytest.importorskip("transformers")
    configuration = transformers.RobertaConfig(
        vocab_size=11, hidden_size=4, intermediate_size=6, num_hidden_layers=2, num_attention_heads=2,
        max_position_embeddings=10, type_vocab_size=1, num_labels=2,
    )  # fmt: skip
    model = transformers.RobertaForSequenceClassification(configuration)
    shapes = {name: tuple(tensor.shape) for name, tensor in model.named_parameters()}
    found = counted_terms(shapes)
    assert sum(found.values()) == count_by(TINY, "classifier_huggingface") == sum(p.numel() for p in model.parameters())
    assert found["table"] == 40 and found["token_types"] == 4
