"""`arbitrage mcp`: tools of a running session for an assistant, over standard input and output."""

import argparse
import os
from pathlib import Path

from launch.commands.parser import Command
from launch.errors import CannotStartError
from launch.setup.data_dir import home_folder
from remote.connection import Connection
from remote.requests import ADDRESS, host_of, service_at
from remote.session_keys import VARIABLE, key_from, key_in
from runtime.errors import RefusedError
from runtime.loopback import is_loopback

CHANGED_BY = "assistant (mcp)"
NO_SDK = (
    "the SDK of the Model Context Protocol is not installed; install the extra `mcp`: "
    'pip install "cross-exchange-arbitrage[mcp]", or in this folder .venv/bin/pip install -e ".[mcp]".'
)


def mcp_command() -> Command:
    """Return the command for the console."""
    return Command("mcp", "tools of a running session for an assistant (Model Context Protocol, stdio)", _add, _run)


def _add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--url", default=ADDRESS, help=f"address of the session's page (default {ADDRESS})")
    parser.add_argument(
        "--key-file",
        type=Path,
        metavar="FILE",
        help=f"file with an API key (default: the variable {VARIABLE}, else none)",
    )


def _run(arguments: argparse.Namespace) -> int:
    return run_assistant(home_folder(), arguments.url, arguments.key_file)


def run_assistant(home: Path, url: str, key_file: Path | None) -> int:
    """Serve until standard input ends. Raises CannotStartError without the SDK, or for an address or key that is
    none."""
    try:
        from remote.assistant.server import assistant_server
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] != "mcp":
            raise
        raise CannotStartError(NO_SDK) from None
    try:
        session, halting = connections(home, url, key_file)
    except RefusedError as error:
        raise CannotStartError(str(error)) from error
    assistant_server(session, halting).run("stdio")
    return 0


def connections(home: Path, url: str, key_file: Path | None) -> tuple[Connection, Connection]:
    """Return the connection for everything, with the given key if there is one, and that for halting, which has the
    data folder's own key: whoever may read that file may stop trading at any time. It is sent to this machine alone.
    Raises RefusedError."""
    from ui.auth.api_keys import KEY_FILE

    key, own = key_from(None, key_file, os.environ), home / KEY_FILE
    halting = key_in(own) if is_loopback(host_of(url)) and os.access(own, os.R_OK) else key
    first, second = (service_at(url, one, changed_by=CHANGED_BY) for one in (key, halting))
    return Connection(first), Connection(second)
