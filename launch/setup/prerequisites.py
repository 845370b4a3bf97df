"""Prerequisites that pip cannot install: Python 3.11, Java 17, and where to find them. The checks are pure; one
function runs Java."""

import os
import re
import subprocess

from launch.errors import CannotStartError

NEEDED_PYTHON = (3, 11)
NEEDED_JAVA = 17
JAVA_ANSWER_SECONDS = 30.0


def python_fault(version: tuple[int, ...]) -> str | None:
    """Return one sentence if this Python is too old, else None."""
    if version[:2] >= NEEDED_PYTHON:
        return None
    return f"Python 3.11 or newer is needed and this is {_dotted(version)}; install it and run `make setup` with it."


def java_version(output: str) -> int | None:
    """Return the feature release in what `java -version` prints (17, 21; 8 for "1.8.0_292"); None if it says none."""
    match = re.search(r'version "(?:1\.)?(\d+)', output)
    return int(match.group(1)) if match else None


def java_fault(output: str | None) -> str | None:
    """Return one sentence if Java is missing (`output` None) or too old, else None."""
    remedy = "install a Java 17 runtime (Debian: openjdk-17-jre-headless), or set JAVA_HOME to one."
    if output is None:
        return f"Java {NEEDED_JAVA} or newer is needed and none was found; {remedy}"
    version = java_version(output)
    if version is None:
        return f"Java {NEEDED_JAVA} or newer is needed and the version of the java found is unknown; {remedy}"
    if version < NEEDED_JAVA:
        return f"Java {NEEDED_JAVA} or newer is needed and this is Java {version}; {remedy}"
    return None


def java_command() -> str:
    """Return the java that Spark would take too: of JAVA_HOME, else of the PATH."""
    java_home = os.environ.get("JAVA_HOME")
    return os.path.join(java_home, "bin", "java") if java_home else "java"


def java_output() -> str | None:
    """Return what `java -version` prints, on either stream; None if it cannot be run."""
    try:
        answer = subprocess.run(
            [java_command(), "-version"], capture_output=True, text=True, check=False, timeout=JAVA_ANSWER_SECONDS
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return answer.stderr + answer.stdout


def checked_java() -> str:
    """Return the java to run. Raises CannotStartError if it is missing or too old."""
    fault = java_fault(java_output())
    if fault is not None:
        raise CannotStartError(fault)
    return java_command()


def _dotted(version: tuple[int, ...]) -> str:
    return ".".join(str(part) for part in version[:3])
