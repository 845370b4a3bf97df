"""What of a Spark session can be told without one."""

import os
import socket
from pathlib import Path
from tempfile import TemporaryDirectory
from uuid import uuid4

import pytest

from cep.spark_session import (
    FIRST_COMPILER,
    LONGEST_SOCKET_FOLDER,
    MANY_MARKETS,
    archive_is_current,
    closed_to_others,
    compiler_options,
)


@pytest.mark.parametrize("place", ["pyspark", "home/spark"])
@pytest.mark.parametrize(
    ("made", "installed", "is_current"), [(200, 100, True), (100, 100, True), (100, 200, False), (None, 100, False)]
)
def test_an_archive_older_than_a_jar_is_made_again(
    made: int | None, installed: int, is_current: bool, place: str, tmp_path: Path
) -> None:
    archive, jar = tmp_path / "home" / "spark.jsa", tmp_path / place / "one.jar"
    archive.parent.mkdir()
    jar.parent.mkdir(exist_ok=True)
    jar.touch()
    os.utime(jar, (installed, installed))
    if made is not None:
        archive.touch()
        os.utime(archive, (made, made))
    assert archive_is_current(archive, tmp_path / "pyspark") is is_current


@pytest.mark.parametrize(
    ("markets", "options"), [(1, (FIRST_COMPILER,)), (MANY_MARKETS - 1, (FIRST_COMPILER,)), (MANY_MARKETS, ())]
)
def test_many_markets_are_worth_the_second_compiler(markets: int, options: tuple[str, ...]) -> None:
    assert compiler_options(markets) == options


@pytest.mark.parametrize("length", [LONGEST_SOCKET_FOLDER, LONGEST_SOCKET_FOLDER + 1, 200])
@pytest.mark.parametrize("temporary_length", [LONGEST_SOCKET_FOLDER, LONGEST_SOCKET_FOLDER + 1])
def test_sockets_lie_where_no_other_user_comes_and_the_kernel_takes_their_path(
    length: int, temporary_length: int
) -> None:
    with TemporaryDirectory() as short:
        scratch = Path(short) / ("x" * (length - len(short) - 1))
        temporary = Path(short) / ("t" * (temporary_length - len(short) - 1))
        temporary.mkdir()
        folder = Path(closed_to_others(scratch, str(temporary))["spark.python.unix.domain.socket.dir"])
        assert (folder == scratch) is (length <= LONGEST_SOCKET_FOLDER)
        assert folder == scratch or folder.stat().st_mode & 0o077 == 0
        with socket.socket(socket.AF_UNIX) as listening:
            listening.bind(str(folder / f".{uuid4()}.sock"))
