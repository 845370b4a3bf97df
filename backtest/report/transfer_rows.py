"""What a backtest says of transfers, and of inventory that ran out: lines and JSON."""

from backtest.result.backtest_result import BacktestResult
from backtest.result.inventory_outages import Outage, fees_of
from exchanges.labels import exchange_name
from market.accounting.transfer_lifecycle import MoneyTransfer
from market.money import text_of, total
from market.time_units import MICROSECONDS

HOUR = 3_600 * MICROSECONDS


def transfer_lines(result: BacktestResult) -> list[str]:
    """Return a line for what transfers cost, and one for each currency that ran out on an exchange."""
    transfers, currency = result.trading.transfers, result.figures.currency
    lines: list[str] = []
    if transfers:
        cost = total(one.cost for one in transfers)
        fees = ", ".join(f"{text_of(fee)} {name}" for name, fee in sorted(fees_of(transfers).items()))
        lines.append(
            f"transfers         {-cost:>z14.2f} {currency}  ({len(transfers)}, in fees {fees}; not in the net)"
        )
    return [*lines, *(_outage_line(one) for one in result.outages)]


def transfer_rows(result: BacktestResult) -> dict[str, object]:
    """Return the part of the JSON: `transfers` as they were made, `inventory_out` by exchange and currency."""
    return {
        "transfers": [_transfer_row(one) for one in result.trading.transfers],
        "transfers_cost": text_of(total(one.cost for one in result.trading.transfers)),
        "inventory_out": [
            {
                "exchange": one.exchange,
                "currency": one.currency,
                "seconds": one.duration // MICROSECONDS,
                "times": one.times,
            }
            for one in result.outages
        ],
    }


def _transfer_row(one: MoneyTransfer) -> dict[str, object]:
    return {
        "currency": one.currency,
        "source": one.source,
        "destination": one.destination,
        "amount": text_of(one.amount),
        "fee": text_of(one.fee),
        "cost": text_of(one.cost),
        "sent": one.times["sent"],
        "arrived": one.times["arrived"],
    }


def _outage_line(one: Outage) -> str:
    where = f"{exchange_name(one.exchange)} {one.currency}"
    return f"out of inventory  {one.duration / HOUR:>14.1f} h  ({where}, {one.times} times)"
