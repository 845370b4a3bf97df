"""Rows that are copied by name have the fields and types that the OpenAPI document says."""

from dataclasses import dataclass, field, replace
from decimal import Decimal
from types import MappingProxyType

import pytest
from pydantic import TypeAdapter
from typing_extensions import TypedDict

from market.accounting.differences import StoredDifference
from market.accounting.equity_curve import Ending, EquityCurve
from market.accounting.inventory import Exposure, Hold, Holding
from market.accounting.profit_groups import ProfitLine, profit_from
from market.prices.feed_state import FeedState
from market.prices.opportunities import FxRate
from market.trade.arbitrages import Rejection, Transition
from market.trade.leases import Lease
from market.trade.moving_average import AverageOrder
from market.trade.reservation_state import BalanceRow
from store.records.audit_entry import AuditEntry
from store.records.processes import Process, ProcessOrder
from streams.query_progress import QueryProgress
from tests.market.samples import USD_MARKET
from tests.store.reservation_requests import filled
from tests.ui.samples import START, arbitrage
from ui.api.audit_routes import AuditRow
from ui.api.difference_routes import DifferenceRow, difference_row
from ui.api.strategy_routes import AverageOrderRow
from ui.live.consumer_lag import DetectionLag, StreamLag
from ui.live.latency_histograms import LatencyHistogram, TradeLatencies
from ui.rows.arbitrage import BalanceRowView, PnlLineRow, PnlRow, RejectionRow, balance_row, pnl_line_row, pnl_row
from ui.rows.arbitrage_timeline import ArbitrageDetailRow, arbitrage_detail_row
from ui.rows.attribute import row_from
from ui.rows.equity import EquityRow, equity_row
from ui.rows.health import (
    DetectionRow,
    FeedHealthRow,
    LatencyRow,
    PartRow,
    QueryRow,
    detection_rows,
    feed_health_row,
    latency_rows,
    part_row,
    query_row,
)
from ui.rows.inventory import ExposureRow, HoldingRow, HoldRow
from ui.rows.market import SeriesRow, series_row
from ui.services.bot import LeaseRow
from ui.services.process import ProcessRow, process_row


@dataclass(frozen=True, slots=True)
class Sale:
    name: str = "one"
    price: Decimal = Decimal("1E+2")
    counts: MappingProxyType[str, int] = field(default_factory=lambda: MappingProxyType({"closed": 1}))
    secret: str = "not in the row"

    @property
    def is_dear(self) -> bool:
        return self.price > 1


class NamedRow(TypedDict):
    name: str


class SaleRow(NamedRow):
    price: str
    counts: dict[str, int]
    is_dear: bool
    place: str | None


def test_a_row_has_what_is_given_and_the_rest_by_name_in_the_order_of_its_fields() -> None:
    row = row_from(SaleRow, Sale(), place=None)
    assert list(row.items()) == [
        ("name", "one"),
        ("price", "100"),
        ("counts", {"closed": 1}),
        ("is_dear", True),
        ("place", None),
    ]
    assert type(row["counts"]) is dict
    assert row_from(SaleRow, Sale(), place="here", price=Decimal("0.10"))["price"] == "0.1"


def test_a_field_that_is_nowhere_or_not_of_the_row_is_an_error() -> None:
    with pytest.raises(AttributeError, match="place"):
        row_from(SaleRow, Sale())
    with pytest.raises(TypeError, match="SaleRow has no plase"):
        row_from(SaleRow, Sale(), place=None, plase="here")


TRADED = replace(
    arbitrage(),
    opportunity=replace(arbitrage().opportunity, fx=(FxRate("EUR", "EUR/USD", False, Decimal(1), Decimal(2), "fx:1"),)),
    legs=tuple(replace(leg, fills=(filled(leg).fills[0],)) for leg in arbitrage().legs),
    profit=profit_from("USD", {"net": Decimal("1.50")}),
    history=(Transition("reserved", START, "bot", 1),),
)


def equity() -> EquityRow:
    curve = EquityCurve()
    curve.add(Ending(START, "one", "unwound", Decimal(-1)))
    return equity_row(curve.equity(), "USD")


def lag() -> StreamLag:
    signs = StreamLag("session-1")
    signs.detection[0] = DetectionLag(next_offset=9, came_out_at=START, probe_delay=20_000)
    return signs


FEED = FeedState("alpha", "us", "BTC/USD", "live", START, START, rejected={"crossed": 1}, offset_us=3)
PROCESS = Process("bot-alpha", "bot", "alpha", "ready", "ready", 7, START, 0, None, ProcessOrder(), START)
ROWS: list[tuple[type, object]] = [
    (ArbitrageDetailRow, arbitrage_detail_row(TRADED)),
    (PnlRow, pnl_row(profit_from("USD", {}), {"closed": 1})),
    (PnlLineRow, pnl_line_row(ProfitLine("alpha", 1, profit_from("USD", {})))),
    (BalanceRowView, balance_row(BalanceRow("alpha", "USD", Decimal(1), Decimal(2)))),
    (
        RejectionRow,
        row_from(
            RejectionRow, Rejection("r", "o", "BTC", "alpha", "beta", "alpha", "stale", 1.5, Decimal(1), START, 2)
        ),
    ),
    (SeriesRow, series_row(USD_MARKET, ())),
    (FeedHealthRow, feed_health_row(FEED, START)),
    (PartRow, part_row(PROCESS)),
    (ProcessRow, process_row(PROCESS)),
    (QueryRow, query_row(QueryProgress("s", "spreads", False, True, START, START, "", batch_ms=20), START)),
    (DetectionRow, detection_rows(lag(), START)[0]),
    (LatencyRow, latency_rows(TradeLatencies(), LatencyHistogram())[-1]),
    (EquityRow, equity()),
    (HoldingRow, row_from(HoldingRow, Holding("alpha", "USD", Decimal(1), Decimal(2), Decimal(3), Decimal(4)))),
    (HoldRow, row_from(HoldRow, Hold("alpha", "USD", Decimal(1), "one", "buy"))),
    (ExposureRow, row_from(ExposureRow, Exposure("USD", False, Decimal(1), Decimal(2), None))),
    (LeaseRow, row_from(LeaseRow, Lease("alpha", "bot", 1, START), is_held=True)),
    (AuditRow, row_from(AuditRow, AuditEntry("e", "ada", "owner", "key", "", "key.add", "bob"))),
    (
        DifferenceRow,
        difference_row(StoredDifference("d", "balance_differs", "alpha", "USD", "1", "2", "healed", 1)),
    ),
    (AverageOrderRow, row_from(AverageOrderRow, AverageOrder(), arbitrage_id="one")),
]


@pytest.mark.parametrize(("row_type", "row"), ROWS, ids=[row_type.__name__ for row_type, _ in ROWS])
def test_each_is_of_the_types_that_its_schema_says(row_type: type, row: object) -> None:
    adapter: TypeAdapter[object] = TypeAdapter(row_type)
    assert adapter.validate_python(row, strict=True) == row
    assert list(row) == list(row_type.__annotations__)  # type: ignore[call-overload]
