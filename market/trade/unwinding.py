"""Plans the next leg once all legs are final: the arbitrage ends, or one more leg unwinds the residual base."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache, partial
from hashlib import sha1, sha256
from uuid import UUID

from market.decide.kill_switch import HALTED, permits_orders
from market.decide.market_rules import is_closed, market_in_force
from market.decide.settings import Settings
from market.instruments.fees import base_rate, hold_of
from market.instruments.markets import Market
from market.instruments.order_rules import limit_price
from market.instruments.orders import Side
from market.money import ZERO, Amount, Price, ceil_to_step, floor_to_step, total
from market.prices.opportunities import OpportunityLeg
from market.trade.arbitrages import Arbitrage, ArbitrageState, Leg, LegRole
from market.trade.fast_replace import replace
from market.trade.profit import profit_of

# Fixed for ever: a restarted bot must find its orders by the ids its predecessor gave them.
_NAMESPACE = UUID("6f2d0f0e-6e1c-5b0a-9a53-2a7a3c1d9b41")
_EARLIER_VERSION = 5

Markets = Mapping[tuple[str, str], Market]
"""(exchange, symbol) → market."""

_STEPS: dict[str, tuple[LegRole, ...]] = {"complete": ("complete", "reverse"), "reverse": ("reverse",), "hold": ()}
_LATE_STEPS: dict[str, tuple[LegRole, ...]] = {"complete": ("flatten",), "reverse": ("flatten",), "hold": ()}
"""For late fills of an ended arbitrage: the opportunity is long gone."""

NOT_POSTED = "not_posted"
"""Reason of a residual arbitrage whose unwinding order was certainly not posted. It is resumed when possible."""
CLOSED = "market_closed"
"""Reason of a residual arbitrage whose market takes no orders for now. It is resumed once it does."""
MAX_TRIES = 20
"""Attempts to post an unwinding order; then it has to be checked by hand."""
CLOSE_NOW = "close_now"
"""Reason of an open arbitrage that an operator closes (`market.trade.closing`)."""
UNCONFIRMED = "unconfirmed_order"
"""Reason of a residual arbitrage: an exchange without client order ids does not find its order, but its balances do not
confirm that."""


@dataclass(frozen=True, slots=True)
class EndAsResidual:
    """Replaces `advance` for an order with unknown outcome: the arbitrage ends as residual, nothing more is traded."""

    reason: str

    def __call__(self, arbitrage: Arbitrage, _settings: Settings, now: int) -> Arbitrage:
        times = arbitrage.times | {"ended": now}
        return replace(arbitrage, state="residual", reason=self.reason, times=times, profit=profit_of(arbitrage))


@dataclass(frozen=True, slots=True)
class LegOutcome:
    """Residual base after all fills so far: positive if too much was bought, negative if too much was sold."""

    left: Decimal
    bought: Decimal
    sold: Decimal


@lru_cache(maxsize=1_024)
def client_order_id(arbitrage_id: str, role: str, sent_before: int = 0) -> str:
    """Return the same for whoever computes it; another one if a leg of that role was granted before.

    A UUID of version 4: Coinbase Exchange accepts an order with another one, but does not process the id, so that the
    order is not found by it (https://docs.cdp.coinbase.com/api-reference/exchange-api/rest-api/orders/create-new-order).
    """
    again = f":{sent_before}" if sent_before else ""
    # as uuid5 draws it, by a fifth of its time: every leg of every trade of a sweep has one
    drawn = bytearray(sha1(_NAMESPACE.bytes + f"{arbitrage_id}:{role}{again}".encode(), usedforsecurity=False).digest())
    drawn[6] = drawn[6] & 0x0F | 0x40
    drawn[8] = drawn[8] & 0x3F | 0x80
    digits = (drawn[:12] + _check_bytes(bytes(drawn[:12]))).hex()
    return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"


def is_session_order(client_order_id: str | None) -> bool:
    """Whether an order has an id as this program's sessions give it: its last eight digits follow from the others, or
    its version is that of the program's earlier versions. Other programs draw a UUID of version 4."""
    try:
        uuid = UUID(client_order_id or "")
    except ValueError:
        return False
    return uuid.version == _EARLIER_VERSION or uuid.bytes[12:] == _check_bytes(uuid.bytes[:12])


def _check_bytes(drawn: bytes) -> bytes:
    return sha256(_NAMESPACE.bytes + drawn).digest()[:4]


def markets_by_symbol(markets: tuple[Market, ...]) -> dict[tuple[str, str], Market]:
    return {(market.exchange, market.symbol): market for market in markets}


def advancing(markets: tuple[Market, ...]) -> Callable[[Arbitrage, Settings, int], Arbitrage]:
    """`advance` for these markets, as the store calls it."""
    return partial(advance, markets=markets_by_symbol(markets))


def advance(arbitrage: Arbitrage, settings: Settings, now: int, markets: Markets) -> Arbitrage:
    """Return what follows. Unchanged while a leg is open or after its end; residual if a market is not among `markets`:
    an earlier session had it, this one can do nothing there.

    An added leg is `reserved`, its `held` the balance that it needs. `now` is the server's, microseconds.
    """
    if arbitrage.state not in ("reserved", "single_leg") or not all(leg.is_final for leg in arbitrage.legs):
        return arbitrage
    outcome = outcome_of(arbitrage)
    if arbitrage.strategy == "ma":
        return _position_taken(arbitrage, outcome, now)
    if not _has_markets(arbitrage, markets):
        times = arbitrage.times | {"ended": now}
        return replace(arbitrage, state="residual", reason="market_missing", times=times, profit=profit_of(arbitrage))
    if settings.market_rules:
        # a session has hundreds of markets, and this is inside of a transaction
        markets = {key: market_in_force(markets[key], settings) for key in _keys(arbitrage)}
    if abs(outcome.left) > lot_tolerance(arbitrage, markets) and permits_orders(settings.trading_state):
        added = _next_leg(arbitrage, outcome.left, settings, now, markets)
        if added is not None:
            return replace(arbitrage, state="single_leg", legs=(*arbitrage.legs, added))
    state, reason = _end_of(arbitrage, outcome, settings, markets)
    times = arbitrage.times | {"ended": now}
    return replace(arbitrage, state=state, reason=reason, times=times, profit=profit_of(arbitrage))


def _position_taken(arbitrage: Arbitrage, outcome: LegOutcome, now: int) -> Arbitrage:
    """End a moving average trade with its one leg; what it bought is meant to stay."""
    is_filled = outcome.bought != 0 or outcome.sold != 0
    times = arbitrage.times | {"ended": now}
    if is_filled:
        return replace(arbitrage, state="closed", reason=None, times=times)
    return replace(arbitrage, state="unfilled", reason="nothing_filled", times=times)


def _end_of(
    arbitrage: Arbitrage, outcome: LegOutcome, settings: Settings, markets: Markets
) -> tuple[ArbitrageState, str | None]:
    """Return the final state and why, once no further leg helps."""
    if outcome.bought == 0 and outcome.sold == 0:
        return "unfilled", "nothing_filled"
    if abs(outcome.left) > lot_tolerance(arbitrage, markets) and not _is_dust(
        arbitrage, outcome.left, settings, markets
    ):
        return "residual", _residual_reason(arbitrage, settings)
    if outcome.bought == 0 or outcome.sold == 0:
        return "residual", "below_minimum"
    if any(leg.role in ("reverse", "flatten") and leg.filled > 0 for leg in arbitrage.legs):
        return "unwound", "reversed"
    return "closed", None


def _residual_reason(arbitrage: Arbitrage, settings: Settings) -> str:
    """Why the residual base is not unwound. What an operator closes is not resumed: its price is that of a moment."""
    if arbitrage.reason == CLOSE_NOW:
        return "single_leg_left"
    if not permits_orders(settings.trading_state):
        return HALTED
    if waits_for_market(arbitrage, settings):
        return CLOSED
    last = arbitrage.legs[-1]
    is_untried = last.role in _steps_of(arbitrage, settings) and last.is_unposted
    # this try is not in the history yet
    tries = _times(arbitrage, f"{last.role} not_sent") + 1
    return NOT_POSTED if is_untried and tries < MAX_TRIES else "single_leg_left"


def waits_for_market(arbitrage: Arbitrage, settings: Settings) -> bool:
    """Whether the market that could still unwind a single leg takes no orders."""
    if not _LATE_STEPS[settings.single_leg_policy] or arbitrage.leg("flatten") is not None:
        return False
    _, seen = flattening(arbitrage)
    return is_closed(seen.exchange, seen.symbol, settings)


def _steps_of(arbitrage: Arbitrage, settings: Settings) -> tuple[LegRole, ...]:
    if arbitrage.reason == CLOSE_NOW:
        return ("flatten",)
    return (_LATE_STEPS if "reopened" in arbitrage.times else _STEPS)[settings.single_leg_policy]


def _times(arbitrage: Arbitrage, what: str) -> int:
    """How often that step was taken."""
    return sum(step.what == what for step in arbitrage.history)


def outcome_of(arbitrage: Arbitrage) -> LegOutcome:
    bought = total(leg.filled for leg in arbitrage.legs if leg.side == "buy")
    sold = total(leg.filled for leg in arbitrage.legs if leg.side == "sell")
    fees = total(leg.base_fee for leg in arbitrage.legs)
    return LegOutcome(bought - sold - fees, bought, sold)


def lot_tolerance(arbitrage: Arbitrage, markets: Markets) -> Decimal:
    """One lot of the coarser exchange."""
    return max(market.lot_step for market in _both(arbitrage, markets))


def _next_leg(arbitrage: Arbitrage, left: Decimal, settings: Settings, now: int, markets: Markets) -> Leg | None:
    """Return the first step of the policy that was not tried yet and that its exchange would take."""
    for role in _steps_of(arbitrage, settings):
        if arbitrage.leg(role) is None:
            leg = _unwinding_leg(arbitrage, role, left, settings, now, markets)
            if leg is not None:
                return leg
    return None


def _unwinding_leg(
    arbitrage: Arbitrage, role: LegRole, left: Decimal, settings: Settings, now: int, markets: Markets
) -> Leg | None:
    """Too much bought is sold (to complete, if selling was meant; to reverse, if it was bought), and so on."""
    side: Side = "sell" if left > 0 else "buy"
    seen = _priced(_seen_for(arbitrage, role, side), arbitrage, settings)
    market = markets[seen.exchange, seen.symbol]
    fee_rate = settings.taker_fees.get(seen.exchange, ZERO)
    amount = _order_amount(market, side, abs(left), fee_rate)
    if not _is_tradable(market, seen, amount) or is_closed(seen.exchange, seen.symbol, settings):
        return None
    slack = settings.flatten_limit_bps if role == "flatten" else settings.single_leg_limit_bps
    limit = limit_price(market, side, seen.price, slack)
    _, per_unit = hold_of(market, side, fee_rate, limit)
    return Leg(
        role=role,
        exchange=seen.exchange,
        symbol=seen.symbol,
        base=market.base,
        quote_currency=market.quote_currency,
        side=side,
        amount=Amount(amount),
        limit_price=limit,
        client_order_id=client_order_id(arbitrage.arbitrage_id, role, _times(arbitrage, f"{role} granted")),
        held=amount * per_unit,
        times={"reserved": now},
    )


def _priced(seen: OpportunityLeg, arbitrage: Arbitrage, settings: Settings) -> OpportunityLeg:
    """Return it at the price of an operator's order: that of the opportunity is long gone."""
    order = settings.close_now.get(arbitrage.arbitrage_id) if arbitrage.reason == CLOSE_NOW else None
    return seen if order is None else replace(seen, price=Price(order.price))


def flattening(arbitrage: Arbitrage) -> tuple[Side, OpportunityLeg]:
    """Return on which side the residual base would be flattened, and the market."""
    side: Side = "sell" if outcome_of(arbitrage).left > 0 else "buy"
    return side, _seen_for(arbitrage, "flatten", side)


def _seen_for(arbitrage: Arbitrage, role: LegRole, side: Side) -> OpportunityLeg:
    opportunity = arbitrage.opportunity
    return opportunity.sell if (side == "sell") == (role == "complete") else opportunity.buy


def _order_amount(market: Market, side: Side, left: Decimal, fee_rate: Decimal) -> Decimal:
    """Return what to order so that, its fee in base included, at most `left` moves."""
    in_base = base_rate(market, side, fee_rate)
    return floor_to_step(left / (1 - in_base if side == "buy" else 1 + in_base), market.lot_step)


def _is_tradable(market: Market, seen: OpportunityLeg, amount: Decimal) -> bool:
    minimum = max(market.minimum_amount, ceil_to_step(market.minimum_notional / seen.price, market.lot_step))
    return amount > 0 and amount >= minimum


def _is_dust(arbitrage: Arbitrage, left: Decimal, settings: Settings, markets: Markets) -> bool:
    """Less than either exchange takes in one order: it stays in the ledger, nothing can be done about it."""
    side: Side = "sell" if left > 0 else "buy"
    for seen in (arbitrage.opportunity.buy, arbitrage.opportunity.sell):
        market = markets[seen.exchange, seen.symbol]
        amount = _order_amount(market, side, abs(left), settings.taker_fees.get(seen.exchange, ZERO))
        if _is_tradable(market, seen, amount):
            return False
    return True


def _has_markets(arbitrage: Arbitrage, markets: Markets) -> bool:
    return all(key in markets for key in _keys(arbitrage))


def _keys(arbitrage: Arbitrage) -> tuple[tuple[str, str], tuple[str, str]]:
    buy, sell = arbitrage.opportunity.buy, arbitrage.opportunity.sell
    return (buy.exchange, buy.symbol), (sell.exchange, sell.symbol)


def _both(arbitrage: Arbitrage, markets: Markets) -> tuple[Market, Market]:
    bought, sold = _keys(arbitrage)
    return markets[bought], markets[sold]
