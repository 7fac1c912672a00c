"""The faces as watcher/faces/openapi.json describes them, taken at its word."""

import json
from typing import Any

import jsonschema  # type: ignore[import-untyped]  # its stubs would be one more dependency

from watcher.faces.openapi import document

DESCRIPTION: dict[str, Any] = json.loads(document())
"""Read here, because the tests that use it run in a loop, which is not to be blocked."""


def check_described(name: str, said: object) -> None:
    """Fail unless ``said`` is what the schema of this name describes, and has no field more.

    A client is told to ignore what it doesn't know; here a field that nobody has described is a
    fault.
    """
    whole = {
        "$ref": f"#/components/schemas/{name}",
        "components": _closed(DESCRIPTION)["components"],
    }
    validator = jsonschema.Draft202012Validator(
        whole, format_checker=jsonschema.Draft202012Validator.FORMAT_CHECKER
    )
    faults = [f"{error.json_path}: {error.message}" for error in validator.iter_errors(said)]
    assert faults == []


def _closed(schema: Any) -> Any:  # noqa: ANN401 - any part of a document
    """Return a part of the description with every object closed that names its fields."""
    if isinstance(schema, list):
        return [_closed(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    closed = {name: _closed(one) for name, one in schema.items()}
    if schema.get("type") == "object" and "properties" in schema:
        closed["additionalProperties"] = False
    return closed
