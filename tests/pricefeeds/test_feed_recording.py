"""What is written is read again, a torn end up to its last whole line, and damage is one sentence with its place."""

import gzip
import zlib
from dataclasses import replace
from pathlib import Path

import orjson
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pricefeeds.recording.feed_recording import (
    EVENT_KINDS,
    GZIP,
    PartEnd,
    RecordedEvent,
    RecordedEventKind,
    RecordingHeader,
    book_of,
    book_text,
    end_line,
    event_line,
    header_line,
    part_path,
    read_part,
    read_recording,
    recorded_folders,
)
from tests.pricefeeds.recorded_notes import HEADER
from tests.pricefeeds.samples import book
from tick_sets.errors import ImportRejectedError

KINDS: list[RecordedEventKind] = [kind for kind in ("started", "frame", "lost", "row") if kind in EVENT_KINDS]
EVENTS = st.builds(
    RecordedEvent, st.text(), st.sampled_from(KINDS), st.integers(0, 2**53), st.one_of(st.text(), st.binary())
)
SAME_FOLDER = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=50, deadline=None)


def written(folder: Path, *lines: bytes, part: int = 1) -> Path:
    path = part_path(folder, HEADER.exchange, part)
    path.write_bytes(gzip.compress(b"".join(lines)))
    return path


@SAME_FOLDER
@given(events=st.lists(EVENTS, max_size=5))
def test_notes_are_read_as_they_were_written(tmp_path: Path, events: list[RecordedEvent]) -> None:
    path = written(tmp_path, header_line(HEADER), *map(event_line, events), end_line("closed"))
    assert list(read_part(path)) == [HEADER, *events, PartEnd(path, "closed")]


def test_a_book_is_read_as_it_was_written() -> None:
    for top in (book("100.10", "101", "0.00000001"), replace(book("1", "2"), exchange_time=7, bids=())):
        assert book_of(book_text(top)) == top


@SAME_FOLDER
@given(cut=st.integers(0, 10_000))
def test_wherever_a_file_is_cut_the_notes_before_it_are_read(tmp_path: Path, cut: int) -> None:
    events = [RecordedEvent("BTC/EUR", "frame", number, f"{number * 7_919 % 1_000_003}") for number in range(100)]
    packer, whole, flushed_at = zlib.compressobj(wbits=GZIP), b"", []
    for line in (header_line(HEADER), *map(event_line, events)):
        whole += packer.compress(line) + packer.flush(zlib.Z_SYNC_FLUSH)
        flushed_at.append(len(whole))
    torn = whole[: cut % len(whole)]
    path = part_path(tmp_path, HEADER.exchange, 1)
    path.write_bytes(torn)
    *entries, end = read_part(path)
    assert end == PartEnd(path, None)
    assert entries == [HEADER, *events][: len(entries)]
    assert len(entries) >= sum(offset <= len(torn) for offset in flushed_at)


def spoiled(line: bytes) -> bytes:
    return line[: len(line) // 2] + b"\n"


EVENT = event_line(RecordedEvent("BTC/EUR", "frame", 1, "x"))
DAMAGES: dict[str, tuple[list[bytes], str]] = {
    "no JSON": ([header_line(HEADER), spoiled(EVENT)], "line 2: is not JSON"),
    "no object": ([header_line(HEADER), b"[]\n"], "line 2: is not a JSON object"),
    "no kind": ([header_line(HEADER), b'{"symbol":"a","now":1,"text":""}\n'], "line 2: lacks one of"),
    "unknown kind": (
        [header_line(HEADER), EVENT.replace(b"frame", b"other")],
        "line 2: is not an event of a known kind",
    ),
    "no data": ([header_line(HEADER), b'{"symbol":"a","kind":"frame","now":1}\n'], "line 2: lacks one of"),
    "no base64": ([header_line(HEADER), b'{"symbol":"a","kind":"frame","now":1,"base64":"?"}\n'], "lacks one of"),
    "wrong time": (
        [header_line(HEADER), b'{"symbol":"a","kind":"frame","now":"1","text":""}\n'],
        "line 2: is not an event",
    ),
    "unknown end": ([header_line(HEADER), b'{"end":"tired"}\n'], "line 2: has an unknown end 'tired'"),
    "behind the end": ([header_line(HEADER), end_line("closed"), EVENT], "line 3: is after the end"),
    "no header": ([EVENT], "line 1: has format None"),
    "newer": ([header_line(replace(HEADER, format=2))], "line 1: has format 2"),
    "bad header": ([orjson.dumps({"format": 1}) + b"\n"], "line 1: is not a header of a recording"),
}


@pytest.mark.parametrize(("lines", "sentence"), DAMAGES.values(), ids=DAMAGES.keys())
def test_damage_is_one_sentence_with_its_place(tmp_path: Path, lines: list[bytes], sentence: str) -> None:
    path = written(tmp_path, *lines)
    with pytest.raises(ImportRejectedError) as caught:
        list(read_part(path))
    assert sentence in str(caught.value)
    assert str(caught.value).startswith(str(path))
    assert "\n" not in str(caught.value)


def test_bytes_that_are_no_gzip_are_rejected(tmp_path: Path) -> None:
    whole = gzip.compress(header_line(HEADER) + EVENT * 1_000)
    path = part_path(tmp_path, HEADER.exchange, 1)
    for damaged in (b"plain text", whole[:60] + b"\0" * 20 + whole[80:], whole + b"more"):
        path.write_bytes(damaged)
        with pytest.raises(ImportRejectedError, match="gzip data"):
            list(read_part(path))


def test_parts_are_read_in_their_order_and_none_may_lack(tmp_path: Path) -> None:
    for part in (1, 2, 10):
        written(tmp_path, header_line(replace(HEADER, part=part)), end_line("continued"), part=part)
    with pytest.raises(ImportRejectedError, match="part 3 is missing"):
        list(read_recording(tmp_path))
    for part in range(3, 10):
        written(tmp_path, header_line(replace(HEADER, part=part)), end_line("continued"), part=part)
    headers = [entry.part for entry in read_recording(tmp_path) if isinstance(entry, RecordingHeader)]
    assert headers == list(range(1, 11))


def test_a_folder_without_recordings_is_rejected(tmp_path: Path) -> None:
    with pytest.raises(ImportRejectedError, match="is not a folder"):
        recorded_folders(tmp_path / "none")
    for read in (recorded_folders, lambda folder: list(read_recording(folder))):
        with pytest.raises(ImportRejectedError, match="contains no recording"):
            read(tmp_path)


def test_recordings_are_found_at_any_depth(tmp_path: Path) -> None:
    for folder in (tmp_path / "s" / "kraken", tmp_path / "s" / "bitstamp"):
        folder.mkdir(parents=True)
        written(folder, header_line(HEADER))
    assert [folder.name for folder in recorded_folders(tmp_path)] == ["bitstamp", "kraken"]
    assert recorded_folders(tmp_path / "s" / "kraken") == [tmp_path / "s" / "kraken"]
