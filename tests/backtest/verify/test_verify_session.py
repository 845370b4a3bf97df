"""A made-up recorded session: all of it derives again, and any change in it is found and named."""

import asyncio
import json
import shutil
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from backtest.verify.errors import CannotVerifyError
from backtest.verify.recorded_session import (
    ARBITRAGES,
    FILLS,
    OPPORTUNITIES,
    REJECTIONS,
    SESSION,
    SETTINGS,
    SIGNALS,
    open_session,
)
from backtest.verify.session import Verified, verified
from bots.decide.reserver import NO_DECIDER
from tests.backtest.verify.derivation import plainly_derived
from tests.backtest.verify.made_up import made_up_session, write_messages
from tick_sets.sets.tick_set import TickSet

Row = dict[str, Any]
Alter = Callable[[Path], object]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("made") / "session"
    folder.mkdir()
    asyncio.run(made_up_session(folder))
    return folder


@pytest.fixture
def session(made: Path, tmp_path: Path) -> Path:
    """Return a session that may be altered."""
    folder = tmp_path / "session"
    shutil.copytree(made, folder)
    return folder


def outcome(folder: Path) -> Verified:
    return verified(open_session(folder), plainly_derived)


def test_everything_derives_again(session: Path) -> None:
    found = outcome(session)
    assert found.difference is None
    assert (found.opportunities, found.rejections, found.arbitrages, found.steps, found.ticks) == (5, 3, 3, 13, 8)
    assert found.signals == 3


def test_a_decision_may_follow_from_the_log_of_another_region(made: Path, session: Path) -> None:
    """The first region saw nothing, and the other one had the right to decide."""
    messages(lambda rows: rows.clear())(session)
    first, other = open_session(session), open_session(made)

    def derive(tick_set: TickSet) -> Iterable[tuple[str, int, bytes]]:
        return () if session in tick_set.folder.parents else plainly_derived(tick_set)

    alone = verified(first, derive)
    assert alone.difference is not None
    assert "opportunity" in str(alone.difference)
    found = verified(first, derive, [other])
    assert (found.difference, found.opportunities, found.rejections, found.arbitrages) == (None, 5, 3, 3)


def test_a_fault_in_the_log_of_another_region_is_found(made: Path, session: Path) -> None:
    messages(lambda rows: rows.pop())(session)
    found = verified(open_session(made), plainly_derived, [open_session(session)])
    assert found.difference is not None


def test_a_version_of_the_last_moment_may_stand_behind_the_end_of_the_log(session: Path) -> None:
    with_another_version(session)
    line(SETTINGS, 3, lambda version: version.update(at=version["at"] + 10_000_000))(session)
    assert outcome(session).difference is None


def test_a_session_is_one_folder_that_can_be_copied_without_its_feeds(session: Path) -> None:
    without_feeds(session)
    found = outcome(session)
    assert (found.difference, found.ticks, found.arbitrages) == (None, 0, 3)


@dataclass(frozen=True)
class Altered:
    """What is changed, and the expected message."""

    what: str
    alter: Alter
    named: tuple[str, ...]


def without_feeds(folder: Path) -> None:
    for exchange in ("alpha", "beta"):
        shutil.rmtree(folder / exchange)


def tick(number: int, *, feeds: bool = True, **changed: object) -> Alter:
    """Change row `number` of the log to other values."""

    def alter(folder: Path) -> None:
        if not feeds:
            without_feeds(folder)
        (path,) = (folder / "log" / "ticks").rglob("ticks.parquet")
        table = pq.ParquetFile(path).read()
        rows = table.to_pylist()
        rows[number] |= changed
        pq.write_table(pa.Table.from_pylist(rows, table.schema), path)

    return alter


def line(name: Path, number: int, change: Callable[[Row], object]) -> Alter:
    """Change one document of the books."""

    def alter(folder: Path) -> None:
        path = folder / "log" / name
        documents = [json.loads(text) for text in path.read_text().splitlines()]
        change(documents[number])
        path.write_text("".join(json.dumps(document) + "\n" for document in documents))

    return alter


def messages(change: Callable[[list[Row]], object]) -> Alter:
    """Change what CEP wrote."""

    def alter(folder: Path) -> None:
        recorded = [(one.time, json.loads(one.value)) for one in open_session(folder).messages()]
        rows = [row | {"time": time} for time, row in recorded]
        change(rows)
        write_messages(folder / "log" / OPPORTUNITIES, [(row.pop("time"), json.dumps(row).encode()) for row in rows])

    return alter


def without_line(name: Path, number: int) -> Alter:
    """Remove one document."""

    def alter(folder: Path) -> None:
        path = folder / "log" / name
        lines = path.read_text().splitlines(keepends=True)
        path.write_text("".join(lines[:number] + lines[number + 1 :]))

    return alter


def counted(name: Path, alter: Alter) -> Alter:
    """Return the same change in a session whose head says how many documents were kept."""

    def altered(folder: Path) -> None:
        edit_head(folder, kept={str(name): len((folder / "log" / name).read_text().splitlines())})
        alter(folder)

    return altered


def record(change: Callable[[Row], object]) -> Callable[[Row], None]:
    """Change the record of a rejection."""

    def alter(rejection: Row) -> None:
        kept = json.loads(rejection["record"])
        change(kept)
        rejection["record"] = json.dumps(kept)

    return alter


def step(number: int, change: Callable[[Row], object]) -> Callable[[Row], None]:
    """Change a step of an arbitrage."""

    def alter(kept: Row) -> None:
        taken = json.loads(kept["steps"][number])
        change(taken)
        kept["steps"][number] = json.dumps(taken)

    return alter


def with_another_version(folder: Path) -> None:
    """Add a version that was made long before the log ended."""
    path = folder / "log" / SETTINGS
    newest = json.loads(path.read_text().splitlines()[-1])
    newest |= {"version": 4, "after": newest["after"] | {"version": 4}}
    path.write_text(f"{path.read_text()}{json.dumps(newest)}\n")


def without_a_version(folder: Path) -> None:
    path = folder / "log" / SETTINGS
    first, _, last = path.read_text().splitlines()
    path.write_text(f"{first}\n{last}\n")


def settings_text(folder: Path) -> None:
    tick(6, document=_log_settings(folder, 6).replace('"min_net_bps":100.0', '"min_net_bps":100.1'))(folder)


def _log_settings(folder: Path, number: int) -> str:
    (path,) = (folder / "log" / "ticks").rglob("ticks.parquet")
    return str(pq.ParquetFile(path).read().to_pylist()[number]["document"])


ALTERED = (
    Altered(
        "one digit of a price of a tick",
        tick(2, ask="100.01", ask_price=100.01),
        ("tick alpha:BTC/USD:1", "ask", "100 by its feeder", "100.01 in the log"),
    ),
    Altered(
        "one digit of a price, where nothing is left of the feeds",
        tick(2, feeds=False, ask="100.01", ask_price=100.01),
        ("tick alpha:BTC/USD:1", "buy.price", "100", "100.01"),
    ),
    Altered(
        "one digit of an exchange rate",
        tick(1, bid="1.0998", bid_price=1.0998),
        ("tick desk:EUR/USD:1", "fx[0].bid", "1.0999", "1.0998"),
    ),
    Altered("a tick that leads to nothing", tick(11, bid="98", bid_price=98.0), ("tick alpha:BTC/USD:4", "bid", "98")),
    Altered("the double of a price", tick(11, bid_price=98.5), ("tick alpha:BTC/USD:4", "bid_price", "98.5")),
    Altered("depth behind the best level", tick(9, asks='[["100","5"]]'), ("tick alpha:BTC/USD:3", "asks", "103")),
    Altered("a settings row of the log", settings_text, ("settings row 6 of BTC, version 2", "min_net_bps", "100.1")),
    Altered(
        "a version of the settings in the store",
        line(SETTINGS, 1, lambda version: version["after"].update(min_net_bps=101.0)),
        ("settings row 6 of BTC, version 2", "min_net_bps", "101.0"),
    ),
    Altered(
        "a version that the log lacks",
        with_another_version,
        ("settings in the log of BTC", "last version recorded 3", "derived 4"),
    ),
    Altered("a version that the store lacks", without_a_version, ("settings row 6 of BTC", "version 2", "nothing in")),
    Altered(
        "an opportunity dropped", messages(lambda rows: rows.pop(3)), ("at row 7 of BTC", "nothing", "beta:BTC/EUR:2")
    ),
    Altered("the last opportunity dropped", messages(lambda rows: rows.pop()), ("at row 10 of BTC", "nothing")),
    Altered(
        "an opportunity more",
        messages(lambda rows: rows.insert(2, rows[1] | {"offset": 5})),
        ("at row 5 of BTC", "nothing"),
    ),
    Altered("one more behind all others", messages(lambda rows: rows.append(rows[6] | {"offset": 11})), ("at row 11",)),
    Altered(
        "two in the wrong order", messages(lambda rows: rows.insert(3, rows.pop(4))), ("opportunity", "before", "row 8")
    ),
    Altered(
        "the last bit of a spread",
        messages(lambda rows: rows[5].update(net_bps=42.008098000001457)),
        ("at row 9 of BTC", "net_bps", "42.00809800000145"),
    ),
    Altered(
        "when an opportunity was produced",
        messages(lambda rows: rows[0].update(time=1)),
        ("step 1 (reserve)", "detected_time"),
    ),
    Altered(
        "a repeat of an opportunity",
        messages(lambda rows: rows.append(rows[2] | {"net_bps": 1.0})),
        ("written again", "net_bps", "recorded 1.0"),
    ),
    Altered("an arbitrage dropped", without_line(ARBITRAGES, 0), ("fill alpha|BTC/USD|alpha-buy-1", "nothing")),
    Altered(
        "a rejection dropped", counted(REJECTIONS, without_line(REJECTIONS, 2)), ("rejections", "recorded 2, derived 3")
    ),
    Altered(
        "an arbitrage dropped that traded nothing",
        counted(ARBITRAGES, without_line(ARBITRAGES, 1)),
        ("arbitrages", "recorded 2, derived 3"),
    ),
    Altered(
        "the reason of a rejection",
        line(REJECTIONS, 1, lambda rejection: rejection.update(reason="stale")),
        ("rejection", "reason", "stale", "below_threshold"),
    ),
    Altered(
        "what the store rejected on",
        line(REJECTIONS, 0, record(lambda kept: kept["read"]["liquidity"].update({"beta:BTC/EUR:1|sell": "0"}))),
        ("rejection", "reason", "liquidity_used", "nothing"),
    ),
    Altered(
        "a veto that the store rejected on",
        line(REJECTIONS, 2, record(lambda kept: kept["read"]["leases"]["beta"].update(veto=None))),
        ("rejection", "reason", "account_rejected", "liquidity_used"),
    ),
    Altered(
        "a lease that the store rejected on",
        line(REJECTIONS, 2, record(lambda kept: kept["read"]["leases"].pop("beta"))),
        ("rejection", "reason", "account_rejected", "no_bot"),
    ),
    Altered(
        "which opportunity was rejected",
        line(REJECTIONS, 0, lambda rejection: rejection.update(opportunity_id="f" * 32)),
        ("rejection", "opportunity", "f" * 32, "nothing"),
    ),
    Altered(
        "what was tradable",
        line(REJECTIONS, 1, lambda rejection: rejection.update(tradable="9")),
        ("rejection", "tradable", "9", "0 to 2.1004"),
    ),
    Altered(
        "how many were rejected",
        line(REJECTIONS, 0, lambda rejection: rejection.update(count=90)),
        ("rejections of BTC alpha beta by alpha", "count", "92"),
    ),
    Altered(
        "a fill in the ledger",
        line(FILLS, 0, lambda row: row["fill"].update(cost="1")),
        ("fill alpha|BTC/USD|alpha-buy-1", "cost", "recorded 1,"),
    ),
    Altered(
        "a fill in the ledger alone",
        line(FILLS, 0, lambda row: row.update(arbitrage_id="none")),
        ("fill alpha|BTC/USD|alpha-buy-1", "recorded nothing"),
    ),
    Altered(
        "a fill of a leg",
        line(ARBITRAGES, 0, lambda kept: kept["arbitrage"]["legs"][0]["fills"][0].update(fee="7")),
        ("arbitrage", "legs[0].fills[0].fee", "7"),
    ),
    Altered(
        "what the exchange reported",
        line(
            ARBITRAGES, 0, step(4, lambda taken: taken["request"]["results"][0]["report"]["fills"][0].update(price="7"))
        ),
        ("arbitrage", "fills[0].price", "7"),
    ),
    Altered(
        "a balance that a leg was reserved on",
        line(ARBITRAGES, 0, step(0, lambda taken: taken["read"]["balances"][2].update(free="2"))),
        ("arbitrage", "amount", "recorded 5", "derived 2"),
    ),
    Altered(
        "the settings that a leg was sized by",
        line(ARBITRAGES, 0, step(0, lambda taken: taken["request"]["context"].update(settings_version=3))),
        ("arbitrage", "limit_price"),
    ),
    Altered(
        "the process that a leg was granted to",
        line(ARBITRAGES, 0, lambda kept: kept["arbitrage"]["legs"][0].update(token=9)),
        ("arbitrage", "legs[0].token", "recorded 9, derived 1"),
    ),
    Altered(
        "the lease that a leg was granted by",
        line(ARBITRAGES, 0, step(0, lambda taken: taken["read"]["leases"]["beta"].update(token=9))),
        ("arbitrage", "legs[1].token", "recorded 1, derived 9"),
    ),
    Altered(
        "a lease that had run out when a leg was granted",
        line(ARBITRAGES, 2, step(3, lambda taken: taken["read"]["leases"]["beta"].update(until=1))),
        ("step 4 (grant complete)", "unchanged"),
    ),
    Altered(
        "when an order was posted",
        line(ARBITRAGES, 0, step(2, lambda taken: taken["request"]["results"][0]["report"].update(posted_at=1))),
        ("arbitrage", "legs[0].times.sent", "derived 1"),
    ),
    Altered(
        "a profit",
        line(ARBITRAGES, 0, lambda kept: kept["arbitrage"]["profit"].update(net="1000")),
        ("arbitrage", "profit.net", "1000"),
    ),
    Altered(
        "who took a step",
        line(ARBITRAGES, 1, lambda kept: kept["arbitrage"]["history"][0].update(actor="nobody")),
        ("arbitrage", "history[0].actor", "nobody", "decider"),
    ),
    Altered("a step dropped", line(ARBITRAGES, 0, lambda kept: kept["steps"].pop(2)), ("arbitrage", "state", "closed")),
    Altered(
        "a grant dropped",
        line(ARBITRAGES, 2, lambda kept: kept["steps"].pop(3)),
        ("arbitrage", "step 4 (book complete)", "reserved"),
    ),
    Altered(
        "a close that a signal followed from",
        line(SIGNALS, 1, lambda signal: signal["closes"].__setitem__(0, "101")),
        ("signal alpha|BTC/USD|", "average", "recorded 99.5", "derived 99.75"),
    ),
    Altered(
        "the price of a signal",
        line(SIGNALS, 2, lambda signal: signal.update(trade_price="98")),
        ("signal alpha|BTC/USD|", "trade_type recorded BUY, derived nothing"),
    ),
    Altered(
        "what a signal says",
        line(SIGNALS, 0, lambda signal: signal.update(trade_type="SELL")),
        ("signal alpha|BTC/USD|", "trade_type recorded SELL, derived BUY"),
    ),
    Altered("a signal dropped", counted(SIGNALS, without_line(SIGNALS, 1)), ("signals", "recorded 2, derived 3")),
    Altered(
        "an order without a signal",
        line(ARBITRAGES, 1, lambda kept: kept["arbitrage"].update(strategy="ma")),
        ("arbitrage", "strategy"),
    ),
    Altered(
        "text that is no step",
        line(ARBITRAGES, 1, lambda kept: kept.update(steps=["{}", *kept["steps"][1:]])),
        ("arbitrage", "step 1", "nothing"),
    ),
)


@pytest.mark.parametrize("case", ALTERED, ids=[case.what for case in ALTERED])
def test_what_is_altered_is_found_and_named(session: Path, case: Altered) -> None:
    case.alter(session)
    found = outcome(session).difference
    assert found is not None
    assert [name for name in case.named if name not in str(found)] == [], str(found)


def test_two_that_take_over_in_a_row_can_both_count_what_nobody_decided(session: Path) -> None:
    line(REJECTIONS, 0, lambda rejection: rejection.update(count=90, reason=NO_DECIDER))(session)
    assert outcome(session).difference is None


@pytest.mark.parametrize(
    ("name", "key", "without", "kind"),
    [
        (ARBITRAGES, "steps", [], "arbitrages"),
        (REJECTIONS, "record", None, "rejections"),
        (SIGNALS, "closes", [], "signals"),
    ],
)
def test_documents_of_earlier_versions_are_counted_and_passed_over(
    session: Path, name: Path, key: str, without: object, kind: str
) -> None:
    line(name, 0, lambda document: document.update({key: without}))(session)
    found = outcome(session)
    assert found.difference is None
    assert found.older == {kind: 1}


def test_a_session_of_an_earlier_version_has_no_signals(session: Path) -> None:
    (session / "log" / SIGNALS).unlink()
    found = outcome(session)
    assert (found.difference, found.signals, found.older) == (None, 0, {})


def in_old_names(folder: Path) -> None:
    """Write the decision contexts in the names of the version before this one."""

    def old_step(text: str) -> str:
        taken = json.loads(text)
        return json.dumps({"cause": {"what": taken["request"]["kind"]}, "read": taken["read"]})

    for number in range(len((folder / "log" / ARBITRAGES).read_text().splitlines())):
        change = line(ARBITRAGES, number, lambda kept: kept.update(steps=[old_step(text) for text in kept["steps"]]))
        change(folder)
    for number in range(len((folder / "log" / REJECTIONS).read_text().splitlines())):
        line(REJECTIONS, number, lambda kept: kept.update(grounds=kept.pop("record")))(folder)


def test_decisions_recorded_under_other_names_end_in_one_sentence(session: Path) -> None:
    in_old_names(session)
    found = outcome(session)
    assert found.difference is not None
    assert str(found.difference).endswith(
        "step 1: step recorded taken, derived nothing: no record of a decision as this version writes it "
        "(request: is missing)"
    )
    assert found.older == {"rejections": 3}


def without_tick(folder: Path) -> None:
    (path,) = (folder / "log" / "ticks").rglob("ticks.parquet")
    table = pq.ParquetFile(path).read()
    pq.write_table(table.slice(0, len(table) - 1), path)


def damaged_ticks(folder: Path) -> None:
    next((folder / "log" / "ticks").rglob("ticks.parquet")).write_bytes(b"PAR1" * 5)


def without_partitions(folder: Path) -> None:
    path = folder / "log" / "ticks" / "manifest.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"partitions": []}))


CANNOT: tuple[tuple[str, Alter, str], ...] = (
    ("no folder", lambda folder: folder.rename(folder.with_name("elsewhere")), "is not a folder"),
    ("no log", lambda folder: shutil.rmtree(folder / "log"), "holds no recorded log"),
    ("cut off", lambda folder: (folder / "log" / SESSION).unlink(), "ended before its log was complete"),
    ("another format", lambda folder: edit_head(folder, format=9), "recorded by another version .format 9;"),
    ("a damaged line", lambda folder: (folder / "log" / FILLS).write_text("{}\n"), "line 1: is not as this version"),
    ("books gone", lambda folder: (folder / "log" / REJECTIONS).unlink(), "cannot be read"),
    ("messages gone", lambda folder: (folder / "log" / OPPORTUNITIES).write_bytes(b"PAR1"), "cannot be read"),
    ("a row of the log gone", without_tick, "has 12 rows, and was written with 13"),
    ("all rows of the log gone", without_partitions, "does not hold the log of BTC"),
    (
        "a message that is none",
        lambda folder: write_messages(folder / "log" / OPPORTUNITIES, [(1, b"{")]),
        "holds a row that cannot be read",
    ),
    ("a message of nothing", messages(lambda rows: rows[0].pop("offset")), "holds a row that cannot be read"),
    ("a settings row that is none", tick(6, document="{"), "holds a row that cannot be read"),
    ("a damaged log", damaged_ticks, "ticks.parquet: cannot be read"),
    ("ticks gone", lambda folder: shutil.rmtree(folder / "log" / "ticks"), "is no tick set"),
)


def edit_head(folder: Path, **changed: object) -> None:
    path = folder / "log" / SESSION
    path.write_text(json.dumps(json.loads(path.read_text()) | changed))


@pytest.mark.parametrize(("what", "alter", "sentence"), CANNOT, ids=[what for what, _, _ in CANNOT])
def test_what_cannot_be_verified_is_said_in_one_sentence(session: Path, what: str, alter: Alter, sentence: str) -> None:
    alter(session)
    with pytest.raises(CannotVerifyError, match=sentence):
        outcome(session)
