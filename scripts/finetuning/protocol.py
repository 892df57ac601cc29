"""The settings of each arm: the study's (matched), or its framework's defaults (published)."""

import frameworks
from frameworks.matched import in_effect
from study.variation import of_arm, run_settings


def framework_settings(finetuning, framework):
    """Return the settings of a framework's fine-tuning: see `arm_settings` of its facts.

    Args:
        finetuning: config section `finetuning`.
        framework: its name.
    """
    return frameworks.load(framework).arm_settings(finetuning, {})


def arm_settings(finetuning, name):
    """Return the settings of an arm's fine-tuning: its framework's, overridden by the arm's.

    Args:
        finetuning: config section `finetuning`.
        name: name of the arm.

    Returns:
        dict: as the framework's `arm_settings`, with `freeze` and the framework's keys (`lora`) where the arm has them.
    """
    arm = finetuning["arms"][name]
    facts, training = frameworks.load(arm["framework"]), arm.get("training") or {}
    study = finetuning | {
        "protocol": arm.get("protocol") or finetuning["protocol"],
        "training": finetuning["training"] | training,
    }
    said = {key: value for key, value in in_effect(training).items() if key != "save_every"}
    said |= {key: arm[key] for key in ("freeze", *facts.SETTINGS) if arm.get(key) is not None}
    said = {key: value for key, value in said.items() if key not in facts.PLACED}
    return facts.arm_settings(study, arm) | said | run_settings(of_arm(finetuning, name))


def arm_training(finetuning, name):
    """Return `finetuning.training` as an arm has it."""
    return finetuning["training"] | (finetuning["arms"][name].get("training") or {})
