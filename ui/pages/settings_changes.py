"""What the settings form changes, from its widgets: what differs, in words, and what is wrong with it."""

import re
from collections.abc import Mapping

from market.money import decimal_of
from market.settings import Settings
from ui.pages.settings_bounds import value_problem
from ui.pages.settings_fields import COLUMNS, FEE_UNIT, SettingField, unit_of
from ui.tuning import SettingsInvalidError, changed_settings

WHOLE = "settings"
"""What is wrong of no single field."""


def widget_key(name: str, shown: Settings) -> str:
    """The widget of a setting, or `taker_fees.EXCHANGE`; a new version gets new widgets, filled anew."""
    return f"setting.{name}.{shown.version}"


def problems_of(
    shown: Settings, changes: Mapping[str, object], exchanges: tuple[str, ...], currency: str
) -> dict[str, str]:
    """Field, or `taker_fees.EXCHANGE`, → what is wrong with its new value, in one sentence; WHOLE for all together."""
    found: dict[str, str] = {}
    fields = _fields()
    for name, value in changes.items():
        field = fields.get(name)
        if name == "taker_fees" and isinstance(value, dict):
            wrong = {f"{name}.{exchange}": value_problem(name, fee, FEE_UNIT) for exchange, fee in value.items()}
            found |= {key: why for key, why in wrong.items() if why is not None}
        elif field is not None and not field.choices and (why := value_problem(name, value, unit_of(field, currency))):
            found[name] = why
    return found or _problems_together(shown, changes, exchanges)


def _problems_together(shown: Settings, changes: Mapping[str, object], exchanges: tuple[str, ...]) -> dict[str, str]:
    """Where each value is right and they do not go together; WHOLE where no field stands for it in the form."""
    at_fields = {*_fields(), "enabled_exchanges", *(f"taker_fees.{exchange}" for exchange in shown.taker_fees)}
    found: dict[str, str] = {}
    try:
        changed_settings(shown, changes, exchanges)
    except SettingsInvalidError as invalid:
        for problem in invalid.errors:
            place = problem["field"] if problem["field"] in at_fields else WHOLE
            found[place] = f"{found.get(place, '')} {_sentence(problem['why'])}".strip()
    return found


def _fields() -> dict[str, SettingField]:
    return {field.name: field for groups in COLUMNS for group in groups for field in group.fields}


def _sentence(why: str) -> str:
    """With the fields' labels for their names."""
    fields = _fields()
    named = re.sub(r"\b[a-z_0-9]+\b", lambda word: f'"{fields[word[0]].label}"' if word[0] in fields else word[0], why)
    return f"{named[:1].upper()}{named[1:]}."


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
                if comparable(fee) != comparable(old.get(key))
            ]
        else:
            lines.append(f"{name} {value_text(old)} → {value_text(value)}")
    return lines


def value_text(value: object) -> str:
    """Of a setting, as a line of changes tells it."""
    return ", ".join(str(one) for one in value) if isinstance(value, list | tuple) else str(value)


def changed_fields(shown: Settings, entered: Mapping[str, object]) -> dict[str, object]:
    """Settings whose widget says something else than `shown`; numbers in text fields are compared as numbers."""
    changes: dict[str, object] = {}
    for name, current in shown.model_dump(mode="json").items():
        key = widget_key(name, shown)
        if key in entered and comparable(entered[key]) != comparable(current):
            changes[name] = entered[key]
    fees = {
        exchange: str(entered.get(widget_key(f"taker_fees.{exchange}", shown), fee)).strip()
        for exchange, fee in shown.taker_fees.items()
    }
    if comparable(fees) != comparable({exchange: str(fee) for exchange, fee in shown.taker_fees.items()}):
        changes["taker_fees"] = fees
    return changes


def comparable(value: object) -> object:
    """Equal where two values mean the same setting: numbers as numbers, exchanges in any order."""
    match value:
        case dict():
            return {name: comparable(inner) for name, inner in value.items()}
        case list() | tuple():
            return sorted(str(inner) for inner in value)
        case str() | int() | float():
            try:
                return decimal_of(str(value))
            except ValueError:
                return value
    return value
