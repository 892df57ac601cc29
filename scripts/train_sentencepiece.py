"""Train the SentencePiece model and write the fairseq dictionary that goes with it."""

import io
import random

import sentencepiece

from common.errors import StudyError
from common.files import atomic_path, write_lines
from common.rule import running

# <s> <pad> </s> <unk> stand before a fairseq dictionary's lines and <mask> after them.
FAIRSEQ_SYMBOLS = 5
# SentencePiece's own <unk> <s> </s>.
SENTENCEPIECE_SYMBOLS = 3
SENTENCES = 200_000


def dictionary_lines(model):
    """Return the lines of `dict.txt`: SentencePiece's pieces in their order, without its three symbols.

    Args:
        model: sentencepiece.SentencePieceProcessor.

    Returns:
        list[str]: "piece count"; the count is unused by fairseq when the dictionary is loaded, so it is 1.
    """
    return [f"{model.id_to_piece(i)} 1" for i in range(model.get_piece_size()) if not special(model, i)]


def special(model, i):
    """Whether piece `i` is a control symbol or the unknown piece."""
    return model.is_control(i) or model.is_unknown(i)


def sample(corpus, most):
    """Return the numbers of the lines to learn from: all, or `most` of them, always the same ones.

    The library's own sample is another in each process, `set_random_generator_seed` or not (version 0.2.3).
    """
    with open(corpus, encoding="utf-8", newline="\n") as lines:
        n = sum(1 for _ in lines)
    return range(n) if n <= most else set(random.Random(1).sample(range(n), most))


def main(corpus, model_path, dictionary_path, vocab_size, model_type, threads):
    """Train on `corpus` (a text a line) so that the embedding table has `vocab_size` rows.

    Args:
        corpus: text to learn the pieces from.
        model_path: `sentencepiece.bpe.model` to write (the course's name, whatever the type).
        dictionary_path: `dict.txt` to write: `vocab_size` - 5 lines.
        vocab_size: rows of the embedding table, fairseq's four symbols and <mask> among them.
        model_type: "unigram" or "bpe".
        threads: CPU threads.

    Raises:
        StudyError: the corpus is too small for so many pieces.
    """
    taken = sample(corpus, SENTENCES)
    # Handed over in memory: the model would keep the paths of its files, and so have other bytes in each run.
    model = io.BytesIO()
    with open(corpus, encoding="utf-8", newline="\n") as lines:
        try:
            sentencepiece.SentencePieceTrainer.train(
                sentence_iterator=(line.rstrip("\n") for number, line in enumerate(lines) if number in taken),
                model_writer=model,
                vocab_size=vocab_size - FAIRSEQ_SYMBOLS + SENTENCEPIECE_SYMBOLS,
                model_type=model_type,
                character_coverage=0.9995,
                shuffle_input_sentence=False,
                max_sentence_length=65536,
                num_threads=threads,
            )
        except RuntimeError as error:
            text = str(error)
            if "ocabulary size" in text or "vocab_size" in text:
                raise StudyError(
                    f"checkpoint.sentencepiece.vocab_size: {vocab_size} does not suit the corpus: {text.strip()}"
                ) from error
            raise
    with atomic_path(model_path) as temporary, open(temporary, "wb") as handle:
        handle.write(model.getvalue())
    model = sentencepiece.SentencePieceProcessor(model_file=model_path)
    write_lines(dictionary_path, dictionary_lines(model))


if __name__ == "__main__":
    with running(snakemake):  # noqa: F821
        main(
            snakemake.input.corpus,  # noqa: F821
            snakemake.output.model,  # noqa: F821
            snakemake.output.dictionary,  # noqa: F821
            snakemake.params.vocab_size,  # noqa: F821
            snakemake.params.model_type,  # noqa: F821
            snakemake.threads,  # noqa: F821
        )
