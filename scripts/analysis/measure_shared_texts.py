"""The leading measure on test with and without the texts that occur, word for word, in training or validation."""

import numpy as np

from analysis.measured import read_answered
from analysis.prediction_tables import read_answers
from analysis.scored import by_run, prediction_files
from common.arms import summarise
from common.entry import run
from common.errors import StudyError
from common.files import read_lines
from common.frames import read_frame
from measures import DEFAULT, Lead, load
from study.tables import write_table


def shared(splits):
    """Return (N,) booleans: True for each test text that train or valid has.

    Args:
        splits: the texts of train, valid and test.
    """
    *earlier, test = splits
    seen = set().union(*earlier)
    return np.array([text in seen for text in test], dtype=bool)


def describe(name, right, mask):
    """Return an arm's row of shared_texts.tsv.

    Args:
        name: name of an arm or simple model.
        right: (S, N) booleans, correctness of each run on each test text.
        mask: result of `shared`.
    """
    every, kept = (summarise([float(row.mean()) for row in rows]) for rows in (right, right[:, ~mask]))
    return described(name, every, kept, right, mask)


def described(name, every, kept, right, mask):
    """Return a row from what `summarise` returns of all texts and of those that are not shared."""
    return {
        "arm": name,
        "n_seeds": len(right),
        "n_test": right.shape[1],
        "n_shared": int(mask.sum()),
        "mean": every["mean"],
        "sd_ddof1": every["sd_ddof1"],
        "mean_unshared": kept["mean"],
        "sd_unshared_ddof1": kept["sd_ddof1"],
    }


def main(runs, predictions, answers, reviews, shared_texts, run_keys, names):
    """Write the table: arms, then simple models; no row where every test text is shared.

    Args:
        runs: runs.tsv.
        predictions: every run's predictions on test.
        answers: predictions of the simple models.
        reviews: texts of train, valid and test, one a line.
        shared_texts: TSV file to write.
        run_keys: (arm, seed) of each of the predictions.
        names: the simple models, in the order of `answers`.

    Raises:
        StudyError: see `analysis.scored.prediction_files`; or the predictions are of other test texts.
    """
    frame = read_frame(runs)
    every = prediction_files(frame, by_run(run_keys, predictions))
    every |= {(name, "0"): path for name, path in zip(names, answers, strict=True)}
    labels, given = read_answers(every)
    mask = shared([read_lines(path) for path in reviews])
    if len(mask) != len(labels):
        raise StudyError(f"{reviews[-1]} has {len(mask)} texts, the predictions {len(labels)}: evaluate the runs again")
    right = given.eq(labels, axis=0)
    arms = dict.fromkeys(arm for arm, _ in right.columns) if not mask.all() else {}
    lead = Lead(frame.iloc[0])
    if lead.name == DEFAULT:
        rows = [describe(arm, right.loc[:, [arm]].to_numpy().T, mask) for arm in arms]
    else:
        answered, rows = read_answered(every), []
        for arm in arms:
            its = [answered[key] for key in every if key[0] == arm]
            scores = [
                summarise(
                    [load(lead.name).value(*(None if part is None else part[kept] for part in one[1:])) for one in its]
                )
                for kept in (slice(None), ~mask)
            ]
            rows.append(described(arm, *scores, right.loc[:, [arm]].to_numpy().T, mask))
    write_table(shared_texts, "shared_texts", rows)


if __name__ == "__main__":
    run(main, snakemake)
