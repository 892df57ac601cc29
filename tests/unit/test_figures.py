"""Figures: their data, any number of arms and seeds, colours, and the same bytes at every build."""

import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("matplotlib")
pytest.importorskip("seaborn")

import plot_accuracy_by_epoch
import plot_arms
import plot_pretraining
from common.arms import ORDER, PALETTE, arms_of, colour_of
from common.errors import StudyError
from common.figures import majority_shares, padded_limits
from common.files import read_tsv, sha256, write_json, write_tsv

SCRIPTS = Path(__file__).resolve().parents[2] / "scripts"
FOUR = [(framework, init) for framework in ("fairseq", "huggingface") for init in ("pretrained", "random")]


def write_study(folder, arms, seeds, epochs=3, test_curves=True, synthetic=False):
    """Write made-up runs.tsv, history.tsv and manifest.json; return their paths."""
    runs, history = [], []
    for place, (framework, init) in enumerate(arms):
        for seed in seeds:
            identity = {"framework": framework, "init": init, "seed": seed}
            accuracy = 0.9 - 0.1 * place - 0.01 * (seed % 3)
            runs.append(identity | {"best_epoch": epochs, "test_accuracy": accuracy})
            for epoch in range(1, epochs + 1):
                for split in ("valid", "test") if test_curves else ("valid",):
                    point = {"epoch": epoch, "update": 10 * epoch, "split": split, "metric": "accuracy"}
                    history.append(identity | point | {"value": accuracy - 0.05 * (epochs - epoch)})
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
        outputs = [folder / f"{'-'.join(arm)}.{ending}" for ending in ("svg", "png", "tsv")]
        plot_accuracy_by_epoch.main(runs, history, manifest, *outputs, *arm, colours)
        made += outputs
    return made


@pytest.mark.parametrize(
    ("arms", "seeds", "epochs", "test_curves"),
    [(FOUR, [1, 2, 3], 3, True), (FOUR[:1], [7], 1, False), (FOUR[1:3], list(range(1, 11)), 2, True)],
)
def test_any_number_of_arms_seeds_and_epochs(tmp_path, arms, seeds, epochs, test_curves):
    made = plot_all(tmp_path, write_study(tmp_path, arms, seeds, epochs, test_curves))
    assert len(made) == 3 * (1 + len(arms))
    for path in made:
        assert path.stat().st_size > 50
    rows = read_tsv(tmp_path / f"{'-'.join(arms[0])}.tsv")
    assert len(rows) == len(seeds) * epochs * (2 if test_curves else 1)
    assert {row["epoch"] for row in rows if row["chosen"] == "true"} == {str(epochs)}
    intervals = read_tsv(tmp_path / "arms.tsv")
    assert [(row["framework"], row["init"]) for row in intervals] == arms
    assert all((row["interval_low"] == "") == (len(seeds) == 1) for row in intervals)
    assert {row["majority"] for row in intervals} == {"0.6"}


def test_two_processes_write_the_same_bytes(tmp_path):
    code = (
        "import sys; from pathlib import Path; sys.path[:0] = sys.argv[1:3]\n"
        "import test_figures as t; f = Path(sys.argv[3]); f.mkdir()\n"
        "t.plot_all(f, t.write_study(f, t.FOUR, [1, 2]))"
    )
    sums = []
    for name, hashseed in (("first", "1"), ("second", "2")):
        folder = tmp_path / name
        subprocess.run(
            [sys.executable, "-c", code, str(SCRIPTS), str(Path(__file__).parent), str(folder)],
            check=True,
            env={"PYTHONHASHSEED": hashseed, "PATH": "", "HOME": str(tmp_path), "OMP_NUM_THREADS": "1"},
        )
        sums.append({path.name: sha256(path) for path in folder.iterdir()})
    assert sums[0] == sums[1]
    svg = (tmp_path / "first" / "arms.svg").read_text(encoding="utf-8")
    assert "<dc:date>" not in svg and "matplotlib.org/" not in svg.split("<defs>")[0].split("<metadata>")[1]
    assert "<title>Test accuracy of every arm</title>" in svg or "<dc:title>Test accuracy of every arm" in svg


def test_a_configured_colour_changes_only_its_arm(tmp_path):
    paths = write_study(tmp_path, FOUR, [1, 2])
    before = {path: path.read_bytes() for path in plot_all(tmp_path, paths)}
    after = {path: path.read_bytes() for path in plot_all(tmp_path, paths, {"fairseq-random": "#123456"})}
    changed = {path.name for path in before if before[path] != after[path]}
    assert changed == {"arms.svg", "arms.png", "fairseq-random.svg", "fairseq-random.png"}
    assert b"#123456" in after[tmp_path / "fairseq-random.svg"]


def test_an_arm_keeps_its_default_colour_whatever_the_study_holds():
    assert [colour_of(*key.split("-")) for key in ORDER] == list(PALETTE[:4])
    assert colour_of("fairseq", "random", {"fairseq-random": None}) == PALETTE[1]
    for wrong in ("red", "#12345", "#12345g", 7):
        with pytest.raises(StudyError, match="report.colours.fairseq-random"):
            colour_of("fairseq", "random", {"fairseq-random": wrong})


def test_the_font_is_matplotlibs_own():
    import matplotlib
    from matplotlib import font_manager

    from common.figures import set_style

    set_style()
    assert font_manager.findfont("DejaVu Sans").startswith(matplotlib.get_data_path())
    assert matplotlib.rcParams["svg.hashsalt"]


def test_means_stop_where_a_seed_stops():
    points = [{"epoch": e, "seed": s, "accuracy": a} for e, s, a in ((1, "1", 0.5), (1, "2", 0.7), (2, "1", 0.9))]
    ((epoch, low, mean, high),) = plot_accuracy_by_epoch.over_seeds(points)
    assert (epoch, low, high) == (1, 0.5, 0.7)
    assert mean == pytest.approx(0.6)


def test_limits_and_offsets_by_hand():
    assert padded_limits([50.0, 80.0], 5) == (45, 85)  # 50 - 5/3 and 80 + 5/3 reach into the next step
    assert padded_limits([52.0, 82.0], 5) == (50, 85)
    assert padded_limits([0.0, 100.0], 5) == (0, 100)
    # 80.05, 80.30, 80.30 form one heap of three, 78.5 stands alone; nothing is random.
    assert plot_arms.spread([80.30, 78.5, 80.05, 80.30]) == pytest.approx([0.0, 0.0, -0.13, 0.13])
    assert plot_arms.spread([]) == []


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
    rows = [{"update": u, "split": s, "loss": 9 - u / 50} for u in (50, 100) for s in ("train", "valid")]
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


def test_missing_arm_or_runs_is_a_clear_error(tmp_path):
    runs, history, manifest = write_study(tmp_path, FOUR[:1], [1])
    outputs = [tmp_path / f"x.{ending}" for ending in ("svg", "png", "tsv")]
    with pytest.raises(StudyError, match="huggingface, random"):
        plot_accuracy_by_epoch.main(runs, history, manifest, *outputs, "huggingface", "random", None)
    write_tsv(runs, [], ("framework", "init", "seed", "test_accuracy"))
    with pytest.raises(StudyError, match="no runs"):
        plot_arms.main(runs, manifest, *outputs, None)
    assert not any(path.exists() for path in outputs)
