"""Rows as Avro: `@map(type = 'avro', schema.file = 'orders.avsc')`, one record a message, without the schema in it.

`framing = 'confluent'`: five bytes stand before it, a zero and the number of the schema in somebody's registry.
"""

import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module
from importlib.util import find_spec
from io import BytesIO
from pathlib import Path
from typing import Any

import orjson

from cep.apps.formats.avro_decoder import Schema, Wanted, decoded_record, named_types
from cep.apps.formats.map_options import MapOptions, Properties, of_properties
from cep.apps.formats.schema_files import SCHEMA_FILE, schema_bytes
from cep.apps.formats.typed_values import ColumnTypes, check_size, typed_row
from cep.apps.language.decimals import decimal_of
from cep.apps.language.expression_tree import ValueType

LIBRARY = "fastavro"
AVRO = (SCHEMA_FILE, "schema.def", "framing", "schema.id")
_HEAD = struct.Struct(">bI")
_READ: Mapping[ValueType, frozenset[str]] = {
    "string": frozenset(("string", "enum", "decimal")),
    "bool": frozenset(("boolean",)),
    "int": frozenset(("int",)),
    "long": frozenset(("int", "long")),
    "float": frozenset(("float",)),
    "double": frozenset(("int", "float", "double")),
}
"""By the column's type: Avro's, from which no value is changed."""
_WRITTEN: Mapping[ValueType, frozenset[str]] = {
    "string": frozenset(("string", "enum", "decimal")),
    "bool": frozenset(("boolean",)),
    "int": frozenset(("int", "long", "double")),
    "long": frozenset(("long",)),
    "float": frozenset(("float", "double")),
    "double": frozenset(("double",)),
    "decimal": frozenset(("string", "decimal")),
    "object": frozenset(),
}
MOST_DIGITS = 150
"""Of a decimal."""


@dataclass(frozen=True, slots=True)
class AvroReader:
    """`schema`: JSON. `paths`: column → names of fields, from the outermost on."""

    columns: ColumnTypes
    schema: str
    paths: tuple[tuple[str, tuple[str, ...]], ...]
    needs_all: bool = True
    is_framed: bool = False
    properties: Properties = ()

    @property
    def by_line(self) -> bool:
        return False

    def read(self, message: bytes, properties: Mapping[str, str] | None = None) -> list[tuple[Any, ...]]:
        check_size(message)
        if self.is_framed:
            if message[:1] != b"\0" or len(message) < _HEAD.size:
                raise ValueError("no zero byte and number of a schema before the record")
            message = message[_HEAD.size :]
        try:
            record, end = decoded_record(message, *_named(self.schema), _wanted(self.paths))
        except ValueError as error:
            raise ValueError(f"no record of the schema ({error})") from error
        if end != len(message):
            raise ValueError(f"{len(message) - end} bytes are left behind the record: another schema wrote it")
        found = {name: _value(record, path) for name, path in self.paths}
        return [typed_row(self.columns, found | of_properties(self.properties, properties), needs_all=self.needs_all)]


@dataclass(frozen=True, slots=True)
class AvroWriter:
    """`columns`: each is the field of its name. `decimals`: those that are decimals in the record."""

    schema: str
    columns: tuple[str, ...]
    decimals: frozenset[str] = frozenset()
    schema_id: int | None = None

    @property
    def media_type(self) -> str:
        return "application/vnd.apache.avro"

    def write(self, values: Mapping[str, Any]) -> bytes:
        library, stream = import_module(LIBRARY), BytesIO()
        record: dict[str, Any] = {name: values.get(name) for name in self.columns}
        record |= {name: decimal_of(record[name]) for name in self.decimals if record[name] is not None}
        try:
            library.schemaless_writer(stream, _parsed(self.schema), record, strict_allow_default=True)
        except (ValueError, TypeError, KeyError, AttributeError, OverflowError, struct.error, ArithmeticError) as error:
            raise ValueError(f"the row is no record of the schema ({error})") from error
        head = b"" if self.schema_id is None else _HEAD.pack(0, self.schema_id)
        return head + stream.getvalue()

    def join(self, messages: Sequence[bytes]) -> bytes:
        """Return one message; raises ValueError for several, in which nobody could find the second."""
        if len(messages) != 1:
            raise ValueError("several records without their schema are no message; send each alone")
        return messages[0]


def avro_reader(options: MapOptions, schemas: Path | None, *, needs_all: bool) -> AvroReader:
    """`options`: made with AVRO. Raises AppUnsupportedError."""
    options.no_payload()
    schema = _schema(options, schemas)
    said = options.places | {name: name for name in options.unplaced}
    paths = {name: tuple(text.split(".")) for name, text in said.items()}
    for name, path in paths.items():
        _check_fits(options, schema, name, path, _READ)
    needed, is_framed = options.needs_all(default=needs_all), _is_framed(options)
    text = orjson.dumps(schema).decode()
    return AvroReader(options.columns, text, tuple(paths.items()), needed, is_framed, options.properties)


def avro_writer(options: MapOptions, schemas: Path | None) -> AvroWriter:
    """`options`: made with AVRO. Raises AppUnsupportedError."""
    options.no_attributes()
    if options.payload:
        raise options.refused("@payload: an Avro record has a field of each column's name; leave it out")
    schema = _schema(options, schemas)
    names = tuple(name for name, _ in options.columns)
    decimals = frozenset(name for name in names if "decimal" in _check_fits(options, schema, name, (name,), _WRITTEN))
    lacking = next((one["name"] for one in schema["fields"] if one["name"] not in names and "default" not in one), None)
    if lacking is not None:
        raise options.refused(f"the schema has the field {lacking!r} without a default, and the stream no such column")
    schema_id = options.number("schema.id", 0, 999_999_999) if _is_framed(options) else None
    return AvroWriter(orjson.dumps(schema).decode(), names, decimals, schema_id)


def _is_framed(options: MapOptions) -> bool:
    framing = options.text("framing", "none").lower()
    if framing not in ("none", "confluent"):
        raise options.refused(f"framing = {framing!r}: there are none and confluent")
    return framing == "confluent"


def _schema(options: MapOptions, schemas: Path | None) -> Schema:
    """Return the schema, a record, with no other logical types than decimals. Raises AppUnsupportedError."""
    if find_spec(LIBRARY) is None:
        problem = f"it needs {LIBRARY}, which is not installed: pip install 'cross-exchange-arbitrage[formats]'"
        raise options.refused(problem)
    said = options.text("schema.def", "")
    if bool(said) == bool(options.text(SCHEMA_FILE, "")):
        raise options.refused("write schema.file = 'name.avsc', or the schema itself as schema.def")
    where = "schema.def" if said else options.text(SCHEMA_FILE, "")
    try:
        schema = _plain(orjson.loads(said or schema_bytes(options, schemas)), frozenset())
        _parsed(orjson.dumps(schema).decode())
    except orjson.JSONDecodeError as error:
        raise options.refused(f"{where} is no JSON ({error})") from error
    except RecursionError:
        raise options.refused(f"{where} is nested too deep") from None
    except _refusals() as error:
        raise options.refused(f"{where} is no schema of Avro: {error}") from error
    if not isinstance(schema, dict) or schema.get("type") not in ("record", "error"):
        raise options.refused(f"{where}: a message is a record, and the schema is another type")
    return schema


def _refusals() -> tuple[type[Exception], ...]:
    errors = import_module(f"{LIBRARY}.schema")
    return errors.SchemaParseException, errors.UnknownType, ValueError, TypeError, KeyError, AttributeError


@lru_cache(maxsize=256)
def _parsed(text: str) -> Schema:
    return import_module(LIBRARY).parse_schema(orjson.loads(text))


@lru_cache(maxsize=256)
def _named(text: str) -> tuple[Schema, Mapping[str, Schema]]:
    """Return the schema of a text, with full names, and its named types."""
    schema = _parsed(text)
    return schema, dict(named_types(schema))


@lru_cache(maxsize=256)
def _wanted(paths: tuple[tuple[str, tuple[str, ...]], ...]) -> Wanted:
    found: dict[str, Any] = {}
    for _, path in paths:
        inside = found
        for name in path:
            inside = inside.setdefault(name, {})
    return found


def _plain(schema: Schema, around: frozenset[str]) -> Schema:
    """Return the schema without logical types but decimals: times stay the numbers that they are. Raises ValueError for
    types that contain themselves, RecursionError for one that is nested very deep."""
    match schema:
        case str():
            if schema.rpartition(".")[2] in around:
                raise ValueError(f"{schema!r} contains itself, which is not read")
            return schema
        case list():
            return [_plain(one, around) for one in schema]
        case dict():
            return _plain_object(schema, around)
        case _:
            raise ValueError(f"{str(schema)[:40]!r} is no type")


def _plain_object(schema: dict[str, Any], around: frozenset[str]) -> Schema:
    kept = {
        name: value
        for name, value in schema.items()
        if name not in ("logicalType", "fields", "items", "values", "type") or _is_decimal(schema)
    }
    inner = around | {str(schema["name"]).rpartition(".")[2]} if "name" in schema else around
    kept["type"] = schema["type"] if isinstance(schema.get("type"), str) else _plain(schema.get("type"), inner)
    if "fields" in schema:
        kept["fields"] = [{**one, "type": _plain(one["type"], inner)} for one in schema["fields"]]
    for name in ("items", "values"):
        if name in schema:
            kept[name] = _plain(schema[name], inner)
    if _is_decimal(schema) and not 0 <= int(schema.get("scale", 0)) <= int(schema["precision"]) <= MOST_DIGITS:
        # as a text it would have as many zeros as the schema says
        raise ValueError(f"a decimal has at most {MOST_DIGITS} digits, and no more of them behind the point")
    return kept


def _is_decimal(schema: Mapping[str, Any]) -> bool:
    return schema.get("logicalType") == "decimal" and schema.get("type") in ("bytes", "fixed")


def _check_fits(
    options: MapOptions, schema: Schema, column: str, path: tuple[str, ...], fits: Mapping[ValueType, frozenset[str]]
) -> frozenset[str]:
    """Return the types that the field may have. Raises AppUnsupportedError if the column cannot have one of them."""
    here: Schema = schema
    for name in path:
        fields = [one for found in _branches(here) if isinstance(found, dict) for one in found.get("fields", ())]
        known = {one["name"]: one["type"] for one in fields}
        if name not in known:
            raise options.refused(f"the schema has no field {'.'.join(path)!r} for the column {column!r}")
        here = known[name]
    kind = dict(options.columns)[column]
    types = frozenset(map(_type_name, _branches(here))) - {"null"}
    odd = sorted(types - fits[kind])
    if odd or not types:
        raise options.refused(f"{column!r} is {kind}, and {'.'.join(path)!r} of the schema is {(odd or ['null'])[0]}")
    return types


def _branches(schema: Schema) -> Iterator[Schema]:
    if isinstance(schema, list):
        for one in schema:
            yield from _branches(one)
    elif isinstance(schema, dict) and isinstance(schema.get("type"), dict | list):
        yield from _branches(schema["type"])
    else:
        yield schema


def _type_name(schema: Schema) -> str:
    if isinstance(schema, str):
        return schema
    return "decimal" if _is_decimal(schema) else str(schema["type"])


def _value(record: Any, path: tuple[str, ...]) -> Any:
    for name in path:
        record = record.get(name) if isinstance(record, dict) else None
    return record
