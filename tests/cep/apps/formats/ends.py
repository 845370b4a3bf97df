"""Sources and sinks of a text, and their formats."""

from pathlib import Path

from cep.apps.formats.row_formats import RowReader, RowWriter, row_reader, row_writer
from cep.apps.formats.typed_values import ColumnTypes
from cep.apps.language.app_ends import app_ends
from cep.apps.language.app_parser import parse_app
from cep.apps.language.app_tree import StreamDefinition

COLUMNS = "symbol string, price double, n int, big long, ok bool"
ROW = ("WSO2", 55.6, 3, 2**53 + 1, True)


def reader(map_text: str, columns: str = COLUMNS, schemas: Path | None = None, *, needs_all: bool = True) -> RowReader:
    """`map_text`: what is in `@map(…)`."""
    app = parse_app(f"@source(type='kafka', @map({map_text})) define stream S ({columns});")
    (end,) = app_ends(app)
    (definition,) = app.definitions
    assert isinstance(definition, StreamDefinition)
    return row_reader(end, _types(definition), schemas, needs_all=needs_all)


def writer(map_text: str, columns: str = COLUMNS, schemas: Path | None = None) -> RowWriter:
    """As `reader`, of a sink."""
    app = parse_app(f"@sink(type='kafka', @map({map_text})) define stream S ({columns});")
    (end,) = app_ends(app)
    (definition,) = app.definitions
    assert isinstance(definition, StreamDefinition)
    return row_writer(end, _types(definition), schemas)


def values(row: tuple[object, ...], columns: str = COLUMNS) -> dict[str, object]:
    """Return the row by column."""
    return dict(zip((one.split()[0] for one in columns.split(",")), row, strict=True))


def _types(definition: StreamDefinition) -> ColumnTypes:
    return tuple((one.name, one.type) for one in definition.columns)
