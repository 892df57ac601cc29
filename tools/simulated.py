"""Draw studies whose truth is known and count what is said of them by the functions that fill a study's tables.

A run's answer to a text is right where a normal variable is below the quantile of the run's accuracy. Its parts are one
of the text, one of text and arm, and one of the run: all runs find the same texts hard, those of one arm more so.
"""

import dataclasses
import gc
import itertools
import math
import multiprocessing
import zlib

import numpy as np
from scipy.special import ndtri

from analysis import contrasts, inference
from analysis.arm_pairs import OPTIONS
from analysis.contrasts import Term
from analysis.failures import warnings_of
from analysis.intervals import t_interval
from analysis.judging import judged, tested
from analysis.nested_choice import best_of
from measures import macro_f1
from measures._jackknife import confusion

SEED, BLOCK = 52, 100
N_TEXTS, N_VALID, GAP = 2000, 200, 0.03
LEVEL, ALPHA = OPTIONS["level"], OPTIONS["alpha"]
# Shares of the normal variable's variance due to the text, and due to the text in one arm.
OF_TEXT, OF_ARM = 0.45, 0.15
# The accuracy of a run that always gives one of two equally frequent classes.
COLLAPSED = 0.5
# The counted events. `asked_wrong` studies answer that arms with equal means differ, and `asked_found` ones that arms
# differ which do by GAP. `equal_wrong` call these equal within GAP, `beyond_wrong` say that they differ by more, and
# `equal_found` call arms with equal means equal. `covered` are intervals.
COUNTED = (
    "asked_wrong",
    "asked_found",
    "equal_wrong",
    "beyond_wrong",
    "equal_found",
    "covered",
    "asked_covered",
    "arm_covered",
    "arm_t_covered",
)
COLUMNS = ("setting", "kind", "studies", *COUNTED, "warnings")
# Events where arms are equal.
OF_NULL = tuple(name for name in COUNTED if name not in ("asked_found", "equal_wrong", "beyond_wrong"))


@dataclasses.dataclass(frozen=True)
class Setting:
    """The common settings of one row's studies; accuracies and standard deviations are fractions.

    kind `arms`: two arms; `family`: four arms, six pairs, one claim is wrong if any is; `baseline`: an arm and a model
    without seeds; `choice`: the best of four arms on validation, all with the same mean, and another; `t` and
    `two_way`: macro-F1 of one arm, its interval over seeds or over seeds and texts.
    `together` is the correlation of the runs of one seed in both arms, `common` the share of the variance of seeds that
    all seeds of an arm share (one draw of labels, one checkpoint), `collapses` the probability that a run collapses.
    `shares` are those of the classes; the last has `recall` and its own deviation.
    """

    name: str
    kind: str = "arms"
    seeds: tuple = (3, 3)
    sd: tuple = (0.01, 0.01)
    accuracy: float = 0.8
    together: float = 0.0
    common: float = 0.0
    collapses: tuple = (0.0, 0.0)
    shares: tuple = ()
    recall: float = 0.6
    recall_sd: float = 0.08


def settings():
    """Return every `Setting` of the table, in its order."""
    found = [
        Setting(f"{n} seeds, SD {100 * sd:g}", seeds=(n, n), sd=(sd, sd))
        for n in (2, 3, 5, 10)
        for sd in (0.002, 0.01, 0.02)
    ]
    for sd in ((0.01, 0.01), (0.002, 0.002), (0.002, 0.02), (0.02, 0.002)):
        found.append(Setting(f"2 against 5 seeds, SD {100 * sd[0]:g} and {100 * sd[1]:g}", seeds=(2, 5), sd=sd))
    found += [
        Setting("3 against 10 seeds, SD 2 and 0.2", seeds=(3, 10), sd=(0.02, 0.002)),
        Setting("5 against 10 seeds, SD 2 and 0.2", seeds=(5, 10), sd=(0.02, 0.002)),
        Setting("5 seeds, SD 2 and 0.2", seeds=(5, 5), sd=(0.02, 0.002)),
        Setting("3 seeds, runs of a seed correlated 0.8 across arms", together=0.8),
        Setting("5 seeds, runs of a seed correlated 0.8 across arms", seeds=(5, 5), together=0.8),
        Setting("3 seeds, half of the variance common to an arm's seeds", common=0.5),
        Setting("5 seeds, half of the variance common to an arm's seeds", seeds=(5, 5), common=0.5),
        Setting("3 seeds, five classes", accuracy=0.5),
        Setting("5 seeds, five classes", seeds=(5, 5), accuracy=0.5),
        Setting("3 seeds, a class of 5 %", accuracy=0.95, sd=(0.005, 0.005)),
        Setting("5 seeds, a class of 5 %", seeds=(5, 5), accuracy=0.95, sd=(0.005, 0.005)),
    ]
    for n in (3, 5, 10):
        found.append(Setting(f"{n} seeds, 10 % collapses in one arm", seeds=(n, n), collapses=(0.1, 0.0)))
    for n in (3, 5, 10):
        found.append(Setting(f"{n} seeds, 10 % collapses in both arms", seeds=(n, n), collapses=(0.1, 0.1)))
    for n, sd in ((3, 0.01), (5, 0.01), (5, 0.002)):
        name = f"four arms of {n} seeds, SD {100 * sd:g}, six pairs"
        found.append(Setting(name, "family", seeds=(n,) * 4, sd=(sd,) * 4, collapses=(0.0,) * 4))
    for n in (2, 3, 5):
        for sd in (0.002, 0.01, 0.02):
            name = f"{n} seeds, SD {100 * sd:g}, against a model without seeds"
            found.append(Setting(name, "baseline", seeds=(n,), sd=(sd,), collapses=(0.0,)))
    for n in (2, 3, 5, 10):
        name = f"{n} seeds, SD 1, best of four arms on {N_VALID} validation texts against another"
        found.append(Setting(name, "choice", seeds=(n,) * 5, sd=(0.01,) * 5, collapses=(0.0,) * 5))
    name = "5 seeds, 10 % collapses, against a model without seeds"
    found.append(Setting(name, "baseline", seeds=(5,), sd=(0.01,), collapses=(0.1,)))
    for n in (3, 5):
        for shares, what in (((0.95, 0.05), "a class of 5 %"), ((0.2,) * 5, "five classes")):
            for kind, over in (("t", "over seeds"), ("two_way", "over seeds and texts")):
                deviation = 0.02 if len(shares) == 2 else 0.01
                recall = 0.6 if len(shares) == 2 else 0.5
                name = f"{n} seeds, {what}, macro-F1 {over}"
                found.append(
                    Setting(
                        name,
                        kind,
                        seeds=(n,),
                        sd=(0.005,),
                        accuracy=0.97 if len(shares) == 2 else 0.5,
                        shares=shares,
                        recall=recall,
                        recall_sd=deviation,
                    )
                )
    return found


def draw_accuracies(setting, gap, generator):
    """Return a list of each arm's true accuracies, one a run, and the arms' expectations; arm 0 is ahead by `gap`."""
    of_seed = generator.standard_normal(max(setting.seeds))
    drawn, expected = [], []
    ahead = len(setting.seeds) - 1 if setting.kind == "choice" else 1
    for i, (n, sd, share) in enumerate(zip(setting.seeds, setting.sd, setting.collapses, strict=True)):
        mean = setting.accuracy + (gap if i < ahead else 0.0)
        learned = (mean - share * COLLAPSED) / (1 - share)
        noise = generator.standard_normal(n) * math.sqrt(1 - setting.together) + of_seed[:n] * math.sqrt(
            setting.together
        )
        noise = noise * math.sqrt(1 - setting.common) + generator.standard_normal() * math.sqrt(setting.common)
        accuracies = np.clip(learned + sd * noise, 0.001, 0.999)
        drawn.append(np.where(generator.random(n) < share, COLLAPSED, accuracies))
        expected.append(mean)
    return drawn, expected


def draw_right(accuracies, generator, n_texts=N_TEXTS):
    """Return a list of each arm's (S, N) float32 of 0 and 1.

    A collapsed run is right on the texts of one class, which no text's difficulty decides.

    Args:
        accuracies: a list of each arm's, one a run.
    """
    of_text = generator.standard_normal(n_texts, dtype=np.float32)
    of_class = generator.random(n_texts) < COLLAPSED
    arms = []
    for values in accuracies:
        hard = math.sqrt(OF_TEXT) * of_text
        hard += math.sqrt(OF_ARM) * generator.standard_normal(n_texts, dtype=np.float32)
        noise = generator.standard_normal((len(values), n_texts), dtype=np.float32)
        right = hard + math.sqrt(1 - OF_TEXT - OF_ARM) * noise < ndtri(values)[:, None].astype(np.float32)
        right[values == COLLAPSED] = of_class
        arms.append(right.astype(np.float32))
    return arms


def answers_of(arms, margin, fixed=False):
    """Return (answer, interval) of a question about every two arms, by the functions that fill questions.tsv.

    Args:
        arms: their (S, N) arrays.
        margin: margin of equality; None where a difference is asked for.
        fixed: whether no seed changes the second arm.
    """
    rows, intervals = [], []
    for first, second in itertools.combinations(arms, 2):
        terms = [Term(1, first), Term(-1, second, fixed)]
        row = {"score_difference": inference.mean_difference(first, second), "equal_within": margin}
        rows.append(row | tested(row, terms))
        intervals.append(contrasts.interval(terms, row["score_difference"], LEVEL))
    corrected = inference.holm([row["p"] for row in rows])
    answers = [judged(row | {"p_holm": p, "alpha": ALPHA}) for row, p in zip(rows, corrected, strict=True)]
    return list(zip(answers, intervals, strict=True))


def within(interval, value):
    """Return whether an interval holds a value."""
    return bool(interval[0] <= value <= interval[1])


def nested(arms, accuracies, generator):
    """Return (S, N) of the best of several arms on N_VALID validation texts, each seed's chosen by the other seeds."""
    names = [str(place) for place in range(len(arms))]
    valid = {
        name: (generator.binomial(N_VALID, values) / N_VALID).tolist()
        for name, values in zip(names, accuracies, strict=True)
    }
    scored = {name: (arm.mean(axis=1), arm, False) for name, arm in zip(names, arms, strict=True)}
    return best_of(names, scored, valid)[0][1]


def study_of(setting, gap, generator):
    """Return what one study says, {name in `COUNTED`: bool} as far as `gap` decides it, and its warnings."""
    accuracies, expected = draw_accuracies(setting, gap, generator)
    baseline = setting.kind == "baseline"
    arms = draw_right([*accuracies, np.array([setting.accuracy])] if baseline else accuracies, generator)
    if setting.kind == "choice":
        arms = [nested(arms[:-1], accuracies[:-1], generator), arms[-1]]
    asked, equal = (answers_of(arms, margin, baseline) for margin in (None, GAP))
    different = any(answer == "difference" for answer, _ in asked)
    if gap:
        answer = equal[0][0]
        return {
            "asked_found": different,
            "equal_wrong": answer == "equal",
            "beyond_wrong": answer == "beyond",
        }, set()
    failed = [int((values == COLLAPSED).sum()) for values in accuracies]
    said = {
        "asked_wrong": different,
        "equal_found": all(answer == "equal" for answer, _ in equal),
        "asked_covered": all(within(interval, gap) for _, interval in asked),
        "arm_covered": within(inference.mean_interval(arms[0], LEVEL), expected[0]),
        "arm_t_covered": within(t_interval(arms[0].mean(axis=1, dtype=float).tolist(), LEVEL), expected[0]),
    }
    if setting.kind == "choice":
        return said, set(warnings_of(arms, [0, 0]))
    learners = arms[: len(accuracies)]
    return said, set(warnings_of(learners, failed, common=setting.common > 0))


def draw_recalls(setting, n, generator):
    """Return (n, k) recalls of runs: each class with a separate deviation, the last with the setting's."""
    k = len(setting.shares)
    spread = np.array([setting.sd[0]] * (k - 1) + [setting.recall_sd])
    mean = np.array([setting.accuracy] * (k - 1) + [setting.recall])
    return np.clip(mean + spread * generator.standard_normal((n, k)), 0.01, 0.99)


def expected_macro_f1(setting):
    """Return the expected macro-F1 of runs on texts without end; a wrong answer is any other class alike."""
    recalls, shares = draw_recalls(setting, 100_000, np.random.default_rng(SEED)), np.array(setting.shares)
    wrong = (1 - recalls) * shares / (len(shares) - 1)
    answered = recalls * shares + wrong.sum(axis=1, keepdims=True) - wrong
    return float((2 * recalls * shares / (answered + shares)).mean())


def study_of_macro(setting, expected, generator):
    """Return whether the interval of an arm's macro-F1 covers what further seeds and texts would give."""
    recalls = draw_recalls(setting, setting.seeds[0], generator)
    k = len(setting.shares)
    labels = generator.choice(k, N_TEXTS, p=setting.shares)
    hard = math.sqrt(OF_TEXT + OF_ARM) * generator.standard_normal(N_TEXTS)
    noise = math.sqrt(1 - OF_TEXT - OF_ARM) * generator.standard_normal((len(recalls), N_TEXTS))
    other = (labels + generator.integers(1, k, (len(recalls), N_TEXTS))) % k
    answers = np.where(hard + noise < ndtri(recalls[:, labels]), labels, other)
    if setting.kind == "t":
        scores = [macro_f1.of_counts(confusion(labels, row, k)) for row in answers]
        interval = t_interval(scores, LEVEL)
    else:
        classes = np.empty((N_TEXTS, k))
        interval = inference.mean_interval([macro_f1.items(labels, row, classes) for row in answers], LEVEL)
    shares = np.bincount(labels, minlength=k) / N_TEXTS
    return within(interval, expected), set(warnings_of([], [], shares=shares, over_seeds=setting.kind == "t"))


def block(task):
    """Return (name, counts, warnings) of one block of a setting's studies, from its own seed.

    Args:
        task: (setting, number of the block, number of studies).
    """
    setting, number, studies = task
    # statsmodels collects garbage at each of Holm's corrections, which need not examine objects that exist by now.
    gc.freeze()
    generator = np.random.default_rng([SEED, zlib.crc32(setting.name.encode()), number])
    counts, names = dict.fromkeys(COUNTED, 0), set()
    expected = expected_macro_f1(setting) if setting.shares else None
    for _ in range(studies):
        if setting.shares:
            covered, found = study_of_macro(setting, expected, generator)
            said = [({"covered": covered}, found)]
        else:
            gaps = (0.0,) if setting.kind == "family" else (0.0, GAP)
            said = [study_of(setting, gap, generator) for gap in gaps]
        for facts, found in said:
            names |= found
            for name, true in facts.items():
                counts[name] += true
    return setting.name, counts, names


def simulate(chosen, studies, processes=1):
    """Return the rows of simulations.tsv: counts of studies, None where a setting has no such figure.

    Args:
        chosen: list of `Setting`.
        studies: of each; blocks of `BLOCK` have seeds of their own, so a smaller number draws the same first ones.
        processes: to share blocks between.
    """
    tasks = [
        (setting, number, min(BLOCK, studies - number * BLOCK))
        for setting in chosen
        for number in range(math.ceil(studies / BLOCK))
    ]
    if processes > 1:
        with multiprocessing.get_context("spawn").Pool(processes) as pool:
            done = pool.map(block, tasks, chunksize=1)
    else:
        done = list(map(block, tasks))
    return [row_of_setting(setting, [one for one in done if one[0] == setting.name], studies) for setting in chosen]


def row_of_setting(setting, blocks, studies):
    """Return a setting's row from its blocks."""
    given = OF_NULL if setting.kind == "family" else COUNTED
    given = ("covered",) if setting.shares else [name for name in given if name != "covered"]
    sums = {name: sum(counts[name] for _, counts, _ in blocks) if name in given else None for name in COUNTED}
    names = sorted(set().union(*(names for _, _, names in blocks)))
    return {"setting": setting.name, "kind": setting.kind, "studies": studies, **sums, "warnings": "; ".join(names)}
