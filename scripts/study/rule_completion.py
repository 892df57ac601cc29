"""Common parts of every rule with a script: log, benchmark, digest of its helpers, isolation."""

import os
import re

from snakemake.io import IOFile, update_wildcard_constraints

from study.isolation import Isolation
from study.modules import helpers_digest

# The scripts of a framework's folder, by the names of the rules that run them.
STEPS = {"train": "finetune", "score": "evaluate", "test_curve": "test_curve"}


def script_name(rule):
    """Return a rule's name in this project: its script's. An importer may rename the rule (`study_*`)."""
    folder, name = os.path.split(os.path.splitext(rule.script)[0])
    room, framework = os.path.split(folder)
    return f"{STEPS[name]}_{framework}" if os.path.basename(room) == "frameworks" and name in STEPS else name


def script_path(rule):
    """Return the path of a rule's script, which is relative to the rule's file."""
    return os.path.normpath(os.path.join(os.path.dirname(str(rule.snakefile)), rule.script))


def constrain_outputs(rule, workflow):
    """Constrain the wildcards of a rule's outputs: Snakemake 9.27 leaves those of a path variable free (`sweep/rank2`).

    `Rule.update_wildcard_constraints` would not do: with object storage it takes the local paths anew from addresses
    that were made before the constraints, and so loses all of them.
    """
    for place, file in enumerate(rule.output):
        pattern = update_wildcard_constraints(file, rule.wildcard_constraints, workflow.wildcard_constraints)
        rule.output[place] = IOFile(pattern, rule=rule)
        rule.output[place].clone_flags(file, skip_storage_object=True)
        if file.is_storage:
            rule.output[place].flags["storage_object"] = file.storage_object


def complete_rules(workflow, loaded):
    """Give all rules with a script a log, a benchmark, a digest of their helpers and isolation.

    Log and benchmark are named after the script and the wildcards (`<logs>/finetune_lora/rank16/seed1.log`). The digest
    is a parameter, so that an edit to a helper reruns its scripts. As an input, it would make a study of thousands of
    runs look at the same few files once for each of them. Another parameter keeps foreign packages from the script.
    Tables, figures and the page take seconds: what runs in their environment is no job for a cluster.

    Args:
        workflow: Snakemake's.
        loaded: files that scripts load by name, beside those that they import.
    """
    # The rules of a workflow that uses this one as a module are left alone.
    for rule in filter(lambda rule: rule.script, workflow.modifier.rules):
        if "script" in dict(rule.params.items()):
            rule.script = rule.script.replace("{params.script}", rule.params.script)
        wildcards = dict.fromkeys(re.findall(r"{(\w+)", str(rule.output[0])))
        named = ("seed{seed}" if name == "seed" else f"{{{name}}}" for name in wildcards)
        place, modifier = os.path.join(script_name(rule), *named), workflow.modifier.path_modifier
        if not rule.log:
            rule.log_modifier = modifier
            rule.set_log(f"<logs>/{place}.log")
        if not rule.benchmark:
            rule.benchmark_modifier = modifier
            rule.benchmark = f"<benchmarks>/{place}.tsv"
        rule.set_params(helpers=helpers_digest(script_path(rule), loaded), isolation=Isolation())
        constrain_outputs(rule, workflow)
        if os.path.basename(str(rule.conda_env)) == "report.yaml":
            workflow.localrules(rule.name)
            rule.ruleinfo.localrule = True
