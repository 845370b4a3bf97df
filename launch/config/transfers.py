"""`[transfers]`: whether currencies are sent between exchanges, and when; `[transfers.EXCHANGE.CURRENCY]`: a user's own
terms over the known ones."""

from collections.abc import Mapping
from decimal import Decimal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from exchanges.catalogue import known_transfers
from exchanges.simulated_markets import simulated_bases, simulated_markets
from launch.config.currency_tables import check_named, currencies_of
from market.accounting.inventory import Target
from market.accounting.rebalancing import TOLERANCE
from market.accounting.transfer_planning import TransferRules
from market.accounting.transfer_terms import SATOSHI, TransferTerms, terms_of, with_changed
from market.money import BoundedDecimal
from session.session import SimulatedNetworks

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


class TransfersConfiguration(BaseModel):
    """What is sent, and when; tables of exchanges are their terms: exchange → currency → terms."""

    model_config = ConfigDict(frozen=True, extra="allow")
    __pydantic_extra__: dict[str, dict[str, TransferConfiguration]] = Field(init=False)

    paper: bool = False
    """Whether transfers between simulated exchanges are carried out."""
    live: bool = False
    """Whether transfers between real exchanges are proposed: an operator confirms each, or it is never made."""
    every_minutes: BoundedDecimal = Field(default=Decimal(5), gt=0, le=60 * 24)
    tolerance: BoundedDecimal = Field(default=TOLERANCE, ge=0, le=1)
    """Nothing moves between exchanges that drifted no further than this fraction of their targets."""
    target: Target = "opening"
    """`opening`: each exchange has its share of the opening balances; `even`: equal shares."""
    speed: float = Field(default=1.0, ge=1, le=100_000)
    """How many times faster than the terms say simulated networks are."""
    returned_share: float = Field(default=0.0, ge=0, le=1)
    """Of withdrawals, those that simulated exchanges take and give back."""
    closed_share: float = Field(default=0.0, ge=0, lt=1)
    """Of the time, in which a currency cannot be withdrawn from a simulated exchange."""

    @property
    def terms(self) -> Mapping[str, Mapping[str, TransferConfiguration]]:
        return self.__pydantic_extra__

    def rules(self, *, is_live: bool) -> TransferRules:
        is_on = self.live if is_live else self.paper
        return TransferRules(is_on, int(self.every_minutes * 60), self.tolerance, self.target)

    @property
    def backtest_rules(self) -> TransferRules:
        """Return the rules of a backtest that is asked to make transfers."""
        return TransferRules(True, int(self.every_minutes * 60), self.tolerance, self.target)

    @property
    def networks(self) -> SimulatedNetworks:
        return SimulatedNetworks(self.speed, self.returned_share, self.closed_share)


def session_transfers(configured: TransfersConfiguration) -> tuple[TransferTerms, ...]:
    """Return the known terms, replaced if a user has others. Raises CannotStartError if they name what nobody could
    send."""
    check_named("transfers", configured.terms, currencies_of(simulated_markets(simulated_bases())))
    known = terms_of(known_transfers())
    changed = []
    for exchange, by_currency in configured.terms.items():
        for currency, mine in by_currency.items():
            before = known.get((exchange, currency))
            step = SATOSHI if before is None else before.step
            changed.append(
                TransferTerms(exchange, currency, mine.fee, mine.minimum, step, mine.minutes * 60, FROM_CONFIGURATION)
            )
    return with_changed(known_transfers(), changed)
