"""Write docs/guides/configuration.md from config.yaml and its schema: every setting with default, bounds and meaning.

Run by hand after a change to either file: `python -m tools.config_reference`.
"""

import os
import re

import yaml

from common.files import write_text
from study.schema import read_schema

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PAGE = os.path.join(ROOT, "docs", "guides", "configuration.md")
SETTINGS = os.path.join(ROOT, "config.yaml")
SCHEMA = os.path.join(ROOT, "schemas", "config.schema.yaml")
# Longer defaults are left to config.yaml.
WIDEST = 48
KINDS = {"integer": "whole number", "number": "number", "string": "text", "boolean": "`true` or `false`"}
# The schema's forms, in fewer words than its messages.
FORMS = {
    "address": "address",
    "url": "address",
    "path": "path",
    "name": "name",
    "sha256": "64 hexadecimal digits",
    "seed": "whole number ≥ 0",
    "colour": "colour (`#RRGGBB`)",
}
BOUNDS = {"minimum": "≥", "exclusiveMinimum": ">", "maximum": "≤", "exclusiveMaximum": "<"}
HEAD = """# Configuration

A study is a YAML file that names what differs from `config.yaml`; every other setting keeps the default below.
A study with more seeds and another learning rate, for example:

```yaml
study: longer
finetuning:
  seeds: [1, 2, 3, 4, 5]
  training: {lr: 1.0e-4}
```

Save it in `studies/` and run it with `make study STUDY=FILE`. The settings are checked before anything runs: an unknown
key is rejected with a suggestion, a value outside its bounds with what is allowed.

Written from `config.yaml` and `schemas/config.schema.yaml` by `python -m tools.config_reference`; the tests compare
them.
"""


def comments(text):
    """Return {dotted key: comment} of a YAML file: the comment behind a key, or the lines of comment above it."""
    lines, found = text.splitlines(), {}

    def walk(node, path):
        for key, value in node.value:
            name = f"{path}{key.value}"
            number = key.start_mark.line
            # A quoted value may contain the sign, without spaces around it.
            behind = re.search(r" # (.*)$", lines[number])
            above = []
            while number and lines[number - 1].lstrip().startswith("# "):
                number -= 1
                above.insert(0, lines[number].strip().removeprefix("# "))
            if behind or above:
                found[name] = behind[1].strip() if behind else " ".join(above)
            if isinstance(value, yaml.MappingNode) and not value.flow_style:
                walk(value, f"{name}.")

    walk(yaml.compose(text), "")
    return found


def resolved(schema, definitions):
    """Return a schema with its `$ref` replaced and the keys of its alternatives (`oneOf`, `anyOf`) merged."""
    if "$ref" in schema:
        schema = {**resolved(definitions[schema["$ref"].rsplit("/", 1)[1]], definitions), **schema}
    for branch in [*schema.get("oneOf", []), *schema.get("anyOf", [])]:
        branch = resolved(branch, definitions)
        properties = {**branch.get("properties", {}), **schema.get("properties", {})}
        schema = {**branch, **schema, **({"properties": properties} if properties else {})}
    return schema


def allowed(schema, definitions):
    """Return in words what a setting may hold."""
    form = schema.get("$ref", "").rsplit("/", 1)[-1]
    if form in FORMS:
        return FORMS[form] + (" or `null`" if "null" in schema.get("type", []) else "")
    options = schema.get("oneOf") or schema.get("anyOf")
    # This precedes a constant, which may be that of one of them.
    if options:
        words = [allowed(resolved(option, definitions), definitions) for option in options]
        return " or ".join([word for word in words if word != "`null`"] + [word for word in words if word == "`null`"])
    if "const" in schema:
        return f"`{shown(schema['const'])}`"
    if "enum" in schema:
        return ", ".join(f"`{shown(value)}`" for value in schema["enum"])
    types = schema.get("type", [])
    words = [_of_type(kind, schema, definitions) for kind in ([types] if isinstance(types, str) else types)]
    return " or ".join(dict.fromkeys(word for word in words if word))


def _of_type(kind, schema, definitions):
    if kind == "null":
        return "`null`"
    if kind == "object":
        inner = schema.get("additionalProperties")
        return "a block of names" if isinstance(inner, dict) else "block"
    if kind == "array":
        items = allowed(resolved(schema.get("items", {}), definitions), definitions)
        least = f", at least {schema['minItems']}" if schema.get("minItems", 0) > 1 else ""
        return f"list{f' of: {items}' if items else ''}{least}"
    if kind == "string" and "$comment" in schema:
        return schema["$comment"]
    bounds = [f"{sign} {shown(schema[name])}" for name, sign in BOUNDS.items() if name in schema]
    return " ".join([KINDS[kind], ", ".join(bounds)]).strip()


def shown(value):
    """Return a value as YAML writes it, on one line."""
    return yaml.safe_dump(value, default_flow_style=True, width=10**6).strip().removesuffix("\n...").strip()


def meaning(comment, schema):
    """Return what is said of a setting: its comment without the choices, which have a column; else the description."""
    choices = re.escape(" | ".join(shown(value) for value in schema.get("enum", [])))
    return re.sub(f"^{choices}(?:[;:] |$)", "", comment) or schema.get("description", "")


def rows(value, schema, definitions, said, path=""):
    """Yield (dotted key, default or None, what is allowed, meaning) of a block of settings, in the file's order.

    Args:
        value: the block in config.yaml.
        schema: its schema.
        definitions: the schema's `$defs`.
        said: what `comments` returns.
        path: dotted path of the block, with a dot at its end.
    """
    for key, inner in value.items():
        name, its = f"{path}{key}", resolved(schema["properties"][key], definitions)
        words = meaning(said.get(name, ""), its)
        block = isinstance(inner, dict) and "properties" in its
        if not block:
            yield name, shown(inner), allowed(its, definitions), words
            yield from entries(its, definitions, name)
        else:
            if name in said:
                yield name, None, "", words
            yield from rows(inner, its, definitions, said, f"{name}.")


def entries(schema, definitions, name):
    """Yield the rows of what each entry of a list or map of blocks may hold."""
    for key, form in (("items", f"{name}[]"), ("additionalProperties", f"{name}.NAME")):
        inner = schema.get(key)
        if not isinstance(inner, dict):
            continue
        inner = resolved(inner, definitions)
        for entry, its in inner.get("properties", {}).items():
            its = resolved(its, definitions)
            yield f"{form}.{entry}", None, allowed(its, definitions), its.get("description", "")
            yield from entries(its, definitions, f"{form}.{entry}")


def table(found):
    """Return a Markdown table of rows."""
    lines = ["| setting | default | allowed | meaning |", "|---|---|---|---|"]
    for name, default, words, said in found:
        if default is None:
            default = ""
        else:
            default = f"`{default}`" if len(default) <= WIDEST else "in `config.yaml`"
        cells = [f"`{name}`", default, words, said.replace("<", "&lt;")]
        cells = [cell.replace("|", "\\|") for cell in cells]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def page():
    """Return the page's text."""
    with open(SETTINGS, encoding="utf-8") as handle:
        text = handle.read()
    schema = read_schema(SCHEMA)
    settings, said, definitions = yaml.safe_load(text), comments(text), schema["$defs"]
    plain = {key: value for key, value in settings.items() if "properties" not in schema["properties"][key]}
    parts = [HEAD, "## The study", "", table(rows(plain, schema, definitions, said)), ""]
    for key in [key for key in settings if key not in plain]:
        block = schema["properties"][key]
        parts += [f"## {key}", ""] + ([f"{said[key][:1].upper()}{said[key][1:]}.", ""] if key in said else [])
        parts += [table(rows(settings[key], block, definitions, said, f"{key}.")), ""]
    return "\n".join(parts)


if __name__ == "__main__":
    write_text(PAGE, page())
