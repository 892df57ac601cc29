"""Faults that the schema finds in settings, in plain words: the key, its value, the allowed values."""

import difflib
import re
import sys

import jsonschema

# Names of other libraries for keys of the settings.
ALIASES = {
    "learning_rate": "lr",
    "max_lr": "lr",
    "num_train_epochs": "epochs",
    "num_epochs": "epochs",
    "max_epochs": "epochs",
    "per_device_train_batch_size": "batch_size",
    "train_batch_size": "batch_size",
    "warmup": "warmup_ratio",
    "max_steps": "updates",
    "max_length": "max_positions",
    "max_seq_length": "max_positions",
    "seed": "seeds",
}
NAMES = {
    "array": "a list",
    "boolean": "true or false",
    "integer": "a whole number",
    "null": "null",
    "number": "a number",
    "object": "a block of keys",
    "string": "text",
}


def _is_whole(_, value):
    """Return whether a value is an int: unlike JSON Schema's integer, 5.0 is none, since range(5.0) fails."""
    return isinstance(value, int) and not isinstance(value, bool)


def _is_number(_, value):
    """Return whether a value is a number that a float holds: .nan passes every bound."""
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= sys.float_info.max


def validator(schema):
    """Return a validator with the two stricter types."""
    base = jsonschema.Draft202012Validator
    types = base.TYPE_CHECKER.redefine("integer", _is_whole).redefine("number", _is_number)
    return jsonschema.validators.extend(base, type_checker=types)(schema)


def messages(config, schema):
    """Return a message for each fault that the schema finds, the most telling first.

    A block with an unknown key is not also said to lack the one that it was meant to be; of several faults of one value
    only the first is said.
    """
    found, places = [], set()
    for fault in sorted(validator(schema).iter_errors(config), key=_order):
        place = tuple(fault.absolute_path)
        if fault.validator in ("additionalProperties", "required"):
            about_keys = _about_keys(fault, schema) if ("keys", place) not in places else []
            places |= {("keys", place)} if fault.validator == "additionalProperties" else set()
            found += about_keys
        elif "propertyNames" in fault.absolute_schema_path or place not in places:
            places.add(place)
            found.append(_words(fault, schema))
    return list(dict.fromkeys(found))


def _about_keys(fault, schema):
    """Return the messages for the unknown or the missing keys of a block."""
    path = list(fault.absolute_path)
    if fault.validator == "additionalProperties":
        known = list(_node(path, schema).get("properties", {}))
        return [_unknown_key(path, str(key), known, schema) for key in fault.instance if key not in known]
    missing = [[*path, key] for key in fault.validator_value if key not in fault.instance]
    return [f"{name_of(place)} is missing; it must be {_allowed(_node(place, schema))}" for place in missing]


def _order(fault):
    """Sort key of faults: an unknown key before the missing one that it was meant to be, then wrong types.

    An unknown framework comes first: which keys its arm may have depends on it.
    """
    path, ranks = [str(part) for part in fault.absolute_path], {"additionalProperties": 0, "type": 1}
    return -1 if fault.validator == "enum" and path[-1:] == ["framework"] else ranks.get(fault.validator, 2), path


def _words(fault, schema):
    """Return the message for one of jsonschema's errors at one place; `_about_keys` has those about keys."""
    path, rule, value = list(fault.absolute_path), fault.validator, fault.instance
    name, node = name_of(path) or "the whole", _node(path, schema)
    if rule == "uniqueItems":
        twice = next(item for i, item in enumerate(value) if item in value[:i])
        shown = ", ".join(f"{k}: {v}" for k, v in twice.items()) if isinstance(twice, dict) else twice
        return f"{name} holds {shown} twice; every entry must be different"
    if "propertyNames" in fault.absolute_schema_path:
        return f"{name} has the name {show(value)}; a name must be {_allowed(_resolve(node['propertyNames'], schema))}"
    if rule == "minProperties":
        return f"{name} is empty; give at least one entry"
    if list(path) == ["finetuning", "arms"] and isinstance(value, list):
        return "finetuning.arms is a list; give each arm a name, as in `arms: {NAME: {framework: ...}}`"
    message = f"{name} is {show(value)}; it must be {_allowed(node)}"
    if rule == "enum" and isinstance(value, str):
        near = difflib.get_close_matches(value, [str(v) for v in fault.validator_value], n=1, cutoff=0.5)
        return message + (f". Did you mean {near[0]}?" if near else "")
    if rule == "type":
        return message + _type_hint(value, node)
    return message


def _unknown_key(path, key, known, schema):
    """Return the message for a key that the schema does not have at this place."""
    name = name_of([*path, key])
    key = ALIASES.get(key.replace("-", "_"), key) if key not in known else key
    near = difflib.get_close_matches(key, known, n=1, cutoff=0.6)
    if near:
        return f"unknown key {name}. Did you mean {name_of([*path, near[0]])}?"
    places = [place for place in key_paths(schema) if not re.search(r"\.(?:arms|grids)\.", place)]
    elsewhere = [place for place in places if place.split(".")[-1] == key]
    where = f"the keys of {name_of(path)}" if path else "the outermost keys"
    hint = f". There is a key {' and a key '.join(elsewhere)}" if elsewhere else ""
    return f"unknown key {name}; {where} are {', '.join(known)}{hint}"


def key_paths(schema, node=None, path=()):
    """Return the dotted paths of every key of a schema, entries of lists and free names left out.

    One of them is `finetuning.arms.framework`.

    Args:
        schema: the whole schema, for its `$defs`.
        node: the part to walk; the whole by default.
        path: keys on the way to it.
    """
    node = _resolve(schema if node is None else node, schema)
    found = [".".join(path)] if path else []
    for key, part in node.get("properties", {}).items():
        found += key_paths(schema, part, (*path, key))
    for entries in (node.get("items"), node.get("additionalProperties")):
        if entries:
            found += key_paths(schema, entries, path)[1 if path else 0 :]
    return found


def _resolve(node, schema):
    """Return a schema node with its local `$ref` merged in."""
    reference = node.get("$ref", "")
    if not reference.startswith("#/$defs/"):
        return node
    return {**schema["$defs"][reference.removeprefix("#/$defs/")], **node}


def _node(path, schema):
    """Return the schema node of a place in the settings."""
    node = schema
    for part in path:
        if isinstance(part, int):
            child = node.get("items", {})
        else:
            # A block with free keys describes their values in additionalProperties.
            child = node.get("properties", {}).get(part, node.get("additionalProperties", {}))
        node = _resolve(child if isinstance(child, dict) else {}, schema)
    return node


def name_of(path):
    """Return a path in words: `finetuning.arms, entry 2, framework` (entries count from 1)."""
    text = ""
    for part in path:
        if isinstance(part, int):
            text += f", entry {part + 1},"
        else:
            text += (" " if text.endswith(",") else "." if text else "") + str(part)
    return text.removesuffix(",")


def show(value):
    """Return a short form of a value as YAML writes it."""
    if isinstance(value, dict):
        return "a block of keys"
    if isinstance(value, list):
        return f"a list of {len(value)}" if value else "an empty list"
    if value is None or isinstance(value, bool):
        return {None: "null (empty)", True: "true", False: "false"}[value]
    text = repr(value) if isinstance(value, str) else str(value)
    return text if len(text) <= 80 else text[:77] + "..."


def _allowed(node):
    """Return the allowed values of a schema node, in words, and its meaning."""
    types = node.get("type", [])
    types = [types] if isinstance(types, str) else list(types)
    if "enum" in node:
        text = ("one of " if len(node["enum"]) > 1 else "") + ", ".join(
            "null" if value is None else str(value) for value in node["enum"]
        )
    elif "const" in node:
        text = str(node["const"])
    elif "$comment" in node:
        text = node["$comment"]
    elif "anyOf" in node or "oneOf" in node:
        text = "; or ".join(_allowed(option) for option in node.get("anyOf", node.get("oneOf")))
    else:
        text = " or ".join(NAMES[kind] for kind in types if kind != "null") or "null"
    bounds = [
        f"{word} {node[keyword]}"
        for keyword, word in (
            ("minimum", "at least"),
            ("exclusiveMinimum", "greater than"),
            ("maximum", "at most"),
            ("exclusiveMaximum", "less than"),
        )
        if keyword in node
    ]
    if bounds:
        text += ", " + " and ".join(bounds)
    low, high = node.get("minItems"), node.get("maxItems")
    if low is not None and high not in (None, low):
        text += f" of {low} to {high} entries"
    elif low is not None:
        text += f" of {low} entries" if low == high else f" of at least {low} entr{'y' if low == 1 else 'ies'}"
    if "maxLength" in node:
        text += f", at most {node['maxLength']} characters"
    if "null" in types and len(types) > 1:
        text += ", or null"
    return text + (f" ({node['description']})" if "description" in node else "")


def _type_hint(value, node):
    """Return the remedy where YAML reads a value as the wrong type, or ''."""
    types = node.get("type", [])
    types = [types] if isinstance(types, str) else types
    if isinstance(value, str) and {"number", "integer", "boolean", "null"} & set(types):
        # YAML 1.1 reads 1e-5 and 1.0e5 as text: it requires the point and the exponent's sign.
        match = re.fullmatch(r"([+-]?\d+)(\.\d*)?[eE]([+-]?)(\d+)", value.strip())
        if match and "number" in types:
            whole, decimals, sign, exponent = match.groups()
            mended = f"{whole}{decimals if decimals and decimals != '.' else '.0'}e{sign or '+'}{exponent}"
            if mended != value.strip():
                return f". YAML takes {value} for text: write {mended}"
        if match or re.fullmatch(r"[+-]?\d+(\.\d*)?|true|false|null", value.strip(), re.IGNORECASE):
            return ". Write it without quotes, in a study file: inside braces, --config makes everything text"
    if _is_whole(None, value) and "array" in types and 0 < value <= 20 and "seed" in str(node.get("items")):
        return f". Write {list(range(1, value + 1))}"
    if isinstance(value, float) and "integer" in types and value.is_integer():
        return f". Write {int(value)}"
    if "string" in types and not isinstance(value, dict | list) and value is not None:
        return ". Write it in quotes"
    return ""
