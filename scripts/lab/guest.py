"""The house's facts about the lab, a guest: its reports' claims, their counts by hand, its frameworks in use."""

import os

from measures import DEFAULT, leading
from study.guests import Guest

# Claims may use these tables: the product of each name.
CLAIMED = {
    "arms": "arm_statistics",
    **{
        name: name
        for name in (
            *("runs", "history", "test_accuracy", "pairs", "mcnemar", "learned", "baselines", "against_baselines"),
            *("audit", "parameter_ledger", "questions", "recipes", "recipe_differences", "recipe_interactions"),
            "learning_curve_means",
        )
    },
    "qa/runs": "qa_runs",
    "frameworks/steps": "framework_steps",
    "frameworks/summary": "framework_summary",
}


class Lab(Guest):
    """The course's reports: what they state, and what a study's tables say of it."""

    figures = [("parameters", "parameters/derivation.tsv", "plot_parameters")]

    def check(self, config):
        """Yield that claims are about accuracy, where another measure leads."""
        if config["claims"] and leading(config) != DEFAULT:
            yield (
                f"claims are checked against tables of {DEFAULT}, and measure is {leading(config)}; leave claims "
                f"empty: [], or set measure to {DEFAULT}"
            )

    def missing_files(self, config, root):
        """Yield a message for each file of claims that is not there."""
        for i, file in enumerate(config["claims"], start=1):
            if not os.path.isfile(path := os.path.join(root, file)):
                yield (
                    f"claims, entry {i}: there is no file {path}; name a file like claims/open.yaml, or leave claims "
                    "empty: []"
                )


GUEST = Lab()
