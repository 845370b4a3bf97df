"""`arbitrage notifier` and `arbitrage notices`."""

import argparse
import asyncio
import os
from collections.abc import Callable
from pathlib import Path

from launch.config.configuration import Configuration, read_configuration
from launch.config.notice_destinations import configured_destinations, secrets_checked
from launch.errors import CannotStartError
from launch.setup.data_dir import home_folder, read_session
from launch.setup.login_files import with_logins
from launch.supervisor.process_groups import NOTIFIER
from launch.supervisor.process_main import run_process
from session.session import Mode


def add_notices(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("action", choices=("test",), help="test: send a test message to each destination")
    parser.add_argument("--config", type=Path, metavar="FILE", help="TOML configuration (default arbitrage.toml)")


def run_notices(arguments: argparse.Namespace, echo: Callable[[str], None]) -> int:
    """Exit code 0 if every destination accepted its test message, else 1."""
    from launch.commands.notice_test import report_test_messages

    config = read_configuration(arguments.config, os.environ)
    destinations = configured_destinations(config.notices, os.environ)
    return asyncio.run(report_test_messages(destinations, os.environ, _mode_of(config), echo))


def _mode_of(config: Configuration) -> Mode:
    """Return the mode that a session of this configuration would put in front of its messages."""
    modes = {exchange.mode for exchange in config.exchange.values()}
    if "live" in modes:
        return "live"
    return "sandbox" if "sandbox" in modes else "paper"


def run_notifier_process() -> int:
    """Run the notifier of the running session."""
    from notices.notifier import run_notifier

    session = with_logins(read_session(home_folder()), NOTIFIER)
    if not session.notices:
        raise CannotStartError("the running session has no [[notices]]; docs/notices.md says how to configure them.")
    secrets = secrets_checked(session.notices, os.environ)
    return run_process(session.home, NOTIFIER, lambda ready: run_notifier(session, secrets, ready))
