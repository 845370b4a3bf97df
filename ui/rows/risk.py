"""The JSON rows about risk: kill switch, checks with the use of their limits, missed profit. Money as strings."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal

from typing_extensions import TypedDict

from market.accounting.inventory import Exposure
from market.decide.circuit_breaker import Health, recent_failures
from market.decide.risk_checks import CHECKS, limit_of
from market.decide.settings import Settings
from market.money import ZERO, decimal_of_whole, text_of, total
from session.session import Session
from store.mongo.risk_counters import RiskCounters
from ui.rows.attribute import row_from


class TradingStateRow(TypedDict):
    """The state in force, and the version of the settings that it belongs to."""

    state: str
    settings_version: int


class UseRow(TypedDict):
    """Use of one limit: overall (`of` null), or of one exchange, asset or currency.

    `used` is null if there is no price to value it at.
    """

    of: str | None
    used: str | None
    limit: str
    is_reached: bool


class CheckRow(TypedDict):
    """One check, in the order in which they run; `used` is empty if it depends on the opportunity alone."""

    reason: str
    asked: list[str]
    settings: dict[str, object]
    used: list[UseRow]


class BreakerRow(TypedDict):
    """State of an exchange's circuit breaker: failures by kind that still count. `unexplained_since`: since when it is
    reduce-only for an unexplained difference; 0: it is not."""

    is_paused: bool
    paused_until: int | None
    failures: dict[str, int]
    pauses: int
    unexplained_since: int


class ExchangeHealthRow(TypedDict):
    """Failures of one exchange that still count, by kind; `paused_until` in microseconds of the server's clock."""

    exchange: str
    is_paused: bool
    paused_until: int | None
    failures: dict[str, int]
    pauses: int
    unexplained_since: int


class RiskRow(TypedDict):
    """`now` is the server's time; money in `currency`."""

    now: int
    trading_state: str
    settings_version: int
    is_stopping: bool
    currency: str
    checks: list[CheckRow]
    exchanges: list[ExchangeHealthRow]


class MissedReasonRow(TypedDict):
    """`missed_profit`: missed profit, of the episodes whose best sighting was rejected for this reason."""

    reason: str
    count: int
    missed_profit: str


class MissedProfitRow(TypedDict):
    """All rejections of the session, in `currency`. `missed_profit`: the missed profit of all episodes, each counted
    once, within what one trade may use."""

    currency: str
    count: int
    missed_profit: str
    reasons: list[MissedReasonRow]


def missed_profit_row(
    currency: str, counts: Mapping[str, int], missed_profit: Mapping[str, Decimal]
) -> MissedProfitRow:
    """Return the missed profit of all rejections. `counts` and `missed_profit` are by reason; the largest comes
    first."""
    reasons = counts.keys() | missed_profit.keys()
    ordered = sorted(reasons, key=lambda reason: (-missed_profit.get(reason, ZERO), -counts.get(reason, 0), reason))
    return MissedProfitRow(
        currency=currency,
        count=sum(counts.values()),
        missed_profit=text_of(total(missed_profit.values())),
        reasons=[
            MissedReasonRow(
                reason=reason,
                count=counts.get(reason, 0),
                missed_profit=text_of(missed_profit.get(reason, ZERO)),
            )
            for reason in ordered
        ],
    )


@dataclass(frozen=True, slots=True)
class Risk:
    """Input of the rows; `healths` has every exchange that ever failed."""

    session: Session
    settings: Settings
    counters: RiskCounters
    healths: Sequence[Health]
    exposures: Sequence[Exposure]


def risk_row(risk: Risk) -> RiskRow:
    """Return the rows. Exchanges of the session that never failed are shown as healthy."""
    uses = _uses(risk)
    values = risk.settings.model_dump(mode="json")
    return RiskRow(
        now=risk.counters.now,
        trading_state=risk.settings.trading_state,
        settings_version=risk.settings.version,
        is_stopping=not risk.counters.reservations_open,
        currency=risk.session.settlement_currency,
        checks=[
            CheckRow(
                reason=check.reason,
                asked=list(check.asked),
                settings={name: values[name] for name in check.settings},
                used=uses.get(check.reason, []),
            )
            for check in CHECKS
        ],
        exchanges=[
            ExchangeHealthRow(exchange=health.exchange, **breaker_row(health, risk.settings, risk.counters.now))
            for health in _healths(risk)
        ],
    )


def _healths(risk: Risk) -> list[Health]:
    known = {health.exchange: health for health in risk.healths}
    return [known.get(name) or Health(name) for name in _traded(risk.session)]


def breaker_row(health: Health, settings: Settings | None, now: int) -> BreakerRow:
    """Return the row; `now` by the server's clock."""
    is_paused = settings is not None and settings.breaker_failures > 0 and health.is_paused(now)
    recent = recent_failures(health, settings, now) if settings is not None else ()
    return row_from(
        BreakerRow,
        health,
        is_paused=is_paused,
        paused_until=health.paused_until if is_paused else None,
        failures=Counter(failure.kind for failure in recent),
    )


def _uses(risk: Risk) -> dict[str, list[UseRow]]:
    """Return the uses by reason of rejection."""
    settings, counters, session = risk.settings, risk.counters, risk.session
    bases = [exposure for exposure in risk.exposures if exposure.is_base]
    currencies = [exposure for exposure in risk.exposures if not exposure.is_base]
    loss = max(ZERO, -counters.day_net)
    return {
        "daily_loss": [_use(None, loss, settings.max_daily_loss)],
        "exchange_paused": [_failures_use(health, risk) for health in _healths(risk)],
        "too_many_open": [
            _use(None, decimal_of_whole(counters.open_arbitrages), decimal_of_whole(settings.max_open_arbitrages))
        ],
        "total_limit": _notional_uses(risk, {"total": None}),
        "asset_limit": _notional_uses(risk, {f"base|{name}": name for name in session.bases}),
        "exchange_limit": _notional_uses(risk, {f"exchange|{name}": name for name in _traded(session)}),
        "exposure": _exposure_uses(bases, settings.max_exposure),
        "currency_drift": _exposure_uses(currencies, settings.max_currency_drift),
    }


def _notional_uses(risk: Risk, keys: Mapping[str, str | None]) -> list[UseRow]:
    """Return the uses; `keys`: key of a sum → what it is a sum of."""
    return [
        _use(of, risk.counters.notional.get(key, ZERO), limit_of(key, risk.settings)[0]) for key, of in keys.items()
    ]


def _exposure_uses(exposures: Iterable[Exposure], limit: Decimal) -> list[UseRow]:
    return [
        _use(exposure.currency, None if exposure.value is None else abs(exposure.value), limit)
        for exposure in exposures
    ]


def _failures_use(health: Health, risk: Risk) -> UseRow:
    count = decimal_of_whole(len(recent_failures(health, risk.settings, risk.counters.now)))
    row = _use(health.exchange, count, decimal_of_whole(risk.settings.breaker_failures))
    return UseRow(of=row["of"], used=row["used"], limit=row["limit"], is_reached=health.is_paused(risk.counters.now))


def _use(of: str | None, used: Decimal | None, limit: Decimal) -> UseRow:
    is_reached = used is not None and used >= limit
    return UseRow(of=of, used=None if used is None else text_of(used), limit=text_of(limit), is_reached=is_reached)


def _traded(session: Session) -> tuple[str, ...]:
    return tuple(dict.fromkeys(market.exchange for market in session.traded))
