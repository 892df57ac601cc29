"""Figures: their data, any number of arms and seeds, colours, and the same bytes at every build."""

import re
import subprocess
import sys
from pathlib import Path

import pandas
import pytest

from analysis import (
    epoch_curves,
    measure_overfitting,
    plot_accuracy_by_epoch,
    plot_arms,
    plot_arms_by_epoch,
    plot_train_and_valid,
)
from analysis.looks import PALETTE, looks_of, padded_limits
from checkpoint import plot_pretraining
from common.arms import KNOWN, arms_of
from common.errors import StudyError
from common.files import read_tsv, sha256, write_json, write_tsv
from common.frames import read_frame
from study.figures import majority_shares
from support.arms import facts

SCRIPTS = Path(__file__).resolve().parents[3] / "scripts"
TESTS = Path(__file__).resolve().parents[2]
FOUR = [(framework, init) for framework in ("fairseq", "huggingface") for init in ("pretrained", "random")]


def write_study(folder, arms, seeds, epochs=3, test_curves=True, synthetic=False):
    """Write made-up runs.tsv, history.tsv and manifest.json; return their paths."""
    runs, history = [], []
    for place, (framework, init) in enumerate(arms):
        for seed in seeds:
            identity = facts(framework, init) | {"seed": seed}
            accuracy = 0.9 - 0.1 * place - 0.01 * (seed % 3)
            runs.append(identity | {"best_epoch": epochs, "test_accuracy": accuracy})
            for epoch in range(1, epochs + 1):
                for split in ("valid", "test") if test_curves else ("valid",):
                    point = {"epoch": epoch, "update": 10 * epoch, "split": split, "metric": "accuracy"}
                    history.append(identity | point | {"value": accuracy - 0.05 * (epochs - epoch)})
                for split, metric in (("train", "accuracy"), ("train", "loss"), ("valid", "loss")):
                    point = {"epoch": epoch, "update": 10 * epoch, "split": split, "metric": metric}
                    history.append(identity | point | {"value": accuracy / epoch + 0.01 * (split == "valid")})
    write_tsv(folder / "runs.tsv", runs, tuple(runs[0]))
    write_tsv(folder / "history.tsv", history, tuple(history[0]))
    splits = {split: {"n": 100, "n_positive": 40} for split in ("train", "valid", "test")}
    write_json(folder / "manifest.json", {"synthetic": synthetic, "splits": splits})
    return folder / "runs.tsv", folder / "history.tsv", folder / "manifest.json"


def plot_all(folder, paths, colours=None):
    runs, history, manifest = paths
    made = [folder / f"arms.{ending}" for ending in ("svg", "png", "tsv")]
    plot_arms.main(runs, manifest, *made, colours)
    for arm in arms_of(read_tsv(runs)):
        outputs = [folder / f"{arm.arm}.{ending}" for ending in ("svg", "png", "tsv")]
        plot_accuracy_by_epoch.main(runs, history, manifest, *([path] for path in outputs), [arm.arm], colours)
        made += outputs
        more = [folder / f"train-{arm.arm}.{ending}" for ending in ("svg", "png", "tsv")]
        plot_train_and_valid.main(runs, history, manifest, *([path] for path in more), [arm.arm], colours)
        made += more
    for measure in ("accuracy", "highest_so_far"):
        outputs = [folder / f"{measure}.{ending}" for ending in ("svg", "png", "tsv")]
        plot_arms_by_epoch.main(runs, history, manifest, *([path] for path in outputs), [measure], colours)
        made += outputs
    return made


@pytest.mark.parametrize(
    ("arms", "seeds", "epochs", "test_curves"),
    [(FOUR[:3], [1, 2, 3], 3, True), (FOUR[:1], [7], 1, False), (FOUR[1:2], list(range(1, 11)), 2, True)],
)
def test_any_number_of_arms_seeds_and_epochs(tmp_path, arms, seeds, epochs, test_curves):
    made = plot_all(tmp_path, write_study(tmp_path, arms, seeds, epochs, test_curves))
    assert len(made) == 3 * (1 + 2 * len(arms) + 2)
    for path in made:
        assert path.stat().st_size > 50
    rows = read_tsv(tmp_path / f"{'-'.join(arms[0])}.tsv")
    assert len(rows) == len(seeds) * epochs * (2 if test_curves else 1)
    assert {row["epoch"] for row in rows if row["chosen"] == "true"} == {str(epochs)}
    intervals = read_tsv(tmp_path / "arms.tsv")
    assert [(row["framework"], row["init"]) for row in intervals] == arms
    assert all((row["t_low"] == "") == (len(seeds) == 1) for row in intervals)
    assert {row["majority_share"] for row in intervals} == {"0.6"}


def test_two_processes_write_the_same_bytes(tmp_path):
    code = (
        "import sys; from pathlib import Path; sys.path[:0] = sys.argv[1:4]\n"
        "import test_figures as t; f = Path(sys.argv[4]); f.mkdir()\n"
        "t.plot_all(f, t.write_study(f, t.FOUR[:1], [1, 2]))"
    )
    sums = []
    for name, hashseed in (("first", "1"), ("second", "2")):
        folder = tmp_path / name
        subprocess.run(
            [sys.executable, "-c", code, *map(str, (SCRIPTS, TESTS, Path(__file__).parent, folder))],
            check=True,
            env={"PYTHONHASHSEED": hashseed, "PATH": "", "HOME": str(tmp_path), "OMP_NUM_THREADS": "1"},
        )
        sums.append({path.name: sha256(path) for path in folder.iterdir()})
    assert sums[0] == sums[1]
    svg = (tmp_path / "first" / "arms.svg").read_text(encoding="utf-8")
    assert "<dc:date>" not in svg and "matplotlib.org/" not in svg.split("<defs>")[0].split("<metadata>")[1]
    assert "<title>Test accuracy of every arm</title>" in svg or "<dc:title>Test accuracy of every arm" in svg


def test_a_configured_colour_changes_only_its_arm(tmp_path):
    paths = write_study(tmp_path, FOUR[:2], [1, 2])
    before = {path: path.read_bytes() for path in plot_all(tmp_path, paths)}
    after = {path: path.read_bytes() for path in plot_all(tmp_path, paths, {"fairseq-random": "#123456"})}
    changed = {path.name for path in before if before[path] != after[path]}
    names = ("arms", "fairseq-random", "train-fairseq-random", "accuracy", "highest_so_far")
    assert changed == {f"{name}.{ending}" for name in names for ending in ("svg", "png")}
    assert b"#123456" in after[tmp_path / "fairseq-random.svg"]


def test_an_arm_keeps_its_default_colour_whatever_the_study_holds():
    assert [looks_of([name])[name][0] for name in KNOWN] == list(PALETTE[:4])
    assert looks_of(["mine", "fairseq-random"], {"fairseq-random": None})["fairseq-random"][0] == PALETTE[1]
    for wrong in ("red", "#12345", "#12345g", 7):
        with pytest.raises(StudyError, match="report.colours.fairseq-random"):
            looks_of(["fairseq-random"], {"fairseq-random": wrong})


def test_eight_arms_are_told_apart_by_colour_and_mark():
    names = [f"arm{number}" for number in range(8)]
    looks = looks_of(names, {"arm3": "#123456"})
    assert len(set(looks.values())) == 8 and looks["arm3"][0] == "#123456"
    # Seven colours for the other seven arms, and as many marks: no two are alike in grey.
    assert len({colour for colour, _, _ in looks.values()}) == len({mark for _, mark, _ in looks.values()}) == 8
    # Beside an arm of the lab's, whose colour stays, another takes a colour that is free.
    assert looks_of(["mine", "fairseq-pretrained"])["mine"][0] not in (PALETTE[0], None)


def test_the_arms_of_a_grid_have_a_colour_each():
    names = [f"arm{number}" for number in range(21)]
    colours = [colour for colour, *_ in looks_of(names).values()]
    assert len(set(colours)) == 21 and tuple(colours[:7]) == PALETTE
    # Dark enough on white for a line: the luminance of WCAG 2, whose contrast with white is then above 1.6.
    for colour in colours:
        parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
        linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        luminance = sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), linear, strict=True))
        assert 1.05 / (luminance + 0.05) > 1.6


def test_the_font_is_matplotlibs_own():
    import matplotlib
    from matplotlib import font_manager

    from study.figures import set_style

    set_style()
    assert font_manager.findfont("DejaVu Sans").startswith(matplotlib.get_data_path())
    assert matplotlib.rcParams["svg.hashsalt"]


def test_arms_are_told_apart_without_colour_and_text_is_text(tmp_path):
    paths = write_study(tmp_path, FOUR, [1, 2, 3], 2, False)
    runs = read_frame(paths[0])
    figure = plot_arms.draw(runs, plot_arms.intervals(runs, 0.5), dict.fromkeys(KNOWN, "#123456"))
    figure.canvas.draw()
    *dots, whiskers = figure.axes[0].collections
    marks = [len(of_arm.get_paths()[0].vertices) for of_arm in dots]
    assert len(set(zip(marks, map(str, whiskers.get_linestyles()), strict=True))) == 4
    made = [tmp_path / f"arms.{ending}" for ending in ("svg", "png", "tsv")]
    plot_arms.main(paths[0], paths[2], *made, None)
    svg = made[0].read_text(encoding="utf-8")
    style = re.search(r'<text class="(s\d+)"[^>]*>Hugging Face, random</text>', svg)[1]
    assert re.search(rf"\.{style}{{[^}}]*sans-serif[^}}]*}}", svg)


def test_means_stop_where_a_seed_stops():
    points = pandas.DataFrame([(1, "1", 50.0), (1, "2", 70.0), (2, "1", 90.0)], columns=["epoch", "seed", "percent"])
    assert list(epoch_curves.shared_epochs(points)["percent"]) == [50, 70]
    # Each of two curves has its own epochs.
    both = pandas.concat([points.assign(arm="a"), points[points["epoch"] == 1].assign(arm="b")])
    assert list(epoch_curves.shared_epochs(both, ["arm"])["percent"]) == [50, 70, 50, 70]


def drawn(axes):
    """The lines of a figure: {(x, y), ...} by width."""
    return {line.get_linewidth(): line.get_xydata().tolist() for line in axes.get_lines()}


# Accuracies by hand: epoch 1: 50, 70, mean 60, SD (ddof 1) sqrt(200) = 14.1421; epoch 2: 60, 90, mean 75, SD 21.2132.
ROWS = [(1, "1", 0.5, False), (2, "1", 0.6, True), (1, "2", 0.7, True), (2, "2", 0.9, False)]
MEANS, SDS = [60, 75], [14.1421, 21.2132]


def by_hand(split):
    points = pandas.DataFrame(ROWS, columns=["epoch", "seed", "accuracy", "chosen"])
    return points.assign(**facts("fairseq", "random"), split=split, update=10 * points["epoch"])


def test_mean_and_sd_are_the_seeds_own():
    points = pandas.concat([by_hand("valid"), by_hand("test")])
    figure = plot_accuracy_by_epoch.draw(points, (45, 95), {"valid": 0.5, "test": 0.5}, "#123456")
    # Validation and test have a panel each, with the same curves here.
    assert len(figure.axes) == 2
    for axes in figure.axes:
        (mean,) = axes.containers
        line, _, (whiskers,) = mean.lines
        assert line.get_ydata().tolist() == MEANS
        ends = [segment[:, 1].tolist() for segment in whiskers.get_segments()]
        spans = [[mean - sd, mean + sd] for mean, sd in zip(MEANS, SDS, strict=True)]
        assert [pytest.approx(span, abs=1e-3) for span in spans] == ends


def test_seeds_can_be_told_apart():
    (axes,) = plot_accuracy_by_epoch.draw(by_hand("valid"), (45, 95), {"valid": 0.5}, "#123456").axes
    thin = [line for line in axes.get_lines() if line.get_linewidth() == 0.8]
    assert len(thin) == 2
    # Each seed has dashes of its own, and its number at each of its points.
    assert len({str(line._dash_pattern) for line in thin}) == 2
    numbers = next(found for found in axes.collections if len({str(p.vertices) for p in found.get_paths()}) > 1)
    glyphs = [str(path.vertices.round(3)) for path in numbers.get_paths()]
    assert len(glyphs) == 4 and len(set(glyphs)) == 2
    # Points of an epoch lie side by side, the mean last, within half an epoch of it.
    places = [epoch_curves.places(["1", "2"], (slot, 2)) for slot in (0, 1)]
    shifts = [shift for each in places for shift in each.values()]
    assert shifts == sorted(set(shifts)) and -0.5 < shifts[0] and shifts[-1] < 0.5
    rings = next(
        found for found in axes.collections if found.get_facecolors().size == 0 and len(found.get_offsets()) == 2
    )
    assert sorted(rings.get_offsets()[:, 1].tolist()) == pytest.approx([60, 70])


def test_updates_stand_above_the_epochs():
    figure = plot_accuracy_by_epoch.draw(by_hand("valid"), (45, 95), {"valid": 0.5}, "#123456")
    figure.canvas.draw()
    (above,) = figure.axes[0].child_axes
    assert above.get_xlabel() == "update"
    assert [label.get_text() for label in above.get_xticklabels()] == ["10", "20"]


def test_the_highest_so_far_never_falls_and_splits_keep_apart():
    rows = [
        ("valid", 1, 0.6),
        ("valid", 2, 0.5),
        ("valid", 3, 0.7),
        ("test", 1, 0.4),
        ("test", 2, 0.3),
        ("test", 3, 0.35),
    ]
    points = pandas.DataFrame(rows, columns=["split", "epoch", "accuracy"])
    points = points.assign(**facts("fairseq", "random"), seed="1")
    found = plot_arms_by_epoch.highest_so_far(points)
    assert list(found[found["split"] == "valid"]["accuracy"]) == [0.6, 0.6, 0.7]
    assert list(found[found["split"] == "test"]["accuracy"]) == [0.4, 0.4, 0.4]


def test_all_arms_are_in_one_figure_with_their_means(tmp_path):
    paths, made = write_study(tmp_path, FOUR, [1, 2, 3], epochs=2), [tmp_path / f"x.{e}" for e in ("svg", "png")]
    plot_arms_by_epoch.main(*paths, *([path] for path in made), [tmp_path / "accuracy.tsv"], ["accuracy"], None)
    rows = read_tsv(tmp_path / "accuracy.tsv")
    assert [arm[1::2] for arm in arms_of(rows)] == FOUR and [row["split"] for row in rows[:4]] == [
        "valid",
        "valid",
        "test",
        "test",
    ]
    # Seeds 1, 2, 3 of the first arm after epoch 2: 0.89, 0.88, 0.90: mean 0.89, SD (ddof 1) 0.01.
    assert (rows[1]["epoch"], rows[1]["update"], rows[1]["n_seeds"]) == ("2", "20", "3")
    assert float(rows[1]["mean"]) == pytest.approx(0.89) and float(rows[1]["sd_ddof1"]) == pytest.approx(0.01)


def overfitted(tmp_path):
    """One arm, two seeds, three epochs; the first seed's validation loss rises again after epoch 2."""
    curves_of = {
        "1": {("train", "loss"): (0.6, 0.4, 0.2), ("valid", "loss"): (0.6, 0.5, 0.7)},
        "2": {("train", "loss"): (0.6, 0.5, 0.4), ("valid", "loss"): (0.6, 0.55, 0.5)},
    }
    accuracies = {"1": (0.9, 0.7), "2": (0.8, 0.75)}
    runs, history = [], []
    for seed, of_seed in curves_of.items():
        identity = facts("fairseq", "random") | {"seed": seed}
        runs.append(identity | {"best_epoch": 2, "n_train": 100, "n_valid": 48})
        for epoch in (1, 2, 3):
            found = {key: values[epoch - 1] for key, values in of_seed.items()}
            found |= {("train", "accuracy"): accuracies[seed][0], ("valid", "accuracy"): accuracies[seed][1]}
            for (split, metric), value in found.items():
                place = {"epoch": epoch, "update": 5 * epoch, "split": split, "metric": metric}
                history.append(identity | place | {"value": value})
    for name, rows in (("runs", runs), ("history", history)):
        write_tsv(tmp_path / f"{name}.tsv", rows, tuple(rows[0]))
    return [tmp_path / f"{name}.tsv" for name in ("runs", "history", "by_run", "arms")]


def test_the_gap_to_validation_by_hand(tmp_path):
    paths = overfitted(tmp_path)
    measure_overfitting.main(*paths)
    first, second = read_tsv(paths[2])
    values = {name: float(first[name]) for name in ("loss_gap", "accuracy_gap", "lowest_valid_loss", "valid_loss_rise")}
    assert values == pytest.approx(
        {"loss_gap": 0.5, "accuracy_gap": 0.2, "lowest_valid_loss": 0.5, "valid_loss_rise": 0.2}
    )
    assert (first["epoch"], first["update"], first["lowest_valid_loss_epoch"]) == ("3", "15", "2")
    assert (second["lowest_valid_loss_epoch"], second["valid_loss_rise"]) == ("3", "0.0")
    (arm,) = read_tsv(paths[3])
    # Gaps 0.5 and 0.1: mean 0.3, SD (ddof 1) 0.4 / sqrt(2); accuracies 0.2 and 0.05.
    assert float(arm["loss_gap"]) == pytest.approx(0.3)
    assert float(arm["loss_gap_sd_ddof1"]) == pytest.approx(0.282843, abs=1e-6)
    assert float(arm["accuracy_gap_sd_ddof1"]) == pytest.approx(0.106066, abs=1e-6)
    assert (arm["n_seeds"], arm["n_past_lowest"], arm["n_train"], arm["n_valid"]) == ("2", "1", "100", "48")
    # 1.96 * sqrt(0.725 * 0.275 / 48)
    assert float(arm["valid_accuracy_half_width"]) == pytest.approx(0.126317, abs=1e-5)


def test_a_run_without_training_accuracy_is_an_error(tmp_path):
    paths = overfitted(tmp_path)
    rows = [row for row in read_tsv(paths[1]) if (row["split"], row["metric"]) != ("train", "accuracy")]
    write_tsv(paths[1], rows, tuple(rows[0]))
    with pytest.raises(StudyError, match="lacks loss or accuracy of train or valid"):
        measure_overfitting.main(*paths)
    manifest = tmp_path / "manifest.json"
    write_json(manifest, {"synthetic": False})
    outputs = [tmp_path / f"x.{ending}" for ending in ("svg", "png", "tsv")]
    with pytest.raises(StudyError, match="lacks loss or accuracy of train or valid for arm fairseq-random"):
        plot_train_and_valid.main(*paths[:2], manifest, *([path] for path in outputs), ["fairseq-random"], None)


def test_the_accuracy_of_sets_is_called_what_it_is():
    assert plot_train_and_valid.words_of({})["accuracy"] == "accuracy (%)"
    words = plot_train_and_valid.words_of({"task": "multilabel"})
    assert words == {"loss": "loss (nats)", "accuracy": "subset accuracy (%)"}


def test_every_seed_and_the_mean_of_an_arm_are_drawn():
    runs = pandas.DataFrame({"seed": ["1", "2", "3"], "test_accuracy": ["0.703", "0.703", "0.9"]})
    runs = runs.assign(**facts("fairseq", "random"))
    figure = plot_arms.draw(runs, plot_arms.intervals(runs, 0.5), None)
    figure.canvas.draw()
    (axes,) = figure.axes
    dots, whisker = axes.collections
    places = dots.get_offsets().tolist()
    # Equal seeds lie beside each other.
    assert [round(x, 9) for x, _ in places] == [70.3, 70.3, 90] and places[0][1] != places[1][1]
    # (70.3 + 70.3 + 90) / 3 = 76.8667
    assert drawn(axes)[axes.get_lines()[0].get_linewidth()][0][0] == pytest.approx(76.8667, abs=1e-4)
    (low, _), (high, _) = whisker.get_segments()[0].tolist()
    # sd 11.3739, t(0.975, 2) = 4.30265: 28.2548 either way, cut off at 100
    assert (low, high) == (pytest.approx(76.8667 - 28.2548, abs=1e-3), 100)


def test_limits_by_hand():
    assert padded_limits([50.0, 80.0], 5) == (45, 85)  # 50 - 5/3 and 80 + 5/3 reach into the next step
    assert padded_limits([52.0, 82.0], 5) == (50, 85)
    assert padded_limits([0.0, 100.0], 5) == (0, 100)


def test_the_majority_share_is_the_larger_class():
    manifest = {"splits": {"test": {"n": 10, "n_positive": 4}, "valid": {"n": 10, "n_positive": 7}}}
    assert majority_shares(manifest, ["test", "valid"]) == {"test": 0.6, "valid": 0.7}


def test_synthetic_data_are_named_in_the_figure(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "made").mkdir()
    real = plot_all(tmp_path / "real", write_study(tmp_path / "real", FOUR[:1], [1]))
    made = plot_all(tmp_path / "made", write_study(tmp_path / "made", FOUR[:1], [1], synthetic=True))
    for a, b in zip(real, made, strict=True):
        if a.suffix == ".svg":  # text is drawn as paths, after a comment that holds it
            assert "synthetic data" in b.read_text(encoding="utf-8")
            assert "synthetic data" not in a.read_text(encoding="utf-8")


def test_the_pretraining_curve_is_the_same_bytes_again_and_needs_held_out_loss(tmp_path):
    history, manifest = tmp_path / "pretraining.tsv", tmp_path / "manifest.json"
    write_json(manifest, {"synthetic": True})
    points = [(u, split) for u in (50, 100) for split in ("train", "valid")]
    rows = [{"update": u, "split": split, "loss": 9 - u / 50, "n_tokens": 1000} for u, split in points]
    write_tsv(history, rows, tuple(rows[0]))
    first, second = ([tmp_path / f"{name}.{ending}" for ending in ("svg", "png")] for name in "ab")
    for made in (first, second):
        plot_pretraining.main(history, manifest, *made)
    assert [path.read_bytes() for path in first] == [path.read_bytes() for path in second]
    assert "synthetic data" in first[0].read_text(encoding="utf-8")
    write_tsv(history, rows[::2], tuple(rows[0]))
    missing = [tmp_path / f"c.{ending}" for ending in ("svg", "png")]
    with pytest.raises(StudyError, match="no held-out loss"):
        plot_pretraining.main(history, manifest, *missing)
    assert not any(path.exists() for path in missing)


def test_the_axis_above_the_pretraining_curve_counts_what_was_predicted(tmp_path):
    points = [(u, split) for u in (50, 100) for split in ("train", "valid")]
    rows = [{"update": u, "split": split, "loss": 9 - u / 50, "n_tokens": 600_000} for u, split in points]
    write_tsv(tmp_path / "pretraining.tsv", rows, tuple(rows[0]))
    figure = plot_pretraining.draw(read_frame(tmp_path / "pretraining.tsv"))
    figure.canvas.draw()
    (axes,) = figure.axes
    (above,) = axes.child_axes
    # 1.2 million in 100 updates, held-out ones apart: 0.012 million an update.
    assert above.get_xlim() == pytest.approx([0.012 * update for update in axes.get_xlim()])
    assert above.get_xlabel() == "masked tokens predicted (millions)"


def test_missing_arm_or_runs_is_a_clear_error(tmp_path):
    runs, history, manifest = write_study(tmp_path, FOUR[:1], [1])
    outputs = [tmp_path / f"x.{ending}" for ending in ("svg", "png", "tsv")]
    with pytest.raises(StudyError, match="huggingface-random"):
        plot_accuracy_by_epoch.main(
            runs, history, manifest, *([path] for path in outputs), ["huggingface-random"], None
        )
    write_tsv(runs, [], ("arm", "framework", "model", "init", "seed", "test_accuracy"))
    with pytest.raises(StudyError, match="no runs"):
        plot_arms.main(runs, manifest, *outputs, None)
    assert not any(path.exists() for path in outputs)


def test_the_look_of_figures_costs_no_import_of_seaborn_or_scipy():
    """They take longer to import than most figures to draw, and a study draws in a dozen jobs."""
    code = (
        "import sys\nfrom study.figures import set_style\nset_style()\nprint({'seaborn', 'scipy'} & set(sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], env={"PYTHONPATH": str(SCRIPTS)}, capture_output=True, text=True, check=True
    )
    assert done.stdout == "set()\n"


def test_one_job_draws_every_arm_and_each_has_its_own_points(tmp_path):
    paths = write_study(tmp_path, FOUR[:2], [1, 2], epochs=2)
    arms = [arm.arm for arm in arms_of(read_tsv(paths[0]))]
    for module in (plot_accuracy_by_epoch, plot_train_and_valid):
        made = [[tmp_path / f"{arm}.{ending}" for arm in arms] for ending in ("svg", "png", "tsv")]
        module.main(*paths, *made, arms, None)
        for arm, table, svg in zip(arms, made[2], made[0], strict=True):
            assert {row["arm"] for row in read_tsv(table)} == {arm}
            # The figure says which table it shows.
            assert f"{arm}.tsv={sha256(table)}" in svg.read_text(encoding="utf-8")
