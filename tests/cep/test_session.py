"""What of a Spark session can be told without one."""

import os
from pathlib import Path

import pytest

from cep.session import archive_is_current


@pytest.mark.parametrize(
    ("made", "installed", "is_current"), [(200, 100, True), (100, 100, True), (100, 200, False), (None, 100, False)]
)
def test_an_archive_older_than_a_jar_is_made_anew(
    made: int | None, installed: int, is_current: bool, tmp_path: Path
) -> None:
    archive, jar = tmp_path / "spark.jsa", tmp_path / "spark-core.jar"
    jar.touch()
    os.utime(jar, (installed, installed))
    if made is not None:
        archive.touch()
        os.utime(archive, (made, made))
    assert archive_is_current(archive, tmp_path) is is_current
