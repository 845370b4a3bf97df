"""What `java -version` and Python report of themselves."""

import os
from pathlib import Path

import pytest

from launch.errors import CannotStartError
from launch.setup.prerequisites import checked_java, java_fault, java_output, java_version, python_fault

OPENJDK_17 = 'openjdk version "17.0.15" 2025-04-15\nOpenJDK Runtime Environment (build 17.0.15+6-Debian-1deb12u1)\n'
ORACLE_8 = 'java version "1.8.0_292"\nJava(TM) SE Runtime Environment (build 1.8.0_292-b10)\n'
EARLY_ACCESS = 'openjdk version "25-ea" 2025-09-16\n'
WITH_OPTIONS = 'Picked up JAVA_TOOL_OPTIONS: -Dversion=9\nopenjdk version "21" 2023-09-19 LTS\n'
NO_RUNTIME = "The operation couldn't be completed. Unable to locate a Java Runtime.\n"


@pytest.mark.parametrize(
    ("output", "version"),
    [
        (OPENJDK_17, 17),
        (ORACLE_8, 8),
        (EARLY_ACCESS, 25),
        (WITH_OPTIONS, 21),
        ('openjdk version "11.0.2" 2019-01-15\n', 11),
        ('java version "9"\n', 9),
        (NO_RUNTIME, None),
        ("", None),
    ],
)
def test_java_version(output: str, version: int | None) -> None:
    assert java_version(output) == version


@pytest.mark.parametrize("output", [OPENJDK_17, EARLY_ACCESS, WITH_OPTIONS])
def test_a_new_enough_java_is_no_fault(output: str) -> None:
    assert java_fault(output) is None


@pytest.mark.parametrize(
    ("output", "words"),
    [(None, "none was found"), (ORACLE_8, "this is Java 8"), (NO_RUNTIME, "version of the java found is unknown")],
)
def test_a_java_fault_is_one_sentence_with_its_remedy(output: str | None, words: str) -> None:
    fault = java_fault(output)
    assert fault is not None
    assert words in fault
    assert "Java 17" in fault
    assert "JAVA_HOME" in fault
    assert "\n" not in fault


@pytest.mark.parametrize(
    ("version", "is_fault"),
    [
        ((3, 11, 0), False),
        ((3, 11), False),
        ((3, 14, 1), False),
        ((4, 0, 0), False),
        ((3, 10, 14), True),
        ((2, 7), True),
    ],
)
def test_python_fault(version: tuple[int, ...], is_fault: bool) -> None:
    fault = python_fault(version)
    assert (fault is not None) == is_fault
    if fault is not None:
        assert ".".join(map(str, version)) in fault


def test_a_java_home_without_java_cannot_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    assert java_output() is None
    with pytest.raises(CannotStartError, match="none was found"):
        checked_java()


def test_java_home_goes_before_the_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    java = tmp_path / "bin" / "java"
    java.parent.mkdir()
    java.write_text("#!/bin/sh\necho 'openjdk version \"23.0.1\" 2024-10-15' >&2\n")
    java.chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    assert checked_java() == str(java)
    assert os.access(checked_java(), os.X_OK)
