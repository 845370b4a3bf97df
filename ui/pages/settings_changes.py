"""What the settings form changes: from its widgets to one call of the service that REST uses, and back in words."""

from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from market.access import Caller
from market.clock import MICROSECONDS
from market.settings import Settings, TradingState
from store.errors import StoreError, VersionConflictError
from ui.dashboard import Dashboard
from ui.pages.signing_in import PAGE_ADDRESS
from ui.rows import VersionRow
from ui.tuning import SettingsInvalidError, SettingsMissingError, change_settings, switch_trading
from ui.views import version_row

WHO = "dashboard"


@dataclass(frozen=True, slots=True)
class Outcome:
    """One sentence for the user; `settings`: what the form should show now, None where the input should stay."""

    is_good: bool
    words: str
    settings: Settings | None = None


def widget_key(name: str, shown: Settings) -> str:
    """The widget of a setting, or `taker_fees.EXCHANGE`; a new version gets new widgets, filled anew."""
    return f"setting.{name}.{shown.version}"


def save_form(dashboard: Dashboard, shown: Settings, entered: Mapping[str, object], key: str) -> Outcome:
    """`entered` by widget key."""
    changes = changed_fields(shown, entered)
    if not changes:
        return Outcome(True, "Nothing was changed.")
    return _outcome(dashboard, lambda caller: change_settings(dashboard, changes, shown.version, caller, WHO), key)


def save_switch(dashboard: Dashboard, state: TradingState, key: str) -> Outcome:
    return _outcome(dashboard, lambda caller: switch_trading(dashboard, state, caller, WHO), key)


def history_lines(dashboard: Dashboard, most: int = 10) -> list[str]:
    """The newest changes, one line each; one line saying so where MongoDB does not answer."""
    try:
        page = dashboard.answer(dashboard.reader.settings_history(None, most))
    except (StoreError, TimeoutError):
        return ["MongoDB does not answer. Try again in a moment."]
    return [_history_line(version_row(version)) for version in page.items]


def _history_line(row: VersionRow) -> str:
    changed_at = datetime.fromtimestamp(row["changed_at"] / MICROSECONDS, UTC)
    changes = ", ".join(f"{change['field']} {change['before']} → {change['after']}" for change in row["changes"])
    return f"{changed_at:%Y-%m-%d %H:%M:%S} UTC · version {row['version']} by {row['who']}: {changes or 'as shipped'}"


def changed_fields(shown: Settings, entered: Mapping[str, object]) -> dict[str, object]:
    """Settings whose widget says something else than `shown`; numbers in text fields are compared as numbers."""
    changes: dict[str, object] = {}
    for name, current in shown.model_dump(mode="json").items():
        key = widget_key(name, shown)
        if key in entered and _comparable(entered[key]) != _comparable(current):
            changes[name] = entered[key]
    fees = {
        exchange: str(entered.get(widget_key(f"taker_fees.{exchange}", shown), fee)).strip()
        for exchange, fee in shown.taker_fees.items()
    }
    if _comparable(fees) != _comparable({exchange: str(fee) for exchange, fee in shown.taker_fees.items()}):
        changes["taker_fees"] = fees
    return changes


def _comparable(value: object) -> object:
    match value:
        case dict():
            return {name: _comparable(inner) for name, inner in value.items()}
        case list() | tuple():
            return sorted(str(inner) for inner in value)
        case str() | int() | float():
            try:
                return Decimal(str(value).strip())
            except ArithmeticError:
                return value
    return value


def _outcome(dashboard: Dashboard, change: Callable[[Caller], Coroutine[Any, Any, Settings]], key: str) -> Outcome:
    caller = dashboard.access.by_key(key, PAGE_ADDRESS)
    if caller is None or not caller.may_change:
        return Outcome(False, "Not changed: the API key is missing or wrong.")
    try:
        saved = dashboard.answer(change(caller))
    except VersionConflictError as conflict:
        words = f"Not changed: somebody changed the settings to version {conflict.current} since the form was filled."
        return Outcome(False, f"{words} Fill the form with those and change it again.")
    except SettingsInvalidError as invalid:
        wrong = "; ".join(f"{problem['field']}: {problem['why']}" for problem in invalid.errors)
        return Outcome(False, f"Not changed. {wrong}.")
    except SettingsMissingError:
        return Outcome(False, "Not changed: there are no settings yet.")
    except (StoreError, TimeoutError):
        return Outcome(False, "Not changed: MongoDB does not answer. Try again in a moment.")
    return Outcome(True, f"Saved as version {saved.version}.", saved)
