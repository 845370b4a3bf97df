"""Zips of apps: what is packed comes back, and no name or size of a zip is believed."""

import io
import zipfile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from store.records.apps import MOST_TEXT_BYTES
from ui.apps.app_archive import MOST_ENTRIES, packed, unpacked
from ui.apps.stored_apps import RESERVED, AppAnswerError

NAMES = st.from_regex(r"[A-Za-z][A-Za-z0-9_-]{0,20}", fullmatch=True).filter(lambda name: name not in RESERVED)


def zip_of(*entries: tuple[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in entries:
            archive.writestr(name, content)
    return buffer.getvalue()


def lzma_zip() -> bytes:
    """Return a zip that is packed by LZMA, damaged within its entry."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_LZMA) as archive:
        archive.writestr("wide.app", "from quotes select bid insert into Wide;" * 20)
    whole = buffer.getvalue()
    return whole[:50] + b"\xff" * 10 + whole[60:]


@given(st.dictionaries(NAMES, st.text(st.characters(exclude_categories=["Cs"])), min_size=1, max_size=5))
def test_what_is_packed_comes_back(texts: dict[str, str]) -> None:
    assert unpacked(packed(texts)) == texts
    assert packed(texts) == packed(dict(reversed(texts.items())))


BAD = {
    "nothing": b"",
    "no zip": b"PK\x03\x04 nothing more",
    "empty": zip_of(),
    "a path upwards": zip_of(("../x.app", b"x")),
    "an absolute path": zip_of(("/etc/x.app", b"x")),
    "a folder": zip_of(("a/", b"")),
    "in a folder": zip_of(("a/b.app", b"x")),
    "another file": zip_of(("x.exe", b"x")),
    "an operator of the store": zip_of(("$where.app", b"x")),
    "a formula": zip_of(("=1+1.app", b"x")),
    "a reserved word": zip_of(("check.app", b"x")),
    "too many": zip_of(*((f"a{number}.app", b"x") for number in range(MOST_ENTRIES + 1))),
    "a bomb": zip_of(("a.app", b"0" * 50_000_000)),
    "many that are large together": zip_of(*((f"a{number}.app", b"0" * MOST_TEXT_BYTES) for number in range(40))),
    "damaged LZMA": lzma_zip(),
    "no text": zip_of(("a.app", b"\xff\xfe")),
}


@pytest.mark.parametrize("body", BAD.values(), ids=BAD)
def test_what_is_no_zip_of_apps_is_refused(body: bytes) -> None:
    with pytest.raises(AppAnswerError) as refused:
        unpacked(body)
    assert refused.value.status == 422


def status_of(body: bytes) -> int:
    try:
        unpacked(body)
    except AppAnswerError as refused:
        return refused.status
    return 200


@given(st.binary(max_size=200), st.integers(0, 120))
def test_a_damaged_zip_is_a_text_or_a_sentence(damage: bytes, at: int) -> None:
    whole = packed({"wide": "from quotes select bid insert into Wide;"})
    assert status_of(whole[:at] + damage + whole[at + len(damage) :]) in (200, 422)
