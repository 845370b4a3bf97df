"""From the words of `market` to the rows that REST and WebSocket show."""

from collections.abc import Iterable, Mapping
from decimal import Decimal

from market.accounting.episodes import tradable_profit
from market.accounting.missed_profit import settings_bounds
from market.decide.settings import Settings
from market.instruments.markets import Market
from market.instruments.orders import Fill
from market.money import ZERO, text_of
from market.prices.feed_state import FeedState
from market.prices.opportunities import FxRate, Opportunity
from market.prices.spread_statistics import SpreadWindow
from market.time_units import MICROSECONDS
from market.trade.arbitrages import FINAL_STATES, Arbitrage, Leg, Rejection
from market.trade.lifecycle import stage_of
from market.trade.reservation_state import BalanceRow
from store.server.documents import SettingsVersion
from ui.live.live_snapshot import LiveSnapshot
from ui.live.price_series import PricePoint
from ui.live.top_of_book import TopOfBook
from ui.rows.api_rows import (
    ArbitrageRow,
    BalanceRowView,
    ChangeRow,
    FeedRow,
    FillRow,
    FxRow,
    LegRow,
    OpportunityRow,
    QuoteRow,
    ReasonRow,
    RejectionRow,
    SeriesRow,
    SpreadRow,
    VersionRow,
    WindowRow,
)
from ui.rows.profit_rows import profit_row

MEAN_PRICE_STEP = Decimal("0.00000001")


def quote_rows(snapshot: LiveSnapshot) -> list[QuoteRow]:
    return [_quote_row(top, snapshot) for top in snapshot.tops]


def spread_rows(snapshot: LiveSnapshot) -> list[SpreadRow]:
    windows: dict[tuple[str, str, str], list[SpreadWindow]] = {}
    for window in snapshot.windows:
        windows.setdefault((window.base, window.buy_exchange, window.sell_exchange), []).append(window)
    return [
        SpreadRow(
            base=cell.base,
            buy_exchange=cell.buy_exchange,
            buy_symbol=cell.buy_symbol,
            sell_exchange=cell.sell_exchange,
            sell_symbol=cell.sell_symbol,
            gross_bps=round(cell.gross_bps, 4),
            fee_bps=round(cell.fee_bps, 4),
            net_bps=round(cell.net_bps, 4),
            is_fresh=cell.is_fresh,
            windows=[_window_row(w) for w in windows.get((cell.base, cell.buy_exchange, cell.sell_exchange), ())],
        )
        for cell in snapshot.spreads
    ]


def opportunity_row(opportunity: Opportunity, settings: Settings | None) -> OpportunityRow:
    """`settings` in force: their limits bound what is tradable."""
    buy, sell = opportunity.buy, opportunity.sell
    return OpportunityRow(
        opportunity_id=opportunity.opportunity_id,
        base=opportunity.base,
        buy_exchange=buy.exchange,
        buy_symbol=buy.symbol,
        buy_price=text_of(buy.price),
        buy_amount=text_of(buy.amount),
        sell_exchange=sell.exchange,
        sell_symbol=sell.symbol,
        sell_price=text_of(sell.price),
        sell_amount=text_of(sell.amount),
        gross_bps=opportunity.gross_bps,
        fee_bps=opportunity.fee_bps,
        net_bps=opportunity.net_bps,
        expected_profit=opportunity.expected_profit,
        tradable_profit=text_of(tradable_profit(opportunity, settings_bounds(settings))),
        currency=opportunity.currency,
        settings_version=opportunity.settings_version,
        event_time=opportunity.event_time,
        detected_time=opportunity.detected_time,
        expires_at=opportunity.expires_at,
    )


def arbitrage_row(arbitrage: Arbitrage) -> ArbitrageRow:
    opportunity = arbitrage.opportunity
    return ArbitrageRow(
        arbitrage_id=arbitrage.arbitrage_id,
        base=arbitrage.base,
        state=arbitrage.state,
        stage=stage_of(arbitrage),
        is_final=arbitrage.state in FINAL_STATES,
        reason=arbitrage.reason,
        amount=text_of(arbitrage.amount),
        buy_exchange=opportunity.buy.exchange,
        buy_symbol=opportunity.buy.symbol,
        buy_price=text_of(opportunity.buy.price),
        sell_exchange=opportunity.sell.exchange,
        sell_symbol=opportunity.sell.symbol,
        sell_price=text_of(opportunity.sell.price),
        fx=[_fx_row(rate) for rate in opportunity.fx],
        net_bps=opportunity.net_bps,
        expected_profit=opportunity.expected_profit,
        legs=[leg_row(arbitrage.arbitrage_id, leg) for leg in arbitrage.legs],
        event_time=opportunity.event_time,
        times=dict(arbitrage.times),
        profit=profit_row(arbitrage.profit) if arbitrage.profit else None,
    )


def leg_row(arbitrage_id: str, leg: Leg) -> LegRow:
    mean_price = (leg.cost / leg.filled).quantize(MEAN_PRICE_STEP) if leg.filled else None
    return LegRow(
        role=leg.role,
        exchange=leg.exchange,
        symbol=leg.symbol,
        side=leg.side,
        state=leg.state,
        amount=text_of(leg.amount),
        filled=text_of(leg.filled),
        limit_price=text_of(leg.limit_price),
        mean_price=text_of(mean_price) if mean_price is not None else None,
        cost=text_of(leg.cost),
        client_order_id=leg.client_order_id,
        exchange_order_id=leg.exchange_order_id,
        fills=[fill_row(arbitrage_id, leg.role, fill) for fill in leg.fills],
        times=dict(leg.times),
    )


def fill_row(arbitrage_id: str, role: str, fill: Fill) -> FillRow:
    return FillRow(
        arbitrage_id=arbitrage_id,
        role=role,
        fill_id=fill.fill_id,
        exchange=fill.exchange,
        symbol=fill.symbol,
        side=fill.side,
        price=text_of(fill.price),
        amount=text_of(fill.amount),
        cost=text_of(fill.cost),
        fee=text_of(fill.fee),
        fee_currency=fill.fee_currency,
        filled_at=fill.filled_at,
    )


def rejection_row(rejection: Rejection) -> RejectionRow:
    return RejectionRow(
        rejection_id=rejection.rejection_id,
        opportunity_id=rejection.opportunity_id,
        base=rejection.base,
        buy_exchange=rejection.buy_exchange,
        sell_exchange=rejection.sell_exchange,
        exchange=rejection.exchange,
        reason=rejection.reason,
        net_bps=rejection.net_bps,
        expected_profit=text_of(rejection.expected_profit),
        rejected_at=rejection.rejected_at,
        count=rejection.count,
    )


def reason_rows(rejections: Mapping[str, int], missed_profit: Mapping[str, Decimal]) -> list[ReasonRow]:
    """Most frequent first. `missed_profit`: reason → missed profit."""
    ordered = sorted(rejections.items(), key=lambda entry: (-entry[1], entry[0]))
    return [
        ReasonRow(reason=reason, count=count, missed_profit=text_of(missed_profit.get(reason, ZERO)))
        for reason, count in ordered
    ]


def balance_row(balance: BalanceRow) -> BalanceRowView:
    return BalanceRowView(
        exchange=balance.exchange,
        currency=balance.currency,
        free=text_of(balance.free),
        held=text_of(balance.held),
        total=text_of(balance.free + balance.held),
    )


def feed_row(feed: FeedState) -> FeedRow:
    return FeedRow(
        exchange=feed.exchange,
        region=feed.region,
        symbol=feed.symbol,
        status=feed.status,
        changed_at=feed.changed_at,
        last_received=feed.last_received,
        quotes=feed.quotes,
        reconnects=feed.reconnects,
        rejected=dict(feed.rejected),
        gaps=feed.gaps,
        checksums=feed.checksums,
        malformed=feed.malformed,
        resyncs=feed.resyncs,
        rest_checks=feed.rest_checks,
        rest_mismatches=feed.rest_mismatches,
        rest_failures=feed.rest_failures,
        offset_us=feed.offset_us,
    )


def version_row(version: SettingsVersion) -> VersionRow:
    """Only what differs from the version before; nothing for the first."""
    after = version.after.model_dump(mode="json", exclude={"version"})
    before = version.before.model_dump(mode="json") if version.before else after
    return VersionRow(
        version=version.after.version,
        changed_at=version.at,
        who=version.who,
        changes=[
            ChangeRow(field=name, before=before[name], after=value)
            for name, value in after.items()
            if value != before[name]
        ],
    )


def series_row(market: Market, points: Iterable[PricePoint]) -> SeriesRow:
    kept = tuple(points)
    return SeriesRow(
        exchange=market.exchange,
        region=market.region,
        symbol=market.symbol,
        base=market.base,
        quote_currency=market.quote_currency,
        tick_size=text_of(market.tick_size),
        lot_step=text_of(market.lot_step),
        points=(
            [point.time / MICROSECONDS for point in kept],
            [point.mid for point in kept],
            [point.mean_mid for point in kept],
        ),
    )


def _quote_row(top: TopOfBook, snapshot: LiveSnapshot) -> QuoteRow:
    points = snapshot.series.get((top.exchange, top.symbol))
    return QuoteRow(
        exchange=top.exchange,
        region=top.region,
        symbol=top.symbol,
        base=top.base,
        quote_currency=top.quote_currency,
        bid=text_of(top.bid),
        bid_amount=text_of(top.bid_amount),
        ask=text_of(top.ask),
        ask_amount=text_of(top.ask_amount),
        mid=text_of(top.mid),
        mean_mid=points[-1].mean_mid if points else None,
        received_time=top.received_time,
        verified_time=top.verified_time,
        status=top.status(snapshot.now, snapshot.max_quote_age),
    )


def _fx_row(rate: FxRate) -> FxRow:
    return FxRow(
        currency=rate.currency,
        symbol=rate.symbol,
        inverted=rate.inverted,
        bid=text_of(rate.bid),
        ask=text_of(rate.ask),
    )


def _window_row(window: SpreadWindow) -> WindowRow:
    return WindowRow(
        seconds=window.length_seconds,
        end=window.end,
        mean_bps=window.mean_bps,
        deviation=window.deviation,
        max_bps=window.max_bps,
        share_above=window.share_above,
        rows=window.rows,
    )
