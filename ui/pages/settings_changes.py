"""What the settings form changes: from its widgets to one call of the service that REST uses, and back in words."""

from collections.abc import Mapping
from decimal import Decimal

from market.settings import Settings
from store.errors import VersionConflictError
from ui.dashboard import Dashboard
from ui.pages.acting import Outcome, acted
from ui.pages.settings_bounds import value_problem
from ui.pages.settings_fields import COLUMNS, FEE_UNIT, unit_of
from ui.tuning import SettingsInvalidError, SettingsMissingError, change_settings, changed_settings

WHOLE = "settings"
"""What is wrong of no single field."""


def widget_key(name: str, shown: Settings) -> str:
    """The widget of a setting, or `taker_fees.EXCHANGE`; a new version gets new widgets, filled anew."""
    return f"setting.{name}.{shown.version}"


def save_form(dashboard: Dashboard, shown: Settings, changes: Mapping[str, object]) -> Outcome[Settings]:
    """Make these changes to the version that was shown; the outcome has the settings in force then."""
    if not changes:
        return Outcome(True, "Nothing was changed.")
    if problems_of(shown, changes, dashboard.session.exchanges, dashboard.session.settlement_currency):
        return Outcome(False, "Not saved: see what is said at the fields.")
    try:
        return acted(
            dashboard,
            ("settings.change", "settings"),
            lambda caller: change_settings(dashboard, changes, shown.version, caller),
            lambda saved: f"Saved as version {saved.version}.",
        )
    except VersionConflictError as conflict:
        words = f"Not saved: somebody changed the settings to version {conflict.current} since these were filled in."
        return Outcome(False, f"{words} Choose above what becomes of your changes.")
    except SettingsInvalidError as invalid:
        wrong = "; ".join(f"{problem['field']}: {problem['why']}" for problem in invalid.errors)
        return Outcome(False, f"Not saved. {wrong}.")
    except SettingsMissingError:
        return Outcome(False, "Not saved: there are no settings yet.")


def problems_of(
    shown: Settings, changes: Mapping[str, object], exchanges: tuple[str, ...], currency: str
) -> dict[str, str]:
    """Field, or `taker_fees.EXCHANGE`, → what is wrong with its new value, in one sentence; WHOLE for all together."""
    found: dict[str, str] = {}
    fields = {field.name: field for groups in COLUMNS for group in groups for field in group.fields}
    for name, value in changes.items():
        field = fields.get(name)
        if name == "taker_fees" and isinstance(value, dict):
            wrong = {f"{name}.{exchange}": value_problem(name, fee, FEE_UNIT) for exchange, fee in value.items()}
            found |= {key: why for key, why in wrong.items() if why is not None}
        elif field is not None and not field.choices and (why := value_problem(name, value, unit_of(field, currency))):
            found[name] = why
    return found or _problems_together(shown, changes, exchanges)


def _problems_together(shown: Settings, changes: Mapping[str, object], exchanges: tuple[str, ...]) -> dict[str, str]:
    """Where each value is right and they do not go together."""
    try:
        changed_settings(shown, changes, exchanges)
    except SettingsInvalidError as invalid:
        return {problem["field"]: f"{problem['why'][:1].upper()}{problem['why'][1:]}." for problem in invalid.errors}
    return {}


def as_entered(shown: Settings, draft: Mapping[str, object]) -> dict[str, object]:
    """A draft by widget key, as if it had just been typed."""
    entered: dict[str, object] = {}
    for name, value in draft.items():
        if name == "taker_fees" and isinstance(value, dict):
            entered |= {widget_key(f"{name}.{exchange}", shown): fee for exchange, fee in value.items()}
        else:
            entered[widget_key(name, shown)] = value
    return entered


def change_lines(shown: Settings, changes: Mapping[str, object]) -> list[str]:
    """`field before → after`, one for each field that differs."""
    before = shown.model_dump(mode="json")
    lines: list[str] = []
    for name, value in changes.items():
        old = before[name]
        if isinstance(value, dict) and isinstance(old, dict):
            lines += [
                f"{name}.{key} {old.get(key)} → {fee}"
                for key, fee in value.items()
                if _comparable(fee) != _comparable(old.get(key))
            ]
        else:
            lines.append(f"{name} {_text(old)} → {_text(value)}")
    return lines


def _text(value: object) -> str:
    return ", ".join(str(one) for one in value) if isinstance(value, list | tuple) else str(value)


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
