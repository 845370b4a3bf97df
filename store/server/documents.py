"""The MongoDB documents: amounts as decimal strings, times as integer microseconds."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any, TypeVar

from bson.decimal128 import Decimal128
from pydantic import TypeAdapter, ValidationError

from market.decide.circuit_breaker import Health
from market.decide.kill_switch import HALTED
from market.decide.settings import Settings
from market.instruments.orders import Fill
from market.money import ZERO, decimal_of
from market.prices.episodes import EXPIRED, Episode
from market.prices.feed_state import FeedState
from market.prices.opportunities import Opportunity
from market.time_units import MICROSECONDS
from market.trade.arbitrages import Arbitrage, Rejection
from market.trade.cycle_trades import CycleTrade
from market.trade.grants import Grant
from market.trade.leases import Lease
from market.trade.moving_average import AverageOrder, AverageState, AverageTrade
from market.trade.order_results import OrderResult
from market.trade.reservation_state import BalanceRow
from runtime.clock import wall_now
from store.errors import StoreError
from store.server.client import Document

AUDIT = "audit"
OPPORTUNITIES = "opportunities"
ARBITRAGES = "arbitrages"
STEPS = "steps"
"""What led to each state of an arbitrage, and the legs that were granted with it. Written once and never changed, so
that bots follow what is granted here, and not the arbitrages."""
CYCLE_TRADES = "cycle_trades"
"""Trades of cycles; their steps and grants are in `steps`, their fills in `fills`, as those of arbitrages."""
ORDER_RESULTS = "order_results"
"""What became of orders, until it is booked."""
REJECTIONS = "rejections"
CYCLE_REJECTIONS = "cycle_rejections"
EPISODES = "episodes"
"""One document per episode of opportunities; none of what earlier versions saw."""
FILLS = "fills"
HEALTH = "health"
BALANCES = "balances"
CLAIMS = "claims"
"""Claims shared by arbitrages: open pairs, used liquidity, orders in flight, the session's counters."""
SETTINGS = "settings"
SETTINGS_VERSIONS = "settings_versions"
SESSION_BALANCES = "session_balances"
FEEDS = "feeds"
LEASES = "leases"
AVERAGES = "averages"
"""The last closes of each market, for the moving average strategy."""
AVERAGE_TRADES = "average_trades"
DIFFERENCES = "differences"
TRANSFERS = "transfers"
"""One document per decision to send a currency from one exchange to another."""
COMPARISONS = "comparisons"
"""Until when reconciliation has compared each exchange."""
BACKTESTS = "backtests"
BACKTEST_REPORTS = "backtest_reports"
TICK_SETS = "tick_sets"
NOTICES = "notices"
NOTICE_DESTINATIONS = "notice_destinations"
PROCESSES = "processes"
CONSUMER_POSITIONS = "consumer_positions"
"""Consumer offsets and lag of each bot."""
APP_TABLES = "app_tables"
"""Rows of stream apps' tables, by app, collection and key."""
STREAM_APPS = "stream_apps"
"""Stream apps by name, with what is wanted of each."""
APP_VERSIONS = "stream_app_versions"
"""Their texts."""
APP_REPORTS = "stream_app_reports"
"""What hosts say of them: by name, in a session with regions `region/name`."""
FAILED_ROWS = "stream_app_errors"
"""Rows of them that failed."""
MONTH_SUMS = "month_sums"
"""Sums of arbitrages that were removed for their age, by month."""
COLLECTIONS = (
    AUDIT,
    OPPORTUNITIES,
    ARBITRAGES,
    CYCLE_TRADES,
    STEPS,
    ORDER_RESULTS,
    REJECTIONS,
    CYCLE_REJECTIONS,
    EPISODES,
    FILLS,
    HEALTH,
    BALANCES,
    CLAIMS,
    SETTINGS,
    SETTINGS_VERSIONS,
    SESSION_BALANCES,
    FEEDS,
    DIFFERENCES,
    TRANSFERS,
    COMPARISONS,
    LEASES,
    AVERAGES,
    AVERAGE_TRADES,
    BACKTESTS,
    BACKTEST_REPORTS,
    TICK_SETS,
    CONSUMER_POSITIONS,
    PROCESSES,
    NOTICES,
    NOTICE_DESTINATIONS,
    APP_TABLES,
    STREAM_APPS,
    APP_VERSIONS,
    APP_REPORTS,
    FAILED_ROWS,
    MONTH_SUMS,
)

SESSION_CLAIM = "session"
SETTINGS_ID = "settings"

_ARBITRAGE = TypeAdapter(Arbitrage)
_AVERAGE_STATE = TypeAdapter(AverageState)
_AVERAGE_TRADE = TypeAdapter(AverageTrade)
_AVERAGE_ORDER = TypeAdapter(AverageOrder)
_CYCLE_TRADE = TypeAdapter(CycleTrade)
_FEED = TypeAdapter(FeedState)
_FILL = TypeAdapter(Fill)
_GRANT = TypeAdapter(Grant)
_LEASE = TypeAdapter(Lease)
_HEALTH = TypeAdapter(Health)
_OPPORTUNITY = TypeAdapter(Opportunity)
_ORDER_RESULT = TypeAdapter(OrderResult)
_REJECTION = TypeAdapter(Rejection)
_SETTINGS = TypeAdapter(Settings)

Value = TypeVar("Value")


def arbitrage_document(arbitrage: Arbitrage) -> Document:
    return document_of(_ARBITRAGE, arbitrage) | {"_id": arbitrage.arbitrage_id}


def arbitrage_of(document: Mapping[str, object]) -> Arbitrage:
    return value_of(_ARBITRAGE, document)


def average_state_document(state: AverageState) -> Document:
    return document_of(_AVERAGE_STATE, state)


def average_state_of(document: Mapping[str, object]) -> AverageState:
    return value_of(_AVERAGE_STATE, document)


def average_trade_document(trade: AverageTrade) -> Document:
    return document_of(_AVERAGE_TRADE, trade) | {"_id": trade.trade_id, "recorded_at": date_of(wall_now())}


def average_order_document(order: AverageOrder) -> Document:
    return document_of(_AVERAGE_ORDER, order)


def average_trade_of(document: Mapping[str, object]) -> AverageTrade:
    return value_of(_AVERAGE_TRADE, document)


def cycle_trade_document(trade: CycleTrade) -> Document:
    return document_of(_CYCLE_TRADE, trade) | {"_id": trade.trade_id}


def cycle_trade_of(document: Mapping[str, object]) -> CycleTrade:
    return value_of(_CYCLE_TRADE, document)


def feed_document(state: FeedState) -> Document:
    return document_of(_FEED, state) | {"_id": f"{state.exchange}|{state.symbol}"}


def balance_of(document: Document) -> BalanceRow:
    return BalanceRow(
        str(document["exchange"]),
        str(document["currency"]),
        amount_of(document["free"]),
        amount_of(document["held"]),
        amount_of(document.get("unexplained", "0")),
        amount_of(document.get("doubted", "0")),
        integer_of(document.get("opened_at", 0)),
        integer_of(document.get("settled_at", 0)),
        amount_of(document.get("settled", "0")),
    )


def feed_of(document: Mapping[str, object]) -> FeedState:
    return value_of(_FEED, document)


def lease_document(lease: Lease) -> Document:
    return document_of(_LEASE, lease) | {"_id": lease.exchange}


def lease_of(document: Mapping[str, object]) -> Lease:
    return value_of(_LEASE, document)


def fill_document(fill: Fill) -> Document:
    return document_of(_FILL, fill) | {"at": fill.filled_at}


def fill_of(document: Mapping[str, object]) -> Fill:
    return value_of(_FILL, document)


def step_document(arbitrage_id: object, number: int, text: str, grants: Iterable[Grant]) -> Document:
    """Return the document of the step that led to that revision of the arbitrage."""
    key = {"_id": f"{arbitrage_id}|{number}", "arbitrage_id": arbitrage_id, "number": number}
    return key | {"text": text, "grants": [document_of(_GRANT, grant) for grant in grants]}


def grants_of(step: Mapping[str, object]) -> list[Grant]:
    """Those of a step's document; none of one of an earlier version."""
    grants = step.get("grants")
    return [value_of(_GRANT, document) for document in grants] if isinstance(grants, list) else []


def order_result_document(result: OrderResult, at: int) -> Document:
    """`at`: the server's time, microseconds."""
    return document_of(_ORDER_RESULT, result) | {"_id": result.result_id, "at": at}


def order_result_of(document: Mapping[str, object]) -> OrderResult:
    return value_of(_ORDER_RESULT, document)


def health_document(health: Health) -> Document:
    return document_of(_HEALTH, health) | {"_id": health.exchange}


def health_of(document: Mapping[str, object]) -> Health:
    return value_of(_HEALTH, document)


def opportunity_document(opportunity: Opportunity) -> Document:
    own = {"_id": opportunity.opportunity_id, "at": opportunity.event_time, "recorded_at": date_of(wall_now())}
    return document_of(_OPPORTUNITY, opportunity) | own


def opportunity_of(document: Mapping[str, object]) -> Opportunity:
    return value_of(_OPPORTUNITY, document)


def rejection_document(rejection: Rejection) -> Document:
    """`_id`: one document per pair, bot, reason and second."""
    second = str(rejection.rejected_at // MICROSECONDS)
    parts = (
        rejection.base,
        rejection.buy_exchange,
        rejection.sell_exchange,
        rejection.exchange,
        rejection.reason,
        second,
    )
    own = {"_id": "|".join(parts), "at": rejection.rejected_at, "recorded_at": date_of(wall_now())}
    return document_of(_REJECTION, rejection) | own


def rejection_of(document: Mapping[str, object]) -> Rejection:
    """Return the rejection; its tradable profit is stored as a number of the server's, which compares it."""
    tradable = document.get("tradable")
    number = tradable.to_decimal() if isinstance(tradable, Decimal128) else Decimal(0)
    return value_of(_REJECTION, {**document, "tradable": number})


def episode_update(episode: Episode, session_id: str, now: int) -> tuple[Document, Document]:
    """Filter and update of an upsert: as `market.prices.episodes.merged`, field by field, whatever is stored. What
    the server compares are numbers of its own, and fields in their order. `now`: wall time, microseconds."""
    base, buy_exchange, buy_symbol, sell_exchange, sell_symbol = episode.pair
    first: Document = {
        "session_id": session_id,
        "at": episode.start,
        "base": base,
        "buy": {"exchange": buy_exchange, "symbol": buy_symbol},
        "sell": {"exchange": sell_exchange, "symbol": sell_symbol},
        "first_id": episode.first_id,
    }
    most: Document = {
        "end": episode.end,
        "until": episode.until,
        "samples": episode.samples,
        "best": {"net_bps": episode.best_net_bps, "opportunity_id": episode.best_id},
        "is_taken": episode.is_taken,
        "profit": Decimal128(episode.profit),
        "alive_until": now + max(0, episode.until - episode.end),
        "recorded_at": date_of(now),
    }
    if episode.reason is not None:
        most["rejected"] = {
            "profit": Decimal128(episode.rejected),
            "before": -episode.rejected_at,
            "is_decided": episode.reason != EXPIRED,
            "reason": episode.reason,
        }
    key = "|".join((session_id, *episode.pair, str(episode.start)))
    return {"_id": key}, {"$setOnInsert": first, "$max": most}


def episode_of(document: Mapping[str, object]) -> Episode:
    """Raise StoreError if the document is of another version of this program."""
    try:
        return _episode_of(document)
    except (KeyError, TypeError, ValueError) as error:
        raise StoreError(f"document {document.get('_id')!r} is no episode: {error!r}") from error


def _episode_of(document: Mapping[str, Any]) -> Episode:
    buy, sell, best = document["buy"], document["sell"], document["best"]
    rejected = document.get("rejected") or {}
    return Episode(
        pair=(document["base"], buy["exchange"], buy["symbol"], sell["exchange"], sell["symbol"]),
        start=document["at"],
        end=document["end"],
        samples=document["samples"],
        best_net_bps=best["net_bps"],
        is_taken=document["is_taken"],
        rejected=rejected["profit"].to_decimal() if rejected else ZERO,
        reason=rejected.get("reason"),
        until=document["until"],
        profit=document["profit"].to_decimal(),
        rejected_at=-rejected.get("before", 0),
        first_id=document["first_id"],
        best_id=best["opportunity_id"],
    )


def settings_document(settings: Settings) -> Document:
    return document_of(_SETTINGS, settings)


def settings_of(document: Mapping[str, object]) -> Settings:
    """Leaves out the store's own fields, since settings reject unknown ones."""
    known = {name: value for name, value in document.items() if name in Settings.model_fields}
    if document.get("trading_enabled") is False:
        # the kill switch of earlier versions: stays in effect
        known.setdefault("trading_state", HALTED)
    return value_of(_SETTINGS, known)


@dataclass(frozen=True, slots=True)
class SettingsVersion:
    """One version of the settings; `at` in microseconds of the server's clock."""

    version: int
    at: int
    who: str
    before: Settings | None
    after: Settings


def version_of(document: Mapping[str, object]) -> SettingsVersion:
    before, after = document.get("before"), document.get("after")
    if not isinstance(after, dict):
        raise StoreError(f"version {document.get('_id')} of the settings is empty")
    return SettingsVersion(
        version=integer_of(document.get("_id")),
        at=integer_of(document.get("at")),
        who=str(document.get("who")),
        before=settings_of(before) if isinstance(before, dict) else None,
        after=settings_of(after),
    )


def amounts_document(amounts: Mapping[str, Decimal]) -> Document:
    return {name: stored_amount(amount) for name, amount in amounts.items()}


def amounts_of(document: object) -> dict[str, Decimal]:
    return {str(name): amount_of(amount) for name, amount in document.items()} if isinstance(document, dict) else {}


def stored_amount(amount: Decimal) -> str:
    """Plain digits, trailing zeros kept; never an exponent."""
    return format(amount, "f")


def amount_of(stored: object) -> Decimal:
    """Raise StoreError for anything but a stored amount."""
    if not isinstance(stored, str):
        raise StoreError(f"an amount in the store is not a decimal string: {stored!r}")
    try:
        return decimal_of(stored)
    except ValueError as error:
        raise StoreError(f"an amount in the store is out of range: {error}") from error


def integer_of(stored: object) -> int:
    return stored if isinstance(stored, int) else 0


def text_or_none(stored: object) -> str | None:
    return stored if isinstance(stored, str) else None


def microseconds_of(stored: object) -> int:
    """Return the microseconds of a BSON date, which the driver gives without a zone but means UTC; it has
    milliseconds."""
    if not isinstance(stored, datetime):
        raise StoreError(f"the server's time is not a date: {stored!r}")
    since = stored.replace(tzinfo=UTC) - datetime.fromtimestamp(0, UTC)
    return (since.days * 86_400 + since.seconds) * MICROSECONDS + since.microseconds


def date_of(microseconds: int) -> datetime:
    """Return a BSON date, as indexes that delete what is old need it."""
    return datetime.fromtimestamp(microseconds // MICROSECONDS, UTC)


def plain(value: object) -> object:
    """Without Decimals and tuples, as BSON and JSON have none."""
    if isinstance(value, Decimal):
        return stored_amount(value)
    if isinstance(value, dict):
        return {str(name): plain(each) for name, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(each) for each in value]
    return value


def document_of(adapter: TypeAdapter[Value], value: Value) -> Document:
    return {str(name): plain(each) for name, each in adapter.dump_python(value).items()}


def value_of(adapter: TypeAdapter[Value], document: Mapping[str, object]) -> Value:
    """Raise StoreError if the document is of another version of this program."""
    try:
        return adapter.validate_python(document)
    except ValidationError as error:
        raise StoreError(
            f"document {document.get('_id')!r} was written by another version of this program: {error}"
        ) from error
