"""The schema of the settings: the file, with each framework's keys of an arm."""

import yaml

import frameworks
import measures
import sources
import tasks


def read_schema(path):
    """Return the JSON Schema of a study's settings.

    The frameworks that an arm may name, their starts and the keys that they add come from their facts; the measures and
    the sources of texts are those that there are.

    Args:
        path: `schemas/config.schema.yaml`.
    """
    with open(path, encoding="utf-8") as handle:
        schema = yaml.safe_load(handle)
    asked = schema["properties"]["questions"]["items"]["properties"]
    asked["measure"]["enum"] = [*measures.names(), *measures.of_guests()]
    data = schema["properties"]["data"]["properties"]
    data["source"]["enum"] += sources.names()
    data["task"]["enum"] = tasks.names()
    data |= {name: sources.schema(name) for name in sources.names()}
    finetuning = schema["properties"]["finetuning"]["properties"]
    schema["properties"]["measure"]["enum"] = finetuning["measures"]["items"]["enum"] = measures.names()
    finetuning["select_by"]["enum"] = [*measures.names(), None]
    keys = finetuning["arms"]["additionalProperties"]["properties"]
    every = [frameworks.load(name) for name in frameworks.names()]
    keys["framework"]["enum"] = frameworks.names()
    keys["init"]["enum"] = list(dict.fromkeys(init for facts in every for init in facts.INITS))
    for facts in every:
        keys |= facts.SETTINGS
    return schema
