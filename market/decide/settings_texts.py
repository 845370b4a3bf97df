"""Settings as texts by name, one for each entry of a mapping, so that two sets can be compared by name. Pure."""

from collections.abc import Mapping

from market.decide.settings import Settings

OF_A_MOMENT = frozenset({"version", "trading_state", "close_now"})
"""Fields that say what a session does now, and not how it trades."""


def settings_texts(settings: Settings) -> dict[str, str]:
    """Return name → value; entries of mappings as `taker_fees.kraken`, lists with commas, in their order."""
    found: dict[str, str] = {}
    for name, value in settings.model_dump(mode="json", exclude=set(OF_A_MOMENT)).items():
        found |= _texts(name, value)
    return found


def _texts(name: str, value: object) -> dict[str, str]:
    if isinstance(value, Mapping):
        return {key: text for entry, one in value.items() for key, text in _texts(f"{name}.{entry}", one).items()}
    if isinstance(value, list):
        return {name: ",".join(map(str, value))}
    return {name: number_text(value) if isinstance(value, float) else str(value)}


def number_text(value: float) -> str:
    """Return all its digits."""
    return repr(value).removesuffix(".0")
