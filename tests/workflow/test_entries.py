"""Every script's `main` asks for what its rule has: names of inputs, outputs, parameters and wildcards."""

import ast
import json
import os
import pathlib

import pytest

from support import studies

pytestmark = [pytest.mark.workflow, pytest.mark.timeout(600)]

# Facts of the Snakefile's rules, written by Snakemake itself once it has read them.
LISTING = """
import json
import re

include: "{root}/Snakefile"

with open("rules.json", "w") as handle:
    rules_found = {{}}
    for each in workflow.rules:
        if each.script:
            wildcards = list(dict.fromkeys(re.findall(r"{{(\\w+)", str(each.output[0]))))
            kinds = [list(dict(getattr(each, kind).items())) for kind in ("input", "output", "params")]
            # Of a rule that a row makes, a parameter says where its script lies.
            script = each.script.replace("{{params.script}}", str(getattr(each.params, "script", "")))
            rules_found[each.name] = ["scripts/" + script.partition("scripts/")[2], *kinds, wildcards]
    json.dump(rules_found, handle)
"""
# Inputs that a function gives by name, so that no list of the rule's has them.
UNPACKED = {"finetune_fairseq": {"checkpoint"}}


def parameters(script):
    """Return {parameter of the script's `main`: whether it must be given}, `**inputs` left out; without one, itself."""
    tree = ast.parse(pathlib.Path(studies.ROOT, script).read_text(encoding="utf-8"))
    main = next((node for node in tree.body if getattr(node, "name", "") == "main"), None)
    if main is None:
        return {"main": True}
    arguments = main.args.posonlyargs + main.args.args
    given = [True] * (len(arguments) - len(main.args.defaults)) + [False] * len(main.args.defaults)
    asked = dict(zip([each.arg for each in arguments], given, strict=True))
    return asked | {
        each.arg: default is None for each, default in zip(main.args.kwonlyargs, main.args.kw_defaults, strict=True)
    }


@pytest.mark.parametrize("study", ["config.yaml", "studies/lab.yaml"])
def test_every_main_fits_its_rule(tmp_path, study):
    snakefile = tmp_path / "Snakefile"
    snakefile.write_text(LISTING.format(root=studies.ROOT), encoding="utf-8")
    words = ["--snakefile", str(snakefile), "--list-rules"]
    done = studies.snakemake(tmp_path, *words, study=os.path.join(studies.ROOT, study))
    assert done.returncode == 0, done.output
    rules = json.loads((tmp_path / "rules.json").read_text())
    assert len(rules) > 30
    faults = []
    for rule, (script, *kinds) in rules.items():
        names = [name for kind in kinds for name in kind]
        for name, needed in parameters(script).items():
            found = names.count(name) + (name in UNPACKED.get(rule, ())) + (name == "threads")
            if found > 1 or (needed and not found):
                faults.append(f"{rule}: {name} is there {found} times")
    assert not faults, "\n".join(faults)
