"""Rows as Protobuf: `@map(type = 'protobuf', schema.file = 'shop.desc', class = 'shop.Order')`.

The file is what `protoc --include_imports --descriptor_set_out=shop.desc shop.proto` writes.
"""

import base64
import binascii
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from typing import Any

from cep.apps.formats.map_options import MapOptions, Properties, of_properties
from cep.apps.formats.schema_files import SCHEMA_FILE, schema_bytes
from cep.apps.formats.typed_values import ColumnTypes, check_size, typed_row
from cep.apps.language.expression_tree import ValueType

PROTOBUF = (SCHEMA_FILE, "class")
_LIST = 3
"""Number of google.protobuf.FieldDescriptorProto.Label."""
# numbers of google.protobuf.FieldDescriptorProto.Type
_DOUBLE, _FLOAT, _BOOL, _STRING, _BYTES, _ENUM = 1, 2, 8, 9, 12, 14
_SIGNED_32, _UNSIGNED_32 = frozenset((5, 15, 17)), frozenset((7, 13))
_SIGNED_64, _UNSIGNED_64 = frozenset((3, 16, 18)), frozenset((4, 6))
_READ: Mapping[ValueType, frozenset[int]] = {
    "string": frozenset((_STRING, _BYTES, _ENUM)),
    "bool": frozenset((_BOOL,)),
    "int": _SIGNED_32,
    "long": _SIGNED_32 | _UNSIGNED_32 | _SIGNED_64 | _UNSIGNED_64,
    "float": frozenset((_FLOAT,)),
    "double": frozenset((_DOUBLE, _FLOAT)) | _SIGNED_32 | _UNSIGNED_32,
}
"""By the column's type: Protobuf's. Of 64 bits without a sign, what a long has not is no row."""
_WRITTEN: Mapping[ValueType, frozenset[int]] = {
    "string": frozenset((_STRING, _BYTES, _ENUM)),
    "bool": frozenset((_BOOL,)),
    "int": _SIGNED_32 | _SIGNED_64 | _UNSIGNED_32 | _UNSIGNED_64 | {_DOUBLE},
    "long": _SIGNED_64 | _UNSIGNED_64,
    "float": frozenset((_FLOAT, _DOUBLE)),
    "double": frozenset((_DOUBLE,)),
    "decimal": frozenset((_STRING,)),
    "object": frozenset(),
}


@dataclass(frozen=True, slots=True)
class ProtobufReader:
    """`files`: a FileDescriptorSet. `message`: full name of the type. `paths`: column → names of fields, from the
    outermost on."""

    columns: ColumnTypes
    files: bytes
    message: str
    paths: tuple[tuple[str, tuple[str, ...]], ...]
    needs_all: bool = True
    properties: Properties = ()

    @property
    def by_line(self) -> bool:
        return False

    def read(self, message: bytes, properties: Mapping[str, str] | None = None) -> list[tuple[Any, ...]]:
        check_size(message)
        found = _read_type(self.files, self.message)()
        try:
            found.ParseFromString(message)
        except _decode_error() as error:
            raise ValueError(f"no {self.message} ({error})") from error
        row = {name: _value(found, path) for name, path in self.paths}
        return [typed_row(self.columns, row | of_properties(self.properties, properties), needs_all=self.needs_all)]


@dataclass(frozen=True, slots=True)
class ProtobufWriter:
    """`columns`: each is the field of its name."""

    files: bytes
    message: str
    columns: tuple[str, ...]

    @property
    def media_type(self) -> str:
        return "application/x-protobuf"

    def write(self, values: Mapping[str, Any]) -> bytes:
        made = _type(self.files, self.message)()
        for name in self.columns:
            _set(made, name, values.get(name))
        written: bytes = made.SerializeToString(deterministic=True)
        return written

    def join(self, messages: Sequence[bytes]) -> bytes:
        """Return one message; raises ValueError for several, which would be read as one."""
        if len(messages) != 1:
            raise ValueError("several messages of Protobuf are read as one; send each alone")
        return messages[0]


def protobuf_reader(options: MapOptions, schemas: Path | None, *, needs_all: bool) -> ProtobufReader:
    """`options`: made with PROTOBUF. Raises AppUnsupportedError."""
    options.no_payload()
    files, message = _schema(options, schemas)
    paths = _paths(options, files, message, _READ)
    needed = options.needs_all(default=needs_all)
    return ProtobufReader(options.columns, files, message, paths, needed, options.properties)


def protobuf_writer(options: MapOptions, schemas: Path | None) -> ProtobufWriter:
    """`options`: made with PROTOBUF. Raises AppUnsupportedError."""
    options.no_attributes()
    if options.payload:
        raise options.refused("@payload: a message of Protobuf has a field of each column's name; leave it out")
    files, message = _schema(options, schemas)
    names = tuple(name for name, _ in _paths(options, files, message, _WRITTEN))
    fields = _type(files, message).DESCRIPTOR.fields
    lacking = next((one.name for one in fields if one.is_required and one.name not in names), None)
    if lacking is not None:
        raise options.refused(f"the schema needs the field {lacking!r}, and the stream has no such column")
    return ProtobufWriter(files, message, names)


def _schema(options: MapOptions, schemas: Path | None) -> tuple[bytes, str]:
    """Return the set of files, and the message's full name. Raises AppUnsupportedError."""
    files, said = schema_bytes(options, schemas), options.text("class", "")
    where = options.text(SCHEMA_FILE, "")
    try:
        known = _messages(files)
        _type(files, next(iter(known)))
    except (_decode_error(), TypeError, KeyError, ValueError, StopIteration) as error:
        advice = "write it with protoc --include_imports --descriptor_set_out"
        raise options.refused(
            f"{where} is no set of Protobuf's descriptors ({str(error) or 'no message in it'}); {advice}"
        ) from None
    if said not in known:
        raise options.refused(f"class = {said!r} is no message of {where}; there are {', '.join(sorted(known)[:20])}")
    return files, said


def _paths(
    options: MapOptions, files: bytes, message: str, fits: Mapping[ValueType, frozenset[int]]
) -> tuple[tuple[str, tuple[str, ...]], ...]:
    said = options.places | {name: name for name in options.unplaced}
    paths = {name: tuple(text.split(".")) for name, text in said.items()}
    for name, path in paths.items():
        _check_fits(options, _type(files, message).DESCRIPTOR, name, path, fits)
    return tuple(paths.items())


def _check_fits(
    options: MapOptions, message: Any, column: str, path: tuple[str, ...], fits: Mapping[ValueType, frozenset[int]]
) -> None:
    """Raise AppUnsupportedError if the column cannot have what the field has."""
    kind, field = dict(options.columns)[column], None
    for name in path:
        inside = message if field is None else field.message_type
        field = None if inside is None else inside.fields_by_name.get(name)
        if field is None:
            raise options.refused(f"the schema has no field {'.'.join(path)!r} for the column {column!r}")
        if field.is_repeated:
            raise options.refused(f"{name!r} of the schema is repeated, and a column has one value")
    if field is not None and field.type not in fits[kind]:
        raise options.refused(f"{column!r} is {kind}, and {'.'.join(path)!r} of the schema is of another type")


@lru_cache(maxsize=64)
def _messages(files: bytes) -> tuple[str, ...]:
    """Return the full names of all messages. Raises the library's DecodeError."""
    found = import_module("google.protobuf.descriptor_pb2").FileDescriptorSet.FromString(files)
    return tuple(
        ".".join(filter(None, (file.package, *path))) for file in found.file for path in _nested(file.message_type, ())
    )


def _nested(messages: Any, around: tuple[str, ...]) -> list[tuple[str, ...]]:
    found = []
    for one in messages:
        found += [(*around, one.name), *_nested(one.nested_type, (*around, one.name))]
    return found


@lru_cache(maxsize=64)
def _type(files: bytes, message: str) -> Any:
    """Return the class of a message, in a pool of its own: two apps may have other files of one name. Raises KeyError,
    TypeError if the files do not fit together."""
    pool = import_module("google.protobuf.descriptor_pool").DescriptorPool()
    for file in import_module("google.protobuf.descriptor_pb2").FileDescriptorSet.FromString(files).file:
        pool.Add(file)
    return import_module("google.protobuf.message_factory").GetMessageClass(pool.FindMessageTypeByName(message))


@lru_cache(maxsize=64)
def _read_type(files: bytes, message: str) -> Any:
    """Return the class of a message without fields that are lists, of which no column is one: two bytes may be an
    element of a list, and take hundreds of memory. What is not there is passed over."""
    found = import_module("google.protobuf.descriptor_pb2").FileDescriptorSet.FromString(files)
    for file in found.file:
        waiting = list(file.message_type)
        while waiting:
            one = waiting.pop()
            waiting += one.nested_type
            for number in reversed(range(len(one.field))):
                if one.field[number].label == _LIST:
                    del one.field[number]
    return _type(found.SerializeToString(), message)


def _decode_error() -> type[Exception]:
    error: type[Exception] = import_module("google.protobuf.message").DecodeError
    return error


def _value(message: Any, path: tuple[str, ...]) -> Any:
    """Return a field's value; null if it says whether it is there, and is not."""
    for name in path:
        field = message.DESCRIPTOR.fields_by_name[name]
        if field.has_presence and not message.HasField(name):
            return None
        message = getattr(message, name)
    if field.type == _ENUM:
        known = field.enum_type.values_by_number.get(message)
        return str(message) if known is None else known.name
    return base64.b64encode(message).decode() if field.type == _BYTES else message


def _set(message: Any, name: str, value: Any) -> None:
    """Raise ValueError if the field cannot have the value."""
    field = message.DESCRIPTOR.fields_by_name[name]
    if value is None:
        if field.is_required:
            raise ValueError(f"{name!r} is null, and the schema needs it")
        if not field.has_presence:
            raise ValueError(f"{name!r} is null, and the schema's field cannot say so; declare it optional there")
        return
    try:
        if field.type == _ENUM:
            value = field.enum_type.values_by_name[value].number
        elif field.type == _BYTES:
            value = base64.b64decode(value, validate=True)
        setattr(message, name, value)
    except (KeyError, TypeError, ValueError, binascii.Error) as error:
        raise ValueError(f"{name!r} cannot have the value {str(value)[:40]!r}") from error
