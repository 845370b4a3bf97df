"""What becomes of unsaved changes where a newer version was saved meanwhile: only the same field is a conflict."""

from collections.abc import Mapping

from market.settings import Settings
from store.errors import StoreError
from ui.dashboard import Dashboard
from ui.pages.settings_changes import comparable, value_text


def clashing_fields(shown: Settings, newest: Settings, changes: Mapping[str, object]) -> tuple[str, ...]:
    """Of `changes` to `shown`, those that `newest` has changed as well, and to something else; fees one by one."""
    if newest.version <= shown.version:
        # what is known here may lag behind what was saved here
        return ()
    before, after = _values(shown), _values(newest)
    return tuple(
        name
        for name, value in _touched(shown, changes).items()
        if _differ(after.get(name), before.get(name)) and _differ(after.get(name), value)
    )


def carried_changes(shown: Settings, newest: Settings, changes: Mapping[str, object]) -> dict[str, object]:
    """`changes` to `shown` as changes to `newest`; a fee that was not touched is the newest."""
    touched = _touched(shown, changes)
    carried = {name: value for name, value in changes.items() if name in touched}
    fees = {name.partition(".")[2]: fee for name, fee in touched.items() if name.startswith("taker_fees.")}
    if fees:
        carried["taker_fees"] = {exchange: str(fee) for exchange, fee in newest.taker_fees.items()} | fees
    return carried


def conflict_words(dashboard: Dashboard, shown: Settings, newest: Settings, clashes: tuple[str, ...]) -> str:
    """Who changed which of `clashes` to what."""
    before, after = _values(shown), _values(newest)
    told = ", ".join(f"{name} {value_text(before.get(name))} → {value_text(after.get(name))}" for name in clashes)
    return (
        f"{_by_whom(dashboard, shown, clashes)} changed {told} (version {newest.version}) while you changed "
        f"version {shown.version}. What you typed is kept."
    )


def _by_whom(dashboard: Dashboard, shown: Settings, clashes: tuple[str, ...]) -> str:
    names = {name.partition(".")[0] for name in clashes}
    try:
        page = dashboard.answer(dashboard.reader.settings_history(None, 10))
    except (StoreError, TimeoutError):
        return "somebody"
    people = {
        version.who: None
        for version in reversed(page.items)
        if version.after.version > shown.version
        and version.before is not None
        and any(getattr(version.before, name) != getattr(version.after, name) for name in names)
    }
    return " and ".join(people) or "somebody"


def _touched(shown: Settings, changes: Mapping[str, object]) -> dict[str, object]:
    before = _values(shown)
    return {name: value for name, value in _flat(changes).items() if _differ(value, before.get(name))}


def _values(settings: Settings) -> dict[str, object]:
    return _flat(settings.model_dump(mode="json"))


def _flat(values: Mapping[str, object]) -> dict[str, object]:
    """A table's entries each under a name of their own: `taker_fees.EXCHANGE`."""
    flat: dict[str, object] = {}
    for name, value in values.items():
        flat |= {f"{name}.{key}": one for key, one in value.items()} if isinstance(value, dict) else {name: value}
    return flat


def _differ(one: object, other: object) -> bool:
    return comparable(one) != comparable(other)
