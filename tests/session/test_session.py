"""The description of a run that every process reads."""

import ast
import json
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pytest
from pydantic import ValidationError

from market.instruments.cycles import CycleTerms
from runtime.clock import ReplayClock, SystemClock
from session.session import LocalAccounts, PageTerms, Placement, ReplayTime, Services, Session, SimulatedTerms, Upkeep
from tests.market.samples import EUR_MARKET, MARKETS, USD_MARKET

FX_MARKET = replace(USD_MARKET, exchange="delta", symbol="EUR/USD", base="EUR", is_fx=True)
EARLIER = Path(__file__).with_name("run_of_0_1.json")
"""As version 0.1 wrote it, with a value of its own for each field."""
SESSION = Session(
    session_id="one",
    mode="paper",
    home=Path("/tmp/home"),
    services=Services(kafka="127.0.0.1:9092", mongodb="mongodb://127.0.0.1:27017", database="arbitrage"),
    markets=(*MARKETS, FX_MARKET, replace(EUR_MARKET, symbol="ETH/EUR", base="ETH")),
    settlement_currency="USD",
    local_accounts=LocalAccounts(balances={"alpha": {"USD": Decimal("1000.10")}}),
)


def test_reads_back_to_the_last_digit() -> None:
    assert Session.from_json(SESSION.to_json()) == SESSION
    replay = replace(SESSION, mode="replay", replay=ReplayTime(1, 2, 3.5))
    assert Session.from_json(replay.to_json()) == replay


def test_what_it_trades() -> None:
    assert SESSION.exchanges == ("alpha", "beta", "gamma", "delta")
    assert SESSION.bases == ("BTC", "ETH")
    assert FX_MARKET not in SESSION.traded
    assert [market.symbol for market in SESSION.markets_of("beta")] == ["BTC/EUR", "ETH/EUR"]


@pytest.mark.parametrize(("region", "regions"), [("us", ()), (None, ("us",)), ("eu", ("us", "jp"))])
def test_a_region_is_one_of_its_regions(region: str | None, regions: tuple[str, ...]) -> None:
    with pytest.raises(ValueError, match="the session's regions are"):
        replace(SESSION, place=Placement(region, regions))
    assert replace(SESSION, place=Placement("us", ("us", "jp"))).place.region == "us"


def test_its_clock() -> None:
    assert SESSION.clock() == SystemClock()
    assert replace(SESSION, replay=ReplayTime(1, 2, 3.5)).clock() == ReplayClock(1, 2, 3.5)


@pytest.mark.parametrize("text", ["", "{}", '{"session_id": 1}'])
def test_what_is_no_session_is_rejected(text: str) -> None:
    with pytest.raises(ValidationError):
        Session.from_json(text)


def test_a_file_of_an_earlier_version_is_read_and_written_as_it_was() -> None:
    text = EARLIER.read_text()
    session = Session.from_json(text)
    expected = json.loads(text)
    expected["access"]["acting_apps"] = []  # a later name
    expected["cycles"] = None  # another
    expected["entries"]["alpha"]["order_transport"] = None
    expected["transfer_rules"] = {"is_on": False, "every_seconds": 300, "tolerance": "0.1", "target": "opening"}
    expected["simulated_networks"] = {"speed": 1.0, "returned_share": 0.0, "closed_share": 0.0}
    assert json.loads(session.to_json()) == expected
    assert (session.page.url, session.simulated.url) == ("http://10.7.0.1:8001", "http://127.0.0.1:8100")
    assert (session.local_accounts.latency_ms, session.upkeep.keep_trades_days) == (80, 30)


def test_a_file_without_the_later_names_has_their_defaults() -> None:
    needed = ("session_id", "mode", "home", "kafka", "mongodb", "database", "markets", "settlement_currency")
    stored = json.loads(EARLIER.read_text())
    session = Session.from_json(json.dumps({name: stored[name] for name in needed}))
    assert (session.page, session.simulated, session.local_accounts, session.upkeep) == (
        PageTerms(),
        SimulatedTerms(),
        LocalAccounts(),
        Upkeep(),
    )


def test_nothing_else_lies_in_its_folder() -> None:
    """What two rooms share lies with whom it belongs to (ADR 78)."""
    folder = Path(__file__).parents[2] / "session"
    sources = list(folder.glob("*.py"))
    others = {path.stem for path in sources} - {"__init__", "session"}
    imported = [
        node.module
        for path in sources
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.ImportFrom) and node.module is not None
    ]
    assert others == {name.removeprefix("session.") for name in imported if name.startswith("session.")}


@pytest.mark.parametrize(
    ("regions", "names", "chosen"),
    [
        (("us", "eu", "jp"), ("jp", "us"), ("us", "jp")),
        (("us", "eu", "jp"), ("jp", "us", "eu"), ()),
        (("us", "eu", "jp"), (), ()),
        ((), (), ()),
        (("us", "eu"), ("mars", "us"), "this session has no region 'mars'; its regions: us, eu."),
        ((), ("us",), "this session has no region 'us'; its regions: none."),
    ],
)
def test_regions_are_chosen_by_name(
    regions: tuple[str, ...], names: tuple[str, ...], chosen: tuple[str, ...] | str
) -> None:
    place = Placement(regions[0] if regions else None, regions)
    if isinstance(chosen, str):
        with pytest.raises(ValueError, match="has no region") as found:
            place.chosen(names)
        assert str(found.value) == chosen
    else:
        assert place.chosen(names) == chosen


def test_it_watches_no_cycles_unless_they_are_asked_for() -> None:
    cross = replace(USD_MARKET, symbol="ETH/BTC", base="ETH", quote_currency="BTC")
    coin = replace(USD_MARKET, symbol="ETH/USD", base="ETH")
    session = replace(SESSION, markets=(USD_MARKET, coin, cross))
    assert session.watched_cycles() == ()
    asked = replace(session, cycles=CycleTerms(3, frozenset({"alpha"}), frozenset()))
    assert asked.watched_cycles() is asked.watched_cycles(), "searched twice"
    assert [cycle.cycle_id for cycle in asked.watched_cycles()] == [
        "alpha:BTC/USD:buy>alpha:ETH/BTC:buy>alpha:ETH/USD:sell",
        "alpha:ETH/USD:buy>alpha:ETH/BTC:sell>alpha:BTC/USD:sell",
    ]
    assert Session.from_json(asked.to_json()) == asked
