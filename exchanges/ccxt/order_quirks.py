"""What ccxt does not tell of an exchange's orders, as data. Read in ccxt 4.5.90; an exchange that is not listed here
is taken to be as ccxt's unified API says."""

from collections.abc import Mapping

from exchanges.catalogue import facts_of
from exchanges.ports.order_terms import OrderQuirks

OTHER_QUIRKS: Mapping[str, OrderQuirks] = {
    # ccxt drops `clientOrderId` and sends an id of its own, unless the exchange's own field overwrites that
    "coinbase": OrderQuirks(client_id_parameter="client_order_id"),
}


def order_quirks(ccxt_id: str) -> OrderQuirks:
    facts = facts_of(ccxt_id)
    return OTHER_QUIRKS.get(ccxt_id, OrderQuirks()) if facts is None else facts.order_quirks
