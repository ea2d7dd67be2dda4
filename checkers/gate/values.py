"""The values of a gate's file, in JSON Schema: one description checks a value, explains it and publishes it.

Only these words of JSON Schema are used: type, enum, const, minimum, items, properties, additionalProperties, anyOf.
"""

from __future__ import annotations

from typing import Any

from reassure.spec.semantics.trace import JsonObject

Schema = JsonObject

TEXT: Schema = {"type": "string"}
TEXTS: Schema = {"type": "array", "items": TEXT}
SWITCH: Schema = {"type": "boolean"}
TIME: Schema = {"anyOf": [{"type": "string"}, {"type": "number", "minimum": 0}], "description": 'a time, such as "60s"'}
SETTINGS: Schema = {
    "type": "object",
    "additionalProperties": {"anyOf": [TEXT, SWITCH, {"type": "integer"}]},
    "description": "a table of configuration values",
}

TYPES: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "boolean": (bool,),
    "integer": (int,),
    "number": (int, float),
    "array": (list,),
    "object": (dict,),
}


def whole_number(least: int) -> Schema:
    """A whole number of at least `least`."""
    return {"type": "integer", "minimum": least}


def one_of(values: list[str]) -> Schema:
    """One of these texts."""
    return {"enum": values}


def table_schema(keys: dict[str, Schema], about: str) -> Schema:
    """A table that has some of these keys, and no other."""
    return {"type": "object", "properties": keys, "additionalProperties": False, "description": about}


def fits(value: Any, schema: Schema) -> bool:
    """Whether a value, as read from TOML, is of a schema."""
    if "anyOf" in schema:
        return any(fits(value, one) for one in schema["anyOf"])
    if "enum" in schema or "const" in schema:
        return value in schema.get("enum", [schema.get("const")]) and not isinstance(value, bool)
    expected = TYPES[schema["type"]]
    if not isinstance(value, expected) or (isinstance(value, bool) and bool not in expected):
        return False
    if isinstance(value, list):
        return all(fits(item, schema["items"]) for item in value)
    if isinstance(value, dict):
        properties, others = schema.get("properties", {}), schema["additionalProperties"]
        return all(
            fits(inner, properties[key]) if key in properties else (others is not False and fits(inner, others))
            for key, inner in value.items()
        )
    return bool("minimum" not in schema or value >= schema["minimum"])


def schema_in_words(schema: Schema) -> str:
    """A schema in words: the value to write."""
    if "description" in schema:
        return str(schema["description"])
    if "anyOf" in schema:
        return ", or ".join(schema_in_words(one) for one in schema["anyOf"])
    if "enum" in schema:
        return f"one of {', '.join(schema['enum'])}"
    if schema["type"] == "array":
        return "a list of texts" if schema["items"] == TEXT else "a list of whole numbers"
    if schema["type"] == "integer":
        return f"a whole number of at least {schema['minimum']}" if "minimum" in schema else "a whole number"
    return {"string": "a text", "boolean": "true or false", "number": "a number", "object": "a table"}[schema["type"]]
