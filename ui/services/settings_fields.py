"""What stands in the settings form: the fields of each column, with their words."""

from dataclasses import dataclass
from typing import get_args

from market.decide.settings import Settings
from session.labels import plain

CURRENCY = "settlement currency"
"""As a unit; the page names the session's."""
FEE_UNIT = "of the notional"


@dataclass(frozen=True, slots=True)
class SettingField:
    """One setting. `step` of its number field; money has none and is typed as text, choices are offered."""

    name: str
    label: str
    unit: str = CURRENCY
    step: float | None = None

    @property
    def choices(self) -> tuple[str, ...]:
        """The words that it takes; empty where it takes a number."""
        return tuple(one for one in get_args(Settings.model_fields[self.name].annotation) if isinstance(one, str))


def unit_of(field: SettingField, currency: str) -> str:
    """As it stands behind a number."""
    return currency if field.unit == CURRENCY else field.unit


@dataclass(frozen=True, slots=True)
class FieldGroup:
    """Fields under one heading."""

    title: str
    fields: tuple[SettingField, ...]


COLUMNS: tuple[tuple[FieldGroup, ...], ...] = (
    (
        FieldGroup(
            "What is traded",
            (
                SettingField("min_net_bps", "Trade at or above (bps net)", "bps", 0.5),
                SettingField("emit_net_bps", "Show at or above (bps net)", "bps", 0.5),
                SettingField(
                    "min_share_above_10s",
                    "Least share of the last 10 s above it (0: off)",
                    "(1: all of the time)",
                    0.05,
                ),
                SettingField("max_quote_age_ms", "Oldest usable quote (ms)", "ms", 100),
                SettingField("opportunity_lifetime_ms", "Lifetime of an opportunity (ms)", "ms", 100),
                SettingField("max_slippage_bps", "Slippage allowed (bps)", "bps", 0.5),
            ),
        ),
        FieldGroup(
            "What is not believed",
            (
                SettingField("quarantine_deviations", "Beyond so many deviations (0: off)", "deviations", 0.5),
                SettingField("quarantine_floor_bps", "Never disbelieved up to (bps net)", "bps", 10.0),
                SettingField("quarantine_ceiling_bps", "Always disbelieved above (bps net; 0: off)", "bps", 50.0),
            ),
        ),
    ),
    (
        FieldGroup(
            "Limits, in the settlement currency",
            (
                SettingField("max_notional", "Largest notional per arbitrage"),
                SettingField("max_total_notional", "Largest notional of all open together"),
                SettingField("max_exchange_notional", "Largest notional open on one exchange"),
                SettingField("max_asset_notional", "Largest notional open in one asset"),
                SettingField("max_daily_loss", "Loss of a day (UTC) that stops new ones"),
                SettingField("max_exposure", "Base asset, furthest from the opening"),
                SettingField("max_currency_drift", "Quote currency, furthest from the opening"),
            ),
        ),
        FieldGroup(
            "Limits in number and time",
            (
                SettingField("max_open_arbitrages", "Open arbitrages at most", "", 1),
                SettingField("cool_down_ms", "Pause of a pair after trading it (ms)", "ms", 50),
                SettingField("breaker_failures", "Failures that pause an exchange (0: off)", "", 1),
                SettingField("breaker_window_ms", "Failures count within (ms)", "ms", 1_000),
                SettingField("breaker_pause_ms", "Pause of that exchange (ms)", "ms", 1_000),
            ),
        ),
    ),
    (
        FieldGroup(
            "Single legs",
            (
                SettingField("single_leg_policy", "What to do"),
                SettingField("single_leg_limit_bps", "Furthest price (bps)", "bps", 5.0),
                SettingField("flatten_limit_bps", "Furthest price after a late fill (bps)", "bps", 5.0),
                SettingField("reconcile_ms", "Compare with the exchange every (ms)", "ms", 1_000),
            ),
        ),
        FieldGroup(
            "Moving average",
            (
                SettingField("ma_trading", "Signals, or orders too"),
                SettingField("ma_notional", "Notional of an order"),
                SettingField("ma_interval_ms", "Between two closes (ms)", "ms", 500),
            ),
        ),
    ),
)


def setting_label(name: str) -> str:
    """As the form names it; settings that it lacks, without underscores."""
    fields = (field for groups in COLUMNS for group in groups for field in group.fields)
    return next((field.label for field in fields if field.name == name), plain(name))
