"""Convert fairseq's checkpoint to a Hugging Face folder, its tokenizer beside it."""

import os
import shutil

import torch

from checkpoint.vocabulary import read_dictionary
from common.entry import run
from common.errors import StudyError
from common.files import atomic_path, grant, read_json, sha256, write_json
from training.fairseq_checkpoint import REMEDY, load_fairseq_checkpoint, tells_heads
from training.roberta import sizes, to_fairseq, to_huggingface
from training.weights import tensor_sha256

# The fixed settings of Hugging Face's RoBERTa that fairseq's may have otherwise.
SETTINGS = {"encoder_normalize_before": False, "activation_fn": "gelu", "pooler_activation_fn": "tanh"}


def check_settings(settings, found, architecture, source):
    """Return heads and dropouts after comparing the checkpoint with the study.

    Args:
        settings: model arguments of the checkpoint, possibly empty.
        found: what `training.roberta.sizes` read from the tensors.
        architecture: config section `checkpoint.architecture`.
        source: the checkpoint's path, for messages.

    Returns:
        dict: heads, dropout, attention_dropout.

    Raises:
        StudyError: another size than the config says, or a variant that Hugging Face's RoBERTa does not have.
    """
    _check_kinds(settings, source)
    found = found | {"heads": settings.get("encoder_attention_heads", architecture["heads"])}
    if not tells_heads(settings):
        print(f"{source} has no settings of its own: that it has {found['heads']} attention heads cannot be verified")
    for key in ("layers", "width", "ffn_width", "heads", "max_positions"):
        if found[key] != architecture[key]:
            said = f"checkpoint.architecture.{key} is {architecture[key]}"
            raise StudyError(f"{said} but {source} has {found[key]}: set it to {found[key]}")
    if found["width"] % found["heads"]:
        raise StudyError(f"checkpoint.architecture.heads is {found['heads']}: it must divide width {found['width']}")
    for key, value in SETTINGS.items():
        if settings.get(key, value) not in (value, None):
            raise StudyError(f"{source} was trained with {key} = {settings[key]!r}: only {value!r} can be converted")
    return {
        "heads": found["heads"],
        "dropout": float(settings.get("dropout", 0.1)),
        "attention_dropout": float(settings.get("attention_dropout", 0.1)),
    }


def _check_kinds(settings, source):
    """Raise where a checkpoint's own settings are not of the kind that fairseq writes: the file may hold anything."""
    share = {"dropout", "attention_dropout"}
    for key in ("encoder_attention_heads", *SETTINGS, *sorted(share)):
        value = settings.get(key)
        sound = isinstance(value, int | float) and 0 <= value < 1 if key in share else isinstance(value, int | str)
        if key in settings and not (sound or value is None):
            raise StudyError(f"{source}: its own settings give {key} = {repr(value)[:60]}: {REMEDY}")


def build_model(state, found, settings):
    """Return a RobertaForMaskedLM with the fairseq weights.

    Args:
        state: {name: tensor} under fairseq's names.
        found: what `training.roberta.sizes` returned.
        settings: what `check_settings` returned.
    """
    from transformers import RobertaConfig, RobertaForMaskedLM

    converted = to_huggingface(state)
    tied = torch.equal(converted["lm_head.decoder.weight"], converted["roberta.embeddings.word_embeddings.weight"])
    config = RobertaConfig(
        vocab_size=found["rows"],
        hidden_size=found["width"],
        num_hidden_layers=found["layers"],
        num_attention_heads=settings["heads"],
        intermediate_size=found["ffn_width"],
        # fairseq counts positions from padding_idx + 1, so the table has two more rows.
        max_position_embeddings=found["max_positions"] + 2,
        type_vocab_size=1,
        # PyTorch's default, which fairseq uses; Hugging Face's default is 1e-12.
        layer_norm_eps=1e-5,
        # The exact GELU with the error function, as in fairseq.
        hidden_act="gelu",
        hidden_dropout_prob=settings["dropout"],
        attention_probs_dropout_prob=settings["attention_dropout"],
        # fairseq's --pooler-dropout is 0 by default; None would mean hidden_dropout_prob.
        classifier_dropout=0.0,
        bos_token_id=0,
        pad_token_id=1,
        eos_token_id=2,
        tie_word_embeddings=tied,
    )
    model = RobertaForMaskedLM(config)
    model.load_state_dict(converted, strict=True)
    return model


def main(checkpoint, tokenizer, folder, architecture):
    """Write the Hugging Face folder and prove it: the saved tensors, converted back, are fairseq's.

    Args:
        checkpoint: `model.pt`.
        tokenizer: folder of the rule `convert_tokenizer`, fairseq's dictionary in it.
        folder: folder to write: config, weights, tokenizer, conversion.json.
        architecture: config section `checkpoint.architecture`.

    Raises:
        StudyError: a file is broken, the sizes differ, or a tensor or id does not survive.
    """
    from safetensors.torch import load_file

    loaded = load_fairseq_checkpoint(checkpoint)
    state = {name: tensor for name, tensor in loaded["model"].items() if not name.startswith("classification_heads.")}
    found = sizes(state, checkpoint)
    settings = check_settings(loaded["settings"], found, architecture, checkpoint)
    dictionary = os.path.join(tokenizer, "dict.txt")
    indices = read_dictionary(dictionary)
    if len(indices) != found["rows"]:
        raise StudyError(
            f"{dictionary} gives {len(indices)} ids (special symbols and <mask> among them) but "
            f"{checkpoint} has {found['rows']} embeddings: they do not belong together"
        )
    sources = (checkpoint, dictionary, os.path.join(tokenizer, "sentencepiece.bpe.model"))
    with atomic_path(folder) as temporary:
        build_model(state, found, settings).save_pretrained(temporary)
        grant(os.path.join(temporary, "model.safetensors"))
        shutil.copytree(tokenizer, temporary, dirs_exist_ok=True, ignore=shutil.ignore_patterns(".snakemake*"))
        back = to_fairseq(load_file(os.path.join(temporary, "model.safetensors")))
        for name, tensor in state.items():
            if name not in back or not torch.equal(back[name], tensor):
                raise StudyError(f"tensor {name} did not survive the conversion of {checkpoint}")
        config = read_json(os.path.join(temporary, "config.json"))
        write_json(
            os.path.join(temporary, "conversion.json"),
            {
                "source_sha256": {os.path.basename(path): sha256(path) for path in sources},
                "heads_verified": tells_heads(loaded["settings"]),
                "n_tensors": len(state),
                "n_identical": len(state),
                "n_ids": len(indices),
                "vocab_size": config["vocab_size"],
                "tensors": {name: tensor_sha256(tensor) for name, tensor in sorted(state.items())},
            },
        )


if __name__ == "__main__":
    run(main, snakemake)
