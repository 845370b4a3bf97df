"""Which trades a list shows: its fields, ranges of time that a click chooses, and the same filters as an address."""

from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Literal, get_args
from urllib.parse import urlencode

import streamlit

from market.time_units import MICROSECONDS
from market.trade.arbitrages import ArbitrageState, Strategy
from runtime.clock import wall_now
from store.queries.trade_history import TradeFilter
from ui.page_parts.market_choice import MarketChoice
from ui.page_parts.page_times import zone_word
from wording.labels import STRATEGIES, state_name

Range = Literal["Last hour", "Today", "24 hours", "7 days", "Month", "Session", "From – until"]
WHOLE: Range = "Session"
TYPED: Range = "From – until"
OF_MONTH: Range = "Month"
MOST_MONTHS = 36
SPANS: dict[Range, timedelta] = {
    "Last hour": timedelta(hours=1),
    "24 hours": timedelta(days=1),
    "7 days": timedelta(days=7),
}
Orders = Literal["With a third order", "Without"]
MINUTE = 60 * MICROSECONDS


@dataclass(frozen=True, slots=True)
class TradeChoice:
    """`wanted` moves on with the time if the range is a span until now; `name` does not."""

    wanted: TradeFilter
    range: Range

    @property
    def name(self) -> str:
        is_moving = self.range in SPANS
        return f"{self.range} {replace(self.wanted, since=None) if is_moving else self.wanted}"


def choose_trades(market: MarketChoice, zone: tzinfo) -> TradeChoice:
    """Draw the fields at the script's current place."""
    chosen: Range = (
        streamlit.segmented_control("Range", get_args(Range), default=WHOLE, required=True, key="trades.range") or WHOLE
    )
    with streamlit.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        states = streamlit.multiselect(
            "State", get_args(ArbitrageState), format_func=state_name, key="trades.states", placeholder="All", width=230
        )
        orders: Orders | None = streamlit.selectbox(
            "Third order", get_args(Orders), None, key="trades.third_order", placeholder="With or without", width=190
        )
        strategy = streamlit.selectbox(
            "Strategy",
            get_args(Strategy),
            None,
            format_func=lambda one: STRATEGIES[one],
            key="trades.strategy",
            placeholder="All",
            width=170,
        )
        since, until = _span(chosen, zone)
    has_third_order = None if orders is None else orders == "With a third order"
    market_wanted = TradeFilter(market.exchange, market.base, tuple(states), strategy, since, until, has_third_order)
    return TradeChoice(market_wanted, chosen)


def since_of(chosen: Range, now: int, zone: tzinfo) -> int | None:
    """Return when a range begins, microseconds, to the minute; None: with the session."""
    if chosen in SPANS:
        return (now - SPANS[chosen] // timedelta(microseconds=1)) // MINUTE * MINUTE
    if chosen == "Today":
        day = datetime.fromtimestamp(now // MICROSECONDS, UTC).astimezone(zone)
        return int(day.replace(hour=0, minute=0, second=0).timestamp()) * MICROSECONDS
    return None


def newest_months(now: int, zone: tzinfo) -> list[str]:
    """Return this month and those before it, as YYYY-MM in `zone`."""
    today = datetime.fromtimestamp(now // MICROSECONDS, UTC).astimezone(zone)
    numbers = range(today.year * 12 + today.month - 1, 0, -1)
    return [f"{number // 12:04}-{number % 12 + 1:02}" for number in numbers[:MOST_MONTHS]]


def month_span(month: str, zone: tzinfo) -> tuple[int, int]:
    """Return its first microsecond in `zone`, and that of the next one."""
    first = datetime.fromisoformat(f"{month}-01")
    return _moment(first, zone), _moment((first + timedelta(days=31)).replace(day=1), zone)


def month_name(month: str) -> str:
    return datetime.fromisoformat(f"{month}-01").strftime("%B %Y")


def microseconds(entered: datetime | None, zone: tzinfo) -> int | None:
    """Return the entered time, in `zone`, as microseconds UTC."""
    return None if entered is None else _moment(entered, zone)


def _moment(entered: datetime, zone: tzinfo) -> int:
    return int(entered.replace(tzinfo=zone).timestamp()) * MICROSECONDS


def file_address(name: str, suffix: str, wanted: TradeFilter) -> str:
    """Return the address of the download `name` with the same filters."""
    parameters = {
        "exchange": wanted.exchange,
        "base": wanted.base,
        "state": list(wanted.states),
        "strategy": wanted.strategy,
        "from": wanted.since,
        "to": wanted.until,
        "third_order": None if wanted.has_third_order is None else str(wanted.has_third_order).lower(),
    }
    query = urlencode({key: value for key, value in parameters.items() if value not in (None, [])}, doseq=True)
    return f"/api/{name}.{suffix}{f'?{query}' if query else ''}"


def _span(chosen: Range, zone: tzinfo) -> tuple[int | None, int | None]:
    """Draw the fields that a range has of its own, and return it."""
    if chosen == TYPED:
        return _typed(zone)
    if chosen != OF_MONTH:
        return since_of(chosen, wall_now(), zone), None
    months = newest_months(wall_now(), zone)
    name = f"Month ({zone_word(zone)})"
    # the last one that is over
    month = streamlit.selectbox(name, months, 1, format_func=month_name, key="trades.month", width=190)
    return month_span(month or months[0], zone)


def _typed(zone: tzinfo) -> tuple[int | None, int | None]:
    name = zone_word(zone)
    since = streamlit.datetime_input(f"From ({name})", None, key="trades.from", step=60, width=190)
    until = streamlit.datetime_input(f"Until ({name})", None, key="trades.until", step=60, width=190)
    return microseconds(since, zone), microseconds(until, zone)
