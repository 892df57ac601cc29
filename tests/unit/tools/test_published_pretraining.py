"""The published sentence on a study's checkpoints."""

from common.files import write_tsv
from tools.published_pretraining import pretrained


def test_the_sentence_is_about_one_checkpoint_or_about_all(tmp_path):
    assert pretrained(tmp_path) == []
    (tmp_path / "checkpoint").mkdir()
    columns = ["update", "split", "loss"]
    points = [["400", "valid", "5.5"], ["800", "valid", "4.25"], ["800", "train", "1.0"]]
    rows = [dict(zip(columns, point, strict=True)) for point in points]
    write_tsv(tmp_path / "checkpoint" / "pretraining.tsv", rows, columns)
    one = "was pretrained for 800 updates, to 4.25 nats per masked token of held-out text."
    assert pretrained(tmp_path) == [f"The checkpoint {one}"]
    rows = [{"update": "800", "loss": loss} for loss in ("4.25", "4.4", "4.1")]
    write_tsv(tmp_path / "checkpoint" / "pretrainings.tsv", rows, ["update", "loss"])
    several = (
        "Each of 3 checkpoints was pretrained for 800 updates, to 4.10–4.40 nats per masked token of held-out text."
    )
    assert pretrained(tmp_path) == [several]
    rows = [{"update": "800", "loss": "4.25"}, {"update": "800", "loss": "4.251"}]
    write_tsv(tmp_path / "checkpoint" / "pretrainings.tsv", rows, ["update", "loss"])
    assert pretrained(tmp_path) == [f"Each of 2 checkpoints {one}"]
