"""Report 5's sentences on the use of the frameworks, by counts of commands and arguments."""

import pathlib

import pytest

from lab.claims import check_together, read_claims

ROOT = pathlib.Path(__file__).parents[3] / "claims"
STEPS = "frameworks/steps.tsv"


def asked():
    claims = read_claims(ROOT / "conclusions.yaml", sentences=read_claims(ROOT / "published.yaml"))
    return [claim for claim in claims if claim["id"].startswith("use-")]


def tables(fairseq, others):
    """Tables of the frameworks in use: {framework: (commands of the data, of training, arguments of training)}."""
    steps, summary = [], []
    for name, (of_data, of_training, arguments) in {"fairseq": fairseq, **others}.items():
        data = "binarize_texts" if name == "fairseq" else "write_json_texts"
        for rule, n, given in ((data, of_data, 3 * of_data), (f"finetune_{name}", of_training, arguments)):
            steps.append({"framework": name, "rule": rule, "n_commands": str(n), "n_arguments": str(given)})
        summary.append(
            {"framework": name, "n_commands": str(of_data + of_training), "n_arguments": str(3 * of_data + arguments)}
        )
    return {STEPS: steps, "frameworks/summary.tsv": summary}


def verdicts(content):
    return {row["id"].removeprefix("use-"): (row["verdict"], row["data"]) for row in check_together(asked(), content)}


def test_five_sentences_are_counted():
    # fairseq: 4 + 1 commands, 12 + 40 arguments; the recipe: 0 + 1 and 20.
    found = verdicts(tables((4, 1, 40), {"huggingface": (3, 1, 13), "run_glue": (0, 1, 20)}))
    assert {name: verdict for name, (verdict, _) in found.items()} == {
        "similar": "fails",
        "easy": "holds",
        "fairseq": "holds",
        "convenient": "holds",
        "scripts": "holds",
    }
    assert found["similar"][1].startswith("fairseq against run_glue: commands 5 against 1, arguments 52 against 20")
    assert found["fairseq"][1] == "commands: finetune_fairseq 1, binarize_texts 4"
    # One argument more than twice as many.
    assert verdicts(tables((1, 1, 41), {"run_glue": (1, 1, 20)}))["scripts"][0] == "fails"
    # As many of each is not fewer; two commands to train are not one.
    same = verdicts(tables((1, 2, 20), {"run_glue": (1, 2, 20)}))
    assert (same["convenient"][0], same["easy"][0], same["similar"][0]) == ("fails", "fails", "holds")


def test_without_the_recipe_hugging_faces_arm_counts_where_the_sentence_is_not_about_the_recipe():
    found = verdicts(tables((4, 1, 40), {"huggingface": (3, 1, 13)}))
    assert found["similar"][1].startswith("fairseq against huggingface: commands 5 against 4")
    assert found["scripts"] == ("cannot be decided", f"{STEPS} has no finetune_run_glue")


@pytest.mark.parametrize("others", [{}, {"linear": (0, 1, 1)}])
def test_a_study_without_hugging_face_decides_nothing_of_it(others):
    found = verdicts(tables((4, 1, 40), others))
    assert [found[name][0] for name in ("similar", "convenient", "scripts")] == ["cannot be decided"] * 3
