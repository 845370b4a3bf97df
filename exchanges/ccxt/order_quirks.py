"""What ccxt does not tell of an exchange's orders: of those with facts of ours; others are as ccxt's unified
API says."""

from exchanges.catalogue import facts_of
from exchanges.ports.order_terms import OrderQuirks


def order_quirks(ccxt_id: str) -> OrderQuirks:
    facts = facts_of(ccxt_id)
    return OrderQuirks() if facts is None else facts.order_quirks
