"""The fields of the settings form, with labels and units: those tuned first, the others by topic."""

from dataclasses import dataclass
from typing import get_args

from market.decide.settings import Settings
from wording.labels import plain

CURRENCY = "settlement currency"
"""A unit; the page replaces it by the session's currency."""
FEE_UNIT = "of the notional"
NAMED_UNITS = ("bps", "ms")


@dataclass(frozen=True, slots=True)
class SettingField:
    """One setting. `step` is that of its number field; money has none and is typed as text."""

    name: str
    label: str
    unit: str = CURRENCY
    step: float | None = None

    @property
    def choices(self) -> tuple[str, ...]:
        """Allowed words; empty for a number."""
        return tuple(one for one in get_args(Settings.model_fields[self.name].annotation) if isinstance(one, str))


def unit_of(field: SettingField, currency: str) -> str:
    """Return the unit shown after a number."""
    return currency if field.unit == CURRENCY else field.unit


@dataclass(frozen=True, slots=True)
class FieldGroup:
    """Fields under one heading."""

    title: str
    fields: tuple[SettingField, ...]


FIRST = FieldGroup(
    "Tuned first",
    (
        SettingField("min_net_bps", "Minimum net spread to trade", "bps", 0.5),
        SettingField("max_notional", "Maximum notional per arbitrage"),
        SettingField("max_open_arbitrages", "Maximum open arbitrages", "", 1),
        SettingField("max_slippage_bps", "Maximum slippage", "bps", 0.5),
        SettingField("max_total_notional", "Maximum total open notional"),
        SettingField("max_daily_loss", "Maximum daily loss (UTC day)"),
    ),
)
"""Always in view."""
TOPICS = (
    FieldGroup(
        "Which opportunities",
        (
            SettingField("emit_net_bps", "Minimum net spread to show", "bps", 0.5),
            SettingField(
                "min_share_above_10s", "Minimum share of the last 10 s above it (0: off)", "(1: always)", 0.05
            ),
            SettingField("max_quote_age_ms", "Maximum quote age", "ms", 100),
            SettingField("opportunity_lifetime_ms", "Opportunity lifetime", "ms", 100),
            SettingField("cool_down_ms", "Pair cool-down", "ms", 50),
            SettingField("place_value_share", "Share of a place's value to bring (0: off)", "", 0.25),
            SettingField("rebalancing_bps", "Lower if it brings inventory back, by (0: off)", "bps", 0.5),
        ),
    ),
    FieldGroup(
        "Quarantine of implausible spreads",
        (
            SettingField("quarantine_deviations", "Deviations from the mean (0: off)", "deviations", 0.5),
            SettingField("quarantine_floor_bps", "Quarantine floor, net", "bps", 10.0),
            SettingField("quarantine_ceiling_bps", "Quarantine ceiling, net (0: off)", "bps", 50.0),
        ),
    ),
    FieldGroup(
        "Limits of open notional and of what is held",
        (
            SettingField("max_exchange_notional", "Maximum open notional per exchange"),
            SettingField("max_asset_notional", "Maximum open notional per asset"),
            SettingField("max_exposure", "Maximum exposure of a base asset"),
            SettingField("max_currency_drift", "Maximum drift of a quote currency"),
        ),
    ),
    FieldGroup(
        "Single legs and orders in doubt",
        (
            SettingField("single_leg_policy", "Unwinding policy"),
            SettingField("single_leg_limit_bps", "Maximum price concession", "bps", 5.0),
            SettingField("flatten_limit_bps", "Maximum concession after a late fill", "bps", 5.0),
            SettingField("reconcile_ms", "Reconciliation interval", "ms", 1_000),
            SettingField("order_final_ms", "Cancel an order not final after", "ms", 1_000),
        ),
    ),
    FieldGroup(
        "Circuit breaker of an exchange",
        (
            SettingField("breaker_failures", "Failures (0: off)", "", 1),
            SettingField("breaker_window_ms", "Within", "ms", 1_000),
            SettingField("breaker_pause_ms", "Pause", "ms", 1_000),
        ),
    ),
    FieldGroup(
        "Moving average",
        (
            SettingField("ma_trading", "Signals only, or orders too"),
            SettingField("ma_notional", "Order notional"),
            SettingField("ma_interval_ms", "Interval between closes", "ms", 500),
        ),
    ),
)
"""Folded."""


def setting_label(name: str) -> str:
    """Return the form's label, with the unit that the form shows behind the number; for settings that are not in the
    form, the name without underscores."""
    fields = (field for group in (FIRST, *TOPICS) for field in group.fields)
    found = next((field for field in fields if field.name == name), None)
    if found is None:
        return plain(name)
    return f"{found.label} ({found.unit})" if found.unit in NAMED_UNITS else found.label
