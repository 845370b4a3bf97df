"""Savepoints: read as they were written, and refused if they are none."""

import hashlib
from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cep.apps.engine.savepoints import FORMAT, Savepoint, read_savepoint, savepoint_bytes
from cep.apps.engine.snapshots import SnapshotError

SAVED = Savepoint("counted", "from S …", "d1", "log-1", 1_700_000_000_000_000, {0: b"\x00\xff", 12: b""})


@given(
    st.builds(
        Savepoint,
        st.text(max_size=9),
        st.text(max_size=40),
        st.text(max_size=9),
        st.text(max_size=9),
        st.integers(0, 2**60),
        st.dictionaries(st.integers(0, 99), st.binary(max_size=40), max_size=4),
    )
)
def test_it_is_read_as_it_was_written(savepoint: Savepoint) -> None:
    assert read_savepoint(savepoint_bytes(savepoint)) == savepoint


@pytest.mark.parametrize(
    ("spoilt", "problem"),
    [
        (lambda data: data[:-1], "torn or was changed"),
        (lambda data: data[: len(FORMAT) + 9], "torn or was changed"),
        (lambda data: data.replace(b"counted", b"charged", 1), "torn or was changed"),
        (lambda data: b"", "no savepoint, or one of another version"),
        (lambda data: data.replace(b"savepoint 1", b"savepoint 2", 1), "no savepoint, or one of another version"),
    ],
)
def test_a_spoilt_one_is_refused(spoilt: Callable[[bytes], bytes], problem: str) -> None:
    with pytest.raises(SnapshotError, match=problem):
        read_savepoint(spoilt(savepoint_bytes(SAVED)))


def test_one_with_another_form_is_refused() -> None:
    data = savepoint_bytes(replace(SAVED, taken_at=0)).partition(b"\n")[2].partition(b"\n")[2]
    assert b'"taken_at": 0' in data
    with pytest.raises(SnapshotError, match="cannot be read"):
        read_savepoint(_signed(data.replace(b'"taken_at": 0', b'"taken_at": null')))


def _signed(body: bytes) -> bytes:
    return FORMAT + hashlib.sha256(body).hexdigest().encode() + b"\n" + body
