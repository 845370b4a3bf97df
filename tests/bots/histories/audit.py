"""Whether a history ended well, by the exchanges' own records."""

from collections.abc import Iterator
from fractions import Fraction

from market.instruments.orders import Fill
from market.money import ZERO
from market.trade.arbitrages import OPEN_STATES, Arbitrage
from market.trade.cycle_trades import CycleTrade
from market.trade.reservation_state import fill_key
from market.trade.unwinding import lot_tolerance, markets_by_symbol, outcome_of
from tests.bots.histories.legality import steps_not_allowed
from tests.bots.histories.world import MARKETS, OPENING, World
from tests.bots.ledger import balances_by_fills

MOST_SECONDS = 90
STEADY_SECONDS = 4
"""Several rounds and comparisons with the exchange, after which all must still hold."""
DECISIONS = ("residual", "closed", "unwound")
"""States that say what was decided about a leg left alone."""


def judged(world: World, steady_seconds: float = STEADY_SECONDS) -> list[str]:
    """Return what is wrong once everything was mended and had time; empty if all held, and holds on."""
    for _ in range(MOST_SECONDS):
        # each second: a process may yet find that it was replaced, and end
        world.mend()
        world.run(1)
        if not violations(world):
            break
    world.run(steady_seconds)
    found = violations(world)
    world.close()
    return found


def violations(world: World) -> list[str]:
    """Return what must never be at the end."""
    return [
        *(f"unexpected: {failure}" for process in world.processes for failure in process.unexpected()),
        *_sent_twice(world),
        *_fills(world),
        *_ends(world),
        *_reservations(world),
        *_balances(world),
        *_drifts(world),
        *steps_not_allowed(world),
    ]


def _sent_twice(world: World) -> Iterator[str]:
    for exchange in world.exchanges.values():
        for identity, count in exchange.posts.items():
            if count > 1:
                yield f"{exchange.name}: order {identity} sent {count} times"


def _fills(world: World) -> Iterator[str]:
    """Yield differences of the ledger, and of the legs, from what the exchanges executed, to the last digit."""
    untold = _untold(world)
    executed = {
        fill_key(fill): fill for exchange in world.exchanges.values() for fill in exchange.fills if fill not in untold
    }
    booked = {fill_key(fill): fill for fill in world.ledger()}
    yield from _differences("ledger", executed, booked)
    legs = [fill for one in world.trades() for leg in one.legs for fill in leg.fills]
    yield from _differences("legs", executed, {fill_key(fill): fill for fill in legs})
    if len(legs) != len(executed):
        yield f"legs have {len(legs)} fills, {len(executed)} were executed"


def _untold(world: World) -> list[Fill]:
    """Not in the ledger, and nobody but a person could say whose they are: of orders that look alike, on an exchange
    without client ids, which was reported."""
    asked = {one.exchange for one in world.ask(world.store.differences.stored()) if one.kind == "order_ambiguous"}
    known = {fill_key(fill) for fill in world.ledger()}
    return [
        fill
        for exchange in world.exchanges.values()
        if exchange.name in asked and not exchange.has_client_ids
        for fill in exchange.fills_of_like_orders()
        if fill_key(fill) not in known
    ]


def _differences(where: str, executed: dict[str, Fill], booked: dict[str, Fill]) -> Iterator[str]:
    for key in executed.keys() | booked.keys():
        if executed.get(key) != booked.get(key):
            yield f"fill {key}: executed {executed.get(key)}, in the {where} {booked.get(key)}"


def _ends(world: World) -> Iterator[str]:
    for one in world.trades():
        if one.state in OPEN_STATES:
            yield f"{one.arbitrage_id} is still {one.state}"
        elif _is_single(one) and not (one.state in DECISIONS and one.reason):
            yield f"{one.arbitrage_id} left a leg alone as {one.state}, {one.reason}"
        if any(not leg.is_final for leg in one.legs):
            yield f"{one.arbitrage_id} ended with an open leg"


def _is_single(trade: Arbitrage | CycleTrade) -> bool:
    """Whether a leg has more than the others by more than lots leave."""
    if isinstance(trade, Arbitrage):
        return abs(outcome_of(trade).left) > lot_tolerance(trade, markets_by_symbol(MARKETS))
    lots = (Fraction(leg.market.lot_step) for leg in trade.cycle.legs)
    beyond = (
        (share - min(trade.shares)) * whole - 2 * lot
        for share, whole, lot in zip(trade.shares, trade.wholes, lots, strict=True)
    )
    return max(beyond) > 0


def _reservations(world: World) -> Iterator[str]:
    store = world.store
    for row in world.balance_rows():
        if row.held != 0:
            yield f"{row.exchange} still holds {row.held} {row.currency}"
    for one in world.trades():
        yield from (f"{one.arbitrage_id} {leg.role} still holds {leg.held}" for leg in one.legs if leg.held != 0)
    if store._open_arbitrages != 0:
        yield f"{store._open_arbitrages} arbitrages still count as open"
    for key, pair in store._pairs.items():
        if pair.arbitrage_id is not None:
            yield f"{pair.arbitrage_id} still keeps the pair {key}"
    yield from (f"notional {key} is still {amount}" for key, amount in store._notional.items() if amount != 0)


def _balances(world: World) -> Iterator[str]:
    untold = _untold(world)
    by_fills = balances_by_fills(OPENING, [*world.ledger(), *untold])
    rows = {(row.exchange, row.currency): row.free for row in world.balance_rows()}
    for exchange in world.exchanges.values():
        for currency, balance in exchange.balances.items():
            if by_fills[exchange.name].get(currency, ZERO) != balance:
                yield f"{exchange.name} has {balance} {currency}, by the ledger {by_fills[exchange.name].get(currency)}"
            is_reported = all(fill.exchange != exchange.name for fill in untold)
            if is_reported and rows.get((exchange.name, currency)) != balance:
                yield f"{exchange.name} has {balance} {currency}, its row {rows.get((exchange.name, currency))}"


def _drifts(world: World) -> Iterator[str]:
    """Name rows that had to be corrected, which were wrong before unless the exchange was."""
    for kept in world.ask(world.store.differences.stored()):
        if kept.kind == "balance_differs" and not world.exchanges[kept.exchange].has_lied:
            yield f"{kept.exchange}: {kept.subject} was {kept.ours} in our books, {kept.theirs} there"
