"""Overrides the known transfer terms by a user's own: `[transfers.EXCHANGE.CURRENCY]`."""

from collections.abc import Mapping
from decimal import Decimal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from exchanges.catalogue import known_transfers
from exchanges.simulated_markets import simulated_bases, simulated_markets
from launch.config.currency_tables import check_named, currencies_of
from market.accounting.transfer_terms import SATOSHI, TransferTerms, terms_of, with_changed
from market.money import BoundedDecimal

FROM_CONFIGURATION = "the configuration"


class TransferConfiguration(BaseModel):
    """Sending one currency away from one exchange, amounts in that currency."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    fee: BoundedDecimal = Field(ge=0, le=1_000_000_000)
    minimum: BoundedDecimal = Field(default=Decimal(0), ge=0, le=1_000_000_000)
    minutes: int = Field(default=60, ge=0, le=60 * 24 * 30)

    @model_validator(mode="after")
    def _something_arrives(self) -> "TransferConfiguration":
        if 0 < self.minimum < self.fee:
            raise ValueError("minimum must not be below the fee, or nothing would arrive")
        return self


def session_transfers(configured: Mapping[str, Mapping[str, TransferConfiguration]]) -> tuple[TransferTerms, ...]:
    """Return the known terms, replaced if `configured` (exchange → currency → terms) says others. Raises
    CannotStartError if it names what nobody could send."""
    check_named("transfers", configured, currencies_of(simulated_markets(simulated_bases())))
    known = terms_of(known_transfers())
    changed = []
    for exchange, by_currency in configured.items():
        for currency, mine in by_currency.items():
            before = known.get((exchange, currency))
            step = SATOSHI if before is None else before.step
            changed.append(
                TransferTerms(exchange, currency, mine.fee, mine.minimum, step, mine.minutes * 60, FROM_CONFIGURATION)
            )
    return with_changed(known_transfers(), changed)
