"""Files that Java programs of ours start with."""

import os
from collections.abc import Iterable, Mapping
from pathlib import Path

LOGGING_PROPERTIES = """\
status=error
appender.console.type=Console
appender.console.name=console
appender.console.layout.type=PatternLayout
appender.console.layout.pattern=%d{yyyy-MM-dd'T'HH:mm:ss.SSS} %p %c{1} %m%n
rootLogger.level=warn
rootLogger.appenderRef.console.ref=console
"""
"""Warnings go to standard output."""


def write_privately(path: Path, text: str) -> None:
    """Readable for the owner only, from the first byte on."""
    path.unlink(missing_ok=True)
    path.touch(0o600)
    path.write_text(text)


def argument_file(words: Iterable[str]) -> str:
    """Return the text of a file for `java @FILE`; other users can see a command line."""
    return "".join(f"{_quoted(word)}\n" for word in words)


def property_file(settings: Mapping[str, str]) -> str:
    """Return the text of a Java properties file."""
    return "".join(f"{name}={_escaped(value)}\n" for name, value in settings.items())


def _quoted(argument: str) -> str:
    """One argument of an argument file, in which backslashes and quotes are special."""
    escaped = argument.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace(os.linesep, " ")
