"""Detection of opportunities as a compiled loop over columns, equal to `latest` and `cross_spreads`.

    log of one base, in its order → newest quote per slot and FX rate per route → the pairs that reach the threshold

Doubles in the written order of operations of `cross_spreads`, so that both agree to the last bit. Machine code is kept
in `__pycache__` beside this file (numba's own cache; NUMBA_CACHE_DIR moves it) and created on first use or at set-up.
State is in arrays of records, which compiled functions pass on without reference counting.
"""

import numpy as np
from numba import njit

from cep.detection.kernel.records import (
    FX,
    FX_WITHDRAWN,
    NONE,
    PASSED_OVER,
    QUOTE,
    SETTINGS,
    WITHDRAWN,
    Flags,
    KernelRows,
    KernelState,
    Numbers,
    Records,
    Words,
)

BPS = 10000.0
SLACK = 1e-9
"""Fraction by which the bar is lowered: far more than the error of doubles, so that no pair is missed."""


@njit(cache=True, error_model="numpy")
def scan(rows: KernelRows, start: int, end: int, words: Words, book: KernelState, hits: Records) -> tuple[int, int]:
    """Apply the rows from `start` and write the qualifying pairs to `hits`: (number of hits, next row).

    Stops before `end` if the next row might have more hits than fit into `hits`.
    """
    # unpacked once: within the loop that would count references
    kinds, exchanges, symbols, times, seen = rows.kinds, rows.exchanges, rows.symbols, rows.times, rows.seen
    sequences, bids, asks = rows.sequences, rows.bids, rows.asks
    kind_of, slot_of, route_of, source_of = words.kind, words.slot, words.route, words.source
    slots, routes, pairs, grouped, first = book.slots, book.routes, book.pairs, book.grouped, book.first
    tick, rules = book.tick[0], book.rules[0]
    count, room = 0, hits.size - pairs.size
    for number in range(slots.size):
        _price(slots[number], routes, rules)
    for i in range(start, end):
        if count > room:
            return count, i
        tick["kind"], tick["row"], tick["time"] = kind_of[kinds[i]], rows.first + i, times[i]
        tick["seen"] = seen[i]
        tick["slot"], tick["route"] = slot_of[exchanges[i], symbols[i]], route_of[symbols[i]]
        tick["source"], tick["sequence"] = source_of[exchanges[i]], sequences[i]
        tick["bid"], tick["ask"] = bids[i], asks[i]
        group = _learned(tick, slots, routes, rules)
        if group != NONE and _may_qualify(group, slots):
            for place in range(first[group], first[group + 1]):
                count += _check_pair(tick, grouped[place], pairs, slots, routes, rules, hits[count])
    return count, end


@njit(cache=True, error_model="numpy")
def _learned(tick: np.void, slots: Records, routes: Records, rules: np.void) -> int:
    """Return the group of pairs to check now, or NONE."""
    kind = tick["kind"]
    if kind == PASSED_OVER:
        return NONE
    if kind <= WITHDRAWN:
        slot = tick["slot"]
        if slot != NONE:
            _learn_quote(tick, slots[slot], routes, rules)
        return slot if kind == QUOTE else NONE
    if kind != SETTINGS and tick["route"] != NONE:
        _learn_rate(tick, slots, routes, rules)
    return slots.size if kind in (FX, SETTINGS) else NONE


@njit(cache=True, error_model="numpy")
def _learn_quote(tick: np.void, slot: np.void, routes: Records, rules: np.void) -> None:
    if tick["kind"] == WITHDRAWN:
        slot["row"] = NONE
        return
    slot["seen"] = tick["seen"]
    if tick["kind"] == QUOTE:
        _note_sequence(tick, slot, rules)
        slot["row"] = tick["row"]
        slot["bid"], slot["ask"] = tick["bid"], tick["ask"]
        _price(slot, routes, rules)


@njit(cache=True, error_model="numpy")
def _learn_rate(tick: np.void, slots: Records, routes: Records, rules: np.void) -> None:
    rate = routes[tick["route"]]
    if tick["kind"] == FX_WITHDRAWN:
        rate["row"] = NONE
        return
    rate["seen"] = tick["seen"]
    if tick["kind"] != FX:
        return
    _note_sequence(tick, rate, rules)
    if rate["source"] != NONE and rate["source"] != tick["source"]:
        rules["irregular"] += 1
    rate["row"], rate["source"] = tick["row"], tick["source"]
    rate["bid"], rate["ask"] = tick["bid"], tick["ask"]
    for number in range(slots.size):
        if slots[number]["route"] == tick["route"]:
            _price(slots[number], routes, rules)


@njit(cache=True, error_model="numpy")
def _note_sequence(tick: np.void, newest: np.void, rules: np.void) -> None:
    if tick["sequence"] < newest["sequence"]:
        rules["irregular"] += 1
    newest["sequence"] = tick["sequence"]
    if newest["first_sequence"] == NONE:
        newest["first_sequence"] = tick["sequence"]


@njit(cache=True, error_model="numpy")
def _price(slot: np.void, routes: Records, rules: np.void) -> None:
    route = slot["route"]
    if route == NONE:
        slot["buy_price"], slot["sell_price"] = slot["ask"], slot["bid"]
    elif routes[route]["is_inverted"]:
        slot["buy_price"] = _divided(slot["ask"], routes[route]["bid"])
        slot["sell_price"] = _divided(slot["bid"], routes[route]["ask"])
    else:
        slot["buy_price"] = slot["ask"] * routes[route]["ask"]
        slot["sell_price"] = slot["bid"] * routes[route]["bid"]
    slot["gain"] = slot["sell_price"] * (1.0 - slot["fee"])
    slot["bar"] = slot["buy_price"] * (1.0 + slot["fee"] + rules["emit_net_bps"] / BPS - SLACK)
    if slot["buy_price"] <= 0.0:
        slot["bar"] = -np.inf


@njit(cache=True, error_model="numpy")
def _may_qualify(group: int, slots: Records) -> bool:
    """Return a cheap filter without divisions and validity checks: False for nearly every quote."""
    if group == slots.size:
        return True
    gain, bar, found = slots[group]["gain"], slots[group]["bar"], False
    for number in range(slots.size):
        found |= gain >= slots[number]["bar"] or slots[number]["gain"] >= bar
    return bool(found)


@njit(cache=True, error_model="numpy")
def _divided(number: float, by: float) -> float:
    """NaN for a division by zero, where Spark has null: neither qualifies."""
    return number / by if by != 0.0 else np.nan


@njit(cache=True, error_model="numpy")
def _counts(now: int, slot: np.void, routes: Records, oldest: int) -> bool:
    if slot["row"] == NONE or not slot["is_enabled"] or now - slot["seen"] > oldest:
        return False
    route = slot["route"]
    return bool(route == NONE or (routes[route]["row"] != NONE and now - routes[route]["seen"] <= oldest))


@njit(cache=True, error_model="numpy")
def _check_pair(
    tick: np.void, pair: int, pairs: Records, slots: Records, routes: Records, rules: np.void, hit: np.void
) -> int:
    """1 if the pair qualifies and was written to `hit`; otherwise 0."""
    buy, sell = slots[pairs[pair]["buy"]], slots[pairs[pair]["sell"]]
    now, oldest = tick["time"], rules["max_quote_age"]
    if not (_counts(now, buy, routes, oldest) and _counts(now, sell, routes, oldest)):
        return 0
    buy_price, sell_price = buy["buy_price"], sell["sell_price"]
    gross_bps = _divided((sell_price - buy_price) * BPS, buy_price)
    fee_bps = _divided((buy_price * buy["fee"] + sell_price * sell["fee"]) * BPS, buy_price)
    net_bps = gross_bps - fee_bps
    if not net_bps >= rules["emit_net_bps"]:
        return 0
    hit["row"], hit["pair"] = tick["row"], pair
    hit["gross_bps"], hit["fee_bps"], hit["net_bps"] = gross_bps, fee_bps, net_bps
    hit["buy_price"], hit["sell_price"] = buy_price, sell_price
    hit["buy_age"], hit["sell_age"] = now - buy["seen"], now - sell["seen"]
    hit["buy_quote_row"], hit["sell_quote_row"] = buy["row"], sell["row"]
    hit["buy_quote_sequence"], hit["sell_quote_sequence"] = buy["sequence"], sell["sequence"]
    hit["buy_rate_row"], hit["buy_rate_sequence"] = _rate(buy["route"], routes)
    hit["sell_rate_row"], hit["sell_rate_sequence"] = _rate(sell["route"], routes)
    return 1


@njit(cache=True, error_model="numpy")
def _rate(route: int, routes: Records) -> tuple[int, int]:
    """Row and sequence of the FX rate of a slot's prices."""
    if route == NONE:
        return NONE, NONE
    return routes[route]["row"], routes[route]["sequence"]


@njit(cache=True, error_model="numpy")
def mark_new_ids(hits: Records, last: Numbers, is_new: Flags) -> None:
    """Whether each hit has another id than the hit of its pair before it.

    `last`: (pair, 4) sequences of the pair's previous hit, updated here. Counts distinct ids as long as no sequence
    goes back.
    """
    for place in range(hits.size):
        hit = hits[place]
        previous = last[hit["pair"]]
        is_new[place] = (
            previous[0] != hit["buy_quote_sequence"]
            or previous[1] != hit["sell_quote_sequence"]
            or previous[2] != hit["buy_rate_sequence"]
            or previous[3] != hit["sell_rate_sequence"]
        )
        previous[0], previous[1] = hit["buy_quote_sequence"], hit["sell_quote_sequence"]
        previous[2], previous[3] = hit["buy_rate_sequence"], hit["sell_rate_sequence"]
