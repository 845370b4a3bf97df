"""Files that come in pieces: bounded, each piece once, gone once they are imported or old."""

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import pytest
from hypothesis import given
from hypothesis import strategies as st

from market.time_units import MICROSECONDS
from runtime.clock import wall_now
from ui.runs.uploads import (
    KEPT_FOR,
    MOST_BYTES,
    MOST_UPLOADS,
    QUIET_FOR,
    UNASKED_FOR,
    NoUploadError,
    UploadError,
    Uploads,
)

WAIT_SECONDS = 20
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
            assert offset > received
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


def test_a_piece_that_the_disk_took_a_part_of_is_sent_again(uploads: Uploads) -> None:
    begun = uploads.begin(NAME, 8)
    assert uploads.add(begun.upload_id, 0, b"01234").received == 5
    assert uploads.add(begun.upload_id, 3, b"34567").received == 8
    assert uploads.whole(begun.upload_id).read_bytes() == b"01234567"


def test_a_piece_that_comes_twice_at_once_is_there_once(uploads: Uploads) -> None:
    pieces, together = [bytes([number]) * 50_000 for number in range(20)], 8
    begun, gate = uploads.begin(NAME, 1_000_000), Barrier(together)

    def send(piece: bytes) -> None:
        gate.wait(WAIT_SECONDS)
        uploads.add(begun.upload_id, 50_000 * piece[0], piece)

    with ThreadPoolExecutor(together) as pool:
        for piece in pieces:
            list(pool.map(send, [piece] * together))
    assert uploads.whole(begun.upload_id).read_bytes() == b"".join(pieces)


def test_few_wait_at_a_time_and_imported_and_old_ones_make_room(uploads: Uploads) -> None:
    begun = [uploads.begin(NAME, 1) for _ in range(MOST_UPLOADS)]
    with pytest.raises(UploadError, match="try again in a while"):
        uploads.begin(NAME, 1)
    uploads.add(begun[0].upload_id, 0, b"x")
    uploads.whole(begun[0].upload_id).unlink()
    with pytest.raises(NoUploadError):
        uploads.whole(begun[0].upload_id)
    again = uploads.begin(NAME, 1)
    place = uploads._folder / again.upload_id
    age(place, KEPT_FOR)
    uploads.begin(NAME, 1)
    assert not place.exists()


def test_what_was_given_up_makes_room_and_what_waits_for_its_import_does_so_later(uploads: Uploads) -> None:
    begun = [uploads.begin(NAME, 1) for _ in range(MOST_UPLOADS)]
    whole, *unfinished = (uploads._folder / one.upload_id / NAME for one in begun)
    uploads.add(begun[0].upload_id, 0, b"x")
    age(whole, QUIET_FOR)
    with pytest.raises(UploadError, match="try again in a while"):
        uploads.begin(NAME, 1)
    age(unfinished[1], QUIET_FOR)
    uploads.begin(NAME, 1)
    assert [path.exists() for path in (whole, *unfinished)] == [True, True, False, True]
    age(whole, UNASKED_FOR)
    uploads.whole(begun[0].upload_id)
    with pytest.raises(UploadError, match="try again in a while"):
        uploads.begin(NAME, 1)
    age(whole, UNASKED_FOR)
    uploads.begin(NAME, 1)
    assert not whole.exists()


def age(path: Path, microseconds: int) -> None:
    """Make it so old, and a second older."""
    then = (wall_now() - microseconds) / MICROSECONDS - 1
    os.utime(path, (then, then))


@pytest.mark.parametrize("upload_id", ["", "nowhere", "..", "0" * 32])
def test_there_is_no_upload_of_another_id(uploads: Uploads, upload_id: str) -> None:
    with pytest.raises(NoUploadError):
        uploads.add(upload_id, 0, b"x")
