"""Train the SentencePiece model and write the fairseq dictionary that goes with it."""

import io
import random

import sentencepiece

from checkpoint.vocabulary import SPECIALS
from common.entry import run
from common.errors import StudyError
from common.files import atomic_path, write_lines
from data.pieces import load_model

# <s> <pad> </s> <unk> come before a fairseq dictionary's lines and <mask> after them.
FAIRSEQ_SYMBOLS = len(SPECIALS) + 1
# SentencePiece's <unk> <s> </s>.
SENTENCEPIECE_SYMBOLS = 3
SENTENCES = 200_000


def dictionary_lines(model):
    """Return the lines of `dict.txt`: SentencePiece's pieces in their order, without its three symbols.

    Args:
        model: sentencepiece.SentencePieceProcessor.

    Returns:
        list[str]: "piece count"; the count is unused by fairseq when the dictionary is loaded, so it is 1.
    """
    ids = range(model.get_piece_size())
    return [f"{model.id_to_piece(i)} 1" for i in ids if not model.is_control(i) and not model.is_unknown(i)]


def sample(corpus, most):
    """Return the numbers of the lines to learn from: all, or `most` of them, always the same ones.

    The library's own sample is another in each process, `set_random_generator_seed` or not (version 0.2.3).
    """
    with open(corpus, encoding="utf-8", newline="\n") as lines:
        n = sum(1 for _ in lines)
    return range(n) if n <= most else set(random.Random(1).sample(range(n), most))


def main(corpus, model, dictionary, vocab_size, model_type, threads):
    """Train on `corpus` (a text a line) so that the embedding table has `vocab_size` rows.

    Args:
        corpus: text to learn the pieces from.
        model: `sentencepiece.bpe.model` to write (the course's name, whatever the type).
        dictionary: `dict.txt` to write: `vocab_size` - 5 lines.
        vocab_size: rows of the embedding table, fairseq's four symbols and <mask> among them.
        model_type: "unigram" or "bpe".
        threads: CPU threads.

    Raises:
        StudyError: the corpus is too small for so many pieces.
    """
    taken = sample(corpus, SENTENCES)
    # The texts are passed in memory: the model would contain the paths of its files, and differ in each run.
    trained = io.BytesIO()
    with open(corpus, encoding="utf-8", newline="\n") as lines:
        try:
            sentencepiece.SentencePieceTrainer.train(
                sentence_iterator=(line.rstrip("\n") for number, line in enumerate(lines) if number in taken),
                model_writer=trained,
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
    with atomic_path(model) as temporary, open(temporary, "wb") as handle:
        handle.write(trained.getvalue())
    write_lines(dictionary, dictionary_lines(load_model(model)))


if __name__ == "__main__":
    run(main, snakemake)
