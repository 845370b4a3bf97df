"""What the person at the terminal sees: a line of progress below the printed ones, and the page in a browser."""

import asyncio
import io
from pathlib import Path

import pytest

from launch.sessions.terminal.page_browser import browser_command, open_page
from launch.sessions.terminal.start_progress import drawn_start, start_words
from launch.sessions.terminal.terminal_line import CLEARED, TerminalLine, terminal_echo
from launch.setup.data_dir import ready_file, write_atomically


def shown(text: str) -> list[str]:
    """Return the lines of a terminal after it got `text`."""
    lines = [""]
    for part in text.replace(CLEARED, "\0").replace("\n", "\1").split("\1"):
        kept = part.rsplit("\0", 1)
        lines[-1] = kept[-1] if len(kept) > 1 else lines[-1] + part
        lines.append("")
    return lines[:-1]


def test_printed_lines_stand_above_the_shown_one() -> None:
    stream = io.StringIO()
    line = TerminalLine(stream, lambda: 20)
    line("one")
    line.show("1 of 3")
    line("two")
    assert shown(stream.getvalue()) == ["one", "two", "1 of 3"]
    line.show("2 of 3, which is more than fits")
    assert shown(stream.getvalue()) == ["one", "two", "2 of 3, which is mo"]
    line.clear()
    line("three")
    assert shown(stream.getvalue()) == ["one", "two", "three", ""]


def test_what_is_shown_already_is_not_drawn_again() -> None:
    stream = io.StringIO()
    line = TerminalLine(stream, lambda: 80)
    line.show("1 of 3")
    drawn = stream.getvalue()
    line.show("1 of 3")
    assert stream.getvalue() == drawn


def test_without_a_terminal_lines_are_printed_as_they_are() -> None:
    said: list[str] = []
    echo = terminal_echo(said.append)
    echo("one")
    assert said == ["one"]


STARTS: list[tuple[int, list[str], str]] = [
    (0, ["mongodb", "kafka"], "░░░░░░░░░░░░░░░░░░░░ 0 of 2 parts ready, 7 s; waiting for mongodb, kafka"),
    (3, ["cep"], "███████████████░░░░░ 3 of 4 parts ready, 7 s; waiting for Spark, which takes longest"),
    (
        5,
        ["a", "b", "c", "d", "e"],
        "██████████░░░░░░░░░░ 5 of 10 parts ready, 7 s; waiting for a, b, c, d and 1 more",
    ),
]


@pytest.mark.parametrize(("ready", "missing", "words"), STARTS)
def test_the_words_of_a_start(ready: int, missing: list[str], words: str) -> None:
    assert start_words(ready, missing, 7) == words


async def test_a_start_is_drawn_until_it_is_over(tmp_path: Path) -> None:
    is_drawn = asyncio.Event()

    class Watched(io.StringIO):
        def write(self, text: str) -> int:
            if "parts ready" in text:
                is_drawn.set()
            return super().write(text)

    stream = Watched()
    write_atomically(ready_file(tmp_path, "kafka"), b"ready")
    async with drawn_start(tmp_path, lambda: ("kafka", "ui"), TerminalLine(stream, lambda: 120)):
        await is_drawn.wait()
    assert "1 of 2 parts ready" in stream.getvalue()
    assert shown(stream.getvalue()) == [""]


async def test_nothing_is_drawn_without_a_terminal(tmp_path: Path) -> None:
    said: list[str] = []
    async with drawn_start(tmp_path, lambda: ("ui",), said.append):
        pass
    assert said == []


FOUND = {"xdg-open": "/usr/bin/xdg-open", "open": "/usr/bin/open", "wslview": "/usr/bin/wslview"}
SCREEN = {"DISPLAY": ":0"}
BROWSERS: list[tuple[str, dict[str, str], bool, tuple[str, ...] | None]] = [
    ("linux", SCREEN, True, ("/usr/bin/xdg-open",)),
    ("linux", {"WAYLAND_DISPLAY": "wayland-0"}, True, ("/usr/bin/xdg-open",)),
    ("linux", {}, True, None),
    ("linux", {"DISPLAY": ""}, True, None),
    ("linux", SCREEN, False, None),
    ("linux", SCREEN | {"SSH_CONNECTION": "10.0.0.1 1 10.0.0.2 22"}, True, None),
    ("linux", {"WSL_DISTRO_NAME": "Ubuntu"}, True, ("/usr/bin/wslview",)),
    ("darwin", {}, True, ("/usr/bin/open",)),
    ("darwin", {"SSH_CONNECTION": "10.0.0.1 1 10.0.0.2 22"}, True, None),
    ("freebsd14", {}, True, None),
]


@pytest.mark.parametrize(("system", "environment", "is_terminal", "command"), BROWSERS)
def test_a_browser_is_asked_if_somebody_can_see_it(
    system: str, environment: dict[str, str], is_terminal: bool, command: tuple[str, ...] | None
) -> None:
    assert browser_command(system, environment, FOUND.get, is_terminal=is_terminal) == command


def test_a_machine_without_the_opener_opens_nothing() -> None:
    assert browser_command("linux", SCREEN, lambda _: None, is_terminal=True) is None
    # the output of tests is no terminal
    assert not open_page("http://127.0.0.1:8000")
