"""One record in Avro's binary encoding: what columns want of it. The rest is passed over, and never held.

Source: Apache Avro's specification, "Binary Encoding". A library of general use keeps all that a message has, and
believes its counts; this one keeps what is wanted, and stops.
"""

import struct
from collections.abc import Iterator, Mapping
from typing import Any

Schema = Any
"""JSON of Avro's specification, with full names."""
Wanted = Mapping[str, Any]
"""Fields by name, each with what is wanted inside it; nothing inside: its value."""
MOST_VALUES = 200_000
"""Of one message, whether wanted or not: a few bytes may say that there are 2 ** 60 of them."""
DEEPEST = 64
MOST_DECIMAL_BYTES = 64
_BYTES_OF_LONG = 10


def decoded_record(
    message: bytes, schema: Schema, names: Mapping[str, Schema], wanted: Wanted
) -> tuple[dict[str, Any], int]:
    """Return the wanted fields of the record at the beginning of the message, and where it ends. `names`: the named
    types of the schema. Raises ValueError if the message is no such record."""
    decoder = _Decoder(message, names)
    return decoder.value(schema, wanted), decoder.at


def named_types(schema: Schema) -> Iterator[tuple[str, Schema]]:
    """Return the types in the schema that have a name, by it."""
    match schema:
        case list():
            for one in schema:
                yield from named_types(one)
        case dict():
            if "name" in schema:
                yield schema["name"], schema
            inside = [schema.get("type"), schema.get("items"), schema.get("values")]
            for one in (*inside, *(field["type"] for field in schema.get("fields", ()))):
                yield from named_types(one)


class _Decoder:
    def __init__(self, message: bytes, names: Mapping[str, Schema]) -> None:
        self._message, self._names = message, names
        self.at = self._values = self._depth = 0

    def value(self, schema: Schema, wanted: Wanted | None) -> Any:
        """Return the value here; what it is says nothing if it is not wanted."""
        self._values += 1
        if self._values > MOST_VALUES:
            raise ValueError(f"more than {MOST_VALUES:,} values")
        if isinstance(schema, list):
            return self.value(schema[self._index(len(schema))], wanted)
        kind = schema if isinstance(schema, str) else schema["type"]
        if not isinstance(kind, str):
            return self.value(kind, wanted)
        if kind in ("record", "error", "array", "map"):
            return self._nested(schema, wanted)
        return self._plain(kind, schema, wanted) if kind in _PLAIN else self.value(self._names[kind], wanted)

    def _nested(self, schema: Schema, wanted: Wanted | None) -> Any:
        self._depth += 1
        if self._depth > DEEPEST:
            raise ValueError(f"nested more than {DEEPEST} levels deep")
        found: dict[str, Any] | None = None
        if "fields" in schema:
            found = self._record(schema, wanted)
        else:
            self._pass_over(schema)
        self._depth -= 1
        return found

    def _record(self, schema: Schema, wanted: Wanted | None) -> dict[str, Any]:
        found = {}
        for field in schema["fields"]:
            inside = None if wanted is None else wanted.get(field["name"])
            value = self.value(field["type"], inside)
            if inside is not None:
                found[field["name"]] = value
        return found

    def _pass_over(self, schema: Schema) -> None:
        """Pass over an array or a map; over a block that says its size at once."""
        while count := self._long():
            if count < 0:
                self._take(self._long())
                continue
            for _ in range(count):
                if "values" in schema:
                    self._take(self._long())
                self.value(schema["items"] if "items" in schema else schema["values"], None)

    def _plain(self, kind: str, schema: Schema, wanted: Wanted | None) -> Any:
        match kind:
            case "null":
                return None
            case "int" | "long":
                return self._long()
            case "enum":
                return schema["symbols"][self._index(len(schema["symbols"]))]
            case _:
                size = _SIZES.get(kind)
                if size is None:
                    size = schema["size"] if kind == "fixed" else self._long()
                taken = self._take(size)
                return None if wanted is None else _of_bytes(kind, schema, taken)

    def _index(self, count: int) -> int:
        found = self._long()
        if not 0 <= found < count:
            raise ValueError(f"number {found} of {count}")
        return found

    def _long(self) -> int:
        found = 0
        for number in range(_BYTES_OF_LONG):
            (byte,) = self._take(1)
            found |= (byte & 0x7F) << (7 * number)
            if byte < 0x80:
                return (found >> 1) ^ -(found & 1)
        raise ValueError(f"a number of more than {_BYTES_OF_LONG} bytes")

    def _take(self, size: int) -> bytes:
        begin, self.at = self.at, self.at + size
        if size < 0 or self.at > len(self._message):
            raise ValueError("it ends too early")
        return self._message[begin : self.at]


_SIZES: Mapping[str, int] = {"boolean": 1, "float": 4, "double": 8}
_PLAIN = frozenset(("null", "int", "long", "enum", "string", "bytes", "fixed", *_SIZES))


def _of_bytes(kind: str, schema: Schema, taken: bytes) -> Any:
    match kind:
        case "boolean":
            return taken != b"\0"
        case "float" | "double":
            return struct.unpack("<f" if kind == "float" else "<d", taken)[0]
        case "string":
            return taken.decode()
        case _:
            return _decimal(schema, taken)


def _decimal(schema: Schema, taken: bytes) -> str:
    """Return the number as text; bytes are wanted as one alone. Raises ValueError for one that takes long to be
    written."""
    if len(taken) > MOST_DECIMAL_BYTES:
        raise ValueError(f"a decimal of {len(taken):,} bytes")
    number, scale = int.from_bytes(taken, "big", signed=True), int(schema.get("scale", 0))
    sign, digits = "-" if number < 0 else "", str(abs(number)).rjust(scale + 1, "0")
    return f"{sign}{digits[:-scale]}.{digits[-scale:]}" if scale else f"{sign}{digits}"
