"""A session at live prices without the exchanges that did not answer. Pure."""

from collections.abc import Collection
from dataclasses import replace

from exchanges.listed_codes import listed_codes
from launch.errors import CannotStartError
from launch.sessions.contract_check import codes_of
from market.instruments.comparisons import compared_markets
from session.session import Session


def without_silent(session: Session, silent: Collection[str]) -> tuple[Session, tuple[str, ...]]:
    """Return the session without them, and a sentence for each market that goes with them: nothing is compared with it
    any more, or nothing converts its currency. Raises CannotStartError if no two markets are left to compare."""
    answered = tuple(market for market in session.markets if market.exchange not in silent)
    rows = compared_markets(listed_codes(), answered, session.settlement_currency, codes_of(session))
    lost = {row.market: row.reason for row in rows if row.reason is not None}
    if len(lost) == len(rows):
        raise CannotStartError("no two of the exchanges that answered have a market to compare.")
    markets = tuple(market for market in answered if market not in lost)
    left = {market.exchange for market in markets}
    bases = {market.base for market in markets if not market.is_fx}
    rest = replace(
        session,
        markets=markets,
        standby_assets=tuple(asset for asset in session.standby_assets if asset in bases),
        reach=replace(
            session.reach,
            entries={name: entry for name, entry in session.reach.entries.items() if name in left},
            gateways={name: url for name, url in session.reach.gateways.items() if name in left},
        ),
        local_accounts=replace(
            session.local_accounts,
            balances={name: own for name, own in session.local_accounts.balances.items() if name in left},
        ),
    )
    return rest, tuple(f"{one.exchange} {one.symbol} is left out: {reason}." for one, reason in lost.items())
