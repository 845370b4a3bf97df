"""The JSON rows of REST and WebSocket. Money as decimal strings, bps as numbers, times in microseconds UTC."""

from typing_extensions import TypedDict

from market.trade.lifecycle import Stage


class QuoteRow(TypedDict):
    """`mean_mid` is the mean of the last ten mids; `status`: fresh, stale (older than max_quote_age_ms), withdrawn."""

    exchange: str
    region: str
    symbol: str
    base: str
    quote_currency: str
    bid: str
    bid_amount: str
    ask: str
    ask_amount: str
    mid: str
    mean_mid: float | None
    received_time: int
    verified_time: int
    status: str


class WindowRow(TypedDict):
    """Statistics of the last complete window; `share_above`: share of its rows at or above `min_net_bps`."""

    seconds: int
    end: int
    mean_bps: float
    deviation: float
    max_bps: float
    share_above: float
    rows: int


class SpreadRow(TypedDict):
    """Buying on one exchange and selling on the other; net of both taker fees and of the FX paid."""

    base: str
    buy_exchange: str
    buy_symbol: str
    sell_exchange: str
    sell_symbol: str
    gross_bps: float
    fee_bps: float
    net_bps: float
    is_fresh: bool
    windows: list[WindowRow]


class OpportunityRow(TypedDict):
    """`expected_profit` in `currency`, of all that the best levels show; `tradable_profit` of as much of it as one
    trade may use within the limits in force."""

    opportunity_id: str
    base: str
    buy_exchange: str
    buy_symbol: str
    buy_price: str
    buy_amount: str
    sell_exchange: str
    sell_symbol: str
    sell_price: str
    sell_amount: str
    gross_bps: float
    fee_bps: float
    net_bps: float
    expected_profit: float
    tradable_profit: str
    currency: str
    settings_version: int
    event_time: int
    detected_time: int
    expires_at: int


class FillRow(TypedDict):
    """One execution; price, cost in the market's quote currency, fee as the exchange booked it."""

    arbitrage_id: str
    role: str
    fill_id: str
    exchange: str
    symbol: str
    side: str
    price: str
    amount: str
    cost: str
    fee: str
    fee_currency: str
    filled_at: int


class LegRow(TypedDict):
    """One order of an arbitrage; `mean_price` None while nothing filled."""

    role: str
    exchange: str
    symbol: str
    side: str
    state: str
    amount: str
    filled: str
    limit_price: str
    mean_price: str | None
    cost: str
    client_order_id: str
    exchange_order_id: str | None
    fills: list[FillRow]
    times: dict[str, int]


class ProfitRow(TypedDict):
    """Parts that sum to `net`, in `currency`."""

    currency: str
    gross: str
    latency_decay: str
    slippage: str
    fees: str
    fx: str
    unwinding: str
    net: str


class FxRow(TypedDict):
    """An FX quote that the arbitrage is valued at; `inverted`: `symbol` is SETTLEMENT/CURRENCY."""

    currency: str
    symbol: str
    inverted: bool
    bid: str
    ask: str


class ArbitrageRow(TypedDict):
    """`stage` says of an open one how far its legs have come. Prices are those seen.

    `times`: event, detected, reserved, sent, filled, ended – those that happened.
    """

    arbitrage_id: str
    base: str
    state: str
    stage: Stage
    is_final: bool
    reason: str | None
    amount: str
    buy_exchange: str
    buy_symbol: str
    buy_price: str
    sell_exchange: str
    sell_symbol: str
    sell_price: str
    fx: list[FxRow]
    net_bps: float
    expected_profit: float
    legs: list[LegRow]
    event_time: int
    times: dict[str, int]
    profit: ProfitRow | None


class RejectionRow(TypedDict):
    """`count`: rejections of the same pair, reason and second."""

    rejection_id: str
    opportunity_id: str
    base: str
    buy_exchange: str
    sell_exchange: str
    exchange: str
    reason: str
    net_bps: float
    expected_profit: str
    rejected_at: int
    count: int


class ReasonRow(TypedDict):
    """Rejections for this reason; `missed_profit` in the settlement currency: tradable profit within the limits,
    once per episode."""

    reason: str
    count: int
    missed_profit: str


class BalanceRowView(TypedDict):
    """`total` = free + held."""

    exchange: str
    currency: str
    free: str
    held: str
    total: str


class PnlRow(ProfitRow):
    """Sums over the session, and how many arbitrages stand in which state."""

    arbitrages: dict[str, int]


class PnlLineRow(TypedDict):
    """Sums of one exchange, asset or day (`name`); an arbitrage counts at each of its exchanges."""

    name: str
    arbitrages: int
    currency: str
    gross: str
    latency_decay: str
    slippage: str
    fees: str
    fx: str
    unwinding: str
    net: str


class FeedRow(TypedDict):
    """State and counters of one feed since its process started."""

    exchange: str
    region: str
    symbol: str
    status: str
    changed_at: int
    last_received: int
    quotes: int
    reconnects: int
    rejected: dict[str, int]
    gaps: int
    checksums: int
    malformed: int
    resyncs: int
    rest_checks: int
    rest_mismatches: int
    rest_failures: int
    offset_us: int | None
    """Offset of the exchange's clock ahead of ours; None until it is known."""


class ChangeRow(TypedDict):
    """One setting before and after, as JSON values; `before` None in the first version."""

    field: str
    before: object
    after: object


class VersionRow(TypedDict):
    """Who changed which settings when."""

    version: int
    changed_at: int
    who: str
    changes: list[ChangeRow]


class SeriesRow(TypedDict):
    """Columns of one chart, oldest first: seconds since the epoch, mids, means of the last ten mids."""

    exchange: str
    region: str
    symbol: str
    base: str
    quote_currency: str
    tick_size: str
    lot_step: str
    points: tuple[list[float], list[float], list[float]]


class SourcesRow(TypedDict):
    """Whether this process follows Kafka and MongoDB right now."""

    kafka: bool
    mongodb: bool
