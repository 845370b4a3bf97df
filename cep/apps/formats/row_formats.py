"""Which format an end's `@map` chooses: bytes of a message as rows of its stream, and a row as bytes."""

from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Protocol

from cep.apps.formats.avro_format import AVRO, avro_reader, avro_writer
from cep.apps.formats.csv_format import CSV_SINK, CSV_SOURCE, csv_reader, csv_writer
from cep.apps.formats.json_format import JSON_SINK, JSON_SOURCE, json_reader, json_writer
from cep.apps.formats.keyvalue_format import KEYVALUE, keyvalue_reader, keyvalue_writer
from cep.apps.formats.map_options import MapOptions
from cep.apps.formats.protobuf_format import PROTOBUF, protobuf_reader, protobuf_writer
from cep.apps.formats.raw_format import RAW, raw_reader, raw_writer
from cep.apps.formats.text_format import TEXT_SINK, TEXT_SOURCE, text_reader, text_writer
from cep.apps.formats.typed_values import ColumnTypes
from cep.apps.formats.xml_format import XML_SINK, XML_SOURCE, xml_reader, xml_writer
from cep.apps.language.app_ends import AppEnd
from cep.apps.language.errors import AppUnsupportedError


class RowReader(Protocol):
    """Rows of a source's messages. Equal by value; goes between processes."""

    @property
    def by_line(self) -> bool:
        """Return whether a transport of files may cut a message at line ends, and give one or several whole lines."""
        ...

    def read(self, message: bytes, properties: Mapping[str, str] | None = None) -> list[tuple[Any, ...]]:
        """Return the rows in the message, in the order of the columns. `properties`: of the message, such as its topic.

        Raises ValueError with one sentence, without its full stop, if any of it is no row: then none is taken.
        """
        ...


class RowWriter(Protocol):
    """Messages of a sink's rows. Equal by value; goes between processes."""

    @property
    def media_type(self) -> str: ...

    def write(self, values: Mapping[str, Any]) -> bytes:
        """Return one row as a message. `values`: as the topic `apps` has them. Raises ValueError if the format cannot
        hold one of them."""
        ...

    def join(self, messages: Sequence[bytes]) -> bytes:
        """Return several messages of this writer as one."""
        ...


def row_reader(end: AppEnd, columns: ColumnTypes, schemas: Path | None = None, *, needs_all: bool = True) -> RowReader:
    """`end`: a source. `schemas`: the operator's folder of schema files. `needs_all`: whether a row that lacks a column
    is none, unless the text says so. Raises AppUnsupportedError with the end's place."""
    odd = next((name for name, kind in columns if kind in ("decimal", "object")), None)
    if odd is not None:
        problem = f"{odd!r}: a message gives string, bool, int, long, float and double"
        raise AppUnsupportedError(end.at, f"not supported: the {end}: {problem}")
    make = _READERS.get(_format(end))
    if make is None:
        raise _unknown(end, _READERS)
    return make(end, columns, schemas, needs_all)


def row_writer(end: AppEnd, columns: ColumnTypes, schemas: Path | None = None) -> RowWriter:
    """`end`: a sink. Raises AppUnsupportedError with the end's place."""
    make = _WRITERS.get(_format(end))
    if make is None:
        raise _unknown(end, _WRITERS)
    return make(end, columns, schemas)


def _format(end: AppEnd) -> str:
    said = end.options.get("map.type", "json").lower()
    return _OTHER_NAMES.get(said, said)


_OTHER_NAMES = {"passthrough": "raw", "binary": "raw", "logfmt": "keyvalue"}


def _unknown(end: AppEnd, known: Mapping[str, object]) -> AppUnsupportedError:
    said = end.options["map.type"]
    near = get_close_matches(said.lower(), known, n=1)
    advice = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(known)}"
    return AppUnsupportedError(end.at, f"not supported: the {end}: map type {said!r} is not known; {advice}")


_READERS: Mapping[str, Callable[[AppEnd, ColumnTypes, Path | None, bool], RowReader]] = {
    "json": lambda end, columns, _, needs: json_reader(MapOptions(end, columns, *JSON_SOURCE), needs_all=needs),
    "xml": lambda end, columns, _, needs: xml_reader(MapOptions(end, columns, *XML_SOURCE), needs_all=needs),
    "csv": lambda end, columns, _, needs: csv_reader(MapOptions(end, columns, *CSV_SOURCE), needs_all=needs),
    "text": lambda end, columns, _, needs: text_reader(MapOptions(end, columns, *TEXT_SOURCE), needs_all=needs),
    "keyvalue": lambda end, columns, _, needs: keyvalue_reader(MapOptions(end, columns, *KEYVALUE), needs_all=needs),
    "avro": lambda end, columns, folder, needs: avro_reader(MapOptions(end, columns, *AVRO), folder, needs_all=needs),
    "protobuf": lambda end, columns, folder, needs: protobuf_reader(
        MapOptions(end, columns, *PROTOBUF), folder, needs_all=needs
    ),
    "raw": lambda end, columns, _, needs: raw_reader(MapOptions(end, columns, *RAW), needs_all=needs),
}
_WRITERS: Mapping[str, Callable[[AppEnd, ColumnTypes, Path | None], RowWriter]] = {
    "json": lambda end, columns, _: json_writer(MapOptions(end, columns, *JSON_SINK)),
    "xml": lambda end, columns, _: xml_writer(MapOptions(end, columns, *XML_SINK)),
    "csv": lambda end, columns, _: csv_writer(MapOptions(end, columns, *CSV_SINK)),
    "text": lambda end, columns, _: text_writer(MapOptions(end, columns, *TEXT_SINK)),
    "keyvalue": lambda end, columns, _: keyvalue_writer(MapOptions(end, columns, *KEYVALUE)),
    "avro": lambda end, columns, folder: avro_writer(MapOptions(end, columns, *AVRO), folder),
    "protobuf": lambda end, columns, folder: protobuf_writer(MapOptions(end, columns, *PROTOBUF), folder),
    "raw": lambda end, columns, _: raw_writer(MapOptions(end, columns, *RAW)),
}
