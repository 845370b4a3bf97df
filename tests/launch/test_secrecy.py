"""Keys appear nowhere but in their own file: a session in one process, everything at debug level, searched."""

import asyncio
import gzip
import logging
from collections.abc import Awaitable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from uuid import uuid4

import pytest

from exchanges.accounts.exchange_account import open_account, open_session_account
from exchanges.accounts.exchange_rules import exchange_rules
from exchanges.ccxt.client import session_config
from exchanges.errors import ExchangeError
from launch.setup.data_dir import write_atomically
from launch.supervisor.process_main import EventFormatter
from pricefeeds.recording.feed_recorder import recording
from runtime.clock import SystemClock
from session.session import Services, Session, SimulatedTerms, Upkeep
from simulators.faults.fault_kinds import Fault
from tests.exchanges.served import TRADED, Served, order_on, served
from tests.launch.left_behind import found_in, keys_in
from tests.pricefeeds.watched import watching


@contextmanager
def everything_logged(path: Path) -> Iterator[None]:
    """Log as the processes do, but everything at debug level."""
    handler = logging.FileHandler(path)
    handler.setFormatter(EventFormatter())
    loggers = [logging.getLogger(name) for name in ("", *logging.Logger.manager.loggerDict)]
    levels = [one.level for one in loggers]
    for one in loggers:
        one.setLevel(logging.DEBUG)
    logging.getLogger().addHandler(handler)
    try:
        yield
    finally:
        logging.getLogger().removeHandler(handler)
        handler.close()
        for one, level in zip(loggers, levels, strict=True):
            one.setLevel(level)


def session_at(outside: Served) -> Session:
    return Session(
        session_id="one",
        mode="paper",
        home=outside.home,
        services=Services(kafka="127.0.0.1:1", mongodb="mongodb://127.0.0.1:1", database="arbitrage_test"),
        markets=TRADED,
        settlement_currency="USD",
        simulated=SimulatedTerms(url=outside.url),
        upkeep=Upkeep(recordings_mb=100),
    )


async def trade(outside: Served, session: Session) -> None:
    """Send orders that fill, that are rejected, that are not answered, signed wrongly, and read back."""
    log = logging.getLogger("session")
    for market in TRADED:
        account = open_session_account(session, market.exchange, {})
        config = session_config(session, market.exchange, {})
        assert config.credentials is not None
        wrong = open_account(replace(config, credentials=replace(config.credentials, secret="d3Jvbmc=")), TRADED)
        price, amount = outside.best(market, "sell")
        try:
            log.info("rules %s", await exchange_rules(config, [market]))
            order = order_on(market, "buy", max(amount, market.minimum_amount), price)
            log.info("report %r", await account.place(order))
            for fault in ("http_5xx", "lost_acknowledgement"):
                outside.faults.switch_on(Fault(market.exchange, fault, count=1))
                order = replace(order, client_order_id=str(uuid4()))
                await failing(account.place(order))
                await failing(account.look_up(order))
            await failing(wrong.balances())
            log.info("config %r account %r", config, account)
        finally:
            await account.close()
            await wrong.close()


async def failing(work: Awaitable[object]) -> None:
    """Log the failure with its whole trace, as a process logs the error that ends it."""
    try:
        await work
    except ExchangeError:
        logging.getLogger("session").exception("it failed")


async def watch(outside: Served, session: Session) -> None:
    """Run every exchange's feed, recorded, until it has quoted."""
    stepping = asyncio.create_task(outside.world.run(SystemClock()))
    try:
        for market in TRADED:
            with recording(session, market.exchange, {}) as recorder:
                async with watching(session, market.exchange, market.symbol, recorder=recorder) as watched:
                    await watched.until_quotes(1)
    finally:
        stepping.cancel()
        await asyncio.wait({stepping})


@pytest.mark.slow
async def test_a_session_leaves_no_key_behind(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    async with served(tmp_path) as outside:
        session = session_at(outside)
        write_atomically(tmp_path / "run.json", session.to_json())
        with everything_logged(tmp_path / "session.log"):
            logging.getLogger("session").debug("debug is on")
            await trade(outside, session)
            await watch(outside, session)
    keys = keys_in(tmp_path)
    logged = (tmp_path / "session.log").read_text()
    assert len(keys) >= 2 * len(TRADED)
    assert "debug is on" in logged
    assert "it failed" in logged
    assert (tmp_path / "run.json").stat().st_mode & 0o777 == 0o600
    assert found_in(tmp_path, keys) == []
    shown = capfd.readouterr()
    assert not [key for key in keys if key in shown.out + shown.err]


def test_the_search_finds_what_is_there(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("x a-secret y")
    (tmp_path / "b.gz").write_bytes(gzip.compress(b"a-secret"))
    assert len(found_in(tmp_path, {"a-secret"})) == 2
