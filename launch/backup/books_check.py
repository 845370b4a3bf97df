"""Checks that restored books are whole and balance, to the last digit, also if trading was under way. Pure.

A backup may be taken in mid-trade: legs may be open and orders in flight. Only what must hold at any moment is checked
here; what must hold at rest is checked by the audit of a chaos run (`launch.chaos.audit.books`).
"""

import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal

from market.accounting.transfer_lifecycle import booked_in, positions
from market.instruments.orders import Fill, changes_of
from market.money import ZERO, text_of
from market.trade.arbitrages import OPEN_STATES, Leg, TradeOfLegs, held_currency
from market.trade.reservation_state import fill_key
from store.backups.restored_books import StoredBooks
from store.queries.store_snapshot import LedgerEntry

Place = tuple[str, str]
"""(exchange, currency)."""


@dataclass(slots=True)
class BooksCheck:
    """Takes the ledger first, then the arbitrages, one after the other; holds little of each."""

    arbitrages: int = 0
    fills: int = 0
    findings: list[str] = field(default_factory=list)
    _ledger: dict[str, tuple[str, str, int]] = field(default_factory=dict)
    """Fill not yet found in a leg → its session, its arbitrage, and a hash of what it says."""
    _seen: set[str] = field(default_factory=set)
    _changes: dict[tuple[str, str, str], Decimal] = field(default_factory=dict)
    """(session, exchange, currency) → sum."""
    _held: dict[Place, Decimal] = field(default_factory=dict)
    _open: set[str] = field(default_factory=set)

    def add_entry(self, session_id: str, entry: LedgerEntry) -> None:
        self.fills += 1
        self._ledger[fill_key(entry.fill)] = (sys.intern(session_id), entry.arbitrage_id, hash(_digits(entry.fill)))

    def add_sums(self, changes: Mapping[tuple[str, str, str], Decimal]) -> None:
        """Add (session, exchange, currency) → what fills that are kept only as sums changed."""
        for key, change in changes.items():
            self._changes[key] = self._changes.get(key, ZERO) + change

    def add(self, arbitrage: TradeOfLegs) -> None:
        """Add an arbitrage or a trade on a cycle."""
        self.arbitrages += 1
        if arbitrage.state in OPEN_STATES:
            self._open.add(arbitrage.arbitrage_id)
        for leg in arbitrage.legs:
            if leg.held:
                place = (leg.exchange, held_currency(leg))
                self._held[place] = self._held.get(place, ZERO) + leg.held
            for fill in leg.fills:
                self._book(arbitrage.arbitrage_id, leg, fill)

    def _book(self, arbitrage_id: str, leg: Leg, fill: Fill) -> None:
        key = fill_key(fill)
        known = self._ledger.pop(key, None)
        if known is None:
            why = "is booked twice" if key in self._seen else "is not in the ledger"
            self.findings.append(f"fill {key} of arbitrage {arbitrage_id} {why}")
            return
        self._seen.add(key)
        session_id, owner, digits = known
        if (owner, digits) != (arbitrage_id, hash(_digits(fill))):
            self.findings.append(f"fill {key} of arbitrage {arbitrage_id} says something else in the ledger")
        for currency, change in changes_of(fill, leg.base, leg.quote_currency):
            place = (session_id, fill.exchange, currency)
            self._changes[place] = self._changes.get(place, ZERO) + change

    def finish(self, books: StoredBooks, journals: Mapping[str, Iterable[str]]) -> list[str]:
        """Return all that is wrong. `journals`: exchange → keys of the fills in the record of its account, if there is
        one."""
        found = [*self.findings, *(f"fill {key} of the ledger is in no arbitrage" for key in self._ledger)]
        found += self._counted(books)
        found += self._unbalanced(books)
        for exchange, recorded in journals.items():
            known = frozenset(recorded)
            missing = [key for key in self._seen if key.startswith(f"{exchange}|") and key not in known]
            found += [f"fill {key} is not in the record of {exchange}" for key in missing]
        return found

    def _counted(self, books: StoredBooks) -> Iterator[str]:
        if books.open_arbitrages != len(self._open):
            yield f"{books.open_arbitrages} arbitrages are counted as open, and {len(self._open)} are"
        for claim, arbitrage_id in books.pairs.items():
            if arbitrage_id not in self._open:
                yield f"{claim} is claimed by {arbitrage_id}, which is not open"
        rows = {(row.exchange, row.currency): row.held for row in books.balances}
        holds = dict(self._held)
        for transfer in books.transfers:
            for place, (_, held) in positions(transfer).items():
                holds[place] = holds.get(place, ZERO) + held
        for place in sorted(rows.keys() | holds.keys()):
            held, wanted = rows.get(place, ZERO), holds.get(place, ZERO)
            if held != wanted:
                yield f"{' '.join(place)}: {text_of(held)} held, and legs and transfers hold {text_of(wanted)}"

    def _unbalanced(self, books: StoredBooks) -> Iterator[str]:
        """Return balances that are not opening + fills − fees and transfers, unless reconciliation has found a
        difference since."""
        for row in books.balances:
            opening = books.openings.get(row.exchange)
            if opening is None or books.differences.get(row.exchange, 0) >= opening.at:
                continue
            change = self._changes.get((opening.session_id, row.exchange, row.currency), ZERO)
            sent = booked_in(books.transfers, opening.session_id).get((row.exchange, row.currency), ZERO)
            expected = opening.amounts.get(row.currency, ZERO) + change + sent
            if row.free + row.held != expected:
                yield (
                    f"{row.exchange} {row.currency}: {text_of(row.free + row.held)} in the books, "
                    f"by opening, fills and transfers {text_of(expected)}"
                )


def _digits(fill: Fill) -> str:
    amounts = (fill.price, fill.amount, fill.cost, fill.fee)
    return "|".join((fill.exchange, fill.symbol, fill.side, fill.fee_currency, *map(text_of, amounts)))
