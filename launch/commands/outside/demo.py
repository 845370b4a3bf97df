"""`arbitrage demo`: a minute of a wild simulated market for who only looks, then a report as one HTML file."""

import argparse
import asyncio
from collections.abc import Callable
from pathlib import Path

from launch.commands.parser import Command
from launch.errors import CannotStartError
from launch.setup.data_dir import check_writable, home_folder, locked

Echo = Callable[[str], None]

FOLDER = "demo"
"""Below the data folder: a demo has its own ledger, and begins each time from nothing."""
SECONDS = 60.0
REPORT = Path("demo.html")


def demo_command() -> Command:
    """Return the command for the console."""
    return Command("demo", "watch it trade for a minute in a wild market, then read the report", _add, _run)


def _add(parser: argparse.ArgumentParser) -> None:
    from launch.commands.options.arguments import port, positive

    parser.add_argument("--seconds", type=positive, default=SECONDS, help=f"how long it trades (default {SECONDS:.0f})")
    parser.add_argument("--report", type=Path, default=REPORT, metavar="FILE.html", help=f"default {REPORT}")
    parser.add_argument("--port", type=port, help="port of the dashboard (default 8000)")
    parser.add_argument(
        "--no-browser", action="store_false", dest="browser", help="do not open the dashboard or report"
    )


def _run(arguments: argparse.Namespace) -> int:
    from launch.commands.entry_points import echo

    return run_demo(demo_home(home_folder()), arguments, echo)


def demo_home(home: Path) -> Path:
    """Return the demo's own folder, with links to the jars and the API key. Raises CannotStartError."""
    from launch.setup.nested_home import make_nested_home

    own = home / FOLDER
    try:
        make_nested_home(home, own)
    except OSError as error:
        raise CannotStartError(f"{own}: cannot be used as the data folder ({error.strerror}).") from error
    return own


def run_demo(home: Path, arguments: argparse.Namespace, echo: Echo) -> int:
    """Trade in `home`, write the report and show it. Returns exit code 0 if the ledger reconciles."""
    from launch.chaos.run import empty_home
    from launch.config.configuration import Configuration
    from launch.config.session_options import PaperOptions
    from launch.sessions.paper import run_paper
    from launch.sessions.terminal.page_browser import open_page
    from launch.sessions.terminal.terminal_line import terminal_echo

    report = arguments.report.absolute()
    check_writable(report, "--report")
    options = PaperOptions(
        seconds=arguments.seconds, report=report, port=arguments.port, browser=arguments.browser, market="storm"
    )
    with locked(home):
        empty_home(home)
        code = asyncio.run(run_paper(home, options, Configuration(), terminal_echo(echo)))
    if arguments.browser:
        open_page(report.as_uri())
    return code
