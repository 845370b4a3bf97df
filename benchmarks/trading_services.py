"""What traders need around them: mongod, simulated exchanges, a session. All of it ends with the benchmark."""

import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from decimal import Decimal
from pathlib import Path

import psutil

from benchmarks.processes import running
from exchanges.simulated_markets import paper_markets, taker_fees
from launch.setup.login_files import own_logins, with_logins, write_logins
from launch.setup.login_rights import SUPERVISOR
from market.decide.settings import Settings
from runtime.logins import Address, login_of
from session.session import Services, Session, SimulatedTerms
from store.server.embedded_mongod import EmbeddedMongod
from streams.broker.embedded_broker import free_ports

EXCHANGES = ("coinbaseexchange", "kraken")
"""Both in dollars."""
START_SECONDS = 60.0
SETTINGS = Settings(
    enabled_exchanges=EXCHANGES,
    taker_fees={name: fee for name, fee in taker_fees().items() if name in EXCHANGES},
    # the exchanges' prices do not cover the fees: the path is measured, not the profit
    min_net_bps=-1_000.0,
    emit_net_bps=-1_000.0,
    max_slippage_bps=200.0,
    max_daily_loss=Decimal(10_000_000),
    max_notional=Decimal(100),
    max_quote_age_ms=60_000,
    cool_down_ms=0,
)


def session_of(home: Path, mongodb: str, exchanges_port: int) -> Session:
    return Session(
        session_id=home.name,
        mode="paper",
        home=home,
        services=Services(kafka="", mongodb=mongodb, database="benchmark"),
        markets=tuple(market for market in paper_markets() if market.exchange in EXCHANGES and not market.is_fx),
        settlement_currency="USD",
        simulated=SimulatedTerms(url=f"http://127.0.0.1:{exchanges_port}", rate_limits=False),
    )


def write_terms(session: Session) -> None:
    """Write session and settings for the trading processes, in the session's home."""
    session.home.mkdir(parents=True, exist_ok=True)
    (session.home / "session.json").write_bytes(session.to_json())
    write_logins(session.home, SUPERVISOR, None, login_of(session.services.mongodb))
    (session.home / "settings.json").write_text(SETTINGS.model_dump_json())


def read_terms(home: Path) -> tuple[Session, Settings]:
    session, settings = ((home / name).read_bytes() for name in ("session.json", "settings.json"))
    return with_logins(Session.from_json(session), SUPERVISOR), Settings.model_validate_json(settings)


@asynccontextmanager
async def mongod(home: Path) -> AsyncIterator[tuple[str, psutil.Process]]:
    """Yield its address and the process."""
    (port,) = free_ports(1)
    own = own_logins(home)
    embedded = EmbeddedMongod(home, port, key=own.mongodb_key, users=own.database_users("benchmark"))
    embedded.prepare()
    with running(*embedded.command()) as process:
        await embedded.wait_ready(START_SECONDS)
        yield Address(embedded.uri, own.login(SUPERVISOR)), process


@contextmanager
def simulated_exchanges(home: Path) -> Iterator[tuple[int, psutil.Process]]:
    """Yield their port and the process; they answer soon."""
    (port,) = free_ports(1)
    command = (
        sys.executable,
        "-m",
        "simulators.server",
        "--home",
        str(home),
        "--port",
        str(port),
        "--no-limits",
        *("--market", "storm"),
    )
    with running(*command) as process:
        yield port, process
