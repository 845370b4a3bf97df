"""A small world without violations: two exchanges' records, and a store that agrees with them."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from decimal import Decimal

from launch.chaos.audit.books import evidence_of, violations_of
from launch.chaos.audit.records import AuditedAccount, Evidence, Stopped, Violation
from market.instruments.orders import Fill, Side
from market.money import ZERO, Amount, Price
from market.trade.arbitrages import Arbitrage, Leg, LegRole, Transition
from market.trade.reservation_state import BalanceRow
from market.trade.reservations import SEND_WITHIN
from market.trade.unwinding import client_order_id
from simulators.matching.order_records import SimulatedFill, SimulatedOrder
from store.queries.store_snapshot import LedgerEntry, StoreSnapshot
from tests.market.samples import EUR_MARKET, USD_MARKET, levels, opportunity_of

MARKETS = (USD_MARKET, EUR_MARKET)
BUY_BOOK, SELL_BOOK = levels(("60000.00", "2")), levels(("56000.00", "2"))
OPENING = {"alpha": {"USD": Decimal(100_000), "BTC": Decimal(3)}, "beta": {"EUR": Decimal(90_000), "BTC": Decimal(3)}}
AMOUNT = Decimal("0.0100")
NOON = 1_700_000_000_000_000


@dataclass(frozen=True, slots=True)
class World:
    """Both sides of an audit."""

    accounts: dict[str, AuditedAccount]
    snapshot: StoreSnapshot
    stops: tuple[Stopped, ...] = ()
    """Stops of bots."""

    @property
    def evidence(self) -> Evidence:
        return evidence_of(self.accounts.values(), self.snapshot, MARKETS, self.stops)

    def violations(self) -> list[Violation]:
        return violations_of(self.evidence)

    def with_account(self, exchange: str, **changes: object) -> "World":
        changed = replace(self.accounts[exchange], **changes)  # type: ignore[arg-type]  # fields by their names
        return replace(self, accounts={**self.accounts, exchange: changed})

    def with_snapshot(self, **changes: object) -> "World":
        return replace(self, snapshot=replace(self.snapshot, **changes))  # type: ignore[arg-type]  # fields by their names

    def with_arbitrage(self, changed: Arbitrage) -> "World":
        return self.with_snapshot(arbitrages=(changed,))

    @property
    def arbitrage(self) -> Arbitrage:
        (only,) = self.snapshot.arbitrages
        return only

    def with_leg(self, role: LegRole, **changes: object) -> "World":
        legs = tuple(
            replace(leg, **changes) if leg.role == role else leg  # type: ignore[arg-type]  # fields by their names
            for leg in self.arbitrage.legs
        )
        return self.with_arbitrage(replace(self.arbitrage, legs=legs))


def clean_world(has_client_ids: bool = True) -> World:
    """Return one arbitrage, bought on alpha and sold on beta, closed."""
    fills = {
        "buy": _fill("alpha", "BTC/USD", "buy", "60000.00", "USD"),
        "sell": _fill("beta", "BTC/EUR", "sell", "56000.00", "EUR"),
    }
    legs = (_leg("buy", fills["buy"]), _leg("sell", fills["sell"]))
    arbitrage = Arbitrage(
        arbitrage_id="opportunity-1",
        base="BTC",
        state="closed",
        opportunity=opportunity_of((USD_MARKET, BUY_BOOK), (EUR_MARKET, SELL_BOOK)),
        legs=legs,
        amount=Amount(AMOUNT),
        send_by=NOON + SEND_WITHIN,
        times={"ended": NOON + 40},
        history=tuple(_history()),
    )
    accounts = {leg.exchange: _account(leg, has_client_ids) for leg in legs}
    after = {name: _balances_after(account) for name, account in accounts.items()}
    snapshot = StoreSnapshot(
        arbitrages=(arbitrage,),
        ledger=tuple(LedgerEntry(arbitrage.arbitrage_id, fill) for fill in fills.values()),
        balances=tuple(BalanceRow(name, coin, left, ZERO) for name, row in after.items() for coin, left in row.items()),
        before=OPENING,
        after=after,
        pairs={"pair|BTC|alpha|beta": None},
        liquidity={"alpha:BTC/USD:1|buy": AMOUNT, "beta:BTC/EUR:1|sell": AMOUNT},
    )
    return World(accounts, snapshot)


def _leg(role: LegRole, fill: Fill) -> Leg:
    return Leg(
        role=role,
        exchange=fill.exchange,
        symbol=fill.symbol,
        base="BTC",
        quote_currency="USD" if role == "buy" else "EUR",
        side=fill.side,
        amount=Amount(AMOUNT),
        limit_price=fill.price,
        client_order_id=client_order_id("opportunity-1", role),
        state="done",
        exchange_order_id=f"order-{role}",
        fills=(fill,),
        times={"reserved": NOON, "granted": NOON, "sent": NOON + 20, "done": NOON + 30},
    )


def _fill(exchange: str, symbol: str, side: Side, price: str, currency: str) -> Fill:
    cost = AMOUNT * Decimal(price)
    return Fill(
        fill_id=f"fill-{exchange}",
        exchange=exchange,
        symbol=symbol,
        side=side,
        price=Price(Decimal(price)),
        amount=Amount(AMOUNT),
        cost=cost,
        fee=cost / 1_000,
        fee_currency=currency,
        filled_at=NOON + 15,
    )


def _account(leg: Leg, has_client_ids: bool) -> AuditedAccount:
    (fill,) = leg.fills
    order = SimulatedOrder(
        order_id=leg.exchange_order_id or "",
        number=1,
        client_order_id=leg.client_order_id if has_client_ids else None,
        symbol=leg.symbol,
        side=leg.side,
        amount=leg.amount,
        price=leg.limit_price,
        immediate=True,
        placed_at=NOON + 12,
        state="done",
        filled=leg.amount,
        ended_at=NOON + 15,
    )
    return AuditedAccount(leg.exchange, OPENING[leg.exchange], (order,), (booked_fill(fill, order.order_id),))


def booked_fill(fill: Fill, order_id: str) -> SimulatedFill:
    """Return the fill as its exchange keeps it."""
    return SimulatedFill(
        fill_id=fill.fill_id,
        number=2,
        order_id=order_id,
        symbol=fill.symbol,
        side=fill.side,
        price=fill.price,
        amount=fill.amount,
        cost=fill.cost,
        fee=fill.fee,
        fee_currency=fill.fee_currency,
        liquidity="taker",
        filled_at=fill.filled_at,
    )


def _balances_after(account: AuditedAccount) -> dict[str, Decimal]:
    (fill,) = account.fills
    sign = 1 if fill.side == "buy" else -1
    opening = account.opening
    return {
        "BTC": opening["BTC"] + sign * fill.amount,
        fill.fee_currency: opening[fill.fee_currency] - sign * fill.cost - fill.fee,
    }


def _history() -> Iterable[Transition]:
    steps = (
        ("buy granted", 0),
        ("sell granted", 0),
        ("reserved", 0),
        ("buy acknowledged", 20),
        ("buy done", 30),
        ("buy filled", 30),
        ("sell acknowledged", 40),
        ("sell done", 40),
        ("sell filled", 40),
        ("closed", 40),
    )
    return (Transition(what, NOON + at, "bot", 1) for what, at in steps)
