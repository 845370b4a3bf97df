"""The processes of a running session: its supervisor starts them, or a deployment whose parts run apart. People do not
type these commands, so `arbitrage --help` does not list them (docs/commands.md)."""

import argparse
import os
import sys
from collections.abc import Callable, Coroutine
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from launch.commands.options.apps import add_configured
from launch.commands.options.arguments import add_bot, add_cep, add_feed, add_nothing
from launch.commands.parser import Command
from launch.errors import CannotStartError, LaunchError
from launch.setup.data_dir import bot_name, home_folder

if TYPE_CHECKING:
    from launch.supervisor.process_main import Ready
    from session.session import Session

BOT_SWITCH_SECONDS = 0.0005
"""How soon a thread of a bot gets the interpreter from its event loop. In `--market storm` both legs were sent within
66 ms of the opportunity at Python's 5 ms (p95, 88 trades), within 37 ms at this (79 trades)."""

SessionEntry = Callable[["Session", "Ready"], Coroutine[object, object, None]]


def process_commands() -> tuple[Command, ...]:
    return (
        Command("feed", "run one exchange's price feed of the running session", add_feed, _feed),
        Command("bot", "run one bot of the running session, active or on standby", add_bot, _bot),
        Command("publisher", "run the settings publisher of the running session", add_nothing, _publisher),
        Command("cep", "run the Spark job of the running session", add_cep, _cep),
        Command("apps", "run the published apps of the running session", add_configured, _apps),
        Command("logrecorder", "run the log recorder of the running session", add_nothing, _logrecorder),
        Command("carrier", "carry packets between the regions of the running session", add_nothing, _carrier),
        Command("ui", "run REST and the dashboard of the running session", add_configured, _ui),
        Command("notifier", "run the notifier of the running session", add_nothing, _notifier),
    )


def _feed(arguments: argparse.Namespace) -> int:
    from exchanges.ccxt.on_demand import load_ccxt_on_demand
    from pricefeeds.feed.feeder import run_feeder

    session = _session_with(arguments.name, "feed")
    if session.entry_of(arguments.name).is_generic:
        load_ccxt_on_demand()
    return _run_part(
        session,
        f"feed-{arguments.name}",
        lambda part, ready: run_feeder(part, arguments.name, ready, environment=os.environ),
    )


def _bot(arguments: argparse.Namespace) -> int:
    from exchanges.ccxt.on_demand import load_ccxt_on_demand

    load_ccxt_on_demand()
    from bots.draining import Draining
    from bots.process import run_bot
    from cep.apps.hosts.average_app import shipped_average_app
    from cep.errors import CepCannotStartError

    # transactions run in threads: each of their answers may wait this long for a loop that is busy
    sys.setswitchinterval(BOT_SWITCH_SECONDS)
    session, draining = _session_with(arguments.name, "bot"), Draining()
    try:
        average_rule = shipped_average_app()
    except CepCannotStartError as error:
        raise CannotStartError(f"{str(error).rstrip('.')}.") from None

    def entry(of: "Session", ready: "Ready") -> Coroutine[object, object, None]:
        return run_bot(of, arguments.name, average_rule, ready, os.environ, draining)

    return _run_part(session, bot_name(arguments.name, arguments.number), entry, draining.request)


def _publisher(_: argparse.Namespace) -> int:
    from pricefeeds.settings_publisher import run_settings_publisher

    return _run_part(_running_session("publisher"), "publisher", run_settings_publisher)


def _logrecorder(_: argparse.Namespace) -> int:
    from pricefeeds.log_recorder import run_log_recorder

    return _run_part(_running_session("logrecorder"), "logrecorder", run_log_recorder)


def _carrier(_: argparse.Namespace) -> int:
    from launch.regions.network.carrier import run_carrier
    from launch.supervisor.process_main import run_blocking_process

    home = home_folder()
    return run_blocking_process(home, "carrier", lambda ready: run_carrier(home, ready))


def _ui(arguments: argparse.Namespace) -> int:
    from ui.server.web_server import run_ui

    config: Path | None = arguments.config
    return _run_part(_running_session("ui"), "ui", lambda part, ready: run_ui(part, ready, config))


def _cep(arguments: argparse.Namespace) -> int:
    from cep.detection.job import run_cep
    from launch.supervisor.process_main import run_blocking_process
    from launch.supervisor.readiness import until_ready

    home = home_folder()
    log_is_there = partial(until_ready, home, tuple(arguments.after))
    return run_blocking_process(home, "cep", lambda ready: run_cep(_running_session("cep"), ready, log_is_there))


def _apps(arguments: argparse.Namespace) -> int:
    from launch.apps.configured_terms import configured_terms
    from launch.published.part import run_published
    from launch.published.worker_process import forking

    terms, context = configured_terms(arguments.config), forking()
    return _run_part(_running_session("apps"), "apps", lambda part, ready: run_published(part, terms, context, ready))


def _notifier(_: argparse.Namespace) -> int:
    from launch.config.notice_destinations import secrets_checked
    from launch.supervisor.process_groups import NOTIFIER
    from launch.supervisor.process_main import run_process
    from notices.notifier import run_notifier

    session = _running_session(NOTIFIER)
    if not session.upkeep.notices:
        raise CannotStartError("the running session has no [[notices]]; docs/notices.md says how to configure them.")
    secrets = secrets_checked(session.upkeep.notices, os.environ)
    return run_process(session.home, NOTIFIER, lambda ready: run_notifier(session, secrets, ready))


def _run_part(session: "Session", name: str, entry: SessionEntry, leave: Callable[[], None] | None = None) -> int:
    from launch.supervisor.process_main import run_process

    return run_process(session.home, name, lambda ready: entry(session, ready), leave)


def _session_with(exchange: str, role: str) -> "Session":
    session = _running_session(role)
    if exchange not in session.exchanges:
        raise LaunchError(
            f"{exchange!r} is not an exchange of the running session; it has {', '.join(session.exchanges)}."
        )
    return session


def _running_session(role: str) -> "Session":
    from launch.setup.login_files import running_session

    return running_session(role)
