"""Tools that read a session. Each docstring is what the assistant reads of its tool."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import Field

from remote.connection import Connection, GroupedBy, Span

Limit = Annotated[int, Field(ge=1, le=200, description="Rows at most.")]
Base = Annotated[str | None, Field(description="An asset, such as BTC; all if left out.")]
Exchange = Annotated[str | None, Field(description="An exchange, such as kraken; all if left out.")]
Outcome = Annotated[Literal["taken", "rejected", "expired"] | None, Field(description="What became of it.")]
Level = Literal["DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"]
Answer = dict[str, Any]


@dataclass(frozen=True, slots=True)
class ReadingTools:
    """Each public method is a tool."""

    session: Connection

    def session_state(self) -> Answer:
        """Say whether the session runs, in which mode (paper, live, …), the kill switch, and its P&L so far."""
        settings = self.session.settings()
        return {
            "health": self.session.health(),
            "trading_state": settings["trading_state"],
            "settings_version": settings["version"],
            "pnl": self.session.pnl(),
        }

    def prices(self, base: Base = None, exchange: Exchange = None) -> Answer:
        """Return the best bid and ask of every market, each fresh, stale or withdrawn."""
        return _items(self.session.quotes(base=base, exchange=exchange))

    def matrix(self) -> Answer:
        """Return per asset the prices on every exchange in one currency, and the best pair after fees."""
        return _items(self.session.matrix())

    def spreads(self, base: Base = None) -> Answer:
        """Return every directed pair of markets: bps before and after the taker fees, with statistics of windows."""
        return _items(self.session.spreads(base=base))

    def opportunities(
        self, limit: Limit = 20, base: Base = None, outcome: Outcome = None, reason: str | None = None
    ) -> Answer:
        """List the newest opportunities and what became of each; `reason` is why it was rejected (see why_rejected)."""
        return _items(self.session.opportunities(limit=limit, base=base, outcome=outcome, reason=reason))

    def opportunity(self, opportunity_id: str) -> Answer:
        """Return one opportunity: prices, bps, why it was taken, rejected or expired."""
        return dict(self.session.opportunity(opportunity_id))

    def why_rejected(self, base: Base = None, span: Span = "session") -> Answer:
        """Count how many opportunities were seen, taken and rejected, by which check, and the profit missed by each."""
        statistics = dict(self.session.statistics(span, base=base))
        kept = ("span", "seen", "taken", "rejected", "expired", "min_net_bps", "currency", "missed_episodes", "ledger")
        return {name: statistics[name] for name in kept}

    def trades(self, limit: Limit = 20, sort: str | None = None, base: Base = None) -> Answer:
        """List arbitrages with legs, fills and profit, newest first; sort "net" has the worst first, "-net" the
        best."""
        return _items(self.session.arbitrages(limit=limit, sort=sort, base=base))

    def trade(self, arbitrage_id: str) -> Answer:
        """Return one arbitrage with the time of every step, each order, and what every decision saw."""
        return dict(self.session.arbitrage(arbitrage_id))

    def fills(self, limit: Limit = 20, base: Base = None, exchange: Exchange = None) -> Answer:
        """List fills as the exchanges booked them, newest first."""
        return _items(self.session.trades(limit=limit, base=base, exchange=exchange))

    def profit_and_loss(self, by: GroupedBy | None = None) -> Answer:
        """Return the realised P&L, its attribution and drawdowns; `by`: exchange, asset, pair, day or strategy."""
        if by is not None:
            return _items(self.session.pnl_by(by))
        equity = dict(self.session.equity())
        return {**self.session.pnl(), "drawdowns": {name: equity[name] for name in equity if "drawdown" in name}}

    def balances(self) -> Answer:
        """List free and held amounts by exchange and currency."""
        return _items(self.session.balances())

    def risk(self) -> Answer:
        """Return every risk check in its order with the use of its limit now, and the health of each exchange."""
        return dict(self.session.risk())

    def health(self) -> Answer:
        """Report feeds, Kafka, Spark, the store and every process; `findings` say what is wrong and what to do."""
        return dict(self.session.parts())

    def logs(self, part: str | None = None, lines: Limit = 50, level: Level = "INFO", text: str = "") -> Answer:
        """Return the names of processes with a log; of a `part` its newest lines of that level that hold `text`."""
        if part is None:
            return {"parts": self.session.logs()}
        return dict(self.session.log(part, lines=lines, level=level, text=text))

    def settings_history(self, limit: Limit = 20) -> Answer:
        """List who changed which settings when, newest first."""
        return _items(self.session.settings_versions(limit=limit))

    def tick_sets(self) -> Answer:
        """List recorded sessions and imported data that backtests and dry runs can use."""
        return _items(self.session.tick_sets())

    def backtests(self) -> Answer:
        """List all stored backtests with their figures, newest first."""
        return _items(self.session.backtests())

    def backtest(self, backtest_id: str, trades: Limit = 20) -> Answer:
        """Return how far one backtest is; once it is done its figures and newest trades."""
        return {
            **self.session.backtest(backtest_id),
            "newest_trades": self.session.backtest_trades(backtest_id, limit=trades),
        }

    def check_app(self, text: str) -> Answer:
        """List mistakes of a stream app's text, each with line and column; none if it can be published."""
        return {"mistakes": self.session.check_app(text)}

    def dry_run(self, run_id: str) -> Answer:
        """Return the state of a dry run; once it is done its newest rows, how many came a minute, and what it cost."""
        return self.session.dry_run(run_id)

    @property
    def tools(self) -> tuple[Callable[..., Answer], ...]:
        """Return the tools, in the order in which an assistant is shown them."""
        return (
            self.session_state,
            self.prices,
            self.matrix,
            self.spreads,
            self.opportunities,
            self.opportunity,
            self.why_rejected,
            self.trades,
            self.trade,
            self.fills,
            self.profit_and_loss,
            self.balances,
            self.risk,
            self.health,
            self.logs,
            self.settings_history,
            self.tick_sets,
            self.backtests,
            self.backtest,
            self.check_app,
            self.dry_run,
        )


def _items(rows: list[Any]) -> Answer:
    """Return rows as an object, which structured answers have to be."""
    return {"items": rows}
