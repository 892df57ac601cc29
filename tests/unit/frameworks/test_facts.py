"""The facts of the frameworks: found by folder, without heavy imports, quoted nowhere else."""

import re
import subprocess
import sys

import pytest

import frameworks
from study.arm_checks import fill_arms
from study.modules import SCRIPTS, helper_modules
from support.environments import ENVIRONMENTS, ROOT
from support.settings import changed, message

# These words are no framework's name there (the forms of a fetched checkpoint, a library to be loaded), nor in
# the plan's stopwatch, which prepares its inputs in each framework's form and gives no hours for others.
OTHER_MEANINGS = {
    "scripts/checkpoint/extract_checkpoint.py": "forms of a fetched checkpoint (checkpoint.fetch)",
    "scripts/study/addresses.py": "forms of a fetched checkpoint (checkpoint.fetch)",
    "scripts/study/checkpoint_checks.py": "forms of a fetched checkpoint (checkpoint.fetch)",
    "scripts/training/fairseq_commands.py": "the library",
    "tools/check_settings.py": "the library",
    "tools/update_benchmark.py": "frameworks whose updates are timed",
}


def test_every_folder_with_facts_is_a_framework():
    assert {"fairseq", "huggingface", "command", "predictions", "linear"} <= set(frameworks.names())
    for name in frameworks.names():
        facts = frameworks.load(name)
        assert facts.LABEL and facts.ENVIRONMENT in ENVIRONMENTS
        assert facts.INITS == (frameworks.NONE,) or set(facts.INITS) <= {"pretrained", "random"}
        assert all((ROOT / "scripts" / script).is_file() for script in facts.STEPS.values())
        assert not facts.STEPS or facts.RECIPE


def test_facts_load_nothing_heavy():
    code = (
        "import sys, frameworks\n"
        "known = set(sys.modules)\n"
        "[frameworks.load(name) for name in frameworks.names()]\n"
        "print(*sorted({module.split('.')[0] for module in set(sys.modules) - known} "
        "- sys.stdlib_module_names))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=SCRIPTS, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["frameworks", "measures", "tasks"]


def test_an_unknown_framework_is_its_own_label():
    assert frameworks.label("huggingface") == "Hugging Face" and frameworks.label("other") == "other"


def quoting():
    """The files of the workflow, outside its own folders, that quote the name of a framework."""
    names = "|".join(map(re.escape, ["fairseq", "huggingface"]))
    found = set()
    for folder in ("scripts", "rules", "report", "schemas", "tools"):
        for path in (ROOT / folder).rglob("*"):
            place = path.relative_to(ROOT).as_posix()
            if path.suffix in (".py", ".smk", ".j2", ".yaml") and "/frameworks/" not in f"/{place}".replace(
                "/sections/frameworks/", "/sections/"
            ):
                text = re.sub(r'""".*?"""', "", path.read_text(encoding="utf-8"), flags=re.DOTALL)
                if re.search(rf"""(["'])({names})\1""", text):
                    found.add(place)
    return found


def test_the_names_are_quoted_in_their_own_folders_only():
    assert quoting() == set(OTHER_MEANINGS)


def test_a_script_depends_on_the_facts_only_where_it_reads_them():
    def needed(script):
        return {path.removeprefix(f"{SCRIPTS}/") for path in helper_modules(f"{SCRIPTS}/{script}")}

    trained = needed("frameworks/huggingface/train.py")
    assert "frameworks/huggingface/classifier.py" in trained
    # Otherwise a new framework, or another label, would train all runs again.
    assert not {path for path in trained if path.endswith("__init__.py") and path.startswith("frameworks/")}
    assert not {path for path in trained if path.startswith("frameworks/fairseq/")}
    tabulated = needed("analysis/tabulate_test_accuracy.py")
    assert {"frameworks/__init__.py", "frameworks/fairseq/__init__.py"} <= tabulated
    assert "frameworks/fairseq/train.py" not in tabulated


ARM = "finetuning.arms.fairseq-pretrained"


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({f"{ARM}.lora": {"r": 2, "lora_alpha": 4}}, f"{ARM}.lora is for arms of huggingface; take it out"),
        ({f"{ARM}.framework": "fairsec"}, f"{ARM}.framework is 'fairsec'; it must be one of command, fairseq"),
        ({f"{ARM}.framework": "other", f"{ARM}.share": 0.5}, f"{ARM}.framework is 'other'; it must be one of"),
        ({f"{ARM}.init": "none"}, f"{ARM}.init is none; arms of fairseq have pretrained or random"),
        ({f"{ARM}.lora": {"r": 0, "lora_alpha": 4}}, f"{ARM}.lora.r is 0; it must be a whole number, at least 1"),
    ],
)
def test_what_a_framework_lacks_is_refused(changes, said):
    assert said in message(changes)


def test_arms_that_start_from_no_model_need_not_say_so(monkeypatch):
    bare = frameworks.load("fairseq")
    monkeypatch.setattr(bare, "INITS", (frameworks.NONE,))
    arms = changed({})["finetuning"] | {"arms": {"a": {"framework": "fairseq"}, "b": {"framework": ["x"]}, "c": None}}
    fill_arms(arms)
    assert arms["arms"]["a"] == {"framework": "fairseq", "model": "none", "init": "none"}
    assert arms["arms"]["b"] == {"framework": ["x"]}
    fill_arms(None)
    fill_arms({"arms": 3})


@pytest.mark.parametrize(("key", "value"), [("protocol", "matched"), ("freeze", 1)])
def test_settings_of_weights_are_refused_where_none_are_trained(monkeypatch, key, value):
    monkeypatch.setattr(frameworks.load("fairseq"), "CHECKPOINTS", False)
    assert f"{ARM}.{key} is for arms that train weights, and fairseq trains none" in message({f"{ARM}.{key}": value})
