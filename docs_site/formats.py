"""The reference of files and JSON answers, from the JSON schemas that are shipped."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from patchkit.cli.schemas import schema_texts

Schema = Mapping[str, Any]


def format_page() -> str:
    """Return the page with every schema."""
    head = (
        "# Files and JSON answers\n\n"
        "From the JSON schemas in `patchkit/schemas/`, which an editor can complete and check with. Of each object, "
        "its keys; a key in bold has to be there.\n"
    )
    return head + "".join(_schema(name, json.loads(text)) for name, text in sorted(schema_texts().items()))


def _schema(file: str, schema: Schema) -> str:
    lines = [f"\n## {schema.get('title', file)}\n", f"`{file}`\n"]
    definitions: Mapping[str, Schema] = schema.get("$defs", {})
    root = str(schema.get("$ref", "")).rpartition("/")[2]
    # What the file itself is comes first.
    for name in sorted(definitions, key=lambda name: (name != root, name)):
        lines += _object(name, definitions[name])
    if not definitions:
        lines += _object("", schema)
    return "\n".join(lines) + "\n"


def _object(name: str, schema: Schema) -> Iterator[str]:
    if "properties" not in schema:
        return
    if name:
        yield f"\n### `{name}`\n"
    if schema.get("description"):
        yield str(schema["description"]).partition("\n\n")[0].replace("\n", " ") + "\n"
    yield "| key | value | default |\n| --- | --- | --- |"
    for key, value in schema["properties"].items():
        shown = f"**`{key}`**" if key in schema.get("required", ()) else f"`{key}`"
        default = f"`{json.dumps(value['default'])}`" if "default" in value else ""
        yield f"| {shown} | {_value(value)} | {default} |"


def _value(schema: Schema) -> str:
    """Return what a value may be, in words."""
    if "$ref" in schema:
        return f"`{schema['$ref'].rpartition('/')[2]}`"
    if "anyOf" in schema:
        return " or ".join(_value(part) for part in schema["anyOf"])
    if "enum" in schema:
        return ", ".join(f"`{json.dumps(value)}`" for value in schema["enum"])
    told = schema.get("description", "")
    kind = str(schema.get("type", "anything"))
    if kind == "array":
        kind = f"list of {_value(schema['items'])}" if schema.get("items") else "list"
    elif kind == "object" and isinstance(schema.get("additionalProperties"), Mapping):
        kind = f"object, its values {_value(schema['additionalProperties'])}"
    # A bar in code is none of the table's (Python-Markdown).
    pattern = f", `{schema['pattern']}`" if "pattern" in schema else ""
    return kind + pattern + (f" ({told})" if told else "")
