"""Rows as Avro and Protobuf, by schemas of the operator's folder; a schema that lies is refused."""

import subprocess
import sys
import tracemalloc
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import given

from cep.apps.language.errors import AppUnsupportedError
from tests.cep.apps.formats.ends import ROW, reader, values, writer
from tests.cep.apps.formats.test_json_format import ROWS

needs_avro = pytest.mark.skipif(find_spec("fastavro") is None, reason="the extra `formats` is not installed")
FIELDS = {"symbol": "string", "price": "double", "n": "int", "big": "long", "ok": "boolean"}
AVRO = "type='avro', schema.file='order.avsc'"
PROTO = "type='protobuf', schema.file='shop.desc', class='shop.Order'"


def schema(**fields: object) -> dict[str, object]:
    kinds = {name: ["null", kind] for name, kind in FIELDS.items()} | fields
    return {"type": "record", "name": "Order", "fields": [{"name": name, "type": kind} for name, kind in kinds.items()]}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "order.avsc").write_bytes(orjson.dumps(schema()))
    (tmp_path / "shop.desc").write_bytes(descriptors().SerializeToString())
    return tmp_path


def descriptors() -> Any:
    """Return a set of files; the library has no types."""
    found = import_module("google.protobuf.descriptor_pb2").FileDescriptorSet()
    file = found.file.add(name="shop.proto", package="shop", syntax="proto3")
    message = file.message_type.add(name="Order")
    for number, (name, kind) in enumerate([("symbol", 9), ("price", 1), ("n", 5), ("big", 3), ("ok", 8)], 1):
        field = message.field.add(
            name=name, number=number, type=kind, label=1, proto3_optional=True, oneof_index=number - 1
        )
        assert field.name == name
        message.oneof_decl.add(name=f"_{name}")
    message.field.add(name="kind", number=6, type=14, label=1, type_name=".shop.Kind")
    message.field.add(name="many", number=7, type=5, label=3)
    inner = message.nested_type.add(name="Inner")
    inner.field.add(name="raw", number=1, type=12, label=1)
    message.field.add(name="inner", number=8, type=11, label=1, type_name=".shop.Order.Inner")
    kinds = file.enum_type.add(name="Kind")
    kinds.value.add(name="NONE", number=0)
    kinds.value.add(name="FAST", number=1)
    return found


@needs_avro
@given(ROWS)
def test_a_record_of_avro_comes_back_as_it_was(row: tuple[object, ...]) -> None:
    text = f"type='avro', schema.def='{orjson.dumps(schema()).decode()}'"
    assert reader(text).read(writer(text).write(values(row))) == [row]


@needs_avro
def test_a_record_may_have_a_number_of_its_schema_before_it(folder: Path) -> None:
    framed = f"{AVRO}, framing='confluent', schema.id='7'"
    written = writer(framed, schemas=folder).write(values(ROW))
    assert written[:5] == b"\0\0\0\0\x07"
    assert reader(framed, schemas=folder).read(written) == [ROW]
    with pytest.raises(ValueError, match="no zero byte"):
        reader(framed, schemas=folder).read(b"\1" + written)


@needs_avro
def test_fields_below_fields_enums_and_decimals_are_columns() -> None:
    price = {"type": "bytes", "logicalType": "decimal", "precision": 12, "scale": 2}
    inner = {"type": "record", "name": "Inner", "fields": [{"name": "price", "type": price}]}
    kind = {"type": "enum", "name": "Kind", "symbols": ["SLOW", "FAST"]}
    at = {"type": "long", "logicalType": "timestamp-millis"}
    whole = {"type": "record", "name": "R", "fields": [
        {"name": "inner", "type": ["null", inner]}, {"name": "kind", "type": kind},
        {"name": "at", "type": at}]}  # fmt: skip
    text = f"type='avro', schema.def='{orjson.dumps(whole).decode()}', @attributes(price='inner.price')"
    found = reader(text, "price string, kind string, at long")
    assert found.read(b"\x02\x04\x04\xd2\x02\x06") == [("12.34", "FAST", 3)]
    assert found.read(b"\x00\x02\x06") == [(None, "FAST", 3)]
    for taken, shown in ((b"\x05", "0.05"), (b"\xfb", "-0.05"), (b"\xff\x38", "-2.00"), (b"", "0.00")):
        assert found.read(b"\x02" + bytes([2 * len(taken)]) + taken + b"\x00\x00") == [(shown, "SLOW", 0)]


@needs_avro
@pytest.mark.parametrize(
    ("message", "problem"),
    [
        (b"", "no record of the schema"),
        (b"\x02", "no record of the schema"),
        (b"\0\0\0\0\0\0", "another schema wrote it"),
        (b"\x09", "no record of the schema"),
        (b"\x02\xfe\xff\xff\xff\x0fx", "no record of the schema"),
    ],
)
def test_what_is_no_record_is_said(folder: Path, message: bytes, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        reader(AVRO, schemas=folder).read(message)


@needs_avro
def test_a_null_that_the_schema_has_not_is_no_record() -> None:
    text = f"type='avro', schema.def='{orjson.dumps(schema(n='int')).decode()}'"
    with pytest.raises(ValueError, match="the row is no record of the schema"):
        writer(text).write(values((None,) * 5))


ITEM = {"type": "record", "name": "Item", "fields": [{"name": "a", "type": "boolean"}, {"name": "b", "type": "null"}]}
LISTS: dict[str, object] = {
    "nulls": {"type": "array", "items": "null"},
    "truths": {"type": "array", "items": "boolean"},
    "lists": {"type": "array", "items": {"type": "array", "items": "int"}},
    "objects": {"type": "array", "items": ITEM},
    "maps": {"type": "map", "values": "null"},
}


@needs_avro
@pytest.mark.parametrize("kind", LISTS)
@pytest.mark.parametrize("fills", [b"", b"\0" * (1 << 19)])
def test_a_list_that_says_that_it_is_very_long_takes_little_memory(kind: str, fills: bytes) -> None:
    found = reader(f"type='avro', schema.def='{orjson.dumps(schema(more=LISTS[kind])).decode()}'")
    bomb = b"\0" * 5 + b"\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01" + fills
    tracemalloc.start()
    try:
        with pytest.raises(ValueError, match=r"more than 200,000 values|ends too early"):
            found.read(bomb)
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert most < 10_000_000


@needs_avro
def test_what_no_column_is_is_passed_over() -> None:
    more = {"type": "array", "items": {"type": "map", "values": ["null", ITEM, "string"]}}
    whole = {"type": "record", "name": "R", "namespace": "x.y", "fields": [
        {"name": "more", "type": more}, {"name": "name", "type": "string"},
        {"name": "item", "type": "Item"}, {"name": "end", "type": "int"}]}  # fmt: skip
    text = f"type='avro', schema.def='{orjson.dumps(whole).decode()}'"
    items = b"\x04\x04\x02a\x00\x02b\x02\x01\x00\x02\x02c\x04\x04hi\x00\x00"
    by_size = b"\x01\x0a\x02\x02c\x00\x00\x00"
    for more_bytes in (b"\0", items, by_size):
        assert reader(text, "name string, end int").read(more_bytes + b"\x04ok\x00\x07") == [("ok", -4)]


LOOP = {"type": "record", "name": "Loop", "fields": [{"name": "next", "type": ["null", "Loop"]}]}


@needs_avro
@pytest.mark.parametrize(
    ("lie", "problem"),
    [
        ("{", "order.avsc is no JSON"),
        ('"string"', "a message is a record"),
        ('{"type": "record", "name": "R", "fields": [{"name": "symbol", "type": "strin"}]}', "is no schema of Avro"),
        ('{"type": "record"}', "is no schema of Avro"),
        ("[]", "a message is a record"),
        (schema(n="string"), "'n' is int, and 'n' of the schema is string"),
        (schema(price=["null", "float", "string"]), "'price' is double, and 'price' of the schema is string"),
        (schema(n="null"), "'n' is int, and 'n' of the schema is null"),
        ({**schema(), "fields": []}, "the schema has no field 'symbol'"),
        ('{"type": "array", "items": ' * 900 + '"int"' + "}" * 900, "is nested too deep"),
        (schema(more={"type": "bytes", "logicalType": "decimal", "precision": 10**9, "scale": 10**9}), "150 digits"),
        (schema(more={"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": -(10**9)}), "150 digits"),
        (schema(more=LOOP), "'Loop' contains itself"),
        (schema(more="int"), None),
    ],
)
def test_a_schema_of_avro_that_lies_is_refused(folder: Path, lie: object, problem: str | None) -> None:
    (folder / "order.avsc").write_bytes(lie.encode() if isinstance(lie, str) else orjson.dumps(lie))
    if problem is None:
        reader(AVRO, schemas=folder)
        with pytest.raises(AppUnsupportedError, match="the field 'more' without a default"):
            writer(AVRO, schemas=folder)
        return
    with pytest.raises(AppUnsupportedError, match=problem):
        reader(AVRO, schemas=folder)


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("other.desc", "other.desc is missing; there are empty.desc, long.desc, order.avsc, shop.desc"),
        ("../shop.desc", "write the name of a file"),
        ("linked.desc", "linked.desc is missing"),
        ("order.avsc", "order.avsc is no set of Protobuf's descriptors"),
        ("empty.desc", "empty.desc is no set of Protobuf's descriptors"),
        ("long.desc", "has more than 1,048,576 bytes"),
    ],
)
def test_a_file_that_is_no_schema_is_refused(folder: Path, name: str, problem: str) -> None:
    (folder / "linked.desc").symlink_to("/etc/hostname")
    (folder / "empty.desc").write_bytes(b"")
    (folder / "long.desc").write_bytes(b"x" * ((1 << 20) + 1))
    with pytest.raises(AppUnsupportedError, match=problem):
        reader(PROTO.replace("shop.desc", name), schemas=folder)


def test_a_list_of_protobuf_that_no_column_is_takes_little_memory(tmp_path: Path) -> None:
    """The library's memory is not Python's, so it is measured in a process of its own."""
    files = descriptors()
    message = files.file[0].message_type[0]
    message.field.add(name="items", number=9, type=11, label=3, type_name=".shop.Order.Inner")
    for number in range(1, 200):
        message.nested_type[0].field.add(name=f"f{number}", number=number + 1, type=3, label=1)
    (tmp_path / "shop.desc").write_bytes(files.SerializeToString())
    code = f"""
import resource
from pathlib import Path
from tests.cep.apps.formats.ends import reader
found = reader({PROTO!r}, schemas=Path({str(tmp_path)!r}))
bomb = b"\\x0a\\x01a" + b"\\x4a\\x00" * (1 << 18)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
assert found.read(bomb) == [("a", None, None, None, None)]
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert int(done.stdout) < 50_000


def test_a_field_that_a_message_needs_is_a_column(tmp_path: Path) -> None:
    files = import_module("google.protobuf.descriptor_pb2").FileDescriptorSet()
    message = files.file.add(name="shop.proto", package="shop").message_type.add(name="Order")
    for number, name in enumerate(("symbol", "at"), 1):
        message.field.add(name=name, number=number, type=9, label=2)
    (tmp_path / "shop.desc").write_bytes(files.SerializeToString())
    with pytest.raises(AppUnsupportedError, match="the schema needs the field 'at', and the stream has no such column"):
        writer(PROTO, "symbol string", tmp_path)
    found = writer(PROTO, "symbol string, at string", tmp_path)
    assert found.write({"symbol": "a", "at": "b"}) == b"\x0a\x01a\x12\x01b"
    with pytest.raises(ValueError, match="'at' is null, and the schema needs it"):
        found.write({"symbol": "a", "at": None})


def test_without_a_folder_there_are_no_schemas() -> None:
    with pytest.raises(AppUnsupportedError, match="the operator names one as `schemas` below"):
        reader(PROTO)


def test_a_message_of_protobuf_comes_back_as_it_was(folder: Path) -> None:
    source, sink = reader(PROTO, schemas=folder), writer(PROTO, schemas=folder)

    @given(ROWS)
    def comes_back(row: tuple[object, ...]) -> None:
        assert source.read(sink.write(values(row))) == [row]

    comes_back()


def test_enums_and_bytes_of_protobuf_are_texts(folder: Path) -> None:
    text, columns = f"{PROTO}, @attributes(raw='inner.raw')", "kind string, raw string"
    assert reader(text, columns, folder).read(b"\x30\x01\x42\x03\x0a\x01\xff") == [("FAST", "/w==")]
    assert reader(text, columns, folder).read(b"\x30\x09") == [("9", None)]


@pytest.mark.parametrize(
    ("columns", "problem"),
    [
        ("price int", "'price' is int, and 'price' of the schema is of another type"),
        ("prize double", "the schema has no field 'prize' for the column 'prize'"),
        ("many int", "'many' of the schema is repeated"),
        ("inner string", "'inner' of the schema is of another type"),
    ],
)
def test_a_schema_of_protobuf_that_lies_is_refused(folder: Path, columns: str, problem: str) -> None:
    with pytest.raises(AppUnsupportedError, match=problem):
        reader(PROTO, columns, folder)
    with pytest.raises(AppUnsupportedError, match=r"'shop\.Orders' is no message of shop\.desc; there are shop\.Order"):
        reader(PROTO.replace("shop.Order", "shop.Orders"), columns, folder)


def test_what_is_no_message_is_said(folder: Path) -> None:
    with pytest.raises(ValueError, match=r"no shop.Order"):
        reader(PROTO, schemas=folder).read(b"\xff\xff")
    with pytest.raises(ValueError, match="'kind' is null, and the schema's field cannot say so"):
        writer(PROTO, "kind string", folder).write({"kind": None})
    with pytest.raises(ValueError, match="'kind' cannot have the value 'SLOW'"):
        writer(PROTO, "kind string", folder).write({"kind": "SLOW"})
