"""The transfers of one exchange in a session: who follows them, and who makes them."""

from collections.abc import Collection
from dataclasses import dataclass

from bots.decide.newest_quotes import LatestRecords, NewestQuotes
from bots.decide.state_cache import StateCache
from bots.transfers.transfer_maker import TransferMaker, TransferTask
from bots.transfers.transfer_watch import TransferWatch
from exchanges.accounts.exchange_account import ExchangeAccount
from exchanges.catalogue import can_transfer
from exchanges.ports.withdrawals import WithdrawalAddress
from exchanges.simulated_addresses import simulated_address
from market.accounting.inventory import Values, values_of
from market.accounting.transfer_planning import PAPER
from market.accounting.transfer_terms import terms_of
from market.decide.kill_switch import permits_orders
from market.trade.leases import Actor
from session.session import Session
from store.ports.trading import TradeStore

MILLISECONDS = 1_000


def transfer_maker(
    session: Session, store: TradeStore, account: object, by: Actor, latest_rows: LatestRecords, cache: StateCache
) -> TransferMaker | None:
    """Return who makes and follows the transfers of the account's exchange; None if there can be none."""
    if not isinstance(account, ExchangeAccount) or account.exchange not in transferring(session, session.exchanges):
        return None
    quotes = NewestQuotes(latest_rows, region=session.place.region)
    return TransferMaker(
        watch=TransferWatch(store, account, by, session.session_id),
        task=_task(session),
        balances=store.balances,
        values=NewestValues(session, quotes, cache).read,
        may_send=lambda: _may_send(cache),
        wanted=lambda: cache.transfers,
    )


def _may_send(cache: StateCache) -> bool:
    """Whether money may leave: nothing does while trading is halted, nor as a process or the session ends."""
    is_ending = cache.is_draining or cache.is_stopping
    return cache.holds_lease() and permits_orders(cache.settings.trading_state) and not is_ending


def know_transfers(cache: StateCache, session: Session) -> None:
    """Have decisions know by what rules inventory is sent, whatever the bot's exchange is."""
    cache.session_id = session.session_id
    cache.transfer_terms = terms_of(session.reach.transfers)
    cache.transfer_rules = session.reach.transfer_rules


def transferring(session: Session, exchanges: Collection[str]) -> tuple[str, ...]:
    """Return those whose withdrawals and deposits can be asked for and followed."""
    entries = {name: session.entry_of(name) for name in exchanges}
    return tuple(name for name, entry in entries.items() if not entry.is_generic and can_transfer(entry.ccxt))


def _task(session: Session) -> TransferTask:
    is_paper = session.mode == "paper"
    return TransferTask(
        rules=session.reach.transfer_rules,
        terms=session.reach.transfers,
        exchanges=transferring(session, session.exchanges),
        currency=session.settlement_currency,
        address_of=_simulated if is_paper else _nowhere,
        # with money every transfer waits for a person
        confirmed_by=PAPER if is_paper else "",
    )


def _simulated(exchange: str, _currency: str) -> WithdrawalAddress:
    return WithdrawalAddress(simulated_address(exchange))


def _nowhere(_exchange: str, _currency: str) -> None:
    """Know no address: nothing is sent."""


@dataclass(frozen=True, slots=True)
class NewestValues:
    """What currencies are worth by the newest quotes of the log that still hold."""

    session: Session
    quotes: NewestQuotes
    cache: StateCache

    async def read(self) -> Values:
        """Raise StreamUnavailableError."""
        keys = {(market.exchange, market.symbol) for market in self.session.markets}
        now, age = self.session.clock().now(), self.cache.settings.max_quote_age_ms * MILLISECONDS
        found = await self.quotes.fetch(keys)
        mids = {key: (one.quote.bid + one.quote.ask) / 2 for key, one in found.items() if one.is_fresh(now, age)}
        return values_of(mids, self.session.markets, self.session.settlement_currency)
