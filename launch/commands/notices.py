"""`arbitrage notices`."""

import argparse
import asyncio
import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from launch.config.configuration import Configuration
    from session.session import Mode


def add_notices(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("action", choices=("test",), help="test: send a test message to each destination")
    parser.add_argument("--config", type=Path, metavar="FILE", help="TOML configuration (default arbitrage.toml)")


def run_notices(arguments: argparse.Namespace, echo: Callable[[str], None]) -> int:
    """Run the command. Returns exit code 0 if every destination accepted its test message, else 1."""
    from launch.commands.notice_test import report_test_messages
    from launch.config.configuration import read_configuration
    from launch.config.notice_destinations import configured_destinations

    config = read_configuration(arguments.config, os.environ)
    destinations = configured_destinations(config.notices, os.environ)
    return asyncio.run(report_test_messages(destinations, os.environ, _mode_of(config), echo))


def _mode_of(config: "Configuration") -> "Mode":
    """Return the mode that a session of this configuration would put in front of its messages."""
    modes = {exchange.mode for exchange in config.exchange.values()}
    if "live" in modes:
        return "live"
    return "sandbox" if "sandbox" in modes else "paper"
