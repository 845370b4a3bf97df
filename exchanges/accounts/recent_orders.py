"""Our own ids of an account's latest orders, whoever placed them: they show another session of this program."""

from collections.abc import Mapping, Sequence
from typing import Any

import ccxt

from exchanges.ccxt.client import ExchangeConfig, make_exchange
from exchanges.ccxt.order_documents import our_id
from exchanges.errors import ExchangeUnavailableError
from exchanges.ports.error_mapping import read_error
from exchanges.ports.orders import AnswerNotUnderstoodError, rows_of, understood
from exchanges.requests.measured_clock import MeasuredClock
from market.instruments.markets import Market
from market.trade.unwinding import is_session_order


async def recent_session_orders(
    config: ExchangeConfig, markets: Sequence[Market], since: int, environment: Mapping[str, str] | None = None
) -> frozenset[str]:
    """Client ids of this program's sessions among the orders that ended since `since`, microseconds, by ccxt's unified
    lists; none if it has no such list (Bitstamp) or the exchange no client ids (bitFlyer).

    Raises AccountRejectedError, ExchangeUnavailableError."""
    client = make_exchange(config, environment)
    try:
        await MeasuredClock(client).measure()
        await understood(client.load_markets())
        rows = [row for market in markets for row in await _ended(client, market.symbol, since // 1_000)]
        found = (our_id(client.id, row.get("clientOrderId")) for row in rows)
        return frozenset(one for one in found if isinstance(one, str) and is_session_order(one))
    except ccxt.BaseError as error:
        raise read_error(config.exchange, error, config.credentials) from None
    except AnswerNotUnderstoodError as error:
        raise ExchangeUnavailableError(f"{config.exchange}: {error}") from None
    finally:
        await client.close()


async def _ended(client: Any, symbol: str, since_ms: int) -> Sequence[Mapping[str, Any]]:
    # what ccxt calls emulated is the other list, filtered
    if client.has.get("fetchClosedOrders") is True:
        return rows_of(await understood(client.fetch_closed_orders(symbol, since_ms)))
    if client.has.get("fetchOrders") is True:
        return rows_of(await understood(client.fetch_orders(symbol, since_ms)))
    return ()
