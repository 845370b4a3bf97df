"""Detection of cycles as a compiled loop over the rows of all their markets, in one order.

    row → newest quote of its market → the cycles that contain it → by logarithms those that may pay → those that do

A cycle's logarithms are summed at each quote of its markets: nearly all end there. What may pay is multiplied out, leg
after leg in IEEE doubles, because a product is the same to the last bit wherever it is computed, and a logarithm need
not be. Who decides computes it again, exactly.
"""

import numpy as np
from numba import njit

from cep.detection.kernel.cycle_records import CycleHits, CycleState
from cep.detection.kernel.records import (
    ALIVE,
    FX,
    FX_ALIVE,
    FX_WITHDRAWN,
    NONE,
    QUOTE,
    WITHDRAWN,
    KernelRows,
    Records,
    Words,
)

BPS = 10000.0


@njit(cache=True, error_model="numpy")
def scan_cycles(
    rows: KernelRows, start: int, end: int, words: Words, book: CycleState, hits: CycleHits
) -> tuple[int, int]:
    """Apply the rows from `start` and write the cycles that pay to `hits`: (number of hits, next row).

    Stops before `end` if the next row might have more than fit.
    """
    # unpacked once: within the loop that would count references
    kinds, exchanges, symbols, times, seen = rows.kinds, rows.exchanges, rows.symbols, rows.times, rows.seen
    sequences, bids, asks = rows.sequences, rows.bids, rows.asks
    kind_of, slot_of = words.kind, words.slot
    markets, first_cycle, cycles = book.markets, book.first_cycle, book.cycles
    count, room = 0, hits.found.size - (book.first_leg.size - 1)
    for i in range(start, end):
        if count > room:
            return count, i
        kind, number = kind_of[kinds[i]], slot_of[exchanges[i], symbols[i]]
        if number == NONE:
            continue
        market = markets[number]
        if kind in (WITHDRAWN, FX_WITHDRAWN):
            market["row"] = NONE
            market["buy_log"] = market["sell_log"] = -np.inf
        elif kind in (ALIVE, FX_ALIVE):
            market["seen"] = seen[i]
        elif kind in (QUOTE, FX):
            market["row"], market["seen"], market["sequence"] = rows.first + i, seen[i], sequences[i]
            market["bid"], market["ask"] = bids[i], asks[i]
            _price(market)
            for place in range(first_cycle[number], first_cycle[number + 1]):
                count += _checked(cycles[place], rows.first + i, times[i], book, hits, count)
    return count, end


@njit(cache=True, error_model="numpy")
def price_again(markets: Records) -> None:
    """Apply fees that have changed to the quotes that hold."""
    for number in range(markets.size):
        if markets[number]["row"] != NONE:
            _price(markets[number])


@njit(cache=True, error_model="numpy")
def _price(market: np.void) -> None:
    bid, ask = market["bid"], market["ask"]
    market["buy_log"] = market["sell_log"] = -np.inf
    market["buy_rate"] = market["sell_rate"] = 0.0
    if ask > 0.0 and market["kept_buying"] > 0.0:
        market["buy_rate"] = market["kept_buying"] / ask
        market["buy_log"] = np.log(market["buy_rate"])
    if bid > 0.0 and market["kept_selling"] > 0.0:
        market["sell_rate"] = bid * market["kept_selling"]
        market["sell_log"] = np.log(market["sell_rate"])


@njit(cache=True, error_model="numpy")
def _checked(cycle: int, row: int, now: int, book: CycleState, hits: CycleHits, place: int) -> int:
    """1 if the cycle pays and was written to `place`; otherwise 0."""
    markets, leg_market, leg_sells, rules = book.markets, book.leg_market, book.leg_sells, book.rules[0]
    first, end = book.first_leg[cycle], book.first_leg[cycle + 1]
    logs = 0.0
    for leg in range(first, end):
        market = markets[leg_market[leg]]
        logs += market["sell_log"] if leg_sells[leg] == 1 else market["buy_log"]
    if not logs >= rules["least_log"]:
        return 0
    rate = 1.0
    for leg in range(first, end):
        market = markets[leg_market[leg]]
        if market["row"] == NONE or not market["is_enabled"] or now - market["seen"] > rules["max_quote_age"]:
            return 0
        rate *= market["sell_rate"] if leg_sells[leg] == 1 else market["buy_rate"]
    net_bps = (rate - 1.0) * BPS
    if not net_bps >= rules["emit_net_bps"]:
        return 0
    hit = hits.found[place]
    hit["row"], hit["time"], hit["cycle"], hit["net_bps"] = row, now, cycle, net_bps
    for leg in range(first, end):
        market = markets[leg_market[leg]]
        hits.rows[place, leg - first] = market["row"]
        hits.sequences[place, leg - first] = market["sequence"]
    return 1
