"""`arbitrage mcp`: what it is refused with, which key may do what, and one conversation over its own pipes."""

import json
import os
import sys
from pathlib import Path

import psutil
import pytest

from launch.commands.main import run
from launch.commands.outside.mcp_server import connections
from remote.session_keys import VARIABLE
from runtime.errors import RefusedError
from streams.broker.embedded_broker import free_ports
from ui.auth.api_keys import ensure_api_key


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ARBITRAGE_HOME", str(tmp_path))
    monkeypatch.delenv(VARIABLE, raising=False)
    return tmp_path


def test_halting_has_the_key_of_this_machine_and_nothing_else_has(home: Path) -> None:
    assert [one.has_key for one in connections(home, "http://127.0.0.1:8000", None)] == [False, False]
    ensure_api_key(home)
    assert [one.has_key for one in connections(home, "http://127.0.0.1:8000", None)] == [False, True]
    # it is not sent to other machines
    assert [one.has_key for one in connections(home, "https://desk.example", None)] == [False, False]


def test_a_key_is_read_from_its_file(home: Path) -> None:
    path = home / "desk.key"
    path.write_text("abc\n")
    assert [one.has_key for one in connections(home, "https://desk.example", path)] == [True, True]
    with pytest.raises(RefusedError, match="could read the key"):
        connections(home, "http://desk.example", path)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--url", "desk"], "'desk' is not the address of a session"),
        (["--key-file", "missing"], "missing: cannot be read as a key"),
        (["--port", "1"], "there is no --port"),
    ],
)
def test_a_mistake_is_one_sentence(
    home: Path, words: list[str], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("mcp", reason="the extra `mcp` is not installed")
    try:
        code = run(["mcp", *words])
    except SystemExit as end:
        code = int(str(end.code))
    assert code == 2
    said = capsys.readouterr()
    assert sentence in said.err
    assert said.out == ""


async def test_it_talks_over_its_pipes_and_listens_nowhere(home: Path) -> None:
    """Without a session each tool says so, and the pages can be read."""
    pytest.importorskip("mcp", reason="the extra `mcp` is not installed")
    from mcp import Client, StdioServerParameters  # noqa: PLC0415 - an extra
    from mcp.client.stdio import stdio_client  # noqa: PLC0415

    (port,) = free_ports(1)
    words = ["-m", "launch.commands.main", "mcp", "--url", f"http://127.0.0.1:{port}"]
    server = StdioServerParameters(
        command=sys.executable, args=words, env=dict(os.environ), cwd=Path(__file__).parents[2]
    )
    with (home / "mcp.log").open("w") as log:
        async with Client(stdio_client(server, errlog=log)) as client:
            assert len((await client.list_tools()).tools) > 20
            answer = await client.call_tool("session_state", {})
            page = await client.read_resource("arbitrage://docs/risk")
            settings = json.loads((await client.read_resource("arbitrage://settings")).contents[0].text)
            # those that have ended, of tests before, have no command any more
            alive = [one for one in psutil.Process().children(recursive=True) if one.status() != psutil.STATUS_ZOMBIE]
            started = [one for one in alive if "mcp" in one.cmdline()]
            assert [one.net_connections() for one in started] == [[]]
    assert answer.is_error
    assert "does not answer" in answer.content[0].text
    assert page.contents[0].text.startswith("# ")
    assert {row["value"] for row in settings} == {None}
