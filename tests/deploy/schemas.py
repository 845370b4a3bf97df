"""JSON schemas of the kinds that we use: whole ones, and their rest if only our own fields are kept.

`schemas.json` beside it has the latter, for tests without a network; `python -m tests.deploy.schema_sources` makes it
from the packages of Kubernetes, Strimzi and MongoDB's operator. All three are under Apache-2.0, whose text is
`schemas.LICENSE`.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import jsonschema

Schema = dict[str, Any]
Key = tuple[str, str]
"""apiVersion and kind."""
KEPT = Path(__file__).parent / "schemas.json"
LIMITS = ("type", "enum", "required", "pattern", "minimum", "maximum", "minItems", "maxItems", "anyOf")
ANYTHING = "x-kubernetes-preserve-unknown-fields"
NUMBER_OR_TEXT = "x-kubernetes-int-or-string"


def faults(manifest: Mapping[str, Any], schemas: Mapping[Key, Schema]) -> list[str]:
    """Return what a server would refuse, each with its place. Raises KeyError for a kind without schema."""
    schema = schemas[manifest["apiVersion"], manifest["kind"]]
    found = jsonschema.Draft202012Validator(schema).iter_errors(manifest)
    return sorted(f"{'.'.join(map(str, each.path))}: {each.message[:120]}" for each in found)


def kept_schemas() -> dict[Key, Schema]:
    """Those of `schemas.json`."""
    return {(one["apiVersion"], one["kind"]): one["schema"] for one in json.loads(KEPT.read_text())}


def as_text(schemas: Mapping[Key, Schema]) -> str:
    """As in `schemas.json`."""
    rows = [{"apiVersion": version, "kind": kind, "schema": each} for (version, kind), each in sorted(schemas.items())]
    return json.dumps(rows, indent=1, sort_keys=True) + "\n"


def strict(schema: Schema) -> Schema:
    """Return the schema of a custom resource without fields that it does not name, as in the API server's strict
    validation."""
    made = {name: value for name, value in schema.items() if name in LIMITS}
    if schema.get(NUMBER_OR_TEXT):
        return {"type": ["integer", "string"]}
    if "items" in schema:
        made["items"] = strict(schema["items"])
    if "properties" in schema:
        made["properties"] = {name: strict(each) for name, each in schema["properties"].items()}
    more = schema.get("additionalProperties")
    if isinstance(more, dict):
        made["additionalProperties"] = strict(more)
    elif "properties" in schema and more is None and not schema.get(ANYTHING):
        made["additionalProperties"] = False
    return made


def of_resource(definition: Schema) -> Iterator[tuple[Key, Schema]]:
    """Yield the schemas of a CustomResourceDefinition, one per version."""
    spec = definition["spec"]
    for version in spec["versions"]:
        schema = strict(version["schema"]["openAPIV3Schema"])
        schema["properties"] |= {"metadata": {"type": "object"}, "apiVersion": {}, "kind": {}}
        yield (f"{spec['group']}/{version['name']}", spec["names"]["kind"]), schema


def of_type(types: Mapping[str, Schema], name: str) -> Schema:
    """Return the schema of one of Kubernetes' own types, from its client's schema of types; types below are looked up
    by name."""
    return {"$ref": f"#/$defs/{name}", "$defs": {each: _from_atom(atom) for each, atom in types.items()}}


def _from_atom(atom: Schema) -> Schema:
    if "namedType" in atom:
        return {"$ref": f"#/$defs/{atom['namedType']}"}
    if "scalar" in atom:
        kinds = {"string": "string", "numeric": "number", "boolean": "boolean"}
        return {"type": kinds[atom["scalar"]]} if atom["scalar"] in kinds else {}
    if "list" in atom:
        return {"type": "array", "items": _from_atom(atom["list"]["elementType"])}
    fields, rest = atom["map"].get("fields"), atom["map"].get("elementType")
    made: Schema = {"type": "object", "additionalProperties": False if rest is None else _from_atom(rest)}
    if fields:
        made["properties"] = {each["name"]: _from_atom(each["type"]) for each in fields}
    return made


def pruned(schema: Schema, values: Sequence[Any], types: Mapping[str, Schema] | None = None) -> Schema:
    """Return what the schema says of these values and of what is in them; anything goes below a field that none of them
    has, but a field that the schema does not know is still refused."""
    types = schema.get("$defs", {}) if types is None else types
    if not values:
        return {}
    if "$ref" in schema:
        return pruned(types[schema["$ref"].rpartition("/")[2]], values, types)
    made = {name: value for name, value in schema.items() if name in LIMITS}
    known = schema.get("properties", {})
    tables = [value for value in values if isinstance(value, dict)]
    if known:
        made["properties"] = {
            name: pruned(each, [table[name] for table in tables if name in table], types)
            for name, each in known.items()
        }
    if "items" in schema:
        rows = [row for value in values if isinstance(value, list) for row in value]
        made["items"] = pruned(schema["items"], rows, types)
    more = schema.get("additionalProperties")
    if isinstance(more, dict):
        rest = [value for table in tables for name, value in table.items() if name not in known]
        made["additionalProperties"] = pruned(more, rest, types)
    elif more is not None:
        made["additionalProperties"] = more
    return made
