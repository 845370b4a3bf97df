"""What of a Spark session can be told without one."""

import os
import socket
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from uuid import uuid4

import pytest

from cep.spark_session import (
    FIRST_COMPILER,
    LONGEST_SOCKET_FOLDER,
    MANY_MARKETS,
    archive_is_current,
    archive_options,
    closed_to_others,
    compiler_options,
    jar_list,
    listed_jars,
)
from tests.java_options import java_starts_without


def removed(jar: Path) -> None:
    jar.unlink()


def added(jar: Path) -> None:
    jar.with_name("two.jar").touch()


def grown(jar: Path) -> None:
    of_before = jar.stat().st_mtime
    jar.write_text("more")
    os.utime(jar, (of_before, of_before))


def newer(jar: Path) -> None:
    os.utime(jar, (300, 300))


def untouched(_: Path) -> None:
    """Do nothing."""


@pytest.mark.parametrize("place", ["pyspark", "home/spark"])
@pytest.mark.parametrize("change", [removed, added, grown, newer, untouched])
def test_an_archive_for_another_class_path_is_made_again(
    change: Callable[[Path], None], place: str, tmp_path: Path
) -> None:
    jars, archive = tmp_path / "pyspark", tmp_path / "home" / "spark.jsa"
    for folder in (jars, tmp_path / "home/spark"):
        folder.mkdir(parents=True)
        for name in ("one.jar", "other.jar"):
            (folder / name).touch()
            os.utime(folder / name, (100, 100))
    assert not archive_is_current(archive, jars)
    archive.touch()
    assert not archive_is_current(archive, jars), "no list: made by an earlier version"
    jar_list(archive).write_text(listed_jars(archive, jars))
    assert archive_is_current(archive, jars)
    change(tmp_path / place / "one.jar")
    assert archive_is_current(archive, jars) is (change is untouched)


def test_another_java_starts_with_options_that_it_does_not_know(tmp_path: Path) -> None:
    archive = tmp_path / "spark.jsa"
    assert archive_options(archive) == ()
    archive.touch()
    java_starts_without("ArchiveRelocationMode", archive_options(archive))


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
