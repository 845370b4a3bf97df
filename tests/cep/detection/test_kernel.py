"""The kernel against a plain loop over the log: every hit, every field, every bit, from whatever row it begins."""

from dataclasses import dataclass
from decimal import Decimal
from math import isfinite

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from cep.detection.kernel.log import KernelLog, SettingsInForce, settings_in_force
from cep.detection.market_layout import layout_of
from market.decide.settings import Settings
from streams.message_format import row_of, settings_row
from tests.cep.detection.oracle import Spread, expected_output
from tests.cep.detection.tick_tables import tick_table
from tests.cep.logs import BASES, START, LogMaker, session, settings
from tick_sets.sets.opening_rows import OpeningRows

SESSION = session()
LAYOUT = layout_of(SESSION)


@dataclass(frozen=True, slots=True)
class Seen:
    """One hit, by what it was made from."""

    offset: int
    buy: str
    sell: str
    buy_id: str
    sell_id: str
    rates: tuple[str, ...]
    ages: tuple[int, int]
    bps: tuple[float, float, float]
    version: int


def wanted(messages: list[bytes], base: str) -> list[Seen]:
    return [
        Seen(
            offset=spread.offset,
            buy=f"{spread.buy.exchange} {spread.buy.symbol}",
            sell=f"{spread.sell.exchange} {spread.sell.symbol}",
            buy_id=_id_of(spread.buy_quote),
            sell_id=_id_of(spread.sell_quote),
            rates=tuple(_id_of(rate) for rate in spread.fx),
            ages=spread.ages,
            bps=(spread.gross_bps, spread.fee_bps, spread.net_bps),
            version=spread.settings["settings_version"],
        )
        for spread in expected_output(messages, SESSION)
        if isinstance(spread, Spread) and spread.base == base
    ]


def found(rows: pa.Table, base: str, begin: int = 0, own: SettingsInForce | None = None, step: int = 100) -> list[Seen]:
    """By a reader that begins at row `begin` of the base's log and takes `step` rows at a time."""
    log, known = KernelLog(LAYOUT, base, own), OpeningRows()
    for start in range(0, begin, step):
        known.learn(rows.slice(start, min(step, begin - start)))
    opening = known.before(0).drop_columns(["row_group"])
    log.learn(opening)
    read = pa.concat_tables([opening, rows.slice(begin)]).to_pylist()
    seen = []
    for start in range(begin, len(rows), step):
        for part in log.found(rows.slice(start, step)):
            seen += [_seen(hit, part.settings, read, base) for hit in part.hits]
    return seen


def _seen(hit: "dict[str, int]", in_force: SettingsInForce, read: "list[dict[str, object]]", base: str) -> Seen:
    buy, sell = LAYOUT.pairs[hit["pair"]]
    rates = [read[hit[name]] for name in ("buy_rate_row", "sell_rate_row") if hit[name] >= 0]
    offset = read[hit["row"]]["offset"]
    assert isinstance(offset, int)
    return Seen(
        offset=offset,
        buy=f"{LAYOUT.slots[buy].exchange} {dict(LAYOUT.slots[buy].symbols)[base]}",
        sell=f"{LAYOUT.slots[sell].exchange} {dict(LAYOUT.slots[sell].symbols)[base]}",
        buy_id=_id_of(read[hit["buy_quote_row"]]),
        sell_id=_id_of(read[hit["sell_quote_row"]]),
        rates=tuple(_id_of(rate) for rate in rates),
        ages=(hit["buy_age"], hit["sell_age"]),
        bps=(hit["gross_bps"], hit["fee_bps"], hit["net_bps"]),
        version=in_force.version,
    )


def _id_of(row: "dict[str, object]") -> str:
    return f"{row['exchange']}:{row['symbol']}:{row['sequence']}"


def under(own: Settings, messages: list[bytes]) -> list[bytes]:
    """Return the log as it reads if `own` settings hold from its first row and its settings rows say nothing."""
    first, *rest = messages
    silent = b'{"kind":"said nothing","base":"BTC","received_time":%d}' % START
    return [
        settings_row(own, row_of(first)["received_time"], BASES),
        *[silent if row_of(message)["kind"] == "settings" else message for message in rest],
    ]


@hypothesis_settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 2**32),
    count=st.integers(50, 400),
    share=st.floats(0, 1),
    step=st.sampled_from([1, 7, 60, 1_000]),
)
def test_from_any_row_on_it_finds_what_a_plain_loop_finds(seed: int, count: int, share: float, step: int) -> None:
    messages = LogMaker(seed).write(count)
    for base in BASES:
        rows = tick_table(messages, base)
        begin = int(share * len(rows))
        first = rows["offset"][begin].as_py() if begin < len(rows) else len(messages)
        expected = [seen for seen in wanted(messages, base) if seen.offset >= first]
        assert found(rows, base, begin, step=step) == expected


@hypothesis_settings(max_examples=30, deadline=None)
@given(
    seed=st.integers(0, 2**32),
    emit=st.sampled_from([-1_000.0, -20.0, 0.0, 12.5]),
    oldest=st.integers(1, 3_000),
    without=st.sampled_from(["kraken", "bitstamp", "nobody"]),
)
def test_given_settings_hold_from_end_to_end(seed: int, emit: float, oldest: int, without: str) -> None:
    own = settings(9, emit_net_bps=emit, min_net_bps=50.0, max_quote_age_ms=oldest)
    own = own.model_copy(update={"enabled_exchanges": tuple(set(own.enabled_exchanges) - {without})})
    messages = LogMaker(seed).write(150)
    in_force = settings_in_force(settings_row(own, 0, ()))
    for base in BASES:
        expected = [seen for seen in wanted(under(own, messages), base) if seen.offset > 0]
        assert found(tick_table(messages, base), base, own=in_force) == expected


def test_made_up_logs_hold_every_kind_of_row_and_many_hits() -> None:
    messages = LogMaker(11).write(3_000)
    assert {row_of(message)["kind"] for message in messages} == {
        "quote", "alive", "withdrawn", "fx", "fx_alive", "fx_withdrawn", "settings", "probe",
    }  # fmt: skip
    assert len(found(tick_table(messages, "BTC"), "BTC")) > 1_000


def test_more_hits_than_there_is_room_for_come_in_parts() -> None:
    own = settings(1, emit_net_bps=-1_000.0, max_quote_age_ms=86_400_000)
    messages = under(own, LogMaker(12).write(6_000))
    expected = wanted(messages, "BTC")
    assert len(expected) > 20_000
    assert found(tick_table(messages, "BTC"), "BTC", step=10_000) == expected


@pytest.mark.parametrize("price", ["0", "-1", "0.00"])
def test_a_price_that_is_none_is_never_paid(price: str) -> None:
    messages = LogMaker(13).write(200)
    rows = tick_table(messages, "BTC")
    spoiled = rows.to_pylist()
    for row in spoiled[100:]:
        if row["kind"] == "quote":
            row |= {"ask": price, "ask_price": float(price)}
    hits = found(pa.Table.from_pylist(spoiled, schema=rows.schema), "BTC")
    offset = rows["offset"][100].as_py()
    assert [seen for seen in hits if seen.offset < offset] == [
        seen for seen in wanted(messages, "BTC") if seen.offset < offset
    ]
    ids_of_spoiled = {_id_of(row) for row in spoiled[100:]}
    assert all(isfinite(part) for seen in hits for part in seen.bps)
    assert ids_of_spoiled.isdisjoint({seen.buy_id for seen in hits})
    assert not ids_of_spoiled.isdisjoint({seen.sell_id for seen in hits})


def test_an_exchange_without_a_fee_and_a_market_of_no_session_give_nothing() -> None:
    messages = LogMaker(14).write(400)
    own = settings_in_force(settings_row(settings(1, emit_net_bps=-30.0), 0, ()))
    unpaid = SettingsInForce(1, 0, own.max_quote_age, -30.0, own.enabled_exchanges, {"kraken": 0.001, "bitstamp": 0.0})
    hits = found(tick_table(messages, "BTC"), "BTC", own=unpaid)
    assert hits
    assert {seen.buy.split()[0] for seen in hits} | {seen.sell.split()[0] for seen in hits} == {"kraken", "bitstamp"}
    assert found(tick_table(messages, "ETH"), "BTC", own=own) == []


def test_taker_fees_are_the_doubles_of_their_texts() -> None:
    own = settings(3, taker_fees=dict.fromkeys(settings().taker_fees, Decimal("0.00123")))
    assert set(settings_in_force(settings_row(own, 0, ())).taker_fees.values()) == {0.00123}
