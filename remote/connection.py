"""A running session, read and changed over its REST service by methods with typed answers."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import quote

from remote.requests import Service
from runtime.errors import RefusedError

if TYPE_CHECKING:
    from market.decide.kill_switch import TradingState
    from ui.api.health_routes import AliveRow
    from ui.rows.arbitrage import ArbitrageRow, BalanceRowView, PnlLineRow, PnlRow, ReasonRow, RejectionRow
    from ui.rows.arbitrage_timeline import ArbitrageDetailRow
    from ui.rows.backtest import BacktestRow, BacktestTradeRow, TickSetRow
    from ui.rows.equity import EquityRow
    from ui.rows.fill import TradeRow
    from ui.rows.health import HealthReportRow
    from ui.rows.market import QuoteRow, SpreadRow
    from ui.rows.matrix import MatrixRow
    from ui.rows.opportunity import StatisticsRow, StoredOpportunityRow
    from ui.rows.risk import RiskRow, TradingStateRow
    from ui.rows.settings import VersionRow
    from ui.services.log_tail import LogTailRow
    from ui.services.threshold_preview import PreviewRow

PAGE = 500
"""Rows of one request, the most that the service gives."""
GroupedBy = Literal["exchange", "asset", "pair", "day", "strategy"]
Span = Literal["10m", "hour", "session"]


class Connection:
    """A session that answers at an address. Each method is one request, or one a page of a long list.

    Times are integer microseconds UTC, money and prices decimal strings, bps numbers, `None` what is not known
    (docs/rest.md). Every method raises RefusedError if the session refuses (a wrong parameter, no key, an old
    version) and UnavailableError if it does not answer now. Rows are dictionaries: `pandas.DataFrame(session.quotes())`
    is a frame of them.
    """

    def __init__(self, service: Service) -> None:
        self._service = service

    def __repr__(self) -> str:
        return f"Connection({self._service.url}, {'with' if self._service.key else 'without'} a key)"

    @property
    def url(self) -> str:
        """Return the session's address."""
        return self._service.url

    @property
    def has_key(self) -> bool:
        """Return whether requests carry a key; changes need an operator's."""
        return self._service.key is not None

    def get(self, path: str, **parameters: object) -> Any:
        """Return the document of any route below `/api`, as `get("/inventory")`."""
        return self._service.asked("GET", path, parameters)

    def health(self) -> "AliveRow":
        """Return mode, session and market of the process that answers."""
        return self._asked("/health")

    def parts(self) -> "HealthReportRow":
        """Return the state of feeds, Kafka, Spark, the store and every process, with findings and advice."""
        return self._asked("/health/parts")

    def quotes(self, *, base: str | None = None, exchange: str | None = None) -> "list[QuoteRow]":
        """Return the newest best bid and ask of every market, each fresh, stale or withdrawn."""
        return self._asked("/quotes", base=base, exchange=exchange)

    def matrix(self) -> "list[MatrixRow]":
        """Return per asset its prices on every exchange in the settlement currency, and the best pair."""
        return self._asked("/matrix")

    def spreads(self, *, base: str | None = None) -> "list[SpreadRow]":
        """Return every directed pair of markets, bps before and after both taker fees."""
        return self._asked("/spreads", base=base)

    def opportunities(self, *, limit: int = 50, **filters: object) -> "list[StoredOpportunityRow]":
        """Return the newest opportunities with what became of them: taken, rejected with a reason, or expired.

        `filters`: base, exchange, outcome, reason, min_net_bps, … of docs/rest.md.
        """
        return self._listed("/opportunities", limit, filters)

    def opportunity(self, opportunity_id: str) -> "StoredOpportunityRow":
        """Return one opportunity with what became of it."""
        return self._asked(f"/opportunities/{_quoted(opportunity_id)}")

    def statistics(self, span: Span = "10m", *, base: str | None = None) -> "StatisticsRow":
        """Return counts of seen, taken and rejected opportunities, reasons, spreads and durations of a span."""
        return self._asked("/opportunities/statistics", span=span, base=base)

    def reasons(self, *, base: str | None = None) -> "list[ReasonRow]":
        """Return how often each check rejected an opportunity, and the profit missed."""
        return self._asked("/rejections", base=base)

    def rejections(self, *, limit: int = 50, **filters: object) -> "list[RejectionRow]":
        """Return the newest rejections; `filters`: reason, base, exchange."""
        return self._listed("/rejections/recent", limit, filters)

    def arbitrages(self, *, limit: int = 50, sort: str | None = None, **filters: object) -> "list[ArbitrageRow]":
        """Return arbitrages with both legs and their profit, newest first, or by `sort`: "net" has the worst first.

        `filters`: state, base, exchange, from, to, … of docs/rest.md.
        """
        return self._listed("/arbitrages", limit, {"sort": sort, **filters})

    def arbitrage(self, arbitrage_id: str) -> "ArbitrageDetailRow":
        """Return one arbitrage with the time of every step and what each decision saw."""
        return self._asked(f"/arbitrages/{_quoted(arbitrage_id)}")

    def trades(self, *, limit: int = 50, sort: str | None = None, **filters: object) -> "list[TradeRow]":
        """Return the fills as exchanges booked them, newest first."""
        return self._listed("/trades", limit, {"sort": sort, **filters})

    def pnl(self) -> "PnlRow":
        """Return the session's realised P&L; its parts sum to `net` to the last digit."""
        return self._asked("/pnl")

    def pnl_by(self, by: GroupedBy) -> "list[PnlLineRow]":
        """Return the P&L by exchange, asset, pair, UTC day or strategy; the lines sum to the whole."""
        return self._asked("/pnl", by=by)

    def equity(self) -> "EquityRow":
        """Return net profit in the order in which arbitrages ended, with its drawdowns."""
        return self._asked("/pnl/equity")

    def balances(self) -> "list[BalanceRowView]":
        """Return free and held amounts by exchange and currency."""
        return self._asked("/balances")

    def risk(self) -> "RiskRow":
        """Return every risk check in order with the use of its limit, the kill switch, each exchange's health."""
        return self._asked("/risk")

    def settings(self) -> dict[str, Any]:
        """Return the settings in force, with their `version`."""
        return self._asked("/settings")

    def settings_versions(self, *, limit: int = 50) -> "list[VersionRow]":
        """Return who changed which settings when, newest first."""
        return self._listed("/settings/versions", limit, {})

    def preview(self, min_net_bps: float, hours: float = 1.0) -> "PreviewRow":
        """Return what another threshold would have done in the last hours, from stored opportunities."""
        return self._asked("/settings/preview", min_net_bps=min_net_bps, hours=hours)

    def change_settings(self, changes: Mapping[str, object], *, version: int | None = None) -> dict[str, Any]:
        """Change some settings and return all, with their new version. Needs an operator's key.

        `version`: the one that was read before; default the newest. Raises RefusedError if somebody changed them since,
        or a value is out of bounds; then nothing is changed.
        """
        expected = self.settings()["version"] if version is None else version
        headers = {"If-Match": f'"{expected}"'}
        return self._service.asked("PATCH", "/settings", body=changes, headers=headers)

    def set_trading_state(self, state: "TradingState") -> "TradingStateRow":
        """Set the kill switch: running, reduce_only (nothing new is opened), halted (no orders). Operators alone."""
        return self._service.asked("PUT", "/trading-state", body={"state": state})

    def logs(self) -> list[str]:
        """Return the names of the processes that have a log there."""
        return self._asked("/logs")["parts"]

    def log(self, part: str, *, lines: int = 100, level: str = "DEBUG", text: str = "") -> "LogTailRow":
        """Return the newest lines of one log, oldest first, without secrets."""
        return self._asked(f"/logs/{_quoted(part)}", lines=lines, level=level, text=text)

    def tick_sets(self) -> "list[TickSetRow]":
        """Return the tick sets that the session can backtest."""
        return self._asked("/tick-sets")

    def backtests(self) -> "list[BacktestRow]":
        """Return all stored backtests, newest first."""
        return self._asked("/backtests")

    def backtest(self, backtest_id: str) -> "BacktestRow":
        """Return how far a backtest is, then its figures."""
        return self._asked(f"/backtests/{_quoted(backtest_id)}")

    def backtest_trades(self, backtest_id: str, *, limit: int = 50) -> "list[BacktestTradeRow]":
        """Return the trades of a backtest, newest first."""
        return self._listed(f"/backtests/{_quoted(backtest_id)}/trades", limit, {})

    def queue_backtest(self, tick_set: str, **options: object) -> "BacktestRow":
        """Queue a backtest in the session's own folder; `options`: settings, fee_bps, latency_ms, seed, …"""
        return self._service.asked("POST", "/backtests", body={"tick_set": tick_set, **options})

    def check_app(self, text: str) -> list[dict[str, Any]]:
        """Return the mistakes of a stream app's text, by line and column; none if it can be published."""
        return self._service.asked("POST", "/apps/check", body={"text": text})["mistakes"]

    def queue_dry_run(self, text: str, source: Mapping[str, object]) -> dict[str, Any]:
        """Queue a dry run of a stream app over recorded rows; `source`: {"minutes": 10}, a `session` or a `set`."""
        return self._service.asked("POST", "/apps/dry-run", body={"text": text, "source": dict(source)})

    def dry_run(self, run_id: str) -> dict[str, Any]:
        """Return the state of a dry run; once it is done with its newest rows and what it cost."""
        return self._asked(f"/apps/dry-run/{_quoted(run_id)}")

    def _asked(self, path: str, **parameters: object) -> Any:
        return self._service.asked("GET", path, parameters)

    def _listed(self, path: str, limit: int, filters: Mapping[str, object]) -> Any:
        """Return the first `limit` rows, page by page. Raises RefusedError for a limit below 1."""
        if limit < 1:
            raise RefusedError(f"limit={limit}: ask for 1 row or more.")
        rows: list[Any] = []
        for page in self._pages(path, limit, filters):
            rows += page
            if len(rows) >= limit:
                break
        return rows[:limit]

    def _pages(self, path: str, limit: int, filters: Mapping[str, object]) -> Iterator[list[Any]]:
        cursor: str | None = None
        while True:
            page = self._asked(path, **filters, limit=min(limit, PAGE), cursor=cursor)
            yield page["items"]
            cursor = page["next_cursor"]
            if cursor is None:
                return


def _quoted(name: str) -> str:
    return quote(name, safe="")
