"""Files that come in pieces: bounded, each piece once, gone once they are imported or old."""

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from market.time_units import MICROSECONDS
from runtime.clock import wall_now
from ui.runs.uploads import KEPT_FOR, MOST_BYTES, MOST_UPLOADS, NoUploadError, UploadError, Uploads

NAME = "quotes_2024-08-09_BTCUSDT.csv.gz"


@pytest.fixture
def uploads(tmp_path: Path) -> Uploads:
    return Uploads(tmp_path / "uploads")


def test_a_file_comes_in_pieces_and_keeps_its_name(uploads: Uploads) -> None:
    begun = uploads.begin(NAME, 10)
    assert uploads.add(begun.upload_id, 0, b"01234").received == 5
    with pytest.raises(UploadError, match="Only 5 of 10 bytes"):
        uploads.whole(begun.upload_id)
    # sent again, as after an answer that was lost
    assert uploads.add(begun.upload_id, 0, b"01234").received == 5
    assert uploads.add(begun.upload_id, 5, b"56789").received == 10
    path = uploads.whole(begun.upload_id)
    assert (path.name, path.read_bytes()) == (NAME, b"0123456789")
    assert (path.stat().st_mode & 0o777, path.parent.stat().st_mode & 0o777) == (0o600, 0o700)


@given(st.binary(min_size=1, max_size=60), st.lists(st.tuples(st.integers(0, 60), st.integers(1, 20)), max_size=40))
def test_whatever_pieces_come_the_file_is_a_beginning_of_what_was_meant(
    tmp_path_factory: pytest.TempPathFactory, content: bytes, pieces: list[tuple[int, int]]
) -> None:
    uploads = Uploads(tmp_path_factory.mktemp("uploads"))
    begun = uploads.begin(NAME, len(content))
    received = 0
    for offset, length in pieces:
        piece = content[offset : offset + length]
        try:
            received = uploads.add(begun.upload_id, offset, piece).received
        except UploadError:
            assert offset != received
    uploads.add(begun.upload_id, received, content[received:])
    assert uploads.whole(begun.upload_id).read_bytes() == content


@pytest.mark.parametrize(
    "name", ["", ".size", "../../etc/passwd", "a/b", "a\\b", "ä.csv", "-rf", "a" * 121, "a\n", "\0"]
)
def test_a_name_that_could_be_a_path_is_refused(uploads: Uploads, name: str) -> None:
    with pytest.raises(UploadError, match="name"):
        uploads.begin(name, 1)


@pytest.mark.parametrize("size", [0, -1, MOST_BYTES + 1])
def test_a_size_out_of_bounds_is_refused(uploads: Uploads, size: int) -> None:
    with pytest.raises(UploadError, match="MB at most"):
        uploads.begin(NAME, size)


def test_more_than_was_said_is_refused(uploads: Uploads) -> None:
    begun = uploads.begin(NAME, 3)
    for offset, piece in ((0, b"0123"), (1, b"1"), (4, b"4")):
        with pytest.raises(UploadError, match="ends at 3"):
            uploads.add(begun.upload_id, offset, piece)


def test_few_wait_at_a_time_and_old_and_imported_ones_make_room(uploads: Uploads, tmp_path: Path) -> None:
    begun = [uploads.begin(NAME, 1) for _ in range(MOST_UPLOADS)]
    with pytest.raises(UploadError, match="not imported yet"):
        uploads.begin(NAME, 1)
    uploads.add(begun[0].upload_id, 0, b"x")
    uploads.whole(begun[0].upload_id).unlink()
    with pytest.raises(NoUploadError):
        uploads.whole(begun[0].upload_id)
    again = uploads.begin(NAME, 1)
    long_ago = (wall_now() - KEPT_FOR) / MICROSECONDS - 1
    os.utime(tmp_path / "uploads" / again.upload_id, (long_ago, long_ago))
    uploads.begin(NAME, 1)
    assert not (tmp_path / "uploads" / again.upload_id).exists()


@pytest.mark.parametrize("upload_id", ["", "nowhere", "..", "0" * 32])
def test_there_is_no_upload_of_another_id(uploads: Uploads, upload_id: str) -> None:
    with pytest.raises(NoUploadError):
        uploads.add(upload_id, 0, b"x")
