"""The captions of Snakemake's own report: they name the measure that leads."""

from types import SimpleNamespace

import jinja2
import pytest

from study.products import products
from support.environments import ROOT
from support.settings import defaults

# These tables and figures are about accuracy whatever leads.
OF_ACCURACY = {"learned", "train_and_valid"}
WILDCARDS = SimpleNamespace(arm="whole", measure="macro_f1", name="confusion", metric="loss")


def caption(name, measure):
    """Return a caption as Snakemake renders it: with the job, here its settings and wildcards."""
    text = (ROOT / "report" / f"{name}.rst").read_text(encoding="utf-8")
    job = SimpleNamespace(config={**defaults(), "measure": measure}, wildcards=WILDCARDS)
    return jinja2.Template(text, undefined=jinja2.StrictUndefined).render(snakemake=job)


NAMES = sorted({row.caption for row in products().values() if row.caption} | {"workflow"})


@pytest.mark.parametrize("name", NAMES)
def test_a_caption_names_accuracy_only_where_it_is_shown(name):
    assert ("accuracy" in caption(name, "macro_f1").lower()) == (name in OF_ACCURACY)


def test_a_caption_names_the_measure_that_leads():
    assert caption("arms", "accuracy").startswith("Test accuracy of every seed")
    assert caption("arms", "macro_f1").startswith("Test macro f1 of every seed")
    assert "exact intervals" in caption("baselines", "accuracy") and "exact" not in caption("baselines", "pearson")
